"""Flame graphs: the frames of folded stacks as rectangles, and as an SVG file."""

from binascii import crc32
from collections.abc import Sequence
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from app.output import escaped
from app.profiles import PerfProfile, Stacks, folded_text, profile_title

LEAST_WIDTH = 0.0002
"""Frames of less than this share of all samples are not drawn (of 1,200 pixels less than a quarter of one)."""


@dataclass(frozen=True, slots=True)
class FlameFrame:
    """A frame from `left` of the width 1, `depth` frames above the root, with its share of the samples.

    `change` is that share less the share in the profile before, None without one.
    """

    name: str
    depth: int
    left: float
    width: float
    change: float | None = None

    def matches(self, text: str) -> bool:
        """Return whether `text` is in the name, in any case."""
        return bool(text) and text.casefold() in self.name.casefold()

    @property
    def text(self) -> str:
        """The name with share and change: ``main: 71.2 %, +3.1 points``."""
        changed = "" if self.change is None else f", {100 * self.change:+.2f} points"
        return f"{escaped(self.name)}: {self.width:.2%}{changed}"


@dataclass(slots=True)
class _Node:
    count: int = 0
    before: int = 0
    calls: dict[str, "_Node"] = field(default_factory=dict)


def flame_frames(stacks: Stacks, before: Stacks | None = None) -> tuple[FlameFrame, ...]:
    """Return the frames of `stacks`, the root first, in order of their names; as wide as their share of samples.

    `before` is another profile: each is scaled to its own total. Stacks that only it has have no width.
    """
    root = _Node()
    for given, counts in ((stacks, True), (before or {}, False)):
        for stack, count in given.items():
            node = root
            for frame in ("all", *stack):
                node = node.calls.setdefault(frame, _Node())
                node.count += count if counts else 0
                node.before += 0 if counts else count
    whole, whole_before = (sum(node.count for node in root.calls.values()), sum((before or {}).values()))
    found, left = [], [(0.0, 0, "all", root.calls["all"])] if whole else []
    while left:
        at, depth, name, node = left.pop()
        width = node.count / whole
        change = None if before is None else width - (node.before / whole_before if whole_before else 0.0)
        found.append(FlameFrame(name, depth, at, width, change))
        nested = []
        for called, inner in sorted(node.calls.items()):
            if inner.count / whole >= LEAST_WIDTH:
                nested.append((at, depth + 1, called, inner))
            at += inner.count / whole
        left += reversed(nested)
    return tuple(found)


def frame_colour(frame: FlameFrame, largest: float) -> tuple[int, int, int]:
    """Return the colour of a frame: warm by its name; of a change red for more and blue for less, as of `largest`."""
    if frame.change is None:
        shade = crc32(frame.name.encode("utf-8", "replace")) / 2**32
        return 205 + round(50 * shade), 90 + round(140 * shade), round(55 * shade)
    pale = 245 - round(110 * min(1.0, abs(frame.change) / largest)) if largest else 245
    return (245, pale, pale) if frame.change > 0 else (pale, pale, 245)


def matched_share(frames: Sequence[FlameFrame], text: str) -> float:
    """Return the share of samples with `text` in the name of a frame; `frames` are in the order of flame_frames()."""
    found, until = 0.0, 0.0
    for frame in frames:
        if frame.matches(text) and frame.left >= until - 1e-9:
            found, until = found + frame.width, frame.left + frame.width
    return found


def largest_change(frames: Sequence[FlameFrame]) -> float:
    """Return the largest change of a frame, 0 without any."""
    return max((abs(frame.change or 0.0) for frame in frames), default=0.0)


WIDTH, ROW, CHARACTER, MARGIN = 1200, 16, 6.6, 10


def flame_svg(frames: Sequence[FlameFrame], title: str) -> str:
    """Return the frames as an SVG file without scripts: the root at the bottom, share and change in tool tips."""
    depth = max((frame.depth for frame in frames), default=0) + 1
    height, largest = depth * ROW + 50, largest_change(frames)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + 2 * MARGIN}" height="{height}">',
        "<style>text { font: 11px monospace; }</style>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{MARGIN}" y="22">{_text(title)}</text>',
    ]
    for frame in frames:
        x, y, width = MARGIN + frame.left * WIDTH, height - 12 - (frame.depth + 1) * ROW, frame.width * WIDTH
        fill = "#{:02x}{:02x}{:02x}".format(*frame_colour(frame, largest))
        lines.append(
            f'<g><title>{_text(frame.text)}</title><rect x="{x:.2f}" y="{y}" width="{max(0.1, width - 0.3):.2f}" '
            f'height="{ROW - 1}" fill="{fill}"/>'
        )
        fitting = int((width - 6) / CHARACTER)
        if fitting >= 3:
            name = escaped(frame.name)
            shown = name if len(name) <= fitting else f"{name[: fitting - 1]}…"
            lines.append(f'<text x="{x + 3:.2f}" y="{y + 12}">{_text(shown)}</text>')
        lines.append("</g>")
    return "\n".join([*lines, "</svg>\n"])


def folded_of(before: PerfProfile | None, one: PerfProfile) -> str:
    """Return the folded stacks of a profile, with the counts of the one `before` it if there is one."""
    return folded_text(one.stacks or {}, None if before is None else before.stacks or {})


def frames_of(before: PerfProfile | None, one: PerfProfile) -> tuple[FlameFrame, ...]:
    """Return the frames of a profile, with their change from the one `before` it if there is one."""
    return flame_frames(one.stacks or {}, None if before is None else before.stacks or {})


def svg_of(before: PerfProfile | None, one: PerfProfile) -> str:
    """Return the flame graph of a profile as an SVG file."""
    return flame_svg(frames_of(before, one), profile_title(before, one))


def _text(text: str) -> str:
    return escape(escaped(text))
