"""Connections to a library in PostgreSQL, and their passwords in the system keyring."""

from dataclasses import replace
from typing import Any

import psycopg
from psycopg import conninfo, pq
from psycopg.types.string import StrDumper

from app.library_location import ServerUrl
from app.store.errors import StoreError
from app.store.server_errors import translated
from app.system_keyring import SystemKeyring

SCHEMA = "benchwright"

KEYRING = SystemKeyring()

TYPED: dict[str, str] = {}
"""Passwords that the user typed and a server accepted, by account, for the life of the process."""

_CONNECTION = {
    "connect_timeout": "5", "keepalives_idle": "10", "keepalives_interval": "5", "keepalives_count": "3",
    "tcp_user_timeout": "15000", "application_name": "benchwright", "client_encoding": "UTF8",
}  # fmt: skip
"""Parameters of libpq that the URL may replace: a cut network is noticed within 15 s."""

_SESSION = f"""
SET search_path TO {SCHEMA};
SET standard_conforming_strings TO on;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""
"""A commit that returns is on disk."""


def connect(url: ServerUrl) -> "psycopg.Connection[tuple[object, ...]]":
    """Connect to the database of a library, with the password typed, else that of libpq, else that of the keyring.

    Raises StoreError for a parameter that libpq does not know, psycopg.Error.
    """
    typed = TYPED.get(account(url)) if TYPED else None
    try:
        return _connected(url if typed is None else url.with_password(typed))
    except psycopg.OperationalError as error:
        stored = KEYRING.get(account(url)) if error.pgconn is not None and error.pgconn.needs_password else None
        if stored is None:
            raise
    return _connected(url.with_password(stored))


def _connected(url: ServerUrl) -> "psycopg.Connection[tuple[object, ...]]":
    return psycopg.connect(conninfo.make_conninfo("", **_parameters(url)))


def account(url: ServerUrl) -> str:
    """Return the account of the password of a library in the keyring: role, server and database. Raises StoreError."""
    given = _parameters(replace(url, secrets=()))
    if "service" in given:
        return f"password of the library at the service {given['service']}"
    found = {one.keyword.decode(): one.val.decode() for one in pq.Conninfo.get_defaults() if one.val} | given
    server = " ".join(found[name] for name in ("host", "hostaddr") if found.get(name))
    return f"password of the library {found.get('user', '')}@{server}:{found.get('port', '')}/{found.get('dbname', '')}"


def sign_in(url: ServerUrl, password: str) -> None:
    """Connect with a password, and use it for all further connections of this process. Raises StoreError."""
    try:
        _connected(url.with_password(password)).close()
    except psycopg.Error as error:
        raise translated(error, url.with_password(password)) from error
    TYPED[account(url)] = password


def store_password(url: ServerUrl, password: str) -> None:
    """Sign in with the password of a library and store it in the keyring. Raises StoreError."""
    sign_in(url, password)
    KEYRING.set(account(url), password)
    if KEYRING.get(account(url)) != password:
        raise StoreError(
            f"The password of the library {url} is not stored: there is no keyring that encrypts, or it is locked.",
            "Unlock the keyring of the desktop, or write the password to ~/.pgpass (mode 0600).",
        )


def delete_password(url: ServerUrl) -> bool:
    """Forget the password of a library, in the keyring, too; return whether that had it. Raises StoreError."""
    TYPED.pop(account(url), None)
    found = KEYRING.get(account(url)) is not None
    if found:
        KEYRING.delete(account(url))
    return found


def _parameters(url: ServerUrl) -> dict[str, Any]:
    try:
        given = conninfo.conninfo_to_dict(url.for_libpq)
    except psycopg.Error:
        raise StoreError(
            f"The URL of the library, {url}, has a parameter that libpq does not know.",
            "See “Parameter Key Words” in the manual of PostgreSQL.",
        ) from None
    return {**_CONNECTION, **given, **dict(url.secrets)}


class _TextDumper(StrDumper):
    """Text with NUL characters replaced, which PostgreSQL text cannot store."""

    def dump(self, obj: str) -> bytes | bytearray | memoryview | None:
        return super().dump(obj.replace("\0", "\ufffd"))


def prepare(connection: "psycopg.Connection[tuple[object, ...]]", _record: object) -> None:
    """Make a new connection write to the tables of the library."""
    connection.adapters.register_dumper(str, _TextDumper)
    with connection.cursor() as cursor:
        cursor.execute(_SESSION.encode())
    connection.commit()
