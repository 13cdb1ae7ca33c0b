import jax
import pytest

from theorykit.kernels import engine


@pytest.fixture(scope="session", autouse=True)
def quick_compilation():
    """Programs that run once cost more to compile than to run."""
    options = {"xla_backend_optimization_level": "0"}
    quick = jax.jit(engine._whole, static_argnames=engine._static, compiler_options=options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_quick", quick)
        yield
