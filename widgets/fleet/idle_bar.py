"""Bar about a fleet study that no process runs, as its process has ended."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from app.fleet_study import HostRunState
from app.services import Workstation
from suites.quantities import count_text
from widgets.fleet.board_text import moment_text
from widgets.hosts.host_bars import NoticeBar
from widgets.parts.controls import push_button

if TYPE_CHECKING:
    from app.fleet.idle import IdleStudy  # with SQLAlchemy, which the first window does not need


class IdleBar(NoticeBar):
    """The newest open study that no process runs; hidden if there is none. Those of `is_known` are not offered."""

    resume_requested = Signal(object)  # the FleetStudy

    def __init__(self, workstation: Workstation, is_known: Callable[[str], bool]) -> None:
        """`is_known` returns whether this window runs a study, or has run it: the user knows of it."""
        self.resume_button = push_button(
            "Resume", self._resume, tip="Attach the runs that continue on their hosts, and start the hosts that wait"
        )
        self.leave_button = push_button("Leave", self._leave, tip="Offer it again at the next start")
        super().__init__(workstation, "info", self.resume_button, self.leave_button)
        self._is_known = is_known
        self._left: set[str] = set()
        self._studies: list[IdleStudy] = []

    def refresh(self) -> None:
        """Read the studies; those of a read-only library cannot be resumed."""
        workstation = self._workstation
        self._read(
            lambda: workstation.idle_fleet_studies() if workstation.read_only() is None else [], self.show_studies
        )

    def show_studies(self, studies: "Sequence[IdleStudy]") -> None:
        """Show the first of `studies` that was not left; hide the bar if there is none."""
        self._studies = [one for one in studies if one.study.id not in self._left and not self._is_known(one.study.id)]
        self.setVisible(bool(self._studies))
        if not self._studies:
            return
        first = self._studies[0]
        more = "" if len(self._studies) == 1 else f" And {len(self._studies) - 1} more."
        left = f"{first.study.left} of {count_text(first.study.total, 'host-run')} left"
        self._write(
            f"Fleet study {first.study.name} stopped at {moment_text(first.since)} with {left}.{more}",
            _under_way_text(first.study.counts.get(HostRunState.RUNNING, 0)),
        )

    def _resume(self) -> None:
        first, *rest = self._studies
        self.show_studies(rest)
        self.resume_requested.emit(first.study)

    def _leave(self) -> None:
        self._left.add(self._studies[0].study.id)
        self.show_studies(self._studies)


def _under_way_text(running: int) -> str:
    """Return what is known of the host-runs that were under way."""
    if not running:
        return "No host-run was under way then."
    return f"{count_text(running, 'host-run')} under way then: trials may continue on the hosts."
