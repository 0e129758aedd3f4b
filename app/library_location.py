"""Location of a library: a file, or the URL of a PostgreSQL database."""

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from suites.errors import BenchwrightError

SCHEME = "postgresql+psycopg"
"""As SQLAlchemy writes it: database, driver."""

_SCHEMES = frozenset({SCHEME, "postgresql", "postgres"})
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_SECRETS = frozenset({"password", "sslpassword", "oauth_client_secret"})
"""Parameters of libpq that are secrets."""


class LocationError(BenchwrightError):
    """A text is not the location of a library."""


@dataclass(frozen=True, slots=True)
class ServerUrl:
    """URL of a library in PostgreSQL, ``postgresql+psycopg://[USER@]HOST[:PORT]/DATABASE[?PARAMETER=VALUE]``.

    The parameters are those of libpq. `url` has no secrets, and is all that is shown, stored and compared; `secrets`
    are the passwords that were in it, by the name of the parameter.
    """

    url: str
    secrets: tuple[tuple[str, str], ...] = field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        return self.url

    @property
    def for_libpq(self) -> str:
        """The URL as libpq and its tools (psql, pg_dump) accept it, without secrets."""
        return self.url.replace(SCHEME, "postgresql", 1)

    @property
    def password(self) -> str | None:
        """The password that was in it, None if there was none."""
        return dict(self.secrets).get("password")

    def with_password(self, password: str) -> "ServerUrl":
        """Return the URL with another password among its secrets."""
        return replace(self, secrets=(*(one for one in self.secrets if one[0] != "password"), ("password", password)))

    def redacted(self, text: str) -> str:
        """Return `text`, such as an error of the driver, without the secrets."""
        for _, secret in self.secrets:
            text = text.replace(secret, "***") if secret else text
        return text


Location = Path | ServerUrl


def location_of(text: str) -> Location:
    """Return the location that `text` names: a URL, else the path of a file. Raises LocationError without the text.

    A URL that is not understood is not repeated in the error: it may contain a password.
    """
    found = _URL.match(text)
    if found is None:
        return Path(text)
    scheme = found[1].lower()
    if scheme not in _SCHEMES:
        raise LocationError(
            f"No library can be opened with {scheme}://.", f"Use a file, or {SCHEME}://USER@HOST/DATABASE."
        )
    try:
        return _server_url(text)
    except ValueError:
        raise LocationError(
            "The URL of the library is malformed.",
            f"Use {SCHEME}://USER@HOST:PORT/DATABASE; in a name or a password, write @ / : ? # and % as %40 %2F %3A "
            "%3F %23 and %25.",
        ) from None


def _server_url(text: str) -> ServerUrl:
    parts = urlsplit(text)
    decoded = unquote(text, errors="strict")
    beyond = parts.path + parts.query  # of a password with / or ? the rest is there
    if parts.fragment or re.search(r"\s", text) or "\0" in decoded or parts.netloc.count("@") > 1:
        raise ValueError
    if "@" in beyond or parts.path.count("/") > 1:
        raise ValueError
    if "," not in parts.netloc:  # of several hosts, each may have a port
        _ = parts.port  # raises ValueError
    account, at, host = parts.netloc.rpartition("@")
    user, colon, password = account.partition(":")
    given = parts.query.replace("+", "%2B")  # to libpq it is no space
    query = parse_qsl(given, keep_blank_values=True, strict_parsing=bool(given))
    secrets = [("password", unquote(password, errors="strict"))] * bool(colon)
    secrets += [(name, value) for name, value in query if name.lower() in _SECRETS]
    shown = [(name, value) for name, value in query if name.lower() not in _SECRETS]
    parameters = urlencode(shown, safe="/,", quote_via=quote)
    server = urlunsplit(("", user + at * bool(user) + host, parts.path, parameters, ""))
    if not server.startswith("//"):  # a socket: urlunsplit() omits an empty host
        server = f"//{server}"
    return ServerUrl(f"{SCHEME}:{server}", tuple(secrets))


def expanded(location: Location) -> Location:
    """Return `location` with the home directory in place of ~, valid in any folder."""
    return absolute(location.expanduser()) if isinstance(location, Path) else location


def absolute(location: Location) -> Location:
    """Return `location`, valid in any folder."""
    return location.absolute() if isinstance(location, Path) else location
