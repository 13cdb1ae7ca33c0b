"""The table of docs/predict.md is that of the JSON beside it."""

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_guide_has_the_table_of_the_benchmark(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    spec = importlib.util.spec_from_file_location("table", ROOT / "benchmarks" / "predict.py")
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    read = lambda name: json.loads((ROOT / "docs" / "data" / name).read_text())["tasks"]
    found = read("predict.json")
    assert len(found) >= 20
    assert {row["task"] for row in found if row["own"]} == set(benchmark.OWN)
    page = (ROOT / "docs" / "predict.md").read_text()
    assert benchmark.tables(found) in page
    assert benchmark.trained(read("predict_trained.json")) in page
