"""What a preset costs, estimated from its steps before anything is known of the host."""

from collections.abc import Mapping
from dataclasses import dataclass

from app.plans.presets import Preset, PresetQuestion, fill, read_answers
from suites.base import Context
from suites.errors import BenchwrightError
from suites.quantities import quantity


@dataclass(frozen=True, slots=True)
class PresetCost:
    """Bytes written over all trials, whether a command runs as root, and whether a second host is needed."""

    written: int
    root: bool
    peer: bool

    @property
    def text(self) -> str:
        """The cost as text: ``writes 8 GiB, needs root``; empty without any."""
        parts = (
            f"writes {quantity(self.written)}" if self.written else "",
            "needs root" if self.root else "",
            "needs a second host" if self.peer else "",
        )
        return ", ".join(part for part in parts if part)


def preset_cost(preset: Preset) -> PresetCost | None:
    """Return the cost of `preset`, with its examples as answers; None if it cannot be filled in."""
    try:
        plan = fill(preset, (), read_answers(preset.asks, _examples(preset.asks))).plan
    except BenchwrightError:
        return None
    written, root = 0, False
    for step in plan.steps:
        estimate = step.suite.estimate(step.values, Context())
        written += estimate.prepared + (estimate.written or 0) * (plan.repetition.fewest + plan.repetition.uncounted)
        commands = step.suite.commands(step.values, Context())
        root = root or any(command.root for command in commands)
    return PresetCost(written, root, any(step.suite.needs_peer for step in plan.steps))


def _examples(asks: tuple[PresetQuestion, ...]) -> Mapping[str, str]:
    return {ask.name: ask.example for ask in asks if not ask.optional}
