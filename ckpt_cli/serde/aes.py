"""Encrypted payloads: AES in EAX mode as langgraph-checkpoint writes it; a missing or wrong key.

Source: langgraph-checkpoint 2.0.21 and later, ``serde/encrypted.py``. The bytes are nonce (16), tag (16) and
ciphertext; there is no associated data. pycryptodome, the extra ``aes``, is imported only when there is an encrypted
payload.
"""

import hmac
import os
from hashlib import sha256
from typing import Any

from ckpt_cli.errors import KeyMissing, MissingExtra

_NONCE = 16
_TAG = 16


def decrypt(data: bytes, key: bytes | None) -> bytes:
    """The plaintext.

    Raises:
        KeyMissing: the key is missing or wrong, or the bytes are damaged (in EAX, a wrong key looks like damage).
        MissingExtra: pycryptodome is not installed.
    """
    nonce, tag, ciphertext = data[:_NONCE], data[_NONCE : _NONCE + _TAG], data[_NONCE + _TAG :]
    if len(tag) < _TAG:
        raise KeyMissing("encrypted, but too short to be AES-EAX")
    try:
        return bytes(_cipher(key, nonce).decrypt_and_verify(ciphertext, tag))
    except ValueError as error:
        raise KeyMissing("the key doesn't fit, or the bytes are damaged") from error


def encrypt(data: bytes, key: bytes | None, beginning: bytes = b"") -> bytes:
    """Nonce, tag and ciphertext, under a new nonce.

    Args:
        data: the plaintext.
        key: 16, 24 or 32 bytes.
        beginning: the first bytes of the nonce; the rest of its 16 bytes is random.

    Raises:
        KeyMissing: there is no key.
        MissingExtra: pycryptodome is not installed.
    """
    nonce = beginning + os.urandom(_NONCE - len(beginning))
    ciphertext, tag = _cipher(key, nonce).encrypt_and_digest(data)
    return bytes(nonce + tag + ciphertext)


def seal(data: bytes, key: bytes | None, place: str) -> bytes:
    """Like `encrypt`, but the same bytes at the same place always give the same: the nonce is made of both.

    A record that is made twice can so be compared with itself. Nobody without the key can make such a nonce, and two
    texts never share one (as in AES-SIV, RFC 5297).

    Raises:
        KeyMissing, MissingExtra: as in `encrypt`.
    """
    message = b"ckpt nonce\0" + place.encode("utf-8", "surrogatepass") + b"\0" + sha256(data).digest()
    return encrypt(data, key, hmac.digest(key or b"", message, "sha256")[:_NONCE])


def _cipher(key: bytes | None, nonce: bytes) -> Any:
    if key is None:
        raise KeyMissing("encrypted, and no key was given", hint="set LANGGRAPH_AES_KEY, or name a variable: --key-env")
    try:
        from Crypto.Cipher import AES
    except ImportError as error:
        from ckpt_cli.installing import install_extra

        what = "encrypted: reading it needs pycryptodome"
        raise MissingExtra(what, hint=install_extra("aes")) from error
    try:
        return AES.new(key, AES.MODE_EAX, nonce=nonce, mac_len=_TAG)
    except ValueError as error:
        raise KeyMissing(f"a key of {len(key)} bytes; AES takes 16, 24 or 32") from error
