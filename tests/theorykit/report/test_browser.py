"""The web page in Chromium: what a reader does with it, and who can read it."""

import shutil
from pathlib import Path

import pytest

from theorykit.report import pages
from theorykit.runs._folder import read_run

from .conftest import many, results, write

pytestmark = pytest.mark.browser

SHOTS = Path(__file__).parents[3] / "build" / "report"

DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    found = shutil.which("chromium") or shutil.which("google-chrome")
    assert found, "tests/browser.sh installs Chromium"
    SHOTS.mkdir(parents=True, exist_ok=True)
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The page of a run, compared with an older one; and that of 300 claims."""
    folder = tmp_path_factory.mktemp("site")
    now, old = results(), results()[:-1]
    run = read_run(write(folder / "run", now))
    (folder / "index.html").write_text(pages.html(run, read_run(write(folder / "old", old))))
    (folder / "many.html").write_text(pages.html(read_run(many(folder / "many"))))
    return folder


@pytest.fixture
def visit(browser, site):
    """Open a page; at the end, nothing was said on the console and nothing asked of a network."""
    contexts, said, asked = [], [], []

    def opened(name="index.html", viewport=DESKTOP, **options):
        context = browser.new_context(viewport=viewport, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"file://{site}/{name}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert said == []
    assert {url.partition("#")[0] for url in asked} <= {
        f"file://{site}/{name}" for name in ("index.html", "many.html")
    } | {"data:,"}


def shown(page):
    return page.eval_on_selector_all(
        "#table tbody tr:not([hidden])", "rows => rows.map(r => r.querySelector('.id a').innerText)"
    )


def test_the_table_filters(visit):
    page = visit()
    everything = shown(page)
    assert len(everything) == 6
    page.get_by_role("button", name="refuted 1").click()
    assert shown(page) == ["one.fell"]
    assert page.locator("#tally").inner_text() == "1 of 6 claims"
    page.get_by_role("button", name="error 1").click()
    assert shown(page) == ["one.fell", "two.broken"]
    page.get_by_role("button", name="two 2").click()
    assert shown(page) == ["two.broken"]
    assert page.locator(".claim:visible").count() == 1
    page.get_by_role("button", name="Show all").click()
    assert shown(page) == everything
    page.get_by_role("button", name="slow 1").click()
    assert shown(page) == ["two.trained"]
    page.get_by_role("button", name="slow 1").click()
    page.get_by_role("button", name="trained 1").click()
    assert shown(page) == ["two.trained"]
    page.get_by_role("button", name="moved 1").click()
    assert shown(page) == ["two.trained"]
    page.get_by_role("button", name="Show all").click()
    page.get_by_label("Search").fill("eq. fell")
    assert shown(page) == ["one.fell"]
    page.get_by_label("Search").fill("nothing of the kind")
    assert page.get_by_text("No claim matches these filters.").is_visible()


def test_the_table_sorts(visit):
    page = visit()
    head = page.get_by_role("columnheader", name="verdict")
    page.get_by_role("button", name="verdict", exact=True).click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert shown(page)[:3] == ["one.fell", "two.broken", "one.unclear"]
    page.get_by_role("button", name="verdict", exact=True).click()
    assert head.get_attribute("aria-sort") == "descending"
    assert shown(page)[-1] == "one.fell"
    page.get_by_role("button", name="evidence", exact=True).click()
    assert shown(page)[:2] == ["one.fell", "two.trained"]
    page.get_by_role("button", name="claim", exact=True).click()
    assert shown(page) == sorted(shown(page))


def test_a_claim_opens_by_mouse_by_link_and_by_keyboard(visit):
    page = visit()
    section = page.locator("#claim-one\\.rate")
    assert not section.get_by_text("a gradient attack").is_visible()
    section.locator("summary").first.click()
    assert section.locator("svg.plot").is_visible()
    page.get_by_role("link", name="one.fell.repaired").first.click()
    repaired = page.locator("#claim-one\\.fell\\.repaired")
    assert repaired.evaluate("d => d.open")
    assert repaired.locator("summary").first.evaluate("s => s === document.activeElement")
    page.keyboard.press("Enter")
    assert not repaired.evaluate("d => d.open")
    page.get_by_role("button", name="refuted 1").click()
    page.goto(page.url.partition("#")[0] + "#claim-two.trained")  # hidden by the filter
    assert page.locator("#claim-two\\.trained").evaluate("d => d.open && !d.hidden")


def test_a_witness_is_copied(visit):
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    page.locator(".errata summary").first.click()
    button = page.get_by_role("button", name="Copy the witness of one.fell").first
    button.click()
    page.get_by_text("Copied").wait_for()
    text = page.evaluate("navigator.clipboard.readText()")
    scope = {}
    exec(text, scope)
    assert scope["x"].tolist() == [1.0, 2.0]
    assert scope["name"] == "<α & β>"


def test_light_and_dark_follow_the_system_until_a_button_is_pressed(visit):
    def paper(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    light, dark = paper(visit(color_scheme="light")), paper(visit(color_scheme="dark"))
    assert light != dark
    page = visit(color_scheme="light")
    page.get_by_role("button", name="Dark").click()
    assert paper(page) == dark
    page.reload()
    assert paper(page) == dark
    page.get_by_role("button", name="Light").click()
    assert paper(page) == light


def test_on_paper_everything_is_open(visit):
    page = visit()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    assert not page.locator("#filters").is_visible()
    page.pdf(path=SHOTS / "report.pdf", format="A4")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("name", "viewport"), [("desktop", DESKTOP), ("phone", PHONE)])
def test_it_fits_and_is_accessible(visit, scheme, name, viewport):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")
    page = visit(viewport=viewport, color_scheme=scheme)
    page.screenshot(path=SHOTS / f"{name}-{scheme}.png", full_page=True)
    for opened in (False, True):
        if opened:
            page.get_by_role("button", name="Open all shown").click()
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            page.wait_for_timeout(200)
            page.screenshot(path=SHOTS / f"{name}-{scheme}-open.png", full_page=True)
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        found = axe.Axe().run(page).response["violations"]
        serious = [v for v in found if v["impact"] in ("serious", "critical")]
        told = [(v["id"], [node["html"][:200] for node in v["nodes"]][:3]) for v in serious]
        assert told == []


def test_without_scripts_everything_can_be_read(visit):
    page = visit(java_script_enabled=False)
    assert page.locator("#table tbody tr:visible").count() == 6
    assert not page.locator("#filters").is_visible()
    page.locator("#claim-one\\.rate summary").first.click()
    assert page.locator("#claim-one\\.rate svg.plot").is_visible()


def test_of_300_claims_nothing_is_laid_out_that_is_not_open(visit):
    """Why a long page opens quickly: `benchmarks/report.py` has the time."""
    page = visit("many.html")
    assert len(shown(page)) == 300
    inside = page.locator(".claim > :not(summary)")
    assert inside.count() >= 300
    assert inside.locator("visible=true").count() == 0
    page.get_by_label("Search").fill("number271")
    assert len(shown(page)) == 1
    page.locator(".claim:visible summary").first.click()
    assert inside.locator("visible=true").count() > 0
