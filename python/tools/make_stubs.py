"""make_stubs.py [--check]: writes the type stubs of the package, hologram/*.pyi, out of what it has.

Types follow from the names of parameters and functions by the tables below. With --check nothing
is written, and the exit code is 1 if a stub is not up to date.
"""

import inspect
import pathlib
import re
import sys

import hologram as hg

HEAD = '''"""Types of the package. Written by python/tools/make_stubs.py."""

{imports}
'''
IMPORTS = """import builtins
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import EllipsisType
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

"""
ALIASES = """class SupportsDLPack(Protocol):
    def __dlpack__(self, *, stream: Any = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class SupportsArray(Protocol):
    def __array__(self) -> Any: ...

Number: TypeAlias = builtins.bool | int | float
Operand: TypeAlias = Tensor | Number | SupportsDLPack | SupportsArray
DTypeLike: TypeAlias = dtype | str | type | Any
DeviceLike: TypeAlias = Device | Executor | str
Axis: TypeAlias = int | tuple[int, ...] | list[int] | None
Shape: TypeAlias = int | Sequence[int]
Key: TypeAlias = Any

"""
# Types of parameters by name; what is not here is an operand.
PARAMETERS = {
    "x": "Tensor", "x1": "Tensor", "x2": "Operand", "dtype": "DTypeLike", "device": "DeviceLike | None",
    "axis": "Axis", "axes": "Any", "keepdims": "builtins.bool", "shape": "Shape", "copy": "builtins.bool | None",
    "k": "int", "offset": "int", "n": "int", "num": "int", "n_rows": "int", "n_cols": "int | None",
    "correction": "int | float", "include_initial": "builtins.bool", "descending": "builtins.bool",
    "stable": "builtins.bool", "largest": "builtins.bool", "side": "Literal['left', 'right']",
    "sorter": "Tensor | None", "indexing": "Literal['xy', 'ij']", "invert": "builtins.bool",
    "arrays": "Tensor", "shapes": "Any", "repetitions": "Sequence[int]", "repeats": "int | Tensor",
    "shift": "int | Sequence[int]", "source": "int | Sequence[int]", "destination": "int | Sequence[int]",
    "lengths": "Sequence[int]", "parts": "int", "widths": "Any", "value": "Number", "indices": "Tensor",
    "prepend": "Tensor | None", "append": "Tensor | None", "min": "Operand | None", "max": "Operand | None",
    "weight": "Tensor", "bias": "Tensor | None", "stride": "Any", "padding": "Any", "dilation": "Any",
    "groups": "int", "layout": "Literal['NHWC', 'NCHW']", "kernel": "int | tuple[int, int]",
    "count_padding": "builtins.bool", "endpoint": "builtins.bool", "fill_value": "Number", "obj": "Any",
    "start": "Number", "stop": "Number | None", "step": "Number", "type": "Any", "kind": "Any",
    "from_": "dtype | Tensor", "to": "dtype", "arrays_and_dtypes": "Any", "ord": "Any", "key": "int",
    "low": "Number", "high": "Number", "mean": "float", "std": "float", "scale": "float", "p": "Any",
    "replace": "builtins.bool", "path": "str | os.PathLike[str]", "tensors": "Any", "bits": "int",
    "quality": "int", "linear": "builtins.bool", "name": "str | None", "backend": "str", "text": "str",
    "file": "str", "function": "Callable[..., Any]", "examples": "Operand", "mode": "str",
    "upper": "builtins.bool", "full_matrices": "builtins.bool", "rtol": "float | None",
    "negative_slope": "float", "alpha": "float", "stream": "Any", "max_version": "tuple[int, int] | None",
    "dl_device": "tuple[int, int] | None", "api_version": "str | None", "spec": "str", "memo": "Any",
    "argnums": "int | tuple[int, ...]", "primals": "Sequence[Tensor]", "cotangents": "Sequence[Tensor]",
    "tangents": "Sequence[Tensor]", "equation": "str", "method": "str", "right": "builtins.bool",
    "q": "Any", "minlength": "int", "weights": "Tensor | None", "bins": "Any", "range": "Any",
    "equal_nan": "builtins.bool", "atol": "float", "nan": "float", "posinf": "float | None",
    "neginf": "float | None", "left": "float | None", "base": "float", "xp": "Tensor", "fp": "Tensor",
    "target": "DTypeLike | DeviceLike", "grid": "Any", "executor": "Executor", "values": "Operand",
    "state": "Any", "seed": "int", "candidates": "builtins.bool",
}  # fmt: skip
# Of these functions other types than the table's.
SPECIAL = {
    ("concat", "arrays"): "Sequence[Tensor]", ("stack", "arrays"): "Sequence[Tensor]",
    ("searchsorted", "x2"): "Operand", ("capture", "examples"): "Operand",
    ("isin", "x1"): "Operand", ("hstack", "arrays"): "Sequence[Tensor]",
    ("vstack", "arrays"): "Sequence[Tensor]", ("pinv", "rtol"): "float | Tensor | None",
    ("matrix_rank", "rtol"): "float | Tensor | None", ("isclose", "rtol"): "float",
    ("allclose", "rtol"): "float", ("reshape", "shape"): "Any", ("permute", "axes"): "Any",
    ("choice", "x"): "Tensor | int", ("eval", "tensors"): "Operand", ("explain", "tensors"): "Operand",
    ("from_dlpack", "x"): "SupportsDLPack", ("scatter", "axis"): "int", ("scatter_add", "axis"): "int",
}  # fmt: skip
# What functions return, if it is no Tensor.
RETURNS = {
    "broadcast_arrays": "tuple[Tensor, ...]", "broadcast_shapes": "tuple[int, ...]",
    "chunk": "tuple[Tensor, ...]", "split": "tuple[Tensor, ...]", "unstack": "tuple[Tensor, ...]",
    "meshgrid": "tuple[Tensor, ...]", "nonzero": "tuple[Tensor, ...]", "topk": "tuple[Tensor, Tensor]",
    "unique_all": "Any", "unique_counts": "Any", "unique_inverse": "Any", "finfo": "Any", "iinfo": "Any",
    "grad": "Callable[..., Any]", "value_and_grad": "Callable[..., Any]", "vjp": "Any", "jvp": "Any",
    "histogram": "Any", "cummax": "Any", "cummin": "Any", "can_cast": "builtins.bool", "isdtype": "builtins.bool", "result_type": "dtype", "eval": "None",
    "explain": "str", "load": "Any", "save": "None", "library": "Program", "library_names": "tuple[str, ...]",
    "capture": "Graph", "backends": "tuple[Any, ...]", "devices": "tuple[Any, ...]",
    "settings": "tuple[Any, ...]", "counters": "dict[str, int]", "profile": "Profile",
    "executor": "Executor", "new_executor": "Executor", "new_executor_auto": "Executor",
    "new_executor_with_backend": "Executor", "use": "AbstractContextManager[Executor]",
    "print_devices": "None", "set_default_executor": "None", "set_state": "None", "get_state": "dict[str, int]",
    "default_rng": "Generator", "synchronize": "None", "seed": "None",
    "__array_namespace_info__": "Any", "slogdet": "Any", "qr": "Any", "eigh": "Any", "svd": "Any",
    "lstsq": "Any", "__bool__": "builtins.bool", "__int__": "int", "__float__": "float",
    "__complex__": "complex", "__index__": "int", "__len__": "int", "__hash__": "int", "__repr__": "str",
    "__str__": "str", "__format__": "str", "__iter__": "Iterator[Tensor]", "__contains__": "builtins.bool",
    "__array__": "Any", "numpy": "Any", "__array_namespace__": "Any", "__dlpack__": "Any",
    "__dlpack_device__": "tuple[int, int]", "__reduce__": "Any", "item": "Any", "tolist": "Any",
    "in_dialect": "str", "__call__": "Any", "all_": "dict[str, Tensor]", "why": "str", "trim": "int",
    "memory": "dict[str, int]", "table": "str", "trace": "str", "save_trace": "None",
    "__setitem__": "None", "__eq__": "Any", "__ne__": "Any", "__init__": "None",
}  # fmt: skip
# Of methods of these classes other types than of functions with their names.
OWN_RETURNS = {
    ("Generator", "split"): "list[Generator]", ("Generator", "state_dict"): "dict[str, Tensor]",
    ("Generator", "load_state_dict"): "None",
}  # fmt: skip
PROPERTIES = {
    "shape": "tuple[int, ...]", "ndim": "int", "size": "int", "dtype": "dtype", "itemsize": "int",
    "nbytes": "int", "device": "Device", "executor": "Executor", "T": "Tensor", "mT": "Tensor",
    "ready": "builtins.bool", "name": "str", "kind": "str", "backend": "str", "info": "dict[str, Any]",
    "kernels": "Any", "text": "str", "optimized_text": "str", "buffers": "tuple[Any, ...]",
    "scalars": "tuple[Any, ...]", "inputs": "tuple[str, ...]", "outputs": "tuple[str, ...]",
    "steps": "int", "note": "str", "state": "dict[str, int]",
}  # fmt: skip
BINARY = "add sub mul truediv floordiv mod pow and or xor lshift rshift matmul".split()
COMPARISONS = "eq ne lt le gt ge".split()
# Methods that are made in C++: their parameters.
NATIVE = {
    "__getitem__": "key: Key, /", "__setitem__": "key: Key, value: Operand, /",
    "save_trace": "path: str", "__init__": None,
    **{f"__{p}{n}__": "other: Operand, /" for n in BINARY for p in ("", "r", "i")},
    **{f"__{n}__": "other: Any, /" for n in COMPARISONS},
}  # fmt: skip
# Functions that are made in C++ and take any number of tensors.
VARIADIC = {
    "eval": "*tensors: Operand", "explain": "*tensors: Operand, candidates: builtins.bool = ...",
}  # fmt: skip
NATIVE_INIT = {"Executor": "backend: str = 'auto', **settings: Any", "Device": "name: DeviceLike"}


def doc_lines(object, indent):
    doc = inspect.getdoc(object) or ""
    if not doc or "://" in doc:
        return [indent + "..."]
    if "\n" not in doc:
        return [f'{indent}"""{doc}"""']
    return [f'{indent}"""{doc}'.replace("\n", "\n" + indent), f'{indent}"""']


def parameters(name, function, method):
    out, kinds = [], inspect.Parameter
    given = list(inspect.signature(function).parameters.values())
    if method and given and given[0].name in ("self", "x", "tensor"):
        given = given[1:]
    for place, p in enumerate(given):
        annotation = SPECIAL.get((name, p.name)) or PARAMETERS.get(p.name, "Operand")
        prefix = {kinds.VAR_POSITIONAL: "*", kinds.VAR_KEYWORD: "**"}.get(p.kind, "")
        if p.kind == kinds.KEYWORD_ONLY and not any(o.startswith("*") for o in out):
            out.append("*")
        if p.name in ("args", "kwargs", "arguments", "inputs", "axes") and prefix:
            annotation = "Any"
        default = "" if p.default is p.empty else " = ..."
        out.append(f"{prefix}{p.name}: {annotation}{default}")
        last = place + 1 == len(given) or given[place + 1].kind != kinds.POSITIONAL_ONLY
        if p.kind == kinds.POSITIONAL_ONLY and last:
            out.append("/")
    return ", ".join(out)


def function_stub(name, function, indent="", method=False, owner=""):
    if name == "__init__" and owner in NATIVE_INIT:
        text = NATIVE_INIT[owner]
    elif NATIVE.get(name) is not None:
        text = NATIVE[name]
    else:
        try:
            text = parameters(name, getattr(function, "__wrapped__", function), method)
        except ValueError:  # of C++
            text = VARIADIC.get(name, "") if not method else ""
    if name == "set_default_executor":
        text = "executor: Executor"
    if method:
        text = "self" + (", " + text if text else "")
    key = "all_" if (name, owner) == ("all", "Expression") else name
    returns = OWN_RETURNS.get((owner, name)) or RETURNS.get(key, "Tensor")
    if name == "trace" and owner != "Profile":
        returns = "Tensor"
    if method and name == "eval":
        returns = "Tensor"
    if method and name in ("synchronize",):
        returns = "None"
    if method and name == "profile":
        returns = "Profile"
    ignore = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""
    return [f"{indent}def {name}({text}) -> {returns}:{ignore}", *doc_lines(function, indent + "    ")]


def class_stub(name, cls):
    out = [f"class {name}:", *doc_lines(cls, "    ")]
    seen = {}
    for base in reversed(cls.__mro__[:-1]):
        seen.update(vars(base))
    for attribute in sorted(seen):
        value = seen[attribute]
        if attribute.startswith("_") and not (attribute.startswith("__") and attribute.endswith("__")):
            continue
        if attribute in ("__doc__", "__module__", "__dict__", "__weakref__", "__new__", "__copy__",
                         "__deepcopy__", "__qualname__", "__firstlineno__", "__static_attributes__"):  # fmt: skip
            continue
        if attribute == "__hash__" and value is None:
            out += ["", "    __hash__: None  # type: ignore[assignment]"]
        elif attribute == "__array_ufunc__":
            out += ["", "    __array_ufunc__: None"]
        elif attribute == "__hash__" or callable(value):
            out += ["", *function_stub(attribute, value, "    ", True, name)]
        elif isinstance(value, property) or type(value).__name__ in ("property", "getset_descriptor"):
            out += ["", "    @property"]
            out += [f"    def {attribute}(self) -> {PROPERTIES.get(attribute, 'Any')}:"]
            out += doc_lines(value, "        ")
    return out


def module_stub(module, names):
    out = []
    for name in names:
        value = getattr(module, name)
        if isinstance(value, type) and issubclass(value, hg.Error):
            bases = ", ".join(b.__name__ for b in value.__bases__)
            body = ["    what: str", "    remedy: str", "    kind: str"] if value is hg.Error else []
            out += [f"class {name}({bases}):", *doc_lines(value, "    "), *body]
        elif isinstance(value, type):
            out += class_stub(name, value)
        elif isinstance(value, hg.dtype):
            out += [f"{name}: dtype"]
        elif inspect.ismodule(value):
            out += [f"from . import {name} as {name}"]
        elif callable(value):
            out += function_stub(name, value)
        else:
            out += [f"{name}: {type(value).__name__ if value is not None else 'None'}"]
        out.append("")
    return "\n".join(out)


def native_stub(function):
    """Of a function of C++ whose parameters have their names and types there."""
    signature, doc, _ = function.__nb_signature__[0]
    text = re.sub(r"\\\d+", "...", signature).replace("hologram.Tensor", "Tensor")
    text = text.replace(": object", ": Any").replace("-> object", "-> Any").replace("tuple:", "Any:")
    text = re.sub(r"-> tuple$", "-> Any", text).replace("collections.abc.", "")
    text = re.sub(r"\bbool\b", "builtins.bool", text)
    doc = f'"""{doc}"""' if "\n" not in doc else f'"""{doc}\n"""'
    return [f"{text}:", *("    " + line for line in doc.split("\n")), ""]


def nn_stub():
    imports, out = [], []
    for name in hg.nn.__all__:
        value = getattr(hg.nn, name)
        if hasattr(value, "__nb_signature__"):
            out += native_stub(value)
        else:
            part = value.__module__.removeprefix("hologram.").removeprefix("nn.")
            dots = "." if value.__module__.startswith("hologram.nn") else ".."
            source = f"{dots}{part}" if dots == "." else ".."
            imports.append(f"from {source} import {name} as {name}")
    return "\n".join([*sorted(imports), "", *out])


def public(module):
    names = [n for n in vars(module) if not n.startswith("_")]
    return [n for n in names if n not in ("annotations", "InfoObject")]


def stubs():
    first = ["dtype", "Device", "Executor", "Profile", "Tensor"]
    rest = sorted(n for n in public(hg) if n not in first)
    rest += ["__array_namespace_info__", "__array_api_version__", "__version__"]
    body = ALIASES + module_stub(hg, first + rest)
    yield "__init__.pyi", HEAD.format(imports=IMPORTS) + body
    own = "import builtins\nfrom typing import Any\n\nfrom . import DeviceLike, DTypeLike, Number, Operand, Shape, Axis, Tensor\n"
    for module in (hg.random, hg.linalg):
        name = module.__name__.rpartition(".")[2]
        yield f"{name}.pyi", HEAD.format(imports=own) + module_stub(module, module.__all__)
    own = "import builtins\nfrom collections.abc import Sequence\nfrom typing import Any\n\nfrom .. import Tensor\n"
    yield "nn/__init__.pyi", HEAD.format(imports=own) + nn_stub()


def main():
    folder = pathlib.Path(__file__).resolve().parent.parent / "hologram"
    stale = []
    for name, text in stubs():
        text = text.rstrip() + "\n"
        file = folder / name
        if not file.exists() or file.read_text() != text:
            stale.append(name)
            if "--check" not in sys.argv:
                file.write_text(text)
    if stale:
        print(*stale)
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
