"""Unigram of a tokenizer.json beside Hugging Face's tokenizers, on drawn strings. scripts/check-llm runs this where
there are transformers, tokenizers and sentencepiece."""

import base64
import json
import os
import random

import pytest

import hologram as hg

transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
from tokenizers import Regex, normalizers, pre_tokenizers, processors  # noqa: E402

from test_llm_embeddings import CONFIGS, TEXTS, WORDS, drawn_text, save_encoder  # noqa: E402

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
MARKS = ["\u0301", "\u0e33", "\u200d", "\uff9e", "\u00a0", "\ufb01", "\u2167", "\r\n", "\ufeff", "\u3000", "\uff21", "\u0345"]


def fields(data):
    """Of a protobuf message: the number and the bytes of each field that has bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag = varint()
        if tag & 7 == 2:
            size = varint()
            yield tag >> 3, data[at : at + size]
            at += size
        elif tag & 7 == 5:
            at += 4
        else:
            varint()


@pytest.fixture(scope="module")
def characters(tmp_path_factory):
    """SentencePiece's map of characters, out of a model that it trains."""
    sentencepiece = pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("pieces")
    (folder / "text").write_text("the cat sat on the mat and it is the end of that\n" * 9)
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "text"), model_prefix=str(folder / "made"), vocab_size=30, hard_vocab_limit=False, minloglevel=9
    )
    spec = dict(fields((folder / "made.model").read_bytes()))[3]
    return dict(fields(spec))[2]


def metaspace(scheme, split=True):
    return pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)


def runs(to):
    return normalizers.Replace(Regex(" {2,}"), to)


# A normalizer, a pre-tokenizer, what stands around a text, and whether bytes stand for what is unknown.
KINDS = {
    "xlm-roberta": (lambda c: normalizers.Precompiled(c), pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), metaspace("always")]), "<s> $A </s>", False),
    "t5": (lambda c: normalizers.Sequence(
        [normalizers.Precompiled(c), normalizers.Strip(left=False, right=True), runs("\u2581")]),
        metaspace("always"), "$A </s>", False),
    "deberta": (lambda c: normalizers.Sequence(
        [normalizers.Strip(), normalizers.Precompiled(c), runs(" ")]), metaspace("always"), "<s> $A </s>", False),
    "small letters": (lambda _: normalizers.Sequence(
        [normalizers.Replace("``", '"'), normalizers.Lowercase(), normalizers.Prepend("x")]), metaspace("first"), "$A", False),
    "bytes": (lambda _: None, metaspace("never", False), "<s> $A", True),
    "bare": (lambda _: None, None, "$A </s>", False),
}  # fmt: skip


def made(kind, characters):
    normalizer, cutter, around, fallback = KINDS[kind]
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram())
    normalizer = normalizer(characters)
    if normalizer:
        tokenizer.normalizer = normalizer
    if cutter:
        tokenizer.pre_tokenizer = cutter
    rng = random.Random(1)
    special = ["<pad>", "<s>", "</s>", "<unk>"]
    trainer = tokenizers.trainers.UnigramTrainer(
        vocab_size=300, special_tokens=special, unk_token="<unk>", show_progress=False, initial_alphabet=list("abcdxyz")
    )
    few = ["".join(x for x in drawn_text(rng) if ord(x) < 0x250) for _ in range(200)]
    tokenizer.train_from_iterator(few + WORDS * 20 + TEXTS, trainer)
    text = json.loads(tokenizer.to_str())
    if fallback:
        text["model"]["vocab"] += [[piece, 0.0] for piece in BYTES]
        text["model"]["byte_fallback"] = True
    tokenizer = tokenizers.Tokenizer.from_str(json.dumps(text))
    tokenizer.post_processor = processors.TemplateProcessing(single=around, special_tokens=[("<s>", 1), ("</s>", 2)])
    return tokenizer


@pytest.mark.parametrize("kind", KINDS)
def test_texts_are_cut_as_tokenizers_does(kind, characters, tmp_path):
    tokenizer = made(kind, characters)
    assert tokenizer.get_vocab_size() <= 600
    save_encoder(tmp_path, CONFIGS["bert"](), tokenizer)
    embedder = hg.llm.load_embedder(tmp_path, device="cpu")
    rng = random.Random(7)
    for _ in range(int(os.environ.get("HOLOGRAM_TEST_STRINGS", 3000))):
        text = drawn_text(rng)
        for _ in range(rng.randrange(3)):
            at = rng.randrange(len(text) + 1)
            text = text[:at] + rng.choice([*MARKS, "<s>", "</s>", "  ", "``"]) + text[at:]
        assert embedder.tokenize(text, special=True) == tokenizer.encode(text).ids, repr(text)
    for text in ("", " ", "a", "  a  cat ", "\u2581the\u2581", "the cat sat on the mat"):
        assert embedder.tokenize(text, special=True) == tokenizer.encode(text).ids, repr(text)


def test_what_is_not_known_is_told(characters, tmp_path):
    save_encoder(tmp_path, CONFIGS["bert"](), made("xlm-roberta", characters))
    path = tmp_path / "tokenizer.json"
    good = json.loads(path.read_text())
    model = good["model"]
    charsmap = base64.b64decode(good["normalizer"]["precompiled_charsmap"])
    for change, error, word in [
        ({"normalizer": {"type": "NFKC"}}, hg.UnsupportedOperation, "NFKC"),
        ({"normalizer": {"type": "Replace", "pattern": {"Regex": "a+"}, "content": ""}}, hg.UnsupportedOperation, "a\\+"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, hg.UnsupportedOperation, "Whitespace"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": "!"}}, hg.IoError, "characters"),
        ({"model": {**model, "unk_id": None}}, hg.UnsupportedOperation, "unk_id"),
        ({"model": {**model, "vocab": [["a"]]}}, hg.IoError, "tokenizer.json|shape"),
        ({"model": {**model, "vocab": {"a": 0}}}, hg.IoError, "scores"),
    ]:
        path.write_text(json.dumps({**good, **change}))
        with pytest.raises(error, match=word):
            hg.llm.load_embedder(tmp_path)
    with pytest.raises(hg.UnsupportedOperation, match="GGUF"):
        path.write_text(json.dumps(good))
        hg.llm.quantize(tmp_path, tmp_path / "made.gguf", "f32")
    # Maps with any damage map something, or are refused.
    rng = random.Random(2)
    for _ in range(200):
        broken = bytearray(charsmap[: rng.randrange(len(charsmap))] if rng.random() < 0.3 else charsmap)
        for _ in range(rng.randrange(1, 200)):
            if broken:
                broken[rng.randrange(len(broken))] = rng.randrange(256)
        normalizer = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(broken).decode()}
        path.write_text(json.dumps({**good, "normalizer": normalizer}))
        try:
            hg.llm.load_embedder(tmp_path).tokenize(drawn_text(rng))
        except hg.IoError:
            pass
