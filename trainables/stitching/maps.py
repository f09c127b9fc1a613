"""Linear maps W from the space of the target's word vectors into the encoder's, fitted on the anchors.

The paper's baseline LS is the plain one. Nothing is centred or normalised.
"""

import numpy as np


def fit(kind: str, target: np.ndarray, source: np.ndarray, strength: float = 0.0) -> np.ndarray:
    """W (D_t x D) from the anchors A^t (n x D_t) and A^s (n x D), row by row the same pairs. Computed in float64.

    `strength` is that of ridge and has no effect on the others.
    """
    target, source = target.astype(np.float64), source.astype(np.float64)
    if kind == "plain":
        return plain(target, source)
    return ridge(target, source, strength) if kind == "ridge" else orthogonal(target, source)


def plain(target: np.ndarray, source: np.ndarray) -> np.ndarray:
    """argmin |A^t W - A^s|_F; of several such W (fewer anchors than dimensions, dependent columns) the smallest."""
    return np.linalg.lstsq(target, source, rcond=None)[0]


def ridge(target: np.ndarray, source: np.ndarray, strength: float) -> np.ndarray:
    """argmin |A^t W - A^s|_F^2 + penalty |W|_F^2, with penalty = strength x mean squared column norm of A^t.

    That mean is the mean eigenvalue of A^t^T A^t. A strength of 1 thus halves what W makes of a direction of average
    spread, however long the vectors are and however many the anchors. Towards 0 it is the plain map.
    """
    dimensions = target.shape[1]
    penalty = strength * np.sum(target**2) / dimensions
    return np.linalg.solve(target.T @ target + penalty * np.eye(dimensions), target.T @ source)


def orthogonal(target: np.ndarray, source: np.ndarray) -> np.ndarray:
    """s U V^T with U S V^T = SVD(A^t^T A^s): a rotation between the spaces, and one scale s.

    U V^T has orthonormal rows (D_t <= D, and then it solves the Procrustes problem) or columns (D_t > D). Of all such
    matrices it is the one for which A^t W and A^s have the largest inner product.

    It keeps lengths, and those of word vectors are arbitrary: 1 in one file, 28 in another. The encoder adds a position
    vector of fixed length to each row, which rows of length 28 would drown. So s gives the mapped anchors the
    length of A^s (root mean square). The s of least squares shrinks with the quality of the fit, as the plain map does:
    to less than half of that length for French, to a quarter for Turkish.
    """
    left, _, right = np.linalg.svd(target.T @ source, full_matrices=False)
    rotation = left @ right
    return rotation * (np.linalg.norm(source) / np.linalg.norm(target @ rotation))
