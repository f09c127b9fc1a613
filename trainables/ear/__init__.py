"""EAR fine-tuning (Embedding-push, Attention-pull, Robust target) of a multilingual encoder on its source alone."""
