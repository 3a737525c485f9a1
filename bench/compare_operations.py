#!/usr/bin/env python3
"""compare_operations.py --program bench_operations [options]: every operation of operations.inc beside
PyTorch, in turns on the same device, with many dtypes and shapes. Prints a line for each that takes
longer than PyTorch, the worst first, and the geometric mean of all ratios (PyTorch's time over ours).

scripts/compare-operations builds the program and calls this. One processor is used on the CPU.
"""

import argparse
import itertools
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time

import numpy
import torch
import torch.nn.functional as F  # the table uses it

TABLE = pathlib.Path(__file__).resolve().parent / "operations.inc"
DTYPES = {
    "f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16,
    "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64, "u8": torch.uint8,
}  # fmt: skip
REAL = ("f32", "f64", "f16", "bf16")
# Rows and columns: one of a size that caches hold, and matrices from narrow to wide.
SHAPES = ["1000x1000", "100000x2", "100000x8", "50000x32", "20000x63", "10000x100", "3000x300",
          "300x3000", "20x50000", "2x500000", "100x100"]  # fmt: skip
GPU_SHAPES = ["4000x4000", "1000000x8", "1000000x16", "300000x32", "200000x63", "100000x100",
              "30000x300", "3000x3000", "300x30000", "20x500000", "100x100"]  # fmt: skip
SAMPLE_SHAPES = ["100x100", "4000x4000", "30011x777"]
# Those for which all other dtypes than f32 are compared.
ALL_DTYPES_AT = {"cpu": "1000x1000", "gpu": "4000x4000"}


def operations():
    pattern = re.compile(r'^OPERATION\((\w+), (\w+), .*, "(.*)"\)$', re.M)
    return {name: (dtypes.lower(), torch_text) for name, dtypes, torch_text in pattern.findall(TABLE.read_text())}


class Inputs:
    """The same numbers that operations.cpp makes."""

    def __init__(self, dtype, rows, columns, device):
        self.next = 0
        self.dtype, self.device = dtype, device
        self.x = self.numbers(rows, columns)
        self.y = self.numbers(rows, columns)
        self.z = self.numbers(rows, columns)
        self.row = self.numbers(1, columns)
        self.column = self.numbers(rows, 1)
        self.m = self.numbers(columns, 64)
        self.p = self.below(1, rows, rows).reshape(-1)
        self.q = self.below(rows, columns, columns)

    def mixed(self, n, k):
        numbers = numpy.arange(self.next, self.next + n * k, dtype=numpy.uint64)
        self.next += n * k
        return (numbers * numpy.uint64(2654435761)) >> numpy.uint64(7)

    def numbers(self, n, k):
        values = (self.mixed(n, k) % numpy.uint64(2001)).astype(numpy.float32) / numpy.float32(500) - numpy.float32(2)
        if self.dtype not in REAL:
            values = numpy.trunc(values * numpy.float32(20))
        if self.dtype == "u8":
            values = numpy.abs(values)
        return torch.from_numpy(values).to(DTYPES[self.dtype]).reshape(n, k).to(self.device)

    def below(self, n, k, end):
        values = (self.mixed(n, k) % numpy.uint64(end)).astype(numpy.float32).astype(numpy.int64)
        return torch.from_numpy(values).reshape(n, k).to(self.device)


class Ours:
    def __init__(self, program):
        self.child = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, *words):
        print(*words, file=self.child.stdin, flush=True)
        answer = self.child.stdout.readline().rstrip("\n")
        if answer.startswith("error: ") or self.child.poll() is not None:
            raise RuntimeError(answer or "bench_operations ended")
        return answer


class Torch:
    def __init__(self, device):
        self.device = device
        self.key, self.names = None, {}

    def prepare(self, text, dtype, rows, columns):
        if self.key != (dtype, rows, columns):
            self.key = (dtype, rows, columns)
            self.names = None
            self.names = vars(Inputs(dtype, rows, columns, self.device)) | {"torch": torch, "F": F}
        self.code = compile(text, text, "eval")
        # Ours adds in one order; PyTorch's atomics add in any.
        torch.use_deterministic_algorithms("scatter" in text, warn_only=True)

    def run(self):
        return eval(self.code, self.names)

    def took(self, times):
        begin = time.perf_counter()
        for _ in range(times):
            self.run()
        if self.device != "cpu":
            torch.cuda.synchronize()
        return time.perf_counter() - begin

    def time(self, seconds):
        self.took(1)  # what is loaded and tried out the first time
        times = 1
        while (last := self.took(times)) < seconds / 4:
            times *= 2
        times = max(1, int(seconds / last * times))
        return self.took(times) / times

    def check(self):
        made = self.run().to(torch.float64)
        return made.numel(), made.sum().item(), (made * made).sum().item()


def is_same(ours, theirs, dtype, inputs):
    """Sums of all elements and of their squares: enough to see that both did the same work on so many inputs,
    whose sum in f32 may be little more than what is lost."""
    count, total, squares = (float(word) for word in ours.split())
    if count != theirs[0]:
        return False
    precise = {"f16": 0.02, "bf16": 0.1}.get(dtype, 1e-3)
    close = lambda a, b, scale: a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= precise * scale + 1e-6 * inputs
    scale = math.sqrt(max(theirs[2], 0) * count)  # of a sum whose terms do not cancel
    length, expected = (math.sqrt(max(value, 0)) for value in (squares, theirs[2]))
    return close(length, expected, expected) and close(total, theirs[1], scale)


def measure(ours, peer, case, text, rounds, seconds):
    name, dtype, shape = case
    rows, columns = (int(side) for side in shape.split("x"))
    words = (name, dtype, rows, columns)
    peer.prepare(text, dtype, rows, columns)
    theirs = peer.check()
    if not is_same(ours.ask("check", *words), theirs, dtype, rows * columns):
        return None
    pairs = [(float(ours.ask("time", *words, seconds)), peer.time(seconds)) for _ in range(rounds)]
    return tuple(statistics.median(times) for times in zip(*pairs))


def cases_of(options, table):
    def fits(name, dtype):
        kind = table[name][0]
        return kind == "any" or (kind == "real") == (dtype in REAL)

    everywhere = ALL_DTYPES_AT["cpu" if options.device == "cpu" else "gpu"]
    shapes = options.shapes or (SHAPES if options.device == "cpu" else GPU_SHAPES)
    if options.sample and not options.shapes:
        shapes = SAMPLE_SHAPES
    names = [name for name in table if not options.only or re.search(options.only, name)]
    pairs = [(d, s) for s, d in itertools.product(shapes, options.dtypes or DTYPES)
             if options.dtypes or s == everywhere or d == "f32"]  # fmt: skip
    if options.sample:
        return sample(names, shapes, options.dtypes or DTYPES, fits, options.sample)
    return [(name, dtype, shape) for dtype, shape in pairs for name in names if fits(name, dtype)]


def sample(names, shapes, dtypes, fits, count):
    """So many cases, always the same ones: each operation once before any comes again."""
    draw = random.Random(1)
    cases = [(name, dtype, shape) for name in names for dtype in dtypes for shape in shapes if fits(name, dtype)]
    draw.shuffle(cases)
    first, rest, seen = [], [], set()
    for case in cases:
        (rest if case[0] in seen else first).append(case)
        seen.add(case[0])
    taken = (first + rest)[:count]
    return sorted(taken, key=lambda case: (list(dtypes).index(case[1]), case[2]))  # inputs are made once each


def summary(ratios):
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
    below = [sum(ratio < bound for ratio in ratios) for bound in (1, 0.7, 0.4)]
    return (f"{len(ratios)} compared: {mean:.2f} of PyTorch's speed in the geometric mean, {below[0]} below 1, "
            f"{below[1]} below 0.7, {below[2]} below 0.4")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, help="bench_operations")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--only", help="a regular expression that names are searched for")
    parser.add_argument("--dtypes", nargs="*", choices=list(DTYPES), help="at every shape")
    parser.add_argument("--shapes", nargs="*", help="ROWSxCOLUMNS")
    parser.add_argument("--sample", type=int, help="so many cases, of all dtypes and three shapes, always the same")
    parser.add_argument("--part", default="0/1", help="of the cases, as 2/8: the third eighth")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--milliseconds", type=float, default=3, help="of a turn")
    parser.add_argument("--minutes", type=float, default=1e9, help="to end after")
    parser.add_argument("--all", action="store_true", help="print those that are faster, too")
    options = parser.parse_args()
    os.environ["HOLOGRAM_BACKEND"] = options.device
    if options.device == "cpu":
        os.environ["HOLOGRAM_NUM_THREADS"] = "1"
        torch.set_num_threads(1)
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    ours, peer = Ours(options.program), Torch(options.device)
    print(f"{ours.ask('device')}; PyTorch {torch.__version__}", flush=True)
    table = operations()
    end = time.monotonic() + options.minutes * 60
    results, differ, lacking, left = [], [], [], 0
    part, parts = map(int, options.part.split("/"))
    for case in cases_of(options, table)[part::parts]:
        if time.monotonic() > end:
            left += 1
            continue
        try:
            took = measure(ours, peer, case, table[case[0]][1], options.rounds, options.milliseconds / 1000)
        except (RuntimeError, TypeError, NotImplementedError) as error:
            if ours.child.poll() is not None:
                sys.exit(f"{' '.join(case)}: {error}")
            lacking.append(f"{' '.join(case)}: {str(error).splitlines()[0]}")
            continue
        if took is None:
            differ.append(" ".join(case))
        else:
            results.append((took[1] / took[0], *took, case))
    results.sort()
    print(f"{'ratio':>7} {'hologram':>12} {'PyTorch':>12}   operation, dtype, shape")
    for ratio, mine, theirs, case in results:
        if ratio < 1 or options.all:
            print(f"{ratio:7.2f} {mine * 1e6:9.1f} µs {theirs * 1e6:9.1f} µs   {' '.join(case)}")
    for text in lacking:
        print(f"not compared: {text}")
    for text in differ:
        print(f"DIFFERENT RESULTS: {text}")
    if left:
        print(f"{left} were left when the time was up")
    if results:
        for dtype in DTYPES:
            of_dtype = [ratio for ratio, _, _, case in results if case[1] == dtype]
            if of_dtype:
                print(f"{dtype:5} {summary(of_dtype)}")
        print(summary([ratio for ratio, *_ in results]))
    sys.exit(1 if differ else 0)


if __name__ == "__main__":
    main()
