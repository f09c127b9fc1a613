"""The contract of every method in the table: its spec.py is consistent and the parts it names exist."""

import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
from dataclasses import MISSING, fields
from importlib import import_module
from itertools import islice, product
from pathlib import Path

import pytest

from seedwise import spaces, yaml12
from seedwise.errors import RequestError
from seedwise.search.spec.load import BUILT_IN, read
from seedwise.search.spec.schema import Specification
from seedwise.spaces.baselines import baseline_space
from seedwise.trainables.method import Method
from seedwise.trainables.methods import METHODS, spec_of
from seedwise.trainables.request import SHAPES, Inputs
from seedwise.trainables.streams import STREAMS

HEAVY = ("torch", "transformers", "ray", "optuna", "mlflow", "datasets")
SAMPLE = 400  # configurations of a space that are tested

BUILT_INS = {path.stem: yaml12.load(path.read_text()) for path in sorted(BUILT_IN.glob("*.yaml"))}

every = pytest.mark.parametrize("method", METHODS)
every_baseline = pytest.mark.parametrize(
    ("method", "baseline"), [(method, name) for method in METHODS for name in spec_of(method).baselines]
)
every_space = pytest.mark.parametrize(
    ("method", "space"), [(method, name) for method in METHODS for name in spec_of(method).spaces]
)


def loaded(path):
    """The object that an import path names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)


def defaults_of(options):
    """The fields of a dataclass and their defaults; every field must have a default."""
    return {
        field.name: field.default if field.default is not MISSING else field.default_factory()
        for field in fields(options)
    }


def drawn(space):
    """Configurations of a space: the first ones, and its whole grid or, where that is endless, what walks meet."""
    walked = space.samples if space.continuous() else [params for params, _ in islice(space.grid(), SAMPLE)]
    return [*space.first(), *walked[:SAMPLE]]


def identity(params):
    """The id of a configuration, by its definition: of its JSON with sorted keys."""
    return hashlib.sha256(json.dumps(params, sort_keys=True).encode()).hexdigest()[:10]


def check_canonical(space, options):
    for params in drawn(space):
        own = {name: value for name, value in params.items() if name != "baseline"}
        assert own.keys() <= defaults_of(options).keys()
        options(**own)
        assert space.canonical(params) == params
        there_and_back = json.loads(json.dumps(dict(reversed(params.items()))))
        assert spaces.config_id(space.canonical(there_and_back)) == identity(params)


def test_no_spec_imports_what_is_slow_to_import():
    program = "import sys\nfrom importlib import import_module\n" + "".join(
        f"import_module({path!r}); print({name!r}, *(package for package in {HEAVY} if package in sys.modules))\n"
        for name, path in METHODS.items()
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},  # the table that this process has
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stdout.splitlines() == list(METHODS), done.stderr


@every
def test_a_method_is_a_folder_that_has_its_name(method):
    assert spec_of(method).name == method
    assert METHODS[method] == f"seedwise.trainables.{method}.spec"
    assert Path(import_module(METHODS[method]).__file__).parent.name == method


@every
def test_the_class_of_its_runs_is_a_method_which_keeps_the_contract(method):
    spec = spec_of(method)
    kind = loaded(spec.trainable)
    assert issubclass(kind, Method)
    assert kind.step is not Method.step
    assert list(inspect.signature(kind.prepare).parameters) == ["request", "candidates"]
    assert list(inspect.signature(kind.prepare_test).parameters) == ["request"]
    assert kind.baselines.keys() == spec.baselines.keys()
    assert all(issubclass(baseline, Method) for baseline in kind.baselines.values())
    # An export has a model card, and the card names its pipeline.
    assert (kind.export is not Method.export) == (spec.export is not None)


@every
def test_the_streams_and_the_size_of_a_run_are_known_for_every_configuration(method):
    kind = loaded(spec_of(method).trainable)
    for params in drawn(spaces.load(method, "default"))[:50]:
        used = kind.streams_used(dict(params))
        assert used
        assert set(used) <= set(STREAMS)
        assert kind.size(dict(params)) >= 0


@every_space
def test_the_parameters_of_a_space_are_the_options_and_their_defaults(method, space):
    function = getattr(import_module(f"seedwise.spaces.{method}"), space)
    assert function.defaults == defaults_of(spec_of(method).options)
    assert "baseline" not in function.defaults


@every_space
def test_every_configuration_is_accepted_and_canonical_with_a_stable_id(method, space):
    check_canonical(spaces.load(method, space), spec_of(method).options)


@every_baseline
def test_every_configuration_of_a_baseline_is_accepted_and_canonical(method, baseline):
    space = baseline_space(method, baseline, spaces.load(method, "default"), {})
    assert not space.continuous()
    check_canonical(space, spec_of(method).baselines[baseline].options)
    assert {params["baseline"] for params, _ in space.grid()} == {baseline}


@every_baseline
def test_choices_and_needs_of_a_baseline_exist(method, baseline):
    spec, entry = spec_of(method), spec_of(method).baselines[baseline]
    known = defaults_of(entry.options)
    assert entry.options.title
    assert entry.choices.keys() <= known.keys()
    for values in product(*entry.choices.values()):
        entry.options(**dict(zip(entry.choices, values, strict=True)))
    assert set(entry.unread) <= known.keys()
    assert not set(entry.unread) & entry.choices.keys()
    assert entry.needs <= {"target_train", *spec.inputs}
    for name in entry.needs & spec.inputs.keys():
        assert not spec.inputs[name].required
        assert spec.inputs[name].missing  # the message if it is missing


@every
def test_baselines_follow_options_that_the_method_has_and_one_of_them_reads(method):
    spec = spec_of(method)
    assert len(set(spec.follows)) == len(spec.follows)
    assert set(spec.follows) <= defaults_of(spec.options).keys()
    read = {
        name for entry in spec.baselines.values() for name in defaults_of(entry.options) if name not in entry.unread
    }
    assert set(spec.follows) <= read
    assert len({entry.options.title for entry in spec.baselines.values()}) == len(spec.baselines)


@every
def test_compat_fixes_options_to_values_that_they_may_have(method):
    for name, values in spec_of(method).compat.items():
        assert name not in ("ours", "fixed")  # our own reading, which fixes no option
        spec_of(method).options(**values)
        complete = spaces.load(method, "default", name).complete({})
        assert {key: complete[key] for key in values if key in complete}.items() <= values.items()
        assert Specification.model_validate({"name": "x", "method": method, "compat": name}).compat == name


@every
def test_a_misspelt_compat_lists_the_valid_values(method):
    known = ", ".join(["ours", *spec_of(method).compat])
    with pytest.raises(RequestError) as refused:
        spaces.load(method, "default", "papr")
    assert str(refused.value) == f"compat: 'papr': this method has only {known}. Choose one."


@every
def test_every_input_is_a_key_of_the_schema_with_its_type_and_default(method):
    for name, key in spec_of(method).inputs.items():
        field = Inputs.model_fields[name]
        assert field.default == (key.default if key.shape == "value" else SHAPES[key.shape][1])
        if key.shape == "value":
            assert (key.required, key.missing, key.folder) == (False, "", False)
            assert Inputs(**{name: key.default}) == Inputs()
        elif key.required and key.shape in ("single", "pattern", "sets"):
            assert key.missing  # the others name the missing language
        assert key.fix.endswith(".") if key.missing else not key.fix


def test_methods_that_share_the_name_of_an_input_mean_the_same_by_it():
    meant = {}
    for method in METHODS:
        for name, key in spec_of(method).inputs.items():
            meant.setdefault(name, set()).add((key.shape, str(key.type), key.default, key.folder))
    assert {name: kinds for name, kinds in meant.items() if len(kinds) > 1} == {}


@every
def test_metrics_of_its_own_need_inputs_that_are_files_by_name_or_language(method):
    spec = spec_of(method)
    for name, metric in spec.metrics.items():
        assert re.fullmatch(r"\w+", name)
        assert metric.uses in ("unlabelled", "translations")
        if metric.input:
            assert spec.inputs[metric.input].shape in ("sets", "pairs", "per_language")


@every
def test_a_method_declares_its_tasks_and_its_encoder(method):
    spec = spec_of(method)
    assert spec.tasks
    assert spec.tasks <= {"sentences", "pairs"}
    assert spec.encoder.startswith(("a ", "an "))


@every
def test_the_paths_of_its_landscape_lead_to_functions_and_what_is_fixed_is_legal(method):
    landscape = spec_of(method).landscape
    if landscape is None:
        return
    functions = import_module(f"seedwise.trainables.{method}.landscape")
    assert callable(functions.subject)
    assert callable(functions.labelled)
    spec_of(method).options(**landscape.fixed)


def test_the_methods_of_the_papers_have_a_demo_each():
    assert sorted(content["method"] for content in BUILT_INS.values()) == ["dcca", "ear", "stitching"]


@pytest.mark.parametrize("name", BUILT_INS)
def test_a_demo_reads_and_all_it_can_ask_for_is_accepted(name):
    specification, content = read(name), BUILT_INS[name]
    spec = spec_of(content["method"])
    given = {key for key, value in specification.inputs if value != Inputs.model_fields[key].default}
    assert given == content["inputs"].keys()
    assert content["inputs"].keys() <= spec.inputs.keys()
    for key, configurations in specification.parts.candidates.configurations.items():
        options = spec.baselines[key.removeprefix("baselines.")].options if "baselines." in key else spec.options
        for params in configurations[:SAMPLE]:
            options(**{name: value for name, value in params.items() if name != "baseline"})


def bibtex(text):
    """A BibTeX entry as its kind, its key and its fields: a small reader of the format, braces counted."""
    head = re.match(r"@(\w+)\{([^\s,{}]+),", text)
    entry, position, names = {}, head.end(), re.compile(r"\s*(\w+)\s*=\s*")
    while name := names.match(text, position):
        position = name.end()
        opening, depth, begin = text[position], 0, position + 1
        assert opening in '{"'
        while True:
            position += 1
            if text[position] == ("}" if opening == "{" else '"') and depth == 0:
                break
            depth += {"{": 1, "}": -1}.get(text[position], 0)
            assert depth >= 0
        entry[name[1]] = text[begin:position]
        position = re.compile(r"\s*,?").match(text, position + 1).end()
    assert text[position:].strip() == "}"
    return head[1], head[2], entry


@every
def test_the_citation_is_one_whole_bibtex_entry(method):
    kind, _, entry = bibtex(spec_of(method).citation)
    assert kind in ("inproceedings", "article", "misc")
    assert len(entry["title"]) > 10
    assert re.fullmatch(r"(19|20)\d\d", entry["year"])
    assert all(re.fullmatch(r"[^,]+, [^,]+", name.strip()) for name in re.split(r"\s+and\s+", entry["author"]))


def test_no_two_methods_have_one_key_in_a_bibliography():
    keys = [bibtex(spec_of(method).citation)[1] for method in METHODS]
    assert len(set(keys)) == len(METHODS)


@pytest.mark.parametrize(
    "broken", ['@misc{a,\n title = "b",\n year = {2022}\n', "@misc{a, title = {b}}, }", '@misc{a, title = "b" year}']
)
def test_the_reader_of_bibtex_refuses_what_is_no_entry(broken):
    with pytest.raises((AssertionError, IndexError)):
        bibtex(broken)
