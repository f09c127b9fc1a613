"""Two streams in one pass, against transformers' own eager attention and against two separate passes."""

import math

import pytest
import torch
from torch.nn.functional import cross_entropy
from transformers import AutoConfig, AutoModelForSequenceClassification

from seedwise.errors import RequestError
from seedwise.trainables.ear import targets
from seedwise.trainables.ear.heads import set_head
from seedwise.trainables.ear.two_stream import SharedDropout, TwoStream, drop_alike
from seedwise.trainables.training.learner import Learner
from seedwise.trainables.training.options import TrainingOptions

CPU = torch.device("cpu")
LAYERS, HEADS, WIDTH = 3, 2, 16
BERT = {
    "hidden_size": WIDTH,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 32,
    "max_position_embeddings": 40,
}
NAMES = {  # of the sizes, and of the dropout of states and of attention, for each kind of encoder
    "bert": (BERT, "hidden_dropout_prob", "attention_probs_dropout_prob"),
    "xlm-roberta": (BERT, "hidden_dropout_prob", "attention_probs_dropout_prob"),
    "electra": (BERT | {"embedding_size": 8}, "hidden_dropout_prob", "attention_probs_dropout_prob"),
    "distilbert": (
        {"dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": 32, "max_position_embeddings": 40},
        "dropout",
        "attention_dropout",
    ),
    "modernbert": (  # layers 2 and 3 attend to a window only
        BERT | {"local_attention": 4, "bos_token_id": 1, "cls_token_id": 1, "eos_token_id": 2, "sep_token_id": 2},
        "embedding_dropout",
        "attention_dropout",
    ),
}
KINDS = list(NAMES)
MODES = [False, True, "selective"]  # of gradient checkpointing


def classifier(kind, dropout=0.0, attention_dropout=None, **options):
    """A classifier with random weights, equal at every call."""
    sizes, of_states, of_attention = NAMES[kind]
    dropouts = {"seq_classif_dropout": dropout} if kind == "distilbert" else {}
    dropouts |= {of_states: dropout, of_attention: dropout if attention_dropout is None else attention_dropout}
    config = AutoConfig.for_model(
        kind, **sizes, **dropouts, vocab_size=40, pad_token_id=0, initializer_range=0.3, num_labels=3
    )
    torch.manual_seed(0)
    return AutoModelForSequenceClassification.from_config(config, **options)


def two_stream(model, maps=2, states=None, shared_dropout=True):
    return TwoStream(model, maps=maps, states=states, shared_dropout=shared_dropout)


def sentences(count, tokens, lengths, seed=0):
    ids = torch.randint(5, 40, (count, tokens), generator=torch.Generator().manual_seed(seed))
    mask = (torch.arange(tokens) < torch.tensor(lengths)[:, None]).long()
    return {"input_ids": ids * mask, "attention_mask": mask}


def joined(*streams):
    return {name: torch.cat([stream[name] for stream in streams]) for name in streams[0]}


FIRST, SECOND = sentences(3, 7, [7, 4, 2]), sentences(3, 7, [6, 7, 1], seed=1)
# A multiple of every kernel's block size in both halves: the rounding of a row depends on its position.
SAME = joined(*[sentences(48, 4, [4, 4, 3, 2] * 12)] * 2)


def checkpointed(read, mode):
    """The two-stream model in training, as a run has it."""
    Learner(read.model, TrainingOptions(gradient_checkpointing=mode), 4, CPU)
    assert read.model.is_gradient_checkpointing == bool(mode)
    return read.model.train()


# Reading maps and states.


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_maps_of_every_layer_are_those_of_eager_attention(kind, training):
    batch = joined(FIRST, SECOND)
    eager = classifier(kind, attn_implementation="eager").train(training)
    plain = classifier(kind, attn_implementation="sdpa").train(training)
    expected = eager(**batch, output_attentions=True)
    assert len(expected.attentions) == LAYERS
    for layer in range(1, LAYERS + 1):
        read = two_stream(classifier(kind).train(training), maps=layer)
        assert read.layers == LAYERS
        output = read(batch)
        assert output.attention.shape == (6, HEADS, 7, 7)
        torch.testing.assert_close(output.attention, expected.attentions[layer - 1], atol=1e-6, rtol=0)
        torch.testing.assert_close(output.logits, plain(**batch).logits, atol=2e-6, rtol=1e-5)
        torch.testing.assert_close(output.logits, expected.logits, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_maps_without_padding_too(kind):
    batch = joined(*[sentences(2, 5, [5, 5], seed=seed) for seed in range(2)])
    expected = classifier(kind, attn_implementation="eager").eval()(**batch, output_attentions=True)
    for layer in range(1, LAYERS + 1):
        output = two_stream(classifier(kind).eval(), maps=layer)(batch)
        torch.testing.assert_close(output.attention, expected.attentions[layer - 1], atol=1e-6, rtol=0)


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_embeddings_and_states_are_the_hidden_states(kind):
    batch = joined(FIRST, SECOND)
    expected = classifier(kind, attn_implementation="eager").eval()(**batch, output_hidden_states=True).hidden_states
    for layer in range(1, LAYERS + 1):
        output = two_stream(classifier(kind).eval(), maps=None, states=layer)(batch)
        assert output.attention is None
        torch.testing.assert_close(output.embeddings, expected[0], atol=1e-6, rtol=0)
        torch.testing.assert_close(output.states, expected[layer], atol=2e-6, rtol=1e-5)
    first, second = output.halves("embeddings")
    assert torch.equal(first, output.embeddings[:3])
    assert torch.equal(second, output.embeddings[3:])


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_the_first_layer_receives_the_moved_embeddings(kind):
    batch, model = joined(FIRST, SECOND), classifier(kind).eval()
    read = two_stream(model)
    moved = read(batch, lambda output: output + 1.5)
    torch.testing.assert_close(moved.embeddings, read(batch).embeddings + 1.5)
    shifted = classifier(kind).eval()
    shifted.base_model.embeddings.LayerNorm.bias.data += 1.5
    torch.testing.assert_close(moved.logits, shifted(**batch).logits, atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("shared_dropout", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_evaluation_equals_that_of_the_original_classifier(kind, shared_dropout):
    batch, model = joined(FIRST, SECOND), classifier(kind, 0.3).eval()
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        expected = model(**batch).logits
        read = two_stream(model, shared_dropout=shared_dropout)
        assert not model.training
        assert torch.equal(model(**batch).logits, expected)
        model.train()
        read(batch)
        assert not torch.equal(model(**batch).logits, expected)
        assert torch.equal(model.eval()(**batch).logits, expected)
        three = {name: value[:3] for name, value in batch.items()}  # as many as there are: no second stream
        torch.testing.assert_close(model(**three).logits, expected[:3], atol=2e-6, rtol=1e-5)
    assert model.state_dict().keys() == weights.keys()
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())


@pytest.mark.parametrize("kind", ["deberta-v2", "fnet", "mpnet"])
def test_an_encoder_without_the_attention_interface_is_refused(kind):
    sizes = BERT | ({"num_attention_heads": HEADS} if kind != "fnet" else {})
    config = AutoConfig.for_model(kind, **sizes, vocab_size=40)
    with pytest.raises(RequestError, match=f"model: {kind}: its attention does not go through .* Choose BERT, XLM-R"):
        two_stream(AutoModelForSequenceClassification.from_config(config))


def test_an_encoder_whose_layers_share_one_attention_is_refused():
    """ALBERT: the recorded map would be the last layer's, whichever layer is requested."""
    model = AutoModelForSequenceClassification.from_config(AutoConfig.for_model("albert", **BERT, vocab_size=40))
    with pytest.raises(RequestError, match=r"model: albert: .*share.* Choose BERT, XLM-R"):
        two_stream(model)


def test_an_encoder_without_an_embedding_output_is_refused():
    config = AutoConfig.for_model("xlm", vocab_size=40, emb_dim=16, n_layers=2, n_heads=2)
    with pytest.raises(RequestError, match="model: xlm has no module `embeddings`"):
        two_stream(AutoModelForSequenceClassification.from_config(config))


def test_a_pass_that_computes_no_maps_is_an_error_not_an_empty_answer():
    model = classifier("bert")
    read = two_stream(model)
    model.set_attn_implementation("sdpa")
    with pytest.raises(RuntimeError, match="attention maps of the layer were not computed"):
        read(joined(FIRST, SECOND))


# One pass is two passes.


def loss(logits, embeddings, attention, mask, labels):
    """Equation 5 over both streams, each argument a pair; weights as large as the cross entropy's."""
    push = targets.push(*(targets.pooled(*stream) for stream in zip(embeddings, mask, strict=True)), "sum")
    present = [of_stream.bool() for of_stream in mask]
    maps = (targets.over_tokens(*stream) for stream in zip(attention, mask, strict=True))
    pull = targets.pull(*maps, targets.squared(present[0] | present[1]), "sum")
    return (cross_entropy(logits[0], labels) + cross_entropy(logits[1], labels)) + (0.7 * push + 3 * pull).mean()


def gradients(model):
    return {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in model.named_parameters()}


@pytest.mark.parametrize("shared_dropout", [False, True])
@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_loss_and_gradients_are_those_of_two_passes(kind, shared_dropout):
    labels, mask = torch.tensor([0, 2, 1]), (FIRST["attention_mask"], SECOND["attention_mask"])
    apart = classifier(kind, attn_implementation="eager").train()
    passes = [apart(**stream, output_attentions=True, output_hidden_states=True) for stream in (FIRST, SECOND)]
    expected = loss(
        [each_pass.logits for each_pass in passes],
        [each_pass.hidden_states[0] for each_pass in passes],
        [each_pass.attentions[1] for each_pass in passes],
        mask,
        labels,
    )
    expected.backward()
    model = classifier(kind).train()
    output = two_stream(model, shared_dropout=shared_dropout)(joined(FIRST, SECOND))
    ours = loss(*map(output.halves, ("logits", "embeddings", "attention")), mask, labels)
    ours.backward()
    torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-6)
    ours, theirs = gradients(model), gradients(apart)
    for name in theirs:
        torch.testing.assert_close(
            ours[name], theirs[name], atol=2e-5, rtol=1e-4, msg=lambda text, n=name: f"{n} {text}"
        )
    assert sum(bool(gradient.abs().max() > 1e-3) for gradient in theirs.values()) > len(theirs) / 2


@pytest.mark.parametrize("mode", [True, "selective"])
@pytest.mark.parametrize("shared_dropout", [False, True])
@pytest.mark.parametrize(("maps", "states"), [(1, None), (2, None), (3, None), (None, 2)])
@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_checkpointing_changes_no_gradient_that_of_the_maps_included(kind, maps, states, shared_dropout, mode):
    by_mode = {}
    for each in (False, mode):
        read = two_stream(classifier(kind, 0.2), maps=maps, states=states, shared_dropout=shared_dropout)
        model = checkpointed(read, each)
        torch.manual_seed(7)
        output = read(joined(FIRST, SECOND))
        first, second = output.halves("attention" if maps else "states")
        ((first - second).square().sum() + output.logits.square().sum() + output.embeddings.sin().sum()).backward()
        by_mode[each] = gradients(model)
        assert read.maps is None  # recomputed maps are not kept
    for name, value in by_mode[False].items():
        torch.testing.assert_close(by_mode[mode][name], value, atol=1e-6, rtol=1e-5)
    of_query = next(value for name, value in by_mode[False].items() if "layer.0" in name and "query.weight" in name)
    assert of_query.abs().max() > 1e-3


# Dropout.


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_identical_inputs_with_shared_dropout_are_identical_to_the_last_bit(kind, mode):
    for layer in range(1, LAYERS + 1):
        read, mask = two_stream(classifier(kind, 0.3), maps=layer), SAME["attention_mask"]
        checkpointed(read, mode)
        output, again = read(SAME), read(SAME)
        assert torch.equal(*output.halves("logits"))
        push = targets.push(*targets.pooled(output.embeddings, mask).chunk(2), "sum")
        pull = targets.pull(*output.halves("attention"), torch.ones(48, 4, 4, dtype=torch.bool), "sum")
        assert push.tolist() == pull.tolist() == [0.0] * 48
        assert not torch.equal(output.logits, again.logits)  # dropout is active
        output.logits.sum().backward()  # and a backward pass works


@pytest.mark.parametrize("tokens", [5, 7, 11])
@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_identical_inputs_of_any_shape_differ_by_rounding_at_most_and_push_is_exactly_zero(kind, tokens):
    batch = joined(*[sentences(3, tokens, [tokens, tokens - 1, 2])] * 2)
    output = two_stream(classifier(kind, 0.3).train())(batch)
    push = targets.push(*targets.pooled(output.embeddings, batch["attention_mask"]).chunk(2), "sum")
    assert push.tolist() == [0.0] * 3
    torch.testing.assert_close(*output.halves("logits"), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(*output.halves("attention"), atol=1e-6, rtol=0)


@pytest.mark.parametrize("head", ["standard", "linear", "released"])
@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_every_head_shares_its_dropout(kind, head):
    model = classifier(kind, 0.3)
    set_head(model, head)
    assert torch.equal(*two_stream(model.train())(SAME).halves("logits"))


@pytest.mark.parametrize("kind", KINDS)
def test_without_sharing_identical_inputs_are_far_apart(kind):
    read, mask = two_stream(classifier(kind, 0.3).train(), shared_dropout=False), SAME["attention_mask"]
    output = read(SAME)
    push = targets.push(*targets.pooled(output.embeddings, mask).chunk(2), "mean")
    pull = targets.pull(*output.halves("attention"), targets.squared(mask.bool()[:48]), "sum")
    assert (push < -1e-3).all()
    assert (pull > 1e-2).all()
    assert not torch.isclose(*output.halves("logits")).any()


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_shared_masks_differ_from_pair_to_pair_and_keep_the_mean(kind):
    ones = torch.ones(2000, 3, 4)
    dropped = drop_alike(ones, 0.25)
    assert torch.equal(*dropped.chunk(2))
    assert set(dropped.unique().tolist()) == {0.0, torch.tensor(1 / 0.75).item()}
    assert dropped.mean().item() == pytest.approx(1, abs=5 * math.sqrt(0.25 / 0.75 / 12000))
    assert not torch.equal(dropped[0], dropped[1])
    model = classifier(kind, 0.3)
    two_stream(model)
    assert not any(type(module) is torch.nn.Dropout for module in model.modules())
    assert any(isinstance(module, SharedDropout) and module.p == 0.3 for module in model.modules())


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_the_noise_of_attention_dropout_is_as_large_as_derived(kind):
    """Two masks of dropout p on one map a differ by 2 p / (1 - p) a^2 in each entry, on average."""
    p, draws, sentence = 0.1, 4000, sentences(1, 5, [4])
    batch = {name: value.repeat(2 * draws, 1) for name, value in sentence.items()}
    clean = two_stream(classifier(kind).eval(), maps=1)(joined(sentence, sentence)).attention[0]
    read = two_stream(classifier(kind, 0.0, p).train(), maps=1, shared_dropout=False)
    with torch.no_grad():
        first, second = read(batch).halves("attention")
    noise, expected = (first - second).square().mean(0), 2 * p / (1 - p) * clean.square()
    assert (clean[..., :4] > 1e-6).all()
    ratio = noise[..., :4] / expected[..., :4]
    # A squared difference is a^2 / (1 - p)^2 in a share of 2 p (1 - p) of the draws, else zero.
    error = math.sqrt((1 - 2 * p * (1 - p)) / (2 * p * (1 - p)) / draws)
    assert (ratio - 1).abs().max().item() < 5 * error
    assert ratio.mean().item() == pytest.approx(1, abs=5 * error / math.sqrt(ratio.numel()))
    assert not noise[..., 4:].any()  # padding gets no attention and no noise


@pytest.mark.parametrize("kind", ["bert", "xlm-roberta"])
def test_maps_are_before_shared_dropout_and_after_separate_dropout(kind):
    batch = joined(FIRST, FIRST)
    clean = two_stream(classifier(kind).eval(), maps=1)(batch).attention
    before = two_stream(classifier(kind, 0.0, 0.5).train(), maps=1)(batch).attention
    after = two_stream(classifier(kind, 0.0, 0.5).train(), maps=1, shared_dropout=False)(batch).attention
    torch.testing.assert_close(before, clean, atol=1e-6, rtol=0)
    torch.testing.assert_close(after[after > 0], 2 * clean[after > 0], atol=2e-6, rtol=0)
    real = batch["attention_mask"].bool()[:, None, None].expand_as(after)
    assert 0.3 < (after[real] == 0).float().mean() < 0.7
