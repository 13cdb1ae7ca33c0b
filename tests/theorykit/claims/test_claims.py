import importlib
import json
import warnings

import jax
import jax.numpy as jnp
import pytest

from theorykit import Paper, verify
from theorykit.checks import exhaustive, expectation, identity, inequality
from theorykit.checks.domains import inputs, reals
from theorykit.claims import REGISTRY, TierWarning, _find, claim, load, one, select
from theorykit.results import Evidence, Result, Verdict, Witness
from theorykit.runs._fingerprint import fingerprint

FILE = """
from theorykit import claim
from theorykit.checks import exhaustive

helper = {helper}

@claim("my.first", ref="Lemma 1", statement="n \\\\ge 0")
def first():
    "Natural numbers are not negative."
    return exhaustive(predicate=lambda n: n >= 0, universe=range({size}),
                      control=dict(predicate=lambda n: n > 0))

@claim("my.second", expect="refuted", tier="slow")
def second():
    return exhaustive(predicate=lambda n: n > {bound}, universe=range(9),
                      control=dict(predicate=lambda n: n > 5))
"""


def write(path, size=5, bound=0, helper=1):
    path.write_text(FILE.format(size=size, bound=bound, helper=helper))
    return path


def test_a_claim_is_data(registry):
    @claim("p.a", ref="Lemma 1", statement="x", assumptions=("y",), expect="refuted")
    def a():
        """Say it
        in words.
        """

    assert (a.id, a.paper, a.ref, a.statement) == ("p.a", "p", "Lemma 1", "x")
    assert (a.assumptions, a.expect, a.tier) == (("y",), Verdict.refuted, "fast")
    assert a.words == "Say it in words."
    assert list(REGISTRY) == [a]
    assert claim("p.a.repaired")(lambda: None).repairs == "p.a"
    assert claim("q.b", paper="other")(lambda: None).paper == "other"


def test_two_claims_with_one_id_are_refused_with_both_places(registry):
    claim("p.a")(lambda: None)
    with pytest.raises(ValueError, match=r"p\.a: .*test_claims\.py:\d+ and .*test_claims\.py:\d+"):
        claim("p.a")(lambda: None)


@pytest.mark.parametrize("wrong", [{"expect": "true"}, {"tier": "medium"}])
def test_unknown_expectations_and_tiers_are_refused(registry, wrong):
    with pytest.raises(ValueError, match=r"p\.a: "):
        claim("p.a", **wrong)


@pytest.mark.parametrize("id", ["p a", "p.*", "p[1]", "p.py", "", 3])
def test_an_id_is_no_pattern_and_no_file(registry, id):
    with pytest.raises(ValueError, match="a claim's id"):
        claim(id)


@pytest.mark.parametrize("wanted", [print, 5, None, [5], [print]])
def test_what_is_no_claim_is_named(wanted):
    with pytest.raises(ValueError, match="give claims, modules of claims, patterns of ids or"):
        select(wanted)


def test_a_claim_and_what_comes_of_it_are_a_line_each(registry):
    made = claim("p.a", ref="Lemma 1")(
        lambda: identity(lhs=lambda x: x[0] * 2, rhs=lambda x: x[0], over=inputs(x=reals("2")))
    )
    outcome = made.run().outcome
    texts = [str(thing) for thing in (made, outcome, outcome.witness, outcome.certificate)]
    assert texts[0] == "p.a (Lemma 1)"
    assert texts[1].startswith("refuted (certified): ")
    assert texts[2] == "x = np.array([1., 0.]): lhs = 2, rhs = 1"
    assert "Covers a point: " in texts[3]
    assert not any("\n" in text for text in texts)
    witness = Witness("G = np.array([[1., 1.],\n              [1., 1.]])\ny = 1.0")
    assert str(witness) == "G = np.array([[1., 1.], [1., 1.]]); y = 1.0"


def true(**fields):
    return exhaustive(predicate=lambda n: n >= 0, universe=range(3), **fields)


@pytest.mark.parametrize(
    ("control", "verdict", "word"),
    [
        ({"predicate": lambda n: n != 2}, "holds", ""),
        ({"predicate": lambda n: n != 5}, "inconclusive", "not refuted"),
        (None, "inconclusive", "no control"),
    ],
)
def test_a_claim_is_no_stronger_than_its_control(registry, control, verdict, word):
    result = claim("p.a")(lambda: true(control=control)).run()
    assert result.verdict == verdict
    assert word in result.note


def test_a_refutation_stands_by_itself(registry):
    check = exhaustive(
        predicate=lambda n: n < 2, universe=range(3), control={"predicate": lambda n: n < 9}
    )
    result = claim("p.a", expect="refuted")(lambda: check).run()
    assert (result.verdict, result.control) == (Verdict.refuted, Verdict.holds)
    assert not result.moved


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero (test_claims.py:"),
        (lambda: 3, "returns int, not a check"),
        (lambda: None, "returns nothing, not a check; it needs a `return`"),
        (lambda: true(control={"x": 1}), "cannot replace x"),
        (
            lambda: identity(lhs=lambda y: y, rhs=lambda: 0, over=inputs(x=reals())),
            "asks for y, but its domain has x",
        ),
        (
            lambda: inequality(lhs=jnp.sqrt, rhs=lambda x: x + 9, over=inputs(x=reals())),
            "lhs is NaN at a point of the domain: x = -",
        ),
    ],
)
def test_what_goes_wrong_is_a_result_of_one_sentence(registry, build, words):
    result = claim("p.a")(build).run()
    assert result.verdict == Verdict.error
    assert words in result.note
    assert "\n" not in result.note


def random_claims():
    for i in range(3):

        @claim(f"p.{i}")
        def draw():
            return expectation(
                statistic=jax.random.normal, value=0, replicates=8, control={"value": 3}
            )


def test_a_result_depends_on_seed_and_id_only(registry):
    random_claims()
    found = {c.id: c for c in REGISTRY}
    one = found["p.1"].run(seed=3)
    again = {c.id: c.run(seed=3) for c in reversed(found.values())}["p.1"]
    drop = lambda r: {k: v for k, v in r.json().items() if k != "seconds"}
    assert drop(one) == drop(again)
    assert found["p.1"].run(seed=4).outcome.measured.estimate != one.outcome.measured.estimate
    assert found["p.2"].run(seed=3).outcome.measured.estimate != one.outcome.measured.estimate


def test_checks_run_in_float64_and_leave_jax_alone(registry):
    dtypes = []
    with jax.enable_x64(False):
        check = lambda: exhaustive(
            predicate=lambda n: dtypes.append(jnp.ones(1).dtype) or n == 0, universe=range(1)
        )
        claim("p.a")(check).run()
        assert jnp.ones(1).dtype == jnp.float32
    assert dtypes == [jnp.float64]


def test_results_survive_json(registry):
    random_claims()
    result = next(iter(REGISTRY)).run()
    text = json.dumps(result.json(), allow_nan=False)
    assert Result.from_json(json.loads(text)).json() == result.json()


def test_grades_are_ordered():
    assert (
        Evidence.sampled
        < Evidence.searched
        < Evidence.fitted
        < Evidence.trained
        < Evidence.exhaustive
        < Evidence.certified
    )


def test_a_file_of_claims_works_like_the_shipped_ones(registry, tmp_path):
    file = write(tmp_path / "mine.py")
    assert [c.id for c in load(file)] == ["my.first", "my.second"]
    (result,) = verify([str(file)])
    assert (result.id, result.verdict, result.paper) == ("my.first", Verdict.holds, "my")
    assert [r.verdict for r in verify(file, tier="all")] == ["holds", "refuted"]
    write(file, size=7)
    assert verify(file)[0].outcome.cases == 7


def test_a_file_may_import_its_neighbours(registry, tmp_path):
    (tmp_path / "neighbour_of_mine.py").write_text("size = 4\n")
    file = tmp_path / "mine.py"
    file.write_text(
        "from neighbour_of_mine import size\n" + FILE.format(size="size", bound=0, helper=1)
    )
    assert verify(file)[0].outcome.cases == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "import nowhere_at_all",
            "ModuleNotFoundError: No module named 'nowhere_at_all' (bad.py:1)",
        ),
        ("x =", "SyntaxError"),
        ("x = 1", "declares no claim"),
    ],
)
def test_a_file_that_is_no_use_is_named(registry, tmp_path, text, words):
    file = tmp_path / "bad.py"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"bad\.py") as caught:
        load(file)
    assert words in str(caught.value)


def test_selection(registry, tmp_path, monkeypatch):
    file = str(write(tmp_path / "mine.py"))
    monkeypatch.setattr(_find, "installed", lambda patterns: [])
    with pytest.raises(ValueError, match="no claim matches 'x\\*'"):
        select(["x*"])
    with pytest.raises(ValueError, match="there is no claims file"):
        select([str(tmp_path / "none.py")])
    monkeypatch.setattr(
        _find, "installed", lambda patterns: [c for c in load(file) if c.tier == "slow"]
    )
    with pytest.raises(
        ValueError, match="1 claim of the slow tier; ask for that tier with --tier slow"
    ):
        select(["my.second"], "fast")
    assert [c.id for c in select(["my.s*"], "slow")] == ["my.second"]


def test_a_pattern_chooses_among_the_claims_of_a_file(registry, monkeypatch, tmp_path):
    file = str(write(tmp_path / "mine.py"))
    monkeypatch.setattr(_find, "installed", lambda patterns: [])
    both = [c.id for c in select([file])]
    assert len(both) == 2
    assert [c.id for c in select(["my.s*", file])] == ["my.second"]


def test_a_fingerprint_follows_the_claim_and_its_helpers_only(registry, tmp_path):
    marks = lambda **kw: [fingerprint(c) for c in load(write(tmp_path / "mine.py", **kw))]
    first, second = marks()
    assert marks(size=6)[0] != first
    assert marks(size=6)[1] == second
    assert marks(helper=2)[0] != first
    file = tmp_path / "mine.py"
    write(file)
    file.write_text("# a comment\n\n" + file.read_text())
    assert [fingerprint(c) for c in load(file)] == [first, second]


# One id in several places ------------------------------------------------------------------------


def test_files_of_different_calls_do_not_clash(registry, tmp_path):
    one, two = write(tmp_path / "v1.py"), write(tmp_path / "v2.py", size=7)
    assert [verify(file)[0].outcome.cases for file in (one, two, one)] == [5, 7, 5]
    with pytest.raises(ValueError, match=r"id my\.first: .*v1\.py:\d+ and .*v2\.py:\d+"):
        verify([one, two])
    assert [r.outcome.cases for r in verify([one, one])] == [5]


def test_a_file_may_not_have_the_id_of_a_paper_in_the_same_call(registry, tmp_path, monkeypatch):
    one, two = write(tmp_path / "v1.py"), write(tmp_path / "v2.py")
    known = load(one)
    monkeypatch.setattr(_find, "installed", lambda patterns: known)
    with pytest.raises(ValueError, match=r"two claims have the id my\.first"):
        verify(["my.*", two])
    assert len(verify("my.f*")) == 1


def in_a_cell(text, **names):
    """Run Python that is in no file, as a cell of a notebook is."""
    import __main__

    scope = dict(vars(__main__), __name__="__main__", **names)
    exec(compile(text, "<cell>", "exec"), scope)
    return scope


CELL = """
from theorykit import claim
from theorykit.checks import exhaustive

def small(n):
    return n < BOUND

@claim("cell.first", tier={tier!r})
def first():
    return exhaustive(predicate=small, universe=range({size}),
                      control=dict(predicate=lambda n: n > 0))
"""


def test_a_claim_of_a_notebook_is_verified_and_replaced(registry):
    first = in_a_cell(CELL.format(size=3, tier="fast"), BOUND=9)["first"]
    assert [r.outcome.cases for r in verify(first)] == [3]
    again = in_a_cell("\n\n" + CELL.format(size=4, tier="fast"), BOUND=9)["first"]
    assert [r.outcome.cases for r in verify([again])] == [4]
    assert list(REGISTRY) == [again]


def test_a_run_knows_a_notebooks_claim_and_what_it_uses(registry, tmp_path):
    ran = []

    def cases(size, bound):
        made = in_a_cell(CELL.format(size=size, tier="fast"), BOUND=bound)["first"]
        before = (tmp_path / "r" / "results.jsonl").stat().st_size if ran else 0
        (found,) = verify(made, run=tmp_path / "r")
        ran.append((tmp_path / "r" / "results.jsonl").stat().st_size > before)
        return found.outcome.cases, ran[-1]

    assert cases(3, 9) == (3, True)
    assert cases(3, 9) == (3, False)
    assert cases(3, 8) == (3, True)  # a name that a function beside it uses
    assert cases(4, 8) == (4, True)


def test_what_the_tier_leaves_out_is_said(registry, tmp_path):
    file = write(tmp_path / "mine.py")
    with pytest.warns(TierWarning, match="1 claim of the slow tier is left out") as caught:
        verify(file)
    assert len(caught) == 1
    slow = in_a_cell(CELL.format(size=3, tier="slow"), BOUND=9)["first"]
    with pytest.raises(ValueError, match=r"cell\.first names 1 claim of the slow tier"):
        verify(slow)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(verify(file, tier="all")) == 2
        assert len(verify([slow], tier="slow")) == 1


def test_an_id_that_is_spelt_wrongly_is_guessed(registry, tmp_path, monkeypatch):
    file = str(write(tmp_path / "mine.py"))
    with pytest.raises(ValueError, match=r"Did you mean my\.first\?"):
        one("my.frist", [file])
    with pytest.raises(ValueError, match=r"Did you mean my\.second\?"):
        select([file, "my.secnd"])
    known = load(file)
    asked = lambda patterns: known if patterns == ["mine."] else []
    monkeypatch.setattr(_find, "installed", asked)
    monkeypatch.setattr(
        _find.papers, "known", lambda: [Paper(id="mine", title="x", authors=("y",))]
    )
    with pytest.raises(ValueError, match=r"no claim has the id 'mien\.first'.*FILE` looks into a"):
        one("mien.first")
    known = [claim("mine.first")(lambda: None)]
    with pytest.raises(ValueError, match=r"Did you mean mine\.first\?"):
        one("mien.first")
    with pytest.raises(ValueError, match=r"FILE` looks into a file of claims\.$"):
        one("nothing.like.it", [file])


def test_a_module_or_a_package_stands_for_what_it_declares(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "stated_claims"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name in ("one", "two"):
        (package / f"{name}.py").write_text(
            "from theorykit import claim\nfrom theorykit.checks import exhaustive\n"
            f"@claim('stated.{name}')\ndef holds():\n"
            "    return exhaustive(predicate=lambda n: n < 3, universe=range(3),\n"
            "        control=dict(predicate=lambda n: n < 2))\n"
        )
    one = importlib.import_module("stated_claims.one")
    assert [c.id for c in select(one)] == ["stated.one"]
    assert [c.id for c in select([importlib.import_module("stated_claims"), one])] == [
        "stated.one",
        "stated.two",
    ]
    assert [r.verdict for r in verify(one)] == ["holds"]
    with pytest.raises(ValueError, match="json declares no claim"):
        select(importlib.import_module("json"))


def test_an_id_that_is_misspelt_is_looked_for_among_those_of_the_file_first(tmp_path):
    file = tmp_path / "my_claims.py"
    file.write_text(
        "from theorykit import claim\n"
        "from theorykit.checks import exhaustive\n"
        '@claim("limits.abc")\n'
        "def c():\n"
        "    return exhaustive(predicate=lambda n: n < 2, universe=range(2))\n"
    )
    with pytest.raises(ValueError, match=r"Did you mean limits\.abc\?"):
        one("limits.abd", [file])
