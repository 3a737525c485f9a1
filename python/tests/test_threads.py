"""Threads, the end of the process, fork, and Ctrl-C: nothing is lost and nothing crashes."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import hologram as hg


def run(text, timeout=60, **kwargs):
    """A program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(text)],
        capture_output=True, text=True, timeout=timeout, **kwargs,
    )  # fmt: skip


def test_threads_share_tensors(seconds):
    shared = [hg.asarray(np.random.default_rng(k).standard_normal((64, 64))) for k in range(4)]
    expected = [np.asarray(x) for x in shared]
    lazy = [x @ x + 1 for x in shared]
    wrong, end = [], time.monotonic() + seconds

    def work(number):
        rng = np.random.default_rng(number)
        while time.monotonic() < end and not wrong:
            k = int(rng.integers(4))
            made = (shared[k] * number + lazy[k])[:8]
            right = (expected[k] * number + (expected[k] @ expected[k] + 1))[:8]
            if not np.allclose(np.asarray(made), right):
                wrong.append((number, k))
            mine = shared[k][0]
            mine[0] = number
            if mine[0].item() != number or shared[k][0, 0].item() != expected[k][0, 0]:
                wrong.append((number, k, "assignment"))
            source = np.full(100, number, "float32")
            if hg.sum(hg.asarray(source, copy=False)).item() != 100 * number:
                wrong.append((number, k, "borrowed"))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_threads_run_while_work_is_done():
    a = hg.ones((1500, 1500), dtype=hg.float64).eval()
    counted, done = [0], threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    for _ in range(3):
        (a @ a).eval()
    done.set()
    thread.join()
    assert counted[0] > 3


def test_a_thread_has_an_executor_of_its_own():
    mine, seen = hg.Executor("cpu"), []
    with hg.use(mine):
        assert hg.ones(1).executor == mine
        thread = threading.Thread(target=lambda: seen.append(hg.ones(1).executor))
        thread.start()
        thread.join()
    assert seen[0] != mine and hg.ones(1).executor != mine


def test_the_process_ends_while_work_is_under_way():
    for _ in range(3):
        ended = run(
            """
            import threading, time, hologram as hg
            a = hg.ones((700, 700), dtype=hg.float64)
            def work():
                while True:
                    (a @ a).eval()
            for _ in range(3):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(0.3)
            print("over")
            """
        )
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, "over\n", "")


def test_the_process_ends_with_borrowed_memory():
    ended = run(
        """
        import numpy as np, hologram as hg
        kept = hg.asarray(np.arange(1000.0), copy=False) + 1
        given = np.from_dlpack(hg.ones(10))
        view = memoryview(hg.ones(10))
        """
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_after_an_interrupt_everything_goes_on():
    a = hg.ones((900, 900), dtype=hg.float64).eval()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for delay in (0.0, 0.001, 0.01, 0.05):
            timer = threading.Timer(delay, lambda: os.kill(os.getpid(), signal.SIGINT))
            with pytest.raises(KeyboardInterrupt):
                timer.start()
                while True:
                    made = a @ a
                    made.eval()
            timer.join()
            assert (a @ a)[0, 0].item() == 900
    finally:
        signal.signal(signal.SIGINT, before)


def test_fork():
    ended = run(
        """
        import os, hologram as hg
        a = hg.ones(100000)
        before = hg.sum(a + 1).item()
        child = os.fork()
        if child == 0:
            ok = a.shape == (100000,) and before == 200000 and hg.sum(a + 1).item() == 200000
            os._exit(0 if ok else 1)
        _, status = os.waitpid(child, 0)
        assert hg.sum(a + 1).item() == 200000
        print(os.waitstatus_to_exitcode(status))
        """
    )
    assert (ended.returncode, ended.stdout.strip()) == (0, "0"), ended.stderr
