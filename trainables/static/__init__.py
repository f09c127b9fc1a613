"""Static word vectors: extracted from a frozen encoder, aligned to one space, evaluated and written."""
