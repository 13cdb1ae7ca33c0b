"""Calls everything public with one wrong argument at a time, and judges what comes of it.

`python tests/fuzz/harness.py [PACKAGE or PACKAGE.FUNCTION ...] [--most=20]` (`make fuzz` for all)
tries at most so many values an argument, prints each fault as it is found, and a table:

- functions: what was called, constructors and methods included;
- inputs: calls with one wrong argument; each ends in one of the following columns;
- sentences: refused by the project's own words; answers: a result in which nothing was lost;
- raw: an exception that the project did not write; silent: a number though NaN, an imaginary part
  or something excluded by the type went in; slow: no end within ten seconds of the processor;
- examples: functions that fail on what `valid.py` calls right.

A process of its own, since the tests' checks of shapes would speak before the functions do.
"""

import os
import sys
import tempfile
import time
import warnings
import zlib
from collections import Counter
from pathlib import Path

os.environ["JAX_TRACEBACK_FILTERING"] = "off"
os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"
sys.path.insert(0, str(Path(__file__).parents[2]))

import hypothesis
import jax
import numpy as np
import valid
import wrong
from judge import FAULTS, TooSlow, is_nan, judged, limited
from targets import Target, targets

TRACED = ("kernels",)  # packages whose functions are tried under `jit` as well
COLUMNS = ("functions", "inputs", "sentence", "answer", *FAULTS, "example")


def spoil(one: Target, name: str, right, most: int) -> Counter:
    """Return what came of the wrong values of one argument; print the faults."""
    tried, counts = set(), Counter()

    @hypothesis.seed(zlib.crc32(f"{one.package}.{one.name}.{name}".encode()))
    @hypothesis.settings(
        max_examples=most, database=None, deadline=None,
        suppress_health_check=list(hypothesis.HealthCheck), phases=[hypothesis.Phase.generate],
    )  # fmt: skip
    @hypothesis.given(wrong.wrong(one.arguments[name]))
    def attempt(make):
        if make not in tried:
            tried.add(make)
            kind, what = judged(one, name, make, right)
            if kind in FAULTS and valid.allowed(what):
                kind = "answer"
            counts[kind] += 1
            if kind in FAULTS:
                print(f"{kind:8}{what}", flush=True)

    attempt()
    return counts


def traced(one: Target) -> Counter:
    """Return what came of NaN in each array under `jit`; print the faults."""
    counts = Counter()
    for name, example in one.arguments.items():
        value = example()
        if not hasattr(value, "dtype") or str(value.dtype)[:5] != "float":
            continue
        fixed = {n: e() for n, e in one.arguments.items() if n != name}
        run = jax.jit(
            lambda v, name=name, fixed=fixed: jax.tree.leaves(one.call(**fixed, **{name: v}))
        )
        try:
            limited(lambda run=run, value=value: run(jax.numpy.asarray(value)), 60)
        except Exception:
            continue  # not traceable in this argument
        for at in range(0, max(1, value.size), max(1, value.size // 3)):
            kept = is_nan(run(jax.numpy.asarray(wrong.poked(value, np.nan, at), value.dtype)))
            counts["answer" if kept else "silent"] += 1
            if not kept:
                print(f"silent  jit: {one.package}.{one.name}({name}: NaN at {at})", flush=True)
    return counts


def fuzz(package: str, most: int, chosen: str = "") -> Counter:
    """Return the counts of a package, or of the functions whose name starts as chosen."""
    counts = Counter()
    for one in targets(package):
        if not one.name.startswith(chosen):
            continue
        counts["functions"] += 1
        begun = time.monotonic()
        try:
            right = limited(lambda one=one: one.call(**one.right()), 60)
        except (Exception, TooSlow) as error:
            print(f"example {package}.{one.name}: {error!r:.300}", flush=True)
            counts["example"] += 1
            continue
        for name in one.arguments:
            counts += spoil(one, name, right, most)
        if package in TRACED:
            counts += traced(one)
        if os.environ.get("FUZZ_TIMES"):
            print(f"{time.monotonic() - begun:6.1f} s {package}.{one.name}", file=sys.stderr)
    del counts["unmade"]
    counts["inputs"] = sum(counts[kind] for kind in ("sentence", "answer", *FAULTS))
    return counts


def main(arguments: list[str]) -> int:
    """Print the table; return 1 if there are faults, or no function has a name that was given."""
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", np.exceptions.ComplexWarning)
    packages = [a for a in arguments if not a.startswith("-")] or list(valid.EXAMPLES)
    most = int(next((a.removeprefix("--most=") for a in arguments if "--most=" in a), "20"))
    os.chdir(tempfile.mkdtemp())  # for what is told to write to the file "x"
    rows = []
    for each in packages:
        package = max((p for p in valid.EXAMPLES if f"{each}.".startswith(f"{p}.")), key=len)
        chosen = each.removeprefix(package).removeprefix(".")
        begun = time.monotonic()
        counts = fuzz(package, most, chosen)
        rows.append((each, counts, time.monotonic() - begun))
    heads = [c if c in (*FAULTS, "inputs", "functions") else f"{c}s" for c in COLUMNS]
    print(f"\n{'package':16}" + "".join(f"{h:>10}" for h in heads) + f"{'seconds':>10}")
    total = sum((c for _, c, _ in rows), Counter())
    for package, counts, seconds in [*rows, ("all", total, sum(s for *_, s in rows))]:
        print(f"{package:16}" + "".join(f"{counts[c]:10}" for c in COLUMNS) + f"{seconds:10.0f}")
    nothing = [name for name, counts, _ in rows if not counts["functions"]]
    if nothing:
        print(f"nothing is called {', '.join(nothing)}")
    return 1 if nothing or any(total[c] for c in (*FAULTS, "example")) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
