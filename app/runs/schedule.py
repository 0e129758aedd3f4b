"""Which trial comes next, fed with what was measured: a place gets turns until its rule has seen enough."""

import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.plans.plan import Order, Plan, Step
from app.plans.repetition import Decision, Rule, rule_of
from suites.errors import UnknownSuiteError
from suites.vocab import Figure, Labels, Metric

PlaceKey = tuple[str, str]
"""The step's name and the host: what shares a private directory and a preparation."""

MakeRule = Callable[[PlaceKey, Metric, Labels], Rule]
"""Makes the rule for one figure of a place."""

MayBegin = Callable[[PlaceKey], bool]
"""Whether a trial may begin at a place now: its hosts are there, and nothing else of the run is under way on them."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One trial to come: its step, host, number (from 1), and whether it is a warm-up."""

    step: Step
    host: str
    number: int
    warm_up: bool

    @property
    def place(self) -> PlaceKey:
        """The step's name and the host."""
        return self.step.name, self.host


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is done and what is still to come: trials and seconds, each None where it cannot be known.

    `exact` is False where the trials depend on what they show, so that the total is a forecast.
    """

    done: int
    total: int | None
    seconds: float | None
    exact: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """What the trials of a place say about going on; the figure is the one that needs most."""

    place: PlaceKey
    metric: Metric | None
    labels: Labels
    decision: Decision


@dataclass(slots=True)
class _Standing:
    """How a place stands."""

    step: Step
    host: str
    estimate: float | None
    trials: int = 0
    warm_ups: int = 0
    took: list[float] = field(default_factory=list)
    spent: float = 0.0
    values: dict[tuple[Metric, Labels], list[float]] = field(default_factory=dict)
    judged: Judged | None = None
    given_up: bool = False

    @property
    def each(self) -> float | None:
        """The seconds a trial takes: the mean so far, or the suite's estimate before the first."""
        return sum(self.took) / len(self.took) if self.took else self.estimate


class Schedule:
    """The turns of a plan. Take them from turns(), and tell took() or give_up() before taking the next.

    What a run has done already is told by took() before turns(); those trials are then passed over.
    """

    def __init__(
        self, plan: Plan, estimates: Mapping[PlaceKey, float | None] | None = None, make_rule: MakeRule | None = None
    ) -> None:
        """Begin. `estimates` are the seconds of a trial by place; `make_rule` is needed where a baseline decides."""
        self._plan = plan
        known = estimates or {}
        self._standings = {
            (step.name, host): _Standing(step, host, known.get((step.name, host)))
            for step in plan.steps
            for host in plan.hosts
        }
        self._make_rule = make_rule or self._plain_rule
        self._past: set[tuple[PlaceKey, int, bool]] = set()
        self._done = 0
        for place in self._standings:
            self._judge(place)

    def turns(self) -> Iterator[Turn]:
        """Yield one turn after another, each chosen when it is asked for."""
        yield from (turn for turn in self.turns_where(lambda _place: True) if turn is not None)

    def turns_where(self, may_begin: MayBegin) -> Iterator[Turn | None]:
        """Yield one turn after another, each chosen when it is asked for; None while no open place may begin.

        A place that may not begin is passed over: it gets its turn once it may, and keeps no other waiting.
        """
        yield from self._block(may_begin) if self._plan.order is Order.BLOCK else self._rounds(may_begin)

    def estimated(self, place: PlaceKey, estimate: float | None) -> None:
        """Take the seconds of a trial at a place, which are known only once its host was reached."""
        self._standings[place].estimate = estimate

    def open(self, place: PlaceKey) -> bool:
        """Return whether the place gets another turn."""
        standing = self._standings[place]
        if standing.given_up:
            return False
        if standing.warm_ups < self._plan.repetition.warm_ups:
            return True
        most = self._plan.repetition.most
        if most is not None and standing.trials >= most:  # whatever the figures are: a run has to end
            return False
        return standing.judged is None or not standing.judged.decision.stop

    def measures(self, host: str) -> bool:
        """Return whether any place on `host` gets another turn."""
        return any(place[1] == host and self.open(place) for place in self._standings)

    def over(self) -> bool:
        """Return whether no place gets another turn."""
        return not any(map(self.open, self._standings))

    def took(self, turn: Turn, figures: Sequence[Figure], seconds: float, spent: float) -> Judged | None:
        """Take the figures of a trial that counts, or of a warm-up; return what they say about going on.

        `seconds` is how long the tool ran, `spent` how long the turn took as a whole.
        """
        standing = self._standings[turn.place]
        self._past.add((turn.place, turn.number, turn.warm_up))
        self._done += 1
        standing.took.append(seconds)
        standing.spent += spent + self._plan.repetition.pause
        if turn.warm_up:
            standing.warm_ups += 1
            self._judge(turn.place)
            return None
        standing.trials += 1
        for figure in deciding(turn.step, figures):
            standing.values.setdefault((figure.metric, figure.labels), []).append(figure.value)
        self._judge(turn.place)
        return standing.judged

    def give_up(self, turn: Turn) -> None:
        """Give the place of a turn that failed no other."""
        self._done += 1
        self._standings[turn.place].given_up = True

    def expected(self, place: PlaceKey) -> float | None:
        """Return the seconds that a trial takes there, None where it cannot be known."""
        return self._standings[place].each

    def ahead(self) -> Ahead:
        """Return what is done, and what is still to come."""
        left = [self._left(place) for place in self._standings if self.open(place)]
        trials = [trials for trials, _ in left]
        seconds = [seconds for _, seconds in left]
        total = None if None in trials else self._done + sum(count or 0 for count in trials)
        time = None if None in seconds else sum(each or 0.0 for each in seconds)
        return Ahead(self._done, total, time, self._plan.repetition.most == self._plan.repetition.fewest)

    def _left(self, place: PlaceKey) -> tuple[int | None, float | None]:
        """Return the trials and seconds that a place still takes, as far as they are known."""
        standing, repetition = self._standings[place], self._plan.repetition
        warm_ups = repetition.warm_ups - standing.warm_ups
        more = None if standing.judged is None else standing.judged.decision.more
        if more is None:
            return None, None
        each = standing.each
        trials = warm_ups + max(1 if not warm_ups else 0, more)
        return trials, None if each is None else trials * (each + repetition.pause)

    def _judge(self, place: PlaceKey) -> None:
        standing = self._standings[place]
        keys: list[tuple[Metric | None, Labels]] = [*standing.values] or [(_leading(standing.step), ())]
        found = []
        for metric, labels in keys:
            rule = self._make_rule(place, metric, labels) if metric is not None else self._plain_rule(place, None, ())
            values = standing.values.get((metric, labels), []) if metric is not None else []
            found.append(Judged(place, metric, labels, rule.decide(values, standing.spent, standing.each)))
        standing.judged = max(found, key=_urgency)

    def _plain_rule(self, _place: PlaceKey, _metric: Metric | None, _labels: Labels) -> Rule:
        return rule_of(self._plan.repetition, len(self._standings))

    # Orders

    def _block(self, may_begin: MayBegin) -> Iterator[Turn | None]:
        while not self.over():
            place = next((place for place in self._standings if self.open(place) and may_begin(place)), None)
            yield None if place is None else self._next(place)

    def _next(self, place: PlaceKey) -> Turn:
        """Return the first turn of a place that was not made yet, its warm-ups before the others."""
        standing = self._standings[place]
        warm_up = standing.warm_ups < self._plan.repetition.warm_ups
        numbers = itertools.count(1)
        number = next(number for number in numbers if (place, number, warm_up) not in self._past)
        return Turn(standing.step, standing.host, number, warm_up)

    def _rounds(self, may_begin: MayBegin) -> Iterator[Turn | None]:
        for number in range(1, self._plan.repetition.warm_ups + 1):
            yield from self._round(number, list(self._standings), may_begin, warm_up=True)
        number, orders = 0, self._orders()
        while not self.over():
            if any(self.open(place) and may_begin(place) for place in self._standings):
                number += 1
                yield from self._round(number, next(orders), may_begin, warm_up=False)
            else:
                yield None

    def _round(self, number: int, places: Iterable[PlaceKey], may_begin: MayBegin, *, warm_up: bool) -> Iterator[Turn]:
        """Yield the turns of one round; a place that was away for one before is a number behind."""
        for place in places:
            if (place, number, warm_up) not in self._past and self.open(place) and may_begin(place):
                yield self._next(place)

    def _orders(self) -> Iterator[list[PlaceKey]]:
        """Yield the order of each round, without end; the same seed gives the same orders."""
        places, order = list(self._standings), self._plan.order
        lots = random.Random(self._plan.seed or 0)  # noqa: S311 (an order, not a secret)
        while True:
            if order.drawn:
                lots.shuffle(places)
            yield list(places)
            if order is Order.ABBA:
                yield places[::-1]


def _leading(step: Step) -> Metric | None:
    try:
        return step.headline
    except UnknownSuiteError:
        return None


def deciding(step: Step, figures: Sequence[Figure]) -> list[Figure]:
    """Return the figures that decide: those of the suite's first metric, or of the first there is."""
    leading = _leading(step)
    name = leading.name if leading is not None else ""
    if figures and not any(figure.metric.name == name for figure in figures):
        name = figures[0].metric.name
    return [figure for figure in figures if figure.metric.name == name]


def _urgency(judged: Judged) -> tuple[bool, bool, float]:
    """Order by what needs most: what goes on before what stops, and what is unsettled before what is settled."""
    decision = judged.decision
    return not decision.stop, not decision.settled, float("inf") if decision.more is None else decision.more
