"""Language models from their files, on any device.

    model = hg.llm.load("SmolLM2-135M-Instruct.Q4_1.gguf")
    print(model.generate("Once upon a time", max_tokens=40).text)

A file is GGUF, or a folder with config.json, tokenizer.json and safetensors. Weights stay quantised in the
memory of the device. docs/llm.md lists what is there.
"""

import json as _json
import os as _os
from collections import namedtuple as _namedtuple

from . import _core, _dtypes
from ._lora import Lora

__all__ = [
    "Embedder", "Generation", "Lora", "Memory", "Model", "Quantized", "QuantizedTensor", "Verification",
    "load", "load_embedder", "load_lora", "make_receipt", "memory_of", "quantize", "verify",
]  # fmt: skip

Memory = _namedtuple("Memory", ["weights", "cache", "total"])
Memory.__doc__ = "Bytes that a model needs of a device."
Generation = _namedtuple(
    "Generation", ["tokens", "text", "finish_reason", "prompt_tokens", "prefill_seconds", "decode_seconds"]
)
Generation.__doc__ = "An answer: the new tokens, their text, why it ended, and times."


class Model:
    """A language model that is loaded; see load()."""

    def __init__(self, model):
        self._model = model

    architecture = property(lambda self: self._model.architecture, doc="As its file calls it.")
    context = property(lambda self: self._model.context, doc="The most tokens of a sequence.")
    vocabulary = property(lambda self: self._model.vocabulary, doc="The number of tokens.")
    load_seconds = property(lambda self: self._model.load_seconds, doc="How long loading took.")
    activations = property(
        lambda self: self._model.activations, doc="What quantised weights are multiplied with: exact or bytes."
    )
    has_chat_template = property(
        lambda self: self._model.has_chat_template, doc="Whether its file says how to chat."
    )

    def tokenize(self, text, *, ends=True, special=False):
        """The tokens of a text, with those that the model wants at its beginning; special: what
        spells a control token is that token."""
        return self._model.tokenize(text, ends, special)

    def text_of(self, tokens):
        """The text of tokens."""
        return self._model.text_of(tokens)

    def logits(self, tokens, *, device=None):
        """The logits behind the last of the tokens: float32 [vocabulary]."""
        return self._model.logits(tokens, device)

    def generate(self, prompt, *, on_text=None, **options):
        """A Generation that goes on with a text or tokens.

        options: max_tokens, greedy, temperature, top_k, top_p, min_p, repetition_penalty, seed,
        presence_penalty, frequency_penalty, stop (a list of texts), json_schema (the text of a JSON schema
        that the answer has to fit), special. on_text is called with each piece of text as it comes; False from it
        ends the answer.
        """
        return Generation(*self._model.generate(prompt, _checked(options), on_text))

    def chat(self, messages, *, on_text=None, **options):
        """A Generation that answers messages, dicts with "role" and "content"; options as of
        generate. UnsupportedOperation without a chat template that can be run."""
        return Generation(*self._model.chat(messages, _checked(options), on_text))

    def chat_prompt(self, messages, *, tools=None, **variables):
        """Messages as the text that the model was trained with, by its chat template; tools: a list of
        functions as OpenAI has them; variables: what else the template knows, as enable_thinking."""
        return self._model.chat_prompt(
            messages, _json.dumps(tools) if tools else "", _json.dumps(variables) if variables else ""
        )

    def __repr__(self):
        return f"hologram.llm.Model({self.architecture}, {self.vocabulary} tokens, context {self.context})"


class Embedder:
    """A model that makes vectors of texts; see load_embedder()."""

    def __init__(self, embedder):
        self._embedder = embedder

    architecture = property(lambda self: self._embedder.architecture, doc="As its file calls it.")
    width = property(lambda self: self._embedder.width, doc="Numbers of a vector.")
    context = property(lambda self: self._embedder.context, doc="The most tokens of a text.")
    vocabulary = property(lambda self: self._embedder.vocabulary, doc="The number of tokens.")
    pooling = property(
        lambda self: self._embedder.pooling, doc="How vectors of tokens become one, by its files."
    )

    def tokenize(self, text, *, ends=True, special=False):
        """The tokens of a text, with those that the model wants at both ends; special: what spells a
        control token is that token."""
        return self._embedder.tokenize(text, ends, special)

    def embed(self, texts, *, pooling=None, normalize=True, truncate=False):
        """A row for each text, float32 [texts, width]; of one text that is no list, [width].

        Texts are str or lists of tokens. pooling: "mean", "first" or "last" instead of what the model's
        files say. normalize: rows have the length 1. truncate: texts beyond the context lose their end;
        else they are an InvalidArgument.
        """
        if isinstance(texts, str):
            return self.embed([texts], pooling=pooling, normalize=normalize, truncate=truncate)[0]
        return self._embedder.embed(list(texts), pooling, normalize, truncate)

    def __repr__(self):
        return f"hologram.llm.Embedder({self.architecture}, {self.width} wide, {self.pooling} pooling)"


_OPTIONS = {
    "max_tokens", "greedy", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed",
    "stop", "special", "presence_penalty", "frequency_penalty", "json_schema",
}  # fmt: skip


def _checked(options):
    unknown = options.keys() - _OPTIONS
    if unknown:
        raise TypeError(f"unknown options {sorted(unknown)}; there are {', '.join(sorted(_OPTIONS))}")
    return options


def load(path, *, context=0, cache=None, device=None, adapters=(), activations=None):
    """The model in a GGUF file or a folder of safetensors.

    context: the most tokens of a sequence (0: as many as it was trained for, at most 4096). cache: the
    dtype of keys and values, float16 or float32. adapters: folders with LoRA adapters as PEFT saves them, or
    pairs of a folder and a scale. activations: what quantised weights are multiplied with, "exact" or rounded to
    "bytes"; bytes on processors and exact elsewhere unless given. IoError for damaged files, UnsupportedOperation
    for what they ask for and is not there, OutOfMemory before anything is loaded.
    """
    pairs = [a if isinstance(a, tuple) else (a, 1.0) for a in adapters]
    pairs = [(_os.fspath(folder), float(scale)) for folder, scale in pairs]
    return Model(_core._Model(_os.fspath(path), context, cache or _dtypes.float16, device, pairs, activations))


def load_embedder(path, *, device=None):
    """The Embedder in a GGUF file or a folder of safetensors: an encoder, as BERT and MiniLM are, or any
    model that load() takes. Errors as of load()."""
    return Embedder(_core._Embedder(_os.fspath(path), device))


def load_lora(path, *, rank=8, alpha=16, targets=("q_proj", "v_proj"), device=None):
    """The Lora of a model in a file or folder: a hologram.nn.Module that gives logits, with weights in float32 that
    stay as they are, and parameters beside the matrices that `targets` names, which learn.

    targets: of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj. What is added is scaled by
    alpha / rank. Models with experts and Phi 3 are an UnsupportedOperation; other errors as of load().
    """
    return Lora(_os.fspath(path), rank, alpha, targets, device)


def memory_of(path, *, context=0, cache=None):
    """The Memory that load() with these options needs, out of the file's header."""
    return Memory(*_core._model_memory(_os.fspath(path), context, cache or _dtypes.float16))


QuantizedTensor = _namedtuple(
    "QuantizedTensor", ["name", "source", "to", "fell_back", "bytes_before", "bytes_after", "error"]
)
QuantizedTensor.__doc__ = "A tensor that quantize() wrote: types of its numbers before and after."
Quantized = _namedtuple("Quantized", ["tensors", "bytes_before", "bytes_after", "error"])
Quantized.__doc__ = "What quantize() wrote."


def quantize(path, to_path, to="q4_k", *, tensors=None):
    """Writes the model in a GGUF file or folder as a GGUF file in fewer bits; a Quantized.

    to: f32, f16, bf16, q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs or mxfp4.
    tensors: a dict of parts of names and the types of tensors that have them in their names. Errors are
    sqrt(sum of squares of what was lost / sum of squares).
    """
    rows, *rest = _core._quantize(_os.fspath(path), _os.fspath(to_path), to, list((tensors or {}).items()))
    return Quantized([QuantizedTensor(*row) for row in rows], *rest)


Verification = _namedtuple(
    "Verification", ["equal", "text", "changed_layers", "steps", "equal_tokens", "equal_logits"]
)
Verification.__doc__ = "How the answer of a receipt, computed again, compares with it."


def make_receipt(path, prompt, *, context=0, cache=None, device=None, activations=None, **options):
    """The answer of a model to a prompt of tokens, with what verify() needs to compute it again, as the text
    of a JSON file; options as of Model.generate."""
    options = {k: v for k, v in _checked(options).items()}
    return _core._make_receipt(
        _os.fspath(path), list(prompt), options, context, cache or _dtypes.float16, device, activations
    )


def verify(receipt, path, *, device=None):
    """The Verification of a receipt on a device: the same weights, tokens and logits to the bit, or the names
    of the layers whose weights are others."""
    return Verification(*_core._verify(receipt, _os.fspath(path), device))
