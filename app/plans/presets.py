"""Plans to start from: the quick benchmark, and one step per chosen suite with tuned parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files

import resources
from app.plans.context import step_context
from app.plans.plan import Plan, PlanError, Repetition, Step, host_words, make_step
from app.plans.preset import Filled, Preset, fill, parse_preset
from app.plans.preset_asks import read_answers
from suites.base import Context, complete_values, tuned_values
from suites.facts import Facts, known
from suites.parameters import Value
from suites.registry import suite as find_suite

QUICK_QUESTION = "What do this host's CPU, memory and disk deliver?"

QUICK_FILE = 2**30
"""Bytes of the quick benchmark's test file: laid out within seconds on a slow volume, and read with O_DIRECT."""

QUICK_SECONDS = 10.0
"""The shortest run that none of the three suites calls too short."""


PRESETS = "presets"
"""The folder of the resources that holds presets, each named as its file is."""


def preset_names() -> tuple[str, ...]:
    """Return the names of the presets, in order; a preset is added by putting its file into the folder."""
    found = (path.name for path in files(resources).joinpath(PRESETS).iterdir() if path.is_file())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


def preset(name: str) -> Preset:
    """Return the preset `name`; raise PlanError where there is none."""
    if name not in preset_names():
        raise PlanError(f"There is no preset “{name[:60]}”.", f"There are {', '.join(preset_names())}.")
    return parse_preset(name, resources.read_text(f"{PRESETS}/{name}.toml"))


def presets() -> tuple[Preset, ...]:
    """Return every preset, those first that a newcomer asks first."""
    return tuple(sorted(map(preset, preset_names()), key=lambda each: (each.place, each.name)))


def filled_preset(name: str, hosts: Sequence[str] = (), answers: Mapping[str, str] | None = None) -> Filled:
    """Return the preset `name` as a plan on `hosts`, with the `answers` to what it asks as a person writes them.

    What the preset's file leaves open stands at the tools' own defaults.
    """
    chosen = preset(name)
    return fill(chosen, hosts, read_answers(chosen.asks, answers or {}))


def tuned_step(suite_id: str, context: Context, *, name: str = "", peer: str | None = None) -> Step:
    """Return a step of the suite with its parameters tuned to the host in `context`."""
    return make_step(suite_id, tuned_values(find_suite(suite_id), context), name=name, peer=peer)


def default_plan(hosts: Sequence[str], suites: Sequence[str], name: str) -> Plan:
    """Return a plan with one step for each of `suites` as its tool does it untold; a suite twice gets a number."""
    steps: list[Step] = []
    for suite_id in suites:
        taken = sum(step.suite_id == suite_id for step in steps)
        steps.append(make_step(suite_id, {}, name=suite_id if not taken else f"{suite_id}-{taken + 1}"))
    return Plan(name=name, hosts=tuple(hosts), steps=tuple(steps))


def tuned_plan(hosts: Sequence[str], suites: Sequence[str], facts: Mapping[str, Facts], name: str) -> Plan:
    """Return a plan with one step for each of `suites`, tuned to the first host; a suite twice gets a number."""
    plan = default_plan(hosts, suites, name)
    steps = (
        tuned_step(step.suite_id, step_context(step, hosts[0], facts), name=step.name, peer=step.peer)
        for step in plan.steps
    )
    return replace(plan, steps=tuple(steps))


def quick_plan(host: str, facts: Facts) -> Plan:
    """Return the quick benchmark: CPU, memory and disk, three trials each, in under two minutes."""
    context = Context(facts)
    cpu = _fitted("sysbench-cpu", context, {"time": QUICK_SECONDS})
    memory = _fitted("sysbench-memory", context, {"time": QUICK_SECONDS})
    disk = _fitted("fio", context, _quick_disk(context))
    steps = (
        Step("cpu", "sysbench-cpu", cpu),
        Step("memory", "sysbench-memory", memory),
        Step("disk random read", "fio", disk),
    )
    name = host_words(host)
    return Plan(f"quick benchmark of {name}", (host,), steps, QUICK_QUESTION, Repetition(trials=3))


def _fitted(suite_id: str, context: Context, chosen: Mapping[str, Value]) -> dict[str, Value]:
    chosen_suite = find_suite(suite_id)
    return complete_values(chosen_suite, {**tuned_values(chosen_suite, context), **chosen})


def _quick_disk(context: Context) -> dict[str, Value]:
    tuned = tuned_values(find_suite("fio"), context)
    directory = None if context.facts is None else context.facts.directory(str(tuned["directory"]))
    free = None if directory is None else known(directory.free)
    jobs = 1
    size = min(QUICK_FILE, int(tuned["size"])) if free is None else min(QUICK_FILE, free // 4)
    whole = max(2**20, size // 2**20 * 2**20)
    return {"rw": "randread", "size": whole, "numjobs": jobs, "runtime": QUICK_SECONDS, "ramp_time": 2.0}
