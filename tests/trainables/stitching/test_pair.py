"""The tables of a language pair on the embedded world: the effect of the options on F^s and F^t."""

import dataclasses

import numpy as np
import pytest
import torch

from seedwise.search.spec.load import read
from seedwise.trainables.stitching.anchors import eligible
from seedwise.trainables.stitching.options import StitchingOptions
from seedwise.trainables.stitching.pair import RECENT, Tables, cached_neighbours
from seedwise.trainables.stitching.tables import neighbours
from seedwise.trainables.stitching.trainable import Stitching
from tests.prepared import prepare


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SEEDWISE_CACHE", str(tmp_path / "cache"))
    RECENT.clear()
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def pair():
    changes = ["task.targets=[qan]", "inputs.vectors={qan: 'world:vectors/qan.vec.gz'}"]
    inputs = prepare(
        Stitching, read("demo", [*changes, "inputs.lexicons={qan: 'world:lexicons/qel-qan.txt'}"]).as_dict()
    )
    original = torch.from_numpy(np.array(inputs.encoder.weights["embeddings.word_embeddings.weight"]))
    return original, torch.from_numpy(inputs.specials), inputs.targets["qan"]


def made(pair, **changes):
    """F^s, F^t of the words of dev, and the number of anchors."""
    original, specials, target = pair
    tables = Tables(original, specials, target, StitchingOptions(**changes), 0, 50)
    return tables.source, tables.target(target.vectors[: target.used])[0], len(tables.anchors)


def pairs_of(target, **changes):
    """The pairs in use: source piece, target row."""
    kept = target.lexicon.only(eligible(target.lexicon, StitchingOptions(**changes)))
    return kept.source[:, 0], kept.target[:, 0]


def test_anchors_are_their_own_nearest_neighbour(pair):
    original, _, target = pair
    source, words, count = made(pair, k=1)
    pieces, rows = pairs_of(target)
    torch.testing.assert_close(source[np.unique(pieces)], original[np.unique(pieces)])
    assert count == len(pieces)
    assert words.shape == (target.used, original.shape[1])
    for piece, row in zip(pieces, rows, strict=True):  # a target anchor takes the source vector of its own translation
        if row < target.used:
            torch.testing.assert_close(words[row], original[piece])


def test_special_tokens_keep_their_rows_unless_reconstructed(pair):
    original, specials, _ = pair
    assert torch.equal(made(pair, k=5)[0][specials], original[specials])
    assert not torch.equal(made(pair, k=5, specials="reconstruct")[0][specials], original[specials])


def test_renorm_gives_every_word_the_mean_norm_of_the_source(pair):
    original, specials, _ = pair
    source, words, _ = made(pair, k=20, renorm=True)
    norm = original.norm(dim=1).mean()
    torch.testing.assert_close(words.norm(dim=1), norm.expand(len(words)))
    others = torch.ones(len(original), dtype=bool)
    others[specials] = False
    torch.testing.assert_close(source[others].norm(dim=1), norm.expand(int(others.sum())))


def test_merging_anchors_that_do_not_repeat_changes_nothing(pair):
    original, specials, target = pair
    pieces, _ = pairs_of(target)
    first = eligible(target.lexicon, StitchingOptions())[np.unique(pieces, return_index=True)[1]]
    single = dataclasses.replace(target, lexicon=target.lexicon.only(first))
    for centre in (False, True):
        kept, merged = (
            made((original, specials, single), k=5, centre=centre, merge_anchors=merge) for merge in (False, True)
        )
        torch.testing.assert_close(kept, merged)


def test_centring_and_fewer_anchors_change_the_tables(pair):
    _, words, count = made(pair, k=5)
    assert not torch.equal(made(pair, k=5, centre=True)[1], words)
    assert made(pair, k=5, anchors=0.5)[2] == round(count / 2)
    merged = made(pair, k=5, merge_anchors=True)[2]
    assert merged == len(np.unique(pairs_of(pair[2])[0]))
    assert merged < count


def test_k_beyond_the_anchors_is_all_of_them(pair):
    torch.testing.assert_close(made(pair, k="all")[1], made(pair, k=10_000)[1])


def test_all_anchors_and_many_give_the_same_table_if_sparsemax_uses_few(pair):
    """To the last bit, so that their runs are recognised as equal; at a high temperature all anchors are used."""
    few = {"weighting": "sparsemax", "tau": 0.02}
    assert torch.equal(made(pair, k="all", **few)[1], made(pair, k=50, **few)[1])
    assert torch.equal(made(pair, k="all", **few)[0], made(pair, k=50, **few)[0])
    many = {"weighting": "sparsemax", "tau": 20.0}
    torch.testing.assert_close(made(pair, k="all", **many)[1], made(pair, k=10_000, **many)[1])
    assert not torch.allclose(made(pair, k="all", **many)[1], made(pair, k=50, **many)[1], atol=1e-3)


def test_negative_similarities_are_kept_or_clamped(pair):
    """With all anchors, many cosines are below zero; written by hand from the printed formula."""
    original, specials, target = pair
    options = StitchingOptions(k="all", negatives="keep")
    tables = Tables(original, specials, target, options, 0, 1)
    word = target.vectors[:1]
    ours = torch.from_numpy(tables.anchors.target)
    cosine = torch.nn.functional.cosine_similarity(torch.from_numpy(word), ours)
    expected = (cosine / cosine.sum()) @ tables.anchors.source
    torch.testing.assert_close(tables.target(word)[0][0], expected, rtol=1e-4, atol=1e-5)
    positive = cosine.clamp_min(0)
    clamped = (positive / positive.sum()) @ tables.anchors.source
    torch.testing.assert_close(made(pair, k="all")[1][0], clamped, rtol=1e-4, atol=1e-5)
    assert (cosine < 0).any()
    assert (clamped - expected).abs().max() > 1e-4


def test_all_anchors_leave_no_tie_at_a_cut_and_centring_hides_no_empty_row(pair):
    original, specials, target = pair
    few = {"weighting": "sparsemax", "tau": 0.02}
    tables = Tables(original, specials, target, StitchingOptions(k="all", **few), 0, 2)
    assert (tables.counts.ties, tables.counts.rows) == (0, len(original))
    nothing = np.zeros_like(target.vectors[:1])
    centred = Tables(original, specials, target, StitchingOptions(k=5, centre=True), 0, 5)
    assert centred.target(nothing)[1].zero == 1


def test_rows_without_a_direction_are_not_stitched(pair):
    original, specials, target = pair
    pieces, _ = pairs_of(target)
    free = next(row for row in range(len(original)) if row not in {*pieces, *specials.tolist()})
    changed = original.clone()
    changed[free] = 0
    tables = Tables(changed, specials, target, StitchingOptions(k=5), 0, 5)
    assert not tables.source[free].any()
    assert tables.counts.zero == 1
    assert torch.isfinite(tables.source).all()
    nothing, counts = tables.target(np.zeros_like(target.vectors[:1]))
    torch.testing.assert_close(nothing[0], original[torch.from_numpy(pieces)].mean(0))
    assert counts.zero == 1


def test_neighbours_are_computed_once_for_all_configurations(pair, own_cache, monkeypatch):
    """All k up to the largest of the space, all weightings: one entry per table in the cache, made once."""
    made(pair, k=5)
    entries = sorted((own_cache / "neighbours").iterdir())
    assert len(entries) == 2  # F^s and F^t

    def refuse(*_):
        raise AssertionError("computed a second time")

    first = made(pair, k=7, weighting="softmax", tau=0.1)
    drawn = made(pair, k=7, anchors=0.5)
    monkeypatch.setattr("seedwise.trainables.stitching.pair.neighbours", refuse)
    torch.testing.assert_close(drawn, made(pair, k=7, anchors=0.5), rtol=0, atol=0)
    for _ in range(2):
        again = made(pair, k=7, weighting="softmax", tau=0.1)
        torch.testing.assert_close(first, again, rtol=0, atol=0)
        made(pair, k=50, weighting="sparsemax", tau=0.3)
        assert sorted((own_cache / "neighbours").iterdir()) == entries
        RECENT.clear()  # as in another process: read from disk
    with pytest.raises(AssertionError, match="second time"):
        made(pair, k=7, anchors=0.5)  # drawn anchors are not kept on disk


def test_cached_neighbours_are_those_computed(pair):
    target = pair[2]
    words, anchors = torch.from_numpy(target.vectors), torch.from_numpy(target.vectors[::3].copy())
    for _ in range(2):  # made, then read
        RECENT.clear()
        for name, value in vars(cached_neighbours(words, anchors, 9, on_disk=True)).items():
            assert torch.equal(value, getattr(neighbours(words, anchors, 9), name)), name
