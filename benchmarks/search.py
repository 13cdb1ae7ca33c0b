"""The search for programs: expressions and behaviours a second, and the languages of Table 2.

    python benchmarks/search.py [--most 7] [--size 8] [LANGUAGE ...]

`sizes`: all expressions over a and b on a few strings, size by size up to `size`: how many are
compared, how many behaviours there are in all, seconds of processors for this size, and the most
memory so far.
`languages`: each language of Table 2, or each that is named, up to `most` operations in full and
joined beyond, without positions, and with those that it needs if it needs some; `busy` are seconds
of processors, `seconds` those of the clock. A language that is not found is a row like the others.
"""

import argparse
import resource
import sys
import time

from _timing import report

from theorykit.networks.tasks import LANGUAGES
from theorykit.subjects import crasp
from theorykit.subjects.crasp._search._maker import level
from theorykit.subjects.crasp._search._questions import up_to
from theorykit.subjects.crasp._search._sample import Sample
from theorykit.subjects.crasp._search._space import Space

POSITIONS = {
    "tomita4": crasp.Fragment(local=(1, 2)),
    "aa_star": crasp.Fragment(periodic=(2,)),
    "aaaa_star": crasp.Fragment(periodic=(4,)),
    "abab_star": crasp.Fragment(periodic=(2, 4)),
}
"""The positions that the languages need which have no program without."""


def memory() -> float:
    """Return the most memory so far, in GiB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def sizes(size: int) -> list[dict]:
    """Time each size on the 63 strings of up to 5 symbols."""
    space, rows = Space(crasp.Fragment(), "ab", Sample(up_to("ab", 63)), size), []
    for n in range(size + 1):
        compared, start = space.compared, time.process_time()
        level(space, n, lambda words, made: None)
        seconds = time.process_time() - start
        behaviours = len(space.booleans) + len(space.counts)
        rows.append(
            dict(operations=n, compared=space.compared - compared, behaviours=behaviours,
                 seconds=seconds, per_second=(space.compared - compared) / seconds,
                 gib=memory())
        )  # fmt: skip
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


def languages(names: list[str], most: int) -> list[dict]:
    """Search for a program for each language."""
    rows = []
    for name in names:
        fragments = [crasp.Fragment()]
        if name in POSITIONS:
            fragments.append(POSITIONS[name])
        for fragment in fragments:
            start, busy = time.perf_counter(), time.process_time()
            found = crasp.search(LANGUAGES[name], fragment, most=most)
            seconds, busy = time.perf_counter() - start, time.process_time() - busy
            rows.append(
                dict(language=name, fragment=str(fragment), operations=found.operations,
                     smallest=found.program is not None and found.smallest,
                     excluded=found.excluded, untold=found.untold, why=found.reason,
                     compared=found.compared, seconds=seconds, busy=busy, gib=memory())
            )  # fmt: skip
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
