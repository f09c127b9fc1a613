"""DCCA continued pretraining: masked words, and encodings of single words drawn towards aligned static vectors."""
