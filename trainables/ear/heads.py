"""The classification heads: transformers' head, the paper's equation 3, and the head of the released code (E7)."""

from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel

from seedwise.errors import RequestError


class FirstToken(nn.Module):
    """The state of the first token, [CLS]."""

    def forward(self, states: Tensor, *rest: Any, **options: Any) -> Tensor:
        return states[:, 0]


def set_head(model: PreTrainedModel, head: str) -> None:
    """Replace the head of a classifier, before weights are drawn.

    linear: P = softmax(W h_[CLS] + b), without pooler and dropout. released: transformers' head; for RoBERTa's kind,
    including XLM-R, with one more dropout before it.
    """
    classifier, pooler = getattr(model, "classifier", None), getattr(model.base_model, "pooler", None)
    if head == "standard":
        return
    if isinstance(classifier, nn.Linear) and pooler is not None:  # BERT's kind
        if head == "linear":
            model.base_model.pooler, model.dropout = FirstToken(), nn.Identity()
    elif hasattr(classifier, "out_proj"):  # RoBERTa's kind
        if head == "linear":
            linear = nn.Linear(classifier.out_proj.in_features, model.config.num_labels)
            model.classifier = nn.Sequential(FirstToken(), linear)
        else:
            model.classifier = nn.Sequential(nn.Dropout(model.config.hidden_dropout_prob), classifier)
    else:
        raise RequestError(
            "space.head",
            f"{head!r} exists for encoders of BERT's and RoBERTa's kind, not for {model.config.model_type}",
            "Write standard.",
        )
