"""How a plan begins: from a question that fills it in, or anew with nothing."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from app.plans.plan import LOCAL, Plan
from app.plans.preset import Filled, Preset
from app.plans.presets import filled_preset, presets
from app.services import Workstation
from suites.facts import Facts
from widgets.jobs import Job
from widgets.measure.answers_dialog import AnswersDialog
from widgets.measure.draft import PlanDraft
from widgets.measure.question_card import QuestionBand
from widgets.measure.questions_view import QuestionsView
from widgets.parts.question import Question


class Starting(QObject):
    """Shows the questions wherever they are offered, asks what one has to know, and fills it in."""

    filled = Signal(object, str)  # a Filled, and what is to be said about it
    planned = Signal(object)  # a Plan
    failed = Signal(object)  # a BenchwrightError
    emptied = Signal()  # a new plan is begun, with nothing

    def __init__(
        self,
        draft: PlanDraft,
        bands: Sequence[QuestionBand],
        window: QWidget,
        filled_here: Callable[[Plan], None],
    ) -> None:
        """Call `filled_here`, in a thread, with each preset that was filled in."""
        super().__init__(window)
        self._filled_here = filled_here
        self._draft = draft
        self._window = window
        self._hosts: tuple[str, ...] = (LOCAL,)
        self.view = QuestionsView()
        self.view.left.connect(self.show_wizard)
        self.view.chosen.connect(self.choose)
        self._bands = bands
        for band in bands:
            band.chosen.connect(self.choose)
            band.more_requested.connect(self.show_questions)
        self.front = QStackedWidget()
        """The wizard, or the questions over it."""

    def hold(self, wizard: QWidget) -> QStackedWidget:
        """Return the place where either the wizard is shown or the questions are."""
        self.front.addWidget(wizard)
        self.front.addWidget(self.view)
        return self.front

    def show_questions(self) -> None:
        """Show the questions, in place of the steps."""
        self.front.setCurrentWidget(self.view)
        self.view.focus_first()

    def show_wizard(self) -> None:
        """Show the steps."""
        self.front.setCurrentIndex(0)

    def offer(self) -> None:
        """Read the questions and show them."""
        if self.view.cards:
            return
        job = Job(presets)
        job.returned.connect(self._offer)
        job.failed.connect(self.failed)
        job.start()

    def set_hosts(self, names: Sequence[str]) -> None:
        """Offer the hosts `names`, wherever one is asked for."""
        self._hosts = tuple(dict.fromkeys([LOCAL, *names]))

    def choose(self, preset: Preset) -> None:
        """Begin with `preset`: at once where nothing is to be asked."""
        hosts = tuple(self._draft.hosts)
        if hosts and not preset.asks:
            self._fill(preset, hosts, {})
            return
        dialog = AnswersDialog(preset, self._hosts, ask_host=not hosts, parent=self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.accepted.connect(lambda: self._fill(preset, hosts or (dialog.chosen_host(),), dialog.answers()))
        dialog.open()

    def ask_anew(self) -> None:
        """Ask whether what was planned may be forgotten."""
        explanation = "What was chosen and typed here is forgotten. Save it on the last step to keep it."
        question = Question("Begin a new plan?", explanation, "New plan", self._window, decline_text="Keep this one")
        question.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        question.accepted.connect(self.emptied)
        question.open()

    def plan_quick(self, workstation: Workstation, host: str, facts: Facts) -> None:
        """Plan the quick benchmark of `host`."""
        job = Job(lambda: workstation.quick_plan(host, facts))
        job.returned.connect(self.planned)
        job.failed.connect(self.failed)
        job.start()

    def _offer(self, found: tuple[Preset, ...]) -> None:
        self.view.set_presets(found)
        for band in self._bands:
            band.set_presets(found)

    def _fill(self, preset: Preset, hosts: Sequence[str], answers: dict[str, str]) -> None:
        def fill() -> tuple[Preset, Filled]:
            filled = filled_preset(preset.name, hosts, answers)
            self._filled_here(filled.plan)
            return preset, filled

        job = Job(fill)
        job.returned.connect(self._take)
        job.failed.connect(self.failed)
        job.start()

    def _take(self, found: tuple[Preset, Filled]) -> None:
        preset, filled = found
        self.filled.emit(filled, " ".join(part for part in (*filled.left_out, preset.after) if part))
