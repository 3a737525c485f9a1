#!/usr/bin/env python3
"""compare_cpu.py --build FOLDER: runs `hologram bench` beside everybody there is, one run after the
other, and writes the report. scripts/compare-cpu builds what it needs, calls it and tells its options.
"""

import argparse
import datetime
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import time

import compare_report
from compare_bars import FUNCTIONS, ORDERS, threads_text, together

ROOT = pathlib.Path(__file__).resolve().parent.parent
FLAT = ["add", "fma", "sigmoid", "twelve", "gelu", "exp", "sum", "dot", "row-sums", "column-sums"]
ROWS = ["softmax", "layer-norm"]
CONVOLUTIONS = ["conv2d", "conv2d-1x1", "conv2d-depthwise", "conv2d-stride2", "conv2d-nchw"]


def squares(*sides):
    return [side * side for side in sides]


def images(*sides):
    return [side * side * 64 for side in sides]


# What else a machine does for a minute hits one pass: rounds of the same work are minutes apart.
PASSES, ROUNDS = 3, 5
# Works, sizes, sizes of a quick run.
GROUPS = {
    "arrays": (FLAT + ROWS, [10**3, 10**5, 10**7], [10**3, 10**5, 10**7]),
    "functions": (list(FUNCTIONS), [10**5, 10**7], [10**5]),
    "order": (list(ORDERS), [10**3, 10**5, 10**6], [10**3, 10**5, 10**6]),
    "gemv": (["vector-matrix", "matrix-vector"], [10**5, 10**7], [10**5, 10**7]),
    "sgemm": (["matmul"], squares(256, 512, 1024, 2048, 4096), squares(256, 512, 1024)),
    "dgemm": (["matmul-f64"], squares(256, 512, 1024, 2048), squares(256, 512, 1024)),
    "conv2d": (CONVOLUTIONS, images(14, 56), images(14, 56)),
}
# Half of the time, in pieces that are short beside a turn.
BUSY = """
import time
while True:
    end = time.perf_counter() + 0.01
    while time.perf_counter() < end:
        pass
    time.sleep(0.01)
"""


def output_of(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


class Watch:
    """Which share of the processors others have taken since it was made."""

    def __init__(self):
        self.before = self.now()

    @staticmethod
    def now():
        first = pathlib.Path("/proc/stat").read_text().split("\n")[0]
        user, nice, system, idle, wait, *more = map(int, first.split()[1:])
        busy = user + nice + system + sum(more[:3])
        own = sum(os.times()[:4]) * os.sysconf("SC_CLK_TCK")  # with that of programs that have ended
        return busy - own, busy + idle + wait

    def percent(self):
        others, all_of_it = (b - a for a, b in zip(self.before, self.now()))
        return max(0, round(100 * others / max(all_of_it, 1)))


def machine():
    cpu = dict(re.findall(r"^\s*([^:\n]+):\s*(.*)$", output_of("lscpu"), re.M))
    caches = [f"{name} {cpu[key]}" for name, key in
              (("L1d", "L1d cache"), ("L2", "L2 cache"), ("L3", "L3 cache")) if key in cpu]
    memory = re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())
    pages = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
    return {
        "processor": cpu.get("Model name", "unknown"),
        "family, model, stepping": ", ".join(cpu.get(k, "?") for k in ("CPU family", "Model", "Stepping")),
        "cores": os.cpu_count(),
        "caches": ", ".join(caches),
        "hypervisor": cpu.get("Hypervisor vendor", "none"),
        "memory": f"{int(memory.group(1)) / 2**20:.0f} GiB" if memory else "unknown",
        "huge pages": re.sub(r".*\[(\w+)\].*", r"\1", pages.read_text().strip()) if pages.exists() else "none",
        "system": f"{os.uname().sysname} {os.uname().release.partition('-')[0]}",
        **built(),
        "date": datetime.date.today().isoformat(),
    }


def built():
    """By what, of what; packed programs have been built elsewhere."""
    packed = ROOT / "built.json"
    if packed.exists():
        return json.loads(packed.read_text())
    return {
        "compiler": output_of("c++", "--version").split("\n")[0],
        "hologram": output_of("git", "-C", str(ROOT), "describe", "--always", "--dirty"),
    }


class Runs:
    def __init__(self, arguments):
        self.arguments = arguments
        self.bin = pathlib.Path(arguments.build) / "bin"
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("HOLOGRAM_")}
        self.environment |= {
            "HOLOGRAM_BACKEND": "cpu",
            # Compiled once, for this run and later ones.
            "TORCHINDUCTOR_CACHE_DIR": str(pathlib.Path(arguments.build).resolve() / "peers-cache"),
            "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no processes of its own
            # Idle threads of the libraries leave the processor to others within a millisecond.
            "GOMP_SPINCOUNT": "20000",
            "OPENBLAS_THREAD_TIMEOUT": "20",
        }

    def say(self, text):
        print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)

    def json_of(self, *command):
        done = subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(f"compare-cpu: {shlex.join(map(str, command))} failed with {done.returncode}")
        return json.loads(done.stdout)

    def bench(self, works, sizes, threads, rounds, turn, worker=True, processor_time=False):
        command = [self.bin / "hologram", "bench", *works, "--json", "--median"]
        command += ["--threads", threads, "--rounds", rounds, "--turn", turn]
        if processor_time:
            command += ["--processor-time"]
        for size in sizes:
            command += ["--size", size]
        if worker:
            peers = [sys.executable, str(ROOT / "bench" / "python_peers.py")]
            if self.arguments.quick:
                peers += ["--without", "torch.compile"]
            command += ["--beside", shlex.join(peers)]
        return self.json_of(*map(str, command))

    def group(self, name, threads, number):
        self.say(f"{name}, {threads_text(threads)}, pass {number}")
        works, sizes, quick_sizes = GROUPS[name]
        return self.bench(works, quick_sizes if self.arguments.quick else sizes, threads, ROUNDS, 6,
                          processor_time=self.arguments.processor_time)

    def beside_busy_process(self, threads):
        self.say(f"sgemm beside a busy process, {threads_text(threads)}")
        works, sizes, quick_sizes = GROUPS["sgemm"]
        # By the wall clock: that processors have to be shared is the point.
        busy = subprocess.Popen([sys.executable, "-c", BUSY])
        try:
            return self.bench(works, quick_sizes if self.arguments.quick else sizes, threads,
                              7 if self.arguments.quick else 15, 60, worker=False)
        finally:
            busy.kill()
            busy.wait()

    def bilateral(self, threads):
        import bilateral_opencv  # which a machine for a part of the works need not have

        self.say(f"bilateral filter, {threads_text(threads)}")
        return bilateral_opencv.race(self.bin / "bench_bilateral", self.environment, threads,
                                     2 if self.arguments.quick else 5)

    def start(self):
        self.say("start and compilation")
        times = [self.json_of(self.bin / "bench_start") for _ in range(5 if self.arguments.quick else 15)]
        return {key: statistics.median(t[key] for t in times) for key in times[0]}

    def overhead(self):
        self.say("overhead")
        told = self.json_of(self.bin / "bench_overhead", "--benchmark_format=json",
                            "--benchmark_filter=^(add_evaluated|twelve_evaluated|add_built)",
                            "--benchmark_repetitions=5", "--benchmark_min_time=0.2")
        return {b["run_name"].split("/")[0]: b["real_time"] for b in told["benchmarks"]
                if b.get("aggregate_name") == "median"}


def parts_of(runs, arguments):
    """What is measured, in this order, by name."""
    threads = sorted({1, min(2, os.cpu_count())})
    parts = {}
    for number in range(1, 2 if arguments.quick else PASSES + 1):
        for name in arguments.group or GROUPS:
            for t in threads:
                parts[f"{name}, {t}, {number}"] = lambda name=name, t=t, n=number: runs.group(name, t, n)
    if not arguments.group or "sgemm" in arguments.group:
        parts["busy"] = lambda: runs.beside_busy_process(threads[-1])
    for t in threads:
        parts[f"bilateral, {t}"] = lambda t=t: runs.bilateral(t)
    return parts | {"start": runs.start, "overhead": runs.overhead}


class Kept:
    """What parts have measured, in a folder if there is one: a run that was ended is gone on with, and
    the report can be written elsewhere."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder) if folder else None
        self.circumstances = None
        self.parts = {}
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(self.folder.glob("*.json")):
            try:
                part = json.loads(file.read_text())
                circumstances, name = part["circumstances"], part["name"]
            except (ValueError, LookupError, TypeError):
                sys.exit(f"compare-cpu: {file} is not what --keep writes: remove it, or use another folder")
            self.are(circumstances, file)
            self.parts[name] = part

    def are(self, circumstances, what):
        """All parts are measured in the same ones, if not on the same day."""
        before = self.circumstances = self.circumstances or circumstances
        other = [key for key in before if key != "date" and before[key] != circumstances.get(key)]
        if other:
            sys.exit(f"compare-cpu: {what} and what is kept in {self.folder} differ in {', '.join(other)}")

    def add(self, name, value, seconds, others):
        part = {"name": name, "value": value, "seconds": seconds, "others": others, "circumstances": self.circumstances}
        self.parts[name] = part
        if self.folder is not None:
            file = self.folder / f"{name.replace(', ', '-')}.json"
            new = file.with_suffix(".new")
            new.write_text(json.dumps(part))
            new.rename(file)

    def results(self):
        """Of all parts, as the report wants them."""
        seconds = sum(part["seconds"] for part in self.parts.values())
        results = {"machine": dict(self.circumstances), "runs": {}, "bilateral": {}}
        for key in ("quick", "clock"):
            results[key] = results["machine"].pop(key)
        passes = {}
        for name, part in self.parts.items():
            group, *of = name.split(", ")
            if group == "bilateral":
                results["bilateral"][of[0]] = part["value"]
            elif of:
                passes.setdefault(f"{group}, {of[0]}", []).append(part["value"])
            else:
                results[group] = part["value"]
        results["runs"] = {name: together(values) for name, values in passes.items()}
        if "busy" in results:
            results["busy"] = together([results["busy"]])
        taken = sum(part["others"] * part["seconds"] for part in self.parts.values()) / max(seconds, 1)
        results["machine"]["taken by others"] = round(taken)
        results["minutes"] = round(seconds / 60, 1)
        return results


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--quick", action="store_true", help="some minutes; without torch.compile")
    parser.add_argument("--processor-time", action="store_true",
                        help="count what processors do for it, on a machine that does other work, too")
    parser.add_argument("--out", default=str(ROOT / "docs"), help="where the report goes; docs unless given")
    parser.add_argument("--group", action="append", choices=list(GROUPS), help="only these")
    parser.add_argument("--keep", help="a folder for what is measured: what it has already is not measured again")
    parser.add_argument("--minutes", type=float, default=float("inf"),
                        help="no part begins later; without all of them there is no report")
    arguments = parser.parse_args()
    started = time.time()
    runs = Runs(arguments)
    here = machine() | {"quick": arguments.quick,
                        "clock": "processor time of all threads" if arguments.processor_time else "wall clock"}
    kept = Kept(arguments.keep)
    parts = parts_of(runs, arguments)
    if any(name not in kept.parts for name in parts):
        kept.are(here, "this run")
    for name, measure in parts.items():
        if name in kept.parts or time.time() - started > arguments.minutes * 60:
            continue
        watch, begun = Watch(), time.time()
        value = measure()
        kept.add(name, value, round(time.time() - begun, 1), watch.percent())
    if left := [name for name in parts if name not in kept.parts]:
        sys.exit(f"compare-cpu: {len(left)} of {len(parts)} parts are left: {'; '.join(left)}")
    kept.parts = {name: kept.parts[name] for name in parts}
    compare_report.write(kept.results(), pathlib.Path(arguments.out))


main()
