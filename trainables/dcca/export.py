"""Writes a pretrained encoder as an ordinary Hugging Face folder, from which another search can start."""

from pathlib import Path
from typing import TYPE_CHECKING

from safetensors.numpy import load_file, save_file

from seedwise.trainables.request import Request

if TYPE_CHECKING:
    from seedwise.trainables.dcca.trainable import Untouched


def export_encoder(run: "Untouched", request: Request, folder: Path) -> Path:
    """Write the masked language model, encoder weights that the model lacks (a pooler's), and the tokenizer."""
    model = run.model.cpu()
    model.save_pretrained(folder)
    path = folder / "model.safetensors"
    rest = {f"{model.base_model_prefix}.{name}": value for name, value in run.inputs.rest.items()}
    if rest:
        save_file(load_file(path) | rest, path, metadata={"format": "pt"})
    run.inputs.task.train.tokenizer.save_pretrained(folder)
    options = run.options
    lines = [
        f"{request.model}, pretrained further ({options.title}, {options.steps} steps) on text of "
        f"{', '.join(run.inputs.languages)}.",
        "",
        "    from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer",
        '    AutoModel.from_pretrained("encoder")',
        "",
        "It can be the model of another search: `--set model=FOLDER/encoder`.",
    ]
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
