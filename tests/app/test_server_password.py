"""The password of a library in PostgreSQL: order of its sources, kept in the system keyring, shown nowhere."""

import os
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result

from app.cli.main import benchwright
from app.library_location import ServerUrl, location_of
from app.services import Workstation
from app.store import server_connection
from app.store.errors import PasswordError, StoreError
from app.store.server_errors import translated
from app.system_keyring import SERVICE, SystemKeyring
from tests.app.keyring_in_memory import KeyringInMemory
from tests.messages import messages
from tests.postgresql import Server, programs
from tests.program import benchwright as called

MESSAGES = messages("app-store", "test_server_password")

pytestmark = pytest.mark.skipif(programs() is None, reason="PostgreSQL is not installed")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Give a server that asks for the password secret."""
    made = Server(auth="scram-sha-256")
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def keyring(monkeypatch: pytest.MonkeyPatch) -> KeyringInMemory:
    backend = KeyringInMemory()
    monkeypatch.setattr(server_connection, "KEYRING", SystemKeyring(backend))
    monkeypatch.setattr(server_connection, "TYPED", {})
    for variable in ("PGPASSWORD", "PGPASSFILE"):
        monkeypatch.delenv(variable, raising=False)
    return backend


def run(*words: str, typed: str = "") -> Result:
    return CliRunner().invoke(benchwright, words, input=typed, obj=lambda _workstation: None)


def opens(url: str, folder: Path) -> bool:
    """Return whether the library opens; if not, for want of the right password."""
    with closing(Workstation(location_of(url), folder / "hosts.toml")) as workstation:
        with suppress(StoreError):
            return workstation.runs() == []
        with pytest.raises(StoreError, match="password") as refused:
            workstation.runs()
        assert "benchwright store login" in refused.value.remedy
        return False


def with_password(server: Server, password: str) -> str:
    return server.url().replace("@", f":{password}@")


def test_a_password_is_stored_used_and_deleted(server: Server, keyring: KeyringInMemory, tmp_path: Path) -> None:
    url = server.url()
    assert not opens(url, tmp_path)
    stored = run("--store", url, "store", "login", typed="secret\n")
    assert stored.exit_code == 0, stored.output
    assert list(keyring.kept.values()) == ["secret"]
    assert opens(url, tmp_path)
    assert opens(f"{url}?sslmode=prefer", tmp_path)  # the same role, server and database
    assert not opens(f"{url}?user=another", tmp_path)
    listed = run("--store", url, "list", "--json")
    assert (listed.exit_code, listed.output.strip()) == (0, "[]")
    for words, shown in ((("logout", url), "is deleted from"), (("logout", url), "is not in")):
        done = run("store", *words)
        assert (done.exit_code, shown in done.output) == (0, True), done.output
    assert keyring.kept == {}
    assert not opens(url, tmp_path)


def test_a_password_in_the_url_moves_to_the_keyring(server: Server, keyring: KeyringInMemory, tmp_path: Path) -> None:
    done = run("store", "login", with_password(server, "secret"))
    assert (done.exit_code, "secret" in done.output.replace("store", "")) == (0, False), done.output
    assert server.url() in done.output
    ((service, account),) = keyring.kept
    assert (service, "secret" in account) == (SERVICE, False)
    assert opens(server.url(), tmp_path)


def test_a_wrong_or_missing_password_is_not_stored(server: Server, keyring: KeyringInMemory) -> None:
    wrong = run("store", "login", with_password(server, "wr0ng"))
    assert (wrong.exit_code, "password authentication failed" in wrong.output) == (2, True), wrong.output
    assert "wr0ng" not in wrong.output
    assert run("store", "login", server.url(), typed="\n").exit_code == 2
    assert run("store", "login", "runs.sqlite3").exit_code == 2
    keyring.locked = True
    locked = run("store", "login", with_password(server, "secret"))
    assert (locked.exit_code, "is not stored" in locked.output) == (2, True), locked.output
    assert keyring.kept == {}


def test_a_wrong_password_is_recognised_in_any_language(server: Server, keyring: KeyringInMemory) -> None:
    """The text is that of a server with lc_messages = de_DE.UTF-8; few computers have that locale."""
    url = location_of(with_password(server, "wr0ng"))
    assert isinstance(url, ServerUrl)
    with pytest.raises(psycopg.OperationalError) as refused:
        server_connection.connect(url)
    error = refused.value
    head = str(error).partition("FATAL:")[0]
    error.args = (f"{head}FATAL:  Passwort-Authentifizierung für Benutzer »benchwright« fehlgeschlagen",)
    assert isinstance(translated(error, url), PasswordError)
    for reason in ('database "other" does not exist', 'permission denied for database "other"'):
        error.args = (f"{head}FATAL:  {reason}",)
        assert not isinstance(translated(error, url), PasswordError)


def test_the_keyring_is_the_last_source(
    server: Server, keyring: KeyringInMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = location_of(server.url())
    assert isinstance(url, ServerUrl)
    keyring.kept[SERVICE, server_connection.account(url)] = "wr0ng"
    assert not opens(server.url(), tmp_path)
    assert opens(with_password(server, "secret"), tmp_path)
    passwords = tmp_path / "pgpass"
    passwords.write_text(f"127.0.0.1:{server.port}:*:*:secret\n", encoding="ascii")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    assert opens(server.url(), tmp_path)
    keyring.kept[SERVICE, server_connection.account(url)] = "secret"
    passwords.write_text(f"127.0.0.1:{server.port}:*:*:wr0ng\n", encoding="ascii")
    assert not opens(server.url(), tmp_path)
    monkeypatch.delenv("PGPASSFILE")
    assert opens(server.url(), tmp_path)
    monkeypatch.setenv("PGPASSWORD", "wr0ng")
    assert not opens(server.url(), tmp_path)


def test_a_password_typed_comes_first_and_stays_in_memory(
    server: Server, keyring: KeyringInMemory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = location_of(server.url())
    assert isinstance(url, ServerUrl)
    with closing(Workstation(url, tmp_path / "hosts.toml")) as workstation:
        with pytest.raises(PasswordError) as refused:
            workstation.sign_in(url, "wr0ng")
        assert "wr0ng" not in str(refused.value)
        assert not opens(url.url, tmp_path)
        workstation.sign_in(url, "secret")
        monkeypatch.setenv("PGPASSWORD", "wr0ng")
        assert opens(url.url, tmp_path)
        assert keyring.kept == {}
        assert not workstation.delete_password(url)
        assert not opens(url.url, tmp_path)


def test_accounts_differ_by_role_server_and_database_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def account(text: str) -> str:
        found = location_of(text)
        assert isinstance(found, ServerUrl)
        return server_connection.account(found)

    monkeypatch.setenv("PGUSER", "anna")
    one = account("postgresql://anna@db/bench")
    for same in (
        "postgresql://db:5432/bench",
        "postgresql://anna:pw@db/bench?sslmode=require",
        "postgres:///bench?host=db",
    ):
        assert account(same) == one, same
    others = [
        "postgresql://bert@db/bench", "postgresql://db/other", "postgresql://db:5433/bench", "postgresql://db2/bench",
        "postgresql://db/bench?hostaddr=10.0.0.9", "postgresql:///bench?service=db", "postgresql:///bench?host=/run/pg",
        "postgresql://[::1]/bench", "postgresql://an%40na@db/bench",
    ]  # fmt: skip
    assert len({one, *map(account, others)}) == 1 + len(others)


def test_no_password_is_in_an_error_a_log_or_a_message(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = server.url().replace("benchwright@", "benchwright:wr0ngpass@")
    done = called("--store", wrong, "list")
    assert (done.status, "password authentication failed" in done.err) == (2, True)
    assert MESSAGES["password_is_visible"] in done.err
    log = "".join(path.read_text() for path in Path(os.environ["HOME"]).rglob("*.log*"))
    assert "password authentication failed" in log
    assert "wr0ngpass" not in done.out + done.err + log
    right = server.url().replace("benchwright@", "benchwright:secret@")
    for location, variable in ((right, ""), (server.url(), "secret")):
        monkeypatch.setenv("PGPASSWORD", variable)
        with closing(Workstation(location_of(location), tmp_path / "hosts.toml")) as workstation:
            assert workstation.runs() == []
    monkeypatch.delenv("PGPASSWORD")
    passwords = Path(os.environ["HOME"]) / ".pgpass"
    passwords.write_text(f"127.0.0.1:{server.port}:*:benchwright:secret\n", encoding="ascii")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    listed = called("list", "--json", BENCHWRIGHT_STORE=server.url(), PGPASSFILE=str(passwords))
    assert (listed.status, listed.out.strip()) == (0, "[]")
