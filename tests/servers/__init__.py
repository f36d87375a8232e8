"""Real servers for tests, each on a free loopback port with its data in a temporary folder, stopped by process id.

``CKPT_TEST_<DB>_URL`` names one that runs already and is used instead.
"""
