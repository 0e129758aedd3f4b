"""How much of a run is in a library: counted again over another connection, before anybody hears that it is kept."""

from collections import Counter
from dataclasses import dataclass, field

from sqlalchemy import Connection, func, select

from app.store import schema


@dataclass(slots=True)
class Written:
    """Trials, samples by trial (None: telemetry) and bytes of raw output of a run."""

    trials: int = 0
    samples: Counter[int | None] = field(default_factory=Counter)
    output: int = 0

    def copy(self) -> "Written":
        """Return a copy."""
        return Written(self.trials, Counter(self.samples), self.output)

    def agrees(self, other: "Written | None") -> bool:
        """Return whether `other` is as much."""
        return other is not None and (self.trials, +self.samples, self.output) == (
            other.trials, +other.samples, other.output,
        )  # fmt: skip


def read_back(connection: Connection, run_id: str) -> Written | None:
    """Return how much of a run the library holds, None where it does not know the run."""
    runs, trials, series, output = schema.runs.c, schema.trials.c, schema.series.c, schema.output.c
    if connection.execute(select(runs.id).where(runs.id == run_id)).first() is None:
        return None
    counted = (
        select(series.trial, func.count())
        .join(schema.samples, schema.samples.c.series == series.id)
        .where(series.run_id == run_id)
        .group_by(series.trial)
    )
    return Written(
        connection.execute(select(func.count()).where(trials.run_id == run_id)).scalar_one(),
        Counter({row[0]: row[1] for row in connection.execute(counted)}),
        connection.execute(select(func.sum(func.length(output.data))).where(output.run_id == run_id)).scalar() or 0,
    )
