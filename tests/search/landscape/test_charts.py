"""Charts and pages of a landscape, against the curves that its numbers were made from."""

import json
import statistics
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedwise.search.drawing.chart import Chart
from seedwise.search.drawing.choices import choosable
from seedwise.search.landscape.charts import groups
from seedwise.search.landscape.page import page, section
from seedwise.search.landscape.planes import LEVELS, step
from seedwise.search.studies.report import write_report
from tests.landscapes import POINTS, RADII, banded, bilingual, height, made, score, share
from tests.ledgers import made as made_search
from tests.search.report.test_html_report import EVIL, parsed

RELATIVE = "macro_f1, relative to both"
MOVED = {"all": "all parameters", "encoder": "encoder only", "head": "head only"}
KEYS = ["lines", "variance", "planes", "seeds", "around"]


@pytest.fixture(scope="module")
def numbers():
    return made()


def charts(numbers):
    return [chart for _, _, some in groups(numbers) for chart in some]


def of(numbers, key, **when):
    """The charts of a group that are visible with these choices."""
    (some,) = [some for group, _, some in groups(numbers) if group == key]
    return [chart for chart in some if chart.when.items() >= when.items()]


def trace(chart, name):
    return next(series for series in chart.data if series["name"] == name)


def test_a_curve_is_the_mean_and_its_band_a_standard_deviation_wide(numbers):
    for part, moved in MOVED.items():
        from_source, from_target = of(numbers, "lines", target="tl", moved=moved, measure="macro_f1")
        for on, chart in (("source", from_source), ("target", from_target)):
            for language, own in (("so", False), ("tl", True)):
                columns = [[score(on, part, r, a, own) for r in range(3)] for a in POINTS]
                assert trace(chart, language)["x"] == POINTS
                assert trace(chart, language)["y"] == pytest.approx([sum(column) / 3 for column in columns])
                band = trace(chart, f"{language}, band")
                assert band["x"] == POINTS + POINTS[::-1]
                n = len(POINTS)
                wide = [high - low for low, high in zip(band["y"][:n], band["y"][n:][::-1], strict=True)]
                assert wide == pytest.approx([2 * statistics.stdev(column) for column in columns])
        assert "0.610 at 0" in from_source.text  # 0.6 for the first replicate, and 0.01 more for each further replicate
        assert "mean of 3 replicates" in from_source.text


def test_single_replicates_wait_in_the_legend(numbers):
    chart, _ = of(numbers, "lines", target="um", moved=MOVED["all"], measure="macro_f1")
    thin = [series for series in chart.data if series["name"] == "single replicates"]
    assert [series["visible"] for series in thin] == ["legendonly"] * 6
    assert [series["showlegend"] for series in thin] == [True, *[False] * 5]
    assert thin[5]["y"] == pytest.approx([score("source", "all", 2, a, own=True) for a in POINTS])


def test_relative_scores_are_divided_replicate_by_replicate(numbers):
    chart, _ = of(numbers, "lines", target="tl", moved=MOVED["encoder"], measure=RELATIVE)
    ratios = [[score("source", "encoder", r, a, own=True) / bilingual(r, own=True) for r in range(3)] for a in POINTS]
    assert trace(chart, "tl")["y"] == pytest.approx([sum(column) / 3 for column in ratios])
    assert "divided by the score of its own model of both" in chart.caption


def test_the_variance_is_that_over_replicates(numbers):
    for chart, on in zip(
        of(numbers, "variance", target="tl", moved=MOVED["head"], measure="macro_f1"), ("source", "target"), strict=True
    ):
        columns = [[score(on, "head", r, a, own=True) for r in range(3)] for a in POINTS]
        assert trace(chart, "tl")["y"] == pytest.approx([statistics.variance(column) for column in columns])
        assert chart.layout["yaxis"]["range"][0] < 0  # zero is on the axis


def test_a_plane_has_every_score_in_its_place_and_the_models_where_they_are(numbers):
    source, target = of(numbers, "planes", target="tl", moved=MOVED["encoder"], measure="macro_f1")
    for chart, own in ((source, False), (target, True)):
        contour, models = chart.data
        for row, y in zip(contour["z"], contour["y"], strict=True):
            assert row == pytest.approx([height("encoder", 0, x, y, own) for x in contour["x"]])
        assert list(zip(models["x"], models["y"], strict=True)) == [(0, 0), (1, 0), (0, 1)]
        at = [height("encoder", 0, x, y, own) for x, y in ((0, 0), (1, 0), (0, 1))]
        assert models["text"] == [f"{name}: {z:.4f}" for name, z in zip(("both", "so", "tl"), at, strict=True)]
        assert [title["text"] for title in chart.layout["annotations"]] == ["<b>both</b>", "<b>so</b>", "<b>tl</b>"]
    assert "0.600 at the model of so" in target.text
    assert (
        "the highest at a1 = -0.5, a2 = -0.5" in of(numbers, "planes", moved=MOVED["all"], measure="macro_f1")[0].text
    )
    assert "Only the encoder moves; the rest is that of the model of both everywhere" in target.caption


def test_relative_planes_of_all_languages_have_one_scale(numbers):
    shown = of(numbers, "planes", target="tl", measure=RELATIVE)
    assert len(shown) == 4  # two parts, two languages
    assert len({(chart.data[0]["zmin"], chart.data[0]["zmax"]) for chart in shown}) == 1
    assert [chart.data[0]["z"][1][1] for chart in shown] == [1.0] * 4  # the model of both itself


def test_seeds_are_joined_with_the_heights_of_their_barriers(numbers):
    chart, _ = of(numbers, "seeds", target="tl", measure="macro_f1")
    curves = [series for series in chart.data if series["mode"] == "lines+markers"]
    assert [series["name"] for series in curves] == [
        "seeds 0 and 1: barrier 0.003",
        "seeds 0 and 2: barrier 0.005",
        "seeds 1 and 2: barrier 0.005",
    ]
    assert curves[1]["y"][POINTS.index(0.5)] == pytest.approx(0.795)
    straight = trace(chart, "seeds 0 and 2, straight")
    assert (straight["x"], straight["y"]) == ([0, 1], [0.8, 0.8])
    assert "0.005 at most" in chart.caption
    loss, _ = of(numbers, "seeds", target="tl", measure="loss")
    assert trace(loss, curves[1]["name"])["y"][POINTS.index(0.5)] == pytest.approx(0.205)


def test_around_tells_how_far_a_score_is_kept(numbers):
    source, target = of(numbers, "around", target="um")
    assert "within a radius of 0.12 around the model of so, more than 0.5 around the model of um" in target.text
    assert "more than 0.5 around the model of so" in source.caption
    shares = [[share("source", run, radius, own=True) for run in range(6)] for radius in RADII]
    assert trace(target, "the model of so")["y"] == pytest.approx([sum(column) / 6 for column in shares])
    assert "means over 6 runs (replicates by random directions)" in target.caption


def test_every_part_and_measure_can_be_reached_and_both_directions_stand_side_by_side(numbers):
    for target in ("tl", "um"):
        for moved in MOVED.values():
            for measure in ("macro_f1", RELATIVE, "loss"):
                titles = [chart.title for chart in of(numbers, "lines", target=target, moved=moved, measure=measure)]
                assert titles == [
                    "From the model of so to the model of both",
                    f"From the model of {target} to the model of both",
                ]


def test_all_is_within_its_axes_and_parts_of_a_target_share_one(numbers):
    for chart in charts(numbers):
        if chart.layout["yaxis"].get("range"):
            low, high = chart.layout["yaxis"]["range"]
            assert all(low <= y <= high for series in chart.data for y in series["y"]), chart.name
    for measure in ("macro_f1", RELATIVE, "loss"):
        assert (
            len({tuple(chart.layout["yaxis"]["range"]) for chart in of(numbers, "lines", target="tl", measure=measure)})
            == 1
        )


def test_every_chart_tells_numbers_and_that_it_selects_nothing(numbers):
    drawn = charts(numbers)
    assert len({chart.name for chart in drawn}) == len(drawn) == 36 + 24 + 16 + 8 + 4
    for chart in drawn:
        assert any(letter.isdigit() for letter in chart.text)
        assert "nothing here is used to select a configuration" in chart.caption
        trained = (
            "Nothing was"
            if "-seeds-" in chart.name
            else f"and of both were trained on labels of {chart.when['target']}"
        )
        assert trained in chart.caption


def test_a_part_that_moves_alone_does_not_end_at_the_model_of_both(numbers):
    whole, head = (of(numbers, "lines", target="tl", moved=MOVED[part])[0] for part in ("all", "head"))
    assert whole.layout["xaxis"]["ticktext"] == ["−0.5", "0<br>so only", "0.5", "1<br>both", "1.5"]
    assert head.layout["xaxis"]["ticktext"][3] == "1<br>head of both"
    assert "the rest stays that of the model of so" in head.caption


def test_one_replicate_has_curves_but_no_bands_variance_or_seeds():
    alone = made(replicates=1, directions=1)
    assert [key for key, *_ in groups(alone)] == ["lines", "planes", "around"]
    for chart in of(alone, "lines") + of(alone, "around"):
        assert not [
            series for series in chart.data if "band" in series["name"] or series["name"] == "single replicates"
        ]
        assert "From a single run, so without a band." in chart.caption
    assert "mean of 1 replicate:" in of(alone, "lines")[0].text
    assert "made-landscape" in page(alone)


def test_without_labels_of_targets_there_are_seeds_and_what_is_around_them():
    few = made(labels=False, shared=True)
    assert [key for key, *_ in groups(few)] == ["seeds", "around"]
    assert [chart.title for chart in of(few, "seeds", measure="macro_f1")] == [
        "so (source)",
        "tl (target)",
        "um (target)",
    ]
    for chart in charts(few):
        assert "were trained on labels" not in chart.caption
    assert [chart.title for chart in of(few, "around")] == ["so (source)", "tl (target)", "um (target)"]
    for chart in of(few, "around"):
        assert [series["name"] for series in chart.data] == ["the model of so, band", "the model of so"]
    assert "No model is trained on labels of a target" in page(few)


def test_a_source_model_that_serves_all_targets_is_around_each(numbers):
    for target in ("tl", "um"):
        chart = of(made(shared=True), "around", target=target)[1]
        names = [series["name"] for series in chart.data if "band" not in series["name"]]
        assert names == ["the model of so", f"the model of {target}", "the model of both"]


def test_a_loss_that_is_missing_costs_its_replicate_and_nothing_else():
    changed = made(lossless=True)
    chart = of(changed, "lines", target="tl", moved=MOVED["all"], measure="loss")[0]
    expected = [1 - (score("source", "all", 1, a, True) + score("source", "all", 2, a, True)) / 2 for a in POINTS]
    assert trace(chart, "tl")["y"] == pytest.approx(expected)
    assert "means over 2 replicates" in chart.caption
    assert "mean of 2 replicates" in chart.text
    thin = [series for series in chart.data if series["name"] == "single replicates"]
    assert [len(series["x"]) for series in thin] == [5, 6, 6] * 2
    for line in changed["lines"]:
        for curve in line["curves"].values():
            curve["loss"] |= {"mean": [], "sd": [], "variance": []}
    assert {chart.when["measure"] for chart in of(changed, "lines")} == {"macro_f1", RELATIVE}


def test_where_languages_have_unequal_replicates_captions_say_so():
    changed = made(targets=["tl"], parts=["all"])
    for line in changed["lines"]:
        curves = line["curves"]["tl"]["score"]["replicates"]
        line["curves"]["tl"]["score"] = banded(
            {0: curves["0"], 1: [None, *curves["1"][1:]], 2: [None, *curves["2"][1:]]}
        )
    chart = of(changed, "lines", measure="macro_f1")[0]
    assert "Lines are means over 1 to 3 replicates, bands" in chart.caption
    assert "mean of 1 to 3 replicates:" in chart.text
    assert "Sample variance over 3 replicates at every point" in of(changed, "variance", measure="macro_f1")[0].caption


def test_without_results_there_are_no_charts_and_the_page_says_so():
    nothing = made() | {key: [] for key in ("lines", "planes", "seeds", "around", "models", "directions", "sentences")}
    assert charts(nothing) == []
    root = parsed(page(nothing))
    assert "Nothing has been measured so far." in "".join(root.itertext())
    assert not list(root.iter("section"))


def test_a_model_of_both_without_a_score_leaves_absolute_planes_alone():
    changed = made(targets=["tl"], planes=["all"])
    changed["planes"][0]["bilingual"] = {"so": 0.0, "tl": None}
    assert {chart.when["measure"] for chart in of(changed, "planes")} == {"macro_f1"}


@given(st.floats(1e-6, 1e6))
def test_contours_are_round_and_about_as_many_as_wanted(span):
    width = step(span)
    assert LEVELS / 2.6 <= span / width <= LEVELS * 1.0001
    assert f"{width:.0e}"[0] in "125"
    assert float(f"{width:.0e}") == pytest.approx(width)


def test_the_buttons_offer_each_choice_once_and_the_first_is_shown(numbers):
    lines = next(some for key, _, some in groups(numbers) if key == "lines")
    root = ElementTree.fromstring(choosable(lines))
    offered = {
        fieldset.find("legend").text: ["".join(label.itertext()) for label in fieldset.iter("label")]
        for fieldset in root.iter("fieldset")
    }
    assert offered == {"target": ["tl", "um"], "moved": list(MOVED.values()), "measure": ["macro_f1", RELATIVE, "loss"]}
    checked_ones = [button for button in root.iter("input") if button.get("checked")]
    assert [button.get("value") for button in checked_ones] == ["0", "0", "0"]
    shown = [element.get("id") for element in root.iter("figure") if not element.get("hidden")]
    assert shown == ["chart-landscape-lines-0", "chart-landscape-lines-1"]
    for figure, chart in zip(root.iter("figure"), lines, strict=True):
        named = {name.rpartition("-")[2]: int(index) for name, index in json.loads(figure.get("data-when")).items()}
        values = [offered[key][named[str(index)]] for index, key in enumerate(("target", "moved", "measure"))]
        assert values == list(chart.when.values())


def test_what_cannot_be_chosen_has_no_buttons():
    alike = [Chart(f"c{number}", "", "1", "c", [], when={"target": "a"}) for number in range(2)]
    root = ElementTree.fromstring(choosable(alike))
    assert not list(root.iter("fieldset"))
    assert [figure.get("data-when") for figure in root.iter("figure")] == ["{}", "{}"]
    assert not [figure for figure in root.iter("figure") if figure.get("hidden")]


def test_the_page_begins_with_the_sentences_and_links_every_section(numbers):
    root = parsed(page(numbers))
    body = list(root.find("body"))
    assert [element.tag for element in body[:4]] == ["h1", "p", "div", "nav"]
    assert ["".join(element.itertext()) for element in body[2]] == numbers["sentences"]
    linked = [element.get("href").removeprefix("#") for element in body[3].iter("a")]
    assert linked == [element.get("id") for element in root.iter("section")] == [*KEYS, "directions", "models"]
    assert len(list(root.iter("figure"))) == len(charts(numbers))


def test_the_tables_have_the_directions_and_every_models_scores(numbers):
    directions, models = parsed(page(numbers)).iter("table")
    rows = [[cell.text for cell in line] for line in directions.iter("tr")]
    assert rows[0] == [
        "target",
        "replicate",
        "both to so",
        "both to target",
        "ratio",
        "angle",
        "initial to so",
        "initial to target",
        "initial to both",
    ]
    assert rows[1] == ["tl", "0", "3.000", "4.000", "0.750", "56.8°", "5.000", "6.000", "7.250"]
    assert len(rows) == 1 + 6
    rows = [[cell.text for cell in line] for line in models.iter("tr")]
    assert rows[0] == ["trained on", "for target", "replicate", "macro_f1 so", "macro_f1 tl", "macro_f1 um"]
    assert ["both", "um", "2", "0.770", "-", "0.820"] in rows
    assert len(rows) == 1 + len(numbers["models"])


def test_missing_angles_and_failed_runs_are_reported(numbers):
    changed = json.loads(json.dumps(numbers))
    changed["directions"][0] |= {"angle": None, "ratio": None}
    changed["left_out"] = ["line source <b>, replicate 1: failed:oom, no memory"]
    root = parsed(page(changed))
    assert [cell.text for cell in list(next(root.iter("table")).iter("tr"))[1]][4:6] == ["-", "-"]
    assert [item.text for item in root.iter("li") if "oom" in (item.text or "")] == changed["left_out"]


def test_names_with_markup_are_text_wherever_they_stand():
    hostile = made(targets=[EVIL, "b"]) | {"metric": EVIL, "name": EVIL, "sentences": [EVIL], "left_out": [EVIL]}
    text = page(hostile)
    root = parsed(text)
    assert not list(root.iter("img"))
    assert root.find("body/h1").text == EVIL.replace("\x00", "\ufffd")
    assert text.count("</script>") == len(list(root.iter("script")))
    for chart in charts(hostile):
        written = json.dumps([chart.data, chart.layout])
        assert "<img" not in written  # plotly would render it as markup
        named = "-seeds-" not in chart.name and chart.when["target"] == EVIL
        assert not named or "&lt;img" in written


def test_the_report_of_a_search_has_a_landscape_where_there_is_one(tmp_path, numbers):
    def report():
        return parsed(write_report(made_search(), tmp_path, ended="done").read_text())

    def sections(root):
        return {element.get("id"): element for element in root.iter("section")}

    assert "landscape" not in sections(report())
    (tmp_path / "landscape.json").write_text(json.dumps(numbers))
    root = report()
    of_landscape = sections(root)["landscape"]
    assert of_landscape.find("h2").text == "Why seeds disagree"
    assert numbers["sentences"][0] in [element.text for element in of_landscape.iter("p")]
    assert len(list(of_landscape.iter("figure"))) == len(charts(numbers))
    assert "#landscape" in [element.get("href") for element in root.find("body/nav").iter("a")]
    identities = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(identities) == len(set(identities))


@pytest.mark.parametrize(
    ("content", "expected"),
    [(b"{", "landscape.json"), (b"\xff", "landscape.json"), (b"[]", "TypeError"), (b'{"sentences": []}', "KeyError")],
)
def test_a_landscape_that_cannot_be_read_costs_the_report_nothing_but_itself(tmp_path, content, expected):
    (tmp_path / "landscape.json").write_bytes(content)
    root = parsed(write_report(made_search(), tmp_path, ended="done").read_text())
    (of_landscape,) = [element for element in root.iter("section") if element.get("id") == "landscape"]
    assert "cannot be shown" in of_landscape.find("p").text
    assert expected in of_landscape.find("p").text
    assert of_landscape.find("p").text.endswith(f"Write it anew with: seedwise report {tmp_path.name}")
    assert str(tmp_path) not in of_landscape.find("p").text  # a kept page may be read on another machine
    assert len(list(root.iter("figure"))) >= 8


def test_a_section_says_which_configuration_it_is_of(numbers):
    text = section(numbers | {"baseline": "adv"})
    assert "(stitching, baseline adv; lr: 0.002, weighting: &quot;softmax&quot;)" in text
    assert "did not affect what was selected" in text


def test_the_same_numbers_give_the_same_page(numbers):
    assert page(numbers) == page(json.loads(json.dumps(numbers)))
