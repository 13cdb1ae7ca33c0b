"""The faults that can be planted in a function."""

import ast
import textwrap

import pytest

from theorykit.audit import faults, functions
from theorykit.audit._faults import Fault
from theorykit.audit._functions import Function


@pytest.fixture
def changes(tmp_path):
    """Return the changes that can be made in a function, given its text."""

    def of(source):
        file = tmp_path / "one.py"
        file.write_text(textwrap.dedent(source))
        node = ast.parse(file.read_text()).body[0]
        return [(f.kind, f.change) for f in faults(Function("one.f", "one", file, node))]

    return of


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a + b", {("sign", "a + b -> ((a) - (b))"), ("dropped term", "a + b -> (a)")}),
        ("a * b", {("factor", "a * b -> ((a) / (b))"), ("dropped factor", "a * b -> (a)"),
                   ("dropped factor", "a * b -> (b)")}),
        ("a**b", {("dropped factor", "a**b -> (a)")}),
        ("-a", {("sign", "-a -> (a)")}),
        ("a < b", {("comparison", "a < b -> (a) <= (b)")}),
        ("a == b", {("comparison", "a == b -> (a) != (b)")}),
        ("a and b", {("condition", "a and b -> ((a) or (b))"),
                     ("half a condition", "a and b -> ((a))"),
                     ("half a condition", "a and b -> ((b))")}),
        ("not a", {("condition", "not a -> (bool(a))")}),
        ("a[i]", {("index", "a[i] -> a[(i) - 1]")}),
        ("a[0]", {("constant", "0 -> 1")}),
        ("2.0", {("constant", "2.0 -> 2.2")}),
        ("True", {("constant", "True -> False")}),
        ("min(a)", {("swapped", "min(a) -> max(a)")}),
        ("np.argmax(a)", {("swapped", "np.argmax(a) -> np.argmin(a)")}),
        ("a @ b", {("transposed", "a @ b -> ((a) @ (b).T)")}),
        ("a.b(c)", set()),
    ],
)  # fmt: skip
def test_each_kind(changes, body, expected):
    assert set(changes(f"def f(a, b, i):\n    return {body}\n")) == expected


def test_what_decides_is_turned_round(changes):
    found = changes("def f(a):\n    if a:\n        return b\n    while a:\n        pass\n")
    assert found == [("condition", "a -> (not (a))")] * 2


def test_words_annotations_and_sentences_stay(changes):
    source = '''
    def f(a: x[1], b: int | 2 = 3) -> y[4]:
        """Return 1 + 2."""
        c: z[5] = 6
        if a:
            raise ValueError(f"not {a + 7}")
        assert a == 8
        return f"{a - 9}"
    '''
    constants = [change for kind, change in changes(source.strip("\n")) if kind == "constant"]
    assert constants == ["3 -> 4", "6 -> 7"]


def test_a_fault_replaces_its_own_bytes(tmp_path):
    file = tmp_path / "one.py"
    file.write_text("def f(é):\n    return é + 'ß', 2\n")
    node = ast.parse(file.read_text()).body[0]
    found = [f for f in faults(Function("one.f", "one", file, node)) if f.kind == "constant"]
    assert found[0].planted(file.read_bytes()).decode().endswith("return é + 'ß', 3\n")
    assert found[0].diff() == "-    return é + 'ß', 2\n+    return é + 'ß', 3"
    assert isinstance(found[0], Fault)


@pytest.mark.slow
def test_functions_are_found_by_any_of_their_names():
    by = lambda pattern: {f.name for f in functions([pattern])}
    long = "theorykit.subjects.pacbayes._bounds.gaussian_kl"
    for name in (long, "theorykit.pacbayes.gaussian_kl", "theorykit.pacbayes._bounds.gaussian_kl"):
        assert by(name) == {long}
    assert long in by("theorykit.pacbayes") & by("theorykit.pacbayes.*")
    assert by("theorykit.kernels.ridge") == {"theorykit.kernels.predictors.ridge"}
    assert not [n for n in by("theorykit.*") if "proofs_numeric" in n]
    with pytest.raises(ValueError, match=r"no function matches 'theorykit.none'"):
        functions(["theorykit.none"])
