"""One model of results: what it refuses, what it writes, and its schema."""

import dataclasses
import json
import math

import numpy as np
import pytest

from theorykit.checks._inequality import LargestRatio
from theorykit.results import (
    UNREADABLE,
    Certificate,
    Evidence,
    Measurement,
    Number,
    Outcome,
    Result,
    Scope,
    Stored,
    Verdict,
    Witness,
)
from theorykit.runs import as_json, schema


def result(**fields):
    outcome = Outcome(Verdict.holds, Evidence.searched, **fields)
    return Result("a", "p", "L", "s", Verdict.holds, Verdict.holds, None, outcome, "Fine.", 1.23456)


def test_numbers_that_json_lacks_are_strings():
    measured = LargestRatio(ratio=math.inf, places={"here": Witness("x = 1", -math.inf, math.nan)})
    written = json.loads(json.dumps(result(measured=measured).json(), allow_nan=False))
    assert written["measured"]["ratio"] == "inf"
    tightest = written["measured"]["places"]["here"]
    assert (tightest["lhs"], tightest["rhs"]) == ("-inf", "nan")
    again = Result.from_json(written).outcome.measured
    assert again.ratio == math.inf
    assert math.isnan(again.places["here"].rhs)


def test_numbers_come_in_as_python_has_them():
    measured = LargestRatio(ratio=np.float32(0.5), places={"here": Witness("x", np.float64(1), 2)})
    found = Outcome(Verdict.holds, cases=np.int64(3), measured=measured)
    assert [type(v) for v in (found.cases, measured.ratio, measured.places["here"].rhs)] == [
        int, float, float,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    [
        {"verdict": "maybe"},
        {"evidence": 3},
        {"evidence": "guessed"},
        {"cases": True},
        {"cases": -1},
        {"cases": 1.0},
        {"seconds": "1.0"},
        {"seconds": math.nan},
        {"witness": {"code": "x", "lhs": "1.0"}},
        {"witness": {"code": "x", "lhs": 10**400}},
        {"certificate": {"how": "x", "bits": "64"}},
        {"measured": 3},
        {"measured": {"kind": "largest_ratio", "words": "x", "ratio": "1.0"}},
        {"unproved": None},
    ],
)
def test_a_damaged_result_is_refused(damage):
    whole = result().json()
    assert Result.from_json(whole).json() == whole
    with pytest.raises(UNREADABLE):
        Result.from_json(whole | damage)


def test_a_result_without_its_measurement_is_refused():
    fields = result().json()
    del fields["measured"]
    with pytest.raises(UNREADABLE):
        Result.from_json(fields)


def test_fields_of_a_later_version_are_left_out():
    measured = LargestRatio(ratio=1.0, places={"here": Witness("x")})
    fields = result(measured=measured).json()
    later = fields | {"severity": 1e-3, "measured": fields["measured"] | {"units": "1"}}
    assert Result.from_json(later).json() == fields
    figure = {"shape": "globe", "radius": 1}
    stored = Stored(content={"kind": "later", "words": "a globe", "figure": figure})
    assert (stored.words(), stored.figure()) == ("a globe", None)


WHOLE = Certificate("how", "T = 2", scope="whole")


def test_what_was_found_in_words():
    measured = LargestRatio(ratio=0.5, places={"here": Witness("x")})
    assert result(cases=1).found == "1 case"
    assert result(cases=20).found == "20 cases"
    assert result(cases=20, measured=measured).found == "max lhs/rhs 0.5"
    proof = Outcome(Verdict.holds, Evidence.certified, 3, certificate=WHOLE)
    made = dict(paper="p", ref="", statement="", expected="holds", control=None, outcome=proof)
    assert Result("a", verdict="holds", **made).found == "proved whole: T = 2"
    assert Result("a", verdict="inconclusive", **made).found == "3 cases"


def test_only_the_whole_statement_is_proved():
    made = dict(paper="p", ref="", statement="", expected="holds", control=None)
    for scope in Scope:
        outcome = dataclasses.replace(WHOLE, scope=scope)
        outcome = Outcome(Verdict.holds, Evidence.certified, 3, certificate=outcome)
        found = Result("a", verdict="holds", outcome=outcome, **made)
        assert found.proved == (scope == "whole")
        assert found.found == f"proved {scope.proved()}: T = 2"
        assert not Result("a", verdict="refuted", outcome=outcome, **made).proved
    part = dataclasses.replace(WHOLE, scope="part", share=0.25)
    assert part.words() == "proved in part (0.25 of its sizes and values): T = 2"


def test_why_it_is_not_proved_is_part_of_the_reason():
    assert result(unproved="Not proved: too large.").reason == "Fine. Not proved: too large."


def test_measurements_say_their_kind_and_share_none():
    with pytest.raises(TypeError, match="Nameless needs a kind"):

        class Nameless(Measurement):
            def words(self):
                return ""

    with pytest.raises(TypeError, match=r"the kind 'largest_ratio': .*LargestRatio and .*Other"):

        class Other(Measurement):
            kind = "largest_ratio"

            def words(self):
                return ""


class Odd(Measurement, arbitrary_types_allowed=True):
    kind = "test.odd"
    ratio: Number
    what: object = None

    def words(self):
        return "odd"


def test_a_measurement_that_cannot_be_kept_is_refused_where_it_is_made():
    with pytest.raises(ValueError, match="object"):
        Outcome(Verdict.holds, measured=Odd(ratio=1, what=object()))
    with pytest.raises(ValueError, match="ratoi"):
        Odd(ratio=1, ratoi=2)


def test_the_schema_has_every_field_and_the_shipped_kinds():
    made = schema()
    run = as_json(dict(version="1", seed=0, jax="1", device="cpu"), [result()])
    assert set(made["required"]) == set(run)
    written = run["claims"][0]
    described = made["$defs"]["Result"]
    assert set(described["required"]) == set(described["properties"]) == set(written)
    kinds = {d["properties"]["kind"].get("const") for d in made["$defs"].values()
             if "kind" in d.get("properties", {})}  # fmt: skip
    assert {"largest_ratio", "largest_error", "estimate", "fitted_exponent", None} <= kinds
