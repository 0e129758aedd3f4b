"""What is known to fool people who time a command of their own."""

import re
import shlex
from functools import partial

from suites.checks import Check, Outcome, StepCheck, StepEvidence
from suites.command.parameters import JSON, PATTERN, words
from suites.command.pattern import Pattern, PatternError
from suites.command.targets import targets_of_line
from suites.targets import Use, reasons
from suites.vocab import Level

_META = re.compile(r"[|<>;`*]|&|\$[\w({]|^~/")
_SECRET = re.compile(
    r"(?:^|[_-])(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|APIKEY|API[_-]KEY|PWD|PGPASSWORD)(?:$|[_-])", re.IGNORECASE
)
_GIVEN = re.compile(r"(?:--)?([\w-]+)=\S")
_NAMES = ("command", "prepare", "before", "clean_up")


def _empty(evidence: StepEvidence) -> Outcome | None:
    return None if str(evidence.values["command"]).strip() else Outcome("No command is given.")


def _unreadable(evidence: StepEvidence) -> Outcome | None:
    shell = bool(evidence.values["shell"])
    for name in (*_NAMES, "environment"):
        if words(evidence.values[name], shell=shell and name != "environment") is None:
            return Outcome(f"{name} has a quotation mark without its other one.")
    for word in words(evidence.values["environment"], shell=False) or ():
        if not re.match(r"[A-Za-z_]\w*=", word):
            return Outcome(f"environment has “{word[:60]}”, which is not NAME=VALUE.")
    return None


def _no_figure(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if values["figure"] == JSON:
        return None if str(values["json_path"]).strip() else Outcome("No JSON path is given.")
    if values["figure"] != PATTERN:
        return None
    if not values["pattern"]:
        return Outcome("No pattern is given.")
    try:
        Pattern.read(str(values["pattern"]))
    except PatternError as error:
        return Outcome(error.message, remedy=error.remedy)
    return None


def _meta(evidence: StepEvidence) -> Outcome | None:
    if evidence.values["shell"]:
        return None
    for name in _NAMES:
        signs = _unquoted_signs(str(evidence.values[name]))
        if signs:
            return Outcome(f"{name} has {' '.join(signs[:5])[:60]}, and shell is no.", changes={"shell": True})
    return None


def _unquoted_signs(text: str) -> list[str]:
    """Return the words of `text` that a shell would take for more than words."""
    reader = shlex.shlex(text, posix=False, punctuation_chars=False)
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        return [word for word in reader if word[0] not in "'\"" and _META.search(word)]
    except ValueError:  # a quotation that is not closed; another check says so
        return []


def _secret(evidence: StepEvidence) -> Outcome | None:
    for name in ("environment", *_NAMES):
        for word in str(evidence.values[name]).split():
            given = _GIVEN.match(word)
            if given is not None and _SECRET.search(given[1]):
                return Outcome(f"{name} sets {given[1][:60]}.")
    return None


def _shell_timed(evidence: StepEvidence) -> Outcome | None:
    text = str(evidence.values["command"])
    if not evidence.values["shell"] or evidence.values["figure"] != "time" or _META.search(text):
        return None
    if re.search(r"\b(?:cd|if|for|while|exec|export|set)\b", text):
        return None
    return Outcome("shell is yes, and the command has nothing for a shell to do.", changes={"shell": False})


def _unjudged(evidence: StepEvidence, use: Use = Use.REFUSE) -> Outcome | None:
    values, shell = evidence.values, bool(evidence.values["shell"])
    lines = [str(values[name]) for name in _NAMES if words(values[name], shell=shell) is not None]
    found = [reasons(targets_of_line(line, values), use) for line in lines]
    said = list(dict.fromkeys(reason for each in found for reason in each))
    return Outcome(" ".join(said[:3])) if said else None


COMMAND_EMPTY = Check(
    id="command-empty",
    level=Level.ERROR,
    title="There is no command to measure",
    why="This test measures a command of your own, and none is given.",
    remedy="Write the command as you would type it on the host.",
    source="The step's parameters.",
    needs="The command.",
    evaluate=_empty,
)

COMMAND_UNREADABLE = Check(
    id="command-unreadable",
    level=Level.ERROR,
    title="The command cannot be read",
    why="It cannot be told where one word ends and the next begins, so that nothing can be started.",
    remedy="Close the quotation, or write \\' for a plain mark; variables are NAME=VALUE.",
    source="POSIX, Shell Command Language, 2.2 Quoting.",
    needs="The command and its variables.",
    evaluate=_unreadable,
)

COMMAND_NO_FIGURE = Check(
    id="command-no-figure",
    level=Level.ERROR,
    title="The figure cannot be found",
    why="The command would run, and at the end there would be no figure.",
    remedy="Say where the number stands, or choose the wall time.",
    source="The step's parameters.",
    needs="Where the figure is to come from.",
    evaluate=_no_figure,
)

COMMAND_META = Check(
    id="command-shell-signs",
    level=Level.WARNING,
    title="No shell will read the command's signs",
    why="Pipes, redirections, patterns and variables are handed to the program as plain words: it does something else "
    "than on your screen, often nothing at all, and quickly.",
    remedy="Set shell to yes.",
    source="POSIX, Shell Command Language, 2.2 Quoting.",
    needs="The command, and whether a shell reads it.",
    evaluate=_meta,
)

COMMAND_SECRET = Check(
    id="command-secret",
    level=Level.ERROR,
    title="A secret would be stored and shown",
    why="Commands and variables stand in the plan, in each result and report, and in the host's list of processes.",
    remedy="Put the secret into a file on the host that the program reads by itself, and remove it here.",
    source="proc(5): /proc/PID/cmdline.",
    needs="The command and its variables.",
    evaluate=_secret,
)

COMMAND_SHELL_TIMED = Check(
    id="command-shell-timed",
    level=Level.INFO,
    title="The shell's start is timed too",
    why="sh takes about a millisecond to start, which is part of the time of a short command.",
    remedy="Set shell to no.",
    source="Measured for this project: dash 0.5.12, 1.2 ms more than the program alone.",
    needs="The command, and whether a shell reads it.",
    evaluate=_shell_timed,
)

COMMAND_UNJUDGED = Check(
    id="command-unjudged",
    level=Level.ERROR,
    title="What the command writes to cannot be judged",
    why="It could write to any device, and nothing could look first what is on it. It is not started.",
    remedy="Write the path out.",
    source="The command line, and those that prepare and clean up.",
    needs="The commands, where they are dd, fio, tee, cp and others that write, or redirect.",
    evaluate=_unjudged,
)

COMMAND_UNSURE = Check(
    id="command-unsure",
    level=Level.INFO,
    title="Not known what the command writes to",
    why="It starts only where the host’s kernel closes block devices to it, or where the account can write to none.",
    remedy="Write the path out if the host refuses it.",
    source="The command line, and those that prepare and clean up.",
    needs="The commands, where they are dd, fio, tee, cp and others that write, or redirect.",
    evaluate=partial(_unjudged, use=Use.UNSURE),
)

COMMAND_CHECKS: tuple[StepCheck, ...] = (
    COMMAND_EMPTY,
    COMMAND_UNREADABLE,
    COMMAND_NO_FIGURE,
    COMMAND_META,
    COMMAND_SECRET,
    COMMAND_SHELL_TIMED,
    COMMAND_UNJUDGED,
    COMMAND_UNSURE,
)
