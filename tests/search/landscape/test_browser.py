"""A landscape in a real browser: all charts are drawn and legible, buttons work, nothing is requested."""

import pytest

from seedwise.search.landscape.page import page
from tests.browser import new_browser
from tests.landscapes import made
from tests.search.report.test_html_report_browser import contrast, until

READY = (
    """[...document.querySelectorAll("figure:not([hidden]) .chart")].every((box) => box.querySelector(".main-svg"))"""
)
VISIBLE = """() => [...document.querySelectorAll("figure:not([hidden])")].map((figure) => {
  const box = figure.querySelector(".chart");
  const size = box.querySelector("svg.main-svg").getBoundingClientRect();
  return [figure.id, size.width, size.height, box.getBoundingClientRect().width];
})"""
# Every text with its colour and its background colour; texts on a plane have the plane's colours as background.
COLOURS = """() => [...document.querySelectorAll("h1,h2,h3,p,a,th,td,legend,.choices span,figcaption,.chart text")]
  .filter((element) => element.getClientRects().length && !element.closest(".contourlabels, .annotation"))
  .map((element) => {
    const style = getComputedStyle(element);
    let ground = element;
    while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)" && ground.parentElement) {
      ground = ground.parentElement;
    }
    const colour = element.closest("svg") ? style.fill : style.color;
    return [element.textContent, colour, getComputedStyle(ground).backgroundColor];
  })"""
# How far texts of one chart's axes, legend and marks overlap, in pixels along the smaller side.
OVERLAPS = """() => [...document.querySelectorAll("figure:not([hidden]) .chart")].flatMap((box) => {
  const texts = [...box.querySelectorAll(".xtick text, .ytick text, .xtitle, .ytitle, .legendtext, .annotation-text")];
  const areas = texts.map((text) => [text.textContent, text.getBoundingClientRect()]);
  return areas.flatMap(([text, area], index) => areas.slice(index + 1).map(([otherText, otherArea]) => {
    const across = Math.min(area.right, otherArea.right) - Math.max(area.left, otherArea.left);
    const down = Math.min(area.bottom, otherArea.bottom) - Math.max(area.top, otherArea.top);
    return [box.closest("figure").id, text, otherText, Math.min(across, down)];
  }).filter((overlap) => overlap[3] > 2));
})"""


pytestmark = pytest.mark.extended


@pytest.fixture(scope="module")
def browser():
    with new_browser() as session:
        yield session


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("landscape") / "report.html"
    path.write_text(page(made()), encoding="utf-8")
    return path.as_uri()


def opened(view, address):
    view.goto(address)
    until(view, READY)


def shown(view, key):
    return [chart[0] for chart in view.evaluate(VISIBLE) if chart[0].startswith(f"chart-landscape-{key}-")]


def choose(view, key, text):
    view.locator(f"#{key} .choices label", has_text=text).filter(has=view.get_by_text(text, exact=True)).click()
    until(view, READY)


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (400, False), (400, True)])
def test_a_landscape_opens_and_can_be_read(browser, address, width, dark):
    with browser.page(width, dark=dark) as (view, log):
        opened(view, address)
        assert log.errors == []
        assert [url for url in log.requests if not url.startswith(("data:", "blob:"))] == [address]
        charts = view.evaluate(VISIBLE)
        assert [chart[0].split("-")[2] for chart in charts] == [
            key for key in ("lines", "variance", "planes", "seeds", "around") for _ in range(2)
        ]
        for name, across, down, room in charts:
            assert 300 < across <= room + 1, name
            assert down > 250, name
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert view.evaluate(OVERLAPS) == []
        texts = [entry for entry in view.evaluate(COLOURS) if entry[0].strip()]
        assert len(texts) > 200
        for text, colour, ground in texts:
            assert contrast(colour, ground) >= 4.5, (text, colour, ground)


def test_buttons_change_what_is_shown(browser, address):
    with browser.page() as (view, log):
        opened(view, address)
        assert shown(view, "lines") == ["chart-landscape-lines-0", "chart-landscape-lines-1"]
        first = view.evaluate("document.querySelector('#chart-landscape-lines-0 .scatterlayer').innerHTML")
        choose(view, "lines", "encoder only")
        choose(view, "lines", "macro_f1, relative to both")
        choose(view, "lines", "um")
        # 12 charts of scores come before; of these 4 of all parameters and 2 of tl
        assert shown(view, "lines") == ["chart-landscape-lines-18", "chart-landscape-lines-19"]
        drawn = view.evaluate("document.querySelector('#chart-landscape-lines-18 .scatterlayer').innerHTML")
        assert drawn != first
        assert "relative to both" in view.locator("#chart-landscape-lines-18 .ytitle").text_content()
        assert shown(view, "variance") == ["chart-landscape-variance-0", "chart-landscape-variance-1"]
        assert log.errors == []


def test_buttons_can_be_reached_with_the_keyboard_and_charts_follow_the_light(browser, address):
    with browser.page() as (view, log):
        opened(view, address)
        view.locator("#lines input").first.focus()
        view.keyboard.press("ArrowRight")
        until(view, READY)
        assert shown(view, "lines") == ["chart-landscape-lines-2", "chart-landscape-lines-3"]
        view.emulate_media(color_scheme="dark")
        colour = "document.querySelector('#chart-landscape-lines-2 .point').style.fill"
        until(view, f"{colour} === 'rgb(86, 180, 233)'")  # the blue for a dark background
        choose(view, "lines", "tl")
        until(
            view, f"{colour.replace('lines-2', 'lines-0')} === 'rgb(86, 180, 233)'"
        )  # first drawn in the other scheme
        assert log.errors == []


def test_what_a_choice_does_not_go_with_gives_way(browser, tmp_path):
    """The plane of the encoder was measured only for the target that was selected before."""
    numbers = made()
    numbers["planes"] = [plane for plane in numbers["planes"] if (plane["part"], plane["target"]) != ("encoder", "um")]
    path = tmp_path / "report.html"
    path.write_text(page(numbers), encoding="utf-8")
    with browser.page() as (view, log):
        opened(view, path.as_uri())
        choose(view, "planes", "um")
        assert shown(view, "planes") == ["chart-landscape-planes-2", "chart-landscape-planes-3"]
        choose(view, "planes", "encoder only")
        assert shown(view, "planes") == ["chart-landscape-planes-4", "chart-landscape-planes-5"]
        chosen = view.locator("#planes input:checked + span").all_text_contents()
        assert chosen == ["tl", "encoder only", "macro_f1, relative to both"]
        assert log.errors == []


def test_names_that_look_like_tags_are_text(browser, tmp_path):
    evil = '</script><img src="http://example.org/x" onerror="alert(1)"><b>bold</b>'
    path = tmp_path / "report.html"
    path.write_text(page(made(targets=[evil, "b"])), encoding="utf-8")
    with browser.page() as (view, log):
        opened(view, path.as_uri())
        assert view.locator("img").count() == 0
        assert evil in view.locator("#lines .choices span").all_text_contents()
        assert evil in view.locator("#chart-landscape-lines-0 .legendtext").all_text_contents()
        assert log.errors == []
        assert len(log.requests) == 1
