"""Fine-tuning of language models by LoRA: see hologram.llm.load_lora()."""

import json as _json
import os as _os

from . import _core, nn as _nn
from ._creation import asarray, zeros
from ._elementwise import tanh
from ._errors import InvalidArgument
from ._files import save as _save
from .random import normal

# Matrices of a layer: their names in the files that PEFT writes, and in GGUF.
_MATRICES = {
    "q_proj": ("self_attn", "attn_q"), "k_proj": ("self_attn", "attn_k"), "v_proj": ("self_attn", "attn_v"),
    "o_proj": ("self_attn", "attn_output"), "gate_proj": ("mlp", "ffn_gate"), "up_proj": ("mlp", "ffn_up"),
    "down_proj": ("mlp", "ffn_down"),
}  # fmt: skip


class _Pair(_nn.Module):
    """What is added to a matrix: up @ down, zero at first."""

    def __init__(self, inputs, outputs, rank, device):
        super().__init__()
        self.down = normal((rank, inputs), device=device) * inputs**-0.5
        self.up = zeros((outputs, rank), device=device)

    def forward(self, x):
        return _nn.linear(_nn.linear(x, self.down), self.up)


class Lora(_nn.Module):
    """A decoder whose weights stay as they are, with pairs of thin matrices beside some, which learn."""

    def __init__(self, path, rank, alpha, targets, device):
        super().__init__()
        unknown = sorted(set(targets) - _MATRICES.keys())
        if unknown or not targets or rank < 1:
            raise InvalidArgument(
                f"there is no LoRA of rank {rank} beside {unknown or 'nothing'}",
                f"Give a rank of 1 or more, and targets of {', '.join(_MATRICES)}.",
            )
        weights = _core._Weights(path)
        self.shape, self.rank, self.alpha, self.targets = weights.shape, rank, alpha, list(targets)
        self._path, self._source, self._device = path, weights, device
        self._fixed, self._rotary = {}, {}
        self._read("", ["token_embd", "output_norm", "output"])
        parts = [name for _, name in _MATRICES.values()]
        parts += [name + "_norm" for name in ("attn", "ffn", "attn_q", "attn_k", "post_attention", "post_ffw")]
        for layer in range(self.shape.layers):
            self._read(f"blk.{layer}.", parts)
        self._fixed.setdefault("output.weight", self._fixed["token_embd.weight"])
        self.layers = _nn.ModuleList([self._pairs(layer) for layer in range(self.shape.layers)])

    def _read(self, front, parts):
        for part in parts:
            for kind in (".weight", ".bias"):
                name = front + part + kind
                if self._source.has(name):
                    self._fixed[name] = self._source.read(name, self._device)

    def _pairs(self, layer):
        module = _nn.Module()
        for target in self.targets:
            outputs, inputs = self._fixed[f"blk.{layer}.{_MATRICES[target][1]}.weight"].shape
            setattr(module, target, _Pair(inputs, outputs, self.rank, self._device))
        return module

    def _linear(self, layer, target, x):
        name = f"blk.{layer}.{_MATRICES[target][1]}"
        y = _nn.linear(x, self._fixed[name + ".weight"], self._fixed.get(name + ".bias"))
        if target not in self.targets:
            return y
        return y + getattr(self.layers[layer], target)(x) * (self.alpha / self.rank)

    def _norm(self, x, name):
        weight = self._fixed.get(name + ".weight")
        return x if weight is None else _nn.rms_norm(x, x.shape[-1], weight, self.shape.epsilon)

    def _turned(self, x, local):
        """Queries or keys [batch, heads, length, features] turned by their positions."""
        length, half = x.shape[2], self.shape.rotated // 2
        if (length, local) not in self._rotary:
            self._rotary[length, local] = self._source.rotary(length, local, self._device)
        cosines, sines = self._rotary[length, local]
        a, b, rest = x[..., :half], x[..., half : 2 * half], x[..., 2 * half :]
        turned = [a * cosines - b * sines, b * cosines + a * sines]
        return _core.concat(turned + ([rest] if rest.shape[-1] else []), -1)

    def _attention(self, layer, x):
        s, (batch, length, _) = self.shape, x.shape
        front, local = f"blk.{layer}.", s.windows[layer] > 0

        def heads(target, count, norm=None):
            y = self._linear(layer, target, x).reshape(batch, length, count, -1)
            return (self._norm(y, front + norm) if norm else y).permute((0, 2, 1, 3))

        q = self._turned(heads("q_proj", s.heads, "attn_q_norm"), local)
        k = self._turned(heads("k_proj", s.key_heads, "attn_k_norm"), local)
        seen = _nn.scaled_dot_product_attention(
            q, k, heads("v_proj", s.key_heads), is_causal=True, scale=s.score_scale, enable_gqa=True,
            softcap=s.attention_softcap, window=(s.windows[layer] - 1, None) if local else None,
        )  # fmt: skip
        return self._linear(layer, "o_proj", seen.permute((0, 2, 1, 3)).reshape(batch, length, -1))

    def _feed(self, layer, x):
        gate = self._linear(layer, "gate_proj", x)
        gate = _nn.gelu(gate, approximate="tanh") if self.shape.gelu else _nn.silu(gate)
        return self._linear(layer, "down_proj", gate * self._linear(layer, "up_proj", x))

    def forward(self, tokens):
        """Logits [batch, length, vocabulary] behind each of tokens [batch, length]."""
        x = _nn.embedding(tokens, self._fixed["token_embd.weight"]) * self.shape.embedding_scale
        for layer in range(self.shape.layers):
            front = f"blk.{layer}."
            y = self._attention(layer, self._norm(x, front + "attn_norm"))
            x = x + self._norm(y, front + "post_attention_norm")
            y = self._feed(layer, self._norm(x, front + "ffn_norm"))
            x = x + self._norm(y, front + "post_ffw_norm")
        logits = _nn.linear(self._norm(x, "output_norm"), self._fixed["output.weight"])
        cap = self.shape.final_softcap
        return tanh(logits / cap) * cap if cap > 0 else logits

    def loss(self, tokens):
        """The mean cross entropy of each of tokens [batch, length] but the first, by those before it."""
        tokens = asarray(tokens, device=self._device)
        logits = self(tokens[:, :-1])
        return _nn.cross_entropy(logits.reshape(-1, logits.shape[-1]), tokens[:, 1:].reshape(-1))

    def save_adapter(self, folder):
        """Writes the adapter as PEFT does: adapter_model.safetensors and adapter_config.json in a folder, which
        load(…, adapters=[folder]) and `hologram generate --lora` take."""
        folder = _os.fspath(folder)
        _os.makedirs(folder, exist_ok=True)
        state = {}
        for layer, pairs in enumerate(self.layers):
            for target in self.targets:
                pair = getattr(pairs, target)
                name = f"base_model.model.model.layers.{layer}.{_MATRICES[target][0]}.{target}"
                state[name + ".lora_A.weight"], state[name + ".lora_B.weight"] = pair.down, pair.up
        _save(_os.path.join(folder, "adapter_model.safetensors"), state)
        config = {
            "peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": self._path, "r": self.rank,
            "lora_alpha": self.alpha, "target_modules": self.targets, "bias": "none", "inference_mode": True,
        }  # fmt: skip
        with open(_os.path.join(folder, "adapter_config.json"), "w", encoding="utf-8") as file:
            _json.dump(config, file, indent=2)
