"""The report in a real browser: charts are drawn and legible, wide or narrow, light or dark; nothing is requested."""

import pytest

from seedwise.search.report import html_report
from tests.browser import new_browser
from tests.ledgers import made

READY = "document.querySelectorAll('.chart .main-svg').length >= document.querySelectorAll('.chart').length"
SIZES = """() => [...document.querySelectorAll(".chart")].map((box) => {
  const drawn = box.classList.contains("js-plotly-plot") && box.querySelector("svg.main-svg");
  const size = drawn ? drawn.getBoundingClientRect() : { width: 0, height: 0 };
  return [box.closest("figure").id, size.width, size.height, box.getAttribute("role"), box.getAttribute("aria-label")];
})"""
# Every text with its colour and its background colour.
COLOURS = """() => [...document.querySelectorAll("h1,h2,h3,p,a,th,td,code,figcaption,.chart text")].map((element) => {
  const style = getComputedStyle(element);
  let ground = element;
  while (getComputedStyle(ground).backgroundColor === "rgba(0, 0, 0, 0)" && ground.parentElement) {
    ground = ground.parentElement;
  }
  const inside = element.closest("svg") !== null;
  const cell = element.closest(".heatmap-label") !== null;
  return [element.textContent, inside ? style.fill : style.color, getComputedStyle(ground).backgroundColor, cell];
})"""


EVIL = '</script><img src="http://example.org/x" onerror="alert(1)"><b>bold</b>'


@pytest.fixture(scope="module")
def browser():
    with new_browser() as session:
        yield session


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of the report of a search whose names look like tags."""
    results = made()
    results.state.search["name"] = EVIL
    for configuration in results.state.configurations.values():
        configuration.params["label"] = EVIL + configuration.config_id
        for run in configuration.runs.values():
            run.error = EVIL
    return html_report.write(results, tmp_path_factory.mktemp("report"), ended=EVIL).as_uri()


def opened(view, address):
    view.goto(address)
    until(view, READY)


def until(view, holds):
    """Wait until an expression is true. Playwright's own waiting needs `eval`, which the page's policy forbids."""
    for _ in range(300):
        if view.evaluate(holds):
            return
        view.wait_for_timeout(100)
    pytest.fail(f"never true: {holds}")


@pytest.mark.parametrize(
    ("width", "dark"),
    [
        (1280, False),
        *(pytest.param(*case, marks=pytest.mark.extended) for case in ((1280, True), (400, False), (400, True))),
    ],
)
def test_the_report_opens_and_can_be_read_and_names_that_look_like_tags_are_text(browser, address, width, dark):
    with browser.page(width, dark=dark) as (view, log):
        opened(view, address)
        assert view.title() == EVIL
        assert view.locator("img").count() == 0
        assert log.errors == []
        assert [url for url in log.requests if not url.startswith(("data:", "blob:"))] == [address]
        charts = view.evaluate(SIZES)
        assert {"chart-replicates", "chart-course", "chart-importance", "chart-target"} <= {
            chart[0] for chart in charts
        }
        assert {"chart-languages-dev", "chart-languages-test"} <= {chart[0] for chart in charts}
        assert {"chart-components", "chart-seconds", "chart-slice-0"} <= {chart[0] for chart in charts}
        for name, across, down, role, text in charts:
            assert across > 150, name
            assert down > 100, name
            assert role == "img"
            assert len(text) > 30
        assert view.evaluate("document.documentElement.scrollWidth <= innerWidth")
        texts = [entry for entry in view.evaluate(COLOURS) if entry[0].strip()]
        assert len(texts) > 200
        for text, colour, ground, in_cell in texts:
            if not in_cell:  # except in the heat map, whose cells have their own colours and black text
                assert contrast(colour, ground) >= 4.5, (text, colour, ground)


@pytest.mark.extended
def test_the_charts_follow_a_change_from_light_to_dark(browser, address):
    with browser.page() as (view, log):
        opened(view, address)
        colour = "getComputedStyle(document.querySelector('.chart .xtick text')).fill"
        light = view.evaluate(colour)
        view.emulate_media(color_scheme="dark")
        until(view, f"{colour} !== '{light}'")
        assert luminance(view.evaluate(colour)) > 0.5 > luminance(light)
        assert log.errors == []


def luminance(colour: str) -> float:
    """Relative luminance of `rgb(r, g, b)`, after WCAG 2."""
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(first: str, second: str) -> float:
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)
