import jax
import pytest

from theorykit.kernels import engine


@pytest.fixture(scope="session", autouse=True)
def plain_compilation():
    """Programs that ask for more than the tests' own flags."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "_alone", lambda args: False)
        yield


@pytest.fixture(scope="module")
def x64():
    with jax.enable_x64(True):
        yield
