"""Which of the project's public functions a claim runs."""

import contextlib
import functools
import subprocess
import sys
import textwrap
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from theorykit import boolean, crasp, kernels, pacbayes, sharpness
from theorykit.checks import exhaustive, identity
from theorykit.checks.domains import inputs, interval
from theorykit.claims import REGISTRY, _ran, claim, load, select
from theorykit.claims._ran import Memo, Recording, _Memo, _of_module, _roots, public, share
from theorykit.results import Verdict

KL = "theorykit.pacbayes.gaussian_kl"


def ran(function, **options):
    with Recording(**options) as recording:
        function()
    return recording.names


def test_a_function_that_the_claim_calls():
    assert ran(lambda: pacbayes.gaussian_kl(1.0, 2.0)) == (KL,)
    assert ran(lambda: None) == ran(lambda: np.linalg.svd(np.eye(3))) == ()


def test_public_functions_that_these_call_and_no_private_ones():
    found = ran(lambda: boolean.transformer(boolean.tiling(6, 3)))
    assert {"theorykit.boolean.transformer", "theorykit.boolean.tiling"} <= set(found)
    assert not [name for name in found if "._" in name.removesuffix(".__call__")]


@pytest.mark.parametrize(
    ("module", "home", "kind"),
    [
        ("theorykit.kernels.ridge", "", _ran.PRODUCT),
        ("theorykit.checks._inequality", "", _ran.CLAIM),
        ("theorykit.proofs_numeric.capture.ridge", "", _ran.CLAIM),
        ("theorykit_claims_my_claims", "mine", _ran.CLAIM),
        ("__main__", "", _ran.CLAIM),
        ("mine.code", "mine", _ran.PRODUCT),
        ("mine.code", "", _ran.FOREIGN),
        ("numpy.linalg", "mine", _ran.FOREIGN),
        ("", "mine", _ran.FOREIGN),
    ],
)
def test_where_code_belongs(module, home, kind):
    assert _ran._belongs(module, home) == kind


def test_methods_have_the_name_of_their_class():
    x = np.ones((1, 2, 2))
    run = lambda: kernels.InfiniteTransformer()(x, key=jax.random.key(0), draws=8, replicates=2)
    assert "theorykit.kernels.InfiniteTransformer.__call__" in ran(run)


def test_what_a_claim_traces_counts_each_time():
    """JAX keeps what it traced of a function; a check has it traced anew."""
    kernel = kernels.activations.Erf()
    side = lambda x: kernel.dual(jnp.ones(()), x, jnp.ones(()))

    def check():
        return identity(lhs=side, rhs=side, over=inputs(x=interval(0, 0.5)), cases=4)

    found = [claim(f"r.{n}")(check).run().ran for n in range(2)]
    assert found == [("theorykit.kernels.activations.Erf.dual",)] * 2


def test_nothing_that_is_called_while_a_library_traces_the_product():
    """It would be on record for the first claim of a process only."""
    network, x = boolean.transformer(boolean.tiling(6, 3)), np.zeros((2, 6))
    y = np.zeros((2, 1))
    first, second = (ran(lambda: sharpness.loss(network, x, y)) for _ in range(2))
    assert first == second == ("theorykit.sharpness.loss",)


def test_the_control_is_not_the_check(registry):
    made = claim("r.control")(
        lambda: exhaustive(
            predicate=lambda n: n >= 0,
            universe=range(3),
            control=dict(predicate=lambda n: pacbayes.gaussian_kl(1.0, 2.0) < -n),
        )
    )
    found = made.run()
    assert (found.verdict, found.control, found.ran) == (Verdict.holds, Verdict.refuted, ())


REMEMBERED = """
import functools
from theorykit import claim, pacbayes
from theorykit.checks import exhaustive

@functools.cache
def bound(sigma):
    return pacbayes.gaussian_kl(1.0, sigma)

def once(make):
    kept = functools.cache(make)
    return lambda: kept()

@once
def tails():
    return pacbayes.sub_gaussian(2.0)

def check(of):
    return exhaustive(predicate=lambda n: of(n), universe=[1.0], control={"predicate": bool})

claim("r.a")(lambda: check(lambda n: bound(n) > -1))
claim("r.b")(lambda: check(lambda n: bound(n) > -2))
claim("r.c")(lambda: check(lambda n: n > 0))
"""


def test_what_claims_remember_counts_for_each_that_asks(registry, tmp_path):
    file = tmp_path / "remembered.py"
    file.write_text(REMEMBERED)
    found = {c.id: c.run().ran for c in [*load(file), *load(file)[::-1]]}
    assert found == {"r.a": (KL,), "r.b": (KL,), "r.c": ()}
    for made in load(file)[:2]:
        assert made.run().ran == (KL,)  # a new module, whichever of them is first
    module = sys.modules[load(file)[0].build.__module__]
    assert isinstance(module.bound, Memo)
    assert module.bound.cache_info().misses == 0
    assert isinstance(module.tails.__closure__[0].cell_contents, Memo)


def test_a_memo_is_what_it_was(tmp_path):
    module = type(sys)("remembering")
    calls = []
    module.f = functools.lru_cache(2)(lambda x, y=0: calls.append(x) or x + y)
    share(module, "")
    assert [module.f(1, y=2), module.f(1, y=2), module.f(2)] == [3, 3, 2]
    assert (calls, module.f.cache_info().hits) == ([1, 2], 1)
    module.f.cache_clear()
    assert (module.f(1, y=2), calls) == (3, [1, 2, 1])


def test_no_public_function_runs_once_for_all_claims():
    """Whatever is jitted or remembered at the surface would be on record for the first alone."""
    import theorykit.kernels.finite  # noqa: F401  so that names that come later are there
    from theorykit import experiments, limit, nets, predict, simulation, tasks, templates, training  # noqa: F401
    from theorykit.networks import compare  # noqa: F401

    known = public()
    assert len(set(known.values())) > 300
    hidden = []
    for short, long in _roots("").items():
        module = sys.modules[long]
        for name in dir(module):
            value = getattr(module, name) if not name.startswith("_") else None
            jitted = type(value).__name__ == "PjitFunction"
            if (jitted or isinstance(value, _Memo)) and f"{short}.{name}" in known.values():
                hidden.append(f"{short}.{name}")
    assert hidden == []
    assert "theorykit.kernels.monte_carlo" in known.values()
    assert "theorykit.kernels.ridge" in known.values()
    assert "theorykit.crasp.evaluate" in known.values()
    assert not [n for n in known.values() if n.split(".")[1] in ("checks", "certify", "common")]
    assert not [n for n, _ in _of_module("x", crasp, set()) if n.startswith("x._")]


def test_a_function_that_is_called_late():
    def long():
        for _ in range(1000):
            crasp.library()
        pacbayes.gaussian_kl(1.0, 2.0)

    assert ran(long) == ("theorykit.crasp.library", KL)


def test_what_a_library_calls_for_the_product_depends_on_more_than_the_claim():
    """JAX, say, which calls back only to trace."""
    found = ("theorykit.crasp.library",)
    calls = lambda of, *given: of(*given)

    def written_in(module):
        return type(calls)(calls.__code__.replace(co_filename=module), {"__name__": module})

    library, product = written_in("numpy"), written_in("theorykit.kernels")
    assert ran(lambda: library(crasp.library)) == found
    assert ran(lambda: product(crasp.library)) == found
    assert ran(lambda: library(product, crasp.library)) == found
    assert ran(lambda: library(library, crasp.library)) == found
    assert ran(lambda: product(library, crasp.library)) == ()
    assert ran(lambda: product(library, product, crasp.library)) == ()


@pytest.mark.parametrize("taken", ["trace", "profile"])
def test_a_debugger_or_a_profiler_is_left_alone(taken):
    seen = []
    get, put = getattr(sys, f"get{taken}"), getattr(sys, f"set{taken}")
    outer = get()
    put(lambda frame, event, arg: seen.append(event))
    try:
        mine = get()
        assert ran(lambda: pacbayes.gaussian_kl(1.0, 2.0)) == (KL,)
        assert get() is mine
    finally:
        put(outer)
    assert seen
    assert (sys.gettrace(), sys.getprofile())[taken == "trace"] is None


def test_where_both_hooks_are_taken_nothing_is_noted():
    hook = lambda frame, event, arg: None
    sys.settrace(hook)
    sys.setprofile(hook)
    try:
        assert ran(lambda: pacbayes.gaussian_kl(1.0, 2.0)) == ()
        assert sys.gettrace() is sys.getprofile() is hook
    finally:
        sys.setprofile(None)
        sys.settrace(None)


def test_a_hook_that_is_taken_meanwhile_is_left_where_it_is():
    hook = lambda frame, event, arg: None
    try:
        with Recording():
            sys.settrace(hook)  # a debugger's breakpoint
        assert sys.gettrace() is hook
    finally:
        sys.settrace(None)


def test_what_is_called_in_a_pause_is_not_noted_again():
    @functools.cache
    def remembered(x):
        return pacbayes.gaussian_kl(1.0, x)

    kept = Memo(remembered, "")
    with Recording() as recording:
        hook = sys.gettrace()
        with recording.paused():
            assert sys.gettrace() is None
            crasp.library()
        assert recording.names == ()
        with recording.paused():
            kept(2.0)  # what is remembered is known for all
        assert sys.gettrace() is hook
        assert recording.names == (KL,)
        crasp.library()
    assert recording.names == ("theorykit.crasp.library", KL)
    assert sys.gettrace() is None


def test_a_thread_of_its_own(registry):
    found = {}
    made = claim("r.thread")(
        lambda: exhaustive(
            predicate=lambda n: pacbayes.gaussian_kl(1.0, float(n)) > -1, universe=range(1, 4)
        )
    )
    threads = [
        threading.Thread(target=lambda n=n: found.update({n: made.run().ran})) for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == dict.fromkeys(range(3), (KL,))


def test_another_distributions_own_functions(tmp_path):
    """In a process of its own: a paper is found once."""
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from theorykit import Paper\nPAPER = Paper(id='mine', title='T', authors=('A',))\n"
    )
    (package / "sums.py").write_text(
        "def total(n):\n    return _add(n)\n\ndef _add(n):\n    return n"
    )
    (package / "lemmas.py").write_text(
        textwrap.dedent("""
        from mine import sums
        from theorykit import claim
        from theorykit.checks import exhaustive

        @claim("mine.one")
        def one():
            return exhaustive(predicate=lambda n: sums.total(n) >= 0, universe=range(3))
        """)
    )
    script = (
        "import mine.lemmas, mine\n"
        "from theorykit import papers\n"
        "import dataclasses\n"
        "papers.known = lambda: (dataclasses.replace(mine.PAPER, claims='mine'),)\n"
        "print(mine.lemmas.one.run().ran)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.stdout.strip() == "('mine.sums.total',)", done.stderr


def test_a_claim_may_say_that_it_is_of_mathematics_alone(registry):
    make = lambda: exhaustive(predicate=lambda n: n >= 0, universe=[1])
    assert claim("r.m", mathematics=True)(make).json()["mathematics"] is True
    assert claim("r.m", mathematics=True)(make).run().mathematics is True
    with pytest.raises(ValueError, match="mathematics is True or False, not 'yes'"):
        claim("r.n", mathematics="yes")


def test_recording_changes_no_result():
    """The same random numbers, cases and verdict as without a hook."""
    import theorykit.claims._attempt as room

    [made] = select("capture.E2.relu_modulus")
    with_hook = made.run().json()
    hook = room.Recording
    room.Recording = lambda home: type("None", (), {
        "names": (), "__enter__": lambda s: s, "__exit__": lambda s, *e: None,
        "paused": lambda s: contextlib.nullcontext(),
    })()  # fmt: skip
    try:
        without = made.run().json()
    finally:
        room.Recording = hook
    assert with_hook.pop("ran")
    assert without.pop("ran") == []
    assert {**with_hook, "seconds": 0} == {**without, "seconds": 0}
    assert REGISTRY


def test_a_function_whose_divisions_are_watched_counts(registry):
    """An exhaustive check runs a copy of its code."""
    derivative = kernels.template_derivative
    check = exhaustive(
        predicate=lambda n: derivative("aa", "ab", n, 0) == derivative("ab", "aa", n, 0),
        universe=[0, 1, 2],
        control=dict(predicate=lambda n: derivative("aa", "ab", n, 0) == n + 9),
    )
    assert "theorykit.kernels.template_derivative" in claim("r.watched")(lambda: check).run().ran
