"""Language models: what is said of wrong files, and a real model where scripts/models has fetched it."""


import numpy as np
import pytest

import hologram as hg
from model_files import SMOL


@pytest.fixture(scope="module")
def model():
    if not SMOL.exists():
        pytest.skip("scripts/models has not fetched SmolLM2")
    return hg.llm.load(SMOL, context=256, device="cpu")


def test_wrong_files_are_told(tmp_path):
    with pytest.raises(hg.IoError):
        hg.llm.load(tmp_path / "missing.gguf")
    damaged = tmp_path / "damaged.gguf"
    damaged.write_bytes(b"GGUF" + bytes(3) + b"\xff" * 40)
    with pytest.raises(hg.Error):
        hg.llm.load(damaged)
    with pytest.raises(hg.Error):
        hg.llm.memory_of(damaged)


def test_the_likeliest_tokens(model):
    assert model.architecture == "llama" and model.vocabulary == 49152 and model.context == 256
    tokens = model.tokenize("The capital of France is")
    assert model.text_of(tokens) == "The capital of France is"
    answer = model.generate(tokens, max_tokens=8, greedy=True)
    assert "Paris" in answer.text and answer.prompt_tokens == len(tokens)
    assert answer.tokens[0] == int(np.asarray(model.logits(tokens)).argmax())
    assert answer.tokens == model.generate("The capital of France is", max_tokens=8, greedy=True).tokens


def test_answers_come_in_pieces_and_can_be_ended(model):
    pieces = []
    messages = [{"role": "user", "content": "Say hello."}]
    answer = model.chat(messages, max_tokens=12, greedy=True, on_text=pieces.append)
    assert "".join(pieces) == answer.text and "<|im_start|>user" in model.chat_prompt(messages)
    assert model.generate("One, two,", max_tokens=20, on_text=lambda text: False).finish_reason == "cancelled"
    with pytest.raises(ZeroDivisionError):
        model.generate("One", max_tokens=4, on_text=lambda text: 1 / 0)
    with pytest.raises(TypeError, match="unknown options"):
        model.generate("One", tokens=4)


def test_memory_is_known_before(model):
    needed = hg.llm.memory_of(SMOL, context=256)
    assert needed.total >= needed.weights + needed.cache and 80e6 < needed.weights < 250e6
