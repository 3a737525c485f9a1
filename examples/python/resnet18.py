"""ResNet-18 learns to tell pictures apart that it draws itself: discs, rings, squares, crosses, stripes.

    python examples/python/resnet18.py --steps 200
"""

import random

import training

import hologram as hg
from hologram import nn

SHAPES = ("disc", "ring", "square", "cross", "stripes")


def draw(drawn, count, size):
    """(pictures [count, 3, size, size], labels): a shape of a colour on another, with noise."""
    uniform = lambda low, high: [drawn.uniform(low, high) for _ in range(count)]
    column = lambda values: hg.asarray(values, dtype=hg.float32).reshape(-1, 1, 1)
    labels = [drawn.randrange(len(SHAPES)) for _ in range(count)]
    at = hg.linspace(-1, 1, size)
    x = at.reshape(1, 1, -1) - column(uniform(-0.4, 0.4))
    y = at.reshape(1, -1, 1) - column(uniform(-0.4, 0.4))
    radius = column(uniform(0.3, 0.55))
    far = hg.sqrt(x * x + y * y)
    inside = [
        far < radius,
        (far < radius) & (far > radius * 0.6),
        hg.maximum(hg.abs(x), hg.abs(y)) < radius * 0.8,
        hg.minimum(hg.abs(x), hg.abs(y)) * 4 + (far > radius) < radius,
        (hg.floor((x + y) / radius * 4) % 2 == 0) & (far < radius * 1.3),
    ]
    label = hg.asarray(labels)
    shape = hg.zeros((count, size, size))
    for k, one in enumerate(inside):
        shape = hg.where((label == k).reshape(-1, 1, 1), one.astype(hg.float32), shape)
    colour = lambda: hg.asarray([drawn.random() for _ in range(3 * count)], dtype=hg.float32).reshape(-1, 3, 1, 1)
    ground, ink = colour(), colour()
    picture = ground + (ink - ground) * shape.reshape(count, 1, size, size)
    return picture + hg.random.normal(picture.shape) * 0.05, label


class Residual(nn.Module):
    """Two convolutions beside a short way."""

    def __init__(self, before, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride=stride, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)
        self.downsample = None
        if stride != 1 or before != channels:
            short = nn.Conv2d(before, channels, 1, stride=stride, bias=False)
            self.downsample = nn.Sequential(short, nn.BatchNorm2d(channels))

    def forward(self, x):
        short = x if self.downsample is None else self.downsample(x)
        x = nn.relu(self.bn1(self.conv1(x)))
        return nn.relu(self.bn2(self.conv2(x)) + short)


class ResNet18(nn.Module):
    """With torchvision's names; `width` channels at first, 64 there."""

    def __init__(self, classes, width=64):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        before = width
        for k in range(4):
            channels, stride = width << k, 1 if k == 0 else 2
            layer = nn.Sequential(Residual(before, channels, stride), Residual(channels, channels, 1))
            setattr(self, f"layer{k + 1}", layer)
            before = channels
        self.fc = nn.Linear(before, classes)

    def forward(self, x):
        x = nn.max_pool2d(nn.relu(self.bn1(self.conv1(x))), 3, stride=2, padding=1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean(axis=(2, 3)))


def main():
    options = training.arguments(__doc__, steps=200, batch=32, size=64, width=64, lr=1e-3)
    with hg.use(options.device):
        hg.random.seed(options.seed)
        model = ResNet18(len(SHAPES), options.width)
        optimizer = hg.optim.AdamW(model, lr=options.lr)

        def loss_of(drawn, _):
            x, y = draw(drawn, options.batch, options.size)
            return nn.cross_entropy(model(x), y)

        training.train(options, model, optimizer, loss_of, "ResNet-18: loss")
        model.eval()
        hg.random.seed(0)
        x, y = draw(random.Random("others"), 200, options.size)
        print(f"right on 200 others: {100 * (model(x).argmax(axis=1) == y).astype(hg.float32).mean().item():.1f} %")


if __name__ == "__main__":
    main()
