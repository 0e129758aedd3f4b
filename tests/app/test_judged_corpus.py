"""How often the verdict on an output from elsewhere is right: outputs that experts objected to, and proper ones.

`objected` has outputs from public threads and documentation, retyped and reduced to the lines with figures, each with
its source, the objection of the maintainers in other words, the findings of which one expresses it, and whose figures
they are. `made-properly.txt` lists captures of real runs with direct I/O or flushes and without errors; some are short,
which is a caveat, not a doubt.
"""

import re
from pathlib import Path

from app.outputs.files import judged_bytes
from app.outputs.judging import JudgedOutput

DATA = Path(__file__).parents[1] / "data"
OBJECTED = sorted((DATA / "judged" / "objected").glob("*.txt"))
PROPER = (DATA / "judged" / "made-properly.txt").read_text().splitlines()

LEAST_HITS = {True: 0.9, False: 1.0}
"""Least share of the objections found: of figures that were reported in a thread, and of own ones."""

MOST_FALSE_ALARMS = 0.05


def truth(path: Path) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in path.read_text().splitlines())


def outputs(path: Path, command: str = "") -> tuple[JudgedOutput, ...]:
    data = b"".join(
        file.read_bytes() for suffix in (".stderr", ".stdout") if (file := path.with_name(path.name + suffix)).exists()
    )
    return judged_bytes(path.name, command.encode() + data).outputs


def is_reported(path: Path) -> bool:
    """Return whether the figures are those of a public thread or table, not own ones in a documented format."""
    return not truth(path)["figures"].startswith(("own", "captured"))


def is_hit(path: Path) -> bool:
    """Return whether a verdict has an expected trust, and a finding that expresses the objection."""
    expected = truth(path)
    found = outputs(path.with_suffix(""))
    trusts = {one.verdict.trust.value for one in found}
    ids = {finding.id for one in found for finding in one.verdict.findings}
    return bool(trusts & set(expected["trust"].split(", "))) and bool(ids & set(expected["finding"].split(", ")))


def proper(name: str) -> tuple[JudgedOutput, ...]:
    """Return the verdicts on a capture below its command line, as people paste it."""
    command = truth_command((DATA / f"{name}.txt").read_text())
    return outputs(DATA / name, f"$ {command}\n" if command else "")


def truth_command(text: str) -> str:
    found = re.search(r"^command: (.*)$", text, re.MULTILINE)
    return found[1] if found else ""


def test_most_objections_of_experts_are_found() -> None:
    assert len(OBJECTED) >= 40
    for reported, least in LEAST_HITS.items():
        paths = [path for path in OBJECTED if is_reported(path) is reported]
        missed = [path.stem for path in paths if not is_hit(path)]
        hits = len(paths) - len(missed)
        print(f"reported: {reported}: {hits} of {len(paths)} objections found; missed: {missed}")  # noqa: T201 -- for the help page
        assert hits >= least * len(paths), missed


def test_proper_outputs_are_hardly_ever_in_doubt() -> None:
    verdicts = {name: proper(name) for name in PROPER}
    assert len(verdicts) >= 40
    assert [name for name, found in verdicts.items() if not found] == []
    alarms = [name for name, found in verdicts.items() if any(one.verdict.trust.in_doubt for one in found)]
    print(f"{len(alarms)} of {len(PROPER)} proper outputs in doubt ({100 * len(alarms) / len(PROPER):.0f} %): {alarms}")  # noqa: T201 -- for the help page
    assert len(alarms) <= MOST_FALSE_ALARMS * len(PROPER), alarms


def test_each_objection_states_its_source() -> None:
    for path in OBJECTED:
        expected = truth(path)
        assert expected.keys() == {"source", "answer", "trust", "finding", "figures"}, path
        assert expected["source"].startswith("https://"), path
        assert path.with_suffix(".stdout").exists(), path
