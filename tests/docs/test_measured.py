"""docs/measured.md is what the benchmarks' JSON makes of its template."""

import importlib.util
import json
import shutil
from pathlib import Path

import jinja2
import pytest

FILE = Path(__file__).parents[2] / "benchmarks" / "measured.py"


@pytest.fixture(scope="module")
def measured():
    spec = importlib.util.spec_from_file_location("measured", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_as_the_command_makes_it(measured):
    assert measured.PAGE.read_text() == measured.page(), "run `python benchmarks/measured.py`"


def test_every_result_is_used_and_says_how_it_was_obtained(measured):
    template = (FILE.parent / "measured.md.jinja").read_text()
    for file in measured.PUBLISHED.glob("*.json"):
        found = json.loads(file.read_text())
        assert f"{file.stem} | how" in template or file.stem.startswith("gram"), file.stem
        assert found["run"]["command"].startswith("python benchmarks/")
        assert {"date", "processor", "cores", "load"} <= set(found["run"])
        assert {"benchmark", "theorykit", "jax"} <= set(found)


@pytest.fixture
def other(measured, tmp_path):
    """A copy of the published results, and a way to change one of them."""
    folder = tmp_path / "measured"
    shutil.copytree(measured.PUBLISHED, folder)

    def change(name, edit):
        found = json.loads((folder / f"{name}.json").read_text())
        edit(found)
        (folder / f"{name}.json").write_text(json.dumps(found))
        return measured.page(folder)

    return change


def test_another_figure_is_another_page(measured, other):
    page = other("crasp", lambda found: found["evaluate"]["from_symbols"].update(median=4321.0))
    assert page != measured.page()
    assert "72.0 min" in page


def test_other_work_is_said(other):
    calm = other("certify", lambda found: found["run"].update(load=[0.1, 2.0]))
    busy = other("certify", lambda found: found["run"].update(load=[7.0, 9.0]))
    unknown = other("certify", lambda found: found["run"].update(load=None))
    row = lambda page: next(line for line in page.splitlines() if "certify.py" in line)
    assert row(calm).endswith("| 0.1 |")
    assert row(busy).endswith("| 7.0, not idle |")
    assert row(unknown).endswith("| not recorded |")


def test_a_figure_that_is_missing_is_an_error(other):
    with pytest.raises(jinja2.UndefinedError, match="rates"):
        other("certify", lambda found: found["tokens"]["8"].pop("rates"))


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0123, "12.3 ms"), (0.9999, "1,000 ms"), (1.5, "1.5 s"), (119.0, "119 s"), (300, "5.0 min")],
)
def test_times_have_a_unit(measured, value, said):
    assert measured.seconds(value) == said


def test_numbers_have_three_digits(measured):
    assert [measured.number(x) for x in (0, 0.25, 12.34, 7123.4, 2e-7, 2**20)] == (
        ["0", "0.25", "12.3", "7,120", "2e-07", "1,050,000"]
    )
    assert measured.spread({"median": 1.0, "min": 1.0, "max": 1.0}) == "1.00"
    assert measured.spread({"median": 1.05, "min": 1.0, "max": 1.26}) == "1.05 (1.00 to 1.26)"
    assert (
        measured.spread({"median": 0.003, "min": 0.0002, "max": 0.012}) == "0.003 (0.0002 to 0.012)"
    )
