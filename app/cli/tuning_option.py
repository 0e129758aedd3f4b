"""The option that says what a plan changes on its hosts."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from app.plans.tuning import TUNING, Tuning, TuningPlanError, tuning_of


def tunes(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option --tune, and a `tuning` made of it."""

    @click.option(
        "--tune",
        "changes",  # not “settings”: that is what --set gives
        multiple=True,
        metavar="NAME=VALUE",
        help="What is changed on the hosts while it runs, as root, and put back: "
        f"{', '.join(parameter.name for parameter in TUNING)}; as in governor=performance. May be given again.",
    )
    @wraps(command)
    def tuning(*arguments: Any, changes: tuple[str, ...], **named: Any) -> None:
        command(*arguments, tuning=read_tuning(changes), **named)

    return tuning


def read_tuning(settings: tuple[str, ...]) -> Tuning:
    """Return the tuning that `settings` such as ``drop_caches=yes`` give; raise for one that is none."""
    known = {parameter.name: parameter for parameter in TUNING}
    values = {name: parameter.default for name, parameter in known.items()}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or name not in known:
            raise TuningPlanError(
                f"“{setting[:60]}” is nothing that can be changed.", f"Write --tune NAME=VALUE with {', '.join(known)}."
            )
        values[name] = known[name].parse(value)
    return tuning_of(values)
