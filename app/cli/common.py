"""What every command shares: the workstation, JSON or a table, and errors as one clear message."""

import contextlib
import io
import logging
import logging.handlers
import os
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import ParamSpec

import click

from app.escaping import escaped, json_text
from app.paths import log_path
from app.proposed import with_library
from app.services import Workstation
from app.wording import visible
from remote.errors import Outcome, RemoteError, outcome_of
from remote.local_directory import make_directory
from suites.errors import BenchwrightError

P = ParamSpec("P")

FAILED = 1
"""Exit status: a measurement failed, or was cut off."""

BAD_INPUT = 2
"""Exit status: something given cannot be used."""

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
pass_workstation = click.make_pass_decorator(Workstation)


def speaks_to_people(command: Callable[P, None]) -> Callable[P, None]:
    """Turn a BenchwrightError into its message; the log has the traceback.

    The exit status is 2, but 1 where a host, not what was given, is the reason: a word that names none is no host.
    """

    @wraps(command)
    def guarded(*arguments: P.args, **named: P.kwargs) -> None:
        try:
            command(*arguments, **named)
        except BenchwrightError as error:
            logging.getLogger(__name__).info("refused", exc_info=True)
            say_error(str(error))
            of_a_host = isinstance(error, RemoteError) and outcome_of(error) is not Outcome.CONFIG
            raise SystemExit(FAILED if of_a_host else BAD_INPUT) from None

    return guarded


def say_error(text: str) -> None:
    """Say on standard error what went wrong."""
    click.echo(plain(f"benchwright: {text}"), err=True)


def say(text: str) -> None:
    """Say something on standard error."""
    click.echo(plain(text), err=True)


def print_file(text: str) -> None:
    """Print the text of a file on standard output: as it is, but on a terminal with what would drive that escaped."""
    click.echo(escaped(text, but="\n\t") if sys.stdout.isatty() else text, nl=False)


def print_json(content: object) -> None:
    """Print `content` as JSON on standard output, in UTF-8 whatever the terminal speaks."""
    click.echo(json_text(content).encode("utf-8", "replace"))


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print a table; the columns whose index is in `right` are aligned to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, title in enumerate(head):
        table.add_column(title, justify="right" if index in right else "left", overflow="fold")
    for row in rows:
        # Text, not markup: what a host says is never interpreted.
        table.add_row(*(Text(plain(cell)) for cell in row))
    console = Console(highlight=False)
    if not console.is_terminal:
        console = Console(highlight=False, width=160)
    console.print(table)


def plain(text: str) -> str:
    """Return `text` as it may be printed: it cannot drive the terminal, and proposed commands name the library."""
    return visible(with_library(text))


def bear_any_text() -> None:
    """Let a terminal or a pipe that cannot take a character have a question mark in its place."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def refuse_unreadable(words: Sequence[str]) -> None:
    """End with exit status 2 where one of `words` is no text: it could neither be stored nor shown again."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            say_error(f"“{word}” is not UTF-8. Use another name, or another locale.")
            raise SystemExit(BAD_INPUT) from None


class _PrivateLog(logging.handlers.RotatingFileHandler):
    """A log that only its user can read, whatever the umask: it names hosts and accounts."""

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not hold us up
        descriptor = os.open(self.baseFilename, flags, 0o600)
        with contextlib.suppress(PermissionError):
            os.fchmod(descriptor, 0o600)  # one of before may be open to all
        return io.TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding, errors=self.errors)


def start_log() -> None:
    """Write the log to the user's log folder, and never more than 4 MiB of it."""
    path: Path = log_path()
    try:
        make_directory(path.parent)
        handler: logging.Handler = _PrivateLog(
            path, maxBytes=2**20, backupCount=3, encoding="utf-8", errors="replace", delay=True
        )
    except OSError:
        handler = logging.NullHandler()  # a full or read-only disk must not keep anybody from measuring
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"))
    logging.raiseExceptions = False  # nor one that fills up meanwhile, with tracebacks on the terminal
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.getLogger("paramiko").setLevel(
        logging.CRITICAL
    )  # connect() words its failures; paramiko would add tracebacks
