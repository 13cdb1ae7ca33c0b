"""The built site in Chromium, on a phone: `make docs` builds it."""

import shutil
from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "build" / "docs"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="the site is not built"),
]


def test_no_page_moves_sideways_on_a_phone():
    playwright = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium") or shutil.which("google-chrome")
    assert found, "tests/browser.sh installs Chromium"
    wide = {}
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = opened.new_page(viewport={"width": 390, "height": 844})
        names = [f for f in SITE.rglob("*.html") if not {"_modules", "_static"} & {*f.parts}]
        for file in names:
            page.goto(f"file://{file}")
            over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            if over > 0:
                wide[str(file.relative_to(SITE))] = over
        opened.close()
    assert len(names) > 40
    assert wide == {}
