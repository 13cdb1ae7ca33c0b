"""How many of the shipped proofs Rocq accepts: what `make proofs` prints, as JSON.

    python benchmarks/rocq.py [PATTERN ...] [--folder build/proofs] [--timeout 900]

It needs `coqc`, and takes an hour; scripts in the folder that were accepted before are not run
again. `accepted` and `not_exportable` count claims by kind of proof and by reason; `refused` and
`undecided` name them (undecided: not within the time, or within 6 GiB). `seconds` is the median and
the largest time of a script that was run now.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

from _timing import report

from theorykit.claims import select
from theorykit.export import Row, export_all

FOLDER = Path(__file__).parents[1] / "build" / "proofs"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("patterns", nargs="*", metavar="PATTERN")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--timeout", type=float, default=900.0)
    at = parser.parse_args()
    claims = select(at.patterns)
    say = lambda row: print(f"{row.state} {row.id}", file=sys.stderr, flush=True)
    rows = export_all(claims, at.folder, checked=True, timeout=at.timeout, say=say)
    of: dict[str, list[Row]] = {}
    for row in rows:
        of.setdefault(row.state, []).append(row)
    named = lambda state: {row.id: row.why for row in of.get(state, ())}
    ran = sorted(row.seconds for row in of.get("accepted", ()) if row.seconds)
    report(
        "rocq",
        claims=len(claims),
        timeout=at.timeout,
        accepted=Counter(row.kind for row in of.get("accepted", ())),
        refused=named("refused"),
        undecided=named("undecided"),
        not_exportable=Counter(row.group for row in of.get("not exportable", ())),
        axioms=sorted({name for row in of.get("accepted", ()) for name in row.assumptions}),
        seconds={"median": ran[len(ran) // 2], "max": ran[-1]} if ran else None,
    )


if __name__ == "__main__":
    main()
