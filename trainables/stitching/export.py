"""Writes a stitched model as an ordinary Hugging Face folder, which loads without this project."""

import copy
import json
from pathlib import Path

import numpy as np
from transformers import AutoModelForSequenceClassification

from seedwise.trainables.stitching.pair import Pair
from seedwise.trainables.stitching.reader import Language, Reader


def export_pair(pair: Pair, reader: Reader, language: str, folder: Path) -> None:
    """Write the model of one target language and its tokenizer: every word with a vector gets its row of F^t.

    The special tokens come first, in the order of all stitched tables, then an id per spelling. A spelling that takes
    another spelling's vector (capitals) has a separate row with the same values.
    """
    known: Language = reader.language(language)
    known.look_up(reader.task.split(language, "dev")[0])  # adds words made of n-grams, if unknown is subword
    used, row_of_spelling = np.unique(np.array(list(known.words.spellings.values())), return_inverse=True)
    words, _ = pair.tables.target(known.take(used.tolist()), on_disk=False)
    table = pair.table(words[row_of_spelling])

    trained = pair.learner.model
    config = copy.deepcopy(trained.config)
    config.vocab_size = len(table)
    for name in ("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id"):
        before = getattr(config, name, None)
        if before is not None:
            setattr(config, name, reader.specials.index(before) if before in reader.specials else None)
    config.id2label = dict(enumerate(reader.task.labels))
    config.label2id = {label: number for number, label in config.id2label.items()}
    model = AutoModelForSequenceClassification.from_config(config)
    weights = {name: value.cpu() for name, value in trained.state_dict().items()}
    own_table = trained.get_input_embeddings().weight
    table_name = next(name for name, value in trained.named_parameters() if value is own_table)
    model.load_state_dict(weights | {table_name: table.cpu()})
    model.save_pretrained(folder)

    tokens, longest = reader.tokenizer.convert_ids_to_tokens(reader.specials), reader.inputs.max_length
    roles = {role: getattr(reader.tokenizer, f"{role}_token") for role in ("cls", "sep", "pad", "unk")}
    known.words.tokenizer(tokens, **roles, max_length=longest).save_pretrained(folder)
    settings = folder / "tokenizer_config.json"
    # Older versions of transformers know this class as well.
    changed = json.loads(settings.read_text(encoding="utf-8")) | {"tokenizer_class": "PreTrainedTokenizerFast"}
    settings.write_text(json.dumps(changed, indent=2, ensure_ascii=False), encoding="utf-8")
    (folder / "README.md").write_text(_card(language, reader, known, longest), encoding="utf-8")


def _card(language: str, reader: Reader, known: Language, longest: int) -> str:
    """The README.md of the folder, for users who have only this folder."""
    lines = [
        f"A classifier of {language} text, stitched (MoSECroT) onto an encoder that was fine-tuned on "
        f"{reader.source_language}. It knows {len(known.words.spellings)} words; others become the unknown token.",
        "",
        "    from transformers import pipeline",
        f'    classify = pipeline("text-classification", model="{language}")',
        f"    classify(text, truncation=True)  # it was evaluated on texts cut after {longest} tokens",
    ]
    if known.words.segmented:
        lines += ["", "Text must come as words with spaces between them, split by jieba: `' '.join(jieba.cut(text))`."]
    if known.subwords is not None:
        lines += ["", "Words of the dev set without a vector got a vector from their n-grams."]
    return "\n".join(lines) + "\n"
