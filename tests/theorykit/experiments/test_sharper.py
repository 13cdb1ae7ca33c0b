"""The sharper paper's experiments: how networks are trained, what is read off them."""

import dataclasses

import numpy as np

from theorykit.experiments import Setting, sharper
from theorykit.subjects import boolean

TINY = sharper.Interpolation(
    T=4, degrees=(1, 2), sparsities=(1, 3), functions=1, samples=16, width=8, mlp_width=8, steps=40,
    every=20, batch=8,
)  # fmt: skip


def test_each_network_has_its_function_and_its_samples():
    found = sharper.learn(TINY, Setting())
    assert found.labels == [(1, 1), (1, 3), (2, 1), (2, 3)]
    assert found.train.shape == found.test.shape == (4,)
    for i, f in enumerate(found.functions):
        assert (f.degree, f.sparsity) == found.labels[i]
        assert np.isclose(f.table().var(), 1)
        assert np.allclose(f(found.x[i, :, :4]), found.y[i])
        assert np.allclose(f(found.inputs[:, :4]), found.targets[i])
    groups = sharper.by_class(found, found.test)
    assert list(groups) == found.labels
    # The loss that is reported is that of the network, on all 16 inputs.
    import jax

    out = jax.vmap(found.fit.network(3))(found.inputs)[:, 0]
    assert np.isclose(np.mean((out - found.targets[3]) ** 2), found.test[3], rtol=1e-4)


def test_growth_is_counted():
    study = dataclasses.replace(TINY, degrees=(1, 2, 3), sparsities=(1, 3))
    means = {(d, s): d - 0.1 * s for d in study.degrees for s in study.sparsities}
    assert sharper.slopes(study, means) == ("4 of 4", "0 of 3")


def test_rows_on_the_components_have_cosine_one():
    f = boolean.random(5, 2, 2)
    own, others = sharper.cosines(f.membership / 2.0, f)
    assert np.allclose(own, 1)
    assert len(others) == 8
    assert others.max() < 0.99
