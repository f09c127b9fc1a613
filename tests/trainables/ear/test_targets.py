"""The targets as formulas and in a run, against loops and against plain passes of transformers."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from torch.autograd import gradcheck
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from seedwise.trainables.ear import targets
from seedwise.trainables.ear.examples import examples
from seedwise.trainables.ear.options import REFERENCE
from seedwise.trainables.ear.prepare import EarInputs
from seedwise.trainables.ear.trainable import Ear
from seedwise.trainables.streams import Streams
from seedwise.trainables.training.encoder import Encoder
from tests.conftest import ROOT

REDUCTIONS = ["sum", "mean"]
VALUES = st.floats(-2, 2, width=32)
VECTORS = arrays.array_shapes(min_dims=2, max_dims=2, max_side=5).flatmap(
    lambda shape: st.tuples(*[arrays.arrays(np.float64, shape, elements=VALUES)] * 2)
)
SIZES = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 6))  # pairs, heads, tokens
SEEDS = st.integers(0, 2**32 - 1)


def maps(seed, pairs, heads, tokens, padding=0):
    """Attention maps: rows sum to 1, and nothing goes to the last tokens, which are padding."""
    draw = torch.Generator().manual_seed(seed)
    scores = 3 * torch.randn(pairs, heads, tokens, tokens, generator=draw, dtype=torch.float64)
    scores[..., tokens - padding :] = -math.inf
    return scores.softmax(-1)


def tensors(*values):
    return [torch.from_numpy(value) for value in values]


def random(*shape, seed=0):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=draw, dtype=torch.float64).requires_grad_()


# Each formula against a loop.


def squared_distance(first, second, reduction):
    total = sum((a - b) ** 2 for a, b in zip(first, second, strict=True))
    return total if reduction == "sum" else total / len(first)


def squared_difference(first, second, cells, reduction):
    """Of the maps of one pair, each a list of heads; `cells` are the cells that count."""
    heads = [sum((left[i][j] - right[i][j]) ** 2 for i, j in cells) for left, right in zip(first, second, strict=True)]
    total = sum(heads) / len(heads)
    return total if reduction == "sum" else total / len(cells)


def mean_of_tokens(states, mask):
    kept = [state for state, is_there in zip(states, mask, strict=True) if is_there]
    return [sum(values) / len(kept) for values in zip(*kept, strict=True)]


def word_map(attention, words):
    """A map between words, from one between tokens: the mean of what the pieces give, the sum of what they get."""
    present = sorted({of_token for of_token in words if of_token >= 0})
    weights = {}
    for giver in present:
        givers = [token for token, of_token in enumerate(words) if of_token == giver]
        for taker in present:
            takers = [token for token, of_token in enumerate(words) if of_token == taker]
            weights[giver, taker] = sum(attention[i][j] for i in givers for j in takers) / len(givers)
    return weights


@pytest.mark.parametrize("reduction", REDUCTIONS)
@given(vectors=VECTORS)
def test_the_distance_is_the_loop_symmetric_not_negative_and_zero_for_equals(reduction, vectors):
    first, second = tensors(*vectors)
    actual = targets.distance(first, second, reduction)
    expected = [squared_distance(a, b, reduction) for a, b in zip(*(part.tolist() for part in vectors), strict=True)]
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-15)
    assert torch.equal(actual, targets.distance(second, first, reduction))
    assert (actual >= 0).all()
    assert not targets.distance(first, first, reduction).any()


@given(vectors=VECTORS)
def test_a_sum_is_a_mean_times_the_dimensions(vectors):
    first, second = tensors(*vectors)
    scaled = targets.distance(first, second, "mean") * first.shape[1]
    torch.testing.assert_close(targets.distance(first, second, "sum"), scaled)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@given(vectors=VECTORS, cap=st.sampled_from([0.0, 0.05, 1.0, 4.0]))
def test_the_push_is_minus_the_distance_and_no_lower_than_its_cap(reduction, vectors, cap):
    first, second = tensors(*vectors)
    actual = targets.push(first, second, reduction, cap)
    for value, a, b in zip(actual.tolist(), first.tolist(), second.tolist(), strict=True):
        apart = squared_distance(a, b, reduction)
        most = math.inf if cap == 0 else cap * len(a) if reduction == "sum" else cap
        assert value == pytest.approx(-min(apart, most), rel=1e-12, abs=1e-15)
    assert (actual <= 0).all()
    assert torch.equal(actual, targets.push(second, first, reduction, cap))


def test_the_push_has_no_bound_without_a_cap():
    first, second = torch.zeros(1, 4), torch.full((1, 4), 1e3)
    assert targets.push(first, second, "mean").item() == -1e6
    assert targets.push(first, second, "mean", 1.0).item() == -1.0
    assert targets.push(first, second, "sum", 1.0).item() == -4.0


@given(SEEDS, SIZES, st.data())
def test_pooling_is_the_mean_over_the_tokens_that_are_there(seed, sizes, data):
    pairs, dimensions, tokens = sizes
    states = random(pairs, tokens, dimensions, seed=seed).detach()
    lengths = data.draw(st.lists(st.integers(1, tokens), min_size=pairs, max_size=pairs))
    mask = (torch.arange(tokens) < torch.tensor(lengths)[:, None]).long()
    expected = [mean_of_tokens(*row) for row in zip(states.tolist(), mask.tolist(), strict=True)]
    np.testing.assert_allclose(targets.pooled(states, mask), expected, atol=1e-12)
    states[mask == 0] = 1e6  # the values at padding do not matter
    np.testing.assert_allclose(targets.pooled(states, mask), expected, atol=1e-12)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@given(seed=SEEDS, sizes=SIZES, data=st.data())
def test_the_pull_is_the_loop_symmetric_not_negative_and_zero_for_equals(reduction, seed, sizes, data):
    pairs, _, tokens = sizes
    first, second = maps(seed, *sizes), maps(seed + 1, *sizes)
    cells = data.draw(arrays.arrays(bool, (pairs, tokens, tokens)))
    cells[:, 0, 0] = True
    actual = targets.pull(first, second, torch.from_numpy(cells), reduction)
    expected = [
        squared_difference(a, b, np.argwhere(which).tolist(), reduction)
        for a, b, which in zip(first.tolist(), second.tolist(), cells, strict=True)
    ]
    np.testing.assert_allclose(actual, expected, rtol=1e-12)
    assert torch.equal(actual, targets.pull(second, first, torch.from_numpy(cells), reduction))
    assert (actual >= 0).all()
    assert not targets.pull(first, first, torch.from_numpy(cells), reduction).any()


@given(SEEDS, SIZES)
def test_the_pull_as_a_sum_is_the_mean_times_the_cells_and_the_mean_is_at_most_two_over_the_length(seed, sizes):
    pairs, _, tokens = sizes
    first, second = maps(seed, *sizes), maps(seed + 1, *sizes)
    everything = torch.ones(pairs, tokens, tokens, dtype=torch.bool)
    mean = targets.pull(first, second, everything, "mean")
    torch.testing.assert_close(targets.pull(first, second, everything, "sum"), mean * tokens**2)
    assert (mean <= 2 / tokens + 1e-12).all()


def test_the_bound_of_the_pull_is_reached_by_rows_that_share_nothing():
    first = torch.eye(8)[None, None]
    second = first.roll(1, -1)
    assert targets.pull(first, second, torch.ones(1, 8, 8, dtype=torch.bool), "mean").item() == 2 / 8


def test_the_pull_without_a_cell_is_zero():
    first, second = maps(0, 2, 3, 4), maps(1, 2, 3, 4)
    for reduction in REDUCTIONS:
        assert not targets.pull(first, second, torch.zeros(2, 4, 4, dtype=torch.bool), reduction).any()


@given(SEEDS, st.integers(1, 4), st.integers(2, 4))
def test_the_robust_target_is_minus_the_log_likelihood_of_both_streams(seed, pairs, classes):
    first, second = (random(pairs, classes, seed=seed + stream).detach() for stream in range(2))
    labels = [(seed + row) % classes for row in range(pairs)]
    expected = [
        -sum(math.log(math.exp(row[label]) / sum(map(math.exp, row))) for row in (a, b))
        for a, b, label in zip(first.tolist(), second.tolist(), labels, strict=True)
    ]
    np.testing.assert_allclose(targets.robust(first, second, torch.tensor(labels)), expected, rtol=1e-10)


@given(SEEDS, SIZES, st.data())
def test_attention_over_words_is_the_loop_and_keeps_rows_that_sum_to_one(seed, sizes, data):
    pairs, heads, tokens = sizes
    padding = data.draw(st.integers(0, tokens - 1))
    real = st.lists(st.integers(0, 3), min_size=tokens - padding, max_size=tokens - padding)
    words = [data.draw(real) + [-1] * padding for _ in range(pairs)]
    attention = maps(seed, *sizes, padding=padding)
    actual, present = targets.over_words(attention, torch.tensor(words), 5)
    assert actual.shape == (pairs, heads, 5, 5)
    for pair, of_tokens in enumerate(words):
        assert present[pair].nonzero().flatten().tolist() == sorted({word for word in of_tokens if word >= 0})
        for head in range(heads):
            expected = np.zeros((5, 5))
            for cell, value in word_map(attention[pair, head].tolist(), of_tokens).items():
                expected[cell] = value
            np.testing.assert_allclose(actual[pair, head], expected, atol=1e-12)
        np.testing.assert_allclose(actual[pair].sum(-1)[:, present[pair]], 1, atol=1e-12)


def test_attention_over_words_of_one_piece_each_is_the_attention():
    attention = maps(0, 2, 3, 4)
    actual, present = targets.over_words(attention, torch.arange(4).expand(2, 4), 4)
    torch.testing.assert_close(actual, attention)
    assert present.all()


@given(SEEDS, SIZES, st.data())
def test_attention_over_tokens_is_zero_where_either_token_is_padding(seed, sizes, data):
    pairs, heads, tokens = sizes
    lengths = data.draw(st.lists(st.integers(1, tokens), min_size=pairs, max_size=pairs))
    attention, mask = maps(seed, *sizes), torch.arange(tokens) < torch.tensor(lengths)[:, None]
    actual = targets.over_tokens(attention, mask.long())
    for cell in np.ndindex(pairs, heads, tokens, tokens):
        pair, _, i, j = cell
        assert actual[cell] == (attention[cell] if i < lengths[pair] and j < lengths[pair] else 0)
    cells = targets.squared(mask)
    assert cells.sum((1, 2)).tolist() == [length**2 for length in lengths]
    assert all(cells[pair, i, j] == (max(i, j) < lengths[pair]) for pair, i, j in np.ndindex(*cells.shape))


# Gradients, by numerical differentiation in float64.


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_gradients_of_push_distance_and_pooling(reduction):
    first, second, mask = random(3, 4, 5), random(3, 4, 5, seed=1), torch.tensor([[1] * 4, [1, 1, 1, 0], [1, 0, 0, 0]])
    for formula in (targets.distance, targets.push):
        assert gradcheck(lambda a, b: formula(a[:, 0], b[:, 0], reduction), (first, second))  # noqa: B023
        assert gradcheck(
            lambda a, b: formula(targets.pooled(a, mask), targets.pooled(b, mask), reduction),  # noqa: B023
            (first, second),
        )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_the_gradient_of_a_capped_push_is_that_of_the_push_below_the_cap_and_zero_above_it(reduction):
    first = random(3, 6)
    with torch.no_grad():
        second = (first + torch.tensor([[0.1], [0.9], [2.0]])).requires_grad_()  # squared: below, below and above 1
    assert gradcheck(lambda a, b: targets.push(a, b, reduction, 1.0), (first, second))
    capped, plain = (
        torch.autograd.grad(targets.push(first, second, reduction, cap).sum(), second)[0] for cap in (1.0, 0.0)
    )
    assert torch.equal(capped[:2], plain[:2])
    assert plain[2].all()
    assert not capped[2].any()


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_gradients_of_the_pull_over_words_tokens_and_all_cells(reduction):
    first, second = random(2, 2, 4, 4), random(2, 2, 4, 4, seed=1)
    words = torch.tensor([[2, 0, 0, 1], [1, 0, -1, -1]])
    mask = words >= 0

    def over_words(scores):
        attention, present = targets.over_words(scores.softmax(-1), words, 3)
        return attention, targets.squared(present)

    def over_tokens(scores):
        return targets.over_tokens(scores.softmax(-1), mask), targets.squared(mask)

    def padded(scores):
        return scores.softmax(-1), torch.ones(2, 4, 4, dtype=torch.bool)

    for view in (over_words, over_tokens, padded):
        assert gradcheck(
            lambda a, b: targets.pull(view(a)[0], view(b)[0], view(a)[1], reduction),  # noqa: B023
            (first, second),
        )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_gradients_of_the_robust_target_and_of_the_total(reduction):
    labels, words = torch.tensor([0, 2]), torch.tensor([[2, 0, 0, 1], [1, 0, -1, -1]])
    streams = [random(2, *shape, seed=seed) for seed in range(2) for shape in ((3,), (4, 5), (2, 4, 4))]
    assert gradcheck(lambda a, b: targets.robust(a, b, labels), (streams[0], streams[3]))

    def total(logits, states, scores, other_logits, other_states, other_scores):
        """Equation 5."""
        mask = words >= 0
        first, present = targets.over_words(scores.softmax(-1), words, 3)
        second, _ = targets.over_words(other_scores.softmax(-1), words, 3)
        pooled = (targets.pooled(stream, mask) for stream in (states, other_states))
        push = targets.push(*pooled, reduction, 0.5)
        pull = targets.pull(first, second, targets.squared(present), reduction)
        return (targets.robust(logits, other_logits, labels) + 0.7 * push + 1.3 * pull).mean()

    assert gradcheck(total, streams)


# What a run computes, against plain passes of transformers' own classifier with eager attention.

CPU = torch.device("cpu")
LONGEST = 16  # tokens: the last pair is cut
ROOM = 32  # this leaves padding in all pairs
TEXTS = [
    ("ba patrovol mumele tre noda", "se fuletulen ."),
    ("tu lilefi nanunta ba busepur .", "noda se mumele"),
    ("zzz qqq", "ba ba"),  # without a word to replace
    ("dri se ledofai libral bridol se fipalol nai se gaisonai", "mumele lilefi , dri se ledofai ."),  # cut
]
SYNONYMS = {
    "patrovol": ("nai", "fuletulen"),
    "mumele": ("busepurvaibrekuen", "tre"),  # a word of many pieces
    "noda": ("se",),
    "lilefi": ("libral bridol",),
    "se": ("ba", "tu", "nai"),
}


def classifier(kind, dropout, **options):
    config = AutoConfig.for_model(
        kind,
        vocab_size=2600,
        hidden_size=24,
        num_hidden_layers=3,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=40,
        type_vocab_size=2,
        pad_token_id=0,
        initializer_range=0.3,  # so that attention is far from uniform
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout,
        num_labels=3,
    )
    return AutoModelForSequenceClassification.from_config(config, **options)


def run(kind="bert", dropout=0.0, longest=LONGEST, **changes):
    """A run on pairs of sentences, with an encoder of random weights."""
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "trainables/world/files/multilingual-encoder")
    inputs = EarInputs(
        source="qel",
        labels=["a", "b", "c"],
        encoder=Encoder(classifier(kind, dropout).config.to_dict(), {}),
        train=examples(TEXTS, [0, 2, 1, 1], tokenizer, longest),
        dev={},
        synonyms=SYNONYMS,
        parallel={},
    )
    ear = Ear(inputs, {"layer": 2, "batch_size": 4, **changes}, Streams(0, 0), CPU)
    ear.number = 0
    return ear


def plain_passes(ear, dropout, streams, to_longest):
    """Each stream read alone by transformers' classifier, with eager attention."""
    model = classifier(ear.learner.model.config.model_type, dropout, attn_implementation="eager")
    weights = ear.learner.model.state_dict()
    model.load_state_dict({name.replace("classifier.1.", "classifier."): value for name, value in weights.items()})
    model.to(ear.learner.model.dtype).train(ear.learner.model.training)
    passes = []
    for sentences in streams:
        texts = [[" ".join(example[part]) for example in sentences] for part in range(2)]
        batch = ear.inputs.train.tokenizer(
            *texts,
            truncation="longest_first",
            max_length=ear.inputs.train.max_length,
            padding="max_length" if to_longest else True,
            return_tensors="pt",
        )
        read = {name: batch[name] for name in ("input_ids", "attention_mask")}
        with torch.no_grad():
            passed = model(**read, output_attentions=True, output_hidden_states=True)
        passes.append((batch, passed))
    return passes


@pytest.mark.parametrize(("training", "dropout"), [(False, 0.1), (True, 0.0)])
@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
@pytest.mark.parametrize("layer", [1, 3])
def test_compat_reference_is_the_released_normalisation(kind, layer, training, dropout):
    ear = run(kind, dropout, ROOM, **REFERENCE, layer=layer, alpha=0.7, beta=3.0)
    ear.learner.model.train(training)
    rows = np.array([2, 0, 3, 1])
    originals, copies = ear.originals(rows), ear.copies(rows)[0]
    # The augmented pair is stream 0 there; all of it is symmetric.
    (first, ours), (second, theirs) = plain_passes(ear, dropout, (copies, originals), to_longest=True)
    assert first["input_ids"].shape == second["input_ids"].shape == (4, ROOM)
    assert not first["attention_mask"][:, -1].any()
    means = []
    for batch, passed in ((first, ours), (second, theirs)):
        mask = batch["attention_mask"][..., None].float()
        means.append((passed.hidden_states[0] * mask).sum(1) / mask.sum(1).clamp(min=1e-9))
    ept = -((means[0] - means[1]) ** 2).mean()
    apt = ((ours.attentions[layer - 1] - theirs.attentions[layer - 1]) ** 2).mean()
    labels = torch.tensor([1, 0, 1, 2])
    entropy = torch.nn.CrossEntropyLoss()
    robust = entropy(ours.logits, labels) + entropy(theirs.logits, labels)
    with torch.no_grad():
        actual = ear.terms([*originals, *copies], rows, noise=False)
        loss = ear.loss_of(rows)
    assert apt > 1e-5
    assert ept < -1e-3
    expected = [part.item() for part in (robust, ept, apt)]
    assert [part.mean().item() for part in actual] == pytest.approx(expected, abs=1e-6, rel=1e-4)
    assert loss.item() == pytest.approx((robust + 0.7 * ept + 3.0 * apt).item(), abs=2e-6)


def words_by_letters(batch, row, example):
    """The word of each token, letter by letter: the sentences' words, then the special tokens; -1 is padding."""
    owners, before = [], 0
    for sentence in example:
        owner = []
        for number, word in enumerate(sentence):
            owner += [before + number] * (len(word) + bool(number))  # the space before it is the word's
        owners.append(owner)
        before += len(sentence)
    numbers, special = [], before
    for token in range(len(batch["input_ids"][row])):
        sequence, letters = batch.sequence_ids(row)[token], batch.token_to_chars(row, token)
        if not batch["attention_mask"][row][token]:
            numbers.append(-1)
        elif sequence is None:
            numbers.append(special)
            special += 1
        else:
            numbers.append(owners[sequence][letters.end - 1])
    return numbers


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"attention": "tokens"},
        {"attention": "padded"},
        {"reduction": "sum", "cap": 0.002},
        {"reduction": "sum", "cap": 0.0, "unchanged": "keep"},
        {"pull": "srpt"},
        {"pull": "srpt", "reduction": "sum"},
        {"push": "none"},
        {"pull": "none"},
    ],
    ids=str,
)
def test_the_loss_of_a_batch_is_equation_5_over_plain_passes(changes):
    ear = run(longest=ROOM if changes.get("attention") == "padded" else LONGEST, **changes, alpha=0.7, beta=3.0)
    options, rows = ear.options, np.arange(4)
    originals, (copies, changed) = ear.originals(rows), ear.copies(rows)
    assert changed == [copy != original for copy, original in zip(copies, originals, strict=True)]
    assert changed == [True, True, False, True]
    sides = plain_passes(ear, 0.0, (originals, copies), to_longest=options.attention == "padded")
    total = 0.0
    for row in range(4):
        states, attended, words, entropies = [], [], [], []
        for (batch, passed), sentences in zip(sides, (originals, copies), strict=True):
            states.append([layer[row].tolist() for layer in passed.hidden_states])
            attended.append(passed.attentions[1][row].tolist())
            words.append(words_by_letters(batch, row, sentences[row]))
            entropies.append(-passed.logits[row].log_softmax(-1)[ear.inputs.train.labels[row]].item())
        masks = [[word >= 0 for word in numbers] for numbers in words]
        push = pull = 0.0
        if options.push == "ept":
            means = [mean_of_tokens(hidden[0], mask) for hidden, mask in zip(states, masks, strict=True)]
            apart = squared_distance(*means, options.reduction)
            cap = options.cap * (24 if options.reduction == "sum" else 1)
            push = -min(apart, cap or math.inf)
        if options.pull == "srpt":
            means = [mean_of_tokens(hidden[2], mask) for hidden, mask in zip(states, masks, strict=True)]
            pull = squared_distance(*means, options.reduction)
        if options.pull == "apt":
            pull = pull_of_one(attended, words, options)
        counts = changed[row] or options.unchanged == "keep"
        total += sum(entropies) + counts * (0.7 * push + 3.0 * pull)
    with torch.no_grad():
        assert ear.loss_of(rows).item() == pytest.approx(total / 4, abs=1e-5, rel=1e-5)


def pull_of_one(attended, words, options):
    if options.attention == "padded":
        cells = [(i, j) for i in range(ROOM) for j in range(ROOM)]
        return squared_difference(*attended, cells, options.reduction)
    if options.attention == "words":
        both = sorted({*words[0]} & {*words[1]} - {-1})
        joined = [
            [word_map(head, of_tokens) for head in heads] for heads, of_tokens in zip(attended, words, strict=True)
        ]
        nested = [
            [{giver: {taker: head[giver, taker] for taker in both} for giver in both} for head in heads]
            for heads in joined
        ]
        return squared_difference(*nested, [(i, j) for i in both for j in both], options.reduction)
    # Tokens: padding of one stream counts as zero there, and padding of both streams does not count.
    lengths = [sum(word >= 0 for word in of_tokens) for of_tokens in words]
    places = range(max(lengths))
    cut = [
        [[[head[i][j] if max(i, j) < length else 0.0 for j in places] for i in places] for head in heads]
        for heads, length in zip(attended, lengths, strict=True)
    ]
    return squared_difference(*cut, [(i, j) for i in places for j in places], options.reduction)


@pytest.mark.parametrize("push", ["ept", "nt"])
@pytest.mark.parametrize("unchanged", ["skip", "keep"])
def test_a_pair_that_did_not_change_counts_only_where_it_should_or_where_noise_changed_it(unchanged, push):
    """The push and pull of such a pair are only the noise of dropout."""
    ear = run(dropout=0.3, shared_dropout=False, unchanged=unchanged, push=push)
    ear.learner.model.train()
    torch.manual_seed(0)
    ear.loss_of(np.array([2]))
    assert ear.sums["unchanged_pairs"] == 1
    assert (ear.sums["push"] < 0) == (push == "ept" and unchanged == "keep")
    assert (ear.sums["pull"] > 0) == (push == "nt" or unchanged == "keep")
    assert ear.sums["robust"] > 0


@pytest.mark.parametrize("attention", ["words", "tokens", "padded"])
@pytest.mark.parametrize("pull", ["apt", "srpt"])
def test_the_gradient_of_the_loss_of_a_batch_is_its_slope(pull, attention):
    """Along a random direction of all weights of the encoder, in float64."""
    ear = run(pull=pull, attention=attention, alpha=0.7, beta=3.0, cap=0.0)
    model, draw = ear.learner.model.double(), torch.Generator().manual_seed(0)
    way = [torch.randn(parameter.shape, generator=draw, dtype=torch.float64) for parameter in model.parameters()]
    way[0][0] = 0.0  # the embedding of padding is never trained
    assert way[0].shape == model.get_input_embeddings().weight.shape

    def moved(step):
        with torch.no_grad():
            for weight, part in zip(model.parameters(), way, strict=True):
                weight += step * part
        return ear.loss_of(np.arange(4))

    moved(0.0).backward()
    slope = sum((parameter.grad * part).sum() for parameter, part in zip(model.parameters(), way, strict=True))
    ahead, behind = moved(1e-7), moved(-2e-7)
    assert slope.item() == pytest.approx(((ahead - behind) / 2e-7).item(), rel=1e-7)
