"""Compares rows with images in the columns that ckpt writes; the change that restores one, expiry too."""

from ckpt_cli.model import Row, RowChange, Scalar
from ckpt_cli.savers.contract import Saver
from ckpt_cli.savers.digests import Digest, digest_of, text_of


def is_image(saver: Saver, relation: str, row: Row | None, image: Row | None) -> bool:
    """Whether a row equals an image in every column that ckpt writes and that both have.

    Values with the same text count as equal, because the type of a column may have been changed since.
    """
    if row is None or image is None or row == image:
        return row == image
    written = saver.written_columns(relation)
    if written is None:
        return row == image
    now, then = saver.fields(relation, row), saver.fields(relation, image)
    return all(_is_equal(now[name], then[name]) for name in written & now.keys() & then.keys())


def inverse(saver: Saver, change: RowChange, now: Row | None) -> RowChange:
    """The change that undoes a change; `now` is the current row.

    Columns that ckpt doesn't write, such as a key's expiry time, are restored too if nobody changed them since.
    """
    image, left = change.before, change.after
    after = None if image is None else saver.restored(change.relation, image, now)
    if image is not None and after is not None and now is not None and left is not None:
        written = saver.written_columns(change.relation) or ()
        unchanged = [name for name in image.keys() & after.keys() & now.keys() & left.keys() if now[name] == left[name]]
        after = {**after, **{name: image[name] for name in unchanged if name not in written}}
    return RowChange(change.relation, change.key, now, after)


def _is_equal(now: Scalar, then: Scalar) -> bool:
    if now == then or now is None or then is None:
        return now == then
    if isinstance(now, Digest) or isinstance(then, Digest):
        return _digest(now) == _digest(then)
    return text_of(now) == text_of(then)


def _digest(value: Scalar) -> Digest:
    return value if isinstance(value, Digest) else digest_of(text_of(value))
