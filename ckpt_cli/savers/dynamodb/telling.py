"""What AWS says when something goes wrong, in one line that a person can act on."""

from collections.abc import Iterator
from contextlib import contextmanager

from botocore import exceptions as aws  # type: ignore[import-untyped]

from ckpt_cli.errors import CkptError, DatabaseUnreachable, Failed, Refused

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
def explained(location: str, *, writing: bool = False) -> Iterator[None]:
    """Whatever botocore raises inside becomes an error for people."""
    try:
        yield
    except aws.ClientError as error:
        raise _service_said(location, error, writing) from error
    except aws.BotoCoreError as error:
        raise _client_said(location, error) from error


def code(error: aws.ClientError) -> str:
    """The service's word for what is wrong."""
    return str(error.response.get("Error", {}).get("Code", ""))


def is_lost(error: Exception) -> bool:
    """Whether a connection broke after it stood, so that another try may do."""
    return isinstance(error, aws.ConnectionClosedError | aws.HTTPClientError) and not isinstance(
        error, aws.ConnectTimeoutError | aws.EndpointConnectionError | aws.ReadTimeoutError
    )


def _service_said(location: str, error: aws.ClientError, writing: bool) -> CkptError:
    said = code(error)
    if said in _CREDENTIALS:
        hint = "check AWS_PROFILE or ?profile=, AWS_ACCESS_KEY_ID, and whether the session has expired"
        return DatabaseUnreachable(f"{location}: AWS refused the credentials ({said})", hint=hint)
    if said in _DENIED:
        if writing:
            return Refused(f"{location}: these credentials may not write here; nothing was written")
        hint = "reading wants dynamodb:DescribeTable, Query, Scan, GetItem and BatchGetItem"
        return DatabaseUnreachable(f"{location}: these credentials may not read here", hint=hint)
    if said == "ResourceNotFoundException":
        hint = "check the table's name, ?region= and the account of the credentials"
        return DatabaseUnreachable(f"{location}: no such table", hint=hint)
    if said in _BUSY:
        return DatabaseUnreachable(f"{location}: the table's capacity is used up", hint="try again later")
    if said in _CHANGED:
        return Refused(f"{location}: somebody else wrote the same items; nothing was written", hint="try again")
    return Failed(f"{location}: {_line(str(error.response.get('Error', {}).get('Message', said)))}")


def _client_said(location: str, error: aws.BotoCoreError) -> CkptError:
    if isinstance(error, aws.NoRegionError):
        return DatabaseUnreachable(f"{location}: no region", hint="?region=eu-west-1, or AWS_REGION, or a profile's")
    if isinstance(error, aws.ProfileNotFound):
        return DatabaseUnreachable(f"{location}: no such profile", hint="the names are in ~/.aws/config")
    if isinstance(error, aws.NoCredentialsError | aws.PartialCredentialsError | aws.CredentialRetrievalError):
        hint = "?profile=NAME, AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        return DatabaseUnreachable(f"{location}: no AWS credentials", hint=hint)
    if isinstance(error, aws.ReadTimeoutError):
        return DatabaseUnreachable(f"{location}: no answer in time", hint="try again")
    if isinstance(error, aws.HTTPClientError | aws.ConnectionError):
        hint = "check ?region= and ?endpoint_url=; ?connect_timeout=SECONDS waits longer"
        return DatabaseUnreachable(f"{location}: the service can't be reached", hint=hint)
    kind = type(error).__name__  # its text may hold the endpoint with credentials
    return DatabaseUnreachable(
        f"{location}: the AWS client gave up ({kind})", hint="check profile, region and endpoint"
    )


def _line(text: str) -> str:
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:300]
