"""The user's own command, judged as the suite would be that does the same: a dd is a dd, whoever types it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from app.checks.clouds import CLOUD_CHECKS
from app.checks.directories import NOT_A_DISK
from app.checks.disks import LAYER_CHECKS
from app.checks.report import Unsure, evaluate
from suites.base import complete_values
from suites.checks import Check, Outcome, StepEvidence
from suites.command.lines import Recognised, recognised
from suites.errors import BenchwrightError
from suites.parameters import Parameter
from suites.registry import suite
from suites.vocab import Finding, Level

OWN_COMMAND = "command"
"""The suite whose steps are commands of the user's own."""

OF_DIRECTORIES = (NOT_A_DISK, *LAYER_CHECKS, *CLOUD_CHECKS)


NOT_OF_OWN = frozenset({"read-after-write", "created-once"})
"""What is true of the files that a suite makes for itself, and not known of the user's own."""

COMMAND = "command"
LINES = (COMMAND, "prepare", "before", "clean_up")
"""The parameters of such a step that are commands."""


def own_commands(evidence: StepEvidence, line: str = COMMAND) -> tuple[tuple[Recognised, StepEvidence], ...]:
    """Return what a step's own command line does, or another `line` of it, each as a step of the suite that does so."""
    if evidence.suite.id != OWN_COMMAND:
        return ()
    text, shell = str(evidence.values[line]), bool(evidence.values["shell"])
    found = recognised(text, shell=shell, parameters=_parameters)
    return tuple((each, _as_step(evidence, each)) for each in found)


def _parameters(suite_id: str) -> tuple[Parameter, ...]:
    return suite(suite_id).parameters


def _as_step(evidence: StepEvidence, found: Recognised) -> StepEvidence:
    chosen = suite(found.suite_id)
    try:
        values = complete_values(chosen, found.given)
    except BenchwrightError:  # a combination that the suite would refuse: its defaults are judged
        values = complete_values(chosen, {})
    return replace(evidence, suite=chosen, values=values, earlier=())


def say_own(evidence: StepEvidence) -> Iterator[Finding | Unsure]:
    """Yield what the checks of the suites that it uses say of a step's own command."""
    for found, step in own_commands(evidence):
        if not found.whole:
            continue
        asked = [*step.suite.checks, *(() if found.devices else OF_DIRECTORIES)]
        checks = [check for check in asked if check.id not in NOT_OF_OWN]
        yield from _as_own(evaluate(checks, step), step)


def _as_own(said: Iterable[Finding | Unsure], step: StepEvidence) -> Iterator[Finding | Unsure]:
    """Yield `said` with whose words they are; what would be changed is the user's own line, and nobody edits that."""
    for word in said:
        if isinstance(word, Unsure):
            yield word
        else:
            yield replace(word, measured=f"Read as {step.suite.tool}: {word.measured}", changes={}, install=None)


def _writes_device(evidence: StepEvidence) -> Outcome | None:
    said = []
    for line in LINES:
        written = [device for found, _step in own_commands(evidence, line) for device in found.written]
        if written:
            who = "It" if line == COMMAND else f"Its {line}"
            said.append(f"{who} writes to {', '.join(dict.fromkeys(written))}.")
    return Outcome(" ".join(said)) if said else None


def _endless(evidence: StepEvidence) -> Outcome | None:
    for found, step in own_commands(evidence):
        if found.endless:
            return Outcome(f"Read as {step.suite.tool}: it goes on {found.endless}.")
    return None


COMMAND_WRITES_DEVICE = Check(
    id="command-writes-device",
    level=Level.ERROR,
    title="The command writes to a raw device",
    why="Everything on it would be lost, and nothing would look first whether anybody uses it. It is not started.",
    remedy="Use the suite fio with its parameter “Raw device”: it asks for the serial number, and looks whether "
    "anybody uses the device.",
    source="The command line, and those that prepare and clean up.",
    needs="The commands, where they are dd, fio or ioping, make a file system or swap, wipe, copy or redirect.",
    evaluate=_writes_device,
)

COMMAND_ENDLESS = Check(
    id="command-endless",
    level=Level.WARNING,
    title="The command does not end by itself",
    why="The trial continues until it is stopped or the disk is full; a stopped trial has no figure.",
    remedy="Give it how much or for how long: count= for dd, --time for sysbench, -t for iperf3, -c for ioping.",
    source="dd(1), count; sysbench --help, time and events; iperf3(1), time; ioping(1), count.",
    needs="The command, where it is dd, sysbench, iperf3 or ioping.",
    evaluate=_endless,
)
