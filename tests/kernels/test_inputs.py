"""What a kernel refuses, in a sentence that names the value and what would be right."""

import re

import jax
import numpy as np
import pytest

from theorykit.kernels import InfiniteTransformer
from theorykit.kernels.inputs import lay_out

X = np.random.default_rng(0).normal(size=(2, 3, 4))
MASK = np.array([[True, True, False], [True, False, False]])


def changed(value, at=(1, 0, 2)):
    x = X.copy()
    x[at] = value
    return x


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"x1": X[0]}, "x1 has shape (inputs, tokens, features), none of them zero; got (3, 4)"),
        ({"x1": X[:0]}, "none of them zero; got (0, 3, 4)"),
        ({"x2": X[0]}, "x2 has shape (inputs, tokens, features)"),
        ({"x2": X[:, :, :3]}, "need the same number of features, got 4 and 3"),
        ({"mask1": MASK[:, :2]}, "shape (2, 3) (inputs, tokens); got bool in shape (2, 2)"),
        ({"mask1": MASK.astype(int)}, "mask1 holds booleans, true at real tokens"),
        ({"x2": X, "mask2": MASK[:1]}, "mask2 holds booleans"),
        ({"mask2": MASK}, "mask2 belongs to x2, but x2 was not given"),
        ({"mask1": MASK & [[True], [False]]}, "but mask1 marks all of input 1 as padding"),
        ({"x1": changed(np.nan)}, "finite at real tokens, but input 1, token 0, feature 2 is nan"),
        ({"x2": changed(-np.inf)}, "x2 must be finite at real tokens"),
        ({"draws": 0}, "draws is a whole number of at least 1, got 0"),
        ({"draws": 2.5}, "draws is a whole number of at least 1, got 2.5"),
        ({"replicates": -1}, "replicates is a whole number of at least 1, got -1"),
        ({"replicates": True}, "replicates is a whole number of at least 1, got True"),
        ({"rank": 0}, "rank is a whole number of at least 1, got 0"),
        ({"get": "cov"}, 'get names "nngp", "ntk" or both, got (\'cov\',)'),
        ({"get": ()}, 'get names "nngp", "ntk" or both, got ()'),
        ({"draw": "jointly"}, "draw is one of 'auto', 'joint', 'pairwise', 'conditional', got"),
        ({"sampler": "halton"}, "sampler is one of 'independent', 'sobol', got 'halton'"),
        ({"progress": 0}, "progress is True or False, got 0"),
        ({"key": None}, "Monte-Carlo averages: give key=jax.random.key(0)"),
    ],
)
def test_bad_arguments(arguments, sentence):
    arguments = {"x1": X, "key": jax.random.key(0), **arguments}
    with pytest.raises(ValueError, match=re.escape(sentence)):
        InfiniteTransformer()(arguments.pop("x1"), **arguments)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"depth": 0}, "depth is a whole number of at least 1, got 0"),
        ({"activation": "tanh"}, "unknown activation 'tanh'; known are 'relu', 'erf', 'gelu'"),
        ({"readout": "first"}, "readout is one of 'last', 'mean', 'tokens', got 'first'"),
        ({"attention": "linear"}, "attention is one of 'softmax', 'identity', got 'linear'"),
        ({"score_scale": np.inf}, "score_scale is a finite number, got inf"),
        ({"sigma_w": np.ones(2)}, "sigma_w is a finite number, got array"),
        ({"positions": float("nan")}, "positions is a finite number, got nan"),
        ({"positions": 10**400}, "positions is a finite number, got 1000"),
        ({"causal": 1}, "causal is True or False, got 1"),
        ({"residual": "no"}, "residual is True or False, got 'no'"),
        ({"layer_norm": None}, "layer_norm is True or False, got None"),
    ],
)
def test_bad_networks(options, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        InfiniteTransformer(**options)


def test_lengths_meet_and_padding_goes():
    inputs = lay_out(np.where(MASK[..., None], X, np.nan), X[:1, :1], MASK, None)
    assert inputs.x.shape == (3, 2, 4)  # nothing is longer than two real tokens
    assert inputs.mask.tolist() == [[True, True], [True, False], [True, False]]
    assert np.all(inputs.x[~inputs.mask] == 0)
    assert (inputs.n1, inputs.lengths) == (2, (3, 1))


def test_whole_numbers_become_floats():
    assert lay_out(np.ones((1, 2, 3), int), None, None, None).x.dtype == "float32"
    assert lay_out(X.astype("float32"), None, None, None).x.dtype == "float32"
    with jax.enable_x64(True):
        assert lay_out(X, None, None, None).x.dtype == "float64"
