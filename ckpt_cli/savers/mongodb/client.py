"""Makes the driver's client for an address, and checks that it uses TLS if the URL asks for it."""

import logging
import warnings
from typing import Any, cast

from pymongo import MongoClient, errors

from ckpt_cli.errors import DatabaseUnreachable, UsageError
from ckpt_cli.savers import faults
from ckpt_cli.savers.mongodb.address import Address

Document = dict[str, Any]

_PATIENCE = 120_000  # milliseconds to wait for one answer

logging.getLogger("pymongo").addHandler(logging.NullHandler())  # else pymongo's threads print failures to stderr


def make_client(address: Address) -> MongoClient[Document]:
    """The driver's client, which connects at its first use.

    Raises:
        UsageError: the URL has an option that the driver doesn't know.
        DatabaseUnreachable: the URL has another error; the message omits the driver's text, which may hold a password.
    """
    timeouts = {"connectTimeoutMS": address.timeout * 1000, "serverSelectionTimeoutMS": address.timeout * 1000}
    timeouts["socketTimeoutMS"] = _PATIENCE
    defaults = {name: int(value) for name, value in timeouts.items() if name.lower() not in address.options}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            return MongoClient(address.url, appname="ckpt", tz_aware=False, **cast(Any, defaults))
    except UserWarning as warning:
        raise UsageError(
            f"{address.location}: an option of the URL is wrong", hint=faults.safe_text(str(warning))
        ) from warning
    except errors.InvalidURI as error:
        hint = "special characters in user and password need %-escapes"
        raise DatabaseUnreachable(f"{address.location}: the URL isn't valid", hint=hint) from error
    except (errors.ConfigurationError, ValueError) as error:
        hint = "mongodb+srv:// needs a name that DNS knows, and each option a value of its kind"
        raise DatabaseUnreachable(f"{address.location}: the driver can't use this URL", hint=hint) from error


def must_be_encrypted(client: MongoClient[Document], address: Address) -> None:
    """Check that a client makes only TLS connections if the URL or an SRV record asks for TLS.

    Raises:
        DatabaseUnreachable: the client would connect without TLS; nothing was sent.
    """
    if address.tls and client.options.pool_options._ssl_context is None:
        client.close()
        raise faults.not_encrypted(address.location)
