"""Gram matrices in tiles: one matrix, whatever it is kept in, and systems solved from the disk."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import zarr

from theorykit import kernels
from theorykit.kernels import (
    InfiniteTransformer,
    Kernel,
    Stored,
    activations,
    gram,
    iterative,
    stored,
    tiles,
)
from theorykit.kernels import layers as k

from .tiers import tiers

RNG = np.random.default_rng(0)
X, X_TEST = RNG.normal(size=(11, 3, 2)).astype("f4"), RNG.normal(size=(4, 2, 2)).astype("f4")
MASK = np.ones((11, 3), bool)
MASK[2, 2] = False
NET = InfiniteTransformer(activation="erf")
FEW = dict(key=jax.random.key(0), draws=16, replicates=2)
FIELDS = ("nngp", "ntk", "nngp_stderr", "ntk_stderr")


@pytest.fixture(scope="module")
def whole():
    return kernels.joint(NET, X, X_TEST, mask1=MASK, **FEW)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    path = tmp_path_factory.mktemp("kept") / "store"
    return gram(NET, X, X_TEST, mask1=MASK, tile=4, store=path, **FEW)


def test_tiles_are_of_one_matrix(whole, kept):
    """In memory and on disk, and there in slices, to the bit; the network's own to rounding."""
    loose = gram(NET, X, X_TEST, mask1=MASK, tile=4, **FEW)
    for ours, disk, theirs in zip(loose, kept, whole, strict=True):
        for name in FIELDS:
            found = getattr(ours, name)
            np.testing.assert_allclose(found, getattr(theirs, name), rtol=1e-5, atol=1e-6)
            on_disk = getattr(disk, name)
            assert isinstance(on_disk, Stored)
            assert on_disk.dtype == found.dtype == "float32"
            assert np.array_equal(on_disk, found)
            assert np.array_equal(on_disk[1:3], found[1:3])
            assert np.array_equal(on_disk[::2, 1:], found[::2, 1:])
            assert np.array_equal(on_disk @ np.eye(on_disk.shape[1]), found)
        assert (ours.draws, ours.replicates, ours.draw) == (16, 2, "joint")
    train, cross, test = (k.nngp for k in loose)
    both = np.block([[train, cross.T], [cross, test]])
    assert np.array_equal(both, both.T)
    assert np.array_equal(kept.train.nngp.diagonal(), np.diagonal(train))
    assert np.linalg.eigvalsh(both.astype(float))[0] > -1e-5


NETWORKS = {
    "an odd number of tiles": (NET, dict(tile=4), {}),
    "NNGP alone, one replicate, one tile": (
        NET, dict(tile=100), dict(get="nngp", replicates=1),
    ),
    "the mean, positions": (
        InfiniteTransformer(readout="mean", positions=0.5, causal=True), dict(tile=4), {},
    ),
    "pairs": (
        InfiniteTransformer(readout="mean", positions=0.5), dict(tile=4), dict(draw="pairwise"),
    ),
    "pairs, two layers": (InfiniteTransformer(depth=2), dict(tile=4), {}),
    "without a softmax": (
        InfiniteTransformer(depth=2, attention="identity", activation="erf"), dict(tile=4), {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", tiers(NETWORKS, ["NNGP alone, one replicate, one tile", "pairs"]))
def test_any_network(name):
    network, options, how = NETWORKS[name]
    found = gram(network, X, mask1=MASK, **options, **FEW | how)
    exact = network.attention == "identity"
    draw = {} if exact else dict(draw="pairwise" if network.depth > 1 else "joint")
    theirs = network(X, mask1=MASK, **FEW | draw | how)
    assert isinstance(found, Kernel)
    for each in FIELDS:
        a, b = getattr(found, each), getattr(theirs, each)
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
    assert found.draws == theirs.draws


BLOCK = (
    k.Positions(0.5),
    k.residual(k.serial(k.LayerNorm(), k.Attention(mask="causal", positions=k.ALiBi((1.0, 0.5))))),
    k.GatedMLP("erf"),
)
DEEP = k.parallel(k.Attention("identity"), k.MLP("erf")), k.Attention("identity")
IDS = np.random.default_rng(1).integers(0, 5, (11, 3))
DESCRIPTIONS = {
    "token ids": (k.serial(k.Embed(vocabulary=5), *BLOCK, k.Readout("last")), IDS),
    "the mean": (k.serial(k.Embed(features=2), *BLOCK, k.Readout("mean")), X),
    "deep, without a softmax": (k.serial(k.Embed(features=2), *DEEP, k.Readout()), X),
}


@pytest.mark.parametrize(
    "name", tiers(DESCRIPTIONS, DESCRIPTIONS.keys() - {"the mean", "token ids"})
)
def test_any_description(name, tmp_path):
    """In memory and on disk to the bit, as `kernel` to rounding."""
    net, x = DESCRIPTIONS[name]
    how = dict(mask1=MASK, tile=4, **FEW)
    ours, theirs = gram(net, x, **how), net.kernel(x, mask1=MASK, **FEW)
    disk = gram(net, x, store=tmp_path / "k", **how)
    for each in FIELDS:
        found = getattr(ours, each)
        np.testing.assert_allclose(found, getattr(theirs, each), rtol=2e-5, atol=2e-6)
        assert np.array_equal(getattr(disk, each), found)


@pytest.mark.parametrize("by", tiers(["gram", "joint"], ["gram"]))
def test_descriptions_with_test_inputs(by, kept):
    """The preset's description as the preset."""
    options = dict(tile=4) if by == "gram" else {}
    made = getattr(kernels, by)
    ours = made(NET.description(features=2), X, X_TEST, mask1=MASK, **options, **FEW)
    for found, other in zip(ours, kept, strict=True):
        for each in FIELDS:
            theirs = np.asarray(getattr(other, each))
            np.testing.assert_allclose(getattr(found, each), theirs, rtol=1e-5, atol=1e-6)


def test_joint_kernels_of_token_ids():
    net, ids = DESCRIPTIONS["token ids"]
    both = kernels.joint(net, ids[:3], ids[1:], get="nngp", **FEW)
    np.testing.assert_allclose(both.cross.nngp[:2], both.train.nngp[1:], rtol=1e-5)
    assert np.array_equal(both.test.nngp, both.test.nngp.T)


def test_inputs_on_disk(tmp_path, kept):
    """Read tile by tile, from what numpy and zarr keep."""
    np.save(tmp_path / "x.npy", X)
    array = zarr.create_array(str(tmp_path / "test"), data=X_TEST)
    lazy = np.load(tmp_path / "x.npy", mmap_mode="r")
    found = gram(NET, lazy, array, mask1=MASK, tile=4, store=tmp_path / "k", **FEW)
    assert np.array_equal(found.cross.ntk, kept.cross.ntk)


class Counted:
    """An array that notes how much of it is read at a time."""

    def __init__(self, x):
        self.x, self.most = x, 0
        self.shape, self.dtype, self.ndim = x.shape, x.dtype, x.ndim

    def __len__(self):
        return len(self.x)

    def __getitem__(self, at):
        self.most = max(self.most, len(self.x[at]))
        return self.x[at]


def test_no_more_than_a_tile_is_read():
    counted = Counted(X)
    gram(NET, counted, tile=4, **FEW)
    assert counted.most == 4


# Kept, and gone on with ------------------------------------------------------------------------

SCRIPT = """
import sys, time
import jax, numpy as np
from theorykit.kernels import InfiniteTransformer, gram, tiles
x = np.random.default_rng(0).normal(size=(11, 3, 2)).astype("f4")
made = tiles.computed_step
def slowly(*given):
    yield from made(*given)
    time.sleep(0.2)
tiles.computed_step = slowly
gram(InfiniteTransformer(activation="erf"), x, tile=2, store=sys.argv[1], key=jax.random.key(0),
     draws=16, replicates=2)
"""


def test_a_kill_costs_nothing(tmp_path):
    """What was written stays, and the rest comes out to the same bits."""
    script = subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path / "k")])
    log = tmp_path / "k" / stored.DONE
    try:
        for _ in range(2400):
            if log.exists() and log.read_bytes().count(b"\n") >= 3:
                break
            assert script.poll() is None
            time.sleep(0.05)
    finally:
        script.send_signal(signal.SIGKILL)
        script.wait()
    before = log.read_bytes().count(b"\n")
    assert 3 <= before < 15
    with log.open("ab") as out:
        out.write(b"1")  # half a line
    at = {p: p.stat().st_mtime_ns for p in (tmp_path / "k" / "nngp").rglob("*") if p.is_file()}
    resumed = gram(NET, X, tile=2, store=tmp_path / "k", **FEW)
    untouched = sum(p.stat().st_mtime_ns == was for p, was in at.items())
    assert untouched > before  # three tiles in each of the first pieces, and the header
    straight = gram(NET, X, tile=2, store=tmp_path / "again", **FEW)
    for name in FIELDS:
        assert np.array_equal(getattr(resumed, name), getattr(straight, name))
    assert len(log.read_bytes().split()) == len(tiles.steps(6))
    at = {p: p.stat().st_mtime_ns for p in (tmp_path / "k" / "nngp").rglob("c/*")}
    gram(NET, X, tile=2, store=tmp_path / "k", **FEW)
    assert at == {p: p.stat().st_mtime_ns for p in at}


def test_inputs_that_change_while_a_store_is_written(tmp_path, monkeypatch):
    """No tile is of other inputs than the hash in the header says."""
    file = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", "f4", X.shape)
    file[:] = X
    make = lambda: gram(NET, file, tile=4, store=tmp_path / "k", **FEW)
    step = tiles.computed_step

    def changing(*given):
        file[9] = 0  # in the last tile, which the first step does not read
        return step(*given)

    monkeypatch.setattr(tiles, "computed_step", changing)
    with pytest.raises(ValueError, match="inputs 8 to 11 have changed since the first look"):
        make()
    with pytest.raises(ValueError, match="with other values of the inputs"):
        make()
    monkeypatch.undo()
    file[:] = X
    assert np.array_equal(make().nngp, gram(NET, X, tile=4, **FEW).nngp)


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Return a store to copy, and what it holds."""
    path = tmp_path_factory.mktemp("plain") / "k"
    return path, np.asarray(gram(NET, X, tile=4, store=path, **FEW).nngp)


@pytest.mark.parametrize(
    "damage", tiers(["bit", "cut", "empty", "lost", "log"], ["bit", "lost", "log"])
)
def test_a_tile_that_was_lost_is_computed_again(plain, tmp_path, damage):
    make = lambda: gram(NET, X, tile=4, store=tmp_path / "k", **FEW)
    path, before = plain
    shutil.copytree(path, tmp_path / "k")
    files = [tmp_path / "k" / "nngp" / "c" / at for at in ("0/0", "1/2")]
    intact = tmp_path / "k" / "nngp" / "c" / "0" / "2"
    was = intact.stat().st_mtime_ns
    for file in files:
        if damage == "lost":
            file.unlink()
        elif damage == "bit":
            file.write_bytes(_flipped(file.read_bytes(), 37))
        elif damage != "log":
            file.write_bytes(file.read_bytes()[: 20 if damage == "cut" else 0])
    if damage == "log":
        (tmp_path / "k" / stored.DONE).write_bytes(b"0\n\xff\x00\n99\n3\n")
    assert np.array_equal(make().nngp, before)
    assert all(file.stat().st_size == intact.stat().st_size for file in files)
    assert damage == "log" or intact.stat().st_mtime_ns == was


def _flipped(content: bytes, at: int) -> bytes:
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize("at", tiers([0, 37, -1, None], [37, None]))
def test_a_tile_that_changes_after_it_was_opened_is_not_read(tmp_path, at):
    k = gram(NET, X, tile=4, store=tmp_path / "k", **FEW).nngp
    file = tmp_path / "k" / "nngp" / "c" / "1" / "2"
    whole = file.read_bytes()
    if at is None:
        file.unlink()
    else:
        file.write_bytes(_flipped(whole, at % len(whole)))
    assert np.isfinite(k[:4, :]).all()
    for read in (lambda: k[4:8, 8:], lambda: k[8:, 4:8], lambda: k @ np.ones(len(X))):
        with pytest.raises(ValueError, match=r"tile \(1, 2\) of .*nngp is damaged .*compute"):
            read()


def test_a_store_or_inputs_that_cannot_be_read(tmp_path):
    make = lambda x=X, store="k": gram(NET, x, tile=4, store=tmp_path / store, **FEW)
    make()
    for file in ("nngp/zarr.json", "zarr.json"):
        header = tmp_path / "k" / file
        whole = header.read_bytes()
        header.write_bytes(whole[:30])
        with pytest.raises(ValueError, match=r"k cannot be read as a zarr group \(.*new folder"):
            make()
        header.write_bytes(whole)
    (tmp_path / "file").write_text("")
    for store in ("file", "file/k"):
        with pytest.raises(ValueError, match=r"cannot be the folder of a kernel: "):
            make(store=store)
    zarr.create_array(str(tmp_path / "x"), data=X, chunks=(4, *X.shape[1:]))
    lazy = lambda: zarr.open_array(str(tmp_path / "x"), mode="r")
    make(lazy())
    (tmp_path / "x" / "c" / "1" / "0" / "0").write_bytes(b"no")
    with pytest.raises(ValueError, match="inputs 4 to 8 cannot be read: "):
        make(lazy())
    make()  # nothing was lost
    np.save(tmp_path / "nan.npy", np.where(X[5, 1, 0] == X, np.nan, X))
    with pytest.raises(ValueError, match="token 1 of input 5"):
        make(np.load(tmp_path / "nan.npy", mmap_mode="r"), "other")
    assert not (tmp_path / "other").exists()


def test_a_store_of_something_else(tmp_path):
    make = lambda network=NET, x=X, **options: gram(
        network, x, **FEW | dict(tile=4, store=tmp_path / "k") | options
    )
    make()
    for change, said in (
        (dict(network=InfiniteTransformer()), "with network .*erf.*, this one has network .*relu"),
        (dict(key=jax.random.key(1)), "belongs to a kernel with key"),
        (dict(draws=17), "with options.draws 16, this one has options.draws 17"),
        (dict(tile=5), "with tile 4, this one has tile 5"),
        (dict(x=X + 1), "with other values of the inputs"),
        (dict(x=X[:9]), "with inputs"),
    ):
        with pytest.raises(ValueError, match=said):
            make(**change)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("x")
    with pytest.raises(ValueError, match="holds other files, not a kernel"):
        make(store=tmp_path / "other")
    with (
        stored.Folder(tmp_path / "busy", (stored.HEADER, {}), own=stored.OWN),
        pytest.raises(ValueError, match="another process is writing in"),
    ):
        make(store=tmp_path / "busy")


class Steep(activations.Activation):
    """An activation whose repr does not say how steep it is."""

    def __init__(self, slope):
        self.slope = slope

    def __call__(self, x):
        return jnp.tanh(self.slope.sum() * x)


def test_a_store_of_the_same_network_with_other_constants(tmp_path):
    net = lambda slope: InfiniteTransformer(activation=Steep(jnp.array([slope, 0.0])))
    make = lambda network: gram(network, X, tile=4, store=tmp_path / "k", **FEW | dict(get="nngp"))
    make(net(1.0))
    make(net(1.0))
    with pytest.raises(ValueError, match="with other version of the computation"):
        make(net(2.0))


@pytest.mark.parametrize("dtype", [">f4", np.longdouble])
def test_a_dtype_of_another_machine(tmp_path, dtype):
    own = np.asarray(X, np.float32) if dtype == ">f4" else X.astype(float)
    expected = gram(NET, own, tile=4, **FEW)
    found = gram(NET, own.astype(dtype), tile=4, store=tmp_path / "k", **FEW)
    np.testing.assert_array_equal(np.asarray(found.nngp), np.asarray(expected.nngp))


def test_texts_are_cut_where_they_differ():
    was, now = "a" * 100 + "b" + "c" * 100, "a" * 100 + "d" + "c" * 100
    one, two = stored._apart(was, now)
    assert "ab" in one
    assert "ad" in two
    assert max(len(one), len(two)) < 100
    assert stored._apart("x", "y") == ("x", "y")


def test_a_full_disk(tmp_path, monkeypatch):
    """One sentence, before or while it fills up; what was written is used when there is room."""
    make = lambda: gram(NET, X, tile=2, store=tmp_path / "k", **FEW)
    with monkeypatch.context() as patch:
        patch.setattr(stored, "_free", lambda path: 2**20 + 100)
        with pytest.raises(ValueError, match=r"log take 1.0 MiB, and .*k has 1.0 MiB left"):
            make()
    made, count = tiles.computed_step, 0

    def filling(*given):
        nonlocal count
        count += 1
        if count > 4:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield from made(*given)

    with monkeypatch.context() as patch:
        patch.setattr(tiles, "computed_step", filling)
        with pytest.raises(ValueError, match=r"No space left on device.*4 of 15 pieces are kept"):
            make()
    assert np.array_equal(make().nngp, gram(NET, X, tile=2, **FEW).nngp)


def test_a_disk_that_is_only_read(tmp_path, monkeypatch):
    """A finished store is opened there, without a lock; one that wants work says so."""
    open_file = os.open

    def reading(path, flags, *more, **named):
        if flags & (os.O_WRONLY | os.O_RDWR) and str(path).startswith(str(tmp_path)):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return open_file(path, flags, *more, **named)

    make = lambda: gram(NET, X, tile=2, store=tmp_path / "k", **FEW)
    written = np.array(make().nngp)
    log = tmp_path / "k" / stored.DONE
    log.write_bytes(b"".join(reversed(log.read_bytes().splitlines(keepends=True))))
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", reading)
        patch.setattr(stored, "write_atomically", lambda *given: pytest.fail("it was written to"))
        assert np.array_equal(make().nngp, written)
        with pytest.raises(ValueError, match="cannot be the folder of a kernel: Read-only"):
            gram(NET, X, tile=2, store=tmp_path / "other", **FEW)
    log.write_bytes(log.read_bytes().partition(b"\n")[2])
    with monkeypatch.context() as patch:
        patch.setattr(os, "open", reading)
        with pytest.raises(ValueError, match=r"can only be read, and 1 of 15 pieces are not there"):
            make()


def behind(*layers):
    """Return a description of drawn attention behind these layers."""
    return k.serial(k.Embed(features=2), *layers, k.Attention(), k.Readout())


def test_what_is_refused(tmp_path):
    for call, said in (
        (lambda: gram(NET, X), "key is one"),
        (lambda: gram("net", X, **FEW), "network is an InfiniteTransformer"),
        (lambda: gram(InfiniteTransformer(readout="tokens"), X, **FEW), "network is an Inf"),
        (lambda: gram(k.serial(k.MLP()), X, **FEW), "Embed as its first layer"),
        (lambda: gram(behind(*DEEP), X, **FEW), "stands behind other layers than the embedding"),
        (lambda: gram(behind(k.Dense()), X, **FEW), "stands behind other layers"),
        (lambda: gram(DESCRIPTIONS["the mean"][0], X, draw="pairwise", **FEW), "has joint draws"),
        (lambda: gram(DESCRIPTIONS["the mean"][0], X[..., :1], **FEW), "features=2, but x has 1"),
        (lambda: gram(DESCRIPTIONS["token ids"][0], X, **FEW), "x holds token ids, integers"),
        (
            lambda: gram(DESCRIPTIONS["token ids"][0], IDS + 1, **FEW),
            "ids of x lie between 0 and 4",
        ),
        (lambda: gram(NET, X[0], **FEW), r"x has shape \(inputs, tokens, features\)"),
        (lambda: gram(NET, X, X_TEST[..., :1], **FEW), "the same number of features"),
        (lambda: gram(NET, X, tile=0, **FEW), "tile is a whole number"),
        (lambda: gram(NET, X, mask2=MASK, **FEW), "mask2 belongs to x_test"),
        (lambda: gram(NET, X, mask1=MASK[:3], **FEW), "the mask of x holds booleans"),
        (lambda: gram(NET, X, mask1=MASK & False, **FEW), "every input needs a real token"),
        (lambda: gram(NET, np.where(X[5, 1, 0] == X, np.nan, X), **FEW), "token 1 of input 5"),
        (lambda: gram(NET, X + 1j, **FEW), "x is an array of real numbers"),
        (lambda: gram(NET, X, store=3, **FEW), "store is a path"),
        (lambda: gram(NET, X, store=tmp_path, mesh=jax.make_mesh((1,), "x"), **FEW), "not both"),
        (lambda: gram(InfiniteTransformer(depth=2), X, draw="joint", **FEW), "no joint draws"),
        (lambda: gram(NET, X[:, :1, :].repeat(9, 2), tile=2, **FEW), "take tile=9 or more"),
        (lambda: gram(NET, X.astype(jax.numpy.bfloat16), store=tmp_path, **FEW), "a store keeps"),
        (lambda: gram(NET, 1e30 * X, tile=4, get="nngp", **FEW), "beyond the range of float32"),
        (lambda: jax.jit(lambda x: gram(NET, x, **FEW))(X), "cannot be traced"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


# Solved from the disk --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    """A matrix with a spectrum that falls off slowly, in tiles of 7, and itself."""
    n, m = 60, 5
    half = RNG.normal(size=(n + m, n)) / np.arange(1, n + 1)
    k = half @ half.T
    k = (k + k.T) / 2
    array = zarr.create_array(
        str(tmp_path_factory.mktemp("k")), shape=k.shape, chunks=(7, 7), dtype="f8"
    )
    array[:, :] = np.where(np.tri(len(k), k=-8, dtype=bool), np.nan, k)  # is not read
    for i in range(0, n + m, 7):
        array[i : i + 7, i : i + 7] = k[i : i + 7, i : i + 7]
    part = lambda rows, columns: Stored(array, 7, rows, columns)
    return part((0, n), (0, n)), part((n, n + m), (0, n)), part((n, n + m), (n, n + m)), k


@pytest.mark.usefixtures("x64")
@pytest.mark.parametrize("rank", tiers([1, 10, 256], [256]))
def test_regression_from_tiles(matrix, rank, monkeypatch):
    """As the direct solution, whatever the preconditioner; the covariance at least as large."""
    monkeypatch.setattr(iterative, "RANK", rank)
    train, cross, test, k = matrix
    n = len(train)
    y = RNG.normal(size=(n, 2))
    for tolerance in (1e-3, 1e-9):
        found = kernels.gp_posterior(train, y, cross, test, noise=0.01, tolerance=tolerance)
        exact = kernels.gp_posterior(k[:n, :n], y, k[n:, :n], k[n:, n:], noise=0.01)
        np.testing.assert_allclose(found.mean, exact.mean, atol=50 * tolerance)
        np.testing.assert_allclose(found.alpha, exact.alpha, atol=1e5 * tolerance)
        assert 0 <= found.residual <= 10 * tolerance
        left = y - k[:n, :n] @ found.alpha - 0.01 * found.alpha
        at = np.linalg.norm(left, axis=0) / np.linalg.norm(y, axis=0)
        assert at.max() <= found.residual * (1 + 1e-6)
        more = np.diagonal(found.covariance) - np.diagonal(exact.covariance)
        assert more.min() > -1e-12
        assert more.max() < 10 * tolerance
        assert exact.condition <= found.condition
    plain = kernels.ridge(train, y[:, 0], k[n:, :n], ridge=0.005, jitter=0.005, tolerance=1e-9)
    np.testing.assert_allclose(plain.mean, exact.mean[:, 0], atol=1e-7)
    assert plain.covariance is None


@pytest.mark.slow
@pytest.mark.usefixtures("x64")
def test_the_preconditioner_pays(matrix, monkeypatch):
    train, *_ = matrix
    b = RNG.normal(size=(len(train), 1))
    steps = []
    for rank in (1, 256):
        monkeypatch.setattr(iterative, "RANK", rank)
        steps.append(iterative.solve(train, iterative.spectrum(train), 1e-3, b, 1e-6).steps)
    assert steps[1] < steps[0] / 4


def test_wrong_regressions(matrix, kept):
    train, cross, test, k = matrix
    y = np.ones(len(train))
    for call, said in (
        (lambda: kernels.ridge(train, y[1:], cross, ridge=1.0), "one target per input: 60 inputs"),
        (lambda: kernels.ridge(cross, y[:5], cross, ridge=1.0), "the training kernel is a square"),
        (lambda: kernels.ridge(train, y, test, ridge=1.0), "the test kernel has shape"),
        (lambda: kernels.ridge(train, y * np.nan, cross, ridge=1.0), "targets must be finite"),
        (lambda: kernels.ridge(train, y, cross, ridge=-1.0), "ridge is a number of at least 0"),
        (lambda: kernels.ridge(train, y, cross, ridge=1.0, tolerance=2), "tolerance lies between"),
        (lambda: kernels.ridge(train, y, cross, ridge=1e-15, tolerance=1e-14), "a larger ridge"),
        (lambda: kernels.gp_posterior(train, y, cross, cross, noise=1.0), "kernel of the test inp"),
        (lambda: kernels.gp_posterior(train, y, 9 * k[60:, :60], test, noise=0.1), "variance is -"),
        (lambda: kernels.ridge(kept.train, y, cross, ridge=1.0), "give the field nngp or ntk"),
        (lambda: kept.train.nngp[0], "is read by slices"),
        (lambda: kept.train.nngp[::-1], "go forward"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


def test_a_kernel_that_is_none(tmp_path):
    """Conjugate gradients find a direction of negative curvature."""
    k = np.diag(np.where(np.arange(20) == 3, -5.0, 1.0))
    array = zarr.create_array(str(tmp_path / "k"), data=k, chunks=(20, 20))
    own = Stored(array, 20, (0, 20), (0, 20))
    with pytest.raises(ValueError, match="is not positive definite with this ridge"):
        kernels.ridge(own, np.ones(20), k, ridge=0.1)


@pytest.mark.parametrize("ridge", [0.0, 1e-12])
def test_a_kernel_of_repeated_inputs(tmp_path, ridge):
    """Targets that agree have a prediction; others would need coefficients beyond all digits."""
    z = np.tile(np.linspace(0, 3, 10), 2)
    k = np.exp(-2 * (z[:, None] - z) ** 2)
    array = zarr.create_array(str(tmp_path / "k"), data=k, chunks=(20, 20))
    own = Stored(array, 20, (0, 20), (0, 20))
    found = kernels.ridge(own, np.sin(z), k, ridge=ridge)
    np.testing.assert_allclose(found.mean, np.sin(z), atol=1e-5)
    with pytest.raises(ValueError, match="larger ridge"):
        kernels.ridge(own, np.sin(z) + (np.arange(20) > 9), k, ridge=ridge)


def test_variances_are_not_negative(kept):
    """With next to no noise, and a kernel of few draws."""
    y = RNG.normal(size=11).astype("f4")
    found = kernels.gp_posterior(kept.train.nngp, y, kept.cross.nngp, kept.test.nngp, noise=1e-3)
    assert np.diagonal(found.covariance).min() >= 0
    assert found.mean.dtype == "float32"
