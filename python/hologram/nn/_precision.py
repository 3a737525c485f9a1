"""Mixed precision: products of float16 or bfloat16, sums and parameters in float32."""

from dataclasses import dataclass as _dataclass

from .. import _core


@_dataclass(frozen=True)
class LossScale:
    """A scale of the loss that follows overflows: `backoff` multiplies it after a step with one, and
    `growth` after `interval` steps without."""

    initial: float = 65536.0
    growth: float = 2.0
    backoff: float = 0.5
    interval: int = 2000


class MixedPrecision:
    """How products and convolutions are computed: factors rounded to `compute` (float16 or bfloat16),
    sums in float32, results as `accumulate` says: float32 keeps the sums, `compute` rounds them.
    Normalisation, softmax and losses are computed in float32.

        optimizer = hg.optim.AdamW(model, lr=1e-3, precision=nn.MixedPrecision("float16"))
        with nn.MixedPrecision("float16"): model(x)

    scale: a LossScale, or None for none.
    """

    def __init__(self, compute="float16", accumulate=None, scale=LossScale()):
        self.compute, self.accumulate, self.scale = compute, accumulate, scale
        _core.nn._Precision(compute, accumulate)  # or an error
        self._entered = []

    def __enter__(self):
        scope = _core.nn._Precision(self.compute, self.accumulate)
        scope.enter()
        self._entered.append(scope)
        return self

    def __exit__(self, *_):
        self._entered.pop().leave()
