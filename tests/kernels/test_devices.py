"""Where results are: on the device, or spread over the devices, of what was given."""

import subprocess
import sys

import pytest

FLAGS = "--xla_force_host_platform_device_count=2 --xla_backend_optimization_level=0"
BEGIN = f"""
import os
os.environ["XLA_FLAGS"] = "{FLAGS}"
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from theorykit import kernels
from theorykit.kernels import InfiniteTransformer
first, second = jax.devices()
rng = np.random.default_rng(0)
x, x2 = rng.normal(size=(4, 2, 3)).astype("f4"), rng.normal(size=(2, 2, 3)).astype("f4")
mesh = Mesh(np.array([first, second]), "i")
over = lambda a, *axes: jax.device_put(a, NamedSharding(mesh, P(*axes)))
net, few = InfiniteTransformer(), dict(key=jax.random.key(0), draws=8, replicates=2)
close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
"""


def run(script):
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_kernels_are_where_the_inputs_are():
    run("""
plain, crossed = net(x, **few), net(x, x2, **few)
k = net(over(x, "i"), **few)
assert k.ntk.sharding == k.ntk_stderr.sharding == NamedSharding(mesh, P("i", None))
assert np.array_equal(k.ntk, plain.ntk)
k = net(over(x, "i"), over(x2, None), **few)
assert k.nngp.sharding.spec[0] == "i" and np.array_equal(k.nngp, crossed.nngp)
tokens = InfiniteTransformer(readout="tokens")(over(x, "i"), **few).nngp
assert tokens.sharding.spec[0] == "i" and tokens.shape == (4, 2, 4, 2)
k = net(jax.device_put(x, second), **few)
assert k.ntk.devices() == {second} and np.array_equal(k.ntk, plain.ntk)
""")


def test_predictors_are_where_the_kernels_are():
    run("""
k = x[:, 0] @ x[:, 0].T + np.eye(4, dtype="f4")
there = jax.device_put(k, second)
for found, plain in (
    (kernels.ridge(there, k[0], k[:2], ridge=0.1), kernels.ridge(k, k[0], k[:2], ridge=0.1)),
    (kernels.gp_posterior(there, k[0], k[:2], k[:2, :2], noise=0.1),
     kernels.gp_posterior(k, k[0], k[:2], k[:2, :2], noise=0.1)),
):
    assert found.mean.devices() == found.alpha.devices() == {second}
    assert np.array_equal(found.mean, plain.mean)
flow = kernels.gradient_flow(there, k[0], k[:2], time=[1.0, 2.0])
assert flow.devices() == {second}
""")


def test_kernels_go_into_jit_pmap_and_shard_map():
    run("""
run = lambda x: net(x, **few).ntk
plain = run(x)
spread = jax.jit(run, in_shardings=NamedSharding(mesh, P("i")),
                 out_shardings=NamedSharding(mesh, P("i")))(x)
assert len(spread.sharding.device_set) == 2
close(spread, plain)
both = np.stack([x, 2 * x])
close(jax.pmap(run)(both), np.stack([plain, run(2 * x)]))
cross = lambda x: net(x, x2, **few).ntk
mapped = jax.shard_map(cross, mesh=mesh, in_specs=P("i"), out_specs=P("i"))(over(x, "i"))
close(mapped, np.concatenate([cross(x[:2]), cross(x[2:])]))
""")


@pytest.mark.parametrize("default", ["second", pytest.param("None", marks=pytest.mark.slow)])
def test_claims_run_on_the_cpu(default):
    """Its first device stands in for the CPU, and the second one for an accelerator."""
    run(f"""
from theorykit.claims import claim
from theorykit.claims._attempt import float64
from theorykit.common.devices import platform
with jax.default_device({default}):
    with float64():
        a = jax.numpy.ones(2) @ jax.numpy.ones(2)
        assert a.devices() == {{first}} and a.dtype == "float64" and platform() == "cpu"
    assert jax.numpy.ones(2).devices() == {{{default} or first}}
    assert jax.numpy.ones(2).dtype == "float32"
""")
