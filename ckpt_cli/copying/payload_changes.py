"""`PayloadChanges`: payloads that a copy decrypts, encrypts, or in which it renames classes."""

from collections.abc import Callable
from typing import NamedTuple

from ckpt_cli.copying.sealed_records import seal_checkpoint
from ckpt_cli.errors import NotFound, NotSupported
from ckpt_cli.model import Checkpoint, Payload, Write
from ckpt_cli.savers.about import RecordFormat
from ckpt_cli.serde import mongodb_metadata
from ckpt_cli.serde.class_renaming import ClassRenaming
from ckpt_cli.serde.codec import Codec
from ckpt_cli.serde.msgpack_write import MsgpackWire


class PayloadChanges(NamedTuple):
    """What is asked for.

    Attributes:
        decrypt: encrypted values are written without encryption.
        renaming: gives classes other names.
        key_env: the variable with the key with which the target's values are encrypted; "" for none.
    """

    decrypt: bool = False
    renaming: ClassRenaming | None = None
    key_env: str = ""

    def __bool__(self) -> bool:
        return self.decrypt or self.renaming is not None or bool(self.key_env)

    @property
    def words(self) -> str:
        """For the plan: what happens on the way, each part behind a comma."""
        key = f", encrypted with the key in ${self.key_env}" if self.key_env else ", decrypted" if self.decrypt else ""
        names = self.renaming.names if self.renaming else {}
        return key + "".join(f", {old} as {new}" for old, new in names.items())

    def must_have_matched(self) -> None:
        """Refuse a class that no value has.

        Raises:
            NotFound: it names the class.
        """
        absent = sorted(self.renaming.names.keys() - self.renaming.found) if self.renaming else ()
        if absent:
            raise NotFound(f"--rename-class: no value of these threads is a {absent[0]}; nothing was written")


NO_CHANGES = PayloadChanges()


class ChangedRecords:
    """Changes the payloads of records: those of the source before, and those for the target after they are recast.

    Args:
        changes: what is asked for.
        source: decrypts what the source has.
        target: encrypts what the target gets.
        form: how the target's saver writes records.
    """

    def __init__(self, changes: PayloadChanges, source: Codec, target: Codec, form: RecordFormat) -> None:
        self._changes, self._source, self._target, self._form = changes, source, target, form

    def opened_checkpoint(self, record: Checkpoint) -> Checkpoint:
        """A checkpoint of the source, decrypted and with new names.

        Raises:
            KeyMissing: the key is missing or wrong.
        """
        row, channels = record.row, record.channels
        place = f"{row.thread_id}\0{row.ns}\0{row.checkpoint_id}"
        apart = channels and {
            name: self._opened(one, f"{row.thread_id}\0{row.ns}\0{name}") for name, one in channels.items()
        }
        return Checkpoint(row, self._opened(record.body, place), self._opened(record.metadata, place), apart)

    def sealed_checkpoint(self, record: Checkpoint) -> Checkpoint:
        """A checkpoint for the target, encrypted as its saver does it with LangGraph's `EncryptedSerializer`."""
        return seal_checkpoint(record, self._form, self._target.sealed) if self._changes.key_env else record

    def opened_write(self, write: Write) -> Write:
        """A write of the source, decrypted and with new names."""
        return _with_payload(write, self._opened)

    def sealed_write(self, write: Write) -> Write:
        """A write for the target, encrypted."""
        return _with_payload(write, self._target.sealed) if self._changes.key_env else write

    def _opened(self, payload: Payload, place: str) -> Payload:
        if payload.tag == mongodb_metadata.TAG:
            changed = mongodb_metadata.with_payloads(payload.data, lambda one: self._opened(one, place))
            return payload._replace(data=changed)
        plain = self._source.decrypted(payload)
        new = self._changes.renaming.payload(plain) if self._changes.renaming is not None else plain
        if self._changes.decrypt or self._changes.key_env:
            return _half(new)
        if new is plain:
            return payload
        return new if plain is payload else self._source.sealed(new, place)


def must_be_sealable(form: RecordFormat) -> None:
    """Refuse to encrypt for a saver that keeps checkpoints as JSON of its own.

    Raises:
        NotSupported: it does.
    """
    if form.body not in ("", "json"):
        raise NotSupported("the target's saver keeps checkpoints as JSON of its own: they can't be encrypted")


def _with_payload(write: Write, change: Callable[[Payload, str], Payload]) -> Write:
    if write.payload is None:
        return write
    payload = change(write.payload, f"{write.thread_id}\0{write.channel}")
    return write._replace(payload=payload, size=len(payload.data))


def _half(payload: Payload) -> Payload:
    """The half of a value in which DynamoDB's saver joined checkpoint and metadata, as both were encrypted together."""
    half, at, tag = payload.tag.partition("@")
    if not at or tag != "msgpack":
        return payload
    members = MsgpackWire().members(payload.data) or ()
    return next((Payload(tag, value) for key, _, value in members if key == half), payload)
