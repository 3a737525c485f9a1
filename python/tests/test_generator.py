"""hg.random.Generator: the numbers of Philox4x32-10 as written down here again, their state, split."""

import copy
import json
import pickle
import threading

import numpy as np
import pytest

import hologram as hg

WORD = 0xFFFFFFFF


def philox(key, counter, block):
    """One block of Philox4x32-10 (Salmon et al., 2011): four words."""
    k0, k1 = key & WORD, key >> 32
    c = [counter & WORD, counter >> 32, block & WORD, block >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k0, b & WORD, (a >> 32) ^ c[3] ^ k1, a & WORD]
        k0, k1 = (k0 + 0x9E3779B9) & WORD, (k1 + 0xBB67AE85) & WORD
    return c


def test_the_rounds_are_those_of_the_paper():
    # The known answers that the authors publish beside it.
    assert philox(0, 0, 0) == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    assert philox(2**64 - 1, 2**64 - 1, 2**64 - 1) == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.parametrize("seed", [0, 7, 2**64 - 1])
def test_uniform_numbers_are_words_of_philox(seed):
    generator = hg.random.Generator(seed)
    for counter in range(3):
        # 256 elements take the first words of their blocks, the next 256 the second ones, and so on.
        words = [philox(seed, counter, i // 1024 * 256 + i % 256)[i // 256 % 4] for i in range(1500)]
        right = (np.array(words, "uint32") >> 8).astype("float32") * np.float32(2**-24)
        assert np.array_equal(np.asarray(generator.uniform(1500)), right)
    assert generator.state == {"key": seed, "counter": 3}


def test_the_sequence_of_an_executor_has_the_same_numbers():
    hg.random.seed(5)
    generator = hg.random.default_rng(5)
    for draw in ("uniform", "normal", "exponential"):
        assert getattr(hg.random, draw)((2, 3)).tolist() == getattr(generator, draw)((2, 3)).tolist()
    assert hg.random.get_state() == generator.state
    assert hg.random.gamma(2.5, 4).tolist() == generator.gamma(2.5, 4).tolist()
    assert hg.random.poisson(20.0, 4).tolist() == generator.poisson(20.0, 4).tolist()
    assert hg.random.choice(10, 5, replace=False).tolist() == generator.choice(10, 5, replace=False).tolist()
    assert hg.random.get_state() == generator.state


def test_what_is_drawn_elsewhere_changes_nothing():
    first = hg.random.Generator(1).normal(5).tolist()
    generator = hg.random.Generator(1)
    hg.random.uniform(3).eval()
    hg.random.Generator(1).uniform(3).eval()
    assert generator.normal(5).tolist() == first
    assert generator.normal(5).tolist() != first
    one, several = hg.Executor("cpu", num_threads=1), hg.Executor("cpu", num_threads=4)
    drawn = [hg.random.Generator(1).normal(100000, device=e) for e in (one, several)]
    assert np.array_equal(np.asarray(drawn[0]), np.asarray(drawn[1]))


def test_the_state_goes_there_and_back():
    generator = hg.random.Generator(3)
    generator.uniform(2)
    kept = json.loads(json.dumps(generator.state))
    twins = [copy.copy(generator), copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))]
    first = generator.randint(0, 100, 6).tolist()
    assert all(twin.randint(0, 100, 6).tolist() == first for twin in twins)
    assert twins[0] == generator and generator != hg.random.Generator(3)
    generator.state = kept
    assert generator.randint(0, 100, 6).tolist() == first
    hg.random.set_state(kept)
    assert hg.random.randint(0, 100, 6).tolist() == first
    assert repr(generator) == "Generator(key=3, counter=2)"


def test_training_goes_on_from_a_checkpoint(tmp_path):
    def step(model, optimizer, generator):
        x = generator.normal((8, 3))
        keep = generator.bernoulli(0.5, (8, 3))
        return optimizer.step(lambda: hg.mean((model(hg.where(keep, x, 0.0)) - 1) ** 2)).item()

    def fresh():
        hg.random.seed(0)
        model = hg.nn.Linear(3, 2)
        return model, hg.optim.Adam(model, lr=0.1), hg.random.Generator(9)

    parts = fresh()
    for _ in range(3):
        step(*parts)
    state = {}
    for name, part in zip(("model", "optimizer", "generator"), parts):
        state |= {f"{name}.{key}": value for key, value in part.state_dict().items()}
    hg.save(tmp_path / "checkpoint.safetensors", state)
    after = [step(*parts) for _ in range(3)]

    found, again = hg.load(tmp_path / "checkpoint.safetensors"), fresh()
    for name, part in zip(("model", "optimizer", "generator"), again):
        start = name + "."
        part.load_state_dict({k.removeprefix(start): v for k, v in found.items() if k.startswith(start)})
    assert [step(*again) for _ in range(3)] == after
    large = hg.random.Generator(2**64 - 1)
    other = hg.random.Generator()
    other.load_state_dict(large.state_dict())
    assert other == large


def test_split_gives_generators_that_have_nothing_in_common():
    generator = hg.random.Generator(4)
    first, second = generator.split(3), generator.split(3)
    keys = [g.state["key"] for g in first + second]
    assert len(set(keys)) == 6 and 4 not in keys
    # By the words of blocks that no element comes to.
    last = philox(4, 0, 2**64 - 1)
    assert keys[0] == last[1] << 32 | last[0]
    assert all(g.state["counter"] == 0 for g in first)
    assert [g.state["key"] for g in hg.random.Generator(4).split(3)] == keys[:3]
    assert generator.split(0) == []
    drawn = np.array([np.asarray(g.normal(20000)) for g in first + second])
    assert np.abs(np.corrcoef(drawn) - np.eye(6)).max() < 0.04


def test_threads_draw_from_what_was_split():
    def all_of(parts):
        sums = [None] * len(parts)

        def work(k):
            sums[k] = [hg.sum(parts[k].uniform(1000)).item() for _ in range(20)]

        threads = [threading.Thread(target=work, args=(k,)) for k in range(len(parts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sums

    first = all_of(hg.random.Generator(2).split(4))
    assert all_of(hg.random.Generator(2).split(4)) == first


def test_what_is_refused_draws_nothing():
    generator = hg.random.Generator(1)
    for wrong in (
        lambda: generator.uniform(3, dtype=hg.int32), lambda: generator.randint(5, 5, 3),
        lambda: generator.randint(0, 300, 3, dtype=hg.uint8), lambda: generator.split(-1),
        lambda: hg.random.Generator(-1), lambda: hg.random.Generator(2**64), lambda: hg.random.Generator(1.5),
        lambda: setattr(generator, "state", {"key": 1}), lambda: hg.random.set_state({"key": -1, "counter": 0}),
        lambda: generator.load_state_dict({}),
    ):  # fmt: skip
        with pytest.raises(hg.Error) as error:
            wrong()
        assert error.value.remedy
    assert generator.state == {"key": 1, "counter": 0}
