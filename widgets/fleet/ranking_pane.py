"""Ranking of the groups of a study by a metric, or by a metric per price."""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtWidgets import QComboBox

from app.fleet.study import FleetMetric
from app.fleet_study import PREFIX, FleetStudy
from app.ranking.candidates import RankingCriteria, RankingGoal
from app.ranking.ranking import RankedCandidate, Ranking
from app.ranking.report import closing_lines, title
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.compare.rank_form import GOALS, RankTable
from widgets.fleet.read_pane import ReadPane
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.text import Text, Tone
from widgets.theme import SPACE, TextSize, text_font


class GroupRankingPane(ReadPane):
    """The groups of a study, the best first, with intervals, ties and prices."""

    def __init__(self, workstation: Workstation) -> None:
        super().__init__(workstation)
        self.ranking: Ranking | None = None
        self._metric: FleetMetric | None = None
        self.goal = QComboBox()
        self.goal.setAccessibleName("Goal")
        self.goal.activated.connect(lambda _at: self.show_study(self.study))
        self.heading = Text("", font=text_font(TextSize.BODY, bold=True))
        self.table, self.notes = RankTable(), Text("", Tone.MUTED)
        head = in_row((self.heading, 1), self.goal, spacing=SPACE[1])
        fill(column_in(self, SPACE[1]), self.notice, head, (self.table, 1), self.notes)
        self._clear()

    def show_metric(self, study: FleetStudy, metric: FleetMetric | None) -> None:
        """Rank the groups of a study by a metric; price/performance is offered where hosts have prices."""
        priced = any(host.attributes.price is not None for host in study.plan.hosts)
        texts = [text for text, goal in GOALS.items() if goal is RankingGoal.HIGHEST or
                 (priced and goal is RankingGoal.PER_PRICE)]  # fmt: skip
        if texts != [self.goal.itemText(at) for at in range(self.goal.count())]:
            self.goal.clear()
            self.goal.addItems(texts)
        self.goal.setVisible(len(texts) > 1)
        self._metric = metric
        self.show_study("" if metric is None else study.id)

    def _read(self) -> None:
        if (one := self._metric) is not None:
            goal = GOALS[self.goal.currentText()]
            criteria = RankingCriteria({one.metric.name: 1.0}, goal, labels=one.labels, step=one.step)
            rank, selector = self.workstation.rank, f"{PREFIX}{self.study}"
            self._start(lambda: rank([selector], criteria), self._show)

    def _show(self, ranking: Ranking) -> None:
        self.ranking = ranking
        self.notice.hide()
        self.heading.setText(title(ranking))
        self.table.show_ranking(
            replace(ranking, ranked=self._named(ranking.ranked), unranked=self._named(ranking.unranked))
        )
        self.notes.setText("\n".join(map(self._group_names, closing_lines(ranking))))
        self._set_shown(shown=True)

    def _named(self, ranked: Sequence[RankedCandidate]) -> tuple[RankedCandidate, ...]:
        return tuple(
            replace(one, candidate=replace(one.candidate, name=self._group_names(one.candidate.name))) for one in ranked
        )

    def _group_names(self, text: str) -> str:
        """Return `text` with the names of groups instead of their selectors."""
        return text.replace(f"{PREFIX}{self.study}:", "")

    def _clear(self) -> None:
        self.ranking = None
        self._set_shown(shown=False)

    def _fail(self, error: BenchwrightError) -> None:
        self._clear()
        super()._fail(error)

    def _set_shown(self, *, shown: bool) -> None:
        for widget in (self.heading, self.table, self.notes):
            widget.setVisible(shown)
