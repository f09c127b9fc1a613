"""The model card of an exported model: what it is, what it scores, over how many seeds, and how to make it again."""

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seedwise import yaml12
from seedwise.search.decide.policy import FRESH
from seedwise.search.drawing.table import Column, Table
from seedwise.text import interval, number, spread
from seedwise.trainables.methods import built_in
from seedwise.trainables.spec import Export, MethodSpec
from seedwise.trainables.tasks.classification import METRICS

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCardData

HUB_METRICS = {"macro_f1": "f1"}  # what the hub calls them; others have the same name
HUB_SPLITS = {"dev": "validation", "test": "test"}
HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


@dataclass(frozen=True)
class Card:
    """One exported folder.

    `content` is the exported configuration, `metrics` are the scores of the one run, at `replicate`, whose weights
    these are. `use` is what the method says of its own folder: how to load it, and what to heed.
    """

    content: dict
    folder: str
    replicate: int
    metrics: dict[str, float]
    use: str

    @property
    def task(self) -> dict:
        return self.content["task"] or {"name": "", "data": "", "source": "", "targets": []}

    @property
    def languages(self) -> list[str]:
        """Those that the model is for: of a stitched one, the language that its folder is named after."""
        if self.folder in self.task["targets"]:
            return [self.folder]
        return [language for language in (self.task["source"], *self.task["targets"]) if language]

    @property
    def method(self) -> str:
        method = self.content["method"]
        return method if isinstance(method, str) else method["trainable"]

    @property
    def spec(self) -> MethodSpec | None:
        """What the method says of itself; None of one's own."""
        return built_in(self.method)

    @property
    def export(self) -> Export | None:
        """What the method says of its exported models, where it says something."""
        return self.spec.export if self.spec else None

    @property
    def shown(self) -> list[str]:
        return list(dict.fromkeys([self.content["specification"]["select"]["metric"], *METRICS]))

    def text(self) -> str:
        """The card: the hub's front matter, then a page for a person."""
        sections = {
            "Use": [self.use.strip()],
            "What it is": self._origin(),
            "Scores of this model": self._own(),
            "Scores over seeds": self._over_seeds(),
            "Make it again": self._again(),
            "Cite": [f"```bibtex\n{self.spec.citation}\n```"] if self.spec else [],
        }
        body = "\n".join(f"\n## {title}\n\n" + "\n".join(lines) for title, lines in sections.items() if lines)
        title = f"# {self.content['name']}: {self.folder}\n"
        return f"---\n{self.front().to_yaml()}\n---\n\n{title}{body}\n"

    def front(self) -> "ModelCardData":
        """What the hub reads. Names of local files are no ids of the hub, so they are left out of it."""
        from huggingface_hub import ModelCardData

        content, task, results = self.content, self.task, self._results()
        return ModelCardData(
            language=list(dict.fromkeys(language.partition("_")[0] for language in self.languages)) or None,
            library_name="transformers",
            pipeline_tag=self.export and self.export.pipeline,
            base_model=self._hub_id("model", content["model"]),
            datasets=[hub] if (hub := self._hub_id("task.data", task["data"])) else None,
            tags=["seedwise", self.method],
            metrics=[HUB_METRICS.get(name, name) for name in self.shown if self._named("dev", name)] or None,
            model_name=f"{content['name']}-{self.folder}" if results else None,
            eval_results=results or None,
        )

    def _hub_id(self, key: str, name: str | None) -> str | None:
        """The name, where it is no file: a file has a checksum."""
        return name if name and key not in self.content["checksums"] and HUB_ID.fullmatch(name) else None

    def _results(self) -> list["EvalResult"]:
        """This model's own scores, and the means over seeds of its configuration on the test sets, named as such."""
        own = [self._result(*of, name=of[1]) for of in self._own_scores()]
        return own + [
            self._result(
                "test", metric, language, of["mean"], f"{metric}, mean of this configuration over {of['n']} seeds"
            )
            for metric in self.shown
            for language, of in self._named("test", metric).items()
        ]

    def _result(self, split: str, metric: str, language: str, value: float, name: str) -> "EvalResult":
        from huggingface_hub import EvalResult

        task = self.task
        return EvalResult(
            task_type="text-classification",
            dataset_type=self._hub_id("task.data", task["data"]) or task["name"],
            dataset_name=f"{task['name']} ({language})",
            dataset_config=language,
            dataset_split=HUB_SPLITS[split],
            metric_type=HUB_METRICS.get(metric, metric),
            metric_value=round(value, 4),
            metric_name=name,
        )

    def _own_scores(self) -> list[tuple[str, str, str, float]]:
        """Split, metric, language and score of this model, where they are worth showing."""
        names = (
            (split, metric, language) for split in HUB_SPLITS for metric in self.shown for language in self.languages
        )
        return [(*name, self.metrics["/".join(name)]) for name in names if "/".join(name) in self.metrics]

    def _named(self, split: str, metric: str) -> dict[str, dict]:
        """Summaries over seeds, by language of this model."""
        of = self.content[split].get(f"{split}/{metric}", {})
        return {language: of[language] for language in self.languages if language in of}

    def _origin(self) -> list[str]:
        content, task = self.content, self.task
        sums = {key: value[:12] for key, value in content["checksums"].items()}
        inputs = [f"{key} {value}" for key, value in sums.items() if key.startswith("inputs.")]
        rows = [
            ("method", self.method),
            ("base model", _with(content["model"], sums.get("model"))),
            ("task", task["name"] and f"{task['name']}, {_with(task['data'], sums.get('task.data'))}"),
            ("source and targets", task["source"] and f"{task['source']}; {', '.join(task['targets'])}"),
            ("inputs (SHA-256)", "; ".join(inputs)),
            ("selected by", content["selected_by"]),
            ("configuration", f"{content['config_id']}, rank {content['rank']} of {content['compared']}"),
        ]
        table = Table([Column(""), Column("")], [[row for row in rows if row[1]]])
        return [table.markdown(), "", "```yaml", yaml12.dump(content["params"]).strip(), "```"]

    def _own(self) -> list[str]:
        fresh = self.replicate >= FRESH
        seed = f"replicate {self.replicate}" + (" (a fresh seed)" if fresh else "")
        rows = [(split, metric, language, number(value)) for split, metric, language, value in self._own_scores()]
        told = f"Its weights are those of one run, {seed} of search seed {self.content['specification']['seed']}."
        if self.export and self.export.scores:
            told += f" {self.export.scores}"
        names = ("split", "metric", "language", "score")
        return [told, "", Table([*map(Column, names)], [rows]).markdown()]

    def _over_seeds(self) -> list[str]:
        content = self.content
        rows = [
            (split, metric, language, *_summary(of))
            for split in HUB_SPLITS
            for metric in self.shown
            for language, of in self._named(split, metric).items()
        ]
        for one in content["baselines"]:
            found, name = one["test"].get(f"test/{self.shown[0]}", {}), f"{self.shown[0]}, baseline: {one['baseline']}"
            rows += [
                ("test", name, language, *_summary(found[language])) for language in self.languages if language in found
            ]
        names = ("split", "metric", "language", "mean ± sd", "95 % interval", "seeds")
        return [
            "The configuration's scores, which say more than those of one seed. Dev is over the seeds of the search.",
            "Test is over fresh seeds that no decision has seen." if content["confirmed"] else "It was not confirmed.",
            *self._failures(),
            "",
            Table([*map(Column, names)], [rows]).markdown(),
            "",
            self._ties(),
        ]

    def _failures(self) -> list[str]:
        """Scores above are of runs that ended well; how many did not must be known."""
        parts = {"of the search": self.content["score"], "on fresh seeds": self.content["confirmed"] or {"failed": 0}}
        told = [f"{of['failed']} of {of['replicates']} runs {where}" for where, of in parts.items() if of["failed"]]
        return [f"Failed, and not in these means: {', '.join(told)}."] if told else []

    def _ties(self) -> str:
        tied = self.content["tied_with"]
        if tied is None:
            return "Which others cannot be told apart from it is not known: no configuration ran on two seeds."
        others = "other" if len(tied) == 1 else "others"
        if tied:
            return f"{len(tied)} {others} cannot be told apart from it: {', '.join(tied)}."
        return "No other configuration of the search is tied with it."

    def _again(self) -> list[str]:
        content = self.content
        versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
        commands = [content["made_by"], content["rerun_by"]]
        return ["```", *commands, "```", "", f"Code revision {content['revision'] or 'unknown'}; {versions}."]


def _with(name: str | None, checksum: str | None) -> str:
    return f"{name} (SHA-256 {checksum})" if name and checksum else name or ""


def _summary(of: dict) -> tuple[str, str, str]:
    """Mean and spread, interval, and seeds behind them."""
    return spread(of["mean"], of["sd"]), interval(of["ci_low"], of["ci_high"]), str(of["n"])
