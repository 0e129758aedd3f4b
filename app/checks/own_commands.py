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


def own_commands(evidence: StepEvidence) -> tuple[tuple[Recognised, StepEvidence], ...]:
    """Return what a step's own command line does, each as a step of the suite that does the same."""
    if evidence.suite.id != OWN_COMMAND:
        return ()
    text, shell = str(evidence.values["command"]), bool(evidence.values["shell"])
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
        checks = [*step.suite.checks, *(() if found.devices else OF_DIRECTORIES)]
        yield from _as_own(evaluate(checks, step), step)


def _as_own(said: Iterable[Finding | Unsure], step: StepEvidence) -> Iterator[Finding | Unsure]:
    """Yield `said` with whose words they are; what would be changed is the user's own line, and nobody edits that."""
    for word in said:
        if isinstance(word, Unsure):
            yield word
        else:
            yield replace(word, measured=f"Read as {step.suite.tool}: {word.measured}", changes={}, install=None)


def _writes_device(evidence: StepEvidence) -> Outcome | None:
    written = [device for found, _step in own_commands(evidence) for device in found.written]
    return Outcome(f"It writes to {', '.join(dict.fromkeys(written))}.") if written else None


COMMAND_WRITES_DEVICE = Check(
    id="command-writes-device",
    level=Level.ERROR,
    title="The command writes to a raw device",
    why="Everything on it would be lost, and nothing would look first whether anybody uses it. It is not started.",
    remedy="Use the suite fio with its parameter “Raw device”: it asks for the serial number, and looks whether "
    "anybody uses the device.",
    source="The command line.",
    needs="The command, where it is dd, fio or ioping.",
    evaluate=_writes_device,
)
