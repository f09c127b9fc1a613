"""Pictures of runs, from the method to MLflow and the report: in a real search, and the drawing alone."""

import json
import re
from dataclasses import replace
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlflow import MlflowClient

from seedwise.errors import RequestError
from seedwise.folder import pictures_of
from seedwise.search.cluster.placement import Placement
from seedwise.search.decide.next_run import Decisions
from seedwise.search.decide.policy import Confirmation
from seedwise.search.drawing import svg as pictures
from seedwise.search.drawing.svg import MAX_LABELS, svg
from seedwise.search.execution.messages import StepReport
from seedwise.search.execution.session import Session
from seedwise.search.execution.shutdown import Shutdown
from seedwise.search.ledger.file import Ledger, read
from seedwise.search.ledger.state import CONFIRM
from seedwise.search.ranking.selection import Selection
from seedwise.search.spec.schema import Checkpoints, Resources
from seedwise.trainables.pictures import checked
from tests.search.report.test_html_report import without_scripts
from tests.search.studies.test_search import board, run, write

SVG = "{http://www.w3.org/2000/svg}"
SEARCHED = {
    "name": "drawn",
    "method": {"trainable": "tests.methods:Draws", "space": "tests.methods:space"},
    "sampler": "grid",
    "space": {"x": {"choices": [0.3, 0.5, 0.9]}, "trouble": {"choices": ["none", "draw"]}},
    "budget": {"runs": 18},
    "replicates": {"policy": "fixed", "n": 2, "confirm": {"top": 3, "fresh": 2}},
}


@pytest.fixture(scope="module")
def searched(tmp_path_factory, ray_here):
    """A search in which half of the configurations fail to draw."""
    home = write(tmp_path_factory.mktemp("drawn"), **SEARCHED)
    return home, run(home, "search", "spec.yaml")


def test_only_the_first_fresh_replicate_of_each_confirmed_configuration_is_drawn(searched):
    home, _ = searched
    folder = home / "runs" / "drawn"
    state = read(folder / "ledger.jsonl")
    assert {result.status for result in state.runs()} == {"done"}  # also the runs whose pictures fail
    troubles = {config_id: state.configurations[config_id].params["trouble"] for config_id in state.frozen}
    assert set(troubles.values()) == {"none", "draw"}
    expected = {f"{config_id}-1000.json" for config_id, trouble in troubles.items() if trouble == "none"}
    assert {path.name for path in (folder / "pictures").iterdir()} == expected
    (name, *_) = expected
    (picture,) = json.loads((folder / "pictures" / name).read_text())
    of_run = state.configurations[name.partition("-")[0]].runs[1000]
    assert picture["panels"][0]["series"][0]["y"][0] == of_run.metrics["memory"]


def test_mlflow_has_the_pictures_and_the_report(searched, database):
    home, _ = searched
    state, store = read(home / "runs" / "drawn" / "ledger.jsonl"), database()
    run(home, "track", "runs/drawn", "--uri", store)
    client = MlflowClient(store)
    of_runs = {}
    for mlflow_run in client.search_runs([client.get_experiment_by_name("drawn").experiment_id]):
        files = {file.path for file in client.list_artifacts(mlflow_run.info.run_id, "pictures")}
        if files:
            of_runs[mlflow_run.data.tags["config_id"], mlflow_run.data.tags["replicate"]] = files
        if mlflow_run.data.tags["level"] == "search":
            assert "report.html" in {file.path for file in client.list_artifacts(mlflow_run.info.run_id)}
    drawn = [name for name in state.frozen if state.configurations[name].params["trouble"] == "none"]
    assert of_runs == {(name, "1000"): {"pictures/scores.svg"} for name in drawn}


def test_the_report_shows_the_leaderboard_and_the_pictures_without_network_access(searched):
    home, output = searched
    assert "report: runs/drawn/report.html" in output
    text = (home / "runs" / "drawn" / "report.html").read_text()
    text = without_scripts(text)
    root = ElementTree.fromstring(text)  # well-formed
    rows = board(home / "runs" / "drawn")
    lines = [list(line.iter("td")) for line in root.iter("tr")][1:]
    assert ["".join(line[1].itertext()).split()[0] for line in lines] == [row["config_id"] for row in rows]
    assert [line[0].text for line in lines] == ["1", "2", "3", "4", "5", "6"]
    names = [cell.text for cell in root.iter("th")]
    assert names[names.index("fresh seeds") :] == ["fresh seeds", "test x"]
    first = [cell.text for cell in lines[0]]
    cell = rows[0]["fresh"]["scores"]["test/value"]["x"]
    assert first[names.index("test x")] == f"{cell['mean']:.3f} ± {cell['sd']:.3f}"
    drawn = [row["config_id"] for row in rows if row["fresh"] and row["params"]["trouble"] == "none"]
    pictures = next(section for section in root.iter("section") if section.get("id") == "pictures")
    assert [section.find("h3").get("id") for section in pictures.findall("section")] == drawn
    assert len(list(root.iter(f"{SVG}svg"))) == len(drawn)
    assert "What became of x = 0.3 <in brackets> & $5. Fresh seed 1." in [cell.text for cell in root.iter("figcaption")]
    outside = [
        value
        for element in root.iter()
        for name, value in element.attrib.items()
        if name.endswith(("src", "href")) and not value.startswith("#")
    ]
    assert outside == []
    assert set(re.findall(r"https?://[^\"'\s]*", text)) == {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert not re.search(r"@import|<link|url\((?!#)", text)
    identities = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(identities) == len(set(identities))
    for target in re.findall(r'(?:href="|url\()#([^")]*)', text):
        assert target in identities


def test_the_command_writes_the_same_report_again(searched):
    home, _ = searched
    path = home / "runs" / "drawn" / "report.html"
    before = path.read_text()
    path.unlink()
    assert "wrote runs/drawn/report.html" in run(home, "report", "runs/drawn")
    assert path.read_text() == before
    assert "nowhere: there is no search here." in run(home, "report", "nowhere", code=2)


def test_a_file_that_holds_no_pictures_is_named(tmp_path):
    for content in ("{", "[1]"):
        path = pictures_of(tmp_path, "abc", 1000)
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
        with pytest.raises(RequestError, match=r"abc-1000.json: it does not hold valid pictures .* Delete this file"):
            pictures.read(tmp_path, "abc", 1000)
    assert pictures.read(tmp_path, "abc", 1001) == []


def session_of(folder):
    """The confirmation of a configuration and a baseline, without Ray."""
    ledger = Ledger(folder / "ledger.jsonl")
    ledger.append({"event": "search", "search_id": "x"})
    ledger.append({"event": "place", "cpus": 1})
    for config_id, params in (("a", {"x": 1}), ("b", {"baseline": "ls"})):
        ledger.append({"event": "ask", "config_id": config_id, "params": params, "ask": 0})
    ledger.append({"event": "freeze", "because": "over", "configs": ["a"], "baselines": ["b"]})
    selection = Selection("value", "metric", "mean", "", ())
    slots = SimpleNamespace(now=lambda: 1, placement=Placement(1, 0.0))
    specification = SimpleNamespace(seed=0, resources=Resources(), checkpoints=Checkpoints())
    view = SimpleNamespace(result=lambda run: None)
    shutdown = Shutdown(grace=20.0, graceful=True)
    return Session(ledger, Decisions(CONFIRM, Confirmation(2), selection), slots, specification, shutdown, view)


def test_baselines_are_drawn_and_failed_runs_are_not(tmp_path):
    session = session_of(tmp_path)
    started = [session.start_next(f"trial {number}") for number in range(4)]
    assert [(order.config_id, order.replicate, order.draw) for order in started] == [
        ("a", 1000, True),
        ("a", 1001, False),
        ("b", 1000, True),
        ("b", 1001, False),
    ]
    report = StepReport(epoch=1, seconds=1.0, metrics={"value": 0.5}, pictures="[]")
    session.record_result("trial 0", replace(report, status="failed:nan"))
    session.record_result("trial 1", replace(report, pictures=""))
    session.record_result("trial 2", report)
    assert [path.name for path in tmp_path.glob("pictures/*")] == ["b-1000.json"]


def test_a_run_without_its_score_fails_even_with_pictures(tmp_path):
    session = session_of(tmp_path)
    session.start_next("trial")
    session.record_result("trial", StepReport(epoch=1, seconds=1.0, metrics={"other": 0.5}, pictures="[]"))
    assert session.ledger.state.configurations["a"].runs[1000].failed
    assert not (tmp_path / "pictures").exists()


def picture(*series, **changes):
    panels = [{"title": "one panel", "x": "across", "y": "up", "series": list(series)}]
    return {"name": "one", "title": "a title", "text": "a text", "columns": 1, "panels": panels, **changes}


def points(n, **changes):
    return {
        "name": "dots",
        "kind": "points",
        "x": [float(i) for i in range(n)],
        "y": [1.0 + i * i for i in range(n)],
    } | changes


def drawn(raw):
    """A picture as a method returns it, checked and drawn."""
    (whole,) = checked([raw])
    return svg(whole)


def texts(root):
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def group(root, name):
    return next(element for element in root.iter(f"{SVG}g") if element.get("id") == name)


def test_a_drawing_has_every_point_every_line_and_every_text():
    line = {"name": "curve", "kind": "line", "x": [1, 2, 3], "y": [3.0, 1.0, 2.0], "dashed": True}
    root = ElementTree.fromstring(drawn(picture(points(7), line)))
    assert len(list(group(root, "panel-0-series-0").iter(f"{SVG}use"))) == 7
    path = group(root, "panel-0-series-1").find(f"{SVG}path")
    assert len(re.findall("[ML]", path.get("d"))) == 3
    assert "stroke-dasharray" in path.get("style")
    assert {"a title", "one panel", "across", "up", "dots", "curve"} <= set(texts(root))
    assert [root[0].tag, root[0].text, root[1].tag, root[1].text] == [f"{SVG}title", "a title", f"{SVG}desc", "a text"]
    assert root.get("role") == "img"


def test_panels_lie_in_rows_and_a_name_has_one_colour_in_all_of_them():
    panel = picture(points(3), points(3, name="others"))["panels"][0]
    turned = {**panel, "series": panel["series"][::-1]}
    root = ElementTree.fromstring(drawn(picture(panels=[panel, turned, {**panel, "log": True}], columns=2)))
    axes = [element for element in root.iter(f"{SVG}g") if element.get("id", "").startswith("axes_")]
    assert len(axes) == 3

    def colour(name):
        return next(group(root, name).iter(f"{SVG}use")).get("style")

    assert colour("panel-0-series-0") == colour("panel-1-series-1") == colour("panel-2-series-0")
    assert colour("panel-0-series-0") != colour("panel-0-series-1") == colour("panel-1-series-0")
    assert texts(root).count("others") == 1  # one legend for all


def test_text_in_any_script_is_shown_unchanged():
    strange = '<b> & "c" $\\frac{1}$ \\$ чалавек 人 שלום'
    markup = drawn(picture(points(1, labels=[strange], name=strange), title=strange, text=strange))
    root = ElementTree.fromstring(markup)
    assert sum(text == strange for text in texts(root)) == 2  # title, legend
    assert strange[:30].strip() in texts(root)  # the label, cut
    assert [root[0].text, root[1].text] == [strange, strange]
    assert "<b>" not in markup
    broken = ElementTree.fromstring(drawn(picture(points(1, labels=["a\x00b\ud800c"]))))
    assert "a\ufffdb\ufffdc" in texts(broken)


def test_only_some_of_many_labels_are_shown():
    many = drawn(picture(points(500, labels=[f"w{i}" for i in range(500)])))
    shown = [text for text in texts(ElementTree.fromstring(many)) if re.fullmatch(r"w\d+", text)]
    assert MAX_LABELS / 2 <= len(shown) <= MAX_LABELS
    assert {"w0"} < set(shown)
    assert max(int(text[1:]) for text in shown) > 450


def test_the_same_picture_is_the_same_bytes_and_ids_take_a_prefix():
    (figure,) = checked([picture(points(4, labels=list("abcd")))])
    assert svg(figure) == svg(json.loads(json.dumps(figure)))
    root = ElementTree.fromstring(svg(figure, prefix="here-"))
    assert all(element.get("id", "here-").startswith("here-") for element in root.iter())


def band(**changes):
    return points(3, kind="line", low=[0.0, 1.0, 2.0], high=[2.0, 3.0, 7.0]) | changes


def panel(*series, **changes):
    return {"title": "one panel", "x": "across", "y": "up", "series": list(series)} | changes


def test_a_band_is_drawn_behind_its_line_from_low_to_high():
    root = ElementTree.fromstring(drawn(picture(band(x=[1.0, 2.0, 3.0], y=[1.0, 2.0, 4.0]))))
    parts = [element.get("id") for element in root.iter(f"{SVG}g") if element.get("id", "").startswith("panel-0")]
    assert parts == ["panel-0-band-0", "panel-0-series-0"]  # later elements lie above
    shape = next(group(root, "panel-0-band-0").iter(f"{SVG}path")).get("d")
    down = float(next(group(root, "panel-0-band-0").iter(f"{SVG}use")).get("y"))
    corners = [(float(x), float(y) + down) for x, y in re.findall(r"[ML] (\S+) (\S+)", shape)]
    line = next(group(root, "panel-0-series-0").iter(f"{SVG}path")).get("d")
    middle = [tuple(map(float, at)) for at in re.findall(r"[ML] (\S+) (\S+)", line)]
    unit = middle[0][1] - middle[1][1]  # pixels of 1 on the second axis; they grow downwards
    for (x, y), low, high in zip(middle, (1.0, 1.0, 2.0), (1.0, 1.0, 3.0), strict=True):
        ends = [at[1] for at in corners if at[0] == pytest.approx(x)]
        assert [min(ends), max(ends)] == pytest.approx([y - high * unit, y + low * unit], abs=1e-3)
    colours = [re.search("#[0-9a-f]{6}", ElementTree.tostring(group(root, part)).decode()).group() for part in parts]
    assert colours[0] == colours[1]


def test_a_picture_without_a_band_has_none():
    (whole,) = checked([picture(points(4), {"name": "curve", "kind": "line", "x": [1, 2], "y": [3.0, 1.0]})])
    assert [series["low"] for series in whole["panels"][0]["series"]] == [[], []]
    assert "band" not in svg(whole)


def test_a_picture_written_by_version_0_8_can_be_read(tmp_path):
    (whole,) = checked([picture(points(4))])
    whole["panels"][0]["surface"] = None
    path = pictures_of(tmp_path, "abc", 1000)
    path.parent.mkdir()
    path.write_text(json.dumps([whole]))
    assert pictures.read(tmp_path, "abc", 1000) == checked([picture(points(4))])


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        (panel(band(low=[1.0])), "panels.0.series.0: a band of 1 low and 3 high at 3 x"),
        (panel(band(low=[], high=[1.0, 2.0, 3.0])), "a band of 0 low and 3 high at 3 x"),
        (panel(band(low=[0.0] * 4, high=[1.0] * 4)), "a band of 4 low and 4 high at 3 x"),
        (panel(band(low=[0.0, 4.0, 0.0])), "a band whose low is above its high"),
        (panel(band(high=[2.0, float("nan"), 7.0])), "panels.0.series.0.high.1: nan cannot be drawn"),
    ],
)
def test_a_band_that_does_not_fit_is_refused_with_a_reason(wrong, problem):
    with pytest.raises(ValueError, match=re.escape(problem)):
        checked([picture(panels=[wrong])])


numbers = st.floats(-1e100, 1e100) | st.sampled_from([0.0, 1e100, -1e100, 5e-324])


def of_length(n, values=numbers):
    return st.lists(values, min_size=n, max_size=n)


def edges(n):
    """Bands, or none."""
    sides = st.lists(st.tuples(numbers, numbers).map(sorted), min_size=n, max_size=n)
    return st.just({}) | sides.map(
        lambda pairs: {"low": [low for low, _ in pairs], "high": [high for _, high in pairs]}
    )


series = st.integers(0, 4).flatmap(
    lambda n: st.builds(
        dict.__or__,
        st.fixed_dictionaries(
            {"name": st.text(max_size=8), "kind": st.sampled_from(["line", "points"])}
            | {axis: of_length(n) for axis in "xy"},
            optional={"labels": of_length(n, st.text(max_size=8)), "dashed": st.booleans()},
        ),
        edges(n),
    )
)
drawings = given(st.lists(series, max_size=3), st.text(max_size=8), st.booleans())


@settings(max_examples=6, deadline=None)
@drawings
def test_every_picture_that_a_worker_accepts_can_be_drawn(of_panel, text, log):
    check_drawing(of_panel, text, log)


@pytest.mark.extended
@settings(max_examples=25, deadline=None)
@drawings
def test_every_picture_that_a_worker_accepts_can_be_drawn_in_more_examples(of_panel, text, log):
    check_drawing(of_panel, text, log)


def check_drawing(of_panel, text, log):
    panels = [{"title": text, "x": text, "y": text, "log": log, "series": of_panel}]
    (whole,) = checked([picture(panels=panels, title=text, text=text, columns=3)])
    root = ElementTree.fromstring(svg(whole))
    assert len([element for element in root.iter(f"{SVG}g") if "-series-" in element.get("id", "")]) == len(of_panel)


@given(st.lists(numbers, max_size=3), st.lists(numbers, max_size=3), st.integers(0, 3))
def test_a_band_passes_only_where_it_fits(low, high, n):
    fits = len(low) == len(high) and len(low) in (0, n) and all(map(float.__le__, low, high))
    assert passes(picture(points(n, low=low, high=high))) == fits


def passes(figure):
    try:
        checked([figure])
    except ValueError:
        return False
    return True
