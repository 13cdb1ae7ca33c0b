"""The README's table of papers is made from what the papers say of themselves."""

import importlib.util
from pathlib import Path

from theorykit import papers

FILE = Path(__file__).parents[2] / "docs" / "_ext" / "paper_table.py"


def test_the_readme_has_the_table_as_it_is_now():
    spec = importlib.util.spec_from_file_location("paper_table", FILE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    readme = module.README.read_text()
    assert module.written(readme) == readme, "run `python docs/_ext/paper_table.py`"
    for paper in papers.known():
        if paper.is_shipped:
            assert f"notebooks/{paper.id}" in module.pages(paper.id)
            assert f"| `{paper.id}.*` | *{paper.title}* (" in readme
