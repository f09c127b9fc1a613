"""How each task is published: where its files are, what their columns are called, which classes there are."""

import glob
import re
from dataclasses import dataclass, field
from pathlib import Path

from search.errors import RequestError
from trainables.inputs.paths import locate


@dataclass(frozen=True)
class Layout:
    """The published form of a task. All of it can be replaced by a specification but `columns`, `quoted`, `classes`."""

    files: tuple[str, ...] = ()  # below task.data; the first form that is there counts
    text: str = "text"
    label: str = "label"
    columns: tuple[str, ...] = ()  # names for files without a header
    quoted: bool = False  # whether tab-separated files use quotes as CSV does; CSV files always do
    labels: tuple[str, ...] = ()  # () for those of labels.txt, or else of the training set
    listed: bool = False  # labels.txt beside the files lists the classes
    classes: dict[str, str] = field(default_factory=dict)  # what a label means, where it is not the class itself


LAYOUTS = {
    "sib200": Layout(("{language}/{split}.tsv",), label="category", quoted=True, listed=True),
    "taxi1500": Layout(
        ("{language}_{split}.tsv",),
        label="class",
        columns=("verse_id", "class", "text"),
        labels=("Recommendation", "Faith", "Description", "Sin", "Grace", "Violence"),
    ),
    "amazon": Layout(
        ("json/{split}/dataset_{language}_{split}.json", "{split}/dataset_{language}_{split}.json"),
        text="review_body",
        label="stars",
        labels=("negative", "neutral", "positive"),
        classes={"1": "negative", "2": "negative", "3": "neutral", "4": "positive", "5": "positive"},
    ),
    "text": Layout(),
}


@dataclass(frozen=True)
class Files:
    """Files by language and split: a pattern with {language} and {split} below a folder."""

    root: Path
    pattern: str
    splits: dict[str, str]  # the name of a split in the pattern, where it is another

    def path(self, language: str, split: str) -> Path:
        """The file of a split, compressed or not; it need not exist."""
        name = self.pattern.replace("{language}", language).replace("{split}", self.splits.get(split, split))
        compressed = self.root / f"{name}.gz"
        return compressed if compressed.is_file() else self.root / name

    def languages(self, split: str) -> list[str]:
        """The languages that have a file of this split."""
        pattern = self.pattern.replace("{split}", self.splits.get(split, split))
        before, *after = pattern.split("{language}")
        # The first place names the language, the others must repeat it.
        shape = re.escape(before) + "([^/]+)" + r"\1".join(["", *map(re.escape, after)])[2:] + r"(?:\.gz)?"
        found = glob.glob("*".join(map(glob.escape, [before, *after])) + "*", root_dir=self.root)
        return sorted({match[1] for name in found if (match := re.fullmatch(shape, Path(name).as_posix()))})


def find_files(data: str, layout: Layout, splits: dict[str, str]) -> Files | None:
    """Where the files of a task are; None where `data` is a data set of the hub, or a folder in its format."""
    if "{" in data:
        if "{language}" not in data or "{split}" not in data:
            raise RequestError(
                f"task.data: {data}: a pattern needs both {{language}} and {{split}}, for example "
                "data/{language}/{split}.csv."
            )
        folder, slash, _ = data.partition("{")[0].rpartition("/")
        return Files(locate(folder or slash or ".", "task.data", folder=True), data[len(folder + slash) :], splits)
    if _is_hub_id(data):
        return None
    folder = locate(data, "task.data", folder=True)
    for pattern in layout.files:
        files = Files(folder, pattern, splits)
        if files.languages("train") or files.languages("dev"):
            return files
    if not (folder / "README.md").is_file():
        published = f"no {' or '.join(layout.files)}, and " if layout.files else ""
        raise RequestError(
            f"task.data: {data}: it has {published}no README.md, as a data set of the hub has. "
            "Name another folder, or write a pattern, for example data/{language}/{split}.csv."
        )
    return None


def _is_hub_id(data: str) -> bool:
    """OWNER/NAME, unless there is such a folder, or a folder OWNER in which it should be."""
    owner, slash, _ = data.partition("/")
    return bool(slash) and re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", data) is not None and not Path(owner).is_dir()
