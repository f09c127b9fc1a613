import pytest

from seedwise import yaml12
from seedwise.errors import RequestError
from seedwise.search.spec.load import from_dict, read
from seedwise.spaces import space
from tests import tiny

DEMO = "demo"


@pytest.fixture
def fewer_walks(monkeypatch):
    """A hundred random walks through a space find every mistake here; a search makes four hundred."""
    monkeypatch.setattr(space, "WALKS", 100)


@pytest.mark.usefixtures("fewer_walks")
@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("budget.runz=3", "budget.runz: there is no such key. Did you mean runs?"),
        ("nmae=x", "nmae: there is no such key. Did you mean name?"),
        ("budget.runs=many", "budget.runs: 'many' is wrong: input should be a valid integer"),
        ("budget.runs=2.5", "budget.runs: 2.5 is wrong: input should be a valid integer"),
        ("budget.hours=0", "budget.hours: 0 is wrong: input should be greater than 0"),
        ("budget={}", "budget: neither runs nor hours is given. Write, for example, budget: {runs: 60}."),
        (
            "replicates={policy: fixed, n: 99, confirm: {top: 0}}",
            "budget.runs: 32 is too few: one configuration takes 99 runs. Set it to 99 or more.",
        ),
        (
            "replicates.confirm={top: 4, fresh: 8}",
            "budget.runs: 32 leaves 0 runs after replicates.confirm (4 x 8), one configuration takes 2. "
            "Set it to 34 or more, or confirm less.",
        ),
        ("replicates.policy=rase", "replicates.policy: there is no policy 'rase'. Did you mean race?"),
        ("replicates.mim=3", "replicates.mim: there is no such key. Did you mean min?"),
        ("replicates.min=9", "replicates.max: 6 is below min: 9."),
        ("replicates.confirm.tops=1", "replicates.confirm.tops: there is no such key. Did you mean top?"),
        ("seed=-1", "seed: -1 is wrong: input should be greater than or equal to 0"),
        ("prune=hyperband", "prune: 'hyperband' is wrong: input should be 'off', 'asha' or 'median'"),
        ("select.on=pivot_dev", "select.on: pivot_dev needs languages with labels that are not reported on."),
        ("task.pivots=[qan]", "task.pivots: qan, qor, qan: a language is listed twice."),
        ("task.pivots=[qel]", "task.pivots: qel is the source."),
        ("select.second={by: dev/macro_f1/qan}", "select.second.by: dev/macro_f1/qan uses labels of a target language"),
        ("select.second={by: seconds, goal: up}", "select.second.goal: 'up' is wrong: input should be 'min' or 'max'"),
        ("decompose=[head]", "decompose: it is for one configuration."),
        ("sampler=tp", "sampler: 'tp' is wrong: input should be 'tpe', 'gp', 'random' or 'grid'"),
        ("method=stiching", "method: 'stiching' is wrong: input should be 'stitching'"),
        ("method={trainable: 'a:B'}", "method.space: this key is missing."),
        ("method={trainable: 'no.such:B', space: 'no.such:c'}", "method.space: no.such:c: No module named 'no'."),
        (
            "resources.gpus_per_run=-1",
            "resources.gpus_per_run: -1 is wrong: input should be greater than or equal to 0",
        ),
        ("space.k=[9, 1]", "space.k: [9, 1] is upside down. Write [1, 9]."),
        ("space.kk=3", "space.kk: there is no such dimension. Did you mean k?"),
        ("space.lr=fast", "space.lr: 'fast' is wrong: input should be a valid number."),
        ("space.tau=[0, 1]", "space.tau: low is 0, a logarithmic range must start above 0."),
        ("space.weighting=[]", "space.weighting: the list is empty."),
        ("space=papr", "space: stitching has no space 'papr'. Did you mean paper?"),
        ("sampler=grid", "space.exponent: this dimension is continuous, a grid needs values."),
        ("enqueue=[{k: 2, tua: 1}]", "enqueue.0.tua: the method has no such parameter. Did you mean tau?"),
        ("enqueue=[{k: 0}]", "enqueue.0.k: 0 is wrong: input should be greater than or equal to 1."),
        ("task.data=nowhere", "task.data: nowhere: there is no such folder."),
        ("task.source=xyz", "task.source: xyz: world:topics has no such language. There are: qan, qel, qor."),
        ("task.targets=[qam]", "task.targets: qam: world:topics has no such language. Did you mean qan?"),
        (
            "task.name=sib",
            "task.name: 'sib' is wrong: input should be 'sib200', 'taxi1500', 'amazon', 'xnli', 'pawsx' or 'text'",
        ),
        (
            "task.name=xnli",
            "task.name: xnli: stitching classifies single sentences. Choose sib200, taxi1500, amazon or text.",
        ),
        ("task.second=b", "task.second: b: stitching classifies single sentences. Remove it."),
        ("task.name=text", "task.data: world:topics: it has no README.md"),
        ("task.data='world:topics/{language}.tsv'", "a pattern needs both {language} and {split}"),
        ("task.label=topic", "qel/train.tsv has no column 'topic'. It has: index_id, category, text."),
        ("task.splits={devel: x}", "task.splits.devel"),
        (
            "task.splits={dev: test}",
            "task.splits: train, dev and test would be train, test, test: a set would be used twice",
        ),
        ("task.targets=[qan, qel]", "task.targets: qel is the source."),
        (
            "inputs.vectors={qan: 'world:vectors/qan.vec.gz'}",
            "inputs.vectors.qor: this language has no file.",
        ),
        ("inputs.lexicons.qan=gone.txt", "inputs.lexicons.qan: gone.txt: there is no such file."),
        ("inputs.vectors.xx=a.vec", "inputs.vectors.xx: not a language of the task."),
        ("inputs.splitting={qan: foo}", "inputs.splitting.qan: 'foo' is wrong"),
        ("inputs.multilingual=./none", "inputs.multilingual: ./none: there is no such folder."),
        ("inputs.splitting={zh: jieba}", "inputs.splitting.zh: not one of task.targets."),
        ("inputs.subwords={qan: setup.py}", "inputs.subwords: it is read only if inputs.unknown is subword."),
        ("baselines=[zero_shot]", "inputs.multilingual: the baseline zero_shot needs a multilingual encoder."),
        ("baselines=[sl]", "baselines.sl: there is no such baseline. Did you mean ls?"),
        ("compat=reference", "compat: 'reference': this method has only ours, paper."),
        ("compat=published", "compat: 'published': this method has only ours, paper. Choose one."),
        ("baselines=[plain]", "baselines.plain: there is no such baseline. There are: ls, lr, zero_shot, constant."),
        ("inputs.synonyms='world:synonyms/qel.json'", "inputs.synonyms: stitching does not read it. Remove it."),
        ("model=world:none", "model: world:none: there is no such folder."),
        ("select={on: metric, metric: dev/macro_f1/qan}", "select.on: metric is only for methods of your own."),
        ("task.targets=[qan, qan]", "task.targets: qan, qan: a language is listed twice."),
        ("task.data=setup.py", "task.data: setup.py: there is no such folder."),
        ("inputs.max_length=1", "inputs.max_length: 1 is wrong: input should be greater than or equal to 3"),
        ("space.k={choices: 5}", "space.k.choices: 5 is not a list."),
        ("space.k={step: 0}", "space.k.step: 0 must be a number above 0."),
        (
            "space.k={log: true, step: 2}",
            "space.k.log: True is not possible here. Write true or false, and no step together with true.",
        ),
        ("space.clip=-1", "space.clip: -1.0 is wrong: input should be greater than or equal to 0."),
        ("select.metric=f1", "select.metric: 'f1' is not recorded."),
        ("name=a/b", "name: 'a/b' is wrong"),
        ("budget.runs", "--set budget.runs: there is no value. Write key=value"),
        ("budget.runs=[", "--set budget.runs=[: the value is not YAML"),
    ],
)
def test_every_mistake_is_one_line_with_the_key_and_the_fix(override, message):
    with pytest.raises(RequestError) as refused:
        read(DEMO, [override])
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.usefixtures("fewer_walks")
@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("model=null", "model: ear needs a multilingual encoder. Add model: a hub id or a folder."),
        ("model=world:none", "model: world:none: there is no such folder."),
        ("inputs={}", "inputs.synonyms: ear replaces words with synonyms. Add a file: JSON {word: [synonyms]}, or"),
        ("inputs.synonyms=gone.json", "inputs.synonyms: gone.json: there is no such file."),
        ("inputs.vectors={qan: 'world:vectors/qan.vec.gz'}", "inputs.vectors: ear does not read it. Remove it."),
        ("inputs.multilingual='world:multilingual-encoder'", "inputs.multilingual: ear does not read it. Remove it."),
        ("baselines=[ls]", "baselines.ls: there is no such baseline. There are: plain, rs_da, rs_rp, adv."),
        (
            "baselines={adv: {ascents: 0}}",
            "baselines.adv.ascents: 0 is wrong: input should be greater than or equal to 1.",
        ),
        ("space.layer=[0, 4]", "space.layer: 0 is wrong: input should be greater than or equal to 1."),
        ("space.push=epd", "space.push: 'epd' is wrong: input should be 'ept', 'nt' or 'none'."),
        ("sampler=grid", "space.alpha: this dimension is continuous, a grid needs values."),
        ("enqueue=[{scale: 2.0}]", "enqueue.0.scale: 2.0 is wrong: input should be less than or equal to 1."),
        ("compat=reference", "space.shared_dropout: compat: reference fixes it to False. Remove one of the two."),
        ("task.second=b", "task.second: b: sib200 has single sentences."),
    ],
)
def test_every_mistake_in_a_search_of_ear_is_one_line_too(override, message):
    with pytest.raises(RequestError) as refused:
        read("demo-ear", [override])
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.usefixtures("fewer_walks")
def test_all_mistakes_are_reported_at_once_one_line_each():
    with pytest.raises(RequestError) as refused:
        read("demo-ear", ["method=stitching", "select.metric=f1", "budget.runs=1", "seed=-1", "tracking.url=x"])
    assert [line.partition(": ")[0] for line in str(refused.value).splitlines()] == ["tracking.url", "seed"]
    with pytest.raises(RequestError) as refused:
        read("demo-ear", ["method=stitching", "select.metric=f1", "baselines=[plian]"])
    lines = str(refused.value).splitlines()
    assert lines[0].startswith("space.layer: there is no such dimension.")
    assert {line.partition(": ")[0] for line in lines if not line.startswith("space.")} == {
        "baselines.plian",
        "select.metric",
        "inputs.synonyms",
        *(f"inputs.{kind}.{language}" for kind in ("vectors", "lexicons") for language in ("qan", "qor")),
    }


@pytest.mark.usefixtures("fewer_walks")
@pytest.mark.parametrize(
    ("name", "overrides", "keys"),
    [
        ("demo-dcca", ["prune=asha", "budget.runs=1"], ["budget.runs", "prune"]),
        ("demo", ["task.data=/none", "inputs.vectors.qan=no"], ["task.data", "inputs.vectors.qan"]),
        ("demo", ["task.targets=[qin, qon]"], ["task.targets", "task.targets"]),
        ("demo", ["task.splits={dev: devel}"], ["task.source", "task.targets", "task.targets"]),
        ("demo", ["baselines=[xx, yy]"], ["baselines.xx", "baselines.yy"]),
        (
            "demo",
            ["space={kk: 1, taus: 2}", "replicates.mim=3", "baselines=[xx]"],
            ["space.kk", "space.taus", "replicates.mim", "baselines.xx"],
        ),
        (
            "demo",
            ["enqueue=[{k: 0}, {kk: 1, kkk: 2}, {k: x}]"],
            ["enqueue.0.k", "enqueue.1.kk", "enqueue.1.kkk", "enqueue.2.k"],
        ),
        ("demo-ear", ["landscape={}", "budget={runs: x}", "nonsense=1"], ["budget.runs", "nonsense"]),
        ("demo-ear", ["landscape={baseline: x}", "space={lr: 2024-01-01}"], ["space.lr", "landscape.baseline"]),
        ("demo", ["space={aa: 1}", "budget.runs=1"], ["space.aa", "budget.runs"]),
        ("demo", ["enqueue=[{zz: 1}]", "baselines={lr: {zz: 1}}"], ["baselines.lr.zz", "enqueue.0.zz"]),
        ("demo", ["task.targets=[qel]", "model=null"], ["task.targets", "model"]),
        ("demo", ["task=null", "model=null"], ["task", "model"]),
        ("demo-dcca", ["task.targets=[qan, qan]", "prune=asha"], ["task.targets", "prune"]),
    ],
)
def test_a_check_is_skipped_only_where_its_own_keys_are_wrong(name, overrides, keys):
    with pytest.raises(RequestError) as refused:
        read(name, overrides)
    assert [problem.key for problem in refused.value.problems] == keys


def test_enqueued_configurations_cannot_contradict_compat():
    released = ["compat=reference", "space={layer: [1, 4]}", "baselines=[]"]
    assert read("demo-ear", [*released, "enqueue=[{alpha: 0.1, layer: 2, attention: padded}]"])
    with pytest.raises(RequestError, match=r"^enqueue.0.attention: compat: reference fixes it to 'padded'.$"):
        read("demo-ear", [*released, "enqueue=[{alpha: 0.1, layer: 2, attention: words}]"])


def test_test_sets_without_labels_are_found_before_a_search_of_ear(tmp_path):
    """As XTREME's scripts leave them: two columns where there should be three."""
    for language in ("en", "fr"):
        for split in ("train", "dev", "test"):
            label = "\tneutral" if split != "test" else ""
            (tmp_path / f"{split}-{language}.tsv").write_text(f"one sentence\tanother one{label}\n")
    content = read("demo-ear").as_dict()
    content["task"] = {"name": "xnli", "data": str(tmp_path), "source": "en", "targets": ["fr"]}
    with pytest.raises(RequestError) as refused:
        from_dict(content)
    assert str(refused.value).startswith(
        f"task.data: {tmp_path}/test-en.tsv has 2 columns in its first line, not premise, hypothesis, label. "
        "XTREME leaves the labels out of its test files: use labelled ones"
    )
    assert "\n" not in str(refused.value)
    content["replicates"]["confirm"]["top"] = 0  # nothing is tested then
    assert from_dict(content).task.name == "xnli"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", "line 1: not YAML"),
        ("- a", "a specification is a mapping"),
        ("name: x\nbudget: {runs: 50}\n", "method: this key is missing. Add it, for example `method: stitching`."),
        (
            "name: x\nmethod: stitching\n",
            "budget: neither runs nor hours is given. Write, for example, budget: {runs: 60}.",
        ),
        ("name: x\nmethod: stitching\nbudget: {runs: 50}\n", "task: select.on is source_dev, which needs a task."),
    ],
)
def test_a_file_without_a_specification_is_refused(text, message, tmp_path):
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(RequestError, match=message.replace("(", r"\(").replace("{", r"\{")):
        read(str(tmp_path / "x.yaml"))


def test_a_missing_specification_file_is_refused():
    with pytest.raises(RequestError, match=r"dmo: no such file, and no built-in specification. Did you mean demo?"):
        read("dmo")


def test_overrides_reach_any_depth_and_are_yaml():
    specification = read(DEMO, ["budget.runs=8", "space.k=[2, 5]", "seed=7", "select.on=target_dev", "space.lr=1e-3"])
    assert specification.budget.runs == 8
    assert specification.space["k"] == [2, 5]
    assert specification.space["lr"] == 0.001
    assert specification.space["epochs"] == 6  # neighbouring keys stay
    assert specification.seed == 7
    assert specification.parts.estimator.selection.oracle


def test_an_override_of_one_baseline_keeps_the_others():
    few = ["baselines=[ls, constant]", "baselines.ls.map=plain"]
    assert read(DEMO, few).baselines == {"ls": {"map": "plain"}, "constant": {}}
    with pytest.raises(RequestError, match=r"--set name.first=1: name is 'demo' there, which has no keys"):
        read(DEMO, ["name.first=1"])


def test_a_named_space_becomes_the_base_of_its_overrides():
    specification = read(DEMO, ["space=paper", "space.tau=0.1"])
    assert specification.space == {"base": "paper", "tau": 0.1}
    taus = {params.get("tau") for params, _ in specification.parts.space.grid()}
    assert taus == {0.1, None}


def test_settings_of_the_paper_cannot_be_overridden():
    paper = ["compat=paper", "space={base: paper}", "replicates.confirm.top=0"]
    assert all(not params["centre"] for params, _ in read(DEMO, [*paper, "enqueue=[]"]).parts.space.grid())
    with pytest.raises(RequestError, match=r"enqueue.0.centre: compat: paper fixes it to False"):
        read(DEMO, [*paper, "enqueue=[{k: 5, centre: true}]"])
    with pytest.raises(RequestError, match=r"space.centre: compat: paper fixes it to False"):
        read(DEMO, [*paper, "space.centre=true"])


def test_the_resolved_specification_reads_back_as_itself():
    specification = read(DEMO)
    assert from_dict(yaml12.load(yaml12.dump(specification.as_dict()))).as_dict() == specification.as_dict()
    assert from_dict(specification.as_dict()).as_dict() == specification.as_dict()


def test_yaml_words_stay_text_and_numbers_in_exponent_form_are_numbers():
    assert yaml12.load("{on: yes, lr: 1e-3, low: -2.5E-1, flag: true, n: 3, word: off, v: 1.}") == {
        "on": "yes",
        "lr": 0.001,
        "low": -0.25,
        "flag": True,
        "n": 3,
        "word": "off",
        "v": 1.0,
    }


def test_a_missing_test_set_is_found_before_the_search_and_not_after(tmp_path):
    for language in ("qel", "qan", "qor"):
        (tmp_path / language).mkdir()
        for name in ("train.tsv", "dev.tsv", "labels.txt", *(["test.tsv"] if language != "qor" else [])):
            (tmp_path / language / name).write_text("a\nb\n" if name == "labels.txt" else "index_id\tcategory\ttext\n")
    with pytest.raises(RequestError, match=r"qor/test.tsv is missing. The confirmation reads it. Add it, or set"):
        read(DEMO, [f"task.data={tmp_path}"])
    assert read(DEMO, [f"task.data={tmp_path}", "replicates.confirm.top=0"])


def test_training_sets_of_targets_are_asked_for_only_where_they_are_read(tmp_path):
    for language, names in {"qel": ("train", "dev", "test"), "qan": ("dev", "test")}.items():
        (tmp_path / language).mkdir()
        for name in names:
            (tmp_path / language / f"{name}.tsv").write_text("index_id\tcategory\ttext\n")
        (tmp_path / language / "labels.txt").write_text("a\nb\n")
    data = [f"task.data={tmp_path}", "task.targets=[qan]", "inputs.vectors={qan: 'world:vectors/qan.vec.gz'}"]
    data.append("inputs.lexicons={qan: 'world:lexicons/qel-qan.txt'}")
    assert read(DEMO, data)
    with pytest.raises(RequestError, match=r"qan/train.tsv is missing. The baseline lr is trained on it. Add it, or"):
        read(DEMO, [*data, "baselines=[lr]"])
    single = [*data, "enqueue=[{k: 5}]"]
    with pytest.raises(RequestError, match=r"qan/train.tsv is missing. Models of the target and of both are trained"):
        read(DEMO, [*single, "landscape={}"])
    assert read(DEMO, [*single, "landscape={labels: false}"]).landscape.replicates == 3


def pairs(name: str, data: object, **more: object) -> dict:
    """A specification with a user's method on a task of pairs."""
    task = {"name": name, "data": str(data), "source": "en", "targets": ["fr"], **more}
    method = {"trainable": "tests.methods:Quadratic", "space": "tests.methods:space"}
    return {"name": "x", "method": method, "task": task, "budget": {"runs": 60}}


def test_a_users_method_may_classify_pairs():
    assert from_dict(pairs("xnli", "facebook/xnli")).task.second is None
    assert from_dict(pairs("text", "owner/name", second="b")).as_dict()["task"]["second"] == "b"
    with pytest.raises(RequestError, match=r"task.second: b: sib200 has single sentences\."):
        from_dict(pairs("sib200", "owner/name", second="b"))


def test_no_published_split_serves_as_two_splits(tmp_path):
    for language in ("en", "fr"):
        for name in ("train", "dev_2k", "test_2k"):
            path = tmp_path / language / f"{name}.tsv"
            path.parent.mkdir(exist_ok=True)
            path.write_text("id\tsentence1\tsentence2\tlabel\n")
    assert from_dict(pairs("pawsx", tmp_path))
    with pytest.raises(RequestError, match=r"task.splits: train, dev and test would be train, test_2k, test_2k"):
        from_dict(pairs("pawsx", tmp_path, splits={"dev": "test_2k"}))
    with pytest.raises(RequestError, match=r"task.splits: train, dev and test would be train, validation, validation"):
        from_dict(pairs("pawsx", "owner/name", splits={"test": "validation"}))


def test_without_enqueue_the_space_decides_what_goes_first():
    def first(*overrides):
        specification = read(DEMO, ["enqueue=null", *overrides])
        return [params["k"] for params in specification.parts.proposer.enqueued]

    assert first() == [1, 50]
    assert first("space.k=[5, 100]") == [50]  # k = 1 is not in this space
    assert first("space.lr=[1e-3, 2e-3]") == []  # nor is the paper's learning rate in this space
    assert first("enqueue=[{k: 3}]") == [3]


def test_only_a_search_that_confirms_needs_test_sets(tmp_path):
    tiny.topics(tmp_path, rows={"train": 4, "dev": 4})
    with pytest.raises(RequestError, match="The confirmation reads it"):
        read("demo", [f"task.data={tmp_path}"])
    read("demo", [f"task.data={tmp_path}", "replicates.confirm.top=0"])
    content = read("demo", [f"task.data={tmp_path}", "landscape={}", "replicates.confirm.top=3"]).as_dict()
    assert "replicates" not in content
    assert from_dict(content).as_dict() == content
