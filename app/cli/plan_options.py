"""Options of plans: repetition and order, tuning, remedies and acknowledgements, presets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import wraps
from typing import Any

import click

from app.cli.common import PERCENT, Number, Whole, json_option, plain, print_json, print_table, report_errors
from app.plans.plan import (
    MAXIMUM_SEED,
    MAXIMUM_TRIALS,
    MINIMUM,
    MOST_PAUSE,
    QUICK_LOOK,
    Order,
    Plan,
    PlanError,
    Policy,
    Repetition,
)
from app.plans.plan_changes import acknowledge, apply_remedies, apply_remedy, changes_text
from app.plans.plan_file import read_repetition
from app.plans.plan_remarks import LONGEST, Acknowledged
from app.plans.presets import Filled, PresetQuestion, filled_preset, preset, presets
from app.plans.presets_json import presets_to_json
from app.plans.tuning import TUNING, Tuning, TuningPlanError, tuning_of
from app.plans.validation import MOST_SESSIONS
from app.services import Workstation
from suites.facts import Facts
from suites.quantities import duration_text
from suites.vocab import Finding, Severity


@dataclass(frozen=True, slots=True)
class RepetitionOptions:
    """Repetition, order and seed from the command line; None where not given. `given`: the fields of the repetition."""

    repetition: Repetition | None
    order: Order | None
    seed: int | None
    given: frozenset[str] = frozenset()

    def of(self, plan: Plan) -> Plan:
        """Return `plan` with the options that were given."""
        drawn = self.seed is not None or self.order is not None
        return replace(
            plan,
            repetition=replace(plan.repetition, **{name: getattr(self.repetition, name) for name in self.given}),
            order=self.order or plan.order,
            seed=self.seed if drawn else plan.seed,
        )


_TRIALS = Whole(MINIMUM, MAXIMUM_TRIALS)

_OPTIONS = (
    click.option(
        "--trials",
        type=Whole(1, MAXIMUM_TRIALS),
        show_default=f"{Repetition().trials}, enough for a 95 % interval",
        help="Fixed number of trials per step.",
    ),
    click.option("--quick", is_flag=True, help="Quick look: one trial per step, without an interval."),
    click.option(
        "--precision", type=PERCENT, metavar="PERCENT", help="Repeat until the median's 95 % interval is within ± this."
    ),
    click.option("--baseline", metavar="NAME", help="Repeat until the verdict against this baseline is settled."),
    click.option("--budget", metavar="TIME", help="Repeat for this total time, as in 20min."),
    click.option(
        "--margin",
        type=PERCENT,
        metavar="PERCENT",
        help="With --baseline: equivalence margin.  [default: that of the metric]",
    ),
    click.option(
        "--confidence", type=click.Choice(["95", "99"]), help="With --baseline: confidence level of the verdict."
    ),
    click.option("--minimum", type=_TRIALS, help="With --precision or --baseline: fewest trials."),
    click.option("--cap", type=_TRIALS, help="With --precision or --baseline: most trials."),
    click.option("--warm-ups", type=Whole(0, MAXIMUM_TRIALS), help="Warm-up trials, excluded from the result."),
    click.option("--sessions", type=Whole(1, MOST_SESSIONS), help="Runs of the plan, spread over time.  [default: 1]"),
    click.option("--every", metavar="TIME", help="With --sessions: time between their starts.  [default: 1d]"),
    click.option("--profile", is_flag=True, help="One more trial of each step under perf, excluded from the result."),
    click.option("--pause", type=Number(0, MOST_PAUSE), metavar="SECONDS", help="Seconds between trials."),
    click.option(
        "--order",
        type=click.Choice([order.value for order in Order]),
        show_default=Order.BLOCK.value,
        help="Order of the trials of several steps; block: step by step; duet: both steps at once, each on half "
        "of the CPUs.",
    ),
    click.option("--seed", type=Whole(0, MAXIMUM_SEED), help="Seed of a random order.  [default: random]"),
)

QUICK_IS = "A quick look is one trial of each step."

_POLICIES = {"precision": Policy.UNTIL_INTERVAL, "baseline": Policy.UNTIL_VERDICT, "budget": Policy.BUDGET}
"""The option that selects each policy; without one, the number of trials is fixed."""


def repeats(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of repetition and order to a command, passed as `options`."""

    @wraps(command)
    @report_errors
    def repeating(*arguments: Any, order: str | None, seed: int | None, **named: Any) -> None:
        given = {name: named.pop(name) for name in _NAMES}
        repetition, fields_given = _repetition(given)
        options = RepetitionOptions(repetition, Order(order) if order else None, seed, fields_given)
        command(*arguments, options=options, **named)

    made: Callable[..., None] = repeating
    for option in reversed(_OPTIONS):
        made = option(made)
    return made


_NAMES = (
    "trials", "quick", "precision", "baseline", "budget", "margin", "confidence", "minimum", "cap", "warm_ups", "pause",
    "sessions", "every", "profile",
)  # fmt: skip


def _repetition(given: dict[str, Any]) -> tuple[Repetition | None, frozenset[str]]:
    """Return the repetition of the options, None without any, and its fields that they set: a preset has the others.

    Raises PlanError for conflicting options.
    """
    set_options = {name: value for name, value in given.items() if value is not None and value is not False}
    if not set_options:
        return None, frozenset()
    if "every" in set_options and set_options.get("sessions", 1) == 1:
        raise PlanError("--every needs --sessions.", "Add --sessions 5, for example.")
    if set_options.pop("quick", False):
        if set_options:
            raise PlanError(f"--quick and --{min(set_options)} exclude each other.".replace("_", "-"), QUICK_IS)
        return QUICK_LOOK, frozenset(each.name for each in fields(QUICK_LOOK))
    policy = next((policy for name, policy in _POLICIES.items() if name in set_options), Policy.FIXED)
    if "confidence" in set_options:
        set_options["confidence"] = float(set_options["confidence"])
    ruled = {"policy"} if "trials" in set_options or policy is not Policy.FIXED else set[str]()
    return read_repetition({"policy": policy.value, **set_options}), frozenset({*set_options, *ruled})


def tunes(command: Callable[..., None]) -> Callable[..., None]:
    """Add the option --tune to a command, passed as `tuning`."""

    @click.option(
        "--tune",
        "changes",  # “settings” is the parameter of --set
        multiple=True,
        metavar="NAME=VALUE",
        help="Change a host setting for the run, as root, and restore it: "
        f"{', '.join(parameter.name for parameter in TUNING)}; as in governor=performance. Repeatable.",
    )
    @wraps(command)
    def tuning(*arguments: Any, changes: tuple[str, ...], **named: Any) -> None:
        command(*arguments, tuning=read_tuning(changes), **named)

    return tuning


def read_tuning(settings: tuple[str, ...]) -> Tuning:
    """Return the tuning of `settings` such as ``drop_caches=yes``; raise TuningPlanError for an unknown name."""
    known = {parameter.name: parameter for parameter in TUNING}
    values = {name: parameter.default for name, parameter in known.items()}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in known:
            raise TuningPlanError(
                f"“{setting[:60]}” is not a tuning setting.", f"Write --tune NAME=VALUE with {', '.join(known)}."
            )
        values[name] = known[name].parse(value)
    return tuning_of(values)


EVERY = "all"

MOST_CHANGES = 50
"""Most remedies that “all” applies."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Ids of findings whose remedies are applied, and acknowledgements of others."""

    apply: tuple[str, ...] = ()
    acknowledge: tuple[str, ...] = ()  # ID=REASON

    def __bool__(self) -> bool:
        """Return whether there is any answer."""
        return bool(self.apply or self.acknowledge)


def answers_findings(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options --apply and --acknowledge to a command, passed as `answers`."""

    @click.option(
        "--apply",
        "remedies",
        multiple=True,
        metavar="ID",
        help="Apply this finding’s remedy; “all”: those of every warning and error. Repeatable.",
    )
    @click.option(
        "--acknowledge",
        "reasons",
        multiple=True,
        metavar="ID=REASON",
        help="Acknowledge this finding; the reason is shown in every report. Repeatable.",
    )
    @wraps(command)
    def answering(*arguments: Any, remedies: tuple[str, ...], reasons: tuple[str, ...], **named: Any) -> None:
        command(*arguments, answers=Answers(remedies, reasons), **named)

    return answering


def _reason(text: str) -> tuple[str, str]:
    finding, _, reason = text.partition("=")
    if not finding.strip() or not reason.strip() or not text.isprintable() or len(text) > LONGEST:
        raise PlanError(
            f"“{text[:60]}” is not ID=REASON.", "Write --acknowledge few-trials='a first look', for example."
        )
    return finding.strip(), reason.strip()


def answered(workstation: Workstation, plan: Plan, facts: Mapping[str, Facts], answers: Answers) -> Plan:
    """Return `plan` with remedies applied and findings acknowledged.

    Raise PlanError for a finding that does not exist, or whose remedy changes no parameter.
    """
    reasons = [_reason(text) for text in answers.acknowledge]
    plan = _applied(workstation, plan, facts, answers.apply)
    findings = workstation.check(plan, facts) if reasons else []
    for finding, reason in reasons:
        plan = acknowledge(plan, findings, Acknowledged(finding, reason))
    return plan


def _applied(workstation: Workstation, plan: Plan, facts: Mapping[str, Facts], wanted: tuple[str, ...]) -> Plan:
    findings = workstation.check(plan, facts) if wanted else []
    plan = apply_remedies(plan, (finding for finding in findings if finding.id in wanted))
    for name in wanted:
        if name != EVERY and not any(found.id == name and found.changes for found in findings):
            raise _no_change(name, findings)
    return _every_remedy(workstation, plan, facts) if EVERY in wanted else plan


def _every_remedy(workstation: Workstation, plan: Plan, facts: Mapping[str, Facts]) -> Plan:
    """Return `plan` with the remedies of all warnings and errors applied one by one, with a new check after each.

    Stop when remedies undo each other (a plan seen before). Notes are not applied: they report no fault.
    """
    seen = {plan.hash()}
    for _ in range(MOST_CHANGES):
        offered = (apply_remedy(plan, found) for found in workstation.check(plan, facts) if _is_fault(found))
        new = next((changed for changed in offered if changed.hash() not in seen), None)
        if new is None:
            break
        plan = new
        seen.add(plan.hash())
    return plan


def _is_fault(finding: Finding) -> bool:
    return bool(finding.changes) and finding.severity is not Severity.INFO


def _no_change(name: str, findings: Sequence[Finding]) -> PlanError:
    if any(found.id == name for found in findings):
        return PlanError(
            f"The remedy of “{name}” cannot be applied automatically.", "Read it with “benchwright check PLAN”."
        )
    offered = ", ".join(dict.fromkeys(found.id for found in findings if found.changes))
    return PlanError(
        f"The plan has no finding “{name[:60]}”.", f"Findings with a remedy to apply: {offered}." if offered else ""
    )


def print_changes(plan: Plan) -> None:
    """Print on standard error what remedies changed."""
    for line in changes_text(plan):
        click.echo(plain(f"Changed: {line}"), err=True)


PEER = "peer"


def answers_of(name: str, given: Sequence[str], peer: str | None) -> dict[str, str]:
    """Return the answers from NAME=VALUE; `peer` answers the preset's question for the other host, if any."""
    answers = {}
    for each in given:
        question, equals, value = each.partition("=")
        if not equals:
            raise PlanError(f"“{each[:60]}” is not NAME=VALUE.", "Write --answer iops=4000, for example.")
        answers[question.strip()] = value
    if peer is not None and any(ask.name == PEER for ask in preset(name).asks):
        answers.setdefault(PEER, peer)
    return answers


def fill_named(name: str, hosts: Sequence[str], answers: Mapping[str, str]) -> Filled:
    """Return the preset with its answers; print what it leaves out and what to do after its run."""
    filled = filled_preset(name, hosts, answers)
    for note in (*filled.left_out, preset(name).after):
        if note:
            click.echo(plain(note), err=True)
    return filled


def hosts_of_plan(made: Plan, peer: str | None) -> list[str]:
    """Return the hosts whose facts tune the plan, without duplicates."""
    peers = [step.peer for step in made.steps if step.peer is not None]
    return list(dict.fromkeys([*made.hosts, *peers, *([peer] if peer else [])]))


@click.command("presets")
@json_option("presets")
@report_errors
def list_presets(*, as_json: bool) -> None:
    """List the presets: duration, question, answers."""
    if as_json:
        print_json(presets_to_json(presets()))
        return
    rows = []
    for each in presets():
        spans = [span for span in (each.minutes, each.quick_minutes) if span is not None]
        duration = "\nquick look ".join(duration_text(span * 60) for span in spans)
        asked = "\n".join(_question_text(ask) for ask in each.asks)
        rows.append([each.name, duration, f"{each.title}\n{each.answers}\n{asked}".strip()])
    print_table(["Preset", "Duration", "Question and answers"], rows)


def _question_text(ask: PresetQuestion) -> str:
    return f"--answer {ask.name}={ask.example}: {ask.label}{' (optional)' if ask.optional else ''}"
