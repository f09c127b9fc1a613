"""The model card of an exported model: origin, use, scores over seeds, and the command to reproduce it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from seedwise import yaml12
from seedwise.search.decide.policy import replicate_name
from seedwise.search.drawing.table import Column, Table
from seedwise.search.ranking.by_language import count_of
from seedwise.text import interval, number, spread
from seedwise.trainables.methods import built_in
from seedwise.trainables.spec import Export, MethodSpec
from seedwise.trainables.tasks.classification import METRICS

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCardData

HUB_METRICS = {"macro_f1": "f1"}  # the hub's names, if they differ
HUB_SPLITS = {"dev": "validation", "test": "test"}
HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")
SHORT = 12  # characters of a checksum


@dataclass(frozen=True)
class Card:
    """The card of one exported folder.

    `content` is the exported configuration. The folder has the weights of a single run, at `replicate`, and `metrics`
    are its scores. `use` is the method's text about the folder: how to load it, and what to know.
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
        """The languages of the model. A stitched model has only the target that its folder is named after."""
        if self.folder in self.task["targets"]:
            return [self.folder]
        return [language for language in (self.task["source"], *self.task["targets"]) if language]

    @property
    def method(self) -> str:
        method = self.content["method"]
        return method if isinstance(method, str) else method["trainable"]

    @cached_property
    def spec(self) -> MethodSpec | None:
        """The description of a built-in method; None for a user's own method."""
        return built_in(self.method)

    @property
    def export(self) -> Export | None:
        return self.spec and self.spec.export

    @property
    def shown(self) -> list[str]:
        """The metrics to show, starting with the metric that ranks."""
        return list(dict.fromkeys([self.content["specification"]["select"]["metric"], *METRICS]))

    def text(self) -> str:
        """The card as Markdown: the hub's front matter, then the text."""
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
        """The metadata that the hub reads. Names of local files are left out, since they are not hub ids."""
        from huggingface_hub import ModelCardData

        dataset, results = self._hub_id("task.data", self.task["data"]), self._results()
        metrics = [metric for metric in self.shown if self._summaries("dev", metric)]
        return ModelCardData(
            language=list(dict.fromkeys(language.partition("_")[0] for language in self.languages)) or None,
            library_name="transformers",
            pipeline_tag=self.export and self.export.pipeline,
            base_model=self._hub_id("model", self.content["model"]),
            datasets=[dataset] if dataset else None,
            tags=["seedwise", self.method],
            metrics=[HUB_METRICS.get(metric, metric) for metric in metrics] or None,
            model_name=f"{self.content['name']}-{self.folder}" if results else None,
            eval_results=results or None,
        )

    def _hub_id(self, key: str, name: str | None) -> str | None:
        """The name if it is a hub id. Names of local files are not: files have a checksum."""
        return name if name and key not in self.content["checksums"] and HUB_ID.fullmatch(name) else None

    def _results(self) -> list["EvalResult"]:
        """This model's scores, and its configuration's mean test scores over seeds, whose names say so."""
        from huggingface_hub import EvalResult

        scores = [(split, metric, language, score, metric) for split, metric, language, score in self._own_scores()]
        for metric in self.shown:
            for language, of in self._summaries("test", metric).items():
                about = f"{metric}, mean of this configuration over {count_of(of)} seeds, sd {number(of['sd'])}"
                scores.append(("test", metric, language, of["mean"], about))
        return [
            EvalResult(
                task_type="text-classification",
                dataset_type=self._hub_id("task.data", self.task["data"]) or self.task["name"],
                dataset_name=f"{self.task['name']} ({language})",
                dataset_config=language,
                dataset_split=HUB_SPLITS[split],
                metric_type=HUB_METRICS.get(metric, metric),
                metric_value=round(score, 4),
                metric_name=about,
            )
            for split, metric, language, score, about in scores
        ]

    def _own_scores(self) -> list[tuple[str, str, str, float]]:
        """Split, metric, language and score, for each score that this model has."""
        names = (
            (split, metric, language) for split in HUB_SPLITS for metric in self.shown for language in self.languages
        )
        return [(*name, self.metrics["/".join(name)]) for name in names if "/".join(name) in self.metrics]

    def _summaries(self, split: str, metric: str) -> dict[str, dict]:
        """Summaries over seeds, for each language of this model."""
        return self._of_languages(self.content[split].get(f"{split}/{metric}", {}))

    def _of_languages(self, scores: dict[str, dict]) -> dict[str, dict]:
        return {language: scores[language] for language in self.languages if language in scores}

    def _origin(self) -> list[str]:
        content, task = self.content, self.task
        sums = {key: checksum[:SHORT] for key, checksum in content["checksums"].items()}
        rows = [
            ("method", self.method),
            ("base model", _with_checksum(content["model"], sums.get("model"))),
            ("task", task["name"] and f"{task['name']}, {_with_checksum(task['data'], sums.get('task.data'))}"),
            ("source and targets", task["source"] and f"{task['source']}; {', '.join(task['targets'])}"),
            ("inputs (SHA-256)", "; ".join(f"{key} {sums[key]}" for key in sums if key.startswith("inputs."))),
            ("selected by", content["selected_by"]),
            ("configuration", f"{content['config_id']}, rank {content['rank']} of {content['compared']}"),
        ]
        params = f"```yaml\n{yaml12.dump(content['params'])}```"
        return [_table(["", ""], [row for row in rows if row[1]]), "", params]

    def _own(self) -> list[str]:
        seed = f"{replicate_name(self.replicate)} of search seed {self.content['specification']['seed']}"
        about = f" {self.export.scores}" if self.export and self.export.scores else ""
        rows = [(*name, number(score)) for *name, score in self._own_scores()]
        table = _table(["split", "metric", "language", "score"], rows)
        return [f"Its weights are those of one run, {seed}.{about}", "", table]

    def _over_seeds(self) -> list[str]:
        columns = ["split", "metric", "language", "mean ± sd", "95 % interval", "seeds"]
        confirmed = self.content["confirmed"]
        return [
            "The scores of the configuration say more than those of one run. Dev is over the seeds of the search.",
            "Test is over fresh seeds that no decision has seen." if confirmed else "It was not confirmed.",
            *self._failures(),
            "",
            _table(columns, list(self._summarised())),
            "",
            self._ties(),
        ]

    def _summarised(self) -> Iterator[tuple[str, ...]]:
        """Rows of a table: split, metric, language, mean and spread, interval, number of seeds."""
        ranking = self.shown[0]
        groups = [(split, metric, self._summaries(split, metric)) for split in HUB_SPLITS for metric in self.shown]
        for other in self.content["baselines"]:
            scores = self._of_languages(other["test"].get(f"test/{ranking}", {}))
            groups.append(("test", f"{ranking}, baseline: {other['baseline']}", scores))
        for split, metric, scores in groups:
            for language, of in scores.items():
                mean, ends = spread(of["mean"], of["sd"]), interval(of["ci_low"], of["ci_high"])
                yield split, metric, language, mean, ends, count_of(of)

    def _failures(self) -> list[str]:
        """How many runs failed, which means by language leave out, and how many predict a single class."""
        parts = {"of the search": self.content["score"], "on fresh seeds": self.content["confirmed"] or {"failed": 0}}
        failed = [f"{of['failed']} of {of['replicates']} runs {where}" for where, of in parts.items() if of["failed"]]
        collapsed = [
            f"{where} {name} ({n})" for where, of in parts.items() for name, n in of.get("collapsed", {}).items()
        ]
        return [
            *([f"Failed, and not in these means: {', '.join(failed)}."] if failed else []),
            *(
                [f"Runs that predict a single class, and are in these means: {', '.join(collapsed)}."]
                if collapsed
                else []
            ),
        ]

    def _ties(self) -> str:
        tied = self.content["tied_with"]
        if tied is None:
            return "Whether others are tied with it is unknown: no configuration ran on two seeds."
        if not tied:
            return "No other configuration of the search is tied with it."
        others = "other" if len(tied) == 1 else "others"
        return f"{len(tied)} {others} cannot be told apart from it: {', '.join(tied)}."

    def _again(self) -> list[str]:
        content = self.content
        versions = ", ".join(f"{name} {version}" for name, version in content["versions"].items())
        revision = f"Code revision {content['revision'] or 'unknown'}; {versions}."
        return ["```", content["made_by"], content["rerun_by"], "```", "", revision]


def _with_checksum(name: str | None, checksum: str | None) -> str:
    return f"{name} (SHA-256 {checksum})" if name and checksum else name or ""


def _table(columns: list[str], rows: list[tuple]) -> str:
    return Table([*map(Column, columns)], [rows]).markdown()
