"""The report of scripts/compare-cpu: a page, JSON and pictures."""

import json
import math

from compare_bars import BARS, BUSY, FILTER, LIMITS, LOOPS, PYTORCH, SMALL, held, rows_of, threads_text

IDLE = 5  # percent of the processors that others may take

# Columns of the tables: a heading and who the fastest of is meant.
COLUMNS = {
    "arrays": [("best loop", LOOPS), ("Eigen", ("Eigen",)), ("NumPy", ("NumPy",)), ("numexpr", ("numexpr",)),
               ("PyTorch", ("PyTorch",)), ("PyTorch's best", PYTORCH), ("bandwidth", ("triad", "read"))],
    "functions": [("NumPy", ("NumPy",)), ("PyTorch", ("PyTorch",))],
    "order": [("NumPy", ("NumPy",)), ("PyTorch", ("PyTorch",))],
    "gemv": [("reading", ("read",)), ("oneDNN", ("oneDNN",)), ("OpenBLAS", ("OpenBLAS",)), ("Eigen", ("Eigen",)),
             ("NumPy", ("NumPy",)), ("PyTorch", ("PyTorch",))],
    "sgemm": [("oneDNN", ("oneDNN",)), ("oneDNN cut", ("oneDNN cut",)), ("OpenBLAS", ("OpenBLAS",)),
              ("Eigen", ("Eigen",)), ("NumPy", ("NumPy",)), ("PyTorch's best", PYTORCH)],
    "dgemm": [("OpenBLAS", ("OpenBLAS",)), ("Eigen", ("Eigen",)), ("NumPy", ("NumPy",)), ("PyTorch's best", PYTORCH)],
    "conv2d": [("oneDNN", ("oneDNN",)), ("PyTorch", ("PyTorch",))],
}
TITLES = {
    "arrays": "Arrays",
    "functions": "Elementwise operations alone",
    "order": "Order and places",
    "gemv": "A matrix and a vector",
    "sgemm": "Products of matrices, f32",
    "dgemm": "Products of matrices, f64",
    "conv2d": "Convolutions",
}
METHOD = """\
`scripts/compare-cpu` wrote this page: do not edit it. Everybody has the same numbers to work on and takes turns
in rounds, the medians of which are compared; every result was held against float64 before it was timed. A ratio
is hologram's speed over the other's: above 1, hologram is faster."""
DISTURBED = """\
**The machine did other work, too: these numbers are rough**, those of two threads and beside a busy process
above all."""
LOOPS_ARE = """\
Loops by hand are for {target} by Highway, and plain C++ by g++ -O3 -march=native at 256 and at 512 bits; the
best of the three counts. PyTorch's best is that of eager mode, of results into memory that is there (out=), and
of torch.compile."""
BILATERAL_IS = (
    "A picture of 1500 x 1000 pixels with three channels of f32, a window of radius 8, `examples/atlas/bilateral.atlas`;\n"
    "OpenCV's filter has the same window, another distance of colours, and its exponential from a table.")
BUSY_IS = "The same while another process takes one processor for half of the time, in pieces of 10 ms."
WORKS = {
    "arrays": """\
`fma` is `a * b + c`; `sigmoid` is `sigmoid(a * b + c) * d - e`; `twelve` is a chain of twelve operations on
five arrays; `gelu` is the exact form, with erf; `row-sums`, `column-sums`, `softmax` and `layer-norm` have
rows of 1,000 (of 100 at 1,000 elements). `fma` is `torch.addcmul` in PyTorch, `gelu` and `layer-norm` are its
own functions; `layer-norm` is written with means, differences and rsqrt in hologram.""",
    "functions": """\
Of numbers from -1 to 2, or above 0 where others have no result.""",
    "order": """\
`topk` is the ten largest, `take` and `scatter-add` have as many i64 positions as elements, at random; `flip` and
`transpose` (of rows of 1,000, or of 100) are copies; `slice` is the first 31 of 32 columns plus one, and
`narrow-sums` the sums of 32 columns.""",
}


def times(ratio):
    return "" if ratio is None else f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "| --- |" + " ---: |" * (len(heads) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def duration(seconds):
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.2f} ms"


def table_of(group, rows):
    columns = COLUMNS[group]
    shown = [(heading, peers) for heading, peers in columns if any(r.ratio(peers) is not None for r in rows)]
    body = [[row.name(), duration(row.seconds), f"{row.speeds['hologram']:.1f} {row.unit}",
             *(times(row.ratio(peers)) for _, peers in shown)] for row in rows]
    return table(["work", "hologram", "speed", *(heading for heading, _ in shown)], body)


def bars_of(results, groups):
    """For each row that a bar is set for: its ratio over the bar, then what the table of misses shows."""
    rows = [row for group in groups.values() for row in group]
    busy = rows_of(results["busy"]) if "busy" in results else []
    asked = [(ratio / bar.least, row.name(), bar.what, times(ratio), times(row.ratio(bar.peers, True)), f"{bar.least:g}")
             for row, bar, ratio in [*held(rows, BARS), *held(busy, [BUSY])]]
    for threads, seconds in results["bilateral"].items():
        for name in seconds:
            if name.startswith("OpenCV"):
                ratio = seconds[name] / seconds["hologram"]
                what = f"bilateral filter, {threads_text(int(threads))}"
                asked.append((ratio / FILTER, what, name, times(ratio), "", f"{FILTER:g}"))
    return asked


def short_of(results, bars):
    """What misses its bar, worst first."""
    missed = [row for row in bars if row[0] < 1]
    for key, (what, most) in LIMITS.items():
        value = results["start"].get(key)
        if value is not None and value > most:
            missed.append((most / value, what, "time", f"{value:,.0f} µs", "", f"at most {most:,} µs"))
    return [list(row[1:]) for row in sorted(missed)]


# ---- Pictures -----------------------------------------------------------------------------------

# The same in every picture.
COLOURS = {
    "best loop": "#dd8452",
    "Eigen": "#55a868",
    "NumPy": "#8172b3",
    "numexpr": "#937860",
    "PyTorch": "#e7969c",
    "PyTorch's best": "#c44e52",
    "bandwidth": "#64b5cd",
    "reading": "#64b5cd",
    "oneDNN": "#2b6cb0",
    "oneDNN cut": "#7fb2e5",
    "OpenBLAS": "#444444",
}
LEFT, WIDTH, STEP, TOP, MOST = 260, 900, 18, 62, 32


def picture(title, rows, columns):
    """A line for each row: how much faster hologram is than each peer, on a logarithmic scale."""
    shown = [c for c in columns if any(r.ratio(c[1]) is not None for r in rows)]
    height = TOP + STEP * len(rows) + 30

    def x(ratio):
        part = math.log2(min(max(ratio, 1 / 8), MOST) * 8) / math.log2(8 * MOST)
        return LEFT + part * (WIDTH - LEFT - 20)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
           f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="11">',
           f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
           f'<text x="8" y="20" font-size="14">{title}</text>']
    for k, (heading, _) in enumerate(shown):
        at = 14 + k * (WIDTH - 20) // len(shown)
        out.append(f'<circle cx="{at}" cy="38" r="4" fill="{COLOURS[heading]}"/>')
        out.append(f'<text x="{at + 8}" y="42">{heading}</text>')
    bottom = TOP + STEP * len(rows)
    for power in range(-3, 6):
        at = x(2.0**power)
        out.append(f'<line x1="{at:.1f}" y1="{TOP - 8}" x2="{at:.1f}" y2="{bottom}" '
                   f'stroke="{"#444" if power == 0 else "#ddd"}"/>')
        label = f"{2**power}×" if power >= 0 else f"1/{2**-power}"
        out.append(f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{label}</text>')
    for number, row in enumerate(rows):
        y = TOP + STEP * number + STEP // 2
        out.append(f'<text x="{LEFT - 14}" y="{y + 4}" text-anchor="end">{row.name()}</text>')
        for heading, peers in shown:
            ratio = row.ratio(peers)
            if ratio is not None:
                out.append(f'<circle cx="{x(ratio):.1f}" cy="{y}" r="4" fill="{COLOURS[heading]}" '
                           f'fill-opacity="0.8"/>')
    return "\n".join([*out, "</svg>", ""])


# ---- The page -----------------------------------------------------------------------------------

def versions_of(results):
    run = next(iter(results["runs"].values()))
    parts = [run["peers"]["versions"]] if "peers" in run else []
    return ", ".join(parts + [f"{k} {v}" for k, v in run.get("versions", {}).items()])


def introduction(results):
    machine = dict(results["machine"])
    taken = [key for key in machine if key.startswith("taken")]
    disturbed = max(machine[key] for key in taken) > IDLE
    machine |= {key: f"{machine[key]} % of the processors" for key in taken}
    target = next(iter(results["runs"].values())).get("peers", {}).get("loops", "no")
    text = ["# How fast it is on the CPU", "", METHOD, ""]
    if disturbed:
        text += [DISTURBED, ""]
    return [*text, table(["machine", ""], [[k, str(v)] for k, v in machine.items()]), "",
            LOOPS_ARE.format(target=target), f"Versions: {versions_of(results)}.", "",
            f"The run took {results['minutes']} minutes by the {results['clock']}"
            + (", and was a quick one." if results["quick"] else "."), ""]


def shortcomings(bars, missed):
    text = ["## Where it falls short", "",
            f"{len(missed)} of {len(bars)} rows that a bar is set for, and of {len(LIMITS)} times, miss it."]
    return text + (["", table(["what", "beside", "ratio", "of best rounds", "bar"], missed)] if missed else [])


def beginnings(results, groups):
    start, overhead = results["start"], results["overhead"]
    lines = [["the first Executor of the CPU in a process", f"{start['executor_us']:,.0f} µs"],
             ["the chain of twelve: from its graph to its code", f"{start['graph_to_code_us']:,.0f} µs"],
             ["of which from program to code", f"{start['jit_compile_us'] or 0:,.0f} µs"],
             ["`a + b` of 1,000 numbers: built", f"{overhead['add_built']:,.0f} ns"],
             ["`a + b` of 1,000 numbers: evaluated", f"{overhead['add_evaluated']:,.0f} ns"],
             ["twelve operations on 1,000 numbers: evaluated", f"{overhead['twelve_evaluated']:,.0f} ns"]]
    for row in groups.get("arrays", []):
        if (row.work, row.elements, row.threads) == ("add", SMALL, 1) and row.ratio(PYTORCH[:1]):
            part = 1 / row.ratio(PYTORCH[:1])
            lines.append(["`a + b` of 1,000 numbers: evaluated, over PyTorch's eager one", f"{part:.2f} of its time"])
    return ["", "## Before the first result", "", table(["what", "time"], lines)]


def pictures(results):
    rows = []
    for threads, seconds in results["bilateral"].items():
        own = seconds["hologram"]
        rows += [[name, str(threads), f"{1000 * s:,.0f} ms", f"{s / own:.2f}"] for name, s in seconds.items()]
    return ["", "## The bilateral filter", "", BILATERAL_IS, "", table(["who", "threads", "time", "ratio"], rows)]


def page(results, groups, bars, missed):
    text = introduction(results) + shortcomings(bars, missed)
    for group, rows in groups.items():
        text += ["", f"## {TITLES[group]}", "", *([WORKS[group], ""] if group in WORKS else []),
                 f"![](images/cpu-{group}.svg)", "", table_of(group, rows)]
    if "busy" in results:
        text += ["", "## Beside a busy process", "", BUSY_IS, "", table_of("sgemm", rows_of(results["busy"]))]
    return "\n".join(text + pictures(results) + beginnings(results, groups)) + "\n"


def write(results, folder):
    groups = {}
    for name, run in results["runs"].items():
        groups.setdefault(name.split(",")[0], []).extend(rows_of(run))
    for part in ("results", "images"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "results" / "cpu.json").write_text(json.dumps(results, indent=1) + "\n")
    for group, rows in groups.items():
        title = f"{TITLES[group]}: hologram's speed over others', {results['machine']['processor']}"
        (folder / "images" / f"cpu-{group}.svg").write_text(picture(title, rows, COLUMNS[group]))
    bars = bars_of(results, groups)
    missed = short_of(results, bars)
    (folder / "performance.md").write_text(page(results, groups, bars, missed))
    for row in missed:
        print("short: " + ", ".join(row))
    print(f"{folder / 'performance.md'} is written.")
