"""Start of a plan from a question that fills it in."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QComboBox, QLineEdit, QSizePolicy, QWidget

from app.plans.plan import LOCAL, Plan
from app.plans.presets import Filled, Preset, PresetQuestion, filled_preset, read_answers
from app.plans.presets import fill as fill_preset
from suites.errors import BenchwrightError, ParameterError
from widgets.jobs import BackgroundJob
from widgets.parts.boxes import column_in, fill
from widgets.parts.dialogs import QuestionDialog, opened
from widgets.parts.names import host_title
from widgets.parts.text import Text, Tone
from widgets.theme import TextSize, text_font
from widgets.wizard.draft import PlanDraft
from widgets.wizard.editors import Editor, make_editor
from widgets.wizard.suite_choices import minutes_text


class AnswersDialog(QuestionDialog):
    """Form with a field for each answer, and a host if none is selected."""

    def __init__(
        self, preset: Preset, hosts: Sequence[str], measured: Sequence[str] = (), parent: QWidget | None = None
    ) -> None:
        """Offer `hosts` in every host field; without `measured` ones, ask for the host to run on."""
        duration = minutes_text(preset)
        explanation = f"{preset.answers} Duration: {duration}." if duration else preset.answers
        super().__init__(preset.title, explanation, "Fill in the tests", parent)
        self.preset = preset
        self._hosts, self._measured = hosts, measured or hosts[:1]
        self._texts: dict[str, str] = {}
        self.fields: dict[str, QWidget] = {}
        self.host = _host_box(hosts, "Host")
        if not measured:
            self.form.addRow(Text("Host", wrap=False), self.host)
        else:
            self.host.deleteLater()
        for ask in preset.asks:
            self._add(ask)
        self.message = Text(tone=Tone.ERROR)
        self.form.addRow(self.message)
        self._check()
        first = self.host if not measured else next(iter(self.fields.values()), self.accept_button)
        self.make_default(self.accept_button)
        first.setFocus()

    def answers(self) -> dict[str, str]:
        """Return the answers as typed."""
        return dict(self._texts)

    def chosen_host(self) -> str:
        """Return the selected host; valid only without measured hosts."""
        return str(self.host.currentData())

    def _add(self, ask: PresetQuestion) -> None:
        title = Text(ask.label, wrap=False)
        cell = QWidget()
        column = column_in(cell, 2)
        field = self._host_field(ask) if ask.host else self._text_field(ask)
        title.setBuddy(field)
        self.fields[ask.name] = field
        fill(column, field, Text(ask.parameter.help, Tone.MUTED, font=text_font(TextSize.SMALL)))
        self.form.addRow(title, cell)

    def _host_field(self, ask: PresetQuestion) -> QWidget:
        box = _host_box(self._hosts, ask.parameter.title)
        if ask.optional:
            box.insertItem(0, "None", "")
        others = [host for host in self._hosts if host not in self._measured]
        box.setCurrentIndex(0 if ask.optional or not others else box.findData(others[0]))
        box.currentIndexChanged.connect(lambda _index: self._take(ask.name, str(box.currentData())))
        self._texts[ask.name] = str(box.currentData() or "")
        return box

    def _text_field(self, ask: PresetQuestion) -> QWidget:
        editor = make_editor(ask.parameter)
        if isinstance(editor.field, QLineEdit):
            editor.field.setPlaceholderText(f"{'optional, ' if ask.optional else ''}such as {ask.example}")
        editor.edited.connect(lambda text: self._take(ask.name, text))
        self._texts[ask.name] = ""
        return editor

    def _take(self, name: str, text: str) -> None:
        self._texts[name] = text
        self._check()

    def _check(self) -> None:
        """Enable the accept button for valid answers; show the error once every required field is filled.

        A text is valid if the preset can be filled in with it: the steps know what a directory or a URL is.
        """
        message, wrong = "", None
        try:
            fill_preset(self.preset, (), read_answers(self.preset.asks, self._texts))
        except BenchwrightError as error:
            self.accept_button.setEnabled(False)
            if all(self._texts[ask.name].strip() for ask in self.preset.asks if not ask.optional):
                wrong = self._answer_at_fault(error)
                message = f"{error.message} {error.remedy}" if wrong is None else self._titled(wrong)
        else:
            self.accept_button.setEnabled(True)
        for name, field in self.fields.items():
            if isinstance(field, Editor):
                field.set_message(wrong.message if wrong is not None and wrong.name == name else "")
        self.message.setText(message)
        self.message.setVisible(bool(message))

    def _answer_at_fault(self, error: BaseException | None) -> ParameterError | None:
        """Return the error, or its cause, that concerns a value with the name of an answer."""
        while error is not None and not (isinstance(error, ParameterError) and error.name in self.fields):
            error = error.__cause__
        return error

    def _titled(self, error: ParameterError) -> str:
        """Return the message of `error` with the title of its field instead of the answer's name."""
        title = next(ask.parameter.title for ask in self.preset.asks if ask.name == error.name)
        return f"{title}: {error.fault} {error.remedy}"


def _host_box(hosts: Sequence[str], title: str) -> QComboBox:
    box = QComboBox()
    box.setAccessibleName(title)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(12)
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    for host in hosts:
        box.addItem(host_title(host), host)
    return box


class PlanStart(QObject):
    """Asks for the answers of a question and fills in its plan."""

    filled = Signal(object, str)  # a Filled and its notes
    failed = Signal(object)  # a BenchwrightError

    def __init__(self, draft: PlanDraft, window: QWidget, remember_filled: Callable[[Plan], None]) -> None:
        """Call `remember_filled` in a worker thread with each plan that was filled in."""
        super().__init__(window)
        self._remember_filled = remember_filled
        self._draft = draft
        self._window = window
        self._hosts: tuple[str, ...] = (LOCAL,)

    def set_hosts(self, names: Sequence[str]) -> None:
        """Offer the hosts `names` in host fields."""
        self._hosts = tuple(dict.fromkeys([LOCAL, *names]))

    def choose(self, preset: Preset) -> None:
        """Fill in `preset`, after asking for its answers if it has any."""
        hosts = tuple(self._draft.hosts)
        if hosts and not preset.asks:
            self._fill(preset, hosts, {})
            return
        dialog = AnswersDialog(preset, self._hosts, hosts, self._window)
        dialog.accepted.connect(lambda: self._fill(preset, hosts or (dialog.chosen_host(),), dialog.answers()))
        opened(dialog)

    def _fill(self, preset: Preset, hosts: Sequence[str], answers: dict[str, str]) -> None:
        def fill() -> tuple[Preset, Filled]:
            filled = filled_preset(preset.name, hosts, answers)
            self._remember_filled(filled.plan)
            return preset, filled

        BackgroundJob(fill).start(self._take, self.failed)

    def _take(self, found: tuple[Preset, Filled]) -> None:
        preset, filled = found
        self.filled.emit(filled, " ".join(part for part in (*filled.left_out, preset.after) if part))
