"""What Rocq says: proofs are accepted, controls refused, and terms have Python's values."""

import itertools
import math
import re
import subprocess
from fractions import Fraction

import pytest

from theorykit.claims import one
from theorykit.export import check, export, write
from theorykit.export._coqc import assumptions
from theorykit.export._python import Translation
from theorykit.export._terms import PRELUDE, written
from theorykit.export._values import of_type, type_of, variable

slow = [pytest.mark.slow, pytest.mark.usefixtures("rocq")]
LONG = 900.0  # of a machine that others share


def said_of(text, tmp_path, **limits):
    """Return what Rocq says of a script."""
    file = tmp_path / "script.v"
    file.write_text(text)
    return check(file, **{"timeout": LONG, **limits})


class TestOfClaims:
    """Claims of each kind."""

    pytestmark = slow

    @pytest.mark.parametrize(
        "name",
        [
            "square",
            "vector",
            "box",
            "pairs",
            "fails",
            "falls",
            "differs",
            "squares",
            "weights",
            "curved",
            "smooth",
            "slope",
            "motzkin",
            "means",
            "shifted",
            "grows",
            "slowly",
            "entropy",
            "divergence",
            "young",
            "line",
            "spread",
            "ridge",
            "factored",
            "eigen",
            "ordered",
            "orbit",
        ],
    )
    def test_the_proof_is_accepted_and_the_control_refused(self, claims, name, tmp_path):
        found = check(write(export(claims[name]), tmp_path / "claim"), timeout=LONG)
        assert found, found.why
        kept = next((tmp_path / "claim").glob("*.assumptions")).read_text()
        assert all(a in kept for a in found.assumptions)
        fallen = check(
            write(export(claims[name], control=True), tmp_path / "control"), timeout=LONG
        )
        assert not fallen
        assert not fallen.undecided
        assert not list((tmp_path / "control").glob("*.assumptions"))

    @pytest.mark.parametrize(
        "id",
        [
            "capture.4.4.triangle.decision",
            "capture.eq10.rkhs_norm",
            "capture.E1.first_derivative",
            "capture.two_stage",
            "capture.4.1.footnote4.ridge",
            "capture.B.inverse_entries",
            "limit.12.clusters.repaired",
            "limit.23.training_length",
            "quantitative.5.3.chain.stationary",
            "quantitative.5.3.chain.kernel",
            "quantitative.thm4.2.algebra.suffix",
            "quantitative.thm4.1.crude.repaired",
            "sharper.E2.pac_bayes.weight",
            "sharper.fourier.centred.repaired",
            "templates.G5.repaired",
            "templates.token_symmetry.mlp",
        ],
    )
    def test_a_shipped_proof_is_accepted_and_its_control_refused(self, id, tmp_path):
        found = check(write(export(one(id)), tmp_path), timeout=LONG)
        assert found, found.why
        fallen = check(write(export(one(id), control=True), tmp_path / "control"), timeout=LONG)
        assert not fallen
        assert not fallen.undecided


# The values of terms -----------------------------------------------------------------------


def by_loop(a, x, row):
    """Return a sum, with a branch and a list that grows."""
    total, seen = 0, []
    for k in range(a):
        if k % 3 == 1:
            seen.append(k)
        elif row[k % len(row)] > 0:
            total += x * k
        else:
            total -= 1
    return total + sum(seen)


def by_branches(a, x, row):
    """Return one of several values."""
    if a > 3:  # noqa: SIM108
        size = a // 2
    else:
        size = -a
    if x < 0:
        return size
    first, *rest = (size, a, len(row))
    return first * rest[1] - x


def padded(row, *more, by=1):
    """Return a list made longer."""
    return [*(v + by for v in more), *row]


PREDICATES = {
    "floor": lambda a, x, row: a // 3 + (-a) // 3 == -1,
    "remainder": lambda a, x, row: (-a) % 4 == 3,
    "floor of fractions": lambda a, x, row: (x * 7) // 2 == math.floor(x * 7 / 2) and a < 5,
    "ceiling": lambda a, x, row: math.ceil(x) - math.floor(x) == 1,
    "powers": lambda a, x, row: x**2 <= x and 2**a > a * a,
    "negative power": lambda a, x, row: x == 0 or 2 * x**-1 > a,
    "bits": lambda a, x, row: (a & 3) | 4 == 5 or a ^ 1 == 3 or a << 2 == 16 or a.bit_count() == 2,
    "counting": lambda a, x, row: sum(v == a for v in row) == 1,
    "products": lambda a, x, row: math.prod(v + 2 for v in row) > math.comb(a, 2),
    "factorials": lambda a, x, row: math.factorial(a) < 2**a or math.gcd(a, 6) == 3,
    "roots": lambda a, x, row: math.isqrt(a) ** 2 == a,
    "extremes": lambda a, x, row: max(row) - min(row) >= x and max(a, x, 1) == a,
    "defaults": lambda a, x, row: max((v for v in row if v > a), default=-1) == -1,
    "absolute": lambda a, x, row: abs(x - a) + abs(a - 3) <= 4,
    "chains": lambda a, x, row: 0 <= x < a <= 4,
    "not": lambda a, x, row: not (a == 2 and x != 0) and a not in (1, 4),
    "conditional": lambda a, x, row: (x if a % 2 else -x) >= 0,
    "slices": lambda a, x, row: sum(row[1:]) + sum(row[:-1]) + sum(row[a:]) > a,
    "index": lambda a, x, row: row[-1] == row[a % len(row)],
    "equal rows": lambda a, x, row: row[1:] == row[:-1] or row == (1, 2),
    "member": lambda a, x, row: a in row,
    "names of its own": lambda member, x, row: x in row or member in row or row.count(x) == 1,
    "nested": lambda a, x, row: any(all(v * w <= a for w in row) for v in row),
    "pairs": lambda a, x, row: len([1 for i, v in enumerate(row) if v > i for _ in range(a)]) > 3,
    "zips": lambda a, x, row: all(v <= w for v, w in zip(row, row[1:], strict=False)),  # noqa: RUF007
    "repeated": lambda a, x, row: len(list(itertools.product(row, repeat=a % 3))) > 2,
    "tuples": lambda a, x, row: (a, x) == (2, 0) or (a, (x, a)) == (3, (x, 3)),
    "lists": lambda a, x, row: padded(row, a, 2, by=2) == [a + 2, 4, *row] and a > 1,
    "loop": lambda a, x, row: by_loop(a, x, row) > 2,
    "branches": lambda a, x, row: by_branches(a, x, row) > 0,
    "truth": lambda a, x, row: bool(a % 2) == (x > 0),
    "parts": lambda a, x, row: x.numerator + x.denominator == a,
    "lowest terms": lambda a, x, row: (x + x).denominator == 1 and (x * 4 / 2 + a).numerator > 2,
    "divided": lambda a, x, row: divmod(a, 3) == (1, 0) or Fraction(a, 3) - x > 1,
    "reversed": lambda a, x, row: list(reversed(row)) == list(row),
    "steps": lambda a, x, row: sum(range(0, a, 2)) == 6 - a,
}  # fmt: skip
MEMBERS = [
    (a, x, row)
    for a in range(6)
    for x in (Fraction(0), Fraction(1, 2), Fraction(-2, 3), Fraction(7, 2))
    for row in ((1,), (1, 2), (2, -1, 0), (0, 0, 3, 3))
]


class TestOfTerms:
    """The value of a predicate at each member, as Rocq computes it."""

    pytestmark = slow

    def test_every_predicate_has_the_values_that_python_gives_it(self, tmp_path):
        type_ = type_of(MEMBERS)
        rows = "; ".join(of_type(m, type_).text() for m in MEMBERS)
        lines = [PRELUDE, f"Definition universe : list {written(type_)} := [{rows}]."]
        for number, predicate in enumerate(PREDICATES.values()):
            translation = Translation()
            whole = lambda m, predicate=predicate: predicate(*m)
            name, _ = translation.define(whole, "predicate", [variable("m", type_)])
            inside = "\n".join(translation.definitions)
            lines.append(f"Module M{number}.\n{inside}\nEnd M{number}.")
            lines.append(f"Eval vm_compute in map M{number}.{name} universe.")
        (tmp_path / "values.v").write_text("\n".join(lines))
        done = subprocess.run(
            ["coqc", "-q", "-noglob", "values.v"], cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr[-2000:]
        found = [re.findall("true|false", part) for part in done.stdout.split("= [")[1:]]
        assert len(found) == len(PREDICATES)
        wanted = {name: [bool(f(*m)) for m in MEMBERS] for name, f in PREDICATES.items()}
        values = {name: [v == "true" for v in row] for name, row in zip(wanted, found, strict=True)}
        assert [n for n in wanted if values[n] != wanted[n]] == []
        assert [
            n for n in wanted if len(set(wanted[n])) == 1
        ] == []  # such a one would tell nothing


class TestOfAxioms:
    """What a script may rest on."""

    pytestmark = slow

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("Axiom all : forall P : Prop, P.\nTheorem claim : 1 = 2. apply all. Qed.", "axiom"),
            ("Theorem claim : 1 = 2. Admitted.", "axiom"),
            ("Theorem claim : 1 = 2. reflexivity. Qed.", "Unable to unify"),
        ],
    )
    def test_anything_else_is_refused(self, text, said, tmp_path):
        found = said_of(f"{text}\nPrint Assumptions claim.\n", tmp_path)
        assert not found
        assert said in found.why
        assert not (tmp_path / "script.assumptions").exists()

    def test_a_script_that_does_not_end_is_stopped(self, tmp_path):
        text = "Theorem claim : 1 = 1. Proof. do 1000000000 idtac. reflexivity. Qed."
        found = said_of(text, tmp_path, timeout=20.0)
        assert found.why == "it took more than 20 seconds."
        assert found.undecided

    def test_a_script_that_takes_too_much_memory_is_undecided(self, tmp_path):
        text = "Theorem claim : length (List.repeat 1 (Nat.pow 2 28)) = 0. vm_compute. Qed."
        found = said_of("Require Import List.\n" + text, tmp_path, memory=0.5)
        assert found.why == "it took more than 0.5 GiB."
        assert found.undecided

    def test_what_was_accepted_is_not_run_again_until_it_changes(self, tmp_path):
        text = "Theorem claim : 1 = 1. reflexivity. Qed.\nPrint Assumptions claim.\n"
        assert said_of(text, tmp_path).seconds > 0
        assert said_of(text, tmp_path).seconds == 0
        assert not said_of(text.replace("1 = 1", "1 = 2"), tmp_path)


def test_the_names_of_axioms_are_read():
    said = """\
Axioms:
ClassicalDedekindReals.sig_not_dec : forall P : Prop, {~ ~ P} + {~ P}
Uint63.sub_spec
  : forall x y : PrimInt63.int, x = y
mine : False
Closed under the global context
"""
    names, foreign = assumptions(said)
    assert names == ("ClassicalDedekindReals.sig_not_dec", "Uint63.sub_spec", "mine")
    assert foreign == ("mine",)
