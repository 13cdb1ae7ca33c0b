"""Which exhaustive checks are certified: those in which no float can have been."""

# ruff: noqa: UP031, UP032 -- every way to write a number is tried here

import collections
import dataclasses
import functools
import itertools
import json
import linecache
import math
import operator
import random
import statistics
import string
import time
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theorykit.checks import Trial, exhaustive
from theorykit.results import Evidence, Verdict

TENTH = 0.1
TABLE = {"rate": [1, 2, 0.5]}


def tried(predicate, universe=range(1, 6)):
    return exhaustive(predicate=predicate, universe=universe).test(Trial(jax.random.key(0)))


class Rated:
    rate = 0.5

    def less(self, n):
        return self.rate * n <= n


class Divided:
    def half(self, n):
        return n / 2


RATED, DIVIDED = Rated(), Divided()


class Count:
    """Exact, but for some methods."""

    def __init__(self, n):
        self.n = n

    def positive(self):
        return self.n > 0

    def half(self):
        return self.n * 0.5

    @property
    def third(self):
        return self.n * 0.3

    @classmethod
    def parse(cls, text):
        return cls(float(text))


class Handed(Count):
    def positive(self):
        return self.half() > 0


class Added(Count):
    def __add__(self, other):
        return self.half() + other


class Setter(Count):
    def _set(self, n):
        self.n = n * 0.5

    size = property(None, _set)

    def __init__(self, n):
        object.__setattr__(self, "si" + str(n)[:0] + "ze", n)


class Kept:
    def _keep_positive(self):  # which Counter calls in `+=`
        return 0.5


class Tally(Kept, collections.Counter):
    pass


class Keyed:
    def keys(self):
        return [0.5]

    def __getitem__(self, key):
        return key


class Rounded:
    def __init__(self, n):
        self.n = float(n)


def made_of(n, kind):
    return kind(n).n


class Called(Count):
    def __call__(self):
        return self.n * 0.5


class Placed(Count):
    __match_args__ = ("third",)


def by_name(count):
    match count:
        case Count(third=found):
            return found


def by_place(count):
    match count:
        case Placed(found):
            return found


@dataclasses.dataclass(frozen=True)
class Weighted:
    size: int
    weight: float


@functools.lru_cache
def remembered_half(n):
    return n / 2


def hidden(value):
    return lambda n: n >= 0 or value


def halving(n):
    n /= 2
    return n >= 0


def imported(n):
    from math import sqrt

    return sqrt(n) >= 0


def imports_all(n):
    import math as m

    return m.log(n) >= 0


def default(n, least=0.0):
    return n >= least


default.least = 0.5


def parts(n):
    both = [n, n]
    both[0] /= 2
    return both[0] <= n


INEXACT = {
    "methodcaller": operator.methodcaller("__truediv__", 3),
    "methodcaller inside": lambda n: operator.methodcaller("__truediv__", 3)(n) >= 0,
    "percent": lambda n: "%.1f" % n != "",
    "percent, in bytes": lambda n: b"%.1f" % n != b"",
    "percent, put together": lambda n: ("%" + ".1f") % n != "",
    "f-string": lambda n: f"{n:.1f}" != "",
    "f-string, computed format": lambda n: f"{n:{'.1f'}}" != "",
    "format": lambda n: "{:.1f}".format(n) != "",
    "format, computed": lambda n: ("{:" + ".1f}").format(n) != "",
    "format, of two": lambda n: ("{:" + ".1f}" if n > 2 else "{}").format(n) != "",
    "formatter": lambda n: string.Formatter().vformat("{:" + ".1f}", (n,), {}) != "",
    "format, of str": lambda n: str.format("{:.1f}", n) != "",
    "format, built in": lambda n: format(n, ".1f") != "",
    "dunder": lambda n: n.__truediv__(3) >= 0,
    "dunder of int": lambda n: int.__truediv__(n, 3) >= 0,
    "dunder, handed on": lambda n: all(x >= 0 for x in map(int.__truediv__, [n], [3])),
    "divided length": lambda n: len(range(n)) / 2 <= n,
    "divided literals": lambda n: n >= 1 / 2,
    "divided sum": lambda n: sum(range(n)) / n <= n,
    "divided in place": halving,
    "divided in a method": lambda n: DIVIDED.half(n) >= 0,
    "divided, once remembered": lambda n: remembered_half(n) >= 0,
    "truediv": lambda n: functools.reduce(operator.truediv, [n, 2, 3]) >= 0,
    "sqrt": lambda n: math.sqrt(n) >= 0,
    "log": lambda n: math.log(n) >= 0,
    "sqrt, imported": imported,
    "log, imported": imports_all,
    "pi": lambda n: n <= 2 * math.pi * n,
    "infinity": lambda n: n < math.inf,
    "negative power": lambda n: n**-1 <= 1,
    "root": lambda n: n**0.5 >= 0,
    "root of a fraction": lambda n: Fraction(n) ** Fraction(1, 2) >= 0,
    "pow": lambda n: pow(n, -1) <= 1,
    "pow, handed on": lambda n: all(x <= 1 for x in map(pow, [n], [-1])),
    "operator.pow": lambda n: operator.pow(n, -1) <= 1,
    "float": lambda n: float(str(n)) >= 0,
    "float, handed on": lambda n: all(map(float, [n])),
    "product": lambda n: int(n * 1e0) == n,
    "mean": lambda n: statistics.mean([n, n + 1]) >= n,
    "round": lambda n: round(n / 3, 1) >= 0,
    "numpy": lambda n: np.sqrt(n) >= 0,
    "numpy, integers": lambda n: bool(np.arange(n).sum() >= 0),
    "jax": lambda n: bool(jnp.sqrt(n) >= 0),
    "getattr": lambda n: getattr(math, "sq" + "rt")(n) >= 0,
    "getattr of a member": lambda n: n.__truediv__(2) >= 0,
    "attrgetter": lambda n: operator.attrgetter("__truediv__")(n)(2) >= 0,
    "vars": lambda n: vars(math)["sqrt"](n) >= 0,
    "globals": lambda n: (lambda: 0).__globals__["TENTH"] <= n,
    "eval": lambda n: eval("1/3") <= n,
    "closure": hidden(0.5),
    "closure, deep": hidden({"a": [(1, {"b": 0.5})]}),
    "default": default,
    "global": lambda n: n > TENTH,
    "attribute of a function": lambda n: default.least <= n,
    "part, divided in place": parts,
    "numpy, itself": np.isfinite,
    "jax, itself": jnp.isfinite,
    "global, deep": lambda n: TABLE["rate"][2] <= n,
    "constant": lambda n: n in (0.5, n),
    "class attribute": lambda n: RATED.less(n),
    "class attribute, made": lambda n: Rated().less(n),
    "method": lambda n: Count(n).half() >= 0,
    "method, of the class": lambda n: Count.parse(str(n)).positive(),
    "method, called by another": lambda n: Handed(n).positive(),
    "method, called by an operator": lambda n: Added(n) + n >= 0,
    "method, by getattr": lambda n: getattr(Count(n), "half")() >= 0,  # noqa: B009
    "method, handed on": lambda n: all(x >= 0 for x in map(Count.half, [Count(n)])),
    "method, called as the object": lambda n: Called(n)() >= 0,
    "method, that a base calls": lambda n: operator.iadd(Tally([n]), Tally()) <= n,
    "method, that dict calls": lambda n: max(dict(Keyed())) <= n,
    "property": lambda n: Count(n).third >= 0,
    "property, in a pattern": lambda n: by_name(Count(n)) >= 0,
    "property, in a pattern, by place": lambda n: by_place(Placed(n)) >= 0,
    "property, in a field": lambda n: "{.third}".format(Count(n)) != "",
    "property, asked for": lambda n: hasattr(Count(n), "th" + str(n)[:0] + "ird"),
    "property, set": lambda n: Setter(n).n <= n,
    "class, made": lambda n: not isinstance(n, Rounded) and Rounded(n).n >= 0,
    "class, handed on": lambda n: made_of(n, Rounded) >= 0,
    "json": lambda n: json.loads("0.1") <= n,
    "random": lambda n: random.random() <= n,
    "random, bound": functools.partial(lambda draw, n: draw() <= n, random.random),
    "time": lambda n: time.time() > n,
    "partial": functools.partial(lambda tol, n: n * tol >= 0, 0.1),
    "complex": lambda n: abs(n * 1j) >= 0,
    "from_float": lambda n: Fraction.from_float(TENTH) <= n,
    "module, handed on": lambda n: (lambda m: m.sqrt(n))(math) >= 0,
    "bytes as floats": lambda n: memoryview(bytes(8)).cast("d")[0] <= n,
    "defaultdict": lambda n: collections.defaultdict(float)[n] <= n,
}


@pytest.mark.parametrize("predicate", INEXACT.values(), ids=INEXACT)
def test_what_is_not_certified(predicate):
    remembered_half.cache_clear()
    [remembered_half(n) for n in range(1, 6)]
    found = tried(predicate)
    expected = Verdict.refuted if not all(map(predicate, range(1, 6))) else Verdict.holds
    assert (found.verdict, found.evidence) == (expected, Evidence.exhaustive)
    assert found.unproved.startswith("Not certified: ")


@dataclasses.dataclass(frozen=True)
class Pair:
    a: int
    b: int = 1
    names: tuple[str, ...] = ("x",)

    @property
    def product(self):
        return self.a * self.b

    def doubled(self):
        return dataclasses.replace(self, a=2 * self.a)


class Automaton:
    def __init__(self, steps):
        self.steps = steps

    def accepts(self, word):
        state = 0
        for symbol in word:
            state = self.steps[state, symbol]
        return state == 0


EVEN = Automaton({(s, c): s ^ (c == "a") for s in (0, 1) for c in "ab"})


class Ratio:
    def __init__(self, n):
        self.value = Fraction(n)

    def halved(self):
        return self.value / 2


@functools.lru_cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@functools.cache
def power(n):
    return 1 if n == 0 else 2 ** (n - power(0) + 1)


def primes(n):
    for p in range(2, n + 1):
        if all(p % d for d in range(2, math.isqrt(p) + 1)):
            yield p


def thirds(n):
    share = Fraction(n)
    share /= 3
    return share * 3 == n


def counted(n):
    found = collections.Counter("ab" * n)
    return found["a"] == n and found.most_common(1)[0][1] == n


EXACT = {
    "power": lambda n: 2**n > n,
    "power of a length": lambda n: 2 ** len(range(n)) > n,
    "pow": lambda n: pow(2, n) > n,
    "pow, modulo": lambda n: pow(2, n, 7) == 2**n % 7,
    "pow, inverse": lambda n: pow(n, -1, 7) * n % 7 == 1,
    "power of a fraction": lambda n: Fraction(1, n + 1) ** -2 == (n + 1) ** 2,
    "sum of fractions": lambda n: sum(Fraction(1, k * (k + 1)) for k in range(1, n)) <= 1,
    "quotient of fractions": lambda n: Fraction(n) / 3 + Fraction(n, 3) / Fraction(1, 2) == n,
    "quotient in place": thirds,
    "quotient in a method": lambda n: 2 * Ratio(n).halved() == n,
    "floor division": lambda n: n // 2 * 2 + n % 2 == n == sum(divmod(n, 1)),
    "comb": lambda n: math.comb(2 * n, n) >= 2**n,
    "gcd": lambda n: math.gcd(n, 6) <= 6 and math.lcm(n, 2) >= n,
    "sorted": lambda n: sorted(range(n), key=lambda k: -k)[0] == n - 1,
    "generators": lambda n: all(k < n for k in range(n)) and any(k == 0 for k in range(n)),
    "own generator": lambda n: sum(primes(n)) <= n * n,
    "recursion": lambda n: fibonacci(n) <= 2**n,
    "recursion, remembered": lambda n: power(n) == 2**n,
    "itertools": lambda n: sum(1 for _ in itertools.product("ab", repeat=n)) == 2**n,
    "strings": lambda n: ("ab" * n).count("ab") == n == len(str(n) * n),
    "written": lambda n: f"{n:>3}" == "%3d" % n == "{:>3}".format(n),
    "reduce": lambda n: functools.reduce(operator.mul, range(1, n + 1)) == math.factorial(n),
    "sets": lambda n: len({k % 3 for k in range(n)} | {0}) <= 3,
    "dicts": lambda n: sum({k: k * k for k in range(n)}.values()) <= n**3,
    "counter": counted,
    "automaton": lambda n: EVEN.accepts("a" * n) == (n % 2 == 0),
    "method, not called": lambda n: Count(n).positive(),
    "class, asked for": lambda n: not isinstance(n, Rounded),
    "partial": functools.partial(lambda base, n: base**n >= 1, 3),
    "bound method": EVEN.accepts,
    "round": lambda n: round(Fraction(n, 3), 1) >= 0 and round(n, 1) == n,
}


@pytest.mark.parametrize("predicate", EXACT.values(), ids=EXACT)
def test_what_is_certified(predicate):
    found = tried(predicate, ["", "aa"] if predicate is EXACT["bound method"] else range(1, 6))
    assert (found.verdict, found.evidence, found.unproved) == (
        Verdict.holds, Evidence.certified, "",
    )  # fmt: skip


def test_members_of_a_dataclass():
    pairs = [Pair(a, b) for a in range(3) for b in range(3)]
    found = tried(lambda p: p.doubled().product == 2 * p.product and p == Pair(p.a, p.b), pairs)
    assert (found.verdict, found.evidence, found.unproved) == (
        Verdict.holds, Evidence.certified, "",
    )  # fmt: skip
    found = tried(lambda w: w.size >= 0, [Weighted(1, 1), Weighted(2, 0.5)])
    assert found.evidence == Evidence.exhaustive
    assert found.unproved == "Not certified: weight of a Weighted is 0.5, a float."


@pytest.mark.parametrize(
    ("predicate", "says"),
    [
        (lambda n: n / 2 <= n, "divides 1 by 2, which makes a float; Fraction(1, 2) stays exact"),
        (
            lambda n: n**-1 <= 1,
            "raises 1 to the power -1, which makes a float; Fraction(1) ** -1 stays exact",
        ),
        (lambda n: n > TENTH, "uses TENTH, which is 0.1, a float"),
        (lambda n: n * 1.5 > 0, "uses 1.5, which is a float"),
        (lambda n: math.sqrt(n) > 0, "uses math.sqrt, which is math.sqrt and is not known"),
        (lambda n: "%.1f" % n != "", "writes with '%.1f', which can write a float"),
    ],
)
def test_the_line_is_named(predicate, says):
    line = predicate.__code__.co_firstlineno
    found = tried(predicate)
    assert f"line {line} of test_exactness.py {says}" in found.unproved


def test_what_was_read_does_not_change_a_verdict():
    class Shy:
        def __getattribute__(self, name):
            raise RuntimeError(name)

    shy, ring = Shy(), []
    ring.append(ring)
    for hold in (shy, ring):
        found = tried(lambda n, hold=hold: n > 0)
        assert (found.verdict, found.evidence) == (Verdict.holds, Evidence.exhaustive)


def test_large_tables_are_read():
    table = list(range(300_000))
    found = tried(lambda n: table[n] == n)
    assert found.evidence == Evidence.certified, found.unproved


def test_code_is_left_as_it_was():
    def half(n):
        return n / 2

    before = half.__code__
    with pytest.raises(ZeroDivisionError):
        tried(lambda n: half(n) >= 0 and 1 / (n - 3) < 9)
    assert half.__code__ is before


# Random expressions -------------------------------------------------------------------------

LEAVES = st.sampled_from(["n", "len(str(n))", "sum(range(n))"]) | st.integers(0, 9).map(str)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["+", "-", "*"]), inner, inner).map(
            lambda t: f"({t[1]} {t[0]} {t[2]})"
        ),
        st.tuples(st.sampled_from(["//", "%"]), inner, inner).map(
            lambda t: f"({t[1]} {t[0]} (abs({t[2]}) + 1))"
        ),
        st.tuples(inner, st.integers(0, 3)).map(lambda t: f"({t[0]} ** {t[1]})"),
        st.tuples(inner, inner).map(lambda t: f"(Fraction({t[0]}) / (abs({t[1]}) + 1))"),
        inner.map(lambda t: f"max({t}, 2)"),
    ),
    max_leaves=8,
)


NUMBER = itertools.count()


def made(expression):
    """Return `lambda n: n > 0 and expression > 3`, with a source that can be found."""
    text, file = f"lambda n: n > 0 and {expression} > 3\n", f"random_{next(NUMBER)}.py"
    linecache.cache[file] = (len(text), None, [text], file)
    return eval(compile(text, file, "eval"), {"Fraction": Fraction, "__name__": __name__})


@settings(max_examples=60, deadline=None)
@given(TREES)
def test_random_exact_expressions_are_certified(expression):
    predicate = made(expression)
    found = tried(predicate)
    assert found.evidence == Evidence.certified, found.unproved
    assert (found.verdict == Verdict.holds) == all(map(predicate, range(1, 6)))


@settings(max_examples=60, deadline=None)
@given(TREES, st.sampled_from(["0.5", "(n / 2)", "TENTH", "float(n)", "((n + 1) ** -1)"]))
def test_random_expressions_with_a_float_are_not(expression, inexact):
    predicate = made(f"0 * {inexact} + {expression}")
    predicate.__globals__["TENTH"] = 0.1
    found = tried(predicate)
    assert found.evidence == Evidence.exhaustive
    assert (found.verdict == Verdict.holds) == all(map(predicate, range(1, 6)))
