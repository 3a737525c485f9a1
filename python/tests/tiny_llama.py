"""A Llama of two layers with random numbers, as a folder; its tokens are bytes."""

import json

import numpy as np

import hologram as hg

WIDTH, WIDE, LAYERS, HEADS, KEY_HEADS, LENGTH = 32, 48, 2, 4, 2, 8
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "hidden_size": WIDTH, "intermediate_size": WIDE, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "num_key_value_heads": KEY_HEADS, "vocab_size": 256, "max_position_embeddings": 128,
    "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu", "tie_word_embeddings": False,
}  # fmt: skip


def characters():
    """GPT-2's character for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}


def save(folder):
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    tokenizer = {
        "model": {"type": "BPE", "vocab": characters(), "merges": []}, "added_tokens": [],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True},
    }  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    rng = np.random.default_rng(3)
    state = {}

    def matrix(name, rows, columns):
        state[name + ".weight"] = rng.standard_normal((rows, columns)).astype("f") * columns**-0.5

    def norm(name):
        state[name + ".weight"] = (1 + rng.standard_normal(WIDTH) * 0.1).astype("f")

    for layer in range(LAYERS):
        front = f"model.layers.{layer}."
        for part, rows, columns in [
            ("self_attn.q_proj", HEADS * LENGTH, WIDTH), ("self_attn.k_proj", KEY_HEADS * LENGTH, WIDTH),
            ("self_attn.v_proj", KEY_HEADS * LENGTH, WIDTH), ("self_attn.o_proj", WIDTH, HEADS * LENGTH),
            ("mlp.gate_proj", WIDE, WIDTH), ("mlp.up_proj", WIDE, WIDTH), ("mlp.down_proj", WIDTH, WIDE),
        ]:  # fmt: skip
            matrix(front + part, rows, columns)
        norm(front + "input_layernorm")
        norm(front + "post_attention_layernorm")
    matrix("model.embed_tokens", 256, WIDTH)
    matrix("lm_head", 256, WIDTH)
    norm("model.norm")
    hg.save(folder / "model.safetensors", {name: hg.asarray(numbers) for name, numbers in state.items()})
