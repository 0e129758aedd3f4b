"""command: any command of the user as a benchmark, timed, with an optional figure from its output."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace

from suites.base import (
    Command,
    Context,
    Effect,
    EffectKind,
    Estimate,
    ParametersOf,
    Purpose,
    Recognised,
    Suite,
    TestedTool,
)
from suites.command.checks import COMMAND_CHECKS
from suites.command.known_programs import KNOWN_PROGRAMS
from suites.command.output import BEFORE_FAILED, CommandParser
from suites.command.parameters import (
    BEFORE,
    CLEAN_UP,
    COMMAND,
    COMMAND_PARAMETERS,
    PREPARE,
    WALL_TIME,
    figure_metric,
    labels_of,
    reads_output,
    scanned,
    words,
)
from suites.command.program_rules import starts
from suites.command.recognition import recognised, simple_commands
from suites.command.targets import targets_of_line
from suites.command_line import ParsedCommand, UnreadWord, lines_of, without_prompts
from suites.errors import ParameterError
from suites.facts import Facts
from suites.host_files import HostFile
from suites.outputs import TrialParser
from suites.parameters import Value, Values
from suites.programs import Program, bundled
from suites.vocab import Labels, Metric, Resource

SCRIPT = "timed.sh"

# perl's clock_gettime needs no extra process between the command and the clock. Both clocks are monotonic, unlike date,
# so time adjustments do not affect them. The status 125 is what env, timeout and others return if they fail themselves.
_TIMED = r"""# sh timed.sh [-v VALUE] STATUSES LIMIT DIRECTORY COMMAND...: runs the command and prints its wall time.
if [ "$1" = -v ]; then # of a scan
    printf '\nbenchwright-value %s\n' "$2"
    printf '\nbenchwright-value %s\n' "$2" >&2
    shift 2
fi
export LC_ALL=C # as in every test: in other locales sort and grep take several times as long
accepted=$1 limit=$2
cd -- "${3:-.}" || exit 125
shift 3
[ "$limit" = 0 ] || set -- timeout -k 5 "$limit" "$@"
if perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e 1 2>/dev/null; then
    perl -MTime::HiRes=clock_gettime,CLOCK_MONOTONIC -e '
        my $words = shift;
        my $from = clock_gettime(CLOCK_MONOTONIC);
        my $state = system { $ARGV[0] } @ARGV;
        my $took = clock_gettime(CLOCK_MONOTONIC) - $from;
        my $status = $state == -1 ? 127 : $state & 127 ? 128 + ($state & 127) : $state >> 8;
        print STDERR "$ARGV[0]: $!\n" if $state == -1;
        my $well = grep { $_ == $status } split " ", $words;
        printf STDERR "\nbenchwright-timed %.6f s, status %d, resolution 0.000001 s, %s\n",
            $took, $status, $well ? "accepted" : "not accepted";
        exit($well ? 0 : $status || 1);
    ' "$accepted" "$@"
    exit
fi
read -r from _ </proc/uptime
"$@"
status=$?
read -r to _ </proc/uptime
took=$((${to%.*}${to#*.} - ${from%.*}${from#*.}))
case " $accepted " in
*" $status "*) well=accepted end=0 ;;
*) well="not accepted" end=$status ;;
esac
printf '\nbenchwright-timed %d.%02d s, status %d, resolution 0.01 s, %s\n' \
    $((took / 100)) $((took % 100)) "$status" "$well" >&2
[ "$well" = accepted ] || [ "$end" != 0 ] || end=1
exit "$end"
"""


_QUIETLY = (
    f'"$@" >before.log 2>&1 || {{ status=$?; tail -n 5 before.log; printf "%s\\n" "{BEFORE_FAILED}"; exit "$status"; }}'
)


class UserCommand(Suite):
    """A command of the user. Its figure is user-defined."""

    id = "command"
    title = "Your own command"
    summary = "Any program as a benchmark: its wall time, or the figure it prints."
    resource = Resource.APPLICATION
    tried = TestedTool(
        "any program of your own; its clock run for real with perl 5.36 and without",
        note="the wall time, or the figure that it prints",
    )
    program = bundled("command")
    other_programs = KNOWN_PROGRAMS
    parameters = COMMAND_PARAMETERS
    metrics = (WALL_TIME,)
    checks = COMMAND_CHECKS
    needs_input = True

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return the programs that the commands start, as far as their packages are known."""
        lines = (str(values[name]) for name in ("command", "prepare", "before"))
        started = [simple.texts for line in lines for simple in simple_commands(line, by_shell=bool(values["shell"]))]
        names = {words[at] for words in started for found in starts(words) for at in found}
        return tuple(program for program in KNOWN_PROGRAMS if names & set(program.names))

    def metrics_of(self, values: Values) -> tuple[Metric, ...]:
        """Return the user's figure, if any, and the wall time."""
        return (figure_metric(values), WALL_TIME) if reads_output(values) else (WALL_TIME,)

    def recognised(self, values: Values, parameters: ParametersOf) -> tuple[Recognised, ...]:
        """Return the command as equivalent steps of other suites; not for a scan, whose figures are of several."""
        if values["scan"]:
            return ()
        return recognised(str(values["command"]), shell=bool(values["shell"]), parameters=parameters)

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the preparation, the command before each trial, the timed command, and the clean-up."""
        timed = (command for name, each in scanned(values).items() for command in _timed(name, each))
        return (
            *_untimed(values, "prepare", Purpose.PREPARE),
            *timed,
            *_untimed(values, "clean_up", Purpose.CLEAN_UP),
        )

    def parse_command(self, text: str, values: Values, context: Context) -> ParsedCommand | None:
        """Return the values of the timed line, or of any other line as the command."""
        try:
            lines = lines_of(text)
            timed = next((line for line in lines if line[:2] == ["sh", SCRIPT]), None)
            if timed is not None and timed[2:3] == ["-v"]:
                return self._parse_scan(lines, values, context)
            given = _own_line(without_prompts(text), lines) if timed is None else _timed_values(timed[2:])
        except (ValueError, ParameterError) as error:
            return ParsedCommand(values, (UnreadWord("", str(error)),))
        if words(values["command"], shell=bool(values["shell"])) == _argv({**values, **given}, "command"):
            given.pop(COMMAND.name, None)  # as typed
        return ParsedCommand({**values, **given})

    def _parse_scan(self, lines: Sequence[Sequence[str]], values: Values, context: Context) -> ParsedCommand:
        """Return `values` if the timed lines are theirs; otherwise the lines cannot be read back as one command."""
        own = [list(command.argv) for command in self.commands(values, context)]
        if [line for line in lines if line[:2] == ["sh", SCRIPT]] == [
            line for line in own if line[:2] == ["sh", SCRIPT]
        ]:
            return ParsedCommand(values)
        return ParsedCommand(values, (UnreadWord("-v", "These are the lines of a scan: change its command instead."),))

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return every command, that of each value of a scan, preceded by its directory and environment."""
        effects = (
            Effect(EffectKind.EXECUTES, _shown(each, parameter.name), parameter.title)
            for each in scanned(values).values()
            for parameter in (PREPARE, BEFORE, COMMAND, CLEAN_UP)
            if each[parameter.name]
        )
        return tuple(dict.fromkeys(effects))

    def timed_commands(self, values: Values) -> Mapping[Labels, str]:
        """Return the command, or that of each value of the scan."""
        return {labels_of(name): str(each["command"]) for name, each in scanned(values).items()}

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return an unknown estimate: neither time nor writes of the command are known."""
        return Estimate(duration=None, written=None, network=None)

    def parser(self, values: Values) -> TrialParser:
        """Return a new parser, with the source of the figure in `values`."""
        return CommandParser(values)


def _timed_values(given: Sequence[str]) -> dict[str, Value]:
    """Return the values of the arguments of the timing script, if it has a command."""
    accepted, timeout, directory, *line = given if len(given) > 3 else ("0", "0", "")
    if not line:
        return {}
    end = next((at for at, word in enumerate(line[1:], 1) if "=" not in word), 0) if line[0] == "env" else 0
    environment, command = line[1:end], line[end:]
    of_shell = command[:2] == ["sh", "-c"] and len(command) > 2
    texts = {"accepted": accepted, "timeout": timeout, "working_directory": directory,
             "environment": shlex.join(environment), "command": command[2] if of_shell else shlex.join(command),
             "shell": "yes" if of_shell else "no"}  # fmt: skip
    return {known.name: known.parse(texts[known.name]) for known in COMMAND_PARAMETERS if known.name in texts}


def _own_line(text: str, lines: Sequence[Sequence[str]]) -> dict[str, Value]:
    """Return a line as the command; run by a shell if it consists of more than words. Raises ValueError for several."""
    line = text.strip()
    if "\n" in line:
        raise ValueError("Several lines: write one, with “;” or “&&” between the commands.")
    plain = len(lines) == 1 and shlex.split(line) == list(lines[0])
    return {"command": COMMAND.parse(line), "shell": not plain}


def _argv(values: Values, name: str) -> tuple[str, ...]:
    """Return the words of a command; with an unclosed quotation, all of it as one word, which is no program."""
    return words(values[name], shell=bool(values["shell"])) or (str(values[name]),)


def _environment(values: Values) -> tuple[str, ...]:
    given = words(values["environment"], shell=False) or ()
    return ("env", *given) if given else ()


def _timed(name: str, values: Values) -> tuple[Command, ...]:
    """Return the command before a trial and the timed one; `name` is the value of a scan, if there is one."""
    value = ("-v", name) if name else ()
    how = (str(values["accepted"]), f"{values['timeout']:g}", str(values["working_directory"]))
    argv = ("sh", SCRIPT, *value, *how, *_environment(values), *_argv(values, "command"))
    file = HostFile(SCRIPT, text=_TIMED)
    return (*_before(values), Command(argv, files=(file,), targets=targets_of_line(str(values["command"]), values)))


def _before(values: Values) -> tuple[Command, ...]:
    """Return the command before each trial, whose output is discarded unless it fails."""
    return tuple(
        replace(command, argv=("sh", "-c", _QUIETLY, "before", *command.argv))
        for command in _untimed(values, "before", Purpose.MEASURE)
    )


def _untimed(values: Values, name: str, purpose: Purpose) -> tuple[Command, ...]:
    if not values[name]:
        return ()
    argv = (*_environment(values), *_argv(values, name))
    directory = str(values["working_directory"])
    if directory:
        argv = ("sh", "-c", f'cd -- {shlex.quote(directory)} && exec "$@"', "command", *argv)
    return (Command(argv, purpose, targets=targets_of_line(str(values[name]), values)),)


def _shown(values: Values, name: str) -> str:
    """Return a command as it runs: after its directory and environment, where a shell's own is one word."""
    place, text = _place(values), str(values[name])
    return f"{place}{shlex.join(_argv(values, name)) if place and values['shell'] else text}"


def _place(values: Values) -> str:
    """Return what precedes a command: its directory and environment."""
    before = f"cd -- {shlex.quote(str(values['working_directory']))} && " if values["working_directory"] else ""
    return f"{before}env {values['environment']} " if values["environment"] else before
