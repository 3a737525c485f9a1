"""hg.llm.quantize beside gguf-py, which reads and decodes what was written, and by what models make of it.
scripts/check-llm runs this where there are gguf and transformers."""


import numpy as np
import pytest

import hologram as hg
from model_files import FOLDER, SMOL

gguf = pytest.importorskip("gguf")

STORIES = FOLDER / "stories260K-F32.gguf"

# What normally distributed numbers lose at most.
MOST = {
    "f16": 4e-4, "bf16": 3e-3, "q8_0": 0.0065, "q6_k": 0.02, "q5_k": 0.04, "q5_1": 0.04, "q5_0": 0.045,
    "q4_k": 0.078, "q4_1": 0.085, "q4_0": 0.09, "iq4_nl": 0.083, "iq4_xs": 0.084, "mxfp4": 0.13, "q3_k": 0.16,
    "q2_k": 0.28,
}  # fmt: skip


def write_model(path, tensors):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint32("some.number", 7)
    writer.add_string("some.text", "as it was")
    writer.add_array("some.texts", ["a", "ü", ""])
    for name, data in tensors.items():
        writer.add_tensor(name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tensors_of(path):
    reader = gguf.GGUFReader(path)
    return {t.name: (t.tensor_type.name, gguf.dequantize(t.data, t.tensor_type)) for t in reader.tensors}, reader


def relative(wanted, got):
    return float(np.sqrt(((got - wanted) ** 2).sum() / (wanted**2).sum()))


@pytest.mark.parametrize("to", MOST)
def test_numbers_survive_as_gguf_py_reads_them(to, tmp_path):
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((70, 512)).astype(np.float32)
    wild = (rng.standard_normal((8, 512)) * 10.0 ** rng.integers(-6, 3, (8, 1))).astype(np.float32)
    shifted = (rng.random((8, 512)) + 3).astype(np.float32)
    zeros = np.zeros((3, 512), np.float32)
    norm = rng.standard_normal(512).astype(np.float32)
    write_model(tmp_path / "in.gguf", {
        "blk.0.ffn_up.weight": matrix, "blk.0.ffn_down.weight": wild, "blk.0.attn_q.weight": shifted,
        "blk.0.attn_k.weight": zeros, "blk.0.attn_norm.weight": norm,
    })  # fmt: skip
    made = hg.llm.quantize(tmp_path / "in.gguf", tmp_path / "out.gguf", to)
    read, reader = tensors_of(tmp_path / "out.gguf")
    name, up = read["blk.0.ffn_up.weight"]
    assert name == to.upper() and up.shape == matrix.shape
    assert relative(matrix, up) <= MOST[to]
    rows = {row.name: row for row in made.tensors}
    assert rows["blk.0.ffn_up.weight"].error == pytest.approx(relative(matrix, up), rel=1e-3)
    assert rows["blk.0.ffn_up.weight"].to == to.upper() and not rows["blk.0.ffn_up.weight"].fell_back
    assert (read["blk.0.attn_k.weight"][1] == 0).all()
    assert read["blk.0.attn_norm.weight"][0] == "F32" and (read["blk.0.attn_norm.weight"][1] == norm).all()
    for before, after in ((wild, "blk.0.ffn_down.weight"), (shifted, "blk.0.attn_q.weight")):
        assert np.isfinite(read[after][1]).all() and relative(before, read[after][1]) < 2 * MOST[to] + 0.02
    assert reader.fields["some.text"].contents() == "as it was" and reader.fields["some.number"].contents() == 7
    assert reader.fields["some.texts"].contents() == ["a", "ü", ""]
    assert (tmp_path / "out.gguf").stat().st_size >= made.bytes_after


def test_no_worse_than_gguf_py(tmp_path):
    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((64, 256)).astype(np.float32)
    write_model(tmp_path / "in.gguf", {"blk.0.ffn_up.weight": matrix})
    for to in ("q4_0", "q4_1", "q5_0", "q5_1", "q8_0"):
        hg.llm.quantize(tmp_path / "in.gguf", tmp_path / "out.gguf", to)
        kind = gguf.GGMLQuantizationType[to.upper()]
        theirs = gguf.dequantize(gguf.quantize(matrix, kind), kind)
        assert relative(matrix, tensors_of(tmp_path / "out.gguf")[0]["blk.0.ffn_up.weight"][1]) <= relative(
            matrix, theirs
        ) * (1.001)


def test_what_does_not_come_out_even_falls_back_and_is_told(tmp_path):
    rng = np.random.default_rng(3)
    shapes = {"blk.0.ffn_up.weight": 288, "blk.0.ffn_down.weight": 50, "output.weight": 512, "token_embd.weight": 512}
    write_model(
        tmp_path / "in.gguf", {n: rng.standard_normal((4, c)).astype(np.float32) for n, c in shapes.items()}
    )
    made = hg.llm.quantize(tmp_path / "in.gguf", tmp_path / "out.gguf", "q4_k")
    types = {row.name: (row.to, row.fell_back) for row in made.tensors}
    assert types == {
        "blk.0.ffn_up.weight": ("Q5_0", True), "blk.0.ffn_down.weight": ("F16", True),
        "output.weight": ("Q6_K", False), "token_embd.weight": ("Q4_K", False),
    }  # fmt: skip
    assert {n: t for n, (t, _) in tensors_of(tmp_path / "out.gguf")[0].items()} == {
        n: t for n, (t, _) in types.items()
    }
    made = hg.llm.quantize(tmp_path / "in.gguf", tmp_path / "out.gguf", "Q8_0", tensors={"ffn_down": "f32"})
    assert {row.to for row in made.tensors} == {"Q8_0", "F32"}
    with pytest.raises(hg.InvalidArgument, match="q9"):
        hg.llm.quantize(tmp_path / "in.gguf", tmp_path / "other.gguf", "q9")
    with pytest.raises(hg.IoError):
        hg.llm.quantize(tmp_path / "missing.gguf", tmp_path / "other.gguf")
    assert not (tmp_path / "other.gguf").exists()


def perplexity(model, tokens):
    """Of tokens by those before them."""
    lost = []
    for i in range(8, len(tokens)):
        logits = np.asarray(model.logits(tokens[:i]), np.float64)
        lost.append(np.log(np.exp(logits - logits.max()).sum()) + logits.max() - logits[tokens[i]])
    return float(np.exp(np.mean(lost)))


TEXT = (
    "Once upon a time, there was a little girl named Lily. She loved to play outside in the park. One day, she saw a "
    "big, red ball. She wanted to play with it, but it was too high. Her mom said it was time to go home. Lily was sad."
)


@pytest.mark.parametrize("file", [STORIES, SMOL], ids=["stories260K", "SmolLM2"])
def test_models_say_about_the_same(file, tmp_path):
    if not file.exists():
        pytest.skip("scripts/models has not fetched it")
    before = hg.llm.load(file, context=128, activations="exact", device="cpu")
    tokens = before.tokenize(TEXT)[:70]
    # Of the larger one few tokens and types: it takes its time.
    types = [("f16", 1.001), ("q8_0", 1.01), ("q6_k", 1.02), ("q5_k", 1.06), ("q4_k", 1.15)]
    if file == SMOL:
        tokens, types = tokens[:32], [("q8_0", 1.02), ("q4_k", 1.25)]
    usual = perplexity(before, tokens)
    for to, most in types:
        hg.llm.quantize(file, tmp_path / "out.gguf", to)
        made = hg.llm.load(tmp_path / "out.gguf", context=128, activations="exact", device="cpu")
        assert made.tokenize(TEXT)[: len(tokens)] == tokens
        assert perplexity(made, tokens) <= usual * most, to


def test_folders_become_files(tmp_path):
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    tokenizers = pytest.importorskip("tokenizers")
    torch.manual_seed(4)
    scaling = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    config = transformers.LlamaConfig(
        vocab_size=300, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=96, max_position_embeddings=256, attention_bias=True,
        rope_parameters={**scaling, "rope_theta": 500.0, "original_max_position_embeddings": 32},
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.copy_(torch.randn_like(weight) * 0.2 + (1 if weight.ndim == 1 else 0))
    folder = tmp_path / "model"
    model.save_pretrained(folder)
    byte_level = tokenizers.Tokenizer(tokenizers.models.BPE())
    byte_level.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    byte_level.train_from_iterator([TEXT], trainer)
    byte_level.save(str(folder / "tokenizer.json"))
    made = hg.llm.quantize(folder, tmp_path / "out.gguf", "f32")
    assert made.error == 0
    a, b = hg.llm.load(folder, cache=hg.float32), hg.llm.load(tmp_path / "out.gguf", cache=hg.float32)
    tokens = a.tokenize(TEXT)
    assert b.tokenize(TEXT) == tokens == byte_level.encode(TEXT).ids and b.text_of(tokens) == TEXT
    wanted, got = np.asarray(a.logits(tokens)), np.asarray(b.logits(tokens))
    assert abs(wanted - got).max() < 1e-4 * abs(wanted).max()
    made = hg.llm.quantize(folder, tmp_path / "out.gguf", "q8_0")
    got = np.asarray(hg.llm.load(tmp_path / "out.gguf", cache=hg.float32).logits(tokens))
    assert 0.001 < made.error < 0.01 and abs(wanted - got).max() < 0.1 * abs(wanted).max()
