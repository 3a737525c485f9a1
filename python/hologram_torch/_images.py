"""Images whose channels lie last.

PyTorch counts the axes of an image as batch, channels, rows, columns; a convolution of hologram's makes them with the
channels last in memory. What follows element by element is computed in that order, so that nothing is turned around
between one convolution and the next.
"""

import hologram as hg

LAST, FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


class Images:
    """A tensor of four axes, as it lies."""

    __slots__ = ("last",)

    def __init__(self, last):
        self.last = last

    @property
    def whole(self):
        """With PyTorch's order of axes."""
        return hg.permute_dims(self.last, FIRST)


def whole(x):
    return x.whole if isinstance(x, Images) else x


def as_images(x):
    return Images(hg.permute_dims(x, LAST)) if isinstance(x, hg.Tensor) and x.ndim == 4 else x


def channels_last(args):
    """The same operands with channels last, or None if they have other axes or none of them lies so."""
    if not any(isinstance(x, Images) for x in args):
        return None
    turned = []
    for x in args:
        if isinstance(x, Images):
            turned.append(x.last)
        elif not isinstance(x, hg.Tensor) or x.ndim == 0:
            turned.append(x)
        elif x.ndim > 4:
            return None
        else:
            x = hg.reshape(x, (*[1] * (4 - x.ndim), *x.shape)) if x.ndim < 4 else x
            turned.append(hg.permute_dims(x, LAST))
    return turned
