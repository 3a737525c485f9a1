"""hologram.nn and hologram.optim: layers, states and training, against formulas and, where PyTorch is
installed, against its layers and optimizers."""

import numpy as np
import pytest

import hologram as hg
from hologram import nn

rng = np.random.default_rng(3)


def draw(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def close(ours, right, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(ours), right, rtol=tolerance, atol=tolerance)


# --- functions


def test_softmax_takes_its_axis_as_pytorchs_does():
    x = hg.asarray(draw(3, 4))
    for function in (nn.softmax, nn.log_softmax):
        assert hg.all(function(x, 0) == function(x, axis=0)).item()
        assert not hg.all(function(x, 0) == function(x)).item()


def test_functions_take_names_numbers_and_sequences():
    x, w = hg.asarray(draw(2, 3, 7, 6)), hg.asarray(draw(4, 3, 3, 2))
    one = nn.conv2d(x, w, stride=2, padding=1)
    assert one.shape == nn.conv2d(x, w, None, (2, 2), [1, 1]).shape
    assert nn.conv2d(x, w, padding="same").shape == (2, 4, 7, 6)
    values, indices = nn.max_pool2d(x, 2, return_indices=True)
    assert values.shape == indices.shape == (2, 3, 3, 3) and indices.dtype == hg.int64
    flat = np.asarray(x).reshape(2, 3, -1)
    close(values, np.take_along_axis(flat, np.asarray(indices).reshape(2, 3, -1), 2).reshape(2, 3, 3, 3))
    assert nn.interpolate(x, scale_factor=2, mode="bilinear").shape == (2, 3, 14, 12)
    assert nn.pad(x, (1, 2), mode="reflect").shape == (2, 3, 7, 9)


def test_mistakes_say_what_is_known():
    x = hg.asarray(draw(2, 3))
    with pytest.raises(hg.InvalidArgument, match="Use one of 'none', 'mean', 'sum', 'batchmean'"):
        nn.mse_loss(x, x, reduction="average")
    with pytest.raises(hg.InvalidArgument, match="3 numbers for 2 spatial axes"):
        nn.max_pool2d(hg.asarray(draw(1, 1, 4, 4)), (1, 2, 3))
    with pytest.raises(TypeError, match="linear"):
        nn.linear(x)
    with pytest.raises(hg.InvalidArgument, match="no padding 'half'"):
        nn.conv2d(hg.asarray(draw(1, 1, 4, 4)), hg.asarray(draw(1, 1, 2, 2)), padding="half")


def test_attention_is_its_formula():
    q, k, v = draw(2, 4, 5, 8), draw(2, 4, 6, 8), draw(2, 4, 6, 3)
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(8)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights /= weights.sum(-1, keepdims=True)
    close(nn.scaled_dot_product_attention(*map(hg.asarray, (q, k, v))), weights @ v)


def test_a_captured_step_of_attention_reads_the_position_of_its_query():
    q, k, v = (hg.asarray(draw(1, 2, length, 8)) for length in (1, 6, 6))
    step = hg.capture(
        lambda at: nn.scaled_dot_product_attention(q, k, v, is_causal=True, query_position=at, query_offset=1),
        hg.asarray(0, dtype=hg.int32),
    )
    for position in range(5):
        at = hg.asarray(position, dtype=hg.int32)
        seen = position + 2
        right = nn.scaled_dot_product_attention(q, k[:, :, :seen], v[:, :, :seen])
        close(step(at), right.numpy())
        weights = nn.attention_weights(q, k, is_causal=True, query_position=at).numpy()
        assert (weights[..., position + 1 :] == 0).all() and (weights[..., : position + 1] > 0).all()
    with pytest.raises(hg.DTypeMismatch, match="an integer as query_position"):
        nn.scaled_dot_product_attention(q, k, v, is_causal=True, query_position=hg.asarray(1.0))


@pytest.mark.parametrize("seed", range(6))
def test_attention_of_drawn_shapes_is_pytorchs(seed):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    sizes = np.random.default_rng(seed)
    heads, queries, keys, features = (int(n) for n in sizes.integers([1, 1, 1, 1], [4, 90, 90, 40]))
    q, k, v = draw(2, heads, queries, features), draw(2, heads, keys, features), draw(2, heads, keys, 7)
    mask = [None, draw(queries, keys), draw(heads, 1, keys) > -1][seed % 3]
    if mask is not None and mask.dtype == bool:
        mask[..., 0] = True
    causal = mask is None and queries == keys
    given = [torch.from_numpy(x).requires_grad_() for x in (q, k, v)]
    right = torch.nn.functional.scaled_dot_product_attention(
        *given, attn_mask=None if mask is None else torch.from_numpy(mask), is_causal=causal
    )
    change = draw(*right.shape)
    right.backward(torch.from_numpy(change))

    def loss(q, k, v):
        ours = nn.scaled_dot_product_attention(
            q, k, v, None if mask is None else hg.asarray(mask), is_causal=causal
        )
        return hg.sum(ours * hg.asarray(change))

    close(nn.scaled_dot_product_attention(
        *map(hg.asarray, (q, k, v)), None if mask is None else hg.asarray(mask), is_causal=causal
    ), right.detach().numpy())
    gradients = hg.grad(loss, argnums=(0, 1, 2))(*map(hg.asarray, (q, k, v)))
    for ours, theirs in zip(gradients, given):
        close(ours, theirs.grad.numpy(), 1e-4)


# --- modules


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(2)])
        self.scale = hg.ones(())
        self.register_buffer("seen", hg.zeros((), dtype=hg.int64))
        self.width = width

    def forward(self, x):
        self.seen = self.seen + 1
        for layer in self.layers:
            x = x + nn.gelu(layer(self.norm(x))) * self.scale
        return x


def test_modules_name_what_is_in_them():
    block = Block(4)
    assert list(block.named_parameters()) == [
        "scale", "norm.weight", "norm.bias", "layers.0.weight", "layers.0.bias", "layers.1.weight",
        "layers.1.bias"]  # fmt: skip
    assert list(block.named_buffers()) == ["seen"]
    assert block.width == 4 and block.layers[1].weight.shape == (4, 4)
    block(hg.asarray(draw(3, 4)))
    assert int(block.seen) == 1
    del block.scale
    assert "scale" not in block.state_dict() and not hasattr(block, "scale")
    with pytest.raises(AttributeError, match="super"):
        type("Hasty", (nn.Module,), {"__init__": lambda self: setattr(self, "x", 1)})()


def test_a_state_is_loaded_whole_or_not_at_all(tmp_path):
    one, other = Block(4), Block(4)
    path = str(tmp_path / "block.safetensors")
    one.save(path)
    other.load(path)
    x = hg.asarray(draw(3, 4))
    assert np.array_equal(np.asarray(one(x)), np.asarray(other(x)))
    before = np.asarray(other.norm.weight)
    wrong = {**one.state_dict(), "norm.weight": hg.zeros(4), "layers.1.bias": hg.zeros(5)}
    with pytest.raises(hg.ShapeMismatch, match="layers.1.bias"):
        other.load_state_dict(wrong)
    assert np.array_equal(before, np.asarray(other.norm.weight))
    with pytest.raises(hg.InvalidArgument, match="missing"):
        other.load_state_dict({"scale": hg.ones(())})
    other.load_state_dict({"scale": hg.asarray(2.0)}, strict=False)
    assert float(other.scale) == 2


def test_dtypes_and_modes_reach_all_modules():
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.9), nn.BatchNorm1d(3))
    model.to(hg.float64)
    assert {x.dtype for x in model.parameters()} == {hg.float64}
    assert model[2].num_batches_tracked.dtype == hg.int64
    x = hg.asarray(draw(8, 3), dtype=hg.float64)
    model.eval()
    close(model(x), np.asarray(model(x)), 0)
    assert not model[1].training and model.train()[1].training


def test_gradients_come_by_name_and_leave_parameters_alone():
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    x, before = hg.asarray(draw(5, 3)), np.asarray(model[0].weight)
    value, gradients = nn.value_and_grad(model, lambda x: hg.sum(model(x) ** 2))(x)
    assert list(gradients) == list(model.named_parameters())
    assert gradients["0.weight"].shape == (2, 3) and value.shape == ()
    assert np.array_equal(before, np.asarray(model[0].weight))
    assert int(model[1].num_batches_tracked) == 1
    with pytest.raises(ZeroDivisionError):
        nn.value_and_grad(model, lambda: 1 / 0)()
    assert np.array_equal(before, np.asarray(model[0].weight))


# --- training


def test_a_small_network_learns():
    hg.random.seed(1)
    x = rng.uniform(-1, 1, (256, 2)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
    model = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
    optimizer = hg.optim.AdamW(model, lr=2e-2, max_norm=1.0)
    inputs, labels = hg.asarray(x), hg.asarray(y)
    losses = [float(optimizer.step(lambda: nn.cross_entropy(model(inputs), labels))) for _ in range(120)]
    right = (np.asarray(hg.argmax(model(inputs), axis=1)) == y).mean()
    assert losses[-1] < 0.2 < losses[0] and right > 0.95


def test_an_optimizer_goes_on_where_it_was():
    x, y = hg.asarray(draw(8, 3)), hg.asarray(draw(8, 2))

    def made():
        hg.random.seed(4)
        model = nn.Linear(3, 2)
        return model, hg.optim.Adam(model, lr=0.1)

    model, optimizer = made()
    steps = [optimizer.step(lambda: nn.mse_loss(model(x), y)) for _ in range(3)]
    other, another = made()
    another.step(lambda: nn.mse_loss(other(x), y))
    fresh, third = made()
    fresh.load_state_dict(other.state_dict())
    third.load_state_dict(another.state_dict())
    again = [third.step(lambda: nn.mse_loss(fresh(x), y)) for _ in range(2)]
    assert [float(s) for s in steps[1:]] == [float(s) for s in again]
    with pytest.raises(hg.InvalidArgument, match="momentum_buffer"):
        third.load_state_dict({"momentum_buffer.weight": hg.zeros(3)})


# --- beside PyTorch

LAYERS = {
    "Linear": ((5, 3), {}, (4, 5)),
    "Conv1d": ((3, 4, 3), {"padding": 1, "stride": 2}, (2, 3, 9)),
    "Conv2d": ((4, 6, 3), {"groups": 2, "dilation": 2}, (2, 4, 9, 8)),
    "Conv3d": ((2, 3, 2), {}, (2, 2, 4, 5, 4)),
    "ConvTranspose1d": ((3, 4, 3), {"stride": 2}, (2, 3, 5)),
    "ConvTranspose2d": ((3, 2, 3), {"stride": 2, "output_padding": 1}, (2, 3, 4, 5)),
    "BatchNorm1d": ((3,), {}, (6, 3)),
    "BatchNorm2d": ((3,), {"momentum": None}, (4, 3, 5, 5)),
    "LayerNorm": ((6,), {}, (4, 6)),
    "GroupNorm": ((2, 4), {}, (3, 4, 5)),
    "PReLU": ((3,), {}, (2, 3, 4)),
    "GELU": ((), {"approximate": "tanh"}, (3, 4)),
    "LeakyReLU": ((0.2,), {}, (3, 4)),
    "Hardswish": ((), {}, (3, 4)),
    "MaxPool2d": ((3, 2, 1), {}, (2, 3, 8, 7)),
    "AvgPool2d": ((3,), {"stride": 2, "padding": 1, "count_include_pad": False}, (2, 3, 8, 7)),
    "AdaptiveAvgPool2d": (((3, 2),), {}, (2, 3, 8, 7)),
    "Flatten": ((), {}, (2, 3, 4)),
    "Softplus": ((), {"beta": 2}, (3, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_pytorchs(name):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    arguments, options, shape = LAYERS[name]
    theirs, ours = getattr(torch.nn, name)(*arguments, **options), getattr(nn, name)(*arguments, **options)
    state = {key: value.numpy() for key, value in theirs.state_dict().items()}
    assert {k: v.shape for k, v in ours.state_dict().items()} == {k: v.shape for k, v in state.items()}
    ours.load_state_dict(state)
    for _ in range(2):
        x = draw(*shape)
        close(ours(hg.asarray(x)), theirs(torch.from_numpy(x)).detach().numpy())
    for key, value in theirs.state_dict().items():
        close(ours.state_dict()[key], value.numpy())
    x = draw(*shape)
    close(ours.eval()(hg.asarray(x)), theirs.eval()(torch.from_numpy(x)).detach().numpy())


OPTIMIZERS = [
    ("Adam", {"lr": 0.05}),
    ("Adam", {"lr": 0.05, "weight_decay": 0.1, "amsgrad": True}),
    ("AdamW", {"lr": 0.05, "betas": (0.8, 0.95)}),
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
]


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_optimizers_are_pytorchs(name, options):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    ours = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    ours.load_state_dict({key: value.numpy() for key, value in theirs.state_dict().items()})
    by_them = getattr(torch.optim, name)(theirs.parameters(), **options)
    by_us = getattr(hg.optim, name)(ours, **options)
    x, y = draw(16, 4), draw(16, 2)
    for _ in range(10):
        by_them.zero_grad()
        loss = torch.nn.functional.mse_loss(theirs(torch.from_numpy(x)), torch.from_numpy(y))
        loss.backward()
        by_them.step()
        mine = by_us.step(lambda: nn.mse_loss(ours(hg.asarray(x)), hg.asarray(y)))
        close(mine, loss.item(), 1e-4)
    for key, value in theirs.state_dict().items():
        close(ours.state_dict()[key], value.numpy(), 1e-4)


def test_multihead_attention_is_pytorchs():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    theirs, ours = torch.nn.MultiheadAttention(8, 2, batch_first=True), nn.MultiheadAttention(8, 2, batch_first=True)
    ours.load_state_dict({key: value.numpy() for key, value in theirs.state_dict().items()})
    x, y = draw(2, 5, 8), draw(2, 7, 8)
    right = theirs(*map(torch.from_numpy, (x, y, y)), need_weights=False)[0].detach().numpy()
    close(ours(hg.asarray(x), hg.asarray(y)), right)
