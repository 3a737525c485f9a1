"""A language model of characters: a GPT that learns a text, and writes on in its manner.

    python examples/python/char_gpt.py --text README.md --steps 500
"""

import pathlib

import training

import hologram as hg
from hologram import nn


class Block(nn.Module):
    """Attention, then two layers; each adds to what comes in."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, -1)
        q, k, v = (qkv[:, :, i].permute((0, 2, 1, 3)) for i in range(3))
        seen = nn.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(seen.permute((0, 2, 1, 3)).reshape(batch, length, width))
        return x + self.down(nn.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """Logits [batch, length, letters] of the letter that follows each."""

    def __init__(self, letters, context, width, layers, heads):
        super().__init__()
        self.context = context
        self.token, self.place = nn.Embedding(letters, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters)

    def forward(self, x):
        h = self.token(x) + self.place(hg.arange(x.shape[1]))
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h))


def write(model, letters, begin, count):
    """So many letters more, each drawn by its probability."""
    place = {letter: i for i, letter in enumerate(letters)}
    text = [place[letter] for letter in begin]
    for _ in range(count):
        seen = text[-model.context :]
        row = seen + [0] * (model.context - len(seen))
        logits = model(hg.asarray([row]))[0, len(seen) - 1]
        # The largest of logits with Gumbel's noise is drawn by softmax's probabilities.
        noise = -hg.log(-hg.log(hg.random.uniform(logits.shape, low=1e-9)))
        text.append(int((logits + noise).argmax().item()))
    return "".join(letters[i] for i in text)


def main():
    here = pathlib.Path(__file__).resolve()
    options = training.arguments(
        __doc__, text=str(here.parents[2] / "README.md"), steps=500, batch=16, context=64, width=128,
        layers=4, heads=4, lr=1e-3, write=200)  # fmt: skip
    text = pathlib.Path(options.text).read_text(encoding="utf-8")
    letters = sorted(set(text))
    place = {letter: i for i, letter in enumerate(letters)}
    numbers = [place[letter] for letter in text]
    n = options.context
    with hg.use(options.device):
        hg.random.seed(options.seed)
        model = Gpt(len(letters), n, options.width, options.layers, options.heads)
        optimizer = hg.optim.AdamW(model, lr=options.lr, max_norm=1.0)

        def loss_of(drawn, _):
            begins = [drawn.randrange(len(numbers) - n - 1) for _ in range(options.batch)]
            x = hg.asarray([numbers[b : b + n] for b in begins])
            y = hg.asarray([numbers[b + 1 : b + n + 1] for b in begins])
            return nn.cross_entropy(model(x).reshape(-1, len(letters)), y.reshape(-1))

        training.train(options, model, optimizer, loss_of, "GPT of characters: loss")
        if options.write:
            print(write(model, letters, letters[0] if "\n" not in place else "\n", options.write))


if __name__ == "__main__":
    main()
