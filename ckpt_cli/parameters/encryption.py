"""The options of ``copy`` about keys: decrypted, or encrypted with another key, on the way."""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import typer

from ckpt_cli.copying.payload_changes import PayloadChanges
from ckpt_cli.errors import UsageError
from ckpt_cli.parameters.class_names import parse_renaming
from ckpt_cli.session import KEY_ENV, Session

_PANEL = "Encryption"

KeyEnv = Annotated[
    str,
    typer.Option(
        "--key-env",
        metavar="NAME",
        help="The environment variable that holds the AES key of FROM, and of TO without --encrypt-key-env.",
        rich_help_panel=_PANEL,
    ),
]
Decrypt = Annotated[
    bool, typer.Option("--decrypt", help="Write encrypted values without encryption.", rich_help_panel=_PANEL)
]
EncryptKeyEnv = Annotated[
    str | None,
    typer.Option(
        "--encrypt-key-env",
        metavar="NAME",
        help="Write all values encrypted with the AES key in this environment variable.",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]


class EncryptionOptions(NamedTuple):
    """The options, as typed."""

    from_key_env: KeyEnv = KEY_ENV
    decrypt: Decrypt = False
    encrypt_key_env: EncryptKeyEnv = None


NO_ENCRYPTION = EncryptionOptions()
"""The default of a command's parameter."""


def parse_changes(keys: EncryptionOptions, renames: Sequence[str] | None) -> PayloadChanges:
    """What these options, and those of ``--rename-class``, do to payloads.

    Raises:
        UsageError: they contradict each other, or a class's name can't be understood.
    """
    if keys.decrypt and keys.encrypt_key_env:
        raise UsageError("--decrypt and --encrypt-key-env exclude each other", hint="leave --decrypt out")
    return PayloadChanges(keys.decrypt, parse_renaming(renames), keys.encrypt_key_env or "")


def must_have_key(keys: EncryptionOptions, origin: Session) -> None:
    """Refuse to decrypt without a key.

    Raises:
        UsageError: it names the variable.
    """
    if keys.decrypt and not origin.reader.codec.has_key:
        what = f"--decrypt: there is no key in ${keys.from_key_env}"
        raise UsageError(what, hint=f"`export {keys.from_key_env}=…` sets it")
