#!/usr/bin/env python3
"""torch_cpu.py [MODEL…] [--batches 1,8] [--rounds 5] [--threads 2] [--only infer|train]: torch.compile by inductor
and by hologram on the processor, in one process.

Both compile the same model, with the same parameters, for the same input, and are called in turns: a round is some
calls of inductor's and as many of hologram's, and the median of the rounds' ratios counts. Where others use the
processor, OpenMP's threads wait for each other at length, and medians of two threads flatter hologram: the ratio of
the fastest rounds is the one to believe then. Between two rounds of
training all parameters are written, as an optimizer does, so that nothing that was made of them serves twice. The
optimizer's own time, which is PyTorch's in both, is not in it. A line a measurement: inductor's milliseconds,
hologram's, inductor's over hologram's by wall time, by time of the processor and of the fastest rounds, and the
largest difference of the results over the largest result (in training of the losses, and of the gradients over the largest gradient).
"""

import argparse
import gc
import os
import statistics
import time
import warnings


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL")
    parser.add_argument("--batches", default="1,8")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.3, help="of a round, of each, at least")
    parser.add_argument("--warm", type=float, default=2, help="seconds of calls before")
    parser.add_argument("--only", choices=("infer", "train"))
    return parser.parse_args()


ASKED = arguments()
# Read when the libraries are loaded.
os.environ["OMP_NUM_THREADS"] = os.environ["HOLOGRAM_NUM_THREADS"] = str(ASKED.threads)

import torch  # noqa: E402
from torch_models import MODELS, clock, difference, result_of, without_dropout  # noqa: E402

import hologram as hg  # noqa: E402
import hologram_torch  # noqa: E402

torch.set_num_threads(ASKED.threads)
WAYS = {"inductor": {}, "hologram": {"backend": "hologram"}}


def warm(run, change):
    """Some calls are slower after compiling."""
    begin = time.perf_counter()
    while time.perf_counter() - begin < ASKED.warm:
        change()
        run()


def measured(runs, change):
    """Of each round and way the seconds of a call by the wall and by the processor."""
    for run in runs.values():
        warm(run, change)
    first = time.perf_counter()
    runs["inductor"]()
    calls = max(1, min(50, round(ASKED.seconds / (time.perf_counter() - first))))
    rounds = []
    for _ in range(ASKED.rounds):
        row = {}
        for way, run in runs.items():
            change()
            run()  # what follows from another value of a parameter is not what is measured in inference
            begin = time.process_time()
            wall = clock(run, lambda: None, calls) / 1e6
            row[way] = wall, (time.process_time() - begin) / calls
        rounds.append(row)
    return rounds


def measured_steps(runs, change):
    """The same where parameters change before each call."""
    for run in runs.values():
        warm(run, change)
    rounds = []
    for _ in range(ASKED.rounds):
        row = {}
        for way, run in runs.items():
            change()
            begin = time.process_time()
            wall = clock(run, lambda: None, 1) / 1e6
            row[way] = wall, time.process_time() - begin
        rounds.append(row)
    return rounds


def line(name, rounds, error):
    theirs, ours = (statistics.median(r[way][0] for r in rounds) * 1e3 for way in WAYS)
    wall, busy = (statistics.median(r["inductor"][i] / r["hologram"][i] for r in rounds) for i in (0, 1))
    best = [min(r[way][0] for r in rounds) for way in WAYS]
    print(f"{name:28} {theirs:10.2f} {ours:10.2f}  {wall:5.2f}  {busy:5.2f}  {best[0] / best[1]:5.2f}  {error:.1e}",
          flush=True)  # fmt: skip


def infer(name, model, x):
    runs, made = {}, {}
    with torch.no_grad():
        for way, options in WAYS.items():
            compiled = torch.compile(model, **options)
            runs[way] = lambda compiled=compiled: result_of(compiled(x))
            made[way] = runs[way]()
        error = difference(made["hologram"], made["inductor"])
        made.clear()
        line(name, measured(runs, lambda: None), error)


def loss_of(out):
    """Of rows of classes, or of numbers, to what is known without another draw."""
    rows = out.flatten(0, -2)
    return torch.nn.functional.cross_entropy(rows, torch.arange(rows.shape[0], device=rows.device) % rows.shape[1])


def train(name, model, x):
    model = without_dropout(model).train()
    parameters = list(model.parameters())

    def whole(x):
        return loss_of(result_of(model(x)))

    def change():
        with torch.no_grad():
            torch._foreach_mul_(parameters, 1.0)

    runs, made = {}, {}
    for way, options in WAYS.items():
        compiled = torch.compile(whole, **options)

        def step(compiled=compiled):
            for p in parameters:
                p.grad = None
            loss = compiled(x)
            loss.backward()
            return loss

        runs[way] = step
        loss = step().detach()
        made[way] = [loss, torch.cat([p.grad.flatten() for p in parameters if p.grad is not None])]
    error = max(difference(a, b) for a, b in zip(made["hologram"], made["inductor"]))
    made.clear()
    line(f"{name}, training", measured_steps(runs, change), error)


def main():
    warnings.simplefilter("ignore")
    print(f"PyTorch {torch.__version__}, hologram {hg.__version__}, {ASKED.threads} threads, {ASKED.rounds} rounds")
    print(f"{'':28} {'inductor':>10} {'hologram':>10}  {'wall':>5}  {'cpu':>5}  {'best':>5}  difference")
    for name in ASKED.models or MODELS:
        make, draw = MODELS[name]
        for batch in map(int, ASKED.batches.split(",")):
            for part in (infer, train):
                if ASKED.only not in (None, part.__name__):
                    continue
                torch.manual_seed(0)
                try:
                    part(f"{name} {batch}", make("cpu"), draw(batch, "cpu"))
                except Exception as error:  # the rest is wanted all the same
                    print(f"{name} {batch}: {type(error).__name__}: {str(error)[:400]}", flush=True)
                torch.compiler.reset()
                gc.collect()
    print(hologram_torch.report())


main()
