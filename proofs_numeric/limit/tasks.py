"""Table 3 and appendix E.2: the tasks, and a program for every `yes`.

The programs are text files in `theorykit/subjects/crasp/programs`; the tasks are in
`theorykit.tasks`.
"""

import functools
import itertools

import jax
import numpy as np

from theorykit import claim
from theorykit.checks import construction, exhaustive
from theorykit.networks.tasks import ALGORITHMIC, Sort, UniqueCopy
from theorykit.proofs_numeric.limit import _tables
from theorykit.proofs_numeric.limit._tables import up_to
from theorykit.subjects import crasp

NEXT = {
    "bin_majority": (ALGORITHMIC["bin_majority"], range(1, 13)),
    "bin_majority_interleave": (ALGORITHMIC["bin_majority_interleave"], range(3, 13, 3)),
    "majority": (_tables.Letters(), range(1, 9)),
    "sort": (Sort(5), range(1, 6)),
    "unique_copy": (UniqueCopy(4), range(1, 5)),
}
"""Each task with a yes, over an alphabet of the size of its program, and the lengths to try."""


def every_input(name, program=None):
    """Return the first input after which a program does not name each next symbol, or None.

    All inputs of the stated lengths that the task has an answer to.
    """
    task, lengths = NEXT[name]
    given = [ids for n in lengths for ids in _tables.inputs(task, n)]
    return _tables.first_wrong(crasp.load(f"next_{program or name}"), task, given)


@claim(
    "limit.crasp.table3",
    ref="Table 3, App. E.2.2",
    statement=r"\text{NEXT}_\sigma(i) \iff \sigma \text{ is the next symbol, from SEP to EOS}",
)
def next_symbols():
    """For each yes a program that names, from SEP on, exactly the symbol that follows.

    On all inputs: of up to 12 bits, of up to 8 of three letters, of up to five distinct numbers or
    four distinct letters; larger alphabets have more lines of the same kind. The program for
    interleaved majorities uses i mod 3, the one for copying uses the predecessor, and the others
    use no positions. Control: the first of three majorities compared with binary majority.
    """
    positions = {"bin_majority_interleave": (True, False), "unique_copy": (False, True)}
    uses = lambda name: (lambda p: (p.periodic, p.local))(crasp.load(f"next_{name}"))
    return construction(
        build=lambda name: (name, every_input(name)),
        has={
            "the next symbol": lambda built: built[1] is None,
            "positions as said": lambda built: (
                uses(built[0]) == positions.get(built[0], (False, False))
            ),
        },
        cases=list(NEXT),
        complete=True,
        control=dict(
            build=lambda name: (name, every_input(name, "bin_majority")),
            cases=["bin_majority_interleave"],
        ),
    )


@claim(
    "limit.crasp.table3.long",
    ref="Table 3, App. E.2.2",
    statement=r"\text{NEXT}_\sigma(i) \iff \sigma \text{ is the next symbol},\ |x| \le 300",
    tier="slow",
)
def long_inputs():
    """The same on random inputs of up to 300 symbols, and of up to 300 repetitions.

    Majorities on 2,000 inputs. The alphabet limits the number of distinct symbols, so sorting and
    copying are repeated as in E.2.2, SOS x SEP y SEP y ..., with EOS read as SEP. Control: the
    sorting program compared with copying.
    """
    task = lambda name: NEXT[name][0]
    program = lambda name: crasp.load(f"next_{name}")
    tests = {
        name: functools.partial(_tables.long_wrong, program(name), task(name))
        for name in ("bin_majority", "bin_majority_interleave", "majority")
    }
    tests |= {
        name: functools.partial(_tables.repeated_wrong, program(name), task(name))
        for name in ("sort", "unique_copy")
    }
    return construction(
        build=lambda name: tests[name](),
        has={"the next symbol": lambda wrong: wrong is None},
        cases=list(tests),
        control=dict(
            build=lambda name: _tables.repeated_wrong(program("sort"), UniqueCopy(5)),
            cases=["unique_copy"],
        ),
    )


def decided(word_length, counted):
    """Whether counts of symbols, with the last symbol, decide majority on words up to a length."""
    known: dict[tuple, bool] = {}
    for word in up_to(word_length)[1:]:
        key = (*(sum(a in set for a in word) for set in counted), word[-1])
        more = word.count("1") >= word.count("0")
        if known.setdefault(key, more) != more:
            return False
    return True


@claim(
    "limit.crasp.table3.single_count",
    ref="App. E.2.2",
    statement=r"\exists P:\ \text{MAJORITY}(w) = f(\#[j \le |w|]\, P(j),\ w_{|w|})",
    assumptions=[r"P \text{ a Boolean function of the symbol at } j"],
    expect="refuted",
    falls="reading",
    consequence="One count in a looser sense may be meant; Definition 8 takes two, and the "
    "table's yes stands.",
    mathematics=True,
)
def single_count():
    """One Counting operation is sufficient for binary majority.

    Not one in the sense of Definition 8: a count of ones (of zeros, of positions) and the last
    symbol do not say how many of the others there are. Two counts do, as in C.1.1. Control: no
    count.
    """
    choices = lambda count: list(itertools.product(["", "0", "1", "01"], repeat=count))
    decides = lambda count: lambda n: any(decided(n, chosen) for chosen in choices(count))
    return exhaustive(
        predicate=decides(1), universe=[1, 2, 3, 4, 5, 6], control=dict(predicate=decides(0))
    )


@claim(
    "limit.crasp.table3.single_count.repaired",
    ref="App. C.1.1",
    statement=r"\text{MAJORITY}(w) = f(\#[j \le |w|]\, Q_0(j),\ \#[j \le |w|]\, Q_1(j))",
    mathematics=True,
)
def two_counts():
    """Two counts decide binary majority, on words to length 10. Control: one of them."""
    return exhaustive(
        predicate=lambda n: decided(n, ("0", "1")),
        universe=range(1, 11),
        control=dict(predicate=lambda n: decided(n, ("0",))),
    )


# Appendix E.2 ----------------------------------------------------------------------------------


@claim(
    "limit.E2.addition",
    ref="App. E.2.1",
    statement=r"\ell_1 \in [1, \mathrm{LEN} - 2],\ \ell_2 = \mathrm{LEN} - 2 - \ell_1 \ge 1",
    expect="refuted",
    falls="wording",
    consequence="An excluded edge: the upper end of the range is LEN - 3.",
    mathematics=True,
)
def operands():
    """Both operands of an addition of total length LEN, with + and =, have a digit.

    A first operand of LEN - 2 digits leaves none for the second. Control: the upper end LEN - 1.
    """
    left = lambda end: lambda n: all(n - 2 - first >= 1 for first in range(1, n - end + 1))
    return exhaustive(predicate=left(2), universe=range(4, 51), control=dict(predicate=left(1)))


def first_operands(longest):
    """Return the lengths of the first operand that the sampler draws, by the length of all."""
    task = ALGORITHMIC["addition"]
    plus = task.symbols.index("+")
    lengths = np.resize(np.arange(4, longest + 1), 800)
    keys = jax.random.split(jax.random.key(0), len(lengths))
    draw = jax.jit(
        jax.vmap(lambda key, n: task.padded(key, n, longest)[0]),
        compiler_options={"xla_backend_optimization_level": 0},
    )
    found: dict[int, set[int]] = {n: set() for n in lengths.tolist()}
    for n, row in zip(lengths.tolist(), np.asarray(draw(keys, lengths)).tolist(), strict=True):
        found[n].add(row.index(plus) - 1)
    return found


@claim(
    "limit.E2.addition.repaired",
    ref="App. E.2.1",
    statement=r"\ell_1 \in [1, \mathrm{LEN} - 3],\ \ell_2 = \mathrm{LEN} - 2 - \ell_1 \ge 1",
)
def operands_repaired():
    """With LEN - 3 they do, from the smallest length 4 on: the sampler draws all those lengths.

    Control: as printed.
    """
    found = first_operands(8)
    upto = lambda less: lambda n: found[n] == set(range(1, n - less + 1))
    return exhaustive(predicate=upto(3), universe=list(found), control=dict(predicate=upto(2)))


def samples(task, length=12, count=50):
    """Return inputs, answers and right answers of padded samples of mixed lengths."""
    lengths = np.resize(task.lengths(1, length), count)
    keys = jax.random.split(jax.random.key(0), count)
    draw = jax.jit(
        jax.vmap(lambda key, n: task.padded(key, n, length)),
        compiler_options={"xla_backend_optimization_level": 0},
    )
    x, target, weight = map(np.asarray, draw(keys, lengths))
    for row, wanted, counts in zip(x, target, weight, strict=True):
        places = np.flatnonzero(counts)
        given = row[1 : places[0]].tolist()
        yield given, wanted[places].tolist(), [*task.solution(given), task.end]


@claim(
    "limit.E2.tasks",
    ref="App. E.2.1",
    statement=r"\text{SOS } x \text{ SEP } f(x) \text{ EOS, the loss on } f(x) \text{ EOS}",
    tier="slow",
)
def tasks():
    """The eight samplers give the answers of a plain program, at mixed and padded lengths.

    Control: copying compared with sorting.
    """
    return construction(
        build=lambda name: list(samples(ALGORITHMIC[name])),
        has=lambda built: all(answer == right for _, answer, right in built),
        cases=list(ALGORITHMIC),
        control=dict(
            build=lambda name: [(x, x, sorted(x)) for x, *_ in samples(UniqueCopy())],
            cases=["unique_copy"],
        ),
    )
