"""What makes two suites answer one question: parameters that mean the same in both, and figures that correspond."""

from collections.abc import Callable
from dataclasses import dataclass

from suites.facts import Facts
from suites.parameters import Value, Values

Convert = Callable[[Value, Values, Facts | None], Value | None]
"""From a parameter's value, all values of its step and the host's facts to the other suite's value; None: there is
none that means the same."""


def same(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    """Return the value as it is."""
    return value


@dataclass(frozen=True, slots=True)
class Carry:
    """A parameter of one suite that means what one of the other does, and how its value is written `there` and back.

    Where one that `must` be carried cannot be, the two suites do not ask the same.
    """

    ours: str
    theirs: str
    there: Convert = same
    back: Convert = same
    must: bool = False


@dataclass(frozen=True, slots=True)
class Match:
    """Figures that measure the same: metrics of one suite that add up to what those of the other do, times `factor`.

    `note` is how they count, where they do so differently.
    """

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    factor: float = 1.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Kin:
    """A suite and another that can check it. `fixed` are parameters of the other that are set whatever is carried.

    `apart` is said where the two measure different quantities: then their figures are shown side by side, and no
    agreement is claimed. `asks` is what both are asked.
    """

    suite: str
    other: str
    asks: str
    carries: tuple[Carry, ...] = ()
    matches: tuple[Match, ...] = ()
    fixed: tuple[tuple[str, Value], ...] = ()
    fixed_back: tuple[tuple[str, Value], ...] = ()
    apart: str = ""

    def turned(self) -> "Kin":
        """Return the same kinship, seen from the other suite."""
        return Kin(
            self.other,
            self.suite,
            self.asks,
            tuple(Carry(one.theirs, one.ours, one.back, one.there, one.must) for one in self.carries),
            tuple(Match(one.theirs, one.ours, 1 / one.factor, one.note) for one in self.matches),
            self.fixed_back,
            self.fixed,
            self.apart,
        )
