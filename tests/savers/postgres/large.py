"""Large databases, made by the server itself: a number of threads with a number of checkpoints each.

The last two checkpoints of a thread have a blob, and the two before the last have a write.
"""

import psycopg

_ID = "'1ef00000-0000-6000-8000-' || lpad(to_hex({}), 12, '0')"

_CHECKPOINTS = f"""
INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
SELECT 'thread-' || lpad(t::text, 6, '0'), '', {_ID.format("t * 1000 + s")},
    CASE WHEN s > 1 THEN {_ID.format("t * 1000 + s - 1")} END,
    jsonb_build_object('v', 4, 'id', {_ID.format("t * 1000 + s")}, 'ts', '2026-01-01T00:00:00+00:00',
        'channel_values', jsonb_build_object('n', s, 'text', repeat('a word or two ', 4)),
        'channel_versions', jsonb_build_object('messages', lpad(s::text, 32, '0') || '.0.5', '__start__', '1.0'),
        'versions_seen', jsonb_build_object('__input__', jsonb_build_object()), 'updated_channels', NULL),
    jsonb_build_object('source', 'loop', 'step', s - 2, 'parents', jsonb_build_object())
FROM generate_series(1, %(threads)s) AS t, generate_series(1, %(each)s) AS s
"""

_BLOBS = """
INSERT INTO checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
SELECT 'thread-' || lpad(t::text, 6, '0'), '', 'messages', lpad(s::text, 32, '0') || '.0.5', 'msgpack',
    decode('91a1' || '41', 'hex')
FROM generate_series(1, %(threads)s) AS t, generate_series(greatest(1, %(each)s - 1), %(each)s) AS s
"""

_WRITES = f"""
INSERT INTO checkpoint_writes
    (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob, task_path)
SELECT 'thread-' || lpad(t::text, 6, '0'), '', {_ID.format("t * 1000 + s")},
    md5(t::text || s::text)::uuid::text, 0, 'messages', 'msgpack', decode('91a141', 'hex'),
    '~__pregel_pull, bot'
FROM generate_series(1, %(threads)s) AS t, generate_series(greatest(1, %(each)s - 2), %(each)s - 1) AS s
"""


def fill(url: str, threads: int, each: int) -> None:
    """Add threads of `each` checkpoints; then let the server update its statistics."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (_CHECKPOINTS, _BLOBS, _WRITES):
            connection.execute(statement, {"threads": threads, "each": each})
        for table in ("checkpoints", "checkpoint_blobs", "checkpoint_writes"):
            connection.execute(f"VACUUM ANALYZE {table}")
