"""The connection to a server: queries and writes, and the sessions that they run in."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from bson.codec_options import CodecOptions, DatetimeConversion
from bson.raw_bson import RawBSONDocument
from pymongo import errors
from pymongo.read_concern import ReadConcern
from pymongo.write_concern import WriteConcern

from ckpt_cli.savers import faults
from ckpt_cli.savers.mongodb.address import PAIRS, Address
from ckpt_cli.savers.mongodb.client import make_client, must_be_encrypted
from ckpt_cli.savers.mongodb.faults import is_lost, translate_errors

T = TypeVar("T")
Document = dict[str, Any]

_RAW: CodecOptions[RawBSONDocument] = CodecOptions(RawBSONDocument)
_VALUES: CodecOptions[Document] = CodecOptions(
    unicode_decode_error_handler="replace", datetime_conversion=DatetimeConversion.DATETIME_AUTO
)
_SNAPSHOTS = 13  # the wire version of MongoDB 5.0, the first with snapshots outside transactions
_NO_OPERATOR = (168, 31325, 15999, 51276)
_SIZE = re.compile("binarySize|bsonSize")


class Connection:
    """One client; while a session is open, all commands run in the session."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self._client = make_client(address)
        must_be_encrypted(self._client, address)
        self._session: Any = None
        self._in_session = self._sent = False
        self._can_measure = True
        try:
            with translate_errors(address.location):
                self.hello: Document = self._client.admin.command("hello")
                self.version = str(self._client.server_info().get("version", ""))
        except BaseException:
            self._client.close()
            raise
        self._db = self._client.get_database(address.database, codec_options=_VALUES)

    @property
    def is_cluster(self) -> bool:
        """Whether the server is a replica set or a sharded cluster: only these have snapshots and transactions."""
        return "setName" in self.hello or self.hello.get("msg") == "isdbgrid"

    @property
    def has_snapshots(self) -> bool:
        """Whether several reads can share one snapshot."""
        return self.is_cluster and int(self.hello.get("maxWireVersion", 0)) >= _SNAPSHOTS

    def choose_collections(self) -> tuple[list[str], Address]:
        """The names of LangGraph's collections that exist, and the address with the two that ckpt uses.

        Raises:
            DatabaseUnreachable: no collection exists, or one is a view; reading a view would run the view's pipeline.
        """
        pairs = [(self.address.collection, self.address.writes)] if self.address.collection else PAIRS
        names = [name for pair in (*pairs, *PAIRS) for name in pair]
        with translate_errors(self.address.location):
            listing = self._db.list_collections(filter={"name": {"$in": names}}, nameOnly=True, session=self._session)
            types = {str(one["name"]): one.get("type") for one in listing}
        for collection, writes in pairs:
            if collection in types:
                for name in (collection, writes):
                    if types.get(name) == "view":
                        raise faults.no_table(self.address.location, name, "a view")
                self.address = self.address._replace(collection=collection, writes=writes)
                return sorted(types), self.address
        hint = "the URL's path names the database, ?collection= and ?writes_collection= the collections"
        hint = f"it has no collection {pairs[0][0]!r}: {hint}"
        raise faults.no_checkpoints(self.address.location, hint, "MongoDBSaver(client, database)")

    def marks(self) -> tuple[str, str]:
        """The collections' UUIDs, and an id of the running server; "" where there is none.

        A renamed collection keeps its UUID. A copy of the server's files has the same UUIDs; a restored dump has new
        ones. The server's id is the primary's election id, which is the same at each address. A single server gives its
        process id instead (MongoDB 4.4, ``hello``).
        """
        names = [self.address.collection, self.address.writes]
        with translate_errors(self.address.location):
            listing = self._db.list_collections(filter={"name": {"$in": names}}, session=self._session)
            ids = {one["name"]: one.get("info", {}).get("uuid") for one in listing}
            hello = self._client.admin.command("hello")
        process = hello.get("topologyVersion", {}).get("processId")
        known = [str(ids[name]) for name in names if ids.get(name) is not None]
        return "/".join(known), str(hello.get("electionId") or process or "")

    @property
    def user(self) -> str:
        """The user with the database of the login: ``name@admin``; a word if the server asks for no login."""
        with translate_errors(self.address.location):
            users = self._client.admin.command("connectionStatus")["authInfo"].get("authenticatedUsers", [])
        return ", ".join(f"{one.get('user')}@{one.get('db')}" for one in users) or "none (the server asks for no login)"

    def find(
        self, relation: str, where: Document, columns: Sequence[str], sort: Mapping[str, int], limit: int = 0
    ) -> Iterator[Document]:
        """The matching documents, with only these fields."""
        projection = {**dict.fromkeys(columns, 1), "_id": 0}
        order = [*sort.items()] or None
        return iter(self._db[relation].find(where, projection, sort=order, limit=limit, session=self._session))

    def raw(self, relation: str, where: Document) -> Iterator[RawBSONDocument]:
        """Whole documents that match, byte for byte."""
        collection = self._db[relation].with_options(codec_options=_RAW)
        return iter(collection.find(where, session=self._session))

    def aggregate(self, relation: str, pipeline: Sequence[Document]) -> Iterator[Document]:
        """The documents that a pipeline gives."""
        return iter(self._db[relation].aggregate([*pipeline], allowDiskUse=True, session=self._session))

    def measured(self, relation: str, pipeline: Callable[[bool], Sequence[Document]]) -> Iterator[Document]:
        """The documents of a pipeline: with sizes, unless the server can't compute sizes (before 4.4, clones)."""
        if self._can_measure:
            try:
                return self.aggregate(relation, pipeline(True))
            except errors.OperationFailure as error:
                if error.code not in _NO_OPERATOR and not _SIZE.search(str(error)):
                    raise
                self._can_measure = False
        return self.aggregate(relation, pipeline(False))

    def storage(self, relation: str) -> Document:
        """The server's figures of a collection; empty if this user may not ask for them, or the server has none."""
        try:
            return dict(self._db.command("collStats", relation))
        except errors.OperationFailure:
            return {}

    def indexes(self, relation: str) -> dict[str, str]:
        """The indexes of a collection: the keys of each, with its expiry if it has one."""
        try:
            found = self._db[relation].index_information()
        except errors.OperationFailure:
            return {}
        expiry = {
            name: f", expires after {one['expireAfterSeconds']} s"
            for name, one in found.items()
            if "expireAfterSeconds" in one
        }
        return {
            name: ", ".join(str(key) for key, _ in one["key"]) + expiry.get(name, "") for name, one in found.items()
        }

    def moment(self, look: Callable[[], T], *, snapshot: bool = True) -> T:
        """Run `look`; run it again if the connection broke.

        Args:
            look: reads.
            snapshot: whether to read a snapshot if the server has snapshots. A snapshot lacks what was written without
                the write concern "majority".
        """
        if self._in_session:
            return look()
        snapshot = snapshot and self.has_snapshots
        with translate_errors(self.address.location):
            try:
                return self._look(look, snapshot)
            except errors.PyMongoError as error:
                if not is_lost(error):
                    raise
                return self._look(look, snapshot)

    def _look(self, look: Callable[[], T], snapshot: bool) -> T:
        self._in_session = True
        try:
            if not snapshot:
                return look()
            with self._client.start_session(snapshot=True) as self._session:
                return look()
        finally:
            self._in_session, self._session = False, None

    def transaction(self, work: Callable[[], T]) -> T:
        """Run `work`, which may write: in a transaction if the server has transactions.

        Raises:
            Refused: this user or this server may not write.
        """
        if self._in_session:
            return work()
        self._in_session, self._sent = True, False
        location = self.address.location
        try:
            with faults.unless_sent(location, lambda: self._sent), translate_errors(location, writing=True):
                self._must_be_writable()
                return self._in_transaction(work) if self.is_cluster else work()
        finally:
            self._in_session, self._session = False, None

    def _in_transaction(self, work: Callable[[], T]) -> T:
        with (
            self._client.start_session() as self._session,
            self._session.start_transaction(ReadConcern("snapshot"), WriteConcern("majority")),
        ):
            return work()

    def write(self, relation: str, operations: Sequence[Any]) -> Any:
        """Make the changes in this order; stop at the first that fails."""
        self._sent = True
        return self._db[relation].bulk_write([*operations], ordered=True, session=self._session)

    def write_alone(self, relation: str, operations: Sequence[Any]) -> None:
        """Make changes in one request outside any transaction; they run again if the connection is lost.

        Args:
            relation: the collection.
            operations: changes that may be made twice.
        """
        with translate_errors(self.address.location, writing=True):
            try:
                self._db[relation].bulk_write([*operations])
            except errors.PyMongoError as error:
                if not is_lost(error):
                    raise
                self._db[relation].bulk_write([*operations])

    def close(self) -> None:
        """Close the sockets; safe to call twice."""
        self._client.close()

    def must_be_writable(self) -> None:
        """Check the server's role and this user's roles; the server may still refuse the write itself.

        Raises:
            Refused: this user or this server may not write.
        """
        with faults.unless_sent(self.address.location), translate_errors(self.address.location, writing=True):
            self._must_be_writable()

    def _must_be_writable(self) -> None:
        if not (self.hello.get("isWritablePrimary") or self.hello.get("ismaster") or self.is_cluster):
            raise faults.read_only(self.address.location, "it is a secondary")
        info = self._client.admin.command("connectionStatus", showPrivileges=True)["authInfo"]
        if info.get("authenticatedUsers") and not _may_write(self.address, info.get("authenticatedUserPrivileges", [])):
            user = info["authenticatedUsers"][0].get("user", "")
            raise faults.may_not_write(self.address.location, f"{user!r} lacks the role readWrite")


def _may_write(address: Address, privileges: Sequence[Document]) -> bool:
    """Whether the privileges allow writing both collections."""
    return all(
        any(
            _covers(privilege.get("resource", {}), address.database, name)
            and {"insert", "update", "remove"} <= set(privilege["actions"])
            for privilege in privileges
        )
        for name in (address.collection, address.writes)
    )


def _covers(resource: Document, database: str, collection: str) -> bool:
    if resource.get("anyResource"):
        return True
    return resource.get("db") in ("", database) and resource.get("collection") in ("", collection)
