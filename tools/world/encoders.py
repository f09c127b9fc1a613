"""Tiny BERT encoders and their WordPiece tokenizers, pretrained on the world's corpora by masked-word prediction."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

from tools.world.vectors import train_vectors

SPECIAL = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")}
LONGEST = 64  # pieces; the longest sentence has about 50
MASKED = 0.15
IGNORED = -100  # the label that torch's cross entropy leaves out


@dataclass(frozen=True)
class Shape:
    """Size and training of an encoder, in `steps` of `batch` sentences."""

    pieces: int
    layers: int
    steps: int
    heads: int
    width: int = 64
    batch: int = 64
    learning_rate: float = 2e-3


SOURCE_SHAPE = Shape(pieces=1300, layers=2, heads=2, steps=1500)
MULTILINGUAL_SHAPE = Shape(pieces=2600, layers=4, heads=4, steps=2000)


def train_tokenizer(sentences: Iterable[str], pieces: int) -> PreTrainedTokenizerFast:
    """A WordPiece tokenizer: frequent words stay whole, rarer ones are split into stem and ending or worse."""
    tokenizer = Tokenizer(models.WordPiece(unk_token=SPECIAL["unk_token"]))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=pieces, special_tokens=list(SPECIAL.values()), show_progress=False)
    tokenizer.train_from_iterator(sentences, trainer)
    ends = [(token, tokenizer.token_to_id(token)) for token in (SPECIAL["cls_token"], SPECIAL["sep_token"])]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=LONGEST, **SPECIAL)


def untrained(tokenizer: PreTrainedTokenizerFast, shape: Shape, seed: int) -> BertForMaskedLM:
    """A randomly initialised encoder that fits the tokenizer."""
    torch.manual_seed(seed)
    return BertForMaskedLM(
        BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=shape.width,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            intermediate_size=2 * shape.width,
            max_position_embeddings=LONGEST,
            pad_token_id=tokenizer.pad_token_id,
            hidden_dropout_prob=0.0,  # so small a model underfits its corpus; the saved configuration has the usual 0.1
            attention_probs_dropout_prob=0.0,
        )
    )


def warm_start(model: BertForMaskedLM, tokenizer: PreTrainedTokenizerFast, sentences: list[str]) -> None:
    """Set the word table to vectors of the pieces from the same corpus, scaled to length 1; special tokens stay random.

    Masked-word prediction alone is too slow for one core. Measured on source dev: a classifier from 2 500 steps without
    this start scored .29, one from 600 steps with it .84.
    """
    pieces = [" ".join(tokenizer.tokenize(sentence)) for sentence in sentences]
    words, vectors = train_vectors(pieces, model.config.hidden_size)
    rows = torch.nn.functional.normalize(torch.tensor(vectors.copy(), dtype=torch.float32), dim=1)
    with torch.no_grad():
        model.get_input_embeddings().weight[tokenizer.convert_tokens_to_ids(words)] = rows


def pretrain(
    model: BertForMaskedLM,
    tokenizer: PreTrainedTokenizerFast,
    sentences: list[str],
    shape: Shape,
    seed: int,
    tell: Callable[[str], None] = lambda line: None,
) -> None:
    """Masked-word prediction with AdamW, a short warm-up and linear decay; changes `model` in place."""
    draw = torch.Generator().manual_seed(seed)
    encoded = tokenizer(sentences, truncation=True)["input_ids"]
    optimiser = torch.optim.AdamW(model.parameters(), lr=shape.learning_rate, weight_decay=0.01, fused=True)
    warm = max(1, shape.steps // 20)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min((step + 1) / warm, (shape.steps - step) / (shape.steps - warm))
    )
    model.train()
    for step in range(shape.steps):
        chosen = torch.randint(len(encoded), (shape.batch,), generator=draw).tolist()
        ids = pad([encoded[i] for i in chosen], tokenizer.pad_token_id)
        masked, labels = mask(ids, tokenizer, draw)
        loss = masked_loss(model, masked, labels, tokenizer.pad_token_id)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        optimiser.zero_grad()
        if step % 500 == 0 or step == shape.steps - 1:
            tell(f"  step {step:5d} of {shape.steps}: masked-word loss {loss.item():.2f}")
    model.eval()


def masked_loss(model: BertForMaskedLM, masked: torch.Tensor, labels: torch.Tensor, pad_id: int) -> torch.Tensor:
    """Cross entropy at the masked places; the head is applied only there, which halves the time of a step."""
    hidden = model.bert(masked, attention_mask=(masked != pad_id).long()).last_hidden_state
    here = labels != IGNORED
    return torch.nn.functional.cross_entropy(model.cls(hidden[here]), labels[here])


def mask(
    ids: torch.Tensor, tokenizer: PreTrainedTokenizerFast, draw: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Inputs and labels by BERT's masking: of the chosen pieces 80 % become [MASK], 10 % a random piece, 10 % stay.

    The label of [CLS] is one of the hidden pieces. It gives that state a summary of the sentence to learn, as
    next-sentence prediction gives BERT's; the classifier is fine-tuned from it.
    """
    chance = torch.rand(ids.shape, generator=draw)
    special = torch.isin(ids, torch.tensor(tokenizer.all_special_ids))
    chosen = (chance < MASKED) & ~special
    chosen[:, 1] |= ~chosen.any(dim=1)  # every sentence has a target
    how = torch.rand(ids.shape, generator=draw)
    anything = torch.randint(len(SPECIAL), len(tokenizer), ids.shape, generator=draw)
    masked = torch.where(chosen & (how < 0.8), tokenizer.mask_token_id, ids)
    masked = torch.where(chosen & (how >= 0.9), anything, masked)
    labels = torch.where(chosen, ids, IGNORED)
    summary = (chosen * torch.rand(ids.shape, generator=draw)).argmax(dim=1, keepdim=True)
    labels[:, :1] = ids.gather(1, summary)
    return masked, labels


def pad(rows: list[list[int]], pad_id: int) -> torch.Tensor:
    """Rows of different lengths as one matrix."""
    width = max(map(len, rows))
    return torch.tensor([row + [pad_id] * (width - len(row)) for row in rows])
