"""Pictures of the comparison: empty, two runs, five runs, what cannot be compared, long names."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtWidgets import QLabel, QWidget

from suites.verdict import Trust
from tests.app.fleet.measured_studies import measured_study
from tests.shot_stage import Shot, Stage, opened
from tests.widgets.library_runs import STEADY, Made, library, record
from widgets.compare.compare_page import ComparePage
from widgets.compare.compare_table import table_picture
from widgets.compare.explanation_panel import OverruleQuestion
from widgets.compare.pickers import RunPicker
from widgets.main_window import MainWindow

BEFORE, AGAIN, AFTER, OTHER, BLOCKS = (
    "20260112-081502-a1b2", "20260112-093010-c3d4", "20260113-141230-e5f6", "20260113-160544-g7h8",
    "20260114-090120-i9j0",
)  # fmt: skip


def _opened(stage: Stage, *runs: str) -> tuple[MainWindow, ComparePage]:
    if BEFORE not in {run.id for run in stage.workstation.runs()}:
        library(stage.workstation)
    window = stage.window()
    page = opened(window, ComparePage)
    if runs:
        page.compare(runs)
    stage.settle()
    return window, page


def _empty(stage: Stage) -> QWidget:
    return _opened(stage)[0]


def _two(stage: Stage) -> QWidget:
    return _opened(stage, BEFORE, AFTER)[0]


def _two_folded(stage: Stage) -> QWidget:
    return _opened(stage, BEFORE, AFTER)[0]


def _same(stage: Stage) -> QWidget:
    return _opened(stage, BEFORE, AGAIN)[0]


def _five(stage: Stage) -> QWidget:
    return _opened(stage, BEFORE, AGAIN, AFTER, OTHER, BLOCKS)[0]


def _everything(stage: Stage) -> QWidget:
    window, page = _opened(stage, BEFORE, AFTER)
    page.everything.setChecked(True)
    return window


def _not_comparable(stage: Stage) -> QWidget:
    return _opened(stage, BEFORE, BLOCKS)[0]


def _overruled(stage: Stage) -> QWidget:
    window, page = _opened(stage, BEFORE, BLOCKS)
    page.explanation.gate.overrule_requested.emit("the block size is the question")
    stage.settle()
    return window


def _overrule(stage: Stage) -> QWidget:
    window, page = _opened(stage, BEFORE, BLOCKS)
    dialog = stage.keep(OverruleQuestion(page))
    dialog.reason.setText("the block size is the question")
    dialog.show()
    del window
    return dialog


def _groups(stage: Stage) -> QWidget:
    return _opened(stage, f"{BEFORE},{AGAIN}", AFTER)[0]


def _undecided(stage: Stage) -> QWidget:
    return _opened(stage, BEFORE, OTHER)[0]


def _distribution(kind: int) -> Callable[[Stage], QWidget]:
    def shot(stage: Stage) -> QWidget:
        window, page = _opened(stage, BEFORE, AFTER)
        if page.plots is not None:
            page.plots.distribution.kinds.setCurrentIndex(kind)
        stage.settle()
        return window

    return shot


def _long(stage: Stage) -> QWidget:
    known = {run.id for run in stage.workstation.runs()}
    host = "ip-10-20-30-40.eu-central-1.compute.internal.example.org"
    made = Made(
        "20260115-080000-long", [value * 1.3 for value in STEADY], host=host, question="<b>Is</b> it?",
        name="a name of a run that goes on and on until nobody reads it to its end, <img src=file:///etc/passwd>",
    )  # fmt: skip
    runs = [made, replace(made, run_id="20260115-090000-long", iops=[value * 1.1 for value in STEADY])]
    record(stage.workstation, *(run for run in runs if run.run_id not in known))
    return _opened(stage, *(run.run_id for run in runs))[0]


def _picker(stage: Stage) -> QWidget:
    page = _opened(stage, BEFORE, AFTER)[1]
    page.add_button.click()
    return page.findChildren(RunPicker)[0]


def _picture(stage: Stage) -> QWidget:
    page = _opened(stage, BEFORE, AGAIN, AFTER, OTHER, BLOCKS)[1]
    if page.compared is None:
        raise TypeError("nothing is compared")
    picture = table_picture(page.compared, everything=True)
    picture.setDevicePixelRatio(1)
    shown = stage.keep(QLabel())
    shown.setPixmap(picture)
    shown.resize(picture.size())
    return shown


def _sessions(stage: Stage, prefix: str, day: int, factor: float, *, hosts: int = 1) -> str:
    """Record three sessions on each of `hosts` hosts, and return them as one side."""
    known = {run.id for run in stage.workstation.runs()}
    runs = [
        Made(
            f"202602{day:02d}-{8 + number // 6:02d}{10 * (number % 6):02d}00-{prefix}",
            [value * factor * (1 + 0.002 * (number * day % 7)) * (1 + 0.05 * host) for value in STEADY],
            host=f"web-{host + 1}",
            trust=Trust.VALID,
        )
        for host in range(hosts)
        for number in range(host * 3, host * 3 + 3)
    ]
    record(stage.workstation, *(run for run in runs if run.run_id not in known))
    return ",".join(run.run_id for run in runs)


def _three_sessions(factor: float) -> Callable[[Stage], QWidget]:
    def shot(stage: Stage) -> QWidget:
        name = f"s{round(100 * factor)}"
        return _opened(stage, _sessions(stage, "s100", 1, 1.0), _sessions(stage, name, 2, factor))[0]

    return shot


def _paired_hosts(stage: Stage) -> QWidget:
    return _opened(
        stage, *(_sessions(stage, f"h{day}", day, factor, hosts=10) for day, factor in ((3, 1.0), (4, 1.1)))
    )[0]


def _studies(sessions: int, factors: dict[tuple[str, int], float]) -> Callable[[Stage], QWidget]:
    def shot(stage: Stage) -> QWidget:
        begun = len(stage.workstation.fleet_studies())
        studies = [
            measured_study(stage.workstation, begun + at, own, sessions) for at, own in enumerate(({}, factors), 1)
        ]
        return _opened(stage, *(f"fleet:{one.id}:c7a" for one in studies))[0]

    return shot


def _many(stage: Stage) -> QWidget:
    runs = [
        Made(f"202603{number:02d}-080000-many", [value * (1 + number / 99) for value in STEADY])
        for number in range(1, 28)
    ]
    known = {run.id for run in stage.workstation.runs()}
    record(stage.workstation, *(run for run in runs if run.run_id not in known))
    return _opened(stage, *(run.run_id for run in runs))[0]


SHOTS: list[Shot] = [
    ("compare-empty", _empty),
    ("compare-long-names", _long),
    ("compare-two", _two),
    ("compare-two-folded", _two_folded),
    ("compare-same", _same),
    ("compare-everything", _everything),
    ("compare-five", _five),
    ("compare-not-comparable", _not_comparable),
    ("compare-overruled", _overruled),
    ("compare-overrule", _overrule),
    ("compare-groups", _groups),
    ("compare-sessions-better", _three_sessions(1.1)),
    ("compare-sessions-same", _three_sessions(1.01)),
    ("compare-paired-hosts", _paired_hosts),
    ("compare-studies-undecided", _studies(2, {("c7a", 2): 0.8})),
    ("compare-studies-of-one-session", _studies(1, {("c7a", 1): 0.8})),
    ("compare-27-runs", _many),
    ("compare-undecided", _undecided),
    ("compare-ecdf", _distribution(1)),
    ("compare-shift", _distribution(2)),
    ("compare-histogram", _distribution(3)),
    ("compare-picker", _picker),
    ("compare-picture", _picture),
]
