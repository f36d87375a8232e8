"""``ckpt info``: describes a database: the program that wrote it, its size, its age, and its encryption."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from ckpt_cli.errors import KeyMissing, PayloadCorrupt
from ckpt_cli.history.lineage.ids import unix_time
from ckpt_cli.history.state.era import era
from ckpt_cli.model import Ref
from ckpt_cli.output.quantities import iso
from ckpt_cli.queries.thread_status import prefetch_threads
from ckpt_cli.reading import Reader
from ckpt_cli.session import Session
from ckpt_cli.views.info import InfoView

_THREADS = 2000  # the sample is chosen from at most this many threads
_SAMPLE = 30  # the first and the last checkpoint of this many threads are read
_MAX_BYTES = 32_000_000  # at most this many bytes of checkpoints are read
_MAX_WRITE = 4096  # a write with more bytes than this isn't read just for its type tag


def run(reader: Reader) -> InfoView:
    """The view of the database: its schema, its counts, and facts from a sample of its checkpoints."""
    about, totals = reader.saver.about(), reader.saver.totals()
    view = InfoView(
        backend=about.backend,
        location=about.location,
        generation=about.generation,
        layout=about.layout,
        size=about.size,
        facts=dict(about.facts),
        abilities=sorted(reader.saver.abilities),
        threads=totals.threads,
        checkpoints=totals.checkpoints,
        writes=totals.writes,
        oldest=iso(unix_time(totals.oldest)) if totals.oldest else None,
        newest=iso(unix_time(totals.newest)) if totals.newest else None,
    )
    view.caveats = [*reader.saver.caveats()]
    _read_sample(reader, view)
    return view


def _read_sample(reader: Reader, view: InfoView) -> None:
    releases, tags, formats = Counter[str](), Counter[str](), Counter[str]()
    for ref in _sample(reader):
        for checkpoint in reader.saver.checkpoints([ref]):
            view.sampled += 1
            tags[checkpoint.body.tag] += 1
            tags.update(payload.tag for payload in (checkpoint.channels or {}).values())
            try:
                state = reader.decode(checkpoint)
            except KeyMissing:
                view.locked += 1
            except PayloadCorrupt:
                view.corrupt += 1
            else:
                releases[era(state, checkpoint.body.tag, view.layout)] += 1
                formats[str(state.v)] += 1
        writes = reader.saver.writes(ref.thread_id, ref.ns, [ref.checkpoint_id], values=_MAX_WRITE)
        tags.update(write.payload.tag for write in writes if write.payload is not None)
    if any("+" in tag for tag in tags):
        view.key = "fits" if not view.locked else "wrong" if reader.codec.has_key else "missing"
    view.eras, view.encodings, view.formats = (
        dict(releases.most_common()),
        dict(tags.most_common()),
        dict(formats.most_common()),
    )


def _sample(reader: Reader) -> Iterator[Ref]:
    """The first and last checkpoints of some threads, as far as the limit of bytes allows."""
    threads = list(islice(reader.saver.threads(), _THREADS))
    sampled_threads = (
        [threads[number * len(threads) // _SAMPLE] for number in range(_SAMPLE)] if len(threads) > _SAMPLE else threads
    )
    bytes_left = _MAX_BYTES
    for head in (thread.head for thread in prefetch_threads(reader, sampled_threads)):
        first = next(reader.saver.rows(head.thread_id, head.ns), None)
        last = reader.saver.row(head)
        for row in dict.fromkeys(row for row in (last, first) if row is not None):
            if (row.size or 0) <= bytes_left:
                bytes_left -= row.size or 0
                yield row.ref


def info(session: Session) -> InfoView:
    """Describe this database: engine, schema generation, LangGraph releases, counts, sizes, encodings, encryption.

    Counts come from the key index. Releases and encodings come from the first and last checkpoints of some threads; the
    answer says from how many. The reducers that you named with --remember are listed too.

    Examples:
      ckpt info
      ckpt info -d checkpoints.sqlite --json
      ckpt info --query 'encodings'
    """
    view = session.read(run)
    view.side_effects = session.side_effects()
    view.reducers = session.remembered_reducers()
    view.unwritable = session.why_unwritable() or None
    return view
