"""Programs: evaluation against the interpreter, the check of compilation, the refuter.

    python benchmarks/crasp.py [--strings 100000] [--length 100] [--longest 10]

`evaluate`: all verdicts of the Dyck-1 program on random strings, compiled beforehand; `from_text`
takes a list of str and `from_symbols` the array of symbols. `interpret` is the direct interpreter
on `interpreted` of the strings, scaled up. `compile_check`: every shipped program against its Limit
Transformer in exact arithmetic, on all strings up to `longest` over two symbols, or over larger
alphabets up to the same number of strings. `refute`: seconds per program, for random programs for
PARITY and for Sigma* b e*.
"""

import argparse
import itertools
import math
import time

import jax
import numpy as np
from _timing import alternate, report, spread

from theorykit.subjects import crasp


def evaluation(strings: int, length: int, interpreted: int, rounds: int) -> dict:
    """Time verdicts of the Dyck-1 program."""
    program = crasp.load("dyck1")
    x = np.random.default_rng(0).integers(0, 2, (strings, length))
    texts = ["".join("()"[s] for s in row) for row in x.tolist()]
    last = jax.jit(lambda x: crasp.evaluate(program, x, [program.output])[program.output][..., -1])
    seconds = alternate(
        {
            "from_text": lambda: program.accepts(texts),
            "from_symbols": lambda: last(x),
            "interpret": lambda: [crasp.interpreted(program, t) for t in texts[:interpreted]],
        },
        rounds,
    )
    scale = strings / interpreted
    times = {
        name: np.array(s) * (scale if name == "interpret" else 1) for name, s in seconds.items()
    }
    ratios = {
        f"interpret_over_{name}": spread((times["interpret"] / times[name]).tolist())
        for name in ("from_text", "from_symbols")
    }
    return {name: spread(t.tolist()) for name, t in times.items()} | ratios


def compile_check(longest: int) -> dict:
    """Time the exhaustive comparison of programs with their transformers."""
    seconds, total = {}, 0
    for name in crasp.library():
        program = crasp.load(name)
        symbols = len(program.alphabet)
        start = time.perf_counter()
        compiled = crasp.compile(program)
        for n in range(int(longest * math.log(2) / math.log(symbols)) + 1):
            strings = list(itertools.product(program.alphabet, repeat=n))
            if (compiled.accepts(strings) != program.accepts(strings)).any():
                raise AssertionError(f"{name} differs from its transformer at length {n}.")
            total += len(strings)
        seconds[name] = time.perf_counter() - start
    return {"seconds": sum(seconds.values()), "strings": total, "by_program": seconds}


def refuting(programs: int) -> dict:
    """Time the refuter on random programs."""
    found = {}
    for language in ("parity", "be*"):
        drawn = [
            crasp.random_program(np.random.default_rng(seed), "abe", 2 + seed % 7)
            for seed in range(programs)
        ]
        start = time.perf_counter()
        lengths = [len(crasp.refute(p, language).string) for p in drawn]
        seconds = (time.perf_counter() - start) / programs
        found[language] = {"seconds": seconds, "longest": max(lengths)}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strings", type=int, default=100_000)
    parser.add_argument("--length", type=int, default=100)
    parser.add_argument("--interpreted", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--longest", type=int, default=10)
    parser.add_argument("--programs", type=int, default=200)
    args = parser.parse_args()
    report(
        "crasp",
        strings=args.strings,
        length=args.length,
        evaluate=evaluation(args.strings, args.length, args.interpreted, args.rounds),
        compile_check=compile_check(args.longest),
        refute=refuting(args.programs),
    )


if __name__ == "__main__":
    main()
