"""Shared parts of all commands: the workstation, output as JSON or tables, error reporting, logging."""

import contextlib
import errno
import io
import logging
import logging.handlers
import math
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

import click

from app.command_hints import with_library
from app.library_location import Location, location_of
from app.output import escaped, json_text, visible
from app.paths import log_path
from app.services import Workstation
from remote.errors import ConnectOutcome, RemoteError, outcome_of
from remote.local_directory import make_directory
from suites.errors import BenchwrightError
from suites.units import ungrouped

P = ParamSpec("P")

FAILED = 1
"""Exit status: a measurement failed or was interrupted."""

BAD_INPUT = 2
"""Exit status: invalid arguments or input."""


def _plain(value: Any) -> Any:
    """Return a typed number without separators of thousands; raise BadParameter for an ambiguous one."""
    try:
        return ungrouped(value) if isinstance(value, str) else value
    except BenchwrightError as error:
        raise click.BadParameter(str(error)) from None


class Whole(click.IntRange):
    """A whole number in a range, also with separators of thousands."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number; fail for an ambiguous one, 1,5, and one out of range."""
        return int(super().convert(_plain(value), param, ctx))


class Number(click.FloatRange):
    """A finite number from `least` to `most`. click.FloatRange accepts NaN, which is below and above no bound."""

    def __init__(self, least: float, most: float, *, min_open: bool = False) -> None:
        """Accept numbers from `least`, or above it if `min_open`, to `most`."""
        super().__init__(min=least, max=most, min_open=min_open)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the number; fail for NaN, infinities and numbers out of range."""
        number = float(super().convert(_plain(value), param, ctx))
        if math.isnan(number):
            self.fail(f"{value!r} is not a number.", param, ctx)
        return number + 0.0  # -0.0 becomes 0.0


class LibraryLocation(click.ParamType[Location]):
    """A library file, or the URL of one in PostgreSQL. An error does not repeat the URL, which may have a password."""

    name = "FILE|URL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Location:
        """Return the location; fail for a malformed URL."""
        try:
            return location_of(value) if isinstance(value, str) else value
        except BenchwrightError as error:
            self.fail(str(error), param, ctx)


PERCENT = Number(0, 100)

PRINTED = Path("-")
"""The path by which standard output is named."""


class OutputFile(click.Path):
    """A file to write. Standard output, “-”, is none: a file of that name is never meant."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the path; fail for “-”."""
        found = super().convert(value, param, ctx)
        if found == PRINTED:
            self.fail("“-” is no file: this output is not printed. Name a file.", param, ctx)
        return found


def given_files(paths: Mapping[str, Path | None]) -> list[tuple[str, Path]]:
    """Return the outputs with a file, in their order. Raises BenchwrightError for two with the same one."""
    given = [(name, path) for name, path in paths.items() if path is not None]
    names: dict[Path, str] = {}
    for name, path in given:
        if path != PRINTED and (other := names.setdefault(path.resolve(), name)) != name:
            options = f"--{other} and --{name}".replace("_", "-")
            raise BenchwrightError(f"{options} both name {path}: one would replace the other.", "Name two files.")
    return given


_BESIDE = (
    click.option(
        "--facts",
        "facts_path",
        type=click.Path(path_type=Path),
        help="Facts of the host on which an output was measured, as benchwright facts --json prints them.",
    ),
    click.option(
        "--telemetry",
        "telemetry_paths",
        multiple=True,
        type=click.Path(path_type=Path),
        help="Text of vmstat, iostat -x or sar -u, started with the test; repeatable.",
    ),
    click.option("--interval", type=Number(0.1, 3600), default=1.0, help="Seconds between its reports.  [default: 1]"),
)


def known_host_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for what is known of the host of an output."""
    for option in reversed(_BESIDE):
        command = option(command)
    return command


class JsonOption(click.Option):
    """The option --json of a command, which prints JSON of one of the `schemas` of app.published_schemas."""

    def __init__(self, names: Sequence[str], *, schemas: Sequence[str], **given: Any) -> None:
        """Name the schemas in the help."""
        super().__init__(names, help=f"Print JSON: see benchwright schema {', '.join(schemas)}.", **given)
        self.schemas = schemas


def schemas_of(command: click.Command) -> Sequence[str]:
    """Return the names of the schemas that describe what a command prints with --json; empty without that option."""
    return [name for each in command.params if isinstance(each, JsonOption) for name in each.schemas]


def json_option(*schemas: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the option --json, whose output one of `schemas` describes."""
    return click.option("--json", "as_json", cls=JsonOption, is_flag=True, schemas=schemas)


pass_workstation = click.make_pass_decorator(Workstation)


def report_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Print a BenchwrightError as its message and log the traceback; refuse an option that was given as a value.

    The exit status is 2 (invalid input), or 1 if a host failed or a disk is full. A host name that does not exist is
    invalid input.
    """

    @wraps(command)
    def guarded(*arguments: P.args, **named: P.kwargs) -> None:
        try:
            context = click.get_current_context()
            _refuse_options_as_values(context)
            _refuse_read_files(context)
            command(*arguments, **named)
        except BenchwrightError as error:
            logging.getLogger(__name__).info("refused", exc_info=True)
            print_error(str(error))
            of_a_host = isinstance(error, RemoteError) and outcome_of(error) is not ConnectOutcome.CONFIG
            raise SystemExit(FAILED if of_a_host or _is_full_disk(error) else BAD_INPUT) from None

    return guarded


def _is_full_disk(error: BaseException | None) -> bool:
    """Return whether an error, or what caused it, is a full disk."""
    from app.store.errors import StoreFullError

    full = isinstance(error, StoreFullError) or getattr(error, "errno", None) in {errno.ENOSPC, errno.EDQUOT}
    return error is not None and (full or _is_full_disk(error.__cause__))


_LIKE_AN_OPTION = re.compile(r"--[a-z][a-z0-9-]*(?:=.*)?", re.DOTALL)


def _refuse_options_as_values(context: click.Context) -> None:
    """Raise BadOptionUsage for an option whose value is missing, so that the next option became its value."""
    options = [each for each in context.command.params if isinstance(each, click.Option)]
    names = {name for each in options for name in (*each.opts, *each.secondary_opts)}
    for each in options:
        given = context.params.get(each.name or "")
        for value in given if isinstance(given, tuple | list) else (given,):
            if isinstance(value, str | Path) and (str(value) in names or _LIKE_AN_OPTION.fullmatch(str(value))):
                raise click.BadOptionUsage(
                    each.opts[0],
                    f"Option '{each.opts[0]}' has no value: '{value}' is an option. Write the value after "
                    f"'{each.opts[0]}', or './{value}' for a file of that name.",
                    context,
                )


def _refuse_read_files(context: click.Context) -> None:
    """Raise BenchwrightError for an output that would replace a file which the command reads."""
    files = [(each, context.params.get(each.name or "")) for each in context.command.params]
    given = [(each, value.resolve()) for each, value in files if isinstance(value, Path) and value != PRINTED]
    read = {path for each, path in given if not isinstance(each.type, OutputFile)}
    for each, path in given:
        if isinstance(each.type, OutputFile) and path in read:
            raise BenchwrightError(
                f"{each.opts[0]} would replace {path}, which the command reads.", "Name another file."
            )


def verb(command: Callable[..., None]) -> Callable[..., None]:
    """Pass the workstation to a command, and report its errors.

    Of a library file that is given and missing, verbs on what it has refuse to create it, and the others name it.
    """

    @wraps(command)
    def on_library(workstation: Workstation, *arguments: Any, **named: Any) -> None:
        context = click.get_current_context()
        store = context.find_root().params.get("store")
        missing = store if isinstance(store, Path) and not store.exists() else None
        names = [each.info_name or "" for each in _lineage(context)][1:]
        if missing and names[0] in _ON_STORED and " ".join(names) not in _CREATING:
            workstation.require_library()
        try:
            command(workstation, *arguments, **named)
        finally:
            if missing and missing.exists():
                print_note(f"Created the library {missing}.")

    return pass_workstation(report_errors(on_library))


_ON_STORED = frozenset({
    "list", "show", "rejudge", "acknowledge", "annotate", "compare", "baseline", "export", "investigation", "library",
    "delete", "restore", "searches", "sample-size", "history", "best", "noise", "scaling", "burst", "profile",
    "heatmap", "rounds", "agree", "attach",
})  # fmt: skip
"""Verbs on what a library has."""

_CREATING = frozenset({"baseline import", "investigation new", "library merge"})
"""Those of them that add to an empty one."""


def _lineage(context: click.Context) -> list[click.Context]:
    """Return the contexts from the root to `context`."""
    return [*(_lineage(context.parent) if context.parent else []), context]


def json_verb(*schemas: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command a verb() with the option --json, whose output one of `schemas` describes."""
    return lambda command: json_option(*schemas)(verb(command))


def print_error(text: str) -> None:
    """Print an error on standard error."""
    click.echo(plain(f"benchwright: {text}"), err=True)


def print_note(text: str) -> None:
    """Print a note on standard error."""
    click.echo(plain(text), err=True)


def print_file(text: str) -> None:
    """Print the text of a file on standard output; escape control characters if that is a terminal."""
    click.echo(escaped(text, but="\n\t") if sys.stdout.isatty() else text, nl=False)


def print_json(content: object) -> None:
    """Print `content` as JSON on standard output, in UTF-8 for any locale."""
    click.echo(json_text(content).encode("utf-8", "replace"))


_ON_ONE_LINE = 48
_PIPE_WIDTH = 160
_WIDE_TERMINAL = 100
_GAP = 3  # between two columns


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> None:
    """Print a table; the columns whose index is in `right` are aligned to the right.

    In a pipe, where programs read them, short columns have no line break, nor has the first in a wide terminal.
    """
    from rich.box import SIMPLE_HEAD
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    cells = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(head, *cells, strict=True)]
    if not console.is_terminal:
        needed = sum(min(width, _ON_ONE_LINE) + _GAP for width in widths)
        console = Console(highlight=False, width=max(_PIPE_WIDTH, needed))
    unfolded = sum(widths) + _GAP * (len(widths) - 1) <= console.width and "\n" not in "".join(map("".join, cells))
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, (title, width) in enumerate(zip(head, widths, strict=True)):
        whole = not console.is_terminal or (index == 0 and console.width >= _WIDE_TERMINAL)
        least = width if unfolded or (whole and width <= _ON_ONE_LINE) else None
        table.add_column(title, justify="right" if index in right else "left", overflow="fold", min_width=least)
    for row in () if unfolded else cells:
        # Text, not markup: rich must not interpret a host's output.
        table.add_row(*map(Text, row))
    console.print(table)
    if unfolded:  # as rich would, which takes 0.5 ms a row: 10 s for 20,000 runs
        aligned = [str.rjust if index in right else str.ljust for index in range(len(head))]
        columns = list(zip(aligned, widths, strict=True))
        for row in cells:
            padded = [
                align(cell, width - cell_len(cell) + len(cell))
                for cell, (align, width) in zip(row, columns, strict=True)
            ]
            console.file.write(f"{(' ' * _GAP).join(padded)}\n")


def plain(text: str) -> str:
    """Return `text` with control characters escaped, and --store added to proposed commands."""
    return visible(with_library(text))


def replace_unencodable() -> None:
    """Print “?” for characters that the encoding of a terminal or pipe lacks."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def refuse_unreadable(words: Sequence[str]) -> None:
    """Exit with status 2 if one of `words` is not UTF-8: it could be neither stored nor printed."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            print_error(f"“{word}” is not UTF-8. Use another name, or another locale.")
            raise SystemExit(BAD_INPUT) from None


class _PrivateLog(logging.handlers.RotatingFileHandler):
    """Log file with mode 0600 for any umask: it names hosts and accounts."""

    def _open(self) -> io.TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_CLOEXEC  # no hang on a pipe
        descriptor = os.open(self.baseFilename, flags, 0o600)
        with contextlib.suppress(PermissionError):
            os.fchmod(descriptor, 0o600)  # an existing file may be readable by all
        return io.TextIOWrapper(os.fdopen(descriptor, "ab"), encoding=self.encoding, errors=self.errors)


def start_log() -> None:
    """Write the log to the user's log folder, at most 4 MiB, and no longer where an earlier call wrote it."""
    root, path = logging.getLogger(), log_path()
    for earlier in [each for each in root.handlers if isinstance(each, _PrivateLog)]:
        root.removeHandler(earlier)
        earlier.close()
    try:
        make_directory(path.parent)
        handler: logging.Handler = _PrivateLog(
            path, maxBytes=2**20, backupCount=3, encoding="utf-8", errors="replace", delay=True
        )
    except OSError:
        handler = logging.NullHandler()  # measure even on a full or read-only disk
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"))
    logging.raiseExceptions = False  # no tracebacks on the terminal if the disk fills up later
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    logging.getLogger("paramiko").setLevel(
        logging.CRITICAL
    )  # connect() reports its failures; paramiko would log tracebacks as well


def show_part(what: str, done: int, total: int) -> None:
    """Show on a terminal how much is done: ``Importing 12 of 300``, in a line of its own."""
    if sys.stderr.isatty():
        click.echo("\r", nl=False, err=True)
        click.echo(plain(f"{what} {done} of {total}"), nl=done == total, err=True)
