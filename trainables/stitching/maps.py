"""Linear maps from the space of the target's word vectors into the encoder's, fitted on the anchors."""

import numpy as np

from seedwise.trainables.static.mapping import orthogonal


def fit(kind: str, target: np.ndarray, source: np.ndarray, strength: float = 0.0) -> np.ndarray:
    """W (D_t x D), in float64, from the anchors A^t (n x D_t) and A^s (n x D). Nothing is centred or normalised.

    `plain`, the paper's baseline LS: argmin |A^t W - A^s|_F; if several W qualify (fewer anchors than dimensions,
    dependent columns), the smallest W.

    `ridge`: argmin |A^t W - A^s|_F^2 + penalty |W|_F^2, with penalty = strength x mean squared column norm of A^t. That
    mean is the mean eigenvalue of A^t^T A^t, so a strength of 1 halves the image of a direction of average spread,
    whatever the length of the vectors and the number of anchors. As the strength tends to 0, it becomes the plain map.

    `orthogonal`: a rotation (Procrustes; if D_t > D, a matrix with orthonormal columns) times a scale. A rotation keeps
    lengths, but lengths of word vectors are arbitrary: 1 in one file, 28 in another. The encoder adds a position vector
    of fixed length to each row, which rows of length 28 would drown. So the scale gives the mapped anchors the length
    of A^s (root mean square). The scale of least squares would shrink with the quality of the fit, like the plain map:
    to less than half of that length for French, to a quarter for Turkish.
    """
    target, source = target.astype(np.float64), source.astype(np.float64)
    if kind == "plain":
        return np.linalg.lstsq(target, source, rcond=None)[0]
    if kind == "ridge":
        dimensions = target.shape[1]
        penalty = strength * np.sum(target**2) / dimensions
        return np.linalg.solve(target.T @ target + penalty * np.eye(dimensions), target.T @ source)
    rotation = orthogonal(target.T @ source)
    return rotation * (np.linalg.norm(source) / np.linalg.norm(target @ rotation))
