"""Embeddings and WordPiece beside transformers, on models with random weights and on MiniLM, where
scripts/models has fetched it. scripts/check-llm runs this where there is transformers."""

import os
import random
import sys
import unicodedata

import numpy as np
import pytest

import hologram as hg
from model_files import FOLDER

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")

MINILM = FOLDER / "all-MiniLM-L6-v2"
WORDS = "the a cat dog naïve façade 中文字 Ünïcode İstanbul ǅ 한국어 e\u0301 ßtraße don't 3.14 (x) — … \U0001f600".split()
TEXTS = ["a cat", "the dog sat on the mat, naïvely", "x", "3.14 is not 22/7! " * 9, "中文 and 한국어"]


def drawn_text(rng):
    """Words, spaces and any characters, but letters newer than Python may have small ones that only
    tokenizers knows."""
    parts = []
    for _ in range(rng.randrange(1, 12)):
        kind = rng.randrange(4)
        if kind == 0:
            parts.append(rng.choice(WORDS))
        elif kind == 1:
            parts.append("".join(chr(rng.randrange(32, 127)) for _ in range(rng.randrange(1, 9))))
        elif kind == 2:
            parts.append("".join(chr(rng.randrange(1, 0x1C00)) for _ in range(rng.randrange(1, 6))))
        else:
            point = rng.randrange(1, 0x20000)
            parts.append(chr(point) if unicodedata.category(chr(point)) not in ("Cs", "Cn") else "x")
        parts.append(rng.choice(["", " ", "  ", "\t", "\n", "\u00a0", "\u3000"]))
    return "".join(parts)


def word_tokenizer(lowercase, strip_accents=None):
    """A WordPiece of some hundred pieces, trained on the spot."""
    from tokenizers import normalizers, pre_tokenizers, processors

    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lowercase, strip_accents=strip_accents)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = tokenizers.trainers.WordPieceTrainer(
        vocab_size=600, limit_alphabet=400, special_tokens=special, show_progress=False
    )
    rng = random.Random(1)
    made.train_from_iterator([drawn_text(rng) for _ in range(300)] + WORDS * 20 + TEXTS, trainer)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def save_encoder(folder, config, tokenizer=None, std=0.3):
    torch.manual_seed(2)
    config.initializer_range = std
    model = transformers.AutoModel.from_config(config).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "norm" in name.lower() or name.endswith("bias"):
                weight.add_(torch.randn_like(weight) * 0.2)
    model.save_pretrained(folder)
    (tokenizer or word_tokenizer(True)).save(str(folder / "tokenizer.json"))
    return model


def reference(model, batch, pooling):
    """One text at a time: no padding can be in the way."""
    rows = []
    for ids in batch:
        with torch.no_grad():
            states = model(torch.tensor([ids])).last_hidden_state[0]
        rows.append({"mean": states.mean(0), "first": states[0], "last": states[-1]}[pooling].numpy())
    return np.stack(rows)


SMALL = dict(vocab_size=600, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=80)
CONFIGS = {
    "bert": lambda: transformers.BertConfig(**SMALL, max_position_embeddings=128),
    "bert, tanh": lambda: transformers.BertConfig(**SMALL, hidden_act="gelu_new"),
    "roberta": lambda: transformers.RobertaConfig(
        **SMALL, max_position_embeddings=130, pad_token_id=0, type_vocab_size=1
    ),
    "xlm-roberta": lambda: transformers.XLMRobertaConfig(**SMALL, max_position_embeddings=130, pad_token_id=0),
    "distilbert": lambda: transformers.DistilBertConfig(
        vocab_size=600, dim=48, n_layers=2, n_heads=4, hidden_dim=80, max_position_embeddings=128
    ),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_encoders_are_transformers(name, tmp_path):
    model = save_encoder(tmp_path, CONFIGS[name]())
    embedder = hg.llm.load_embedder(tmp_path, device="cpu")
    assert embedder.architecture == name.split(",")[0] and embedder.width == 48
    batch = [embedder.tokenize(text) for text in TEXTS]
    for pooling in ("mean", "first", "last"):
        wanted = reference(model, batch, pooling)
        got = np.asarray(embedder.embed(TEXTS, pooling=pooling, normalize=False))
        assert abs(got - wanted).max() <= 2e-5 * abs(wanted).max()
        got = np.asarray(embedder.embed(batch, pooling=pooling))
        assert abs(got - wanted / np.linalg.norm(wanted, axis=1, keepdims=True)).max() <= 2e-6


def test_a_text_is_the_same_alone_and_beside_others(tmp_path):
    save_encoder(tmp_path, CONFIGS["bert"]())
    embedder = hg.llm.load_embedder(tmp_path, device="cpu")
    rng = random.Random(3)
    texts = [drawn_text(rng)[: rng.randrange(1, 60)] or "x" for _ in range(30)]
    together = np.asarray(embedder.embed(texts))
    for i in rng.sample(range(30), 6):
        assert abs(np.asarray(embedder.embed(texts[i])) - together[i]).max() < 1e-6


def test_decoders_embed_too(tmp_path):
    config = transformers.LlamaConfig(
        vocab_size=600, hidden_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        intermediate_size=80, tie_word_embeddings=True,
    )  # fmt: skip
    torch.manual_seed(4)
    causal = transformers.LlamaForCausalLM(config).eval()
    causal.save_pretrained(tmp_path)
    word_tokenizer(True).save(str(tmp_path / "tokenizer.json"))
    embedder = hg.llm.load_embedder(tmp_path, device="cpu")
    assert embedder.architecture == "llama" and embedder.pooling == "last"
    batch = [embedder.tokenize(text) for text in TEXTS]
    for pooling in ("mean", "last"):
        wanted = reference(causal.model, batch, pooling)
        got = np.asarray(embedder.embed(batch, pooling=pooling, normalize=False))
        assert abs(got - wanted).max() <= 1e-4 * abs(wanted).max()


@pytest.mark.parametrize("mode", ["cls_token", "mean_tokens", "lasttoken"])
def test_the_pooling_is_that_of_the_folder(mode, tmp_path):
    save_encoder(tmp_path, CONFIGS["bert"]())
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling/config.json").write_text('{"pooling_mode_%s": true}' % mode)
    kinds = {"cls_token": "first", "mean_tokens": "mean", "lasttoken": "last"}
    assert hg.llm.load_embedder(tmp_path).pooling == kinds[mode]


def test_wrong_inputs_are_told(tmp_path):
    save_encoder(tmp_path, CONFIGS["bert"]())
    embedder = hg.llm.load_embedder(tmp_path)
    long = "cat " * 400
    with pytest.raises(hg.InvalidArgument, match="context of 128"):
        embedder.embed(long)
    tokens = embedder.tokenize(long)
    cut = tokens[:127] + tokens[-1:]
    assert abs(np.asarray(embedder.embed(long, truncate=True)) - np.asarray(embedder.embed([cut])[0])).max() < 1e-6
    for tokens in ([], [600], [-1]):
        with pytest.raises(hg.InvalidArgument):
            embedder.embed([tokens])
    assert embedder.embed([]).shape == (0, 48)
    (tmp_path / "1_Pooling").mkdir()
    (tmp_path / "1_Pooling/config.json").write_text('{"pooling_mode_max_tokens": true}')
    with pytest.raises(hg.UnsupportedOperation, match="pooling 'max'"):
        hg.llm.load_embedder(tmp_path)


@pytest.mark.parametrize("rules", [(True, None), (False, None), (True, False), (False, True)])
def test_words_are_cut_as_tokenizers_does(rules, tmp_path):
    tokenizer = word_tokenizer(*rules)
    save_encoder(tmp_path, CONFIGS["bert"](), tokenizer)
    embedder = hg.llm.load_embedder(tmp_path)
    rng = random.Random(5)
    for _ in range(int(os.environ.get("HOLOGRAM_TEST_STRINGS", 3000))):
        text = drawn_text(rng)
        assert embedder.tokenize(text, special=True) == tokenizer.encode(text).ids, repr(text)
    text = "[CLS] a cat[MASK] [SEP]"
    assert embedder.tokenize(text, special=True) == tokenizer.encode(text).ids


def test_a_list_of_words_is_enough(tmp_path):
    tokenizer = word_tokenizer(False)
    save_encoder(tmp_path, CONFIGS["bert"](), tokenizer)
    embedder = hg.llm.load_embedder(tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    pieces = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    (tmp_path / "vocab.txt").write_text("".join(piece + "\n" for piece, _ in pieces), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false}')
    listed = hg.llm.load_embedder(tmp_path)
    rng = random.Random(6)
    for _ in range(300):
        text = drawn_text(rng)
        assert listed.tokenize(text) == embedder.tokenize(text), repr(text)


def test_gguf_files_of_encoders(tmp_path):
    gguf = pytest.importorskip("gguf")
    folder = tmp_path / "model"
    tokenizer = word_tokenizer(True)
    model = save_encoder(folder, CONFIGS["bert"](), tokenizer)
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "bert")
    for name, value in (("context_length", 128), ("embedding_length", 48), ("feed_forward_length", 80),
                        ("block_count", 3), ("attention.head_count", 4), ("pooling_type", 2)):  # fmt: skip
        writer.add_uint32("bert." + name, value)
    writer.add_float32("bert.attention.layer_norm_epsilon", 1e-12)
    writer.add_tokenizer_model("bert")
    pieces = [piece for piece, _ in sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])]
    writer.add_token_list(
        [p if p.startswith("[") else p[2:] if p.startswith("##") and p != "##" else "\u2581" + p for p in pieces]
    )
    writer.add_token_types([3 if p.startswith("[") and len(p) > 1 else 1 for p in pieces])
    for name, value in (("cls_token_id", 2), ("seperator_token_id", 3), ("unknown_token_id", 1)):
        writer.add_uint32("tokenizer.ggml." + name, value)
    parts = {
        "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v",
        "attention.output.dense": "attn_output", "attention.output.LayerNorm": "attn_output_norm",
        "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
        "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
        "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm",
    }  # fmt: skip
    for name, weight in model.state_dict().items():
        part, kind = name.removeprefix("encoder.layer.").rsplit(".", 1)
        block = ""
        if name.startswith("encoder.layer."):
            number, part = part.split(".", 1)
            block = f"blk.{number}."
        if part in parts:
            writer.add_tensor(f"{block}{parts[part]}.{kind}", weight.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    from_gguf, from_folder = hg.llm.load_embedder(tmp_path / "model.gguf"), hg.llm.load_embedder(folder)
    assert from_gguf.pooling == "first" and from_gguf.architecture == "bert"
    assert [from_gguf.tokenize(text) for text in TEXTS] == [from_folder.tokenize(text) for text in TEXTS]
    wanted = np.asarray(from_folder.embed(TEXTS, pooling="first"))
    assert abs(np.asarray(from_gguf.embed(TEXTS)) - wanted).max() < 1e-6


def test_minilm():
    if not MINILM.exists():
        pytest.skip("scripts/models has not fetched MiniLM")
    embedder = hg.llm.load_embedder(MINILM, device="cpu")
    tokenizer = tokenizers.Tokenizer.from_file(str(MINILM / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    rng = random.Random(7)
    for _ in range(int(os.environ.get("HOLOGRAM_TEST_STRINGS", 3000))):
        text = drawn_text(rng)
        assert embedder.tokenize(text, special=True) == tokenizer.encode(text).ids, repr(text)
    model = transformers.AutoModel.from_pretrained(MINILM).eval()
    wanted = reference(model, [embedder.tokenize(text) for text in TEXTS], "mean")
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    assert embedder.pooling == "mean"
    assert abs(np.asarray(embedder.embed(TEXTS)) - wanted).max() < 2e-6


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
