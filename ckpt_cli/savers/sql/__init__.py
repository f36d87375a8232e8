"""What Postgres and MySQL share: LangGraph's ``checkpoints``, ``checkpoint_blobs`` and ``checkpoint_writes``.

A checkpoint is a header (JSON) and one blob per channel, shared by all checkpoints that name the channel's version.
What the engines say differently stands behind `sql.engine.Engine`.
"""
