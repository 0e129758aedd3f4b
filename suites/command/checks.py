"""Checks of a step with a command of the user."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from posixpath import join, normpath

from suites.base import Recognised, StepCheck, StepEvidence
from suites.checks import Check, CheckOutcome, NotChecked, blocking_check
from suites.command.parameters import JSON, MOST_SCANNED, PATTERN, SCANNED, scan_lists, scanned, words
from suites.command.pattern import Pattern, PatternError
from suites.command.recognition import program_of, recognised, simple_commands
from suites.command.shell_parser import ShellCommand
from suites.command.targets import targets_of_line
from suites.secret_names import secret_name
from suites.targets import PathUse, reasons
from suites.verdict import Trust
from suites.vocab import Severity

_META = re.compile(r"[|<>;`*]|&|\$[\w({]|^~/")
_NAMES = ("command", "prepare", "before", "clean_up")


def _empty(evidence: StepEvidence) -> CheckOutcome | None:
    return None if str(evidence.values["command"]).strip() else CheckOutcome("No command is set.")


def _unreadable(evidence: StepEvidence) -> CheckOutcome | None:
    shell = bool(evidence.values["shell"])
    for name in (*_NAMES, "environment"):
        if words(evidence.values[name], shell=shell and name != "environment") is None:
            return CheckOutcome(f"{name} has an unmatched quotation mark.")
    for word in words(evidence.values["environment"], shell=False) or ():
        if not re.match(r"[A-Za-z_]\w*=", word):
            return CheckOutcome(f"environment has “{word[:60]}”, which is not NAME=VALUE.")
    return None


def _no_figure(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if values["figure"] == JSON:
        return None if str(values["json_path"]).strip() else CheckOutcome("No JSON path is set.")
    if values["figure"] != PATTERN:
        return None
    if not values["pattern"]:
        return CheckOutcome("No pattern is set.")
    try:
        Pattern.read(str(values["pattern"]))
    except PatternError as error:
        return CheckOutcome(error.message, remedy=error.remedy)
    return None


def _meta(evidence: StepEvidence) -> CheckOutcome | None:
    if evidence.values["shell"]:
        return None
    for name in _NAMES:
        signs = _unquoted_signs(str(evidence.values[name]))
        if signs:
            return CheckOutcome(f"{name} has {' '.join(signs[:5])[:60]}, but shell is no.", changes={"shell": True})
    return None


def _unquoted_signs(text: str) -> list[str]:
    """Return the words of `text` that contain shell syntax."""
    reader = shlex.shlex(text, posix=False, punctuation_chars=False)
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        return [word for word in reader if word[0] not in "'\"" and _META.search(word)]
    except ValueError:  # an unclosed quotation is reported by another check
        return []


def _secret(evidence: StepEvidence) -> CheckOutcome | None:
    for name in ("environment", *_NAMES):
        if secret := secret_name(str(evidence.values[name])):
            return CheckOutcome(f"{name} sets {secret}.")
    return None


def _shell_timed(evidence: StepEvidence) -> CheckOutcome | None:
    text = str(evidence.values["command"])
    if not evidence.values["shell"] or evidence.values["figure"] != "time" or _META.search(text):
        return None
    if re.search(r"\b(?:cd|if|for|while|exec|export|set)\b", text):
        return None
    return CheckOutcome("shell is yes, but the command uses no shell feature.", changes={"shell": False})


def _unchecked(evidence: StepEvidence, use: PathUse = PathUse.REFUSE) -> CheckOutcome | None:
    values, shell = evidence.values, bool(evidence.values["shell"])
    lines = [str(values[name]) for name in _NAMES if words(values[name], shell=shell) is not None]
    found = [reasons(targets_of_line(line, values), use) for line in lines]
    texts = list(dict.fromkeys(reason for each in found for reason in each))
    return CheckOutcome(" ".join(texts[:3])) if texts else None


def _recognised(evidence: StepEvidence, line: str = "command") -> tuple[Recognised, ...]:
    return recognised(str(evidence.values[line]), shell=bool(evidence.values["shell"]))


def _writes_device(evidence: StepEvidence) -> CheckOutcome | None:
    texts = []
    for line in _NAMES:
        written = [device for found in _recognised(evidence, line) for device in found.written]
        if written:
            subject = "It" if line == "command" else f"Its {line}"
            texts.append(f"{subject} writes to {', '.join(dict.fromkeys(written))}.")
    return CheckOutcome(" ".join(texts)) if texts else None


def _endless(evidence: StepEvidence) -> CheckOutcome | None:
    found = next((found for found in _recognised(evidence) if found.endless), None)
    return None if found is None else CheckOutcome(f"Parsed as {found.program}: it runs {found.endless}.")


_NAMES_OF_READERS = """
b2sum bzip2 cat cksum cp dd grep gzip lz4 md5sum pv rsync sha1sum sha256sum sha512sum sort tail head tar wc xz zstd
"""
_CACHE_READERS = frozenset(_NAMES_OF_READERS.split())
"""Programs whose time is that of reading their operands, if these are large."""

_COPIERS = frozenset({"cat", "cp", "dd", "pv", "rsync"})
"""Those that do nothing else with them."""

_BYPASS = re.compile(r"\b(?:direct|nocache)\b")


def _line_commands(evidence: StepEvidence, line: str) -> Iterator[tuple[str, list[str], ShellCommand]]:
    """Yield program, arguments and the whole of each simple command of a line of the step."""
    for command in simple_commands(str(evidence.values[line]), by_shell=bool(evidence.values["shell"])):
        yield (*program_of(command.texts), command)


def _reads_cached(evidence: StepEvidence) -> CheckOutcome | None:
    """Report files that the command reads after the step itself wrote or read them."""
    written: dict[str, str] = {}
    for line in ("prepare", "before", "command"):
        for program, operands, command in _line_commands(evidence, line):
            if "drop_caches" in " ".join((*command.texts, *(word.text for word in command.written))):
                written.clear()
                if line == "before":
                    written["/"] = ""  # in each trial: nothing stays from the one before
                continue
            read = _operands_read(evidence, program, operands, command)
            if line == "command" and read:
                found = next((path for path in read if _source(path, written)), None)
                if found is not None:
                    return CheckOutcome(f"{program} reads {found}, which {_source(found, written)} has just written.")
                if program in _COPIERS - {"dd"} and evidence.trials > 1 and "/" not in written:
                    return CheckOutcome(
                        f"{program} reads {read[0]} in each of {evidence.trials} trials.", severity=Severity.INFO
                    )
            written |= dict.fromkeys(_operands_written(evidence, program, operands, command), line)
    return None


def _source(path: str, written: Mapping[str, str]) -> str:
    """Return the line of the step that wrote `path` or a directory above it; empty if none did."""
    return next((line for each, line in written.items() if line and f"{path}/".startswith(f"{each}/")), "")


def _operands_read(evidence: StepEvidence, program: str, words: Sequence[str], command: ShellCommand) -> list[str]:
    if program not in _CACHE_READERS or (program == "dd" and _BYPASS.search(_operand(words, "iflag"))):
        return []
    named = [word for word in words if not word.startswith("-")]
    if program == "dd":
        named = [_operand(words, "if")]
    elif program in {"cp", "rsync"}:
        named = named[:-1]
    return _paths(evidence, [*named, *(word.text for word in command.read)])


def _operands_written(evidence: StepEvidence, program: str, words: Sequence[str], command: ShellCommand) -> list[str]:
    named = [word for word in words if not word.startswith("-")]
    if program == "dd":
        named = [] if _BYPASS.search(_operand(words, "oflag")) else [_operand(words, "of")]
    elif program in {"cp", "mv", "install", "rsync"}:
        named = named[-1:]
    elif program != "tee":
        named = []
    return _paths(evidence, [*named, *(word.text for word in command.written)])


def _operand(words: Sequence[str], name: str) -> str:
    return next((word.partition("=")[2] for word in words if word.startswith(f"{name}=")), "")


def _paths(evidence: StepEvidence, named: Sequence[str]) -> list[str]:
    """Return `named` as normal paths, without devices."""
    above = str(evidence.values["working_directory"])
    paths = [normpath(join(above, name)) for name in named if name]
    return [path for path in paths if not path.startswith(("/dev/", "/proc/", "/sys/"))]


def _hdparm(evidence: StepEvidence) -> CheckOutcome | None:
    for program, operands, _command in _line_commands(evidence, "command"):
        flags = "".join(word for word in operands if re.fullmatch("-[A-Za-z]+", word))
        if program == "hdparm" and "T" in flags:
            both = " -t reads the start of the device for 3 s with one request at a time." if "t" in flags else ""
            return CheckOutcome(f"hdparm -T reads from the page cache.{both}")
        if program == "hdparm" and "t" in flags:
            return CheckOutcome("hdparm -t reads the start of the device for 3 s with one request at a time.")
    return None


_RANGE = re.compile(r"\d{1,9}(?:-|\.\.|:)\d{1,9}")
"""What looks like a range; in a list of several, each may be one of CPUs."""


def _scan(evidence: StepEvidence) -> CheckOutcome | None:
    lists = scan_lists(evidence.values)
    unused = [name for name in lists if not any(f"{{{name}}}" in str(evidence.values[text]) for text in SCANNED)]
    if unused:
        return CheckOutcome(f"scan has {unused[0]}, but the command has no {{{unused[0]}}}.")
    combined = prod(map(len, lists.values()))
    ranges = [f"{name}={one}" for name, listed in lists.items() for one in listed if _RANGE.fullmatch(one)]
    if ranges and combined == 1:
        return CheckOutcome(f"scan has the one value {ranges[0]}.", remedy="List the values, as in n=1,2,3: no ranges.")
    if combined <= MOST_SCANNED:
        return None
    return CheckOutcome(f"scan has {combined} combinations; at most {MOST_SCANNED} run.", remedy="Shorten its lists.")


def _of_each_value(
    evaluate: Callable[[StepEvidence], CheckOutcome | NotChecked | None], evidence: StepEvidence
) -> CheckOutcome | NotChecked | None:
    """Return the first outcome of the combinations of a scan."""
    found = (evaluate(replace(evidence, values=values)) for values in scanned(evidence.values).values())
    return next((outcome for outcome in found if outcome is not None), None)


COMMAND_EMPTY = blocking_check(
    id="command-empty",
    title="Command missing",
    why="This test measures a command of your own.",
    remedy="Type the command as on the host.",
    source="The step's parameters.",
    needs="The command.",
    evaluate=_empty,
)

COMMAND_UNREADABLE = blocking_check(
    id="command-unreadable",
    title="Command cannot be parsed",
    why="The command cannot be split into words, so nothing can be started.",
    remedy="Close the quotation, or write \\' for a literal mark; variables are NAME=VALUE.",
    source="POSIX, Shell Command Language, 2.2 Quoting.",
    needs="The command and its variables.",
    evaluate=_unreadable,
)

COMMAND_NO_FIGURE = blocking_check(
    id="command-no-figure",
    title="Figure not defined",
    why="The command would run and yield no figure.",
    remedy="Set the pattern or JSON path, or use the wall time.",
    source="The step's parameters.",
    needs="Source of the figure.",
    evaluate=_no_figure,
)

COMMAND_META = Check(
    id="command-shell-signs",
    of_result=False,
    trust=Trust.CAVEATS,
    title="Shell syntax without a shell",
    why="Pipes, redirections, patterns and variables are passed to the program as plain words: it does something "
    "else than in a terminal, often nothing at all, and quickly.",
    remedy="Set shell to yes.",
    source="POSIX, Shell Command Language, 2.2 Quoting.",
    needs="The command and shell.",
    evaluate=_meta,
)

COMMAND_SECRET = Check(
    id="command-secret",
    of_result=False,
    title="Secret in the command",
    why="Commands and variables are stored in the plan, each result and report, and visible in the host's "
    "process list.",
    remedy="Move the secret to a file on the host that the program reads, and remove it here.",
    source="proc(5): /proc/PID/cmdline.",
    needs="The command and its variables.",
    evaluate=_secret,
)

COMMAND_SHELL_TIMED = Check(
    id="command-shell-timed",
    severity=Severity.INFO,
    title="Shell start-up is timed",
    why="sh takes about a millisecond to start, which is part of the time of a short command.",
    remedy="Set shell to no.",
    source="Measured for this project: dash 0.5.12, 1.2 ms more than the program alone.",
    needs="The command and shell.",
    evaluate=_shell_timed,
)

COMMAND_UNJUDGED = blocking_check(
    id="command-unjudged",
    title="Write targets cannot be checked",
    why="The command could write to any device unchecked. It is not started.",
    remedy="Write the path out.",
    source="The command line, and those that prepare and clean up.",
    needs="The commands, if they are dd, fio, tee, cp and others that write, or redirect.",
    evaluate=_unchecked,
)

COMMAND_UNSURE = Check(
    id="command-unsure",
    of_result=False,
    severity=Severity.INFO,
    title="Write targets unknown before the run",
    why="It starts only where the host’s kernel denies it block devices, or where the account cannot write to any.",
    remedy="Write the path out if the host refuses it.",
    source="The command line, and those that prepare and clean up.",
    needs="The commands, if they are dd, fio, tee, cp and others that write, or redirect.",
    evaluate=partial(_unchecked, use=PathUse.UNCHECKED),
)

COMMAND_WRITES_DEVICE = blocking_check(
    id="command-writes-device",
    title="Command writes to a raw device",
    why="All data on it would be lost, without a check whether it is in use. The command is not started.",
    remedy="Use the suite fio with its parameter filename: it asks for the serial number and checks whether the "
    "device is in use.",
    source="The command line, and those that prepare and clean up.",
    needs="The commands, if they are dd, fio or ioping, make a file system or swap, wipe, copy or redirect.",
    evaluate=_writes_device,
)

COMMAND_ENDLESS = Check(
    id="command-endless",
    of_result=False,
    title="Command does not end",
    why="The trial continues until it is stopped or the disk is full; a stopped trial has no figure.",
    remedy="Limit its size or time: count= for dd, --time for sysbench, -t for iperf3, -c for ioping.",
    source="dd(1), count; sysbench --help, time and events; iperf3(1), time; ioping(1), count.",
    needs="The command, if it is dd, sysbench, iperf3 or ioping.",
    evaluate=_endless,
)

COMMAND_READS_CACHED = Check(
    id="command-reads-cached",
    title="Page cache will serve the reads",
    why="A file that was just written or read is still in the page cache: the copy comes from memory. A cp took 17 s, "
    "then 0.853 s.",
    remedy="Read with direct I/O (dd iflag=direct), or drop the caches before each trial: sync; echo 3 "
    ">/proc/sys/vm/drop_caches.",
    source="practitioners' notes; Linux documentation, vm.drop_caches.",
    needs="The commands; the number of trials.",
    evaluate=_reads_cached,
)

COMMAND_HDPARM = Check(
    id="command-hdparm",
    title="hdparm is no disk benchmark",
    why="-T measures memory. -t measures a few seconds of readahead at the fastest part of a disk: one thread, no "
    "queue, no writes.",
    remedy="Use the suite fio: rw=read with direct I/O and iodepth 32, and a random pattern.",
    source="hdparm(8), -t and -T.",
    needs="The command, if it is hdparm.",
    evaluate=_hdparm,
)

COMMAND_SCAN = blocking_check(
    id="command-scan",
    title="Parameter scan without effect",
    why="Each trial would run the same command several times, or not all values.",
    remedy="Write {n} for the values of n in the command, before or environment.",
    source="The step's parameters; hyperfine(1), --parameter-list.",
    needs="The command and its scan.",
    evaluate=_scan,
)

COMMAND_CHECKS: tuple[StepCheck, ...] = (
    COMMAND_SCAN,
    *(
        replace(check, evaluate=partial(_of_each_value, check.evaluate))
        for check in (
            COMMAND_EMPTY,
            COMMAND_UNREADABLE,
            COMMAND_NO_FIGURE,
            COMMAND_META,
            COMMAND_SECRET,
            COMMAND_SHELL_TIMED,
            COMMAND_UNJUDGED,
            COMMAND_UNSURE,
            COMMAND_WRITES_DEVICE,
            COMMAND_ENDLESS,
            COMMAND_READS_CACHED,
            COMMAND_HDPARM,
        )
    ),
)
