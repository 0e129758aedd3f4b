"""command: any command of the user's own as a benchmark, timed, and its own figure read if it prints one."""

import shlex
from collections.abc import Mapping
from dataclasses import replace

from suites.base import Command, Context, Effect, EffectKind, Estimate, Purpose, TrialParser
from suites.checks import StepCheck
from suites.command.checks import COMMAND_CHECKS
from suites.command.output import BEFORE_FAILED, CommandParser
from suites.command.parameters import (
    BEFORE,
    CLEAN_UP,
    COMMAND,
    COMMAND_PARAMETERS,
    PREPARE,
    WALL_TIME,
    figure_metric,
    reads_output,
    words,
)
from suites.command.targets import targets_of_line
from suites.host_files import HostFile
from suites.parameters import Parameter, Tuned, Values
from suites.vocab import Metric, Resource

SCRIPT = "timed.sh"

# perl's clock_gettime needs no process of its own between the command and the clock. Both clocks are monotonic: neither
# goes back nor is set, as that of date is. The status 125 is what env, timeout and others end with if they fail
# themselves.
_TIMED = r"""# sh timed.sh STATUSES LIMIT DIRECTORY COMMAND...: runs the command and says how long it took.
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


class OwnCommand:
    """A command of the user's own. Its figure is what the user says it is."""

    id = "command"
    title = "Your own command"
    summary = "Any program as a benchmark: its time, or the figure it prints. Nothing is closer to your application."
    resource = Resource.APPLICATION
    tool = "command"
    packages: Mapping[str, str] = {}
    parameters: tuple[Parameter, ...] = COMMAND_PARAMETERS
    metrics: tuple[Metric, ...] = (WALL_TIME,)
    needs_peer = False
    directory_parameter: str | None = None
    checks: tuple[StepCheck, ...] = COMMAND_CHECKS

    def needs_tool(self, values: Values) -> bool:
        """Return False: nobody knows which programs the command needs."""
        del values
        return False

    def metrics_of(self, values: Values) -> tuple[Metric, ...]:
        """Return the user's own figure, where there is one, and the wall time."""
        return (figure_metric(values), WALL_TIME) if reads_output(values) else (WALL_TIME,)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return nothing: what is measured is the user's."""
        del context
        return {}

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        """Return the preparation, what runs before each trial, the command under its clock, and the cleaning up."""
        del context
        timed = ("sh", SCRIPT, str(values["accepted"]), f"{values['timeout']:g}", str(values["working_directory"]))
        file = HostFile(SCRIPT, text=_TIMED)
        argv = (*timed, *_environment(values), *_words(values, "command"))
        return (
            *_beside(values, "prepare", Purpose.PREPARE),
            *_before(values),
            Command(argv, files=(file,), targets=targets_of_line(str(values["command"]), values)),
            *_beside(values, "clean_up", Purpose.CLEAN_UP),
        )

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return every command as it is written, with its directory and its environment before it."""
        before = f"cd -- {shlex.quote(str(values['working_directory']))} && " if values["working_directory"] else ""
        before += f"env {values['environment']} " if values["environment"] else ""
        return tuple(
            Effect(EffectKind.EXECUTES, f"{before}{values[parameter.name]}", parameter.title)
            for parameter in (PREPARE, BEFORE, COMMAND, CLEAN_UP)
            if values[parameter.name]
        )

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return nothing known: the time is what is measured, and what is written is the user's own affair."""
        del values, context
        return Estimate(duration=None, written=None, network=None)

    def parser(self, values: Values) -> TrialParser:
        """Return a fresh parser, which looks for the figure where `values` say that it is."""
        return CommandParser(values)


def _words(values: Values, name: str) -> tuple[str, ...]:
    """Return the words of a command; where a quotation is not closed, all of it as one, which is no program."""
    return words(values[name], shell=bool(values["shell"])) or (str(values[name]),)


def _environment(values: Values) -> tuple[str, ...]:
    given = words(values["environment"], shell=False) or ()
    return ("env", *given) if given else ()


def _before(values: Values) -> tuple[Command, ...]:
    """Return the command before each trial, of whose output nothing is seen unless it fails."""
    return tuple(
        replace(command, argv=("sh", "-c", _QUIETLY, "before", *command.argv))
        for command in _beside(values, "before", Purpose.MEASURE)
    )


def _beside(values: Values, name: str, purpose: Purpose) -> tuple[Command, ...]:
    if not values[name]:
        return ()
    argv = (*_environment(values), *_words(values, name))
    directory = str(values["working_directory"])
    if directory:
        argv = ("sh", "-c", f'cd -- {shlex.quote(directory)} && exec "$@"', "command", *argv)
    return (Command(argv, purpose, targets=targets_of_line(str(values[name]), values)),)
