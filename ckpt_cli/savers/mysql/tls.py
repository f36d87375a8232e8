"""Reads the TLS options of a URL (``ssl_ca``, ``ssl_mode`` …); connections that must be encrypted.

They have the names that the program `mysql` and PyMySQL give them.
"""

from ssl import CERT_NONE, PROTOCOL_TLS_CLIENT, VERIFY_X509_STRICT, SSLContext, create_default_context
from typing import Any, NamedTuple

from ckpt_cli.errors import DatabaseUnreachable, UsageError

MODES = ("disabled", "preferred", "required", "verify_ca", "verify_identity")
OPTIONS = ("ssl_ca", "ssl_cert", "ssl_disabled", "ssl_key", "ssl_mode", "ssl_verify_cert", "ssl_verify_identity")

_BY_FLAG = {"ssl_verify_identity": "verify_identity", "ssl_verify_cert": "verify_ca", "ssl_disabled": "disabled"}


class Tls(NamedTuple):
    """How a connection uses TLS.

    Attributes:
        mode: one of `MODES`; ``preferred`` uses TLS if the server has it, and trusts any certificate.
        ca: file of the certificates to trust; "" for those of the system.
        cert: file of the client's own certificate; `key` is the file of its key.
    """

    mode: str
    ca: str = ""
    cert: str = ""
    key: str = ""

    def options(self) -> dict[str, Any]:
        """The options for PyMySQL's constructor; for ``preferred``, call `prefer` too.

        Raises:
            DatabaseUnreachable: a file can't be read.
        """
        if self.mode in ("disabled", "preferred"):
            return {"ssl_disabled": True}
        try:
            return {"ssl": self._context()}
        except OSError as error:
            names = ", ".join(filter(None, (self.ca, self.cert, self.key)))
            raise DatabaseUnreachable(f"can't use the TLS files {names}: {error.strerror or error}") from error

    @property
    def is_required(self) -> bool:
        """Whether a connection without TLS must be refused."""
        return self.mode not in ("disabled", "preferred")

    def prefer(self, driver: Any) -> None:
        """Make a driver use TLS if the server does, without loading root certificates; call this before it connects."""
        if self.mode == "preferred":
            driver.ssl, driver.ctx = True, _context_without_checks()

    def _context(self) -> SSLContext:
        context = (
            _context_without_checks() if self.mode == "required" else create_default_context(cafile=self.ca or None)
        )
        if self.mode != "required":
            context.check_hostname = self.mode == "verify_identity"
            context.verify_flags &= ~VERIFY_X509_STRICT  # certificates that MySQL makes itself don't pass this check
        if self.cert:
            context.load_cert_chain(self.cert, self.key or None)
        return context


def parse_tls(options: dict[str, str]) -> Tls:
    """Take the options about TLS out of a URL's options. ``ssl_ca`` without a mode means ``verify_ca``.

    Raises:
        UsageError: the mode isn't known.
    """
    flags = [mode for flag, mode in _BY_FLAG.items() if options.pop(flag, "").lower() in ("1", "true", "yes")]
    ca, cert, key = (options.pop(name, "") for name in ("ssl_ca", "ssl_cert", "ssl_key"))
    default = flags[0] if flags else "verify_ca" if ca else "required" if cert else "preferred"
    mode = options.pop("ssl_mode", default).lower()
    if mode not in MODES:
        raise UsageError("ssl_mode: unknown mode", hint=f"known: {', '.join(MODES)}")
    return Tls(mode, ca, cert, key)


def _context_without_checks() -> SSLContext:
    context = SSLContext(PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = CERT_NONE
    return context
