"""On which device JAX computes here."""

import contextlib
from collections.abc import Iterator

import jax


def platform() -> str:
    """Return the kind of device that is computed on here: "cpu", "gpu" or "tpu".

    That of the default device, which a scope may have changed; else that of the default backend.
    """
    device = jax.config.jax_default_device  # type: ignore[attr-defined]
    if device is None:
        return jax.default_backend()
    return device if isinstance(device, str) else device.platform


@contextlib.contextmanager
def on_cpu() -> Iterator[None]:
    """Open a scope, of this thread only, that computes on the CPU whatever else there is.

    **Raises:** `ValueError` if JAX was told to do without it.
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
