"""Translates AWS's errors into ckpt's errors: one line, and what to do about it."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore import exceptions as aws  # type: ignore[import-untyped]

from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed
from ckpt_cli.savers import faults

_CREDENTIALS = (
    "UnrecognizedClientException",
    "InvalidSignatureException",
    "InvalidClientTokenId",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "ExpiredTokenException",
    "ExpiredToken",
    "MissingAuthenticationTokenException",
    "IncompleteSignature",
)
_DENIED = ("AccessDeniedException", "AccessDenied", "KMSAccessDeniedException")
_BUSY = ("ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded")
_CHANGED = ("ConditionalCheckFailedException", "TransactionCanceledException", "TransactionConflictException")


@contextmanager
def translate_errors(location: str, *, writing: bool = False) -> Iterator[None]:
    """Turn botocore's errors, raised inside this block, into ckpt's own."""
    try:
        yield
    except aws.ClientError as error:
        raise _service_error(location, error, writing) from error
    except aws.BotoCoreError as error:
        raise _client_error(location, error, writing) from error


def code(error: aws.ClientError) -> str:
    """The service's error code."""
    return str(error.response.get("Error", {}).get("Code", ""))


def no_capacity(location: str) -> DatabaseUnreachable:
    """The table takes no more requests for a while."""
    return DatabaseUnreachable(f"{location}: the table's capacity is used up", hint="try again later")


def is_lost(error: Exception) -> bool:
    """Whether an open connection broke, so that another try may succeed."""
    return isinstance(error, aws.ConnectionClosedError | aws.HTTPClientError) and not isinstance(
        error, aws.ConnectTimeoutError | aws.EndpointConnectionError | aws.ReadTimeoutError
    )


def _service_error(location: str, error: aws.ClientError, writing: bool) -> CkptError:
    error_code = code(error)
    if error_code in _CREDENTIALS:
        hint = "check AWS_PROFILE or ?profile=, AWS_ACCESS_KEY_ID, and whether the session has expired"
        return DatabaseUnreachable(f"{location}: AWS refused the credentials ({error_code})", hint=hint)
    if error_code in _DENIED:
        if writing:
            return faults.may_not_write(location, error_code)
        hint = "reading needs dynamodb:DescribeTable, Query, Scan, GetItem and BatchGetItem"
        return faults.may_not_read(location, error_code, hint)
    if error_code == "ResourceNotFoundException":
        hint = "check the table's name, ?region= and the account of the credentials"
        return faults.no_database(location, "table", hint)
    if error_code in _BUSY:
        return no_capacity(location)
    if error_code in _CHANGED:
        return faults.busy(location)
    return Failed(f"{location}: {faults.safe_text(str(error.response.get('Error', {}).get('Message', error_code)))}")


def _client_error(location: str, error: aws.BotoCoreError, writing: bool) -> CkptError:
    if isinstance(error, aws.NoRegionError):
        return DatabaseUnreachable(f"{location}: no region", hint="?region=eu-west-1, or AWS_REGION, or a profile's")
    if isinstance(error, aws.ProfileNotFound):
        return DatabaseUnreachable(f"{location}: no such profile", hint="the names are in ~/.aws/config")
    if isinstance(error, aws.NoCredentialsError | aws.PartialCredentialsError | aws.CredentialRetrievalError):
        hint = "?profile=NAME, AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        return DatabaseUnreachable(f"{location}: no AWS credentials", hint=hint)
    if isinstance(error, aws.HTTPClientError | aws.ConnectionError):
        return _not_connected(location, error, writing)
    kind = type(error).__name__  # the error's text may hold the endpoint with credentials
    return DatabaseUnreachable(
        f"{location}: the AWS client gave up ({kind})", hint="check profile, region and endpoint"
    )


def _not_connected(location: str, error: aws.BotoCoreError, writing: bool) -> CkptError:
    if writing:
        return faults.lost_writing(location)
    if isinstance(error, aws.ReadTimeoutError):
        return faults.too_slow(location)
    if is_lost(error):
        return faults.lost(location)
    if isinstance(error, aws.ConnectTimeoutError):
        return faults.no_answer(location, faults.TIMED_OUT)
    text = str(error.kwargs.get("error", "")).lower()
    causes = {"refused": faults.REFUSED, "resolve": faults.UNKNOWN_HOST, "name or service": faults.UNKNOWN_HOST}
    causes |= {"ssl": faults.TLS, "certificate": faults.TLS}
    return faults.no_answer(location, next((cause for word, cause in causes.items() if word in text), faults.REFUSED))
