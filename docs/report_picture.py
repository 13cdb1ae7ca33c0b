"""Make the picture of the guide: `python docs/report_picture.py RUN` after `make browser`."""

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from theorykit.report import pages
from theorykit.runs import read_run


def main(run: str) -> None:
    """Open the report of a run and keep its first screen."""
    found = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        file = Path(folder) / "index.html"
        file.write_text(pages.html(read_run(run)))
        browser = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1160, "height": 1180})
        page.goto(file.as_uri())
        page.screenshot(path=Path(__file__).with_name("report.png"))
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1])
