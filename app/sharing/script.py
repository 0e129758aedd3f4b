"""Shell script that repeats the commands of a run by hand, without Benchwright."""

import base64
import shlex
from collections.abc import Iterator, Sequence

from app.plans.plan import host_label
from app.records import RunRecord
from app.runs.delivery import content_of
from suites.base import Command, Purpose, directories_of
from suites.errors import BenchwrightError
from suites.host_files import HostFile

_NO_DIRECTORY = '"${TMPDIR:-/tmp}"'
"""Where a test runs that uses no disk."""

_HEAD = """\
set -eu
trials=${TRIALS:-%d}
[ "$trials" -ge 1 ] 2>/dev/null || { echo "TRIALS is to be a whole number of at least 1, not '$trials'." >&2; exit 2; }
directory=
servers=
stop() {
for server in $servers; do kill "$server" 2>/dev/null && wait "$server" || true; done
servers=
}
trap 'stop; rm -rf "$directory"' EXIT
trap 'exit 1' HUP INT TERM  # in dash, a signal alone runs no trap of EXIT
enter() {
cd "$1"
rm -rf "$directory"
directory=$(mktemp -d "$PWD/benchwright-XXXXXX")
cd "$directory"
}
"""


def script_text(record: RunRecord) -> str:
    """Return the commands of the first trial of each step as a POSIX shell script, repeated as often as it was planned.

    Commands of a peer are comments: they run on another host. Files that this computer copied or built are required
    beside the script's commands unless their content is known. A step without a stored command is named when it runs.

    Raises BenchwrightError if no step has a command.
    """
    summary = record.summary
    known = [one.trial for one in record.trials if one.trial.commands]
    trials = {step.name: next((one for one in known if one.step == step.name), None) for step in record.plan.steps}
    if not any(trials.values()):
        reason = "the imported output states none" if record.read_from is not None else "no trial was started"
        raise BenchwrightError(
            f"No command is stored for {', '.join(trials)}: {reason}.",
            "Choose a run with commands (benchwright show RUN).",
        )
    lines = [
        "#!/bin/sh",
        f"# {_line(record.plan.name)}: run {summary.id}, on {_line(', '.join(map(host_label, record.plan.hosts)))}",
        "# shellcheck disable=SC2016  # words of commands are literal",
        "# Measures the same by hand; set TRIALS for another number of trials. Read it before you run it.",
        _HEAD % record.plan.repetition.trials,
    ]
    for step in record.plan.steps:
        trial = trials[step.name]
        if trial is None:
            missing = shlex.quote(f"Not repeated: {_line(step.name)}: no command is stored for it.")
            lines += [f"# {_line(step.name)}", f"echo {missing} >&2", ""]
        else:
            version = f" ({_line(trial.tool_version)})" if trial.tool_version else ""
            where = next(iter(directories_of(step.suite, step.on(trial.host).whole_values())), "")
            lines += [f"# {_line(step.name)}{version}", f"enter {shlex.quote(where) if where else _NO_DIRECTORY}"]
            lines += [*_step(trial.commands), ""]
    return "\n".join(lines).rstrip() + "\n"


def _step(commands: Sequence[Command]) -> Iterator[str]:
    """Yield the lines of a step. A server may end with its client: it is started before each trial, on a peer again."""
    own = [command for command in commands if not command.on_peer]
    on_peer = [command for command in commands if command.on_peer]
    for file in dict.fromkeys(file for command in own for file in command.files):
        yield from _file(file)
    for command in on_peer:
        line = _line(command.line)
        again = f"while sleep 0.2; do {line}; done" if command.purpose is Purpose.SERVE else line
        yield f"# On the peer, first: {again}"
    yield from (command.line for command in own if command.purpose is Purpose.PREPARE)
    servers = [command for command in own if command.purpose is Purpose.SERVE]
    measuring = [command.line for command in own if command.purpose is Purpose.MEASURE]
    if measuring:
        yield "trial=1"
        yield 'while [ "$trial" -le "$trials" ]; do'
        for command in servers:
            yield f'{command.line} &\nservers="$servers $!"'
        yield from ["sleep 1"] if servers or on_peer else []
        yield from measuring
        yield from ["stop"] if servers else []
        yield "trial=$((trial + 1))"
        yield "done"
    yield from (command.line for command in own if command.purpose is Purpose.CLEAN_UP)


def _file(file: HostFile) -> Iterator[str]:
    """Yield the lines that write a file, or that stop without one whose content is on another computer."""
    name = shlex.quote(f"./{file.name}")
    if file.text or file.resource:
        yield f"base64 -d > {name} <<'END'"
        yield base64.encodebytes(content_of(file)).decode().rstrip()
        yield "END"
    else:
        source = file.local or (file.build.sources[0] if file.build is not None else "")
        message = shlex.quote(f"Missing {file.name}: {_line(source)} was copied or built by Benchwright.")
        yield f"[ -e {name} ] || {{ echo {message} >&2; exit 1; }}"
    if file.executable:
        yield f"chmod +x {name}"


def _line(text: str) -> str:
    """Return `text` as one line, for a comment."""
    return " ".join(text.split())
