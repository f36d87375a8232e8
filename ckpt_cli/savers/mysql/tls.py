"""TLS as the words of a URL want it, by the names that `mysql` and PyMySQL have for it."""

from ssl import CERT_NONE, PROTOCOL_TLS_CLIENT, VERIFY_X509_STRICT, SSLContext, create_default_context
from typing import Any, NamedTuple

from ckpt_cli.errors import DatabaseUnreachable, UsageError

MODES = ("disabled", "preferred", "required", "verify_ca", "verify_identity")
OPTIONS = ("ssl_ca", "ssl_cert", "ssl_disabled", "ssl_key", "ssl_mode", "ssl_verify_cert", "ssl_verify_identity")

_BY_FLAG = {"ssl_verify_identity": "verify_identity", "ssl_verify_cert": "verify_ca", "ssl_disabled": "disabled"}


class Tls(NamedTuple):
    """What a connection is to be.

    Attributes:
        mode: one of `MODES`; ``preferred`` takes TLS where the server has it, and trusts whoever answers.
        ca: file of the certificates to trust; "" for those of the system.
        cert: file of one's own certificate; `key` that of its key.
    """

    mode: str
    ca: str = ""
    cert: str = ""
    key: str = ""

    def options(self) -> dict[str, Any]:
        """What PyMySQL's constructor gets: ``preferred`` is not for it, see `prefer`.

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
    def is_must(self) -> bool:
        """Whether there is to be no connection without TLS."""
        return self.mode not in ("disabled", "preferred")

    def prefer(self, driver: Any) -> None:
        """Let a connection that isn't made yet take TLS; PyMySQL itself loads every root certificate for that."""
        if self.mode == "preferred":
            driver.ssl, driver.ctx = True, _trusting()

    def _context(self) -> SSLContext:
        context = _trusting() if self.mode == "required" else create_default_context(cafile=self.ca or None)
        if self.mode != "required":
            context.check_hostname = self.mode == "verify_identity"
            context.verify_flags &= ~VERIFY_X509_STRICT  # certificates that MySQL makes itself fall short of it
        if self.cert:
            context.load_cert_chain(self.cert, self.key or None)
        return context


def parse_tls(options: dict[str, str]) -> Tls:
    """Take the options about TLS out of a URL's; naming whom to trust means to verify.

    Raises:
        UsageError: the mode isn't known.
    """
    flags = [mode for flag, mode in _BY_FLAG.items() if options.pop(flag, "").lower() in ("1", "true", "yes")]
    ca, cert, key = (options.pop(name, "") for name in ("ssl_ca", "ssl_cert", "ssl_key"))
    otherwise = flags[0] if flags else "verify_ca" if ca else "required" if cert else "preferred"
    mode = options.pop("ssl_mode", otherwise).lower()
    if mode not in MODES:
        raise UsageError("ssl_mode: none of the known ones", hint=f"known: {', '.join(MODES)}")
    return Tls(mode, ca, cert, key)


def _trusting() -> SSLContext:
    context = SSLContext(PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = CERT_NONE
    return context
