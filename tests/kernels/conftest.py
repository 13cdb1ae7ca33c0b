import jax
import pytest

from theorykit.kernels import engine


@pytest.fixture(scope="session", autouse=True)
def quick_compilation():
    """Programs that run once cost more to compile than to run."""
    options = {"xla_backend_optimization_level": "0"}
    static = engine._static
    with pytest.MonkeyPatch.context() as patch:
        quick = jax.jit(engine._whole, static_argnames=static, compiler_options=options)
        patch.setattr(engine, "_quick", quick)
        yield
