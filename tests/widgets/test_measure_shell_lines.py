"""Commands as text: a folded one is the same to a shell, and a plan is a script that runs nothing by a name."""

import shlex
import subprocess

from hypothesis import given
from hypothesis import strategies as st

from app.plans.plan import Plan, Step
from app.plans.totals import StepPreview
from suites.base import Command, Estimate
from widgets.wizard.command_view import folded, shell_script

WORDS = st.lists(st.text(alphabet=st.characters(min_codepoint=33, max_codepoint=0x2FFF), min_size=1), min_size=1)


@given(WORDS, st.integers(min_value=1, max_value=120))
def test_a_folded_command_has_the_same_words(words: list[str], columns: int) -> None:
    line = shlex.join(words).replace("\n", " ").replace("\r", " ")
    assert shlex.split(folded(line, columns).replace("\\\n", "")) == shlex.split(line)


def test_a_shell_reads_a_folded_command_alike() -> None:
    words = ["printf", "%s|", "a b", "it's", "--runtime=30", "$HOME", "x" * 60, "\\", ""]
    text = folded(shlex.join(words), 24)
    assert text.count("\n") > 3
    shown = subprocess.run(["/bin/sh", "-c", text], capture_output=True, text=True, check=True).stdout
    assert shown == "".join(f"{word}|" for word in words[2:])


def _preview(host: str, step: str, estimate: Estimate) -> StepPreview:
    return StepPreview(host, step, (Command(("true", step)),), estimate, f"true {step}")


STEPS = (Step("one", "dd", {}), Step("two", "dd", {}))


def test_the_script_names_hosts_and_steps_and_runs_nothing_by_a_name() -> None:
    plan = Plan("p\nrm -rf /", ("a", "b"), STEPS)
    previews = [_preview(host, step, Estimate(1.0)) for step in ("one", "two") for host in ("a", "b")]
    lines = shell_script(plan, previews).splitlines()
    assert lines[0] == "#!/bin/sh"
    assert [line for line in lines if line and not line.startswith("#")] == ["true one", "true two"] * 2
