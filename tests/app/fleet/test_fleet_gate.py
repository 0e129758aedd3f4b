"""benchwright gate on fleet studies: each group against the same group of an earlier study, with their sessions."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from app.cli.main import benchwright
from app.comparison.gate import ONCE
from app.comparison.verdicts import ComparisonVerdict
from app.ranking.candidates import RankingCriteria
from app.services import Workstation
from app.session_text import session_text
from tests.app.fleet.measured_studies import HOSTS, SESSIONS, measured_study
from tests.printed_json import errors

STEP = "disk random read"
CONDITION = "iops worse by 5 %"
GOAL = "iops < 440k"

CHANGED = (1, 2)
"""Hosts of four of which others are in their place: most are the same, or not."""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """Return a library, and its studies by what they measure."""
    path = tmp_path_factory.mktemp("gate") / "runs.sqlite3"
    slower = {("c7a", session): 0.8 for session in (1, 2)}
    measures = {"before": {}, "same": {}, "slower": slower, "once slower": {("c7a", 2): 0.8}}
    with closing(Workstation(path, path.with_name("hosts.toml"))) as workstation:
        studies = {
            name: measured_study(workstation, day, factors).id
            for day, (name, factors) in enumerate(measures.items(), 1)
        }
        studies["only session slower"] = measured_study(workstation, 11, {("c7a", 1): 0.8}, sessions=1).id
        for changed in CHANGED:
            names = {f"c7a-{number:02}": f"c7a-new-{number:02}" for number in range(1, changed + 1)}
            study = measured_study(workstation, 20 + changed, slower, names=names)
            studies[f"{changed} changed"] = study.id
    return path, studies


def gate(
    library: tuple[Path, dict[str, str]], new: str, *words: str, group: str = "", condition: str = CONDITION
) -> Result:
    path, studies = library
    run, against = (f"fleet:{studies[name]}{group}" for name in (new, "before"))
    given = ["--store", str(path), "gate", "--run", run, "--against", against, "--fail-if", condition, *words]
    return CliRunner().invoke(benchwright, given)


def outcomes(found: Result) -> dict[str, str]:
    content = json.loads(found.stdout)
    assert not errors("gate", content)
    return {one["host"].partition(" ")[0]: one["outcome"] for one in content["conditions"]}


@pytest.mark.parametrize(
    ("new", "status", "expected"),
    [
        ("same", 0, {"c7i": "pass", "c7a": "pass"}),
        ("slower", 1, {"c7i": "pass", "c7a": "fail"}),
        ("once slower", 3, {"c7i": "pass", "c7a": "undecided"}),
    ],
)
def test_each_group_is_answered_once(
    library: tuple[Path, dict[str, str]], new: str, status: int, expected: dict[str, str]
) -> None:
    found = gate(library, new, "--json")
    assert found.exit_code == status, found.output
    assert outcomes(found) == expected


def test_a_group_is_gated_alone(library: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    found = gate(library, "slower", "--json", group=":c7i")
    assert (found.exit_code, outcomes(found)) == (0, {"c7i": "pass"})
    path, studies = library
    words = ["--run", f"fleet:{studies['slower']}:c7i", "--against", f"fleet:{studies['before']}"]
    found = CliRunner().invoke(benchwright, ["--store", str(path), "gate", *words, "--fail-if", CONDITION])
    assert (found.exit_code, found.stderr) == (0, "")  # the baseline has other groups, which are not of one study only
    text = tmp_path / "gate.md"
    assert gate(library, "slower", "--markdown", str(text), group=":c7a").exit_code == 1
    assert "c7a" in text.read_text()


def test_an_unknown_group_or_host_is_refused_with_the_names(library: tuple[Path, dict[str, str]]) -> None:
    for mark in (":c9", "@c9"):
        found = gate(library, "same", group=mark)
        assert found.exit_code == 2
        assert "c9" in found.stderr
    assert "c7i" in gate(library, "same", group=":c9").stderr


def test_groups_of_two_studies_have_the_error_of_the_moments_that_hosts_share(
    library: tuple[Path, dict[str, str]],
) -> None:
    path, studies = library
    once, before = (f"fleet:{studies[name]}:c7a" for name in ("once slower", "before"))
    with closing(Workstation(path, path.with_name("hosts.toml"))) as workstation:
        runs = workstation.sessions_of_groups(once)["c7a"]
        sides = [before, once], [before, ",".join(runs.values())], [f"{before}:{STEP}", f"{once}:{STEP}"]
        for selectors in sides:
            figure = workstation.compare(selectors).rows[0].against[0]
            assert figure.verdict is ComparisonVerdict.UNDECIDED, selectors
            assert figure.sessions == (2, 2)
            assert "drift" not in {one.id for one in figure.caveats}
        found = CliRunner().invoke(benchwright, ["--store", str(path), "compare", *sides[0]])
        assert found.exit_code == 0
        assert "sample-size" not in found.output
        with workstation.redacted([before, once]) as copy:
            assert copy.workstation.compare(copy.runs).rows[0].against[0].low == figure.low
        same = workstation.compare([before, before.replace("c7a", "c7i")]).rows[0].against[0]
        assert same.sessions is None
        alone = workstation.compare([before, runs[2]]).rows[0].against[0]
        assert alone.sessions == (1, 2)


@pytest.mark.slow
def test_moments_are_known_without_the_study(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    with closing(Workstation(library, tmp_path / "hosts.toml")) as workstation:
        before = measured_study(workstation, 11, {})
        once = measured_study(workstation, 12, {("c7a", 2): 0.8})
        sides = [
            ",".join(workstation.sessions_of_groups(f"fleet:{one.id}:c7a")["c7a"].values()) for one in (before, once)
        ]
        figure = workstation.compare(sides).rows[0].against[0]
        ranking = workstation.rank(sides, RankingCriteria({"iops": 1.0}))
        assert {one.group for one in ranking.ranked} == {1}  # no rank is separate, as compare() says
        run = workstation.sessions_of_groups(f"fleet:{once.id}:c7a")["c7a"][SESSIONS].split(",")[0]
        assert len(workstation.sessions_of(run)) == SESSIONS  # of its host
        session = workstation.load(sides[1].split(",")[-1]).summary.session
        assert session is not None
        assert (session.series, session.number) == (once.id, SESSIONS)
        assert session_text(session, session.due) == f"Session 2 of the fleet study {once.id}"
        for study in (before, once):
            workstation.delete_fleet_study(study.id)
        again = workstation.compare(sides).rows[0].against[0]
        assert (again.low, again.sessions) == (figure.low, (2, 2))


@pytest.mark.parametrize("condition", [CONDITION, GOAL])
def test_a_regression_in_the_only_session_is_not_confirmed(
    library: tuple[Path, dict[str, str]], condition: str
) -> None:
    found = gate(library, "only session slower", condition=condition)
    assert found.exit_code == 3, found.output
    assert ONCE in found.output


@pytest.mark.parametrize(("new", "status"), [("once slower", 3), ("slower", 1)])
def test_a_goal_is_answered_by_hosts_and_the_sessions_that_they_share(
    library: tuple[Path, dict[str, str]], new: str, status: int
) -> None:
    found = gate(library, new, group=":c7a", condition=GOAL)
    assert found.exit_code == status, found.output
    assert f"n = {HOSTS} hosts, {SESSIONS} sessions" in found.output


@pytest.mark.parametrize(("changed", "counted"), [*zip(CHANGED, ("3 pairs of hosts", "4 against 4"), strict=True)])
def test_a_group_is_answered_once_whichever_of_its_hosts_changed(
    library: tuple[Path, dict[str, str]], changed: int, counted: str
) -> None:
    found = gate(library, f"{changed} changed", "--json")
    assert found.exit_code == 1, found.output
    assert outcomes(found) == {"c7i": "pass", "c7a": "fail"}
    (group,) = [one for one in json.loads(found.stdout)["conditions"] if one["host"].startswith("c7a")]
    assert counted in group["text"], group
