"""How a run is told from the others of a comparison, in a line. No Qt."""

from collections.abc import Sequence

from app.records import RunSummary
from app.wording import run_name
from widgets.library.run_lines import local_time
from widgets.parts.names import host_title


def short_words(run: RunSummary) -> str:
    """Return a run's name, its hosts and when it began: ``volume check · web-1 · 2026-01-12 08:15``."""
    return " · ".join([run.name, ", ".join(host_title(host) for host in run.hosts), local_time(run.started)])


def telling_words(runs: Sequence[RunSummary]) -> list[str]:
    """Return each run in as few words as tell it from the others: when, what, and where hosts differ, on which;
    of parts of one run, which steps."""
    hosts = len({run.hosts for run in runs}) > 1
    steps = len({run.id for run in runs}) < len(runs) and len({run.steps for run in runs}) > 1
    moments = [local_time(run.started) for run in runs]
    shared = len(runs) > 1 and len({moment[:5] for moment in moments}) == 1 and moments[0][4:5] == "-"
    return [
        " · ".join(
            [moment[5:] if shared else moment, run.name]
            + ([", ".join(host_title(host) for host in run.hosts)] if hosts else [])
            + ([", ".join(run.steps)] if steps else [])
        )
        for run, moment in zip(runs, moments, strict=True)
    ]


def named_words(number: int, run: RunSummary) -> str:
    """Return the letter of a run with what tells it from the others, and how far it may be believed."""
    return f"{run_name(number)}: {short_words(run)}{f' · {run.trust}' if run.trust else ''}"
