"""Asks what a preset has to know: where it runs, and what only the user can say."""

from collections.abc import Sequence

from PySide6.QtWidgets import QComboBox, QLineEdit, QSizePolicy, QVBoxLayout, QWidget

from app.plans.plan import PlanError
from app.plans.preset import Preset
from app.plans.preset_asks import Ask, read_answers
from widgets.measure.editors import Editor, make_editor
from widgets.measure.question_card import minutes_words
from widgets.parts.names import host_title
from widgets.parts.question import Question
from widgets.parts.text import Text, Tone
from widgets.theme import TextSize, text_font


class AnswersDialog(Question):
    """A small form: a host where none is chosen yet, and a field for each answer."""

    def __init__(self, preset: Preset, hosts: Sequence[str], *, ask_host: bool, parent: QWidget | None = None) -> None:
        """Offer `hosts` wherever one is to be named; `ask_host`: none is chosen yet to run on."""
        took = minutes_words(preset)
        explanation = f"{preset.answers} It takes {took}." if took else preset.answers
        super().__init__(preset.title, explanation, "Fill in the tests", parent)
        self.preset = preset
        self._hosts = hosts
        self._texts: dict[str, str] = {}
        self.fields: dict[str, QWidget] = {}
        self.host = _host_box(hosts, "Where it runs")
        if ask_host:
            self.form.addRow(Text("Where it runs", wrap=False), self.host)
        else:
            self.host.deleteLater()
        for ask in preset.asks:
            self._add(ask)
        self.message = Text(tone=Tone.ERROR)
        self.form.addRow(self.message)
        self._check()
        first = self.host if ask_host else next(iter(self.fields.values()), self.accept_button)
        self.make_default(self.accept_button)
        first.setFocus()

    def answers(self) -> dict[str, str]:
        """Return what was answered, as it was written."""
        return dict(self._texts)

    def chosen_host(self) -> str:
        """Return where it shall run, where that was asked."""
        return str(self.host.currentData())

    def _add(self, ask: Ask) -> None:
        unit = f", {ask.parameter.unit}" if ask.parameter.unit else ""
        title = Text(f"{ask.parameter.title}{unit}", wrap=False)
        place = QWidget()
        column = QVBoxLayout(place)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2)
        field = self._host_field(ask) if ask.host else self._text_field(ask)
        title.setBuddy(field)
        self.fields[ask.name] = field
        column.addWidget(field)
        column.addWidget(Text(ask.parameter.help, Tone.MUTED, font=text_font(TextSize.SMALL)))
        self.form.addRow(title, place)

    def _host_field(self, ask: Ask) -> QWidget:
        box = _host_box(self._hosts, ask.parameter.title)
        if ask.optional:
            box.insertItem(0, "None", "")
        box.setCurrentIndex(0)
        box.currentIndexChanged.connect(lambda _index: self._take(ask.name, str(box.currentData())))
        self._texts[ask.name] = str(box.currentData() or "")
        return box

    def _text_field(self, ask: Ask) -> QWidget:
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
        """Let the form be sent only as it is accepted; say what is wrong once something is written."""
        try:
            read_answers(self.preset.asks, self._texts)
        except PlanError as error:
            needed = [ask.name for ask in self.preset.asks if not ask.optional]
            begun = all(self._texts[name].strip() for name in needed)
            self.message.setText(self._worded(f"{error.message} {error.remedy}") if begun else "")
            self._mark(error.message if begun else "")
            self.accept_button.setEnabled(False)
        else:
            self.message.setText("")
            self._mark("")
            self.accept_button.setEnabled(True)
        self.message.setVisible(bool(self.message.text()))

    def _mark(self, message: str) -> None:
        """Frame the field that `message` is about, and no other."""
        for name, field in self.fields.items():
            if isinstance(field, Editor):
                field.set_message(message if message.startswith(f"{name}: ") else "")

    def _worded(self, message: str) -> str:
        """Return `message` with the title of its field, which stands beside it, instead of the answer's name."""
        for ask in self.preset.asks:
            if message.startswith(f"{ask.name}: "):
                return f"{ask.parameter.title}{message.removeprefix(ask.name)}"
        return message


def _host_box(hosts: Sequence[str], title: str) -> QComboBox:
    box = QComboBox()
    box.setAccessibleName(title)
    box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    box.setMinimumContentsLength(12)
    box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
    for host in hosts:
        box.addItem(host_title(host), host)
    return box
