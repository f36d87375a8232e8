"""DynamoDB tables of LangGraph's AWS saver, read and changed by plans."""

from ckpt_cli.savers.contract import Saver


def open_url(url: str) -> Saver:
    """Open an existing table: ``dynamodb://table?region=eu-west-1&profile=name&endpoint_url=http://host:port``.

    For payloads in S3 add ``&s3_bucket=name``, and ``&s3_prefix=`` and ``&s3_endpoint_url=`` as in LangGraph's saver.

    Raises:
        UsageError: the URL names no table, or has an unknown option.
        DatabaseUnreachable: no region, no credentials, no such table, or the service can't be reached.
    """
    from ckpt_cli.savers.dynamodb import saver

    return saver.open_url(url)
