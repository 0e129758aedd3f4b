"""The facts in which a lemon differs, and its ticket."""

from dataclasses import replace

import numpy as np

from app.fleet.facts import differing_facts, separating_facts
from app.fleet.lemon_ticket import MOST_ATTRIBUTES, MOST_FACTS, lemon_ticket
from app.fleet.lemons import LemonKind, find_lemons
from suites.facts import CloudFacts, Facts
from tests.app.run_events import facts
from tests.simulation.fleets import SimulatedFleet, fleet_of

HOSTS = [f"h0-{number}" for number in range(10)]


def fleet_facts() -> dict[str, Facts]:
    """Return the facts of ten hosts: h0-2 has a quota and shares its kernel with h0-3, h0-4 a microcode of its own."""
    found = {}
    for number, host in enumerate(HOSTS):
        one = facts(host, "5.15.0" if number in {2, 3} else "6.1.0")
        system = replace(one.system, boot_id=f"boot-{number}", uptime=100.0 * number, host_name=host)
        cpu = replace(one.cpu, quota=0.5) if number == 2 else replace(one.cpu, quota=2.0)
        cloud = CloudFacts(instance_type="c7i.2xlarge", instance_id=f"i-{number}", region="eu-1")
        found[host] = replace(one, system=system, cpu=cpu, cloud=cloud)
    return found


def test_a_lemon_differs_in_what_no_other_host_has_first() -> None:
    found = differing_facts("h0-2", fleet_facts())
    assert [(one.title, one.sharing) for one in found] == [("CPU · cgroup CPU quota", 0), ("System · Kernel", 1)]
    assert found[0].text.endswith(": 0.5; others: 2")
    assert "(also on 1 other)" in found[1].text


def test_what_always_differs_and_what_most_share_is_no_explanation() -> None:
    assert differing_facts("h0-5", fleet_facts()) == []
    assert differing_facts("h9-9", fleet_facts()) == []
    assert differing_facts("h0-2", {"h0-2": fleet_facts()["h0-2"]}) == []


def test_two_populations_are_separated_by_what_all_of_each_have() -> None:
    found = fleet_facts()
    for host in HOSTS[:5]:
        found[host] = replace(found[host], cpu=replace(found[host].cpu, model="EPYC 7R13"))
    (one,) = separating_facts(HOSTS[:5], HOSTS[5:], found)
    assert (one.title, one.low, one.high) == ("CPU · Model", "EPYC 7R13", "Xeon Platinum 8488C")
    assert separating_facts(HOSTS[:6], HOSTS[6:], found) == []
    assert separating_facts(HOSTS[:5], ["h9-9"], found) == []


ATTRIBUTES = {"Instance id": "i-2", "Type": "c7i.2xlarge", "Zone": "eu-1a", "Image": "", "Launched": "2026-11-30"}


def ticket(*, markdown: bool = False, sessions: int = 2) -> str:
    one = fleet_of(np.random.default_rng(1), SimulatedFleet(sessions=sessions), {2: 0.5})
    found = find_lemons([one]).lemons
    return lemon_ticket(found, ATTRIBUTES, differing_facts("h0-2", fleet_facts()), markdown=markdown)


def test_the_ticket_identifies_the_instance_and_what_was_measured() -> None:
    lines = ticket().splitlines()
    assert lines[0].startswith("Instance h0-2 is slow: ")
    assert "Instance id: i-2" in lines
    assert not any(line.startswith("Image") for line in lines)
    (measured,) = [line for line in lines if line.startswith("Measured: ")]
    for part in ("Rate of cpu", "higher is better", "slower (95 % CI ", "6 trials in 2 sessions", "9 other", "(Holm)"):
        assert part in measured
    assert any(line.startswith("Group: type-0: median ") for line in lines)
    assert any(line.startswith("Differs: CPU · cgroup") for line in lines)
    assert sum(line.startswith("To do: ") for line in lines) == 3
    assert any(line.startswith("Not checked: ") for line in lines)


def test_one_session_and_unread_facts_are_named_as_not_checked() -> None:
    def unchecked(text: str) -> int:
        return sum(line.startswith("Not checked: ") for line in text.splitlines())

    assert unchecked(ticket(sessions=1)) == unchecked(ticket()) + 1
    one = find_lemons([fleet_of(np.random.default_rng(1), SimulatedFleet(), {2: 0.5})]).lemons
    assert unchecked(lemon_ticket(one, {}, None)) == unchecked(ticket()) + 1
    assert "Differs: no fact" in lemon_ticket(one, {}, [])


def test_a_verdict_in_doubt_is_in_the_ticket_and_its_cause_is_the_first_thing_to_do() -> None:
    one = find_lemons([fleet_of(np.random.default_rng(1), SimulatedFleet(), {2: 0.5})]).lemons
    lines = lemon_ticket(one, {}, [], {"cpu": "doubtful: Host is busy"}).splitlines()
    assert any(line.startswith("Verdict: cpu ") and line.endswith("doubtful: Host is busy") for line in lines)
    first, *rest = [line for line in lines if line.startswith("To do: ")]
    assert "doubt" in first
    assert len(rest) == 2
    assert not any(line.startswith("Verdict") for line in ticket().splitlines())


def test_markdown_is_escaped_and_long_lists_are_cut() -> None:
    one = find_lemons([fleet_of(np.random.default_rng(1), SimulatedFleet(), {2: 0.5})]).lemons
    many = {f"a{number}": "*<b>\x1b[2J" for number in range(MOST_ATTRIBUTES + 3)}
    facts_found = differing_facts("h0-2", fleet_facts()) * MOST_FACTS
    text = lemon_ticket(one, many, facts_found, markdown=True)
    assert text.startswith("### Instance h0-2")
    assert "\\*\\<b\\>" in text
    assert "\x1b" not in text
    assert "\x1b" not in lemon_ticket(one, many, None)
    assert "- **Attributes**: and 3 more" in text.splitlines()
    assert text.count("**Differs**") == MOST_FACTS + 1


def test_the_ticket_of_a_spread_names_the_ratio_of_spreads() -> None:
    one = fleet_of(np.random.default_rng(4), SimulatedFleet(types=4, sessions=3, trials=10), noisier=3)
    (lemon,) = find_lemons([one]).lemons
    assert lemon.kind is LemonKind.SPREAD
    text = lemon_ticket([lemon], {}, None)
    assert text.partition(":")[0].endswith(" unsteady")
    assert "Group:" not in text
