"""Mutated payloads: each gives a value or says what is broken; seeded, so that a failure stays."""

import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from ckpt_cli.model import Payload
from ckpt_cli.serde.codec import Codec
from ckpt_cli.values import langgraph_values
from ckpt_cli.values.jsonback import from_json
from ckpt_cli.values.jsonform import to_json
from ckpt_cli.values.same import same
from tests.serde.samples import CHECKPOINT, JS_JSON, PYTHON_JSON, VALUES, parts, payload, pickled

COUNT = int(os.environ.get("CKPT_MUTATED_PAYLOADS", "30000"))
"""How many. Of the faults that were put into the decoders to try this test, the last was found at payload 16,840."""
BATCHES = 8
"""Each is looked into by a process of its own, whose death fails the test."""
ROOT = Path(__file__).parents[2]

UNPICKLABLE = ("bytes inside", "command", "interrupt", "overwrite", "send")
SEEDS = [
    *(payload(value) for name, value in VALUES.items() if name != "bytes inside"),
    payload(CHECKPOINT),
    Payload("json", PYTHON_JSON.encode()),
    Payload("json", JS_JSON.encode()),
    Payload("", PYTHON_JSON.encode()),
    *(pickled(value, n % 6) for n, (name, value) in enumerate(VALUES.items()) if name not in UNPICKLABLE),
]
TRICKS = [
    b"\xdd\xff\xff\xff\xff",  # an array of four billion
    b"\xdf\x7f\xff\xff\xff",
    b"\xc9\xff\xff\xff\xff\x05",
    b"\xc6\xff\xff\xff\xff",
    b"\xc1",
    b"\x91" * 40,
    b"[" * 40,
    b'{"lc":2,"type":"undefined"}',
    b"\x95" + b"\xff" * 7 + b"\x7f",
    b"2222",  # DUP
    b"\x86\x86",  # TUPLE2
    *(b"(", b"R", b"b", b".", b"h\x00", b"0", b"}", b"]"),
]


def mutate(data: bytes, chance: random.Random) -> bytes:
    """The payload with one to eight wounds."""
    wounded = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(wounded) + 1)
        match chance.randrange(7):
            case 0 if at < len(wounded):
                wounded[at] = chance.randrange(256)
            case 1 if at < len(wounded):
                wounded[at] ^= 1 << chance.randrange(8)
            case 2:
                del wounded[at : at + chance.randrange(1, 9)]
            case 3:
                wounded[at:at] = chance.randbytes(chance.randrange(1, 5))
            case 4:
                del wounded[at:]
            case 5:
                wounded[at:at] = chance.choice(TRICKS)
            case _:
                other = chance.choice(SEEDS).data
                start = chance.randrange(len(other) + 1)
                wounded[at : at + chance.randrange(20)] = other[start : start + chance.randrange(60)]
    return bytes(wounded)


def look(number: int, count: int) -> None:
    """Look into so many mutated payloads; `number` seeds the mutations."""
    chance = random.Random(20_261_121 + number)
    codec = Codec()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for n in range(count):
        seed = chance.choice(SEEDS)
        value = codec.decode(Payload(seed.tag, mutate(seed.data, chance)))
        shown = to_json(value, reveal=True)
        if n % 8 == 0:
            assert same(from_json(shown), value)
            for part in parts(value):
                langgraph_values.text(part)
                langgraph_values.message(part)
                langgraph_values.items(part)
                langgraph_values.interrupts(part)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


@pytest.mark.slow
@pytest.mark.parametrize("number", range(BATCHES))
def test_mutated_payloads_give_a_value_or_say_what_is_broken(number: int) -> None:
    """None raises, ends the process, or makes memory grow; all nodes open, and their JSON reads back the same."""
    words = [sys.executable, "-W", "error", "-m", "tests.serde.test_fuzz", str(number), str(COUNT // BATCHES)]
    done = subprocess.run(words, capture_output=True, encoding="utf-8", cwd=ROOT, check=False)
    assert done.returncode == 0, f"{' '.join(words[-4:])}: {done.returncode} {done.stderr[-2000:]}"


if __name__ == "__main__":
    look(*map(int, sys.argv[1:]))
