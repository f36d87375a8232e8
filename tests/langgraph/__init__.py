import pytest

pytest.register_assert_rewrite("ckpt_cli.conformance")
