"""What `stats --advise` prints for MongoDB: the server takes each command."""

import json
import re
from collections.abc import Callable

from pymongo import MongoClient

from ckpt_cli.savers.measures import Figures
from tests.savers.mongodb.conftest import SAMPLES, filled
from tests.savers.small import opened
from tests.servers.mongodb import Mongo

LARGE = Figures(threads=10**6, checkpoints=10**7, writes=10**7, bytes=1 << 40, repeated=None)
_INDEX = re.compile(r"db\.getCollection\((\".*\")\)\.createIndex\((\{.*\}), (\{.*\})\)")


def _document(typed: str) -> dict[str, int]:
    """An object of the shell, whose keys need no quotes."""
    found: dict[str, int] = json.loads(re.sub(r"(\w+):", r'"\1":', typed))
    return found


def test_documents_expire_once_the_indexes_are_made(mongo: Mongo, mongo_database: Callable[[], str]) -> None:
    """As they are printed; then nothing more is said of them, and nothing of a small database."""
    name = mongo_database()
    filled(mongo.url, name, SAMPLES.checkpoint("t", "1"), SAMPLES.write("t", "1"))
    with opened(mongo.database(name)) as saver:
        assert list(saver.advice(saver.space(), LARGE._replace(checkpoints=1))) == []
        (advice,) = saver.advice(saver.space(), LARGE)
    with MongoClient(mongo.url) as client:
        for line in advice.commands:
            found = _INDEX.fullmatch(line)
            assert found is not None, line
            relation, keys, options = json.loads(found[1]), _document(found[2]), _document(found[3])
            assert relation in client[name].list_collection_names()
            made = client[name][relation].create_index([*keys.items()], **options)
            assert client[name][relation].index_information()[made]["expireAfterSeconds"] == 90 * 86400
    with opened(mongo.database(name)) as saver:
        assert list(saver.advice(saver.space(), LARGE)) == []
