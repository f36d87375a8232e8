"""`ThreadRedaction`: how threads are redacted in an export, and the audit of what was done."""

from collections.abc import Iterator
from contextlib import contextmanager

from ckpt_cli.errors import PathNotFound
from ckpt_cli.history.redaction.redactor import Redactor
from ckpt_cli.history.redaction.tally import Tally
from ckpt_cli.history.state.paths import spell
from ckpt_cli.parameters.redaction import RedactionOptions
from ckpt_cli.queries.redacted_records import RecordRedactor
from ckpt_cli.savers.bundle.index import Redaction
from ckpt_cli.serde.codec import Codec
from ckpt_cli.serde.msgpack_write import packed
from ckpt_cli.views.export import PlaceLine, RedactionReport, RuleLine


class ThreadRedaction:
    """Redacts threads, one after the other.

    Attributes:
        records: redacts the records of one thread.
    """

    def __init__(self, options: RedactionOptions, codec: Codec, source: Redaction | None) -> None:
        """`source` is what the records lack already."""
        self._options = options
        self._source = source
        self._redactor = Redactor(
            patterns=options.patterns,
            paths=options.paths,
            outline=options.only_structure,
            salt=options.salt,
            pack=packed,
        )
        self.records = RecordRedactor(codec, self._redactor)
        self._tally = Tally()

    @property
    def mark(self) -> Redaction:
        """What the bundle says about its redaction."""
        before = self._source or Redaction((), "")
        rules = [*self._options.rules, *before.by, before.key]
        by = dict.fromkeys((*before.by, *self._options.by))
        return Redaction(tuple(by), "" if before.by and not before.key else self._redactor.masks.mark(rules))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Inside this block, a pattern that takes seconds for one text raises UsageError."""
        with self._redactor.patterns.running():
            yield

    def count(self) -> None:
        """Count what was done in the thread that was redacted last."""
        self._tally.add((), self._redactor.tally)

    def must_have_matched(self) -> None:
        """Refuse a path that leads nowhere, for it may be misspelt.

        Raises:
            PathNotFound: no thread has a value there.
        """
        for path, count in zip(self._options.paths, self._redactor.paths.counts, strict=True):
            if not count:
                what = f"no thread has a value at {spell(path)}; nothing was written"
                raise PathNotFound(what, hint="`ckpt show THREAD` shows the channels")

    def report(self) -> RedactionReport:
        """What was replaced, and what is left."""
        patterns, paths = self._redactor.patterns.counts, self._redactor.paths.counts
        rules = [RuleLine(f"--redact-pattern {at}", count) for at, count in enumerate(patterns, 1)]
        rules += [
            RuleLine(f"--redact {spell(path)}", count) for path, count in zip(self._options.paths, paths, strict=True)
        ]
        places = [PlaceLine(place[0], ".".join(place[1:]), *count) for place, count in self._tally.counts()]
        return RedactionReport([*self.mark.by], self._redactor.masks.salted, rules, places)
