"""The device on which JAX computes."""

import contextlib
from collections.abc import Iterator

import jax


def platform() -> str:
    """Return the kind of device in use: "cpu", "gpu" or "tpu".

    This is the default device, which a scope may have changed, or else the default backend.
    """
    device = jax.config.jax_default_device  # type: ignore[attr-defined]
    if device is None:
        return jax.default_backend()
    return device if isinstance(device, str) else device.platform


@contextlib.contextmanager
def on_cpu() -> Iterator[None]:
    """Open a scope, for this thread only, that computes on the CPU whatever other devices exist.

    **Raises:** `ValueError` if JAX was told not to use the CPU.
    """
    try:
        cpu = jax.local_devices(backend="cpu")[0]
    except RuntimeError as error:
        raise ValueError(
            "claims run on the CPU, which JAX_PLATFORMS leaves out: add it, as in "
            f'JAX_PLATFORMS="cuda,cpu" ({error}).'
        ) from None
    with jax.default_device(cpu):
        yield
