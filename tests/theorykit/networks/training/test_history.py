"""The history: what is written comes back, to the last bit."""

import numpy as np
import pytest

from theorykit.networks.training import History


def example():
    values = {
        "loss": np.array([[0.1, np.nan], [1e-30, np.inf]], "float32"),
        "4/accuracy": np.array([[1 / 3, 0.5], [1.0, 0.0]]),
    }
    return History([10, 20], values, [3, 5])


def test_saved_and_loaded(tmp_path):
    history = example()
    history.save(tmp_path / "h.json")
    again = History.load(tmp_path / "h.json")
    assert again.seeds == (3, 5)
    assert list(again.steps) == [10, 20]
    for name, value in history.values.items():
        assert again[name].dtype == value.dtype
        np.testing.assert_array_equal(again[name], value)


def test_empty(tmp_path):
    History([], {"loss": np.zeros((0, 2))}, [0, 1]).save(tmp_path / "h.json")
    assert History.load(tmp_path / "h.json")["loss"].shape == (0, 2)


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match="no metric 'l'; it has 'loss', '4/accuracy'"):
        example()["l"]
    (tmp_path / "h.json").write_text("{}")
    with pytest.raises(ValueError, match="does not hold a history"):
        History.load(tmp_path / "h.json")


def test_plot(tmp_path):
    pytest.importorskip("matplotlib")
    example().plot(tmp_path / "h.png")
    assert (tmp_path / "h.png").read_bytes()[:4] == b"\x89PNG"
