"""Objects whose class is well known and whose insides are not what that class takes: they are read, and shown."""

from itertools import product

import ormsgpack
import pytest

from ckpt_cli.model import Payload
from ckpt_cli.output.line import Page
from ckpt_cli.output.text.brief import brief
from ckpt_cli.output.text.values import block, value_after
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values import langgraph_values
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.same import same
from tests.serde.samples import parts

CLASSES = [
    *("datetime.datetime", "datetime.date", "datetime.time", "datetime.timedelta", "datetime.timezone", "uuid.UUID"),
    *("decimal.Decimal", "zoneinfo.ZoneInfo", "re._compile", "builtins.set", "builtins.complex", "builtins.bytearray"),
    *("collections.deque", "ipaddress.IPv4Address", "pathlib.PosixPath", "numpy.ndarray", "numpy.dtype"),
    *("numpy.core.multiarray._reconstruct", "numpy.core.multiarray.scalar", "copyreg._reconstructor"),
    *("langgraph.types.Send", "langgraph.types.Interrupt", "langgraph.types.Overwrite", "pydantic.SecretStr"),
    *("langchain_core.messages.HumanMessage", "builtins.ValueError"),
]
ARGS = [b")", b"(K\x01t", b"(}t", b"(C\x01\xfft", b"(\x8c\x01xt", b"K\x01", b"N", b"}", b"]", b"cos\nsystem\n"]
OPS = [b"R", b"\x81", b"b", b"R}b", b"RK\x01b", b"RK\x01a", b"R(K\x01K\x02u", b"\x81(N}\x8c\x01aK\x01stb", b"}\x92"]
INSIDES = [None, -1, 2**63, "x", b"\xff", [None], {"a": 1}, [{"type": 1, "text": 1}]]
DTYPES = ["f\u00b2", "f\u0663", "<f8", "b", "", "O8", "f" + "1" * 5_000]
PAGE = Page(80, 0.0)
SHAPES = [[2], [-1], [2**63], [1.5], [[1]], "x", None]


def look(payload: Payload) -> None:
    """Ask everything that is asked of a value, and of all in it."""
    value = Codec().decode(payload)
    assert same(from_json(to_json(value, reveal=True)), value)
    for part in parts(value):
        for ask in (
            langgraph_values.text,
            langgraph_values.message,
            langgraph_values.messages,
            langgraph_values.items,
            langgraph_values.interrupts,
            langgraph_values.send,
            repr,
        ):
            ask(part)
        assert isinstance(brief(part, 80), str)
        assert all(isinstance(line, list) for line in (*block(part, PAGE), *value_after([], part, PAGE, 0)))


@pytest.mark.parametrize("name", CLASSES)
def test_pickles_of_well_known_classes(name: str) -> None:
    """Whatever a class was called with, or given by BUILD, APPEND and SETITEMS."""
    module, _, own = name.rpartition(".")
    for args, op in product(ARGS, OPS):
        look(Payload("pickle", b"\x80\x04c" + f"{module}\n{own}\n".encode() + args + op + b"."))


@pytest.mark.parametrize("name", CLASSES)
def test_msgpack_of_well_known_classes(name: str) -> None:
    """Every extension code, with a method and without."""
    module, _, own = name.rpartition(".")
    for code, inside, method in product(range(7), INSIDES, ([], ["fromisoformat"])):
        inner = ormsgpack.packb([module, own, inside, *method], option=ormsgpack.OPT_NON_STR_KEYS)
        look(Payload("msgpack", ormsgpack.packb(ormsgpack.Ext(code, inner))))


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype[:3])
def test_arrays_of_any_type_and_shape(dtype: str) -> None:
    """A type whose size is no number, shapes that are none, and bytes that are too few."""
    for shape, data in product(SHAPES, (b"", bytes(3), bytes(16))):
        look(Payload("msgpack", ormsgpack.packb(ormsgpack.Ext(6, ormsgpack.packb([dtype, shape, "C", data])))))
