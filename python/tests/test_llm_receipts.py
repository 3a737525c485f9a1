"""Receipts: an answer is computed again and compared, and one changed bit is named by its layer."""

import json

import numpy as np
import pytest

import hologram as hg
from model_files import SMOL


@pytest.fixture(scope="module")
def made():
    if not SMOL.exists():
        pytest.skip("scripts/models has not fetched SmolLM2")
    model = hg.llm.load(SMOL, context=64, device="cpu")
    prompt = model.tokenize("The capital of France is")
    receipt = hg.llm.make_receipt(
        SMOL, prompt, context=64, device="cpu", max_tokens=6, temperature=0.9, seed=3
    )
    return model, prompt, receipt


def test_the_answer_is_that_of_generate(made):
    model, prompt, receipt = made
    answer = model.generate(prompt, max_tokens=6, temperature=0.9, seed=3)
    what = json.loads(receipt)
    assert what["tokens"] == answer.tokens and what["text"] == answer.text and what["prompt"] == prompt
    assert len(what["logits"]) == 6 and {"model", "blk.0", "blk.29"} <= what["layers"].keys()


def test_verified_again(made):
    seen = hg.llm.verify(made[2], SMOL, device="cpu")
    assert seen.equal and seen.text == "6 of 6 tokens, logits identical" and not seen.changed_layers


def test_one_bit_is_named_by_its_layer(made, tmp_path):
    data = bytearray(SMOL.read_bytes())
    # Of the last layers' weights, which stand at the end.
    data[-5000] ^= 4
    (tmp_path / "changed.gguf").write_bytes(data)
    seen = hg.llm.verify(made[2], tmp_path / "changed.gguf", device="cpu")
    assert not seen.equal and len(seen.changed_layers) == 1 and seen.changed_layers[0] in seen.text
    assert seen.equal_tokens == 0


def test_activations_are_recorded(made):
    model, prompt, receipt = made
    assert model.activations == "bytes" and json.loads(receipt)["settings"]["activations"] == "bytes"
    exact = hg.llm.make_receipt(SMOL, prompt, context=64, device="cpu", activations="exact", max_tokens=2)
    assert json.loads(exact)["settings"]["activations"] == "exact"
    assert json.loads(exact)["logits"][0] != json.loads(receipt)["logits"][0]
    assert hg.llm.verify(exact, SMOL, device="cpu").equal
    # Before there was a choice all were exact.
    before = json.loads(exact)
    del before["settings"]["activations"]
    assert hg.llm.verify(json.dumps(before), SMOL, device="cpu").equal
    with pytest.raises(ValueError, match="'exact' or 'bytes'"):
        hg.llm.load(SMOL, activations="floats")


def test_other_logits_are_found(made):
    changed = json.loads(made[2])
    changed["logits"][3] = "0" * 64
    seen = hg.llm.verify(json.dumps(changed), SMOL, device="cpu")
    assert not seen.equal and seen.equal_tokens == 6 and seen.equal_logits == 3


def test_a_receipt_has_to_agree_with_itself(made):
    for change in ({"tokens": [1, 2]}, {"model": "0" * 64}, {"prompt": [1]}, {"hologram_receipt": 2}):
        with pytest.raises(hg.IoError, match="no receipt"):
            hg.llm.verify(json.dumps({**json.loads(made[2]), **change}), SMOL)
    for text in ("", "{}", "[]"):
        with pytest.raises(hg.IoError):
            hg.llm.verify(text, SMOL)


def test_numbers_are_bits(made):
    model, prompt, receipt = made
    import hashlib

    fresh = hg.llm.load(SMOL, context=64, device="cpu")
    digest = hashlib.sha256(np.asarray(fresh.logits(prompt)).tobytes()).hexdigest()
    assert digest == json.loads(receipt)["logits"][0]
    assert json.loads(receipt)["tokens_digest"] == hashlib.sha256(
        np.array(json.loads(receipt)["tokens"], np.int32).tobytes()
    ).hexdigest()
