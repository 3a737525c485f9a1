"""What is asked of hologram beside its peers, and where it falls short."""

import dataclasses
import statistics

LOOPS = ("loop", "gcc 256", "gcc 512")
PYTORCH = ("PyTorch", "PyTorch out=", "torch.compile")
SMALL, MIDDLE, LARGE = 10**3, 10**5, 10**7


def threads_text(threads):
    return f"{threads} thread{'s' if threads > 1 else ''}"


@dataclasses.dataclass
class Row:
    """A work at one size on so many threads, with the speed of everybody."""

    work: str
    elements: int
    threads: int
    unit: str
    seconds: float
    speeds: dict  # "hologram" among them, by the median of the rounds
    best: dict  # the same by the best round of each

    def ratio(self, peers, best=False):
        """hologram's speed over that of the fastest of these; None if none took part."""
        speeds = self.best if best else self.speeds
        there = [speeds[peer] for peer in peers if peer in speeds]
        return speeds["hologram"] / max(there) if there else None

    def name(self):
        if self.work.startswith("matmul"):
            size = f"{round(self.elements**0.5)}²"
        elif self.work.startswith("conv2d"):
            side = round((self.elements / 64) ** 0.5)
            size = f"{side} × {side} × 64"
        else:
            size = f"{self.elements:,}"
        return f"{self.work}, {size}, {threads_text(self.threads)}"


@dataclasses.dataclass
class Bar:
    what: str
    works: tuple
    sizes: tuple  # empty: all
    peers: tuple
    least: float


ORDERS = ("sort", "topk", "cumsum", "take", "scatter-add", "flip", "transpose", "slice", "narrow-sums")
FUNCTIONS = ("sqrt", "rsqrt", "reciprocal", "square", "abs", "floor", "exp2", "expm1", "log", "log2", "log10", "log1p",
             "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "erf", "relu", "silu", "softplus", "elu", "div", "pow",
             "minimum")
SINGLE = ("add", "fma", "gelu", "exp", "sum", "dot", "row-sums", "column-sums", "softmax", "layer-norm",
          *FUNCTIONS, *ORDERS)
BARS = [
    Bar("the best loop by hand", ("add", "fma", "sigmoid", "twelve", "gelu"), (MIDDLE, LARGE), LOOPS, 0.95),
    Bar("the best loop by hand", ("dot", "row-sums", "softmax", "layer-norm"), (MIDDLE, LARGE), LOOPS, 0.9),
    Bar("a triad", ("add", "fma"), (LARGE,), ("triad",), 0.95),
    Bar("PyTorch eager, single operations", SINGLE, (), ("PyTorch",), 1),
    Bar("PyTorch eager, a goal", ("add",), (SMALL,), ("PyTorch",), 4),
    Bar("PyTorch eager, chains", ("sigmoid", "twelve"), (), ("PyTorch",), 3),
    Bar("PyTorch out=", ("add",), (LARGE,), ("PyTorch out=",), 1),
    Bar("oneDNN, the better of its threads and ours", ("matmul",), (), ("oneDNN", "oneDNN cut"), 0.93),
    Bar("OpenBLAS", ("matmul-f64",), (), ("OpenBLAS",), 0.98),
    Bar("reading the matrix", ("vector-matrix", "matrix-vector"), (), ("read",), 0.93),
    Bar("oneDNN", ("conv2d", "conv2d-1x1", "conv2d-depthwise", "conv2d-stride2"), (), ("oneDNN",), 0.93),
]
BUSY = Bar("oneDNN, beside a busy process", ("matmul",), (), ("oneDNN", "oneDNN cut"), 0.9)
FILTER = 1  # the bilateral filter beside OpenCV's
# Microseconds at most.
LIMITS = {
    "executor_us": ("the first Executor of the CPU", 5000),
    "graph_to_code_us": ("from the graph of the chain of twelve to its code", 150),
    "jit_compile_us": ("of which from program to code", 150),
}


def held(rows, bars):
    """(row, bar, ratio) for whatever a bar is said of and its peers took part in."""
    for bar in bars:
        for row in rows:
            if row.work not in bar.works or (bar.sizes and row.elements not in bar.sizes):
                continue
            ratio = row.ratio(bar.peers)
            if ratio is not None:
                yield row, bar, ratio


def together(passes):
    """One run of `hologram bench --json --median` of several, that of the rounds of all."""
    run = passes[0] | {"rounds": sum(p["rounds"] for p in passes), "rows": []}
    for same in zip(*(p["rows"] for p in passes), strict=True):
        row = all_rounds(same)
        row["peers"] = [all_rounds(peers) for peers in zip(*(r["peers"] for r in same), strict=True)]
        for peer in row["peers"]:
            peer["ratio"] = row["speed"] / peer["speed"]
        run["rows"].append(row)
    return run


def all_rounds(same):
    """What one competitor did, of what it did in each pass."""
    rounds = [seconds for one in same for seconds in one["rounds"]]
    median = statistics.median(rounds)
    done = {key: value for key, value in same[0].items() if key not in ("rounds", "seconds")}
    return done | {"best": min(rounds), "median": median, "speed": done["speed"] * done["median"] / median}


def rows_of(run):
    """The rows of one run of `hologram bench --json`."""
    rows = []
    for r in run["rows"]:
        everybody = [r | {"name": "hologram"}, *r["peers"]]
        speeds = {p["name"]: p["speed"] for p in everybody}
        best = {p["name"]: p["speed"] * p["median"] / p["best"] for p in everybody}
        rows.append(Row(r["work"], r["elements"], run["threads"], r["unit"], r["median"], speeds, best))
    return rows
