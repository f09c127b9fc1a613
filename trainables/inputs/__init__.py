"""Reading what people already have: word vectors, lexica, labelled text, encoders."""
