"""Ctrl-C at many points of long work: nothing is lost, nothing is left behind, and the next call is right."""

import os
import subprocess
import sys
import textwrap

import pytest

# As long as a search for mistakes goes on: 18 unless HOLOGRAM_PYTHON_FUZZ_SECONDS says more.
POINTS = int(6 * float(os.environ.get("HOLOGRAM_PYTHON_FUZZ_SECONDS", 3)))


def run(text, timeout=240):
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(BEGINNING).replace("{points}", str(POINTS)) + textwrap.dedent(text)],
        capture_output=True, text=True, timeout=timeout,
    )  # fmt: skip


BEGINNING = """
    import gc, os, pathlib, signal, tempfile, threading, time
    import numpy as np
    import hologram as hg

    signal.signal(signal.SIGINT, signal.default_int_handler)
    executor = hg.Executor("cpu", num_threads=2)
    hg.set_default_executor(executor)
    folder = pathlib.Path(tempfile.mkdtemp())

    def interrupted(work, delay):
        # Whether KeyboardInterrupt came out of the work, which goes on until it does. What Python swallows, as in
        # the end of an object, comes again.
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
        try:
            signal.setitimer(signal.ITIMER_REAL, delay + 1e-6, 20)
            while True:
                work()
        except KeyboardInterrupt:
            signal.setitimer(signal.ITIMER_REAL, 0)
            return True

    def at_many_points(work, check, points={points}, most=0.03):
        check()
        gc.collect()
        executor.synchronize()
        before, threads = executor.memory()["live_bytes"], len(os.listdir("/proc/self/task"))
        for k in range(points):
            assert interrupted(work, most * k / points)
            check()
            gc.collect()
            executor.synchronize()
            after = executor.memory()["live_bytes"]
            assert after == before, (k, after - before)
        assert len(os.listdir("/proc/self/task")) <= threads + 1
        print("whole")
"""

WORK = {
    "evaluation": """
        a = hg.asarray(np.random.default_rng(0).standard_normal((200, 200)))
        right = np.tanh(np.asarray(a) @ np.asarray(a)).sum(axis=0)

        def work():
            y = a
            for _ in range(6):
                y = hg.tanh(y @ a) + hg.cumulative_sum(y, axis=0) * 1e-3
            return hg.sort(y, axis=1).eval()

        def check():
            np.testing.assert_allclose(np.asarray(hg.sum(hg.tanh(a @ a), axis=0)), right)
    """,
    "reading": """
        a = hg.ones((300, 1000))

        def work():
            np.asarray(a * 2 + 1)
            (a + 1).tolist()
            np.from_dlpack((a * 3).eval())
            str(a)

        def check():
            assert (a * 2).sum().item() == 600000
    """,
    "a program and a captured calculation": """
        program = hg.Program(
            "program walk(in x: f32[n], out y: f32[n]) lanes(n) { i = global_id.x;"
            " if i < n { var s = x[i]; for k in 0..200 { s = s * 0.5 + 1.0 }; y[i] = s } }")
        step = hg.capture(lambda x: hg.softmax(x * 2, axis=-1), hg.ones((64, 256)))
        x, square = hg.zeros(20000), hg.ones((64, 256))

        def work():
            program(x=x).eval()
            step(square).eval()

        def check():
            assert abs(program(x=x)[7].item() - 2) < 1e-5
            assert abs(step(square)[3, 4].item() - 1 / 256) < 1e-7
    """,
    "training": """
        hg.random.seed(0)
        model = hg.nn.Sequential(hg.nn.Linear(20, 50), hg.nn.ReLU(), hg.nn.Linear(50, 1))
        optimizer = hg.optim.Adam(model, lr=1e-3)
        x = hg.random.normal((256, 20)).eval()
        optimizer.step(lambda: hg.mean(model(x) ** 2))

        def work():
            optimizer.step(lambda: hg.mean(model(x) ** 2))

        def check():
            state = {**model.state_dict(), **optimizer.state_dict()}
            hg.eval(*(v for v in state.values() if isinstance(v, hg.Tensor)))
            assert all(bool(hg.all(hg.isfinite(v))) for v in state.values() if isinstance(v, hg.Tensor))
            assert hg.isfinite(hg.mean(model(x))).item()
    """,
    "files": """
        x = hg.arange(200000, dtype=hg.float32).eval()

        def work():
            hg.save(folder / "x.npy", x + 1)
            hg.load(folder / "x.npy")

        def check():
            # A file is there whole or not at all, and nothing lies beside it.
            assert os.listdir(folder) in ([], ["x.npy"]), os.listdir(folder)
            if (folder / "x.npy").exists():
                assert np.array_equal(np.load(folder / "x.npy"), np.arange(200000, dtype="float32") + 1)
    """,
}


@pytest.mark.parametrize("name", WORK)
def test_at_many_points(name):
    ended = run(textwrap.dedent(WORK[name]) + "\nat_many_points(work, check)\n")
    assert (ended.returncode, ended.stdout) == (0, "whole\n"), ended.stderr


def test_what_is_borrowed_comes_back():
    ended = run(
        """
        import weakref
        class Kept(np.ndarray):
            pass

        def work():
            source = np.ones(50000, "float32").view(Kept)
            kept.append(weakref.ref(source))
            (hg.asarray(source, copy=False) * 2 + hg.asarray(source, copy=False)).eval()

        kept = []
        for k in range(30):
            assert interrupted(work, 0.001 * k)
        for _ in range(100):
            hg.ones(3).eval()
            gc.collect()
            executor.synchronize()
        alive = sum(ref() is not None for ref in kept)
        assert alive <= 1, (alive, len(kept))
        print("whole")
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "whole\n"), ended.stderr


def test_a_process_that_ctrl_c_ends_says_so_and_no_more():
    ended = run(
        """
        a = hg.ones((400, 400))
        def others():
            while True:
                (a @ a).eval()
        for _ in range(2):
            threading.Thread(target=others, daemon=True).start()
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        while True:
            (a @ a).eval()
        """
    )
    assert ended.returncode in (1, 130, -2), ended
    assert ended.stderr.strip().endswith("KeyboardInterrupt") and "Fatal" not in ended.stderr, ended.stderr


def test_fork_while_other_threads_evaluate():
    ended = run(
        """
        a = hg.ones((300, 300)).eval()
        stop = threading.Event()
        def others():
            while not stop.is_set():
                (a @ a).eval()
        threads = [threading.Thread(target=others) for _ in range(3)]
        for thread in threads:
            thread.start()
        for k in range(10):
            time.sleep(0.005 * k)
            child = os.fork()
            if child == 0:  # what a child of a process with threads may do: start another program
                os.execv("/bin/true", ["true"])
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
            assert (a @ a)[0, 0].item() == 300
        stop.set()
        for thread in threads:
            thread.join()
        print("whole")
        """
    )
    assert (ended.returncode, ended.stdout) == (0, "whole\n"), ended.stderr
