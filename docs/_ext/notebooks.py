"""Run the notebooks side by side; the site takes their outputs from build/notebooks.

    python docs/_ext/notebooks.py

Nothing is kept from an earlier run: an output depends on the whole package, and not on the cells
alone. The site runs a notebook that failed here once more, and shows its error.
"""

import shutil
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.executors import load_executor

ROOT = Path(__file__).parents[2]
SECONDS = 600  # a cell, on a crowded machine

if __name__ == "__main__":
    kept = ROOT / "build" / "notebooks"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    cache = get_cache(kept)
    reader = {"name": "myst_nb_md", "type": "plugin"}
    for page in sorted((ROOT / "docs" / "notebooks").glob("*.md")):
        cache.add_nb_to_project(str(page), read_data=reader)
    ran = load_executor("temp-parallel", cache).run_and_cache(timeout=SECONDS)
    print(f"{len(ran.succeeded)} notebooks ran.", *ran.excepted, *ran.errored, sep="\n")
