"""The search for programs: expressions and behaviours per second, and the languages of Table 2.

    python benchmarks/search.py [--most 7] [--size 8] [LANGUAGE ...]

`sizes`: a search that finds nothing, size by size: the number of expressions compared so far, the
number of behaviours, processor seconds for this size, and the peak memory so far. `languages`: each
language of Table 2, or each one named, up to `most` operations in full and joined beyond, with
`Fragment()`, and with positions or a constant if needed; `busy` is processor seconds, `seconds`
wall seconds. A language without a program gets a row like the others.
"""

import argparse
import re
import resource
import sys
import time

from _timing import report

from theorykit.networks.tasks import LANGUAGES
from theorykit.subjects import crasp

MORE = {
    "tomita4": crasp.Fragment(local=(1, 2)),
    "aa_star": crasp.Fragment(periodic=(2,)),
    "aaaa_star": crasp.Fragment(periodic=(4,)),
    "abab_star": crasp.Fragment(periodic=(2, 4)),
    **{f"d{n}": crasp.Fragment(constants=(0, 1, n)) for n in (3, 4, 12)},
}
"""Additions to `Fragment()` that some languages need: positions, or a larger constant."""


def memory() -> float:
    """Return the peak memory so far, in GiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def sizes(size: int) -> list[dict]:
    """Time each size of a search that finds nothing, PARITY without positions."""
    rows: list[dict] = []

    def say(line: str) -> None:
        n, compared, behaviours = (
            int(m.replace(",", "")) for m in re.findall(r"[\d,]*\d", line)[:3]
        )
        del rows[n:]  # a string was added, so the search started again
        busy = time.process_time()
        rows.append(
            dict(operations=n, compared=compared, behaviours=behaviours, until=busy, gib=memory())
        )

    crasp.search(LANGUAGES["parity"], most=size + 1, join=False, say=say)
    for row, last in reversed(list(zip(rows[1:], rows, strict=False))):
        row["busy"] = row["until"] - last["until"]
        row["per_second"] = (row["compared"] - last["compared"]) / row["busy"]
        row["new_per_second"] = (row["behaviours"] - last["behaviours"]) / row["busy"]
    return rows[1:-1]  # nothing is kept for the last size


def languages(names: list[str], most: int) -> list[dict]:
    """Search for a program for each language."""
    rows = []
    for name in names:
        fragments = [crasp.Fragment()]
        if name in MORE:
            fragments.append(MORE[name])
        for fragment in fragments:
            start, busy = time.perf_counter(), time.process_time()
            found = crasp.search(LANGUAGES[name], fragment, most=most)
            seconds, busy = time.perf_counter() - start, time.process_time() - busy
            rows.append(
                dict(
                    language=name,
                    fragment=str(fragment),
                    operations=found.operations,
                    smallest=found.program is not None and found.smallest,
                    excluded=found.excluded,
                    untold=found.untold,
                    why=found.impossible and found.impossible.words,
                    compared=found.compared,
                    seconds=seconds,
                    busy=busy,
                    gib=memory(),
                )
            )
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="LANGUAGE", help="of Table 2; all of them")
    parser.add_argument("--most", type=int, default=7)
    parser.add_argument("--size", type=int, default=8)
    args = parser.parse_args()
    report(
        "search",
        sizes=sizes(args.size),
        languages=languages(args.names or list(LANGUAGES), args.most),
    )


if __name__ == "__main__":
    main()
