"""Gram matrices over a mesh of devices, and over two processes: the numbers of one device."""

import os
import subprocess
import sys

import pytest

FLAGS = "--xla_backend_optimization_level=0 --xla_force_host_platform_device_count=4"
BEGIN = """
import jax, numpy as np, pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from theorykit.kernels import InfiniteTransformer, gram, over_mesh, tileable, tiles
rng = np.random.default_rng(0)
x, x2 = rng.normal(size=(8, 3, 2)).astype("f4"), rng.normal(size=(4, 3, 2)).astype("f4")
net, few = InfiniteTransformer(), dict(key=jax.random.key(0), draws=8, replicates=2)
close = lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
"""


def run(script):
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + script],
        env=os.environ | {"XLA_FLAGS": FLAGS, "JAX_PLATFORMS": "cpu"},
        capture_output=True, text=True, timeout=400,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_four_devices_give_the_numbers_of_one():
    """By rows and columns, or by rows; no device has more than its block."""
    run("""
devices = np.array(jax.devices())
one = gram(net, x, tile=2, **few)
for mesh in (Mesh(devices.reshape(2, 2), ("i", "j")), Mesh(devices, "i")):
    k = gram(net, x, tile=2, mesh=mesh, **few)
    for name in ("nngp", "ntk", "nngp_stderr", "ntk_stderr"):
        found = getattr(k, name)
        close(found, getattr(one, name))
        assert found.sharding.spec[0] == "i" and len(found.sharding.device_set) == 4
        assert {s.data.size for s in found.addressable_shards} == {16}
both = gram(net, x, x2, mesh=Mesh(devices[:2], "i"), tile=3, get="nngp", **few)
plain = gram(net, x, x2, tile=3, get="nngp", **few)
for a, b in zip(both, plain):
    close(a.nngp, b.nngp)
""")


def test_sharded_inputs_and_wrong_meshes():
    """Inputs that are spread over a mesh are computed on it."""
    run("""
mesh = Mesh(np.array(jax.devices()[:2]), "i")
spread = jax.device_put(x, NamedSharding(mesh, P("i")))
k = gram(net, spread, tile=4, get="nngp", **few)
assert k.nngp.sharding.spec[0] == "i" and len(k.nngp.sharding.device_set) == 2
close(k.nngp, gram(net, x, tile=4, get="nngp", **few).nngp)
three = Mesh(np.array(jax.devices()[:3]), "i")
cube = Mesh(np.array(jax.devices()).reshape(2, 2, 1), ("a", "b", "c"))
for mesh, said in ((three, "8 inputs do not divide over the 3 devices of the mesh's axis 'i'"),
                   (cube, "mesh is a jax.sharding.Mesh of one axis"),
                   ("i", "mesh is a jax.sharding.Mesh of one axis .* got str")):
    with pytest.raises(ValueError, match=said):
        gram(net, x, mesh=mesh, **few)
""")


@pytest.mark.parametrize("cases", [":1", pytest.param("1:", marks=pytest.mark.slow)])
def test_descriptions_over_a_mesh(cases):
    """Of token ids and of vectors, drawn and exact: the numbers of one device and of `kernel`."""
    run(
        """
from theorykit.kernels import attention, layers as k
ids = rng.integers(0, 5, (8, 3))
mask = np.array([[True, True, i % 2 == 0] for i in range(8)])
body = [k.Attention("softmax", mask="causal"), k.MLP("erf")]
last = k.serial(k.Embed(vocabulary=5), k.Positions(0.3), *body, k.Readout("last"))
sigmoid = k.Attention(attention.Sigmoid())
mean = k.serial(k.Embed(features=2), k.LayerNorm(), sigmoid, k.Readout("mean"))
exact = k.serial(k.Embed(features=2), k.Attention("identity"), k.Readout("mean"))
devices = np.array(jax.devices())
meshes = Mesh(devices.reshape(2, 2), ("i", "j")), Mesh(devices, "i")
described = ((last, ids, mask, meshes[0]), (mean, x, mask, meshes[1]), (exact, x, None, meshes[0]))
for described, inputs, mask1, mesh in described[CASES]:
    found = gram(described, inputs, tile=2, mesh=mesh, mask1=mask1, **few)
    one = gram(described, inputs, tile=2, mask1=mask1, **few)
    whole = described.kernel(inputs, mask1=mask1, **few)
    for name in ("nngp", "ntk", "nngp_stderr", "ntk_stderr"):
        a = getattr(found, name)
        close(a, getattr(one, name))
        close(a, getattr(whole, name))
        assert name.endswith("stderr") or np.std(a) > 1e-2  # not one number everywhere
    assert len(found.ntk.sharding.device_set) == 4 and found.ntk.sharding.spec[0] == "i"
    assert {s.data.size for s in found.ntk.addressable_shards} == {16}
deep = k.serial(k.Embed(features=2), *body, *body, k.Readout("last"))
with pytest.raises(ValueError, match="stands behind other layers than the embedding"):
    gram(deep, x, mesh=meshes[1], **few)
""".replace("CASES", cases)
    )


def test_work_divides_by_the_devices():
    """By what the compiler counts, of operations and of bytes, on each device."""
    run("""
how = tiles.How(4, 1, ("nngp",), "joint", "independent")
work = {}
for side in (1, 2):
    mesh = Mesh(np.array(jax.devices()[: side**2]).reshape(side, side), ("i", "j"))
    inputs = tiles.Set((np.zeros((4096, 2, 16), "f4"),), (None,), 2, np.dtype("f4"), 4096 // side)
    run = tileable.block(net, how)
    program = over_mesh.program(run, how.names(False), inputs, mesh)
    cost = program.lower(*over_mesh.placed(inputs, few["key"], mesh)).compile().cost_analysis()
    cost = cost[0] if isinstance(cost, list) else cost
    work[side] = cost["flops"], cost["bytes accessed"]
shares = [whole / 4 / part for whole, part in zip(work[1], work[2])]
assert all(0.75 < share <= 1.05 for share in shares), shares
""")


PROCESS = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
{begin}
assert jax.process_count() == 2 and len(jax.devices()) == 4 and len(jax.local_devices()) == 2
mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("i", "j"))
k = gram(net, x, tile=2, mesh=mesh, **few)
assert not k.ntk.is_fully_addressable
one = gram(net, x, tile=2, **few)
for name in ("nngp", "ntk", "ntk_stderr"):
    for shard in getattr(k, name).addressable_shards:
        close(shard.data, getattr(one, name)[shard.index])
with pytest.raises(ValueError, match="x1 lies partly in another process"):
    net(jax.device_put(x, NamedSharding(mesh, P("i"))), **few)
print("same numbers")
"""


@pytest.mark.slow
def test_two_processes_of_two_devices(two_processes):
    for said in two_processes([sys.executable, "-c", PROCESS.format(begin=BEGIN)], timeout=400):
        assert "same numbers" in said
