"""A compiler or a database server that a step needs is told of before the run, with the command that installs it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from app.checks.before import check_plan
from app.checks.catalogue import blocks
from app.plans.plan import Plan, make_step
from suites.facts import Absent, Facts, Tool
from suites.vocab import Finding, Severity
from tests.app.test_false_warnings import server
from tests.messages import messages

MESSAGES = messages("app", "test_missing_programs")

MISSING = Absent("not installed")


def host(*missing: str, name: str = "web-1", architecture: str = "x86_64") -> Facts:
    """Return the facts of a Debian server with every program but those `missing`."""
    facts = server(name)
    tools = tuple(tool for tool in facts.tools if tool.name not in missing)
    absent = tuple(Tool(name=tool, version=MISSING, path=MISSING) for tool in missing)
    return replace(facts, system=replace(facts.system, architecture=architecture), tools=(*tools, *absent))


def missing_on(facts: Mapping[str, Facts], suite: str, *, peer: str | None = None, **given: object) -> list[Finding]:
    plan = Plan("missing", ("web-1",), (make_step(suite, given, peer=peer),))
    report = check_plan(plan, facts)
    assert "tool-missing" not in {unsure.id for unsure in report.cannot_tell}
    return [finding for finding in report.findings if finding.id == "tool-missing"]


def missing(suite: str, facts: Facts, **given: Any) -> list[Finding]:
    return missing_on({"web-1": facts}, suite, **given)


PROBES = ("stream", "compute", "memory-blocks")


@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
@pytest.mark.parametrize("suite", PROBES)
def test_a_plain_cloud_image_needs_no_compiler(suite: str, architecture: str) -> None:
    assert missing(suite, host("gcc", "cc", "make", "perl", architecture=architecture)) == []


@pytest.mark.parametrize("build", ["auto", "host"])
@pytest.mark.parametrize("suite", PROBES)
def test_a_compiler_is_named_where_the_probe_has_to_be_built(suite: str, build: str) -> None:
    facts = host("gcc", "cc", architecture="riscv64" if build == "auto" else "x86_64")
    (found,) = missing(suite, facts, build=build)
    assert found.severity is Severity.ERROR
    assert blocks(found)
    assert found.measured == MESSAGES["c_compiler_gcc_cc_was_not"]
    assert found.install == (
        "sudo sh -c 'apt-get update; DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "
        "gcc libc6-dev'"
    )
    assert missing(suite, host("gcc", architecture="riscv64"), build=build) == []  # cc will do
    assert missing(suite, host("cc", architecture="riscv64"), build=build) == []


@pytest.mark.parametrize(("suite", "given"), [("net-blocks", {}), ("latency-under-load", {"method": "probe"})])
def test_each_end_of_the_network_is_looked_at(suite: str, given: dict[str, Any]) -> None:
    bare = host("gcc", "cc", name="db-1", architecture="riscv64")
    (found,) = missing_on({"web-1": host(), "db-1": bare}, suite, peer="db-1", **given)
    assert (found.host, found.measured) == ("db-1", MESSAGES["c_compiler_gcc_cc_was_not_2"])
    assert "gcc libc6-dev" in str(found.install)
    plain = {"web-1": host("gcc", "cc"), "db-1": host("gcc", "cc", name="db-1", architecture="aarch64")}
    assert missing_on(plain, suite, peer="db-1", **given) == []
    assert missing_on({"web-1": host(), "db-1": bare}, "latency-under-load", peer="db-1", method="ping") == []


SERVERS = [
    ("pgbench", {}, "postgres", "PostgreSQL server (postgres)", "postgresql'"),
    ("sysbench-oltp", {"driver": "pgsql"}, "postgres", "PostgreSQL server (postgres)", "postgresql'"),
    ("sysbench-oltp", {"driver": "mysql"}, "mariadbd", "MariaDB server (mariadbd)", "mariadb-server'"),
    ("redis", {}, "redis-server", "Redis server (redis-server)", "redis-server'"),
    ("http", {}, "nginx", "nginx", "nginx'"),
]


@pytest.mark.parametrize(("suite", "given", "program", "words", "package"), SERVERS)
def test_a_server_that_is_to_be_started_must_be_there(
    suite: str, given: dict[str, Any], program: str, words: str, package: str
) -> None:
    (found,) = missing(suite, host(program), **given)
    assert found.severity is Severity.ERROR
    assert found.measured == f"{words} was not found on web-1."
    assert str(found.install).endswith(f"--no-install-recommends {package}")
    assert "starts a server" in found.remedy
    assert missing(suite, host(), **given) == []
    named = {"server": "named"} if suite in {"redis", "http"} else {"server": "named", "database": "bench"}
    assert missing(suite, host(program), **named, **given) == []


def test_the_other_server_is_not_asked_for() -> None:
    assert missing("sysbench-oltp", host("postgres"), driver="mysql") == []
    assert missing("sysbench-oltp", host("mariadbd"), driver="pgsql") == []


def test_all_that_is_missing_comes_in_one_command() -> None:
    (found,) = missing("sysbench-oltp", host("sysbench", "mariadbd"), driver="mysql")
    assert found.measured == MESSAGES["sysbench_and_mariadb_server"]
    assert str(found.install).endswith("--no-install-recommends sysbench mariadb-server'")


def test_unixbench_needs_what_its_run_calls() -> None:
    (found,) = missing("unixbench", host("perl", "make", "gcc", "cc"), archive="/srv/byte-unixbench.tar.gz")
    assert str(found.install).endswith("--no-install-recommends perl make gcc libc6-dev'")
    assert missing("unixbench", host("gcc", "cc"), folder="/opt/UnixBench") == []  # it may be built already
    (found,) = missing("unixbench", host("make"), folder="/opt/UnixBench")
    assert found.measured == MESSAGES["make_was_not_found_on_web_1"]
