"""MoSECroT: stitching static word vectors of a target language into an encoder of the source language."""
