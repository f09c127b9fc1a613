"""Whether each method finds the files it reads, for every language, before anything starts."""

from typing import TYPE_CHECKING

from seedwise.errors import RequestError
from seedwise.program import called
from seedwise.search.decide.baselines import asked_of
from seedwise.suggest import nearest
from seedwise.trainables.dcca.options import OPTIONS
from seedwise.trainables.inputs.paths import locate

if TYPE_CHECKING:
    from seedwise.search.spec.schema import Specification

# What one method reads and another does not.
READ_BY = {
    "vectors": ("stitching",),
    "lexicons": ("stitching", "dcca"),
    "subwords": ("stitching",),
    "stop_words": ("stitching",),
    "multilingual": ("stitching",),
    "synonyms": ("ear",),
    **dict.fromkeys(("text", "static", "align", "probes", "parallel", "score_layer"), ("dcca",)),
}


def check_inputs(specification: "Specification") -> None:
    """Raise at the first input of a built-in method that is missing, or that it would not read."""
    inputs, method = specification.inputs, specification.method
    for kind, methods in READ_BY.items():
        unset = type(inputs).model_fields[kind].default
        if method not in methods and getattr(inputs, kind) != unset:  # it would be thought to matter
            raise RequestError(f"inputs.{kind}: {method} does not read it. Remove it.")
    {"stitching": _check_stitching, "dcca": _check_dcca, "ear": _check_ear}[method](specification)


def _check_stitching(specification: "Specification") -> None:
    if specification.model is None:
        raise RequestError("model: stitching needs a source encoder. Add model: a hub id or a folder.")
    for key, name in (("model", specification.model), ("inputs.multilingual", specification.inputs.multilingual)):
        if name and name.startswith(("world:", ".", "/")):
            locate(name, key, folder=True)
    inputs, languages = specification.inputs, [*specification.task.targets, *specification.task.pivots]
    drops = "drop" in asked_of(specification.as_dict()).values("stop_words")
    if inputs.subwords and inputs.unknown != "subword":
        raise RequestError("inputs.subwords: these models are read where inputs.unknown is subword. Set that too.")
    if isinstance(inputs.splitting, dict) and (others := set(inputs.splitting) - set(languages)):
        language = sorted(others)[0]
        raise RequestError(f"inputs.splitting.{language}: not one of task.targets.{nearest(language, languages)}")
    for kind in ("vectors", "lexicons", "subwords", "stop_words"):
        files = getattr(inputs, kind)
        for language in files:
            if language not in languages:
                raise RequestError(f"inputs.{kind}.{language}: not one of task.targets.{nearest(language, languages)}")
        needed = kind in ("vectors", "lexicons") or (kind == "stop_words" and drops)
        for language in languages if needed else files:
            if language not in files:
                raise RequestError(
                    f"inputs.{kind}.{language}: this target language has no {kind.replace('_', ' ')}. "
                    f"Add `{language}: FILE` there, or drop it from task.targets."
                )
            locate(files[language], f"inputs.{kind}.{language}")
    if "zero_shot" in specification.baselines and inputs.multilingual is None:
        raise RequestError(
            "inputs.multilingual: the baseline zero_shot needs a multilingual encoder. Add a hub id or a folder."
        )


def _check_dcca(specification: "Specification") -> None:
    inputs, task = specification.inputs, specification.task
    _check_multilingual(specification)
    languages = [task.source, *task.targets]
    if not inputs.text:
        raise RequestError(
            "inputs.text: dcca pretrains on unlabelled text. Add a file for each language, one sentence a line: "
            "text: {en: FILE, fr: FILE}, or a path with {language} in it."
        )
    _check_files("inputs.text", inputs.text, languages)
    for name, files in inputs.static.items():
        _check_files(f"inputs.static.{name}", files, languages)
    for key, met in asked_of(specification.as_dict()).configurations.items():
        for params in met:
            _check_static(key, params, inputs.static)
    if inputs.lexicons and inputs.align == "off":
        raise RequestError("inputs.lexicons: they are for inputs.align. Set that too, or remove them.")
    if inputs.align != "off" and (without := [one for one in task.targets if one not in inputs.lexicons]):
        raise RequestError(
            f"inputs.lexicons.{without[0]}: inputs.align needs it. Add it, or align without one beforehand, by "
            f"`{called('vectors', 'align')}`."
        )
    if specification.prune != "off":
        raise RequestError("prune: dcca has no score before its last epochs, so nothing could be pruned. Remove it.")
    for kind in ("lexicons", "probes", "parallel"):
        for language, names in getattr(inputs, kind).items():
            if language not in task.targets:
                raise RequestError(
                    f"inputs.{kind}.{language}: not one of task.targets.{nearest(language, languages[1:])}"
                )
            for name in [names] if isinstance(names, str) else names:
                locate(name, f"inputs.{kind}.{language}")


def _check_static(key: str, params: dict, sets: dict) -> None:
    """Whether the set of static vectors that a configuration means is there, and is one."""
    if (params.get("alignment") or OPTIONS[params["baseline"]].alignment) == "none":
        return
    name = params["static"]
    if not sets:
        raise RequestError(
            f"inputs.static: the alignment of {key} needs static vectors. Add a set of them, such as static: "
            "{x2s: FILES}, or write space.alignment: none."
        )
    if name and name not in sets:
        raise RequestError(f"{key}.static: there is no inputs.static.{name}.{nearest(name, sets)}")
    if not name and len(sets) > 1:
        raise RequestError(f"{key}.static: which of {', '.join(sets)}? Write {key}.static with one of these names.")


def _check_files(key: str, files: str | dict[str, str], languages: list[str]) -> None:
    """A file for every language, by each or by a pattern."""
    if isinstance(files, str):
        if "{language}" not in files:
            raise RequestError(
                f"{key}: {files} has no {{language}} in it. Write a path with it, or a file by language."
            )
        files = {language: files.replace("{language}", language) for language in languages}
    for language in files:
        if language not in languages:
            raise RequestError(f"{key}.{language}: not a language of the task.{nearest(language, languages)}")
    for language in languages:
        if language not in files:
            raise RequestError(f"{key}.{language}: this language has no file. Add it, or drop it from task.targets.")
        locate(files[language], f"{key}.{language}")


def _check_ear(specification: "Specification") -> None:
    inputs = specification.inputs
    _check_multilingual(specification)
    if inputs.synonyms is None:
        raise RequestError(
            "inputs.synonyms: ear changes words for their synonyms. Add a file: JSON {word: [synonyms]}, or lines of "
            "word, tab, synonyms."
        )
    locate(inputs.synonyms, "inputs.synonyms")


def _check_multilingual(specification: "Specification") -> None:
    if specification.model is None:
        raise RequestError(
            f"model: {specification.method} needs a multilingual encoder. Add model: a hub id or a folder."
        )
    if specification.model.startswith(("world:", ".", "/")):
        locate(specification.model, "model", folder=True)
