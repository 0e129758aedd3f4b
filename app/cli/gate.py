"""benchwright gate: fail on a regression against a baseline, for scripts and continuous integration."""

import contextlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import click

from app.centres import CONFIDENCE
from app.cli.common import FAILED, OutputFile, Whole, given_files, json_verb, plain, print_error, print_json, print_note
from app.cli.gate_studies import of_studies
from app.cli.progress import busy_options
from app.cli.prompts import TerminalAsker, agrees, with_asker
from app.cli.runs import measure
from app.comparison.criteria import ComparisonCriteria
from app.comparison.estimates import FEWEST_TRIALS
from app.comparison.gate import ConditionAnswer, GateOutcome, GateResult, answers_of, result_of
from app.comparison.gate_conditions import Condition, GateError, check_same_suite, parse_conditions
from app.comparison.gate_report import gate_junit, gate_lines, gate_markdown, gate_to_json
from app.comparison.sides import refuse_copies
from app.events import State
from app.output import WriteError, make_folder, write_whole
from app.plans.plan import CAP, MAXIMUM_TRIALS, MINIMUM, Plan, Policy, Repetition
from app.plans.plan_names import on_hosts
from app.plans.sequential import look_level
from app.records import RunRecord
from app.runs.control import BusyPolicy
from app.services import Workstation
from app.store.errors import StoreBusyError, StoreFullError, StoreLostError
from remote.errors import RemoteError
from suites.errors import BenchwrightError

log = logging.getLogger(__name__)

UNDECIDED = 3
"""Exit status: the trials show neither a regression nor its absence."""

MOST_RUNS = 3
"""Default budget of runs: one, one that confirms a suspicion, and one more where they disagree."""

_EXIT = {GateOutcome.PASS: 0, GateOutcome.FAIL: FAILED, GateOutcome.UNDECIDED: UNDECIDED}


@click.command()
@click.argument("file", metavar="[PLAN]", required=False, type=click.Path(path_type=Path))
@click.option("--against", required=True, metavar="BASELINE", help="Baseline, run or group of runs to compare with.")
@click.option(
    "--fail-if", "texts", multiple=True, required=True, metavar="CONDITION",
    help='Condition that fails, such as "p99 worse by 5 %" or "latency_p99 > 10 ms"; repeatable.',
)  # fmt: skip
@click.option(
    "--run", "stored", multiple=True, metavar="RUN",
    help="Judge this stored run, or several joined by commas as one side; repeatable, oldest first.",
)  # fmt: skip
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="Run on this host instead; repeatable.")
@click.option(
    "--trials", type=Whole(FEWEST_TRIALS, MAXIMUM_TRIALS), default=CAP, show_default=True,
    help="Most trials of each step in a run.",
)  # fmt: skip
@click.option(
    "--runs", "most", type=Whole(1, 10), default=MOST_RUNS, show_default=True, help="Most runs, as the budget."
)
@click.option("--junit", type=OutputFile(), metavar="FILE", help="Write JUnit XML.")
@click.option("--markdown", type=OutputFile(), metavar="FILE", help="Write a summary for a pull request.")
@with_asker
@agrees
@busy_options
@json_verb("gate")
def gate(
    workstation: Workstation,
    /,
    file: Path | None,
    against: str,
    texts: tuple[str, ...],
    stored: tuple[str, ...],
    hosts: tuple[str, ...],
    trials: int,
    most: int,
    junit: Path | None,
    markdown: Path | None,
    asker: TerminalAsker,
    busy: BusyPolicy,
    *,
    as_json: bool,
) -> None:
    """Run PLAN and fail if it is worse than a baseline.

    With --run fleet:STUDY --against fleet:STUDY, each group is compared with that of the earlier study; its sessions
    are the runs.

    Exit status: 0 all conditions pass, 1 a regression is shown by two runs, 2 invalid input or
    a baseline of other tests, 3 undecided: too few
    trials, a doubtful or invalid result, a run that is not done, or a gate that ended before its outcome.
    """
    if (file is None) == (not stored):
        raise GateError("A gate needs either a plan or stored runs.", "Name a plan file, or add --run RUN.")
    for _, path in given_files({"junit": junit, "markdown": markdown}):
        make_folder(path.parent, "Choose another path.")  # fail before the measurement, not after
    with _undecided_at_an_end(runs := list[str]()):
        found = of_studies(workstation, against, texts, stored)
        if found is None:
            baseline = _usable(workstation.joined_record(against), against)
            if file is None:
                found = _of_stored(workstation, against, baseline, texts, stored)
            else:
                workstation.check_writable()
                plan = workstation.load_plan(file)
                plan = on_hosts(plan, hosts) if hosts else plan
                check_same_suite(plan, baseline.plan, against)
                conditions = parse_conditions(texts, plan.steps)
                gate_runs = _GateRuns(workstation, against, baseline, conditions, trials, runs)
                found = gate_runs.run(plan, most, asker, busy, quiet=as_json)
    _finish(found, junit, markdown, as_json=as_json)


def _finish(found: GateResult, junit: Path | None, markdown: Path | None, *, as_json: bool) -> NoReturn:
    """Print the outcome, write its reports, and exit with its status."""
    if as_json:
        print_json(gate_to_json(found))
    else:
        for line in gate_lines(found):
            click.echo(plain(line))
    written = all([_write(junit, gate_junit(found)), _write(markdown, gate_markdown(found))])
    raise SystemExit(_EXIT[found.outcome] or (0 if written else UNDECIDED))


def _of_stored(
    workstation: Workstation, against: str, baseline: RunRecord, texts: Sequence[str], stored: Sequence[str]
) -> GateResult:
    """Return the outcome of stored runs, oldest first."""
    records = {run: _usable(workstation.joined_record(run), run) for run in stored}
    for record in records.values():
        check_same_suite(record.plan, baseline.plan, against)
    ids = [run for record in records.values() for run in record.summary.ids]
    if len(records) < len(stored) or len(set(ids)) < len(ids):
        raise GateError("--run names the same run twice.", "Name a run once: only another one confirms it.")
    refuse_copies([one for record in records.values() for one in record.parts or (record,)])
    conditions = parse_conditions(texts, next(iter(records.values())).plan.steps)
    answers = [_answers(workstation, against, run, record, conditions, baseline) for run, record in records.items()]
    return result_of(answers, [record.summary.id for record in records.values()], against)


def _write(path: Path | None, text: str) -> bool:
    """Write a report to `path`, if one is given; print the error and return False if it cannot be written."""
    try:
        if path is not None:
            write_whole(path, text.encode())
    except WriteError as error:
        print_error(str(error))
        return False
    return True


@contextlib.contextmanager
def _undecided_at_an_end(runs: Sequence[str]) -> Iterator[None]:
    """Exit with UNDECIDED if the gate ends before its outcome: 1 is a regression, and nothing has shown one.

    An error exits with 2 as long as nothing was measured: `runs` is empty.
    """
    try:
        yield
    except (KeyboardInterrupt, click.Abort):
        print_error("The gate was interrupted.")
        raise SystemExit(UNDECIDED) from None
    except BenchwrightError as error:
        if not runs and not isinstance(error, RemoteError | StoreFullError | StoreLostError | StoreBusyError):
            raise
        print_error(str(error))
        raise SystemExit(UNDECIDED) from None
    except Exception as error:  # a defect of the program is no regression of what it measures
        log.exception("the gate ended")
        print_error(f"Internal error: {type(error).__name__}. The log has the details.")
        raise SystemExit(UNDECIDED) from None


def _usable(baseline: RunRecord, word: str) -> RunRecord:
    if baseline.published is not None:
        raise GateError(f"“{word[:60]}” is a published table without variance.", "Choose a baseline of runs.")
    return baseline


class _GateRuns:
    """The runs of a gate, whose ids it adds to `runs`: the first stops at its verdict, those that confirm it do not."""

    def __init__(
        self,
        workstation: Workstation,
        against: str,
        baseline: RunRecord,
        conditions: Sequence[Condition],
        trials: int,
        runs: list[str],
    ) -> None:
        self._workstation = workstation
        self._against = against
        self._baseline = baseline
        self._conditions = conditions
        self._trials = trials
        self._runs = runs

    def run(self, plan: Plan, most: int, asker: TerminalAsker, busy: BusyPolicy, *, quiet: bool) -> GateResult:
        """Run `plan` until the conditions are settled, at most `most` times."""
        answers: list[Sequence[ConditionAnswer]] = []
        for number in range(most):
            repetition = self._first(plan.repetition) if not number else self._fixed(plan.repetition)
            run, state = measure(self._workstation, replace(plan, repetition=repetition), asker, quiet=quiet, busy=busy)
            self._runs.append(run)
            record = self._workstation.load(run)
            answers.append(_answers(self._workstation, self._against, run, record, self._conditions, self._baseline))
            found = result_of(answers, self._runs, self._against)
            if found.settled or state is not State.DONE:
                break
            if not quiet and number + 1 < most:
                print_note(f"Run {run} leaves conditions open: running fresh trials ({number + 2} of at most {most}).")
        return found

    def _first(self, given: Repetition) -> Repetition:
        """Return the repetition of the first run: until its verdict against a baseline of one session."""
        shares = [one.share for one in self._conditions if one.share is not None]
        if len(self._baseline.summary.ids) > 1 or not shares or min(shares) >= 1:
            return self._fixed(given)
        minimum = min(MINIMUM, self._trials)
        return replace(
            given.one_session, policy=Policy.UNTIL_VERDICT, baseline=self._against, margin=min(shares),
            confidence=CONFIDENCE, minimum=minimum, cap=self._trials,
        )  # fmt: skip

    def _fixed(self, given: Repetition) -> Repetition:
        return replace(given.one_session, policy=Policy.FIXED, trials=self._trials)


def _answers(
    workstation: Workstation,
    against: str,
    word: str,
    record: RunRecord,
    conditions: Sequence[Condition],
    baseline: RunRecord,
) -> tuple[ConditionAnswer, ...]:
    """Return the answers of one stored run, or of a group of runs as one side, which `word` names."""
    for run in record.summary.ids:
        if run in baseline.summary.ids:
            raise GateError(f"The run {run} is part of the baseline.", "Choose another run or baseline.")
    criteria = ComparisonCriteria(tested=frozenset(one.metric for one in conditions))
    comparison = workstation.compare([against, word], criteria)
    states = [one.summary.state for one in record.parts or (record,) if one.summary.state is not State.DONE]
    incomplete = f"{'a' if record.parts else 'the'} run is {states[0]}" if states else ""
    return answers_of(conditions, comparison, incomplete=incomplete, look=_look(record, baseline))


def _look(record: RunRecord, baseline: RunRecord) -> float:
    """Return the confidence level of a goal's interval in a run that stopped at its verdict; 0 for any other."""
    given = record.plan.repetition
    if len(record.summary.ids) > 1:
        return 0.0
    counts = [
        sum(
            1
            for one in each.trials
            if one.state is State.DONE and not one.trial.warm_up and one.trial.step == step.name
        )
        for each in (record, baseline)
        for step in record.plan.steps[:1]
    ]
    if given.policy is not Policy.UNTIL_VERDICT or min(counts) < FEWEST_TRIALS:
        return 0.0
    return look_level(counts[0], counts[1], given.minimum, given.cap, CONFIDENCE)
