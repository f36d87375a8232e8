"""Numpy's arrays and scalars in pickles, read without numpy: dtype, shape and data of any kind.

An array becomes the same node as from msgpack's extension 6. numpy 1 and 2: ``_core/multiarray._reconstruct``
(protocols below 5), ``_core/numeric._frombuffer`` and ``_core/multiarray.scalar``. An array of objects has Python
values instead of bytes; it becomes an ordinary pickled object.
"""

import struct
from collections.abc import Callable
from typing import Any

from ckpt_cli.serde.inert.pickle_calls import PickleCall
from ckpt_cli.values.node import Form, Node, Opened

_FORMATS = {"f2": "e", "f4": "f", "f8": "d", "b1": "?", "i1": "b", "i2": "h", "i4": "i", "i8": "q"}
_FORMATS |= {f"u{size}": _FORMATS[f"i{size}"].upper() for size in (1, 2, 4, 8)}


def _dtype(value: Any) -> str:
    """``<f8`` and the like, from the pickled dtype."""
    kind, state = value.state["args"][0], value.state["state"]
    if (value.module, value.name) != ("numpy", "dtype") or not isinstance(kind, str) or kind.startswith("O"):
        raise ValueError(value)
    return f"{state[1]}{kind}"


def _array(dtype: str, shape: Any, order: str, data: Any) -> Node | None:
    if isinstance(data, Node):
        data = data.state
    if not isinstance(data, bytes) or not isinstance(shape, list) or order not in ("C", "F"):
        return None
    if not all(type(n) is int and n >= 0 for n in shape):
        return None
    state = {"dtype": dtype, "shape": shape, "order": order, "data": data}
    return Node(Opened("numpy", "ndarray", Form.ARRAY, state))


def _reconstruct(call: PickleCall) -> Node | None:
    _, shape, dtype, fortran, data = call.state
    return _array(_dtype(dtype), shape, "F" if fortran else "C", data)


def _frombuffer(call: PickleCall) -> Node | None:
    data, dtype, shape, order = call.args
    return _array(_dtype(dtype), shape, order, data)


def _scalar(call: PickleCall) -> Node:
    dtype, data = _dtype(call.args[0]), call.args[1]
    try:
        (number,) = struct.unpack(dtype[0].replace("|", "=") + _FORMATS[dtype[1:]], data)
    except struct.error as error:
        raise ValueError(dtype) from error
    return Node(Opened("numpy", dtype[1:], Form.VALUE, number))


ARRAYS: dict[tuple[str, str], Callable[[PickleCall], Any]] = {
    (f"numpy.{core}.{module}", name): read
    for core in ("core", "_core")
    for module, name, read in (
        ("multiarray", "_reconstruct", _reconstruct),
        ("multiarray", "scalar", _scalar),
        ("numeric", "_frombuffer", _frombuffer),
    )
}
"""Numpy's functions that make arrays and numbers, by module and name, and how their calls are read."""
