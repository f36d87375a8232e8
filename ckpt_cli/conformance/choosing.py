"""Tests of the methods of `savers.selection.Selector` that choose threads by their heads."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from ckpt_cli.conformance.samples import Make, Samples
from ckpt_cli.model import Payload, Record, Ref

TEXTS = ("u-1", "u-10", "ä", "a/b", 'say "hi"', "back\\slash", "", "100%", "line\nbreak", "🙂", "' OR 1=1 --")
"""Texts that JSON or SQL spells in more than one way."""
NUMBERS: tuple[str | float, ...] = (0, 1, 1.0, True, False, 0.5, 0.1 + 0.2, -3, 10**15, 2.0**53, "1", "true")
"""Values that are easily mistaken for each other."""


def _json(document: Mapping[str, Any]) -> Payload:
    return Payload("json", json.dumps(document).encode())


class Choosing(Samples):
    """Threads are chosen so that none is missed that fits."""

    def test_threads_whose_head_is_marked(self, make: Make) -> None:
        """Threads are found by the channels of the writes on their heads, in the order of all threads."""
        marked = [self.write(i, "2", f"task {n}", n % 2, channel="__error__") for n, i in enumerate(self.odd_ids[::2])]
        names = [(i, checkpoint_id) for i in self.odd_ids for checkpoint_id in ("1", "2")]
        others = [r for name in names for r in (self.checkpoint(*name), self.write(*name, "other"))]
        others += [self.write(i, "1", channel="__error__") for i in self.odd_ids]
        others.append(self.checkpoint("only below", "3", ns="sub"))
        others.append(self.write("only below", "3", ns="sub", channel="__interrupt__"))
        saver = make([*others, *marked])
        found = [thread.thread_id for thread in saver.threads_with(["__error__"])]
        wanted = [thread.thread_id for thread in saver.threads() if thread.thread_id in self.odd_ids[::2]]
        assert [one for one in found if one != "only below"] == wanted
        assert {"only below", *wanted} <= {one.thread_id for one in saver.threads_with(["__interrupt__", "__error__"])}

    def test_threads_with_subgraphs(self, make: Make) -> None:
        """Threads with a namespace beside the root's, or below it alone; no others, and none that wasn't asked for."""
        nested = [self.checkpoint(i, "2", ns="sub:1") for i in self.odd_ids[::2]]
        below = [self.checkpoint("only below", "3", ns="sub"), self.checkpoint("another", "3", ns="sub")]
        saver = make([*(self.checkpoint(i, "1") for i in self.odd_ids), *nested, *below])
        assert saver.with_subgraphs([]) == set()
        assert saver.with_subgraphs([*self.odd_ids, "only below"]) == {*self.odd_ids[::2], "only below"}

    def test_threads_by_the_metadata_of_heads(self, make: Make) -> None:
        """No thread is missed that has a value under a key, or that lacks the key; others have an older checkpoint."""
        nothing = make([]).threads_having("user", "u-1")
        if nothing is None:
            pytest.skip("the engine has no such query")
        assert list(nothing) == []
        others = (*({"inner": {"user": text}} for text in TEXTS), 1e300, None, ["u-1"], {"user": "u-1"})
        documents: list[dict[str, Any]] = [{"step": 1, "user": value} for value in (*TEXTS, *NUMBERS, *others)]
        heads = dict(enumerate([*documents, {"step": 1}, {"step": 1, "users": "u-1"}]))
        written = [self.checkpoint(f"t-{n:02}", "2", metadata=_json(document)) for n, document in heads.items()]
        older = [self.checkpoint(f"t-{n:02}", "1", metadata=_json({"step": 0, "user": "u-1"})) for n in heads]
        saver = make([*older, *written])

        def having(value: str | float | None, *, or_without: bool = False) -> set[int]:
            found = saver.threads_having("user", value, or_without=or_without)
            return {int(thread.thread_id[2:]) for thread in found or ()}

        without = {n for n, document in heads.items() if "user" not in document}
        for value in (*TEXTS, *NUMBERS):
            fitting = {n for n, document in heads.items() if document.get("user") == value}
            assert fitting <= having(value), value
            assert fitting | without <= having(value, or_without=True), value
        ones = {n for n, document in heads.items() if document.get("user") in (1, 0.5)}
        assert not having("nobody") & {0, 1}
        assert not (having(7) | having(0.25)) & {0, 1, *ones}
        assert heads.keys() - without <= having(None)

    def test_heads_with_their_rows(self, make: Make) -> None:
        """Many heads come as each alone, with the rows of their threads, whether writes are on them, and roots."""
        names = [(i, own) for i in self.odd_ids for own in ("1", "2")]
        names += [(f"t-{n:03}", str(own)) for n in range(120) for own in range(1, n % 3 + 2)]
        chain = [self.checkpoint(*name, parent_id=None if name[1] == "1" else "1") for name in names]
        inside = [self.checkpoint(f"t-{n:03}", "1", ns="sub") for n in range(0, 120, 7)]
        written = [self.write(f"t-{n:03}", own) for n in range(0, 120, 5) for own in ("1", "3")]
        saver = make(
            [*chain, *inside, *(write for write in written if (write.thread_id, write.checkpoint_id) in names)]
        )
        heads = [thread.head for thread in saver.threads()]
        reads = {read.head: read for read in saver.head_reads([*heads, Ref("nobody", "", "1")])}
        assert reads.keys() == set(heads)
        assert sum(read.is_written for read in reads.values()) > 10
        for head, read in reads.items():
            writes = [*saver.writes_on([head])]
            assert read.is_written == bool(writes)
            assert read.writes is None or [*read.writes] == writes
            assert list(read.rows) == [*saver.rows(head.thread_id)]
            assert [read.checkpoint] == [*saver.checkpoints([head])]
            if read.first is not None and read.root_metadata is not None:
                assert [(read.first.ref, read.root_metadata)] == [*saver.metadata([read.first.ref])]
                assert read.first.parent_id is None

    def test_writes_by_the_path_of_their_tasks(self, make: Make) -> None:
        """Those of checkpoints on which tasks of one path wrote; other checkpoints are named without them."""
        first, second, skipped = "~__pregel_pull, first", "~__pregel_pull, second", "branch:to:"
        refs = [Ref(f"t-{number:02}", "", "1") for number in range(20)]
        records: list[Record] = [self.checkpoint(*ref[::2]) for ref in refs]
        for number, ref in enumerate(refs):
            for idx, channel in enumerate((f"{skipped}x", "a", "b")[: 1 + number % 3]):
                value = Payload("msgpack", bytes(number))
                records.append(self.write(*ref[::2], idx=idx, channel=channel, path=first, payload=value))
            if number % 5 == 0:
                channel = "a" if number % 2 else f"{skipped}x"  # another path's write counts, whatever its channel
                records.append(self.write(*ref[::2], "other", channel=channel, path=second))
        saver = make(records)
        found = dict(saver.lone_writes([*refs, Ref("nobody", "", "1")], first, without=skipped, values=12))
        assert found.keys() <= set(refs)
        for ref in refs:
            writes = [*saver.writes_on([ref], values=12)]
            wanted = [(write.channel, write.payload) for write in writes if not write.channel.startswith(skipped)]
            own = found.get(ref, [])
            assert (own is None) == any(write.task_path != first for write in writes)
            assert own is None or [one for one in own if not one[0].startswith(skipped)] == wanted
