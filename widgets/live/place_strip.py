"""The steps of a plan on its hosts, in order, each with how far it is; choosing one shows its plots."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QTabBar

from widgets.live.model import Place, RunModel
from widgets.live.words import place_progress
from widgets.parts.names import host_title
from widgets.parts.text import tool_tip, visible

_LONGEST = 40


class PlaceStrip(QTabBar):
    """One tab for each step and host. Hidden while there is only one."""

    chosen = Signal(object)  # the Place

    def __init__(self) -> None:
        super().__init__()
        self._places: tuple[Place, ...] = ()
        self.setDrawBase(False)
        self.setExpanding(False)
        self.setUsesScrollButtons(True)
        self.setElideMode(Qt.TextElideMode.ElideMiddle)
        self.setAccessibleName("Steps of the run")
        self.tabBarClicked.connect(self._choose)
        self.currentChanged.connect(self._choose)

    def show_places(self, model: RunModel) -> None:
        """Name the places of `model` and say how far each is."""
        places = model.places()
        quiet = self.blockSignals(True)
        if places != self._places:
            while self.count():
                self.removeTab(0)
            for _ in places:
                self.addTab("")
            self._places = places
            self.setVisible(len(places) > 1)
        several = len(model.plan.hosts) > 1
        for index, place in enumerate(places):
            step, host = place
            name = visible(f"{step} · {host_title(host)}" if several else step).replace("\n", " ")
            short = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
            text = f"{short}   {place_progress(model, place)}".replace("&", "&&")
            if self.tabText(index) != text:
                self.setTabText(index, text)
                link = model.links.get(host)
                self.setTabToolTip(index, "" if link is None else tool_tip(link.detail))
        self.blockSignals(quiet)

    def show_place(self, place: Place) -> None:
        """Mark `place` as the one that is shown."""
        if place in self._places:
            quiet = self.blockSignals(True)
            self.setCurrentIndex(self._places.index(place))
            self.blockSignals(quiet)

    def _choose(self, index: int) -> None:
        if 0 <= index < len(self._places):
            self.chosen.emit(self._places[index])
