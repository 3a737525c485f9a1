"""LoRA adapters as PEFT saves them, beside transformers with the same products merged into its weights.
scripts/check-llm runs this where there is transformers."""

import json

import numpy as np
import pytest

import hologram as hg

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")
from test_llm_folders import MODELS, differences, save_model  # noqa: E402


def save_adapter(folder, model, targets, rank=4, seed=1, **config):
    """A folder as PEFT writes it; what it adds by layer, before scales."""
    folder.mkdir()
    torch.manual_seed(seed)
    state, deltas = {}, {}
    for name, weight in model.named_parameters():
        if not any(name.endswith(target + ".weight") for target in targets):
            continue
        a, b = torch.randn(rank, weight.shape[1]) * 0.2, torch.randn(weight.shape[0], rank) * 0.2
        key = "base_model.model." + name.removesuffix(".weight")
        state[key + ".lora_A.weight"], state[key + ".lora_B.weight"] = a.contiguous(), b.contiguous()
        deltas[name] = b @ a
    safetensors.save_file(state, folder / "adapter_model.safetensors")
    given = {
        "peft_type": "LORA", "r": rank, "lora_alpha": 8, "target_modules": targets, "bias": "none",
        "modules_to_save": None, "use_dora": False, "use_rslora": False, "rank_pattern": {}, **config,
    }  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(given))
    return deltas


def merged(model, deltas, scale):
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name in deltas:
                weight += deltas[name] * scale
    return model


TARGETS = {
    "llama": ["q_proj", "v_proj"],
    "llama, biases": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"],
    "phi3": ["qkv_proj", "o_proj", "gate_up_proj"],
    "gemma3": ["k_proj", "down_proj"],
}


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("file", [False, True], ids=["folder", "gguf"])
def test_logits_are_those_of_merged_weights(name, file, tmp_path):
    model = save_model(tmp_path / "model", name)
    deltas = save_adapter(tmp_path / "adapter", model, TARGETS[name])
    path = tmp_path / "model"
    if file:
        path = tmp_path / "model.gguf"
        hg.llm.quantize(tmp_path / "model", path, "f32")
    plain = differences(path, model, 20)
    merged(model, deltas, 8 / 4)
    assert plain <= 2e-4 and differences(path, model, 20) > 0.02
    assert differences(path, model, 20, adapters=[tmp_path / "adapter"]) <= 3e-4


def test_scales_and_several_at_once(tmp_path):
    model = save_model(tmp_path / "model", "llama")
    first = save_adapter(tmp_path / "first", model, ["q_proj", "o_proj"], 4)
    second = save_adapter(tmp_path / "second", model, ["q_proj", "up_proj"], 2, 2, use_rslora=True)
    merged(model, first, 0.5 * 8 / 4)
    merged(model, second, -1.5 * 8 / 2**0.5)
    adapters = [(tmp_path / "first", 0.5), (tmp_path / "second", -1.5)]
    assert differences(tmp_path / "model", model, 20, adapters=adapters) <= 3e-4


def test_a_quantised_model_takes_an_adapter(tmp_path):
    model = save_model(tmp_path / "model", "llama")
    save_adapter(tmp_path / "adapter", model, ["q_proj", "v_proj"])
    hg.llm.quantize(tmp_path / "model", tmp_path / "model.gguf", "q8_0")
    with_it = hg.llm.load(tmp_path / "model.gguf", adapters=[tmp_path / "adapter"])
    without = hg.llm.load(tmp_path / "model.gguf", adapters=[(tmp_path / "adapter", 0.0)])
    plain = hg.llm.load(tmp_path / "model.gguf")
    tokens = list(range(9))
    a, b, c = (np.asarray(m.logits(tokens)) for m in (with_it, without, plain))
    assert abs(b - c).max() < 1e-4 and abs(a - c).max() > 0.02


def test_what_does_not_fit_is_told(tmp_path):
    model = save_model(tmp_path / "model", "llama")
    other = save_model(tmp_path / "other", "llama, biases")
    save_adapter(tmp_path / "wrong", other, ["q_proj"])
    with pytest.raises(hg.Error, match="lora_b"):
        hg.llm.load(tmp_path / "model", adapters=[tmp_path / "wrong"])
    for number, (change, word) in enumerate(
        (({"use_dora": True}, "use_dora"), ({"peft_type": "IA3"}, "another type"), ({"bias": "all"}, "biases"),
         ({"modules_to_save": ["lm_head"]}, "modules_to_save"))
    ):  # fmt: skip
        save_adapter(tmp_path / f"adapter{number}", model, ["q_proj"], **change)
        with pytest.raises(hg.UnsupportedOperation, match=word):
            hg.llm.load(tmp_path / "model", adapters=[tmp_path / f"adapter{number}"])
    with pytest.raises(hg.IoError):
        hg.llm.load(tmp_path / "model", adapters=[tmp_path / "missing"])
    save_model(tmp_path / "experts", "mixtral")
    with pytest.raises(hg.UnsupportedOperation, match="experts"):
        hg.llm.load_lora(tmp_path / "experts")
    deltas = save_adapter(tmp_path / "half", model, ["q_proj"])
    state = safetensors.load_file(tmp_path / "half/adapter_model.safetensors")
    state.pop(next(key for key in state if "lora_B" in key))
    safetensors.save_file(state, tmp_path / "half/adapter_model.safetensors")
    assert deltas
    with pytest.raises(hg.IoError, match="pairs"):
        hg.llm.load(tmp_path / "model", adapters=[tmp_path / "half"])
    assert "llama" in MODELS
