import pytest

from theorykit.checks._expectation import Estimate
from theorykit.checks._inequality import LargestRatio
from theorykit.checks._rate import FittedExponent
from theorykit.results import Certificate, Evidence, Outcome, Result, Verdict, Witness
from theorykit.runs._folder import RunFolder, read_run

HEADER = {"version": "0.1.0", "seed": 7, "jax": "0.10.2", "device": "cpu: cpu"}
MACHINE = {"system": "Linux", "processor": "a processor", "cores": 2, "python": "3.11"}

SOURCE = '''@claim("one.sum", ref="Lemma 1")
def sum_bound():
    """A sum is at most `n` & more."""
    return inequality(lhs=total, rhs=bound, control=dict(rhs=lambda n: n / 2))
'''


def result(id, verdict="holds", outcome=None, **fields):
    outcome = outcome or Outcome(Verdict(verdict), Evidence.sampled, 10)
    made = dict(
        paper=id.split(".")[0],
        ref="Lemma 1",
        statement=r"\sum_k x_k \le n^2",
        expected=Verdict(verdict),
        verdict=Verdict(verdict),
        control=Verdict.refuted,
        seconds=0.25,
        check="inequality over x: 64 random cases per size; the control replaces rhs",
    )
    return Result(id=id, outcome=outcome, **(made | fields))


def results():
    witness = Witness("x = np.array([1., 2.])\nname = '<α & β>'", 3.0, 2.5)
    certificate = Certificate(
        "Both sides are enclosed.", "x", 64, "3.0", "2.5", program="print(replay('one.fell'))"
    )
    slope = Outcome(
        Verdict.holds,
        Evidence.fitted,
        30,
        measured=FittedExponent(
            exponent=-0.5,
            interval=(-0.55, -0.45),
            predicted=(-0.6, -0.4),
            points=((8.0, 0.35, 0.01), (16.0, 0.25, 0.01), (64.0, 0.125, 0.2)),
        ),
    )
    tightest = LargestRatio(ratio=1.2, places={"Tightest where": witness})
    certified = Outcome(Verdict.refuted, Evidence.certified, 5, "", tightest, witness, certificate)
    trained = Outcome(
        Verdict.holds,
        Evidence.trained,
        8,
        measured=Estimate(estimate=0.97, interval=(0.95, 0.99), predicted=(0.9, float("inf"))),
    )
    searched = Outcome(
        Verdict.holds,
        Evidence.searched,
        99,
        measured=LargestRatio(
            ratio=0.9989, places={"Tightest where": Witness("x = 1.0", 0.9, 1.0)}
        ),
    )
    return [
        result("one.fell", "refuted", certified, note="lhs = 3 > rhs = 2.5.", ref="Eq. (2) & 50%"),
        result("one.fell.repaired", "holds", searched),
        result("one.rate", "holds", slope),
        result("one.unclear", "inconclusive", control=Verdict.holds, note="No power."),
        result("two.broken", "error", control=None, note="ValueError: no"),
        result("two.trained", "holds", trained),
    ]


def asked(result):
    return {
        "id": result.id,
        "words": "A sum of `n` terms < the bound.",
        "assumptions": [
            r"n \ge 1 \text{, a number that is as long in words as no phone is wide in pixels}",
            "a sum of terms",
        ],
        "tier": "slow" if result.outcome.evidence == Evidence.trained else "fast",
        "repairs": "one.fell" if result.id == "one.fell.repaired" else None,
        "source": SOURCE,
        "file": None,
    }


def write(path, results, planned=None, header=HEADER):
    with RunFolder(path, header) as folder:
        folder.plan([asked(r) for r in (results if planned is None else planned)], MACHINE)
        for one in results:
            folder.append(one, "f")
    return path


@pytest.fixture
def folder(tmp_path):
    """A finished run of six claims of two papers, one of each kind."""
    return write(tmp_path / "run", results())


@pytest.fixture
def run(folder):
    return read_run(folder)


def many(path, count=300):
    """A run of this many claims, each with all that a claim can have."""
    kinds = results()
    made = []
    for i in range(count):
        one = kinds[i % len(kinds)]
        fields = {k: v for k, v in vars(one).items() if k != "id"}
        made.append(Result(id=f"{one.paper}.section.number{i}", **fields))
    return write(path, made)
