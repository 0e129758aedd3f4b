"""Schedule of trials: a step on a host gets slots until its repetition rule stops."""

import itertools
import random
import statistics
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.events import Decision
from app.plans.plan import Order, Plan, Step, known_headline
from app.plans.repetition import Rule, rule_of
from suites.vocab import Figure, Labels, Metric

StepKey = tuple[str, str]
"""Name of a step, and a host. “Step” below means a step on a host."""

MakeRule = Callable[[StepKey, Metric, Labels], Rule]
"""Returns the rule for one figure of a step."""

MayBegin = Callable[[StepKey], bool]
"""Returns whether a trial of a step may begin now: its hosts are ready and no other trial uses them."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A planned trial: its step, host, number (from 1), whether it is a warm-up, and whether perf profiles it."""

    step: Step
    host: str
    number: int
    warm_up: bool
    profiled: bool = False

    @property
    def key(self) -> StepKey:
        """The step's name and the host."""
        return self.step.name, self.host


@dataclass(frozen=True, slots=True)
class Forecast:
    """Trials done, expected total of trials, and remaining seconds; None if unknown.

    `exact` is False if the number of trials depends on their results.
    """

    done: int
    total: int | None
    seconds: float | None
    exact: bool


@dataclass(frozen=True, slots=True)
class TrialsVerdict:
    """Decision for a step, by the figure that needs the most trials."""

    key: StepKey
    metric: Metric | None
    labels: Labels
    decision: Decision


@dataclass(slots=True)
class _StepState:
    """Progress of a step; times in seconds."""

    step: Step
    host: str
    estimate: float | None
    trials: int = 0
    warm_ups: int = 0
    durations: list[float] = field(default_factory=list)
    spent: float = 0.0
    values: dict[tuple[Metric, Labels], list[float]] = field(default_factory=dict)
    verdict: TrialsVerdict | None = None
    given_up: bool = False
    profiled: bool = False

    @property
    def each(self) -> float | None:
        """Seconds per trial: the mean so far, or the suite's estimate before the first."""
        return sum(self.durations) / len(self.durations) if self.durations else self.estimate


class Schedule:
    """Slots of a plan. Call record_trial() or give_up() for each slot before taking the next from slots().

    Trials that were passed to record_trial() before slots() are skipped.
    """

    def __init__(
        self, plan: Plan, estimates: Mapping[StepKey, float | None] | None = None, make_rule: MakeRule | None = None
    ) -> None:
        """`estimates` are seconds per trial by step; `make_rule` is needed for the policy UNTIL_VERDICT."""
        self._plan = plan
        known = estimates or {}
        self._states = {
            (step.name, host): _StepState(step.on(host), host, known.get((step.name, host)))
            for step in plan.steps
            for host in plan.hosts
        }
        self._make_rule = make_rule
        self._past: set[tuple[StepKey, int, bool]] = set()
        self._done = 0
        self._gaps: list[float] = []
        for key in self._states:
            self._update_verdict(key)

    def slots(self) -> Iterator[Slot]:
        """Yield the slots, each chosen when it is requested, and those of a duet together."""
        for slots in self.slots_where(lambda _key: True):
            yield from slots

    def slots_where(self, may_begin: MayBegin) -> Iterator[tuple[Slot, ...]]:
        """Yield the slots that begin at once: one, or both of a duet; empty while no open step may begin.

        Each is chosen when it is requested. A step that may not begin is skipped, gets its slot later, and does not
        block the others.
        """
        if self._plan.order is Order.DUET:
            yield from self._duets(may_begin)
        else:
            one_by_one = self._block(may_begin) if self._plan.order is Order.BLOCK else self._rounds(may_begin)
            yield from (() if slot is None else (slot,) for slot in one_by_one)

    def estimated(self, key: StepKey, estimate: float | None) -> None:
        """Set the estimated seconds per trial of a step, once its host is reached."""
        self._states[key].estimate = estimate
        self._update_verdict(key)

    def open(self, key: StepKey) -> bool:
        """Return whether the step gets another slot; both steps of a duet do, or neither."""
        if self._plan.order is Order.DUET:
            return all(self._is_open(other) for other in self._states if other[1] == key[1])
        return self._is_open(key)

    def _is_open(self, key: StepKey) -> bool:
        state = self._states[key]
        return not state.given_up and (self._counts(state) or self._awaits_profile(state))

    def _awaits_profile(self, state: _StepState) -> bool:
        return self._plan.repetition.profile and not state.profiled

    def _counts(self, state: _StepState) -> bool:
        """Return whether a step needs another warm-up or trial that counts."""
        if state.warm_ups < self._plan.repetition.warm_ups:
            return True
        most = self._plan.repetition.most
        if most is not None and state.trials >= most:  # the cap holds whatever the rule decides
            return False
        return state.verdict is None or not state.verdict.decision.stop

    def measures(self, host: str) -> bool:
        """Return whether any step on `host` gets another slot."""
        return any(key[1] == host and self.open(key) for key in self._states)

    def over(self) -> bool:
        """Return whether no step gets another slot."""
        return not any(map(self.open, self._states))

    def record_gap(self, seconds: float) -> None:
        """Add the seconds between two trials for reading results and for checks: no pause, no preparation of a step."""
        self._gaps.append(max(0.0, seconds))

    def record_trial(self, slot: Slot, figures: Sequence[Figure], seconds: float, spent: float) -> TrialsVerdict | None:
        """Add the figures of a trial or warm-up; return the decision for its step.

        `seconds` is the runtime of the tool, `spent` that of the whole slot.
        """
        state = self._states[slot.key]
        self._past.add((slot.key, slot.number, slot.warm_up))
        self._done += 1
        if slot.profiled:
            state.profiled = True
            return None
        state.durations.append(seconds)
        state.spent += spent + self._plan.repetition.pause
        if slot.warm_up:
            state.warm_ups += 1
            self._update_verdict(slot.key)
            return None
        state.trials += 1
        for figure in deciding(slot.step, figures):
            state.values.setdefault((figure.metric, figure.labels), []).append(figure.value)
        self._update_verdict(slot.key)
        return state.verdict

    def give_up(self, slot: Slot) -> None:
        """Give the step of a failed slot no further slots."""
        self._done += 1
        self._states[slot.key].given_up = True

    def expected(self, key: StepKey) -> float | None:
        """Return the expected seconds per trial of a step, None if unknown."""
        return self._states[key].each

    def forecast(self, unreached: Collection[StepKey] = ()) -> Forecast:
        """Return the trials done and the forecast of the rest; steps on `unreached` hosts end at their first slot."""
        remaining = [(1, 0.0) if key in unreached else self._remaining(key) for key in self._states if self.open(key)]
        trials = [trials for trials, _ in remaining]
        seconds = [seconds for _, seconds in remaining]
        total = None if None in trials else self._done + sum(count or 0 for count in trials)
        time = None if None in seconds else sum(each or 0.0 for each in seconds) / self._at_once
        return Forecast(self._done, total, time, self._plan.repetition.most == self._plan.repetition.fewest)

    def _remaining(self, key: StepKey) -> tuple[int | None, float | None]:
        """Return the remaining trials and seconds of a step, None if unknown."""
        state, repetition = self._states[key], self._plan.repetition
        warm_ups = repetition.warm_ups - state.warm_ups
        more = None if state.verdict is None else state.verdict.decision.more
        if more is None:
            return None, None
        each, gap = state.each, statistics.median(self._gaps) if self._gaps else 0.0
        counted = self._counts(state)
        trials = warm_ups + max(1 if counted and not warm_ups else 0, more) + self._awaits_profile(state)
        return trials, None if each is None else trials * (each + repetition.pause + gap)

    def _update_verdict(self, key: StepKey) -> None:
        state = self._states[key]
        keys: list[tuple[Metric | None, Labels]] = [*state.values] or [(known_headline(state.step), ())]
        found = []
        for metric, labels in keys:
            if metric is None or self._make_rule is None:
                rule = rule_of(self._plan.repetition, len(self._states) // self._at_once)
            else:
                rule = self._make_rule(key, metric, labels)
            values = state.values.get((metric, labels), []) if metric is not None else []
            found.append(TrialsVerdict(key, metric, labels, rule.decide(values, state.spent, state.each)))
        state.verdict = max(found, key=_urgency)

    @property
    def _at_once(self) -> int:
        """The number of trials that run at the same moment."""
        return 2 if self._plan.order is Order.DUET else 1

    # Orders

    def _duets(self, may_begin: MayBegin) -> Iterator[tuple[Slot, ...]]:
        """Yield both slots of each duet: of one host after the other, warm-ups first, under one number."""
        while not self.over():
            host = next(
                (host for name, host in self._states if self.open((name, host)) and may_begin((name, host))), ""
            )
            keys = [key for key in self._states if key[1] == host]
            yield tuple(map(self.next_slot, keys))

    def _block(self, may_begin: MayBegin) -> Iterator[Slot | None]:
        while not self.over():
            key = next((key for key in self._states if self.open(key) and may_begin(key)), None)
            yield None if key is None else self.next_slot(key)

    def next_slot(self, key: StepKey) -> Slot:
        """Return the first slot of a step that has not run, warm-ups first, the profiled trial last.

        In a duet, that is under a number that neither of its steps has had.
        """
        duet = self._plan.order is Order.DUET
        together = [other for other in self._states if other == key or (duet and other[1] == key[1])]
        state, warm_ups = self._states[key], self._plan.repetition.warm_ups
        if not self._counts(state):
            return Slot(state.step, state.host, warm_ups + 1, warm_up=True, profiled=True)
        warm_up = any(self._states[other].warm_ups < warm_ups for other in together)
        numbers = itertools.count(1)
        number = next(n for n in numbers if all((other, n, warm_up) not in self._past for other in together))
        return Slot(state.step, state.host, number, warm_up)

    def _rounds(self, may_begin: MayBegin) -> Iterator[Slot | None]:
        for number in range(1, self._plan.repetition.warm_ups + 1):
            yield from self._round(number, list(self._states), may_begin, warm_up=True)
        number, orders = 0, self._orders()
        while not self.over():
            if any(self.open(key) and may_begin(key) for key in self._states):
                number += 1
                yield from self._round(number, next(orders), may_begin, warm_up=False)
            else:
                yield None

    def _round(self, number: int, keys: Iterable[StepKey], may_begin: MayBegin, *, warm_up: bool) -> Iterator[Slot]:
        """Yield the slots of one round. A step skipped in an earlier round gets its own next number."""
        for key in keys:
            if (key, number, warm_up) not in self._past and self.open(key) and may_begin(key):
                yield self.next_slot(key)

    def _orders(self) -> Iterator[list[StepKey]]:
        """Yield the order of each round, endlessly; reproducible by the plan's seed."""
        keys, order = list(self._states), self._plan.order
        shuffler = random.Random(self._plan.seed or 0)  # noqa: S311 (an order, not a secret)
        while True:
            if order.drawn:
                shuffler.shuffle(keys)
            yield list(keys)
            if order is Order.ABBA:
                yield keys[::-1]


def deciding(step: Step, figures: Sequence[Figure]) -> list[Figure]:
    """Return the figures of the headline metric, or of the first metric measured if that is missing."""
    headline = known_headline(step)
    name = headline.name if headline is not None else ""
    if figures and not any(figure.metric.name == name for figure in figures):
        name = figures[0].metric.name
    return [figure for figure in figures if figure.metric.name == name]


def _urgency(verdict: TrialsVerdict) -> tuple[bool, bool, float]:
    """Return the sort key of urgency: continuing above stopped, unsettled above settled, then remaining trials."""
    decision = verdict.decision
    return not decision.stop, not decision.settled, float("inf") if decision.more is None else decision.more
