"""All statements that read. ``{…}`` is a column expression of the generation (`schema.Schema`), ``?`` a value.

Text parameters are cast to text: text that isn't UTF-8 is bound as bytes, but must equal the text that is stored.
"""

ONE_NS = "AND {ns} {is_ns}"
ONE_WRITE_NS = " AND {write_ns} {is_ns}"
SOME_WRITE_IDS = " AND {some}"

IDS = """
    WITH RECURSIVE ids(id) AS (
        SELECT min(thread_id) FROM checkpoints
        UNION ALL
        SELECT (SELECT min(thread_id) FROM checkpoints WHERE thread_id > ids.id) FROM ids WHERE ids.id IS NOT NULL
    )
"""
"""Jumps from thread to thread in the key index."""

_HEADS = """
    SELECT id, (SELECT max({id}) FROM checkpoints WHERE thread_id = ids.id AND {ns} = '') AS head
    FROM ids WHERE id IS NOT NULL
    ORDER BY head IS NOT NULL, head DESC, id
"""

THREADS = IDS + _HEADS
"""Threads without a root namespace come first; their head is NULL."""

_SOME_HEADS = """, heads(id, head) AS (
        SELECT id, (SELECT max({id}) FROM checkpoints WHERE thread_id = ids.id AND {ns} = '')
        FROM ids WHERE id IS NOT NULL LIMIT -1
    )
    SELECT id, head FROM heads WHERE head IS NULL OR EXISTS ({fits}) ORDER BY head IS NOT NULL, head DESC, id
"""
"""LIMIT keeps SQLite from finding a head twice."""

SOME_THREADS = IDS + _SOME_HEADS
"""As `THREADS`, but a thread with a root head is given only if the head fits."""

HEAD_HAS_WRITE = """
    SELECT 1 FROM writes WHERE thread_id = heads.id AND {write_ns} = '' AND {write_id} = heads.head
        AND CAST(channel AS TEXT) IN ({channels})
"""

WRITES_OF_FIRST_THREADS = """
    SELECT count(DISTINCT thread_id), sum({write_size})
    FROM (SELECT thread_id, value FROM writes ORDER BY thread_id LIMIT ?)
"""
MARKED_HEADS = """
    WITH marked(id, own) AS (
        SELECT DISTINCT thread_id, {write_id} FROM writes NOT INDEXED
        WHERE {write_ns} = '' AND CAST(channel AS TEXT) IN ({channels}) LIMIT -1
    ), heads(id, own, head) AS (
        SELECT id, own, (SELECT max({id}) FROM checkpoints WHERE thread_id = marked.id AND {ns} = '')
        FROM marked LIMIT -1
    )
    SELECT id, head FROM (
        SELECT id, head FROM heads WHERE own = head
        UNION ALL
        SELECT id, NULL FROM (
            SELECT DISTINCT thread_id AS id FROM checkpoints WHERE {ns} IS NOT '' OR {id} IS NULL LIMIT -1
        ) AS nested
        WHERE id IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM checkpoints WHERE thread_id = nested.id AND {ns} = '' AND {id} IS NOT NULL
        )
    )
    ORDER BY head IS NOT NULL, head DESC, id
"""
"""What `SOME_THREADS` finds with `HEAD_HAS_WRITE`, by one pass over the writes and one over the key index."""

HEAD_MAY_HAVE = """
    SELECT 1 FROM (
        SELECT coalesce({metadata}, '') AS metadata FROM checkpoints
        WHERE thread_id = heads.id AND {ns} = '' AND {id} = heads.head
    )
    WHERE CASE
        WHEN instr(CAST(metadata AS BLOB), CAST(? AS BLOB)) > 0 OR instr(CAST(metadata AS BLOB), x'5c') > 0 THEN 1
        WHEN NOT json_valid(CAST(metadata AS TEXT)) THEN 1
        ELSE {otherwise}
    END
"""
"""Without a backslash, JSON spells a text in one way only; so its bytes must be there."""
KEY_IS_ABSENT = "json_type(CAST(metadata AS TEXT), ?) IS NULL"

_HEAD_METADATA = """, heads(id, head) AS (
        SELECT id, (SELECT max({id}) FROM checkpoints WHERE thread_id = ids.id AND {ns} = '')
        FROM ids WHERE id IS NOT NULL LIMIT -1
    ), found AS (
        SELECT id, head, ? AS name, ? AS path, CAST(coalesce((
            SELECT {metadata} FROM checkpoints WHERE thread_id = heads.id AND {ns} = '' AND {id} = heads.head
        ), '') AS TEXT) AS metadata FROM heads LIMIT -1
    )
    SELECT id, head, CASE
        WHEN head IS NULL OR NOT json_valid(metadata) OR instr(metadata, char(92)) > 0
            OR instr(substr(metadata, instr(metadata, name) + 1), name) > 0 THEN '{{'
        ELSE CASE json_type(metadata, path)
            WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE substr(json_extract(metadata, path), 1, 40)
        END
    END FROM found ORDER BY head IS NOT NULL, head DESC, id
"""
NUMBERS = IDS + _HEAD_METADATA
"""Threads, heads, and what their metadata has under a key; a brace if JSON may spell it in several ways."""

HAS_ROWIDS = """
    SELECT 1 FROM sqlite_schema
    WHERE type = 'table' AND lower(name) = 'checkpoints' AND upper(sql) NOT LIKE '%WITHOUT%ROWID%'
"""
LAST_ROW = "SELECT rowid, {id} FROM checkpoints ORDER BY rowid DESC LIMIT 1"
ID_OF_ROW = "SELECT {id} FROM checkpoints WHERE rowid = ?"
ROWS_AFTER = "SELECT thread_id, {ns}, {id} FROM checkpoints WHERE rowid > ?"
"""One writer at a time stores rows, each with a rowid above all others."""

COUNT_THREADS = IDS + "SELECT count(id) FROM ids"  # noqa: S608 - constants

NUMBER_IDS = """
    SELECT thread_id, EXISTS (SELECT 1 FROM checkpoints WHERE thread_id = CAST(odd.thread_id AS TEXT))
    FROM checkpoints AS odd WHERE thread_id < '' GROUP BY thread_id
"""
"""Ids that are numbers; for each, whether another thread has the same id as text."""
BLOB_IDS = "SELECT DISTINCT thread_id FROM checkpoints WHERE thread_id >= x''"
NULL_IDS = "SELECT DISTINCT thread_id FROM checkpoints WHERE thread_id IS NULL"
"""SQLite sorts numbers before text and blobs after it. So if there are none, each of these reads one index entry."""

HAS_TEXT_ID = "SELECT 1 FROM checkpoints WHERE thread_id = CAST(? AS TEXT) LIMIT 1"

COUNT_CHECKPOINTS = "SELECT count(*), min({id}), max({id}) FROM checkpoints"
COUNT_GROUPS = "SELECT count(*) FROM (SELECT 1 FROM checkpoints GROUP BY thread_id)"
"""All ids, NULL too. It reads the whole index, as `COUNT_CHECKPOINTS` does, but jumps nowhere in it."""
COUNT_WRITES = "SELECT count(*) FROM writes"
COUNT = "SELECT count(*) FROM checkpoints WHERE thread_id {thread}"

NAMESPACES = """
    WITH RECURSIVE spaces(ns) AS (
        SELECT min({ns}) FROM checkpoints WHERE thread_id {thread}
        UNION ALL
        SELECT (SELECT min({ns}) FROM checkpoints WHERE thread_id {thread} AND {ns} > spaces.ns)
        FROM spaces WHERE spaces.ns IS NOT NULL
    )
    SELECT ns FROM spaces WHERE ns IS NOT NULL
    UNION ALL SELECT NULL WHERE EXISTS (SELECT 1 FROM checkpoints WHERE thread_id {thread} AND {ns} IS NULL)
"""

NESTED = "SELECT DISTINCT thread_id FROM checkpoints {only} AND {ns} IS NOT ''"

ROWS = """
    SELECT {ns}, {id}, {parent}, {size} FROM checkpoints WHERE thread_id {thread} {only} ORDER BY {ns}, {id}
"""

ROWS_OF = """
    SELECT thread_id, {ns}, {id}, {parent}, {size} FROM checkpoints WHERE thread_id IN ({places})
    ORDER BY thread_id, {ns}, {id}
"""

NEWEST = """
    SELECT {id}, {parent}, {size} FROM checkpoints
    WHERE thread_id {thread} AND {ns} {is_ns} ORDER BY {id} DESC LIMIT ?
"""

_ONE = "WHERE thread_id {thread} AND {ns} {is_ns} AND {id} {is_id}"

ROW = "SELECT {parent}, {size} FROM checkpoints " + _ONE  # noqa: S608 - constants
CHECKPOINT = "SELECT {parent}, {tag}, checkpoint, {metadata} FROM checkpoints " + _ONE  # noqa: S608 - constants

CHECKPOINTS = """
    WITH wanted(place, thread, ns, id) AS (VALUES {wanted})
    SELECT place, {parent}, {tag}, checkpoint, {metadata}
    FROM wanted CROSS JOIN checkpoints ON thread_id = wanted.thread AND {ns} = wanted.ns AND {id} = wanted.id
"""
"""CROSS JOIN keeps the order of the names. A row has the place of its name, which is quicker to read than the name."""

SAMPLE = " UNION ALL ".join(
    f"SELECT * FROM (SELECT thread_id, {{ns}}, {{id}} FROM checkpoints ORDER BY {order} LIMIT ?)"  # noqa: S608
    for order in ("thread_id", "thread_id DESC", "rowid", "rowid DESC")
)

LARGER_CACHE = "PRAGMA cache_size = -8000"
"""Kilobytes. The inner pages of the trees of a million rows don't fit in the 2 MB that are usual."""

HEADS = """
    WITH wanted(place, thread, ns, id) AS (VALUES {wanted}),
    heads(place, thread, ns, id, written) AS (SELECT wanted.*, {written} FROM wanted LIMIT -1)
    SELECT place, {ns}, {id}, {parent}, {size},
        CASE WHEN {id} = heads.id AND {ns} = heads.ns THEN written END,
        CASE WHEN {id} = heads.id AND {ns} = heads.ns THEN {tag} END,
        CASE WHEN {id} = heads.id AND {ns} = heads.ns THEN checkpoint END,
        CASE WHEN {parent} IS NULL OR ({id} = heads.id AND {ns} = heads.ns) THEN {metadata} END
    FROM heads CROSS JOIN checkpoints ON thread_id = heads.thread
"""
"""All rows of threads, with the bodies of heads, and the metadata of heads and roots."""
HEAD_IS_WRITTEN = """EXISTS (
        SELECT 1 FROM writes
        WHERE thread_id = wanted.thread AND {write_ns} = wanted.ns AND {write_id} = wanted.id
    )"""

METADATA = """
    SELECT {id}, {metadata} FROM checkpoints WHERE thread_id {thread} AND {ns} {is_ns} AND {some}
"""

METADATA_ON = """
    WITH wanted(place, thread, ns, id) AS (VALUES {wanted})
    SELECT place, {metadata}
    FROM wanted CROSS JOIN checkpoints ON thread_id = wanted.thread AND {ns} = wanted.ns AND {id} = wanted.id
"""

SELECT = "SELECT thread_id, {ns}, {id} FROM checkpoints {where} ORDER BY {id} DESC LIMIT ?"
BEFORE = "{id} < CAST(? AS TEXT)"
AT_PATH = "json_extract(CAST({metadata} AS TEXT), ?) {is_value}"

WRITES = """
    SELECT {write_ns}, {write_id}, {task_path}, task_id, idx, channel, {write_tag}, {write_size},
        CASE WHEN {write_size} <= ? THEN value END
    FROM writes WHERE thread_id {thread} {only}
    ORDER BY {write_ns}, {write_id}, {task_path}, task_id, idx
"""

LONE_WRITES = """
    WITH wanted(place, thread, ns, id) AS (VALUES {wanted})
    SELECT place, {task_path} IS ?, channel, {write_tag},
        CASE WHEN ifnull({write_size}, 0) <= ? THEN ifnull(value, x'') END
    FROM wanted CROSS JOIN writes ON thread_id = wanted.thread AND {write_ns} = wanted.ns AND {write_id} = wanted.id
    WHERE NOT ({task_path} IS ? AND substr(channel, 1, ?) IS ?)
    ORDER BY place, task_id, idx
"""

WRITES_ON = """
    WITH wanted(place, thread, ns, id) AS (VALUES {wanted})
    SELECT thread_id, {write_ns}, {write_id}, {task_path}, task_id, idx, channel, {write_tag}, {write_size},
        CASE WHEN {write_size} <= ? THEN value END
    FROM wanted CROSS JOIN writes ON thread_id = wanted.thread AND {write_ns} = wanted.ns AND {write_id} = wanted.id
    ORDER BY thread_id, {write_ns}, {write_id}, {task_path}, task_id, idx
"""
