"""A made-up encoder of BERT's kind as a folder: config.json, vocab.txt and safetensors with random numbers."""

import json
import pathlib
import random
import struct

WIDTH, WIDE, LAYERS, POSITIONS = 16, 32, 2, 48
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "cat", "dog", "small", "the", "##s", *"bcdefghijklmnopqrstuvwxyz"]
CONFIG = {
    "model_type": "bert", "hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": 2,
    "intermediate_size": WIDE, "hidden_act": "gelu", "layer_norm_eps": 1e-12, "vocab_size": len(WORDS),
}  # fmt: skip


def shapes():
    yield "embeddings.word_embeddings.weight", [len(WORDS), WIDTH]
    yield "embeddings.position_embeddings.weight", [POSITIONS, WIDTH]
    yield "embeddings.token_type_embeddings.weight", [2, WIDTH]
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        front = f"encoder.layer.{layer}."
        parts = {f"attention.self.{part}": (WIDTH, WIDTH) for part in ("query", "key", "value")}
        parts |= {"attention.output.dense": (WIDTH, WIDTH), "intermediate.dense": (WIDE, WIDTH), "output.dense": (WIDTH, WIDE)}
        for name, (rows, columns) in parts.items():
            yield f"{front}{name}.weight", [rows, columns]
            yield f"{front}{name}.bias", [rows]
        norms += [front + "attention.output.LayerNorm", front + "output.LayerNorm"]
    for name in norms:
        yield name + ".weight", [WIDTH]
        yield name + ".bias", [WIDTH]


def save(folder):
    folder = pathlib.Path(folder)
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    rng = random.Random(5)
    header, data = {}, b""
    for name, shape in shapes():
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        middle = 1.0 if "LayerNorm.weight" in name else 0.0
        numbers = struct.pack(f"<{count}f", *(rng.gauss(middle, 0.4) for _ in range(count)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(numbers)]}
        data += numbers
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + data)
