"""What the examples of training share: command lines, progress, curves as SVG, checkpoints.

A checkpoint is one safetensors file with parameters, buffers, the optimizer's state and the number of
steps; it appears whole or not at all. Everything that is drawn at a step, batches and dropped elements,
follows from the seed and the step's number, so that a run that was stopped goes on with the same bits
(on one device, with HOLOGRAM_DETERMINISTIC=1; on any exact one, with HOLOGRAM_REPRODUCIBLE=1).
"""

import argparse
import os
import random
import time

import hologram as hg


def arguments(description, **defaults):
    """The command line of an example: --steps, --checkpoint, … and what `defaults` names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", help="as in cpu, cuda:0; the best there is, unless given")
    parser.add_argument("--checkpoint", help="a .safetensors file; goes on from there if it is there")
    parser.add_argument("--every", type=int, default=100, help="steps between checkpoints and lines")
    parser.add_argument("--curve", help="an .svg file for the losses")
    parser.add_argument("--precision", choices=["float16", "bfloat16"], help="mixed precision")
    parser.add_argument("--seed", type=int, default=1)
    for name, value in defaults.items():
        parser.add_argument(f"--{name}", type=type(value), default=value)
    return parser.parse_args()


def curve(losses, path, title):
    """The losses [(step, loss), …] as a picture."""
    width, height, left, below = 640, 360, 56, 40
    steps = [step for step, _ in losses]
    most, least = max(loss for _, loss in losses), min(0.0, min(loss for _, loss in losses))
    x = lambda step: left + (width - left - 12) * (step - steps[0]) / max(1, steps[-1] - steps[0])
    y = lambda loss: height - below - (height - below - 28) * (loss - least) / ((most - least) or 1)
    points = " ".join(f"{x(step):.1f},{y(loss):.1f}" for step, loss in losses)
    marks = [least + (most - least) * k / 4 for k in range(5)]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="{left}" y="18">{title}</text>',
        *(
            f'<line x1="{left}" x2="{width - 12}" y1="{y(m):.1f}" y2="{y(m):.1f}" stroke="#ddd"/>'
            f'<text x="{left - 6}" y="{y(m) + 4:.1f}" text-anchor="end">{m:.3g}</text>'
            for m in marks
        ),
        f'<text x="{left}" y="{height - 14}">{steps[0]}</text>',
        f'<text x="{width - 12}" y="{height - 14}" text-anchor="end">step {steps[-1]}</text>',
        f'<polyline points="{points}" fill="none" stroke="#1565c0" stroke-width="1.5"/>',
        "</svg>",
    ]
    with open(path + ".part", "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.replace(path + ".part", path)


def save(path, step, model, optimizer):
    """Writes a checkpoint, in place of the one before."""
    tensors = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    tensors |= {f"optimizer.{name}": tensor for name, tensor in optimizer.state_dict().items()}
    hg.save(path, tensors | {"step": hg.asarray([step])})


def load(path, model, optimizer):
    """Takes everything from a checkpoint; gives the number of steps that were done."""
    state = hg.load(path)
    part = lambda prefix: {k.removeprefix(prefix): x for k, x in state.items() if k.startswith(prefix)}
    model.load_state_dict(part("model."))
    optimizer.load_state_dict(part("optimizer."))
    return int(state["step"].item())


def train(options, model, optimizer, loss_of, title):
    """Runs steps up to options.steps; loss_of(random.Random, step) gives the loss of a batch that is drawn by it.
    Prints progress, writes checkpoints and the curve; gives the losses of this run."""
    if options.precision:
        optimizer.precision = hg.nn.MixedPrecision(options.precision)
    done = 0
    if options.checkpoint and os.path.exists(options.checkpoint):
        done = load(options.checkpoint, model, optimizer)
        print(f"goes on after step {done} of {options.checkpoint}")
    losses, began = [], time.perf_counter()
    for step in range(done, options.steps):
        drawn = random.Random(f"{options.seed} {step}")
        hg.random.seed(drawn.getrandbits(63))
        loss = optimizer.step(lambda: loss_of(drawn, step))
        last = step + 1 == options.steps
        if (step + 1) % options.every == 0 or last or step == done:
            losses.append((step + 1, loss.item()))
            each = (time.perf_counter() - began) / (step + 1 - done)
            print(f"step {step + 1:5d}  loss {losses[-1][1]:.4f}  {each * 1e3:.0f} ms a step", flush=True)
        if options.checkpoint and ((step + 1) % options.every == 0 or last):
            save(options.checkpoint, step + 1, model, optimizer)
    if options.curve and losses:
        curve(losses, options.curve, title)
    return losses
