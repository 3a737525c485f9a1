"""The bilateral filter as an Atlas program, as a plain loop, and as OpenCV has it, in turns."""

import json
import statistics
import subprocess
import time

import cv2
import numpy

WIDTH, HEIGHT, SIGMA_SPACE, SIGMA_RANGE = 1500, 1000, 4.0, 0.08  # as bench_bilateral's


def opencv(picture):
    """Seconds of one call. Its window is a disc of the same radius; its distance of colours is the sum
    of the channels', and its exponential comes from a table."""
    start = time.perf_counter()
    cv2.bilateralFilter(picture, 2 * round(2 * SIGMA_SPACE) + 1, SIGMA_RANGE, SIGMA_SPACE)
    return time.perf_counter() - start


def race(program, environment, threads, rounds):
    """Medians of so many rounds, in seconds, by who it is; `program` is bench_bilateral."""
    cv2.setNumThreads(threads)
    picture = numpy.random.default_rng(1).random((HEIGHT, WIDTH, 3), dtype=numpy.float32)
    opencv(picture)
    times = {}
    for _ in range(rounds):
        done = subprocess.run([program, "--rounds", "2", "--json"], capture_output=True, text=True, check=True,
                              env=environment | {"HOLOGRAM_NUM_THREADS": str(threads)})
        turn = json.loads(done.stdout) | {f"OpenCV {cv2.__version__}": min(opencv(picture) for _ in range(2))}
        for name, seconds in turn.items():
            times.setdefault(name, []).append(seconds)
    return {name: statistics.median(seconds) for name, seconds in times.items()}
