"""Errors of PostgreSQL as messages. None has a password: neither libpq nor the URL that is shown contains it."""

import re

import psycopg

from app.library_location import ServerUrl
from app.store.errors import (
    PasswordError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreLostError,
    no_permission,
)

_BUSY = frozenset({"55P03", "40001", "40P01"})
"""lock_not_available, serialization_failure, deadlock_detected (https://www.postgresql.org/docs/current/errcodes-appendix.html)."""

_LOST = ("08", "57P", "25P03", "25P04", "53300")
"""Beginnings of the codes of lost, ended and refused connections; the driver has several classes for them."""

_OTHER_REASONS = re.compile(r"does not exist|not permitted|permission denied|too many|the database system|connection")
"""Words of English messages of a server after the password was accepted (postinit.c, postmaster.c), and of libpq."""

_SIGN_IN = "Store it with benchwright store login, write it to ~/.pgpass (mode 0600), or set PGPASSWORD."


def translated(error: BaseException | None, url: ServerUrl) -> StoreError:
    """Return the StoreError for an error of the driver."""
    code = getattr(error, "sqlstate", None) or ""
    reason = _reason(error, url)
    known = {
        **dict.fromkeys(_BUSY, StoreBusyError(f"The library {url} is locked by another program.", "Wait for it.")),
        "53100": StoreFullError(f"No space left on the server for the library {url}.", "Free space on its disk."),
        "57014": StoreBusyError(f"The server of the library {url} did not finish: {reason}.", "Try again later."),
        "42501": no_permission(url, reason),
        "25006": StoreLostError(  # it passes if another server takes over
            f"The library {url} is read-only: {reason}.",
            "To measure, pin or delete, use the primary server, or another library with --store.",
        ),
    }
    if code in known:
        return known[code]
    if _is_about_password(error, reason):
        return PasswordError(url, reason, _SIGN_IN)
    if code.startswith(_LOST) or (isinstance(error, psycopg.OperationalError) and not code):
        return StoreLostError(f"The connection to the library {url} failed: {reason}.", _remedy(reason))
    if code.startswith("28") or code == "3D000":
        return StoreLostError(f"The library {url} cannot be opened: {reason}.", _remedy(reason))
    return StoreError(f"The library {url} failed: {reason}.")


def _is_about_password(error: BaseException | None, reason: str) -> bool:
    """Return whether a connection failed for want of the right password: libpq has no code for that.

    A server may translate its messages: then any failure after the password was sent counts, as the reason is shown.
    """
    if not isinstance(error, psycopg.OperationalError) or error.sqlstate is not None:
        return False
    if (error.pgconn is not None and error.pgconn.needs_password) or "password" in reason:
        return True
    return error.pgconn is not None and error.pgconn.used_password and not _OTHER_REASONS.search(reason)


def _remedy(reason: str) -> str:
    if "does not exist" in reason and "database" in reason:
        return "Create it with: createdb --encoding=UTF8 --template=template0 NAME"
    if "permission denied for database" in reason:
        return "As the owner of the database, in psql: GRANT CONNECT ON DATABASE NAME TO ROLE;"
    if "certificate" in reason or "SSL" in reason:
        return "Set sslmode and sslrootcert in the URL, as in the manual of libpq."
    return "Check that the server runs and that this computer reaches it: pg_isready."


def _reason(error: BaseException | None, url: ServerUrl) -> str:
    """Return the first sentence of an error, without passwords."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = lines[0] if lines else "unknown error"
    several = [line for line in lines if line.startswith("- host")]  # of each address that was tried
    text = several[0].split("error: ", 1)[-1] if several else text
    text = re.sub(r"^(connection failed: )?(connection to server .*? failed: )?(FATAL: +|ERROR: +)?", "", text)
    return url.redacted(text).rstrip(". ")
