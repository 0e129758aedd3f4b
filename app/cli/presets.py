"""benchwright plan presets, plan new --preset: questions to start from."""

from collections.abc import Mapping, Sequence

import click

from app.cli.common import json_option, plain, print_json, print_table, speaks_to_people
from app.plans.plan import Plan, PlanError
from app.plans.preset import Filled, Preset
from app.plans.preset_asks import Ask
from app.plans.presets import filled_preset, preset, presets
from app.wording import duration_text

PEER = "peer"


def answers_of(name: str, given: Sequence[str], peer: str | None) -> dict[str, str]:
    """Return the answers written NAME=VALUE; `peer` answers for the other host, where the preset asks for one."""
    answers = {}
    for each in given:
        left, equals, value = each.partition("=")
        if not equals:
            raise PlanError(f"“{each[:60]}” is not NAME=VALUE.", "Write --answer iops=4000, for example.")
        answers[left.strip()] = value
    if peer is not None and any(ask.name == PEER for ask in preset(name).asks):
        answers.setdefault(PEER, peer)
    return answers


def fill_named(name: str, hosts: Sequence[str], answers: Mapping[str, str]) -> Filled:
    """Return the preset filled in, having said what it leaves out and what to do with its run."""
    filled = filled_preset(name, hosts, answers)
    for said in (*filled.left_out, preset(name).after):
        if said:
            click.echo(plain(said), err=True)
    return filled


def places(made: Plan, peer: str | None) -> list[str]:
    """Return every host whose facts tune the plan, each once."""
    peers = [step.peer for step in made.steps if step.peer is not None]
    return list(dict.fromkeys([*made.hosts, *peers, *([peer] if peer else [])]))


@click.command("presets")
@json_option
@speaks_to_people
def list_presets(*, as_json: bool) -> None:
    """List the questions to start from: how long each takes, what it answers, and what it asks."""
    if as_json:
        print_json({"format": "benchwright-presets/1", "presets": [preset_to_json(each) for each in presets()]})
        return
    rows = []
    for each in presets():
        took = "" if each.minutes is None else duration_text(each.minutes * 60)
        asked = "\n".join(_asked(ask) for ask in each.asks)
        rows.append([each.name, took, f"{each.title}\n{each.answers}\n{asked}".strip()])
    print_table(["Preset", "Takes", "What it answers, and what it asks"], rows)


def _asked(ask: Ask) -> str:
    unit = f", {ask.parameter.unit}" if ask.parameter.unit else ""
    return f"--answer {ask.name}={ask.example}: {ask.parameter.title}{unit}{' (optional)' if ask.optional else ''}"


def preset_to_json(given: Preset) -> dict[str, object]:
    """Return a preset as the command line prints it."""
    return {
        "name": given.name,
        "title": given.title,
        "answers": given.answers,
        "minutes": given.minutes,
        "resources": list(given.resources),
        "after": given.after,
        "asks": [_ask_to_json(ask) for ask in given.asks],
    }


def _ask_to_json(ask: Ask) -> dict[str, object]:
    return {
        "name": ask.name,
        "title": ask.parameter.title,
        "type": "host" if ask.host else str(ask.parameter.type),
        "unit": ask.parameter.unit,
        "help": ask.parameter.help,
        "example": ask.example,
        "optional": ask.optional,
    }
