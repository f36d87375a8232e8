"""The mark of stored answers that no task has taken yet: a spelling that the library doesn't use."""

from ckpt_cli.model import Payload

UNTAKEN_NONCE = b"\x00ckpt\x00"
"""The nonce of an encrypted list begins with this if no task has taken the list; the library's nonces are random."""

_SHORT, _LONG = 0x90, b"\xdc"  # msgpack: an array of up to 15 items, and the same with a count of two bytes


def mark_untaken(payload: Payload) -> Payload:
    """The same list of answers, marked as not taken by any task: in a spelling that the library doesn't use.

    An encrypted list is returned unchanged: it gets its mark, `UNTAKEN_NONCE`, when it is encrypted.
    """
    data = payload.data
    if payload.tag == "msgpack" and data and data[0] & 0xF0 == _SHORT:
        return payload._replace(data=_LONG + (data[0] & 0x0F).to_bytes(2) + data[1:])
    if payload.tag in ("json", "") and data[:1] == b"[":
        return payload._replace(data=b" " + data)
    return payload


def is_untaken(payload: Payload) -> bool:
    """Whether a list of answers is in the spelling that `mark_untaken` gives, or has a nonce like `UNTAKEN_NONCE`."""
    if payload.tag.endswith("+aes"):
        return payload.data.startswith(UNTAKEN_NONCE)
    if payload.tag == "msgpack":
        return payload.data[:2] == _LONG + b"\x00" and payload.data[2:3] < b"\x10"
    return payload.tag in ("json", "") and payload.data[:2] == b" ["
