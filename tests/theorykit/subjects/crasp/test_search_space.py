"""The enumeration against one that is plain and slow, and what it says of each behaviour."""

import itertools

import numpy as np
import pytest

from theorykit.subjects import crasp
from theorykit.subjects.crasp._search import _maker, _space, _write
from theorykit.subjects.crasp._search._bank import Bank
from theorykit.subjects.crasp._search._maker import level
from theorykit.subjects.crasp._search._sample import Sample
from theorykit.subjects.crasp._search._space import Space

ALL = crasp.Fragment(constants=(0, 2), periodic=(2,), local=(1,), conditional=True, subtract=True)
FRAGMENTS = {
    "plain": crasp.Fragment(),
    "depth": crasp.Fragment(constants=(1,), depth=1),
    "positions": crasp.Fragment(constants=(0, 1), periodic=(3,), local=(1, (0, 2))),
    "all": ALL,
}
STRINGS = ["abb", "baa", "bb"]
WIDE = ["".join(s) for s in itertools.product("ab", repeat=6)]


def plain(fragment, strings, most):
    """Return all behaviours of Booleans and of counts with at most so many operations.

    A behaviour is the tuple of values at all prefixes. Every expression is looked at, with the
    depth that it has; nothing is left out because something like it is known.
    """
    nodes = Sample(strings).strings
    number = {s: k for k, s in enumerate(nodes)}
    at = lambda value: tuple(int(value(s)) for s in nodes)

    def counting(held, offsets):
        near = lambda s: [j for j in range(1, len(s) + 1) if not offsets or len(s) - j in offsets]
        return at(lambda s: sum(held[number[s[:j]]] for j in near(s)))

    no = lambda p: tuple(1 - v for v in p)
    each = lambda f, *parts: tuple(int(f(*values)) for values in zip(*parts, strict=True))
    leaves = [at(lambda s: True), *(at(lambda s, c=c: s[-1:] == (c,)) for c in "ab")]
    leaves += [at(lambda s, m=m, r=r: len(s) % m == r) for m in fragment.periodic for r in range(m)]
    booleans = [{(v, 0) for p in leaves for v in (p, no(p))}]
    counts = [{(at(lambda s, c=c: c), 0) for c in fragment.constants}]
    for size in range(1, most + 1):
        new, sums = set(), set()
        for p, d in booleans[size - 1]:
            for mask in fragment.masks:
                value = counting(p, mask)
                sums.add((value, d + 1))
                new.add((each(lambda v: v > 0, value), d + 1))
        for left in range(size):
            right = size - 1 - left
            for (p, d), (q, e) in itertools.product(booleans[left], booleans[right]):
                new.add((each(lambda v, w: v and w, p, q), max(d, e)))
            for (x, d), (y, e) in itertools.product(counts[left], counts[right]):
                new.add((each(lambda v, w: v <= w, x, y), max(d, e)))
                new.add((each(lambda v, w: v == w, x, y), max(d, e)))
                sums.add((each(lambda v, w: v + w, x, y), max(d, e)))
                if fragment.subtract:
                    sums.add((each(lambda v, w: v - w, x, y), max(d, e)))
        for sizes in itertools.product(range(size), repeat=3) if fragment.conditional else ():
            if sum(sizes) == size - 1:
                parts = booleans[sizes[0]], counts[sizes[1]], counts[sizes[2]]
                for (p, d), (x, e), (y, f) in itertools.product(*parts):
                    sums.add((each(lambda h, v, w: v if h else w, p, x, y), max(d, e, f)))
        may = lambda d: fragment.depth is None or d <= fragment.depth
        booleans.append({(v, d) for p, d in new if may(d) for v in (p, no(p))})
        counts.append({(v, d) for v, d in sums if may(d)})
    return [{v for some in kind for v, _ in some} for kind in (booleans, counts)]


def enumerated(fragment, strings, most, alphabet="ab"):
    space = Space(fragment, alphabet, Sample(strings), most)
    for size in range(most + 1):
        level(space, size, lambda words, made: None)
    return space


def behaviours(space):
    size = space.sample.size
    held = space.sample.unpack(space.booleans.rows.all).astype(int)
    booleans = {tuple(row) for half in (held, 1 - held) for row in half.tolist()}
    return [booleans, {tuple(row) for row in space.counts.rows.all[:, :size].tolist()}]


@pytest.mark.parametrize("name", FRAGMENTS)
@pytest.mark.parametrize("block", [3, 2**17])
def test_all_behaviours_are_found(name, block, monkeypatch):
    monkeypatch.setattr(_maker, "BLOCK", 4 * block)
    monkeypatch.setattr(_space, "BLOCK", block)
    fragment, most = FRAGMENTS[name], 3
    space = enumerated(fragment, STRINGS, most)
    assert behaviours(space) == plain(fragment, STRINGS, most)
    if fragment.depth is None:  # and each once
        booleans, counts = behaviours(space)
        assert (2 * len(space.booleans), len(space.counts)) == (len(booleans), len(counts))


def test_behaviours_on_more_prefixes_than_a_word_has_bits():
    fragment = crasp.Fragment(constants=(1,))
    assert Sample(WIDE).words == 2
    space = enumerated(fragment, WIDE, 3)
    assert behaviours(space) == plain(fragment, WIDE, 3)


NAMES = ["LEAF", "AND", "AND_NOT", "NOT_AND", "OR", "AT_MOST", "AT_LEAST", "EQUAL"]
NAMES += ["EXISTS", "COUNT", "ADD", "SUBTRACT", "IF"]


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_that_is_left_out_is_missed(name, monkeypatch):
    more = name in ("SUBTRACT", "IF")
    fragment = crasp.Fragment(constants=(2,), conditional=more, subtract=more)
    strings = ["".join(s) for s in itertools.product("abc", repeat=4)]
    full, extend = behaviours(enumerated(fragment, strings, 3, "abc")), Bank.extend

    def without(self, keys, depth, rows, made):
        keep = made[:, 0] != getattr(_space, name)
        extend(self, keys[keep], depth, rows[keep], made[keep])

    monkeypatch.setattr(Bank, "extend", without)
    assert (behaviours(enumerated(fragment, strings, 3, "abc")) == full) is False


def test_what_is_written_has_the_behaviour_and_the_size():
    space = enumerated(ALL, STRINGS, 2)
    held = space.sample.unpack(space.booleans.rows.all)
    sizes = space.sizes_of_booleans()
    for n in range(len(space.booleans)):
        program = _write.program("ab", {"L": space.boolean(n)})
        found = [crasp.interpreted(program, s) for s in space.sample.strings]
        assert found == held[n].tolist(), str(program)
        assert crasp.operations(program) == sizes[n]


def test_the_last_size_is_shown_and_not_kept():
    fragment, seen = crasp.Fragment(constants=(1,)), []
    space = enumerated(fragment, STRINGS, 2)
    level(space, 3, lambda words, made: seen.append(words), keep=False)
    found = space.sample.unpack(np.concatenate(seen)).astype(int)
    known = space.sample.unpack(space.booleans.rows.all).astype(int)
    both = np.concatenate([found, 1 - found, known, 1 - known])
    assert {tuple(row) for row in both.tolist()} == plain(fragment, STRINGS, 3)[0]


def test_the_cost_of_a_size_is_close_to_what_is_compared():
    space = enumerated(crasp.Fragment(), STRINGS, 4)
    expected, before = space.cost(5), space.compared
    level(space, 5, lambda words, made: None)
    assert 0.5 < (space.compared - before) / expected < 2


@pytest.mark.parametrize("bit", [62, 63])
def test_keys_tell_behaviours_apart_that_differ_in_the_last_bits_of_words(bit):
    # An odd factor leaves the last bit of a word as it is: with factors alone two cancel.
    strings = Sample(["a" * 200])
    words = np.zeros((1 + strings.words, strings.words), np.uint64)
    for one in range(1, strings.words):
        words[one, [0, one]] = np.uint64(1) << np.uint64(bit)
    for seed in range(8):
        space = Space(crasp.Fragment(), "a", strings, 3, seed)
        assert len(np.unique(space.boolean_keys(words[:-1]))) == strings.words
