"""Pane with the profiled trial of a run, or the change between those of two: counters and flame graph."""

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtWidgets import QComboBox, QScrollArea

from app.distributions.studies import StudyKind
from app.flame_graph import folded_of, frames_of, matched_share, svg_of
from app.output import write_whole
from app.profiles import PerfProfile, compared_profiles, cost_text, profile_title, reading_text
from app.services import Workstation
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill, in_row
from widgets.parts.controls import line_edit, tool_button
from widgets.parts.dialogs import ask_for_file
from widgets.parts.text import Text, Tone, strong, visible
from widgets.plots.flame_graph import FlameGraph
from widgets.plots.studies import RunsPane
from widgets.theme import SPACE

Pair = tuple[PerfProfile | None, PerfProfile]

_WRITERS = {".svg": svg_of, ".txt": folded_of}


class ProfilePane(RunsPane):
    """One run: its profiles; two: the change from the first to the second. More have none."""

    def __init__(self, workstation: Workstation) -> None:
        super().__init__(StudyKind.PROFILE, workstation)
        self.pairs: Sequence[Pair] = ()
        self.chosen = QComboBox()
        self.chosen.setAccessibleName("Step and host of the profile")
        self.chosen.currentIndexChanged.connect(self._show_chosen)
        self.searched = line_edit("Search functions", self._search, placeholderText="Search functions")
        self.matched, self.heading, self.counters = Text(tone=Tone.MUTED), Text(font=strong()), Text(tone=Tone.MUTED)
        self.graph = FlameGraph()
        whole = tool_button("Whole graph", lambda: self.graph.zoom(None), tip="Undo the zoom (Home)")
        self.export_button = tool_button("Export…", self._ask_export, tip="Flame graph as SVG, or folded stacks")
        scroll = QScrollArea(widgetResizable=True)
        scroll.setAccessibleName(StudyKind.PROFILE.value)
        scroll.setWidget(self.graph)
        row = in_row(self.chosen, self.searched, self.matched, whole, self.export_button, None, spacing=SPACE[0])
        fill(column_in(self, SPACE[0]), self.notice, self.heading, self.counters, row, (scroll, 1))
        self._clear()

    def export_to(self, path: Path) -> None:
        """Write the profile to `path` in the format of its extension."""
        write, pair = _WRITERS.get(path.suffix.lower()), self._pair()
        if pair is None:
            return
        if write is None:
            self.notice.show_message("warning", f"Unknown file extension: {path.name}.", "Use .svg or .txt.")
            return
        BackgroundJob(lambda: write_whole(path, write(*pair).encode("utf-8", "replace")), self).start(
            lambda written: self.notice.show_message("good", f"Written: {written}"), self.notice.show_error
        )

    def _pair(self) -> Pair | None:
        index = self.chosen.currentIndex()
        return self.pairs[index] if 0 <= index < len(self.pairs) else None

    def _read(self) -> None:
        read, runs = self._workstation.analyses.profiles, self._runs
        if len(runs) > 2:
            self._clear()
            self.notice.show_message("info", "Profiles of more than two runs are not compared.", "Select one or two.")
        elif len(runs) == 2:
            self._start(lambda: compared_profiles(read(runs[0]), read(runs[1])), self._show)
        else:
            self._start(lambda: [(None, one) for one in read(runs[0])], self._show)

    def _clear(self) -> None:
        self._offer(())
        self._show_chosen()

    def _show(self, pairs: Sequence[Pair]) -> None:
        self.notice.hide()
        self._offer(pairs)
        self._show_chosen()

    def _offer(self, pairs: Sequence[Pair]) -> None:
        self.pairs = pairs
        self.chosen.blockSignals(True)
        self.chosen.clear()
        self.chosen.addItems([visible(one.name) for _, one in pairs])
        self.chosen.blockSignals(False)
        self.chosen.setVisible(len(pairs) > 1)

    def _show_chosen(self) -> None:
        pair = self._pair()
        self.export_button.setEnabled(pair is not None and bool(pair[1].stacks))
        if pair is None:
            self.heading.setText("")
            self.counters.setText("")
            self.graph.show_frames((), "none")
            return
        title = profile_title(*pair)
        self.heading.setText(title)
        before, after = [] if pair[0] is None else _lines(pair[0]), _lines(pair[1])
        shared = [line for line in after if pair[0] is None or line in before]
        sides = (("Before. ", before), ("After. ", after))
        lines = [f"{side}{line}" for side, one in sides for line in one if line not in shared]
        self.counters.setText("\n".join([*lines, *shared]))
        self.graph.show_frames(frames_of(*pair), title)
        self._search()

    def _search(self) -> None:
        text = self.searched.text()
        self.graph.search(text)
        self.matched.setText(f"{100 * matched_share(self.graph.frames, text):.1f} % of the samples" if text else "")

    def _ask_export(self) -> None:
        filters = ["SVG image (*.svg)", "Folded stacks (*.txt)"]
        ask_for_file(self, "Export", self.export_to, filters, save_as="profile.svg")


def _lines(one: PerfProfile) -> list[str]:
    """Return the figure of a profiled trial and what perf counted, absent values by their reason."""
    if one.absent:
        return [f"No profile. {one.absent}"]
    present = "  ·  ".join(f"{each.name} {reading_text(each)}" for each in one.readings if each.value is not None)
    reasons: dict[str, list[str]] = {}
    for each in one.readings:
        if each.value is None:
            reasons.setdefault(each.absent, []).append(each.name)
    absent = [f"Absent: {', '.join(names)}: {reason}." for reason, names in reasons.items()]
    return [*([] if one.cost is None else [cost_text(one.cost)]), present, *absent]
