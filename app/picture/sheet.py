"""A sheet of paper that is filled from the top down and then drawn as large as it came out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from app.picture.look import MARGIN, PAPER, WIDTH, Style
from app.picture.words import DPI, font, printable, wrap

Align = Literal["left", "center", "right"]


@dataclass(frozen=True, slots=True)
class _Words:
    x: float
    baseline: float
    text: str
    style: Style
    align: Align


@dataclass(frozen=True, slots=True)
class _Box:
    x: float
    y: float
    width: float
    height: float
    colour: str


@dataclass(frozen=True, slots=True)
class _Rule:
    points: tuple[tuple[float, float], ...]
    colour: str
    dashed: bool


@dataclass(frozen=True, slots=True)
class _Plot:
    x: float
    y: float
    width: float
    height: float
    draw: Callable[[Axes], None]


class Sheet:
    """Collects what is to be drawn, in pixels from the upper left corner. `y` is where the next thing goes."""

    def __init__(self) -> None:
        self.y: float = MARGIN
        self._boxes: list[_Box] = []
        self._rules: list[_Rule] = []
        self._plots: list[_Plot] = []
        self._words: list[_Words] = []

    def words(self, x: float, y: float, text: str, style: Style, align: Align = "left") -> None:
        """Write one line whose upper edge is at `y`."""
        baseline = y + (style.leading + 0.72 * style.size) / 2  # capitals of DejaVu Sans stand 0.73 of its size high
        self._words.append(_Words(x, baseline, printable(text), style, align))

    def lines(self, x: float, y: float, lines: Sequence[str], style: Style) -> float:
        """Write `lines` from `y` on; return where they end."""
        for number, line in enumerate(lines):
            self.words(x, y + number * style.leading, line, style)
        return y + len(lines) * style.leading

    def paragraph(self, text: str, style: Style, x: float = MARGIN, room: float = WIDTH - 2 * MARGIN) -> None:
        """Write `text` at `y`, wrapped into `room`, and move on below it."""
        self.y = self.lines(x, self.y, wrap(text, style, room), style)

    def box(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """Fill a rectangle; it lies below everything else."""
        self._boxes.append(_Box(x, y, width, height, colour))

    def rule(self, *points: tuple[float, float], colour: str, dashed: bool = False) -> None:
        """Draw a thin line through `points`."""
        self._rules.append(_Rule(points, colour, dashed))

    def plot(self, x: float, y: float, width: float, height: float, draw: Callable[[Axes], None]) -> None:
        """Give `draw` axes whose frame is this rectangle; what it writes beside them has to find room there."""
        self._plots.append(_Plot(x, y, width, height, draw))

    def png(self, scale: float = 1.0) -> bytes:
        """Return the sheet as a PNG picture, WIDTH times `scale` pixels wide, its height up to `y`."""
        height = round(self.y + MARGIN)
        figure = Figure(figsize=(WIDTH / DPI, height / DPI), dpi=DPI * scale, facecolor=PAPER)
        FigureCanvasAgg(figure)
        for box in self._boxes:
            corner = (box.x / WIDTH, 1 - (box.y + box.height) / height)
            shape = Rectangle(corner, box.width / WIDTH, box.height / height, facecolor=box.colour, linewidth=0)
            shape.set_transform(figure.transFigure)
            figure.add_artist(shape)
        for rule in self._rules:
            xs, ys = [x / WIDTH for x, _ in rule.points], [1 - y / height for _, y in rule.points]
            figure.add_artist(Line2D(xs, ys, color=rule.colour, linewidth=0.72, linestyle="--" if rule.dashed else "-"))
        for plot in self._plots:
            frame = (plot.x / WIDTH, 1 - (plot.y + plot.height) / height, plot.width / WIDTH, plot.height / height)
            plot.draw(figure.add_axes(frame))
        for words in self._words:
            figure.text(
                words.x / WIDTH, 1 - words.baseline / height, words.text, color=words.style.colour,
                fontproperties=font(words.style), ha=words.align, va="baseline", parse_math=False,
            )  # fmt: skip
        buffer = BytesIO()
        figure.savefig(buffer, format="png", dpi="figure", metadata={"Software": "Benchwright"})
        return buffer.getvalue()
