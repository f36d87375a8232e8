"""The statements that measure; see `statements`.

A subquery with a LIMIT gives SQLite the lengths alone to sort. Without it, SQLite's sorter would hold whole bodies.
Rows are sorted first by the columns in which they differ most, which takes a third less time.
"""

_OUTERMOST = "CASE instr({ns}, ':') WHEN 0 THEN {ns} ELSE substr({ns}, 1, instr({ns}, ':') - 1) END"

CHECKPOINTS = (
    "SELECT tag, ns, period, count(*), sum(size) FROM (SELECT "  # noqa: S608 - constants
    + _OUTERMOST
    + " AS ns, {tag} AS tag, {period} AS period, {size} + {metadata_size} AS size"
    " FROM checkpoints {only} LIMIT -1) {others} GROUP BY 3, 2, 1"
)

WRITES = (
    "SELECT channel, path, tag, ns, period, count(*), sum(size) FROM (SELECT "  # noqa: S608 - constants
    + _OUTERMOST.replace("{ns}", "{write_ns}")
    + " AS ns, channel, {write_tag} AS tag, {task_path} AS path, {period} AS period, ifnull({write_size}, 0) AS size"
    " FROM writes {only} LIMIT -1) {others} GROUP BY 1, 2, 3, 5, 4"
)

# As the statements above, but names and period together are a number: SQLite sorts small numbers in half the time of
# texts, and without files. The number is NULL if the names aren't among those that were read before, of the first
# rows; such rows are then looked for with the statements above.
NAMES = (
    "SELECT DISTINCT * FROM (SELECT {tag}, " + _OUTERMOST + " FROM checkpoints LIMIT 1000) LIMIT {most}"  # noqa: S608
)
CHECKPOINTS_BY_NUMBER = (
    "SELECT number, count(*), sum(size) FROM ("  # noqa: S608 - constants
    "SELECT CASE {cases} END * {periods} + ifnull({period}, {periods} - 1) AS number, size FROM ("
    "SELECT {tag} AS tag, " + _OUTERMOST + " AS ns, {id}, {size} + {metadata_size} AS size FROM checkpoints"
    ") LIMIT -1) GROUP BY number"
)
CASE = " WHEN tag IS ? AND ns IS ? THEN {number}"

WRITE_NAMES = (
    "SELECT DISTINCT * FROM (SELECT channel, {task_path}, {write_tag}, "  # noqa: S608 - constants
    + _OUTERMOST.replace("{ns}", "{write_ns}")
    + " FROM writes LIMIT 1000) LIMIT {most}"
)
WRITES_BY_NUMBER = (
    "SELECT number, count(*), sum(size) FROM ("  # noqa: S608 - constants
    "SELECT CASE {cases} END * {periods} + ifnull({period}, {periods} - 1) AS number, size FROM ("
    "SELECT channel, {task_path} AS path, {write_tag} AS tag, "
    + _OUTERMOST.replace("{ns}", "{write_ns}")
    + " AS ns, {write_id}, ifnull({write_size}, 0) AS size FROM writes) LIMIT -1) GROUP BY number"
)
OTHERS = "WHERE CASE {cases} END IS NULL"
WRITE_CASE = " WHEN channel IS ? AND path IS ? AND tag IS ? AND ns IS ? THEN {number}"

NUMBERS_OF_THREADS = (
    "SELECT thread_id, number, count(*), sum(size) FROM ("  # noqa: S608 - constants
    "SELECT thread_id, CASE {cases} ELSE {unnamed} END * {periods} + ifnull({period}, {periods} - 1) AS number, size"
    " FROM (SELECT thread_id, {tag} AS tag, "
    + _OUTERMOST
    + " AS ns, {id}, {size} + {metadata_size} AS size FROM checkpoints) LIMIT -1) GROUP BY thread_id, number"
)
"""As `CHECKPOINTS_BY_NUMBER`, but by thread. To sort ids costs less than to find each row by the key index."""
MOST_WRITTEN = """
    SELECT thread_id, sum(ifnull({write_size}, 0)) AS size FROM writes GROUP BY thread_id ORDER BY size DESC LIMIT ?
"""

_CHECKPOINTS_OF_THREADS = """
    SELECT thread_id, count(*) AS checkpoints, 0 AS writes, sum({size} + {metadata_size}) AS size,
        sum(length({id}) = 36 AND substr({id}, 15, 1) = '6' AND {id} >= ?) AS recent
    FROM checkpoints {only} GROUP BY thread_id
"""
_WRITES_OF_THREADS = """
    SELECT thread_id, 0, count(*), sum(ifnull({write_size}, 0)), 0 FROM writes {only} GROUP BY thread_id
"""
THREADS = _CHECKPOINTS_OF_THREADS
THREADS_AND_WRITES = (
    "SELECT thread_id, sum(checkpoints) AS checkpoints, sum(writes), sum(size) AS size, sum(recent) AS recent FROM ("  # noqa: S608 - constants
    + _CHECKPOINTS_OF_THREADS
    + " UNION ALL "
    + _WRITES_OF_THREADS
    + ") GROUP BY thread_id HAVING sum(checkpoints) > 0"
)

LARGEST = """
    SELECT thread_id FROM (
        SELECT thread_id, sum({size} + {metadata_size}) + {written} AS size FROM checkpoints GROUP BY thread_id
        ORDER BY size DESC, thread_id DESC LIMIT {largest}
    )
"""
WRITTEN = "(SELECT ifnull(sum(ifnull({write_size}, 0)), 0) FROM writes WHERE writes.thread_id IS checkpoints.thread_id)"
MOST_RECENT = """
    SELECT thread_id FROM checkpoints WHERE length({id}) = 36 AND substr({id}, 15, 1) = '6' AND {id} >= ?
    GROUP BY thread_id ORDER BY count(*) DESC, thread_id DESC LIMIT {largest}
"""
"""Only the few threads that these name are added up whole; reads the key index alone."""

FOUND = """
    CASE json_type(texts, '$[{at}]')
        WHEN 'true' THEN 'true' WHEN 'false' THEN 'false' ELSE json_extract(texts, '$[{at}]')
    END
"""
HEADS_BY = """
    SELECT {found}, sum(number) FROM (
        SELECT texts, count(*) AS number FROM (
            SELECT CASE WHEN json_valid(text) THEN json_extract(text, {paths}) END AS texts FROM (
                SELECT CAST((
                    SELECT {metadata} FROM checkpoints
                    WHERE thread_id IS ids.id AND {ns} = '' ORDER BY {id} DESC LIMIT 1
                ) AS TEXT) AS text
                FROM (SELECT thread_id AS id FROM checkpoints GROUP BY thread_id) AS ids LIMIT -1
            )
        ) GROUP BY texts
    ) GROUP BY {places}
"""
"""The heads of root graphs; a thread without a root graph counts as one without the key.

An array of what several paths find is one text: it is quicker to sort, and few of them are left to be taken apart.
"""

PRAGMAS = ("page_count", "page_size", "freelist_count", "auto_vacuum")
INDEXES = "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name IN ('checkpoints', 'writes')"
