"""Writes a fine-tuned classifier as an ordinary Hugging Face folder, which loads without this project."""

from pathlib import Path
from typing import TYPE_CHECKING

from seedwise.errors import RequestError
from seedwise.trainables.request import Request
from seedwise.trainables.training.encoder import skeleton

if TYPE_CHECKING:
    from seedwise.trainables.ear.fine_tuning import FineTuning


def export_model(run: "FineTuning", request: Request, folder: Path) -> Path:
    """Write the model and its tokenizer. Its head must exist in transformers."""
    if run.options.head == "linear":
        raise RequestError("--model", "transformers cannot load a model with head: linear", "Use standard.")
    model = skeleton(run.inputs.encoder, len(run.inputs.labels))
    model.config.id2label = dict(enumerate(run.inputs.labels))
    model.config.label2id = {label: number for number, label in model.config.id2label.items()}
    weights = run.learner.model.state_dict()  # in the released head, `classifier.1` is transformers' head
    model.load_state_dict({name.replace("classifier.1.", "classifier."): value for name, value in weights.items()})
    model.save_pretrained(folder)
    run.inputs.train.tokenizer.save_pretrained(folder)
    task, longest = request.task, run.inputs.train.max_length
    pair = '{"text": first, "text_pair": second}' if len(run.inputs.train.sentences[0]) > 1 else "text"
    languages = ", ".join([task.source, *task.targets])
    lines = [
        f"A classifier, fine-tuned ({run.options.title}) on {task.source} for {languages}.",
        "",
        "    from transformers import pipeline",
        '    classify = pipeline("text-classification", model="model")',
        f"    classify({pair}, truncation=True, max_length={longest})  # as it was evaluated",
    ]
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
