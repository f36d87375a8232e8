"""The saver that Postgres and MySQL share, of ``checkpoints``, ``checkpoint_blobs`` and ``checkpoint_writes``.

A checkpoint is a JSON header and one blob for each channel. Checkpoints that name the same version of a channel share
its blob. `sql.engine.Engine` has the SQL that differs between the two.
"""
