"""A PostgreSQL server of the tests' own: a data directory, a loopback port, and databases made from a template."""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from app.library_location import ServerUrl, location_of
from app.store.store import Store

if TYPE_CHECKING:
    import psycopg

TEMPLATE = "library_template"

OWNER = "benchwright"

_FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "autovacuum=off")


def programs() -> Path | None:
    """Return the folder of the server's programs, the newest version; None without any."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    there = shutil.which("initdb")
    return None if there is None else Path(there).parent


class Server:
    """A server that listens on a port of the loopback, without a password unless `auth` asks for one."""

    def __init__(self, *, durable: bool = False, auth: str = "trust") -> None:
        """Start it; `durable` keeps what was committed through a crash of the computer, as servers do."""
        found = programs()
        if found is None:
            raise FileNotFoundError("initdb")
        self._programs = found
        self.folder = Path(mkdtemp(prefix="benchwright-pg-"))
        self._account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self._account is not None:
            os.chown(self.folder, self._account.pw_uid, self._account.pw_gid)
        self.port = _free_port()
        self._settings = [] if durable else [word for setting in _FAST for word in ("-c", setting)]
        self._process: subprocess.Popen[bytes] | None = None
        password = self.folder / "password"
        password.write_text("secret\n", encoding="ascii")
        password.chmod(0o644)
        self._run(
            "initdb", "-D", str(self.folder / "data"), "-U", OWNER, f"--auth={auth}", f"--pwfile={password}",
            "-E", "UTF8", "--locale=C.UTF-8", "-N",
        )  # fmt: skip
        self.start()

    def start(self) -> None:
        """Start the server and wait until it answers."""
        words = [
            str(self._programs / "postgres"), "-D", str(self.folder / "data"), "-p", str(self.port),
            "-c", "listen_addresses=127.0.0.1,::1", "-c", f"unix_socket_directories={self.folder}",
            "-c", "max_connections=200", *self._settings,
        ]  # fmt: skip
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(words, stdout=log, stderr=log, **self._as_account())
        deadline = time.monotonic() + 60
        while True:
            ready = [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port)]
            if subprocess.run(ready, check=False).returncode == 0:
                return
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.folder / "log").read_text(errors="replace"))
            time.sleep(0.05)

    def kill(self) -> None:
        """End every process of the server with SIGKILL."""
        if self._process is None:
            return
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        for pid in (self._process.pid, *map(int, children)):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None
        deadline = time.monotonic() + 30
        while any(map(_runs, children)) and time.monotonic() < deadline:
            time.sleep(0.02)
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)

    def close(self) -> None:
        """Stop the server and remove its data."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(30)
        shutil.rmtree(self.folder)

    def processor_seconds(self) -> float:
        """Return the processor time that the server has taken, also in processes that ended."""
        assert self._process is not None
        own = self._process.pid
        below = Path(f"/proc/{own}/task/{own}/children").read_text().split()
        ticks = sum(sum(_times(pid)[:2]) for pid in below) + sum(_times(own))
        return ticks / os.sysconf("SC_CLK_TCK")

    def url(self, database: str = "postgres", user: str = OWNER) -> str:
        """Return the URL of a database."""
        return f"postgresql+psycopg://{user}@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = "postgres") -> "psycopg.Connection[tuple[object, ...]]":
        """Return a connection of the driver's own."""
        import psycopg

        return psycopg.connect(
            host="127.0.0.1", port=self.port, user=OWNER, dbname=database, password="secret", autocommit=True
        )

    def make_template(self) -> None:
        """Make the database of which library() makes copies: an empty library."""
        self.execute(f"CREATE DATABASE {TEMPLATE}")
        store = Store(location_of(self.url(TEMPLATE)))
        assert store.runs() == []
        store.close()

    def library(self) -> ServerUrl:
        """Return the URL of a new, empty library."""
        name = f"t{secrets.token_hex(6)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {TEMPLATE}")
        found = location_of(self.url(name))
        assert isinstance(found, ServerUrl)
        return found

    def drop(self, url: ServerUrl) -> None:
        """Remove a library and its connections."""
        self.execute(f"DROP DATABASE {url.url.rpartition('/')[2]} WITH (FORCE)")

    def execute(self, statement: str, database: str = "postgres") -> None:
        """Execute a statement in a transaction of its own."""
        with self.connect(database) as connection:
            connection.execute(statement.encode())

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *words], check=False, capture_output=True, **self._as_account()
        )
        if done.returncode:
            raise RuntimeError((done.stdout + done.stderr).decode(errors="replace"))

    def _as_account(self) -> dict[str, Any]:
        """Return the options that start a program as an account that is not root: PostgreSQL refuses root."""
        own: dict[str, Any] = {"cwd": str(self.folder)}
        if self._account is not None:
            own |= {"user": self._account.pw_uid, "group": self._account.pw_gid, "extra_groups": []}
        return own


def _times(pid: int | str) -> list[int]:
    """Return the ticks of a process in user and kernel mode, and those of its children that ended."""
    with suppress(FileNotFoundError):
        return [int(word) for word in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]]
    return [0, 0, 0, 0]  # its parent has its time by now


def _runs(pid: str) -> bool:
    """Return whether a process runs: one that has ended waits for init, which took it over, to note it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
