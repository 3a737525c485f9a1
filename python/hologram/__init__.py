"""hologram: tensors that are computed when they are read, on whatever device there is.

    import hologram as hg

    x = hg.asarray([1.0, 2.0, 3.0])
    y = hg.sigmoid(x * 2 + 1)   # nothing is computed yet
    print(y)                    # one fused kernel runs here

The functions are those of the array API standard, 2025.12, and more; docs/python has the guide.
Values never change: `x[k] = v` and `x += v` make the object x another value, and whoever shares the
old one keeps it.
"""

import atexit as _atexit
import math as _math

from . import _core, _methods
from ._analysis import *  # noqa: F403
from ._creation import *  # noqa: F403
from ._creation import asarray
from ._dtypes import *  # noqa: F403
from ._elementwise import *  # noqa: F403
from ._errors import *  # noqa: F403
from ._files import *  # noqa: F403
from ._functions import *  # noqa: F403
from ._picking import *  # noqa: F403
from ._bisect import *  # noqa: F403
from ._gradients import *  # noqa: F403
from ._info import __array_namespace_info__  # noqa: F401
from ._programs import *  # noqa: F403
from ._runtime import *  # noqa: F403
from . import linalg, llm, nn, optim, random  # noqa: F401

_core._set_hooks(_methods.hooks(asarray))
_methods.install()
_atexit.register(_core._end)

Tensor = _core.Tensor
e, pi, inf, nan, newaxis = _math.e, _math.pi, _math.inf, _math.nan, None

__array_api_version__ = "2025.12"
__version__ = "0.2.0"
