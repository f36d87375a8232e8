"""The saver that Postgres and MySQL share; its tables are ``checkpoints``, ``checkpoint_blobs``, ``checkpoint_writes``.

A checkpoint is a JSON header and one blob for each channel. Checkpoints that name the same version of a channel share
its blob. `sql.engine.Engine` has the SQL that differs between the two.
"""
