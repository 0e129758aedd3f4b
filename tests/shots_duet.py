"""Pictures of a duet: under way on real tools, and its two steps compared."""

from PySide6.QtWidgets import QLabel, QWidget

from app.plans.plan import LOCAL, Order, Plan, Repetition, make_step
from app.runs.control import BusyPolicy
from tests.shot_stage import Shot, Stage, opened
from widgets.compare.compare_page import ComparePage
from widgets.live.live_page import LivePage


def duet(trials: int, seconds: int = 2) -> Plan:
    """Return two settings of sysbench on this computer, at once."""
    steps = tuple(
        make_step("sysbench-cpu", {"time": seconds, "threads": 1, "cpu_max_prime": prime}, name=name)
        for name, prime in (("primes to 20000", 20000), ("primes to 24000", 24000))
    )
    return Plan("Two settings", (LOCAL,), steps, repetition=Repetition(trials=trials), order=Order.DUET)


def _samples(page: LivePage, trial: int) -> int:
    view = page.model.trials.get(trial) if page.model is not None else None
    return max((len(series.buffer) for series in view.series.values()), default=0) if view is not None else 0


def _running(stage: Stage) -> QWidget:
    window = stage.window()
    page = opened(window, LivePage)
    page.start_run(duet(4), BusyPolicy.ANYWAY)
    stage.settle(lambda: _samples(page, 4) >= 1 or not page.running)
    picture = stage.keep(QLabel())
    picture.setPixmap(window.grab())
    picture.setFixedSize(window.size())
    picture.show()
    stage.settle(lambda: not page.running)
    return picture


def _compared(stage: Stage) -> QWidget:
    window = stage.window()
    page = opened(window, ComparePage)
    page.compare(stage.workstation.duet_sides("last"))
    stage.settle()
    return window


SHOTS: list[Shot] = [("duet-running", _running), ("duet-compared", _compared)]
