"""A stand-in for ``mongod``: the wire protocol (OP_MSG) over mongomock, for machines that can't have a real one.

It answers pymongo and LangGraph's own saver as a server of one node does. ``--replica-set`` adds transactions (taken
back when aborted, not isolated) and snapshot reads, ``--read-only`` a user who may only read, ``--keep`` a file that
survives it. The command ``{"stub": "die", "after": n, "of": "writes"}`` makes it kill itself in the middle of its work.

    python -m tests.servers.mongod_stub PORT [--replica-set] [--read-only] [--keep FILE]
"""

import argparse
import itertools
import os
import signal
import socketserver
import struct
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import bson
import mongomock
import mongomock.aggregate
from bson.codec_options import CodecOptions
from mongomock.collection import Collection
from mongomock.filtering import filter_applies
from mongomock.store import CollectionStore

Document = dict[str, Any]

_OPTIONS: CodecOptions[Document] = CodecOptions(tz_aware=False)
_BIG = 1 << 30
_WRITES = {"insert", "update", "delete", "findandmodify", "createindexes", "drop", "dropdatabase"}


class Fail(Exception):
    """An answer that says no."""

    def __init__(self, code: int, name: str, message: str) -> None:
        super().__init__(message)
        self.document = {"ok": 0.0, "errmsg": message, "code": code, "codeName": name}


class Stub:
    """All that one server holds."""

    def __init__(self, port: int, *, replica_set: bool, read_only: bool, keep: Path | None) -> None:
        self.port, self.replica_set, self.read_only, self.keep = port, replica_set, read_only, keep
        self.live = mongomock.MongoClient()
        self.lock = threading.RLock()
        self.cursors: dict[int, tuple[str, list[Document]]] = {}
        self.numbered: dict[tuple[str, str], uuid.UUID] = {}
        self.process = bson.ObjectId()
        self.numbers = itertools.count(1000)
        self.snapshots: dict[bson.Timestamp, Any] = {}
        self.begun: dict[bytes, Document] = {}
        self.dying: dict[str, int] = {}
        self.views: set[tuple[str, str]] = set()
        if keep is not None and keep.exists():
            self.put_back(bson.decode(keep.read_bytes(), _OPTIONS))

    def state(self) -> Document:
        """Every document of every collection."""
        return {
            db: {name: list(self.live[db][name].find()) for name in self.live[db].list_collection_names()}
            for db in self.live.list_database_names()
        }

    def put_back(self, state: Document) -> None:
        """Replace all documents by those of that state; indexes stay."""
        for db in self.live.list_database_names():
            for name in self.live[db].list_collection_names():
                self.live[db][name].delete_many({})
        for db, collections in state.items():
            for name, documents in collections.items():
                self.live[db].create_collection(name) if name not in self.live[db].list_collection_names() else None
                if documents:
                    self.live[db][name].insert_many(documents)

    def did(self, of: str) -> None:
        """One more read or write is done; it may have been the last."""
        if of == "writes" and self.keep is not None and not self.begun:
            fresh = self.keep.with_suffix(".fresh")
            fresh.write_bytes(bson.encode(self.state()))
            fresh.rename(self.keep)
        if of in self.dying:
            self.dying[of] -= 1
            if self.dying[of] <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def answer(self, command: Document) -> Document:
        """What a server says to one command."""
        db = command.get("$db", "admin")
        name = next(iter(command)).lower()
        answer = getattr(self, f"do_{name}", None)
        if answer is None:
            return Fail(59, "CommandNotFound", f"no such command: '{name}'").document
        with self.lock:
            try:
                self.begin(command)
                if self.read_only and name in _WRITES:
                    raise Fail(13, "Unauthorized", f"not authorized on {db} to execute command {{ {name}: 1 }}")
                return dict(answer(db, command))
            except Fail as error:
                return error.document
            except Exception as error:  # whatever mongomock can't do
                return Fail(2, "BadValue", f"{type(error).__name__}: {error}").document

    # Sessions

    def begin(self, command: Document) -> None:
        if command.get("startTransaction"):
            if not self.replica_set:
                raise Fail(20, "IllegalOperation", "Transaction numbers are only allowed on a replica set member")
            self.begun[command["lsid"]["id"]] = deepcopy(self.state())

    def do_committransaction(self, _: str, command: Document) -> Document:
        self.begun.pop(command["lsid"]["id"], None)
        self.did("commits")
        return {"ok": 1.0}

    def do_aborttransaction(self, _: str, command: Document) -> Document:
        before = self.begun.pop(command["lsid"]["id"], None)
        if before is not None:
            self.put_back(before)
        return {"ok": 1.0}

    def reading(self, command: Document) -> tuple[Any, Document]:
        """The client to read from, and what the answer says of it."""
        concern = command.get("readConcern") or {}
        if concern.get("level") != "snapshot" or command.get("startTransaction"):
            return self.live, {}
        at = concern.get("atClusterTime")
        if at is None:
            at = bson.Timestamp(next(self.numbers), 1)
            copy = self.snapshots[at] = mongomock.MongoClient()
            for db, collections in self.state().items():
                for name, documents in collections.items():
                    if documents:
                        copy[db][name].insert_many(deepcopy(documents))
        return self.snapshots[at], {"atClusterTime": at}

    # Reading

    def batch(self, documents: Iterable[Document], ns: str, size: int | None, at: Document | None = None) -> Document:
        found = list(documents)
        first, rest = found[: 101 if size is None else size], found[101 if size is None else size :]
        number = next(self.numbers) if rest else 0
        if rest:
            self.cursors[number] = (ns, rest)
        self.did("reads")
        return {"cursor": {"firstBatch": first, "id": bson.Int64(number), "ns": ns, **(at or {})}, "ok": 1.0}

    def do_find(self, db: str, c: Document) -> Document:
        client, at = self.reading(c)
        cursor = client[db][c["find"]].find(c.get("filter") or {}, c.get("projection") or None)
        if c.get("sort"):
            cursor = cursor.sort(list(c["sort"].items()))
        cursor = cursor.skip(c["skip"]) if c.get("skip") else cursor
        cursor = cursor.limit(abs(c["limit"])) if c.get("limit") else cursor
        return self.batch(cursor, f"{db}.{c['find']}", _BIG if c.get("singleBatch") else c.get("batchSize"), at)

    def do_getmore(self, _: str, c: Document) -> Document:
        number = int(c["getMore"])
        if number not in self.cursors:
            raise Fail(43, "CursorNotFound", f"cursor id {number} not found")
        ns, rest = self.cursors.pop(number)
        size, batch = 0, []
        while rest and len(batch) < (c.get("batchSize") or _BIG) and size < 12_000_000:
            batch.append(rest.pop(0))
            size += len(bson.encode(batch[-1]))
        if rest:
            self.cursors[number] = (ns, rest)
        self.did("reads")
        return {"cursor": {"nextBatch": batch, "id": bson.Int64(number if rest else 0), "ns": ns}, "ok": 1.0}

    def do_killcursors(self, _: str, c: Document) -> Document:
        for number in c.get("cursors", []):
            self.cursors.pop(int(number), None)
        none: list[int] = []
        return {"cursorsKilled": c["cursors"], "cursorsNotFound": none, "cursorsAlive": none, "ok": 1.0}

    def do_aggregate(self, db: str, c: Document) -> Document:
        client, at = self.reading(c)
        collection, stages = client[db][c["aggregate"]], list(c["pipeline"])
        where = stages.pop(0)["$match"] if stages and "$match" in stages[0] else {}
        found = mongomock.aggregate.process_pipeline(list(collection.find(where)), client[db], stages, None)
        return self.batch(found, f"{db}.{c['aggregate']}", (c.get("cursor") or {}).get("batchSize"), at)

    def do_count(self, db: str, c: Document) -> Document:
        return {"n": self.live[db][c["count"]].count_documents(c.get("query") or {}), "ok": 1.0}

    # Writing

    def each(self, items: list[Document], do: Callable[[Document], None], c: Document) -> Document:
        errors: list[Document] = []
        for index, item in enumerate(items):
            try:
                do(item)
            except Exception as error:
                duplicate = "Duplicate" in type(error).__name__
                errors.append({"index": index, "code": 11000 if duplicate else 2, "errmsg": str(error)})
                if c.get("ordered", True):
                    break
            else:
                self.did("writes")
        return {"ok": 1.0, **({"writeErrors": errors} if errors else {})}

    def do_insert(self, db: str, c: Document) -> Document:
        done: list[Document] = []

        def insert(document: Document) -> None:
            self.live[db][c["insert"]].insert_one(document)
            done.append(document)

        return {**self.each(c.get("documents", []), insert, c), "n": len(done)}

    def do_update(self, db: str, c: Document) -> Document:
        collection, matched, modified, upserted = self.live[db][c["update"]], 0, 0, []

        def update(one: Document) -> None:
            nonlocal matched, modified
            whole = not any(key.startswith("$") for key in one["u"])
            do = collection.replace_one if whole else collection.update_many if one.get("multi") else None
            result = (do or collection.update_one)(one["q"], one["u"], upsert=one.get("upsert", False))
            if result.upserted_id is not None:
                upserted.append({"index": c["updates"].index(one), "_id": result.upserted_id})
            matched += result.matched_count or (result.upserted_id is not None)
            modified += result.modified_count or 0

        summary = self.each(c.get("updates", []), update, c)
        return {**summary, "n": matched, "nModified": modified, **({"upserted": upserted} if upserted else {})}

    def do_delete(self, db: str, c: Document) -> Document:
        counts: list[int] = []
        collection = self.live[db][c["delete"]]

        def delete(one: Document) -> None:
            do = collection.delete_one if one.get("limit") == 1 else collection.delete_many
            counts.append(do(one["q"]).deleted_count)

        return {**self.each(c.get("deletes", []), delete, c), "n": sum(counts)}

    def do_createindexes(self, db: str, c: Document) -> Document:
        for index in c["indexes"]:
            words = {k: index[k] for k in ("unique", "sparse", "expireAfterSeconds", "name") if k in index}
            self.live[db][c["createIndexes"]].create_index(list(index["key"].items()), **words)
        self.did("writes")
        return {"numIndexesBefore": 1, "numIndexesAfter": 1 + len(c["indexes"]), "ok": 1.0}

    def do_create(self, db: str, c: Document) -> Document:
        """A view is only a name here: nobody may read it."""
        self.live[db].create_collection(c["create"])
        self.views.add((db, c["create"])) if "viewOn" in c else None
        return {"ok": 1.0}

    def do_drop(self, db: str, c: Document) -> Document:
        self.live[db].drop_collection(c["drop"])
        return {"ok": 1.0}

    def do_dropdatabase(self, db: str, _: Document) -> Document:
        self.live.drop_database(db)
        return {"ok": 1.0}

    # Databases and collections

    def do_listindexes(self, db: str, c: Document) -> Document:
        name = c["listIndexes"]
        if name not in self.live[db].list_collection_names():
            raise Fail(26, "NamespaceNotFound", f"ns does not exist: {db}.{name}")
        found = [
            {
                "v": 2,
                "key": dict(kept["key"]),
                "name": index,
                **{k: v for k, v in kept.items() if k not in ("v", "key")},
            }
            for index, kept in self.live[db][name].index_information().items()
        ]
        return self.batch(found, f"{db}.{name}", None)

    def do_listcollections(self, db: str, c: Document) -> Document:
        only = (c.get("filter") or {}).get("name")
        wanted = only["$in"] if isinstance(only, dict) else [only] if only else None
        names = [n for n in sorted(self.live[db].list_collection_names()) if wanted is None or n in wanted]
        kinds = {n: "view" if (db, n) in self.views else "collection" for n in names}
        found = [{"name": n, "type": kinds[n], "options": {}, "info": self.info(db, n)} for n in names]
        return self.batch(found, f"{db}.$cmd.listCollections", None)

    def info(self, db: str, name: str) -> Document:
        """A collection's own id, which it has as long as this server runs."""
        number = self.numbered.setdefault((db, name), uuid.uuid4())
        return {"readOnly": False, "uuid": bson.Binary.from_uuid(number)}

    def do_listdatabases(self, _: str, __: Document) -> Document:
        names = self.live.list_database_names()
        found = [{"name": name, "sizeOnDisk": 1.0, "empty": False} for name in names]
        return {"databases": found, "totalSize": 1.0, "ok": 1.0}

    # The driver's monitor has no session: if it saw versions of the topology, it would ask for every change.

    def do_hello(self, _: str, c: Document) -> Document:
        me = f"127.0.0.1:{self.port}"
        member = {"setName": "rs", "setVersion": 1, "hosts": [me], "primary": me, "me": me, "secondary": False}
        return {
            "helloOk": True,
            "ismaster": True,
            "isWritablePrimary": True,
            "maxBsonObjectSize": 16777216,
            "maxMessageSizeBytes": 48000000,
            "maxWriteBatchSize": 100000,
            "minWireVersion": 0,
            "maxWireVersion": 21,
            "logicalSessionTimeoutMinutes": 30,
            "connectionId": 1,
            "readOnly": False,
            "ok": 1.0,
            **(member if self.replica_set else {}),
            **({"topologyVersion": {"processId": self.process, "counter": bson.Int64(0)}} if "lsid" in c else {}),
        }

    do_ismaster = do_hello

    def do_connectionstatus(self, _: str, __: Document) -> Document:
        auth_info: Document = {
            "authenticatedUsers": [],
            "authenticatedUserRoles": [],
            "authenticatedUserPrivileges": [],
        }
        if self.read_only:
            everywhere = {"resource": {"db": "", "collection": ""}, "actions": ["find", "listCollections"]}
            user = {"user": "reader", "db": "admin"}
            auth_info = {**auth_info, "authenticatedUsers": [user], "authenticatedUserPrivileges": [everywhere]}
        return {"authInfo": auth_info, "ok": 1.0}

    def do_saslstart(self, _: str, __: Document) -> Document:
        raise Fail(18, "AuthenticationFailed", "Authentication failed.")

    def do_buildinfo(self, _: str, __: Document) -> Document:
        return {"version": "7.0.0", "versionArray": [7, 0, 0, 0], "ok": 1.0}

    def do_ping(self, _: str, __: Document) -> Document:
        return {"ok": 1.0}

    do_endsessions = do_ping

    def do_stub(self, _: str, c: Document) -> Document:
        """Not MongoDB's: how this process is to end."""
        self.dying = {c["of"]: c["after"]}
        return {"ok": 1.0}


def _know_sizes() -> None:
    """Measure in pipelines: mongomock has no ``$binarySize``; this is where it parses expressions."""
    parser = mongomock.aggregate._Parser
    parse = parser.parse

    def sized(self: Any, expression: Any) -> Any:
        if isinstance(expression, dict) and list(expression) == ["$binarySize"]:
            with suppress(KeyError):
                value = parse(self, expression["$binarySize"])
                return None if value is None else len(value)
            return None
        return parse(self, expression)

    parser.parse = sized


def _find_by_place() -> None:
    """Look documents up by thread and checkpoint: mongomock walks over all for every filter and every unique index."""
    walk, put = Collection._iter_documents, CollectionStore.__setitem__

    def remember(self: Any, key: Any, document: Document) -> None:
        put(self, key, document)
        places = self.__dict__.setdefault("places", {})
        thread = places.setdefault(repr(document.get("thread_id")), {})
        thread.setdefault(document.get("checkpoint_id"), {})[key] = None

    def keys(self: Any, where: Document) -> list[Any] | None:
        threads, ids = _named(where.get("thread_id")), _named(where.get("checkpoint_id"))
        if threads is None:
            return None
        places = self._store.__dict__.get("places", {})
        found = [places.get(repr(thread), {}) for thread in threads]
        return [k for thread in found for one in (thread if ids is None else ids) for k in thread.get(one, ())]

    def found(self: Any, where: Document) -> Iterator[Document]:
        if set(where) == {"$or"}:
            seen: dict[Any, Document] = {}
            for clause in where["$or"]:
                seen |= {repr(document["_id"]): document for document in self._iter_documents(clause)}
            return iter(seen.values())
        known, stored = keys(self, where), self._store._documents
        if known is None:
            return iter(walk(self, where))
        return (stored[key] for key in known if key in stored and filter_applies(where, stored[key]))

    Collection._iter_documents, CollectionStore.__setitem__ = found, remember


def _named(condition: Any) -> list[Any] | None:
    """The values that a condition names, None where it doesn't."""
    if isinstance(condition, dict):
        named: list[Any] | None = condition.get("$in", [condition["$eq"]] if "$eq" in condition else None)
        return named
    return None if condition is None else [condition]


class Handler(socketserver.BaseRequestHandler):
    """One connection."""

    server: "Server"

    def exact(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.request.recv(min(1 << 20, count - len(data)))
            if not part:
                raise EOFError
            data += part
        return data

    def handle(self) -> None:
        with suppress(EOFError, ConnectionError):
            while True:
                length, number, _, kind = struct.unpack("<iiii", self.exact(16))
                self.message(number, kind, self.exact(length - 16))

    def message(self, number: int, kind: int, body: bytes) -> None:
        if kind == 2004:  # OP_QUERY, for the handshake only
            start = body.index(0, 4) + 9
            query = bson.decode(body[start : start + struct.unpack_from("<i", body, start)[0]], _OPTIONS)
            head = struct.pack("<iqii", 8, 0, 0, 1)
            self.send(number, 1, head + bson.encode(self.server.stub.answer(query.get("$query", query))))
            return
        (flags,) = struct.unpack_from("<I", body)
        answer = self.server.stub.answer(_sections(body[4 : len(body) - (4 if flags & 1 else 0)]))
        if not flags & 2:
            self.send(number, 2013, struct.pack("<I", 0) + b"\0" + bson.encode(answer))

    def send(self, to: int, kind: int, data: bytes) -> None:
        self.request.sendall(struct.pack("<iiii", 16 + len(data), 1, to, kind) + data)


def _sections(body: bytes) -> Document:
    at, command, sequences = 0, {}, {}
    while at < len(body):
        kind, at = body[at], at + 1
        (size,) = struct.unpack_from("<i", body, at)
        if kind == 0:
            command = bson.decode(body[at : at + size], _OPTIONS)
        else:
            end = body.index(0, at + 4)
            sequences[body[at + 4 : end].decode()] = bson.decode_all(body[end + 1 : at + size], _OPTIONS)
        at += size
    return {**command, **sequences}


class Server(socketserver.ThreadingTCPServer):
    """Listens on loopback."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, stub: Stub) -> None:
        self.stub = stub
        super().__init__(("127.0.0.1", stub.port), Handler)


if __name__ == "__main__":
    words = argparse.ArgumentParser()
    words.add_argument("port", type=int)
    words.add_argument("--replica-set", action="store_true")
    words.add_argument("--read-only", action="store_true")
    words.add_argument("--keep", type=Path)
    given = words.parse_args()
    _know_sizes()
    _find_by_place()
    stub = Stub(given.port, replica_set=given.replica_set, read_only=given.read_only, keep=given.keep)
    Server(stub).serve_forever()
