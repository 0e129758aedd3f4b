"""Every distribution's own package manager is asked in its own words, and nothing is asked back."""

import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from app.hosts.packages import has_program, installation_of, package_manager, usable_suites, works_without
from remote.facts.items import parse_items
from remote.probe import understand
from suites.command.known_programs import KNOWN_PROGRAMS
from suites.facts import Facts
from suites.programs import MARIADB_SERVER, Program
from suites.registry import SUITES, programs, suite
from tests.disk_host import disk_host, without_tool
from tests.messages import messages

MESSAGES = messages("app", "test_packages")

RELEASES = Path(__file__).parents[1] / "data" / "os-release"
MARK = "0123456789abcdef"


def host(release: str, user: str = "ann") -> Facts:
    """Return the facts of a host whose /etc/os-release is the captured one."""
    items = {"os_release": (RELEASES / release).read_text(), "id": f"uid=1000({user}) gid=1000({user})", "end": "."}
    frames = "".join(f"@@{MARK} {name} {len(text)}\n{text}\n" for name, text in items.items())
    return understand(parse_items(frames.encode(), MARK), "web-1", "")


FIO = {
    "debian-12": "sudo sh -c 'apt-get update; "
    "DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends fio'",
    "fedora-40": "sudo dnf install -y fio",
    "rhel-9.4": "sudo dnf install -y fio",
    "rocky-9.4": "sudo dnf install -y fio",
    "centos-7": "sudo yum install -y fio",
    "amazon-linux-2": "sudo yum install -y fio",
    "amazon-linux-2023": "sudo dnf install -y fio",
    "opensuse-leap-15.6": "sudo zypper --non-interactive install fio",
    "opensuse-tumbleweed": "sudo zypper --non-interactive install fio",
    "sles-15.5": "sudo zypper --non-interactive install fio",
    "alpine-3.20": "sudo apk add --no-cache fio",
    "arch": "sudo sh -c 'ls /var/lib/pacman/sync/*.db >/dev/null 2>&1 || pacman -Sy; "
    "pacman -S --needed --noconfirm fio'",
}
FIO |= {"ubuntu-24.04": FIO["debian-12"], "linuxmint-22": FIO["debian-12"]}


def test_every_captured_distribution_has_its_command() -> None:
    assert set(FIO) == {path.name for path in RELEASES.iterdir()}


@pytest.mark.parametrize("release", sorted(FIO))
def test_the_command_is_that_of_the_distribution(release: str) -> None:
    assert installation_of([suite("fio").program], host(release)).command == FIO[release]


def test_perf_of_ubuntu_is_that_of_its_kernel() -> None:
    (perf,) = (each for each in KNOWN_PROGRAMS if each.title == "perf")
    facts = host("ubuntu-24.04")
    facts = replace(facts, system=replace(facts.system, kernel="6.8.0-1009-aws"))
    assert packages_in(str(installation_of([perf], facts).command)) == ["linux-tools-6.8.0-1009-aws"]
    assert packages_in(str(installation_of([perf], host("debian-12")).command)) == ["linux-perf"]


@pytest.mark.parametrize("release", sorted(FIO))
def test_a_suite_is_installed_wherever_somebody_packages_it(release: str) -> None:
    manager = package_manager(host(release))
    for each in SUITES:
        package = each.program.packages.get("dnf" if manager == "yum" else str(manager))
        command = installation_of([each.program], host(release)).command
        if package is None:
            assert command is None, each.id
        else:
            assert command is not None, each.id
            assert packages_in(command) == package.split(), each.id


INSTALL = {"apt-get", "dnf", "yum", "zypper", "apk", "pacman"}


def packages_in(command: str) -> list[str]:
    """Return the packages that `command` names, as the package manager gets them: words after its last option."""
    words = shlex.split(command.removeprefix("sudo "))
    if words[:2] == ["sh", "-c"]:
        assert len(words) == 3
        words = shlex.split(words[2])
    last = max(place for place, word in enumerate(words) if word in INSTALL)
    return [word for word in words[last + 1 :] if word not in {"install", "add"} and not word.startswith("-")]


@pytest.mark.parametrize("release", sorted(FIO))
def test_every_program_that_a_suite_needs_is_a_word_for_every_package_manager(release: str) -> None:
    facts = host(release)
    family = str(package_manager(facts)).replace("yum", "dnf")
    declared = [program for each in SUITES for program in each.other_programs]
    of_ubuntu = "ubuntu" if release in {"ubuntu-24.04", "linuxmint-22"} else family

    def packages(program: Program) -> list[str]:
        given = program.packages.get(of_ubuntu, program.packages[family])
        return given.replace("{kernel}", "generic").split()  # these releases do not tell their kernel

    for program in declared:
        command = installation_of([program], facts).command
        assert command is not None, program.title
        assert packages_in(command) == packages(program)
    command = installation_of(declared, facts).command
    assert command is not None
    wanted = [package for program in declared for package in packages(program)]
    assert packages_in(command) == list(dict.fromkeys(wanted))


@pytest.mark.parametrize("release", sorted(FIO))
def test_a_shell_reads_the_command_as_it_is_shown(release: str, tmp_path: Path) -> None:
    """Each program in the command is a stand-in that writes down its words, one to a line."""
    for name in (*INSTALL, "sudo"):
        (tmp_path / name).write_text(
            f'#!/bin/sh\n[ "${{0##*/}}" != sudo ] || exec "$@"\nprintf "%s\\n" "${{0##*/}}" "$@" >{tmp_path}/words\n'
        )
        (tmp_path / name).chmod(0o755)
    command = installation_of(
        [suite("linpack").program, *suite("unixbench").other_programs, suite("iperf3").program], host(release)
    ).command
    assert command is not None
    subprocess.run(["sh", "-c", command], env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, check=True)
    got = (tmp_path / "words").read_text().splitlines()
    packages = packages_in(command)
    assert got[-len(packages) :] == packages
    assert not any(" " in word for word in got)


def test_every_suite_is_packaged_somewhere_or_known_to_be_packaged_nowhere() -> None:
    assert {program.title for program in programs() if not program.packages} == {"geekbench", "speccpu", "unixbench"}


@pytest.mark.parametrize(
    ("release", "note"),
    [
        ("rhel-9.4", "epel-release-latest-9.noarch.rpm"),
        ("rocky-9.4", "dnf install -y epel-release"),
        ("amazon-linux-2023", "dnf install -y spal-release"),
        ("amazon-linux-2", "amazon-linux-extras install -y epel"),
        ("sles-15.5", "PackageHub"),
        ("alpine-3.20", "community repository"),
        ("arch", "pacman -Syu"),
    ],
)
def test_what_has_to_be_enabled_first_is_told(release: str, note: str) -> None:
    assert note in installation_of([suite("sysbench-cpu").program], host(release)).note


@pytest.mark.parametrize("release", ["debian-12", "ubuntu-24.04", "fedora-40", "opensuse-tumbleweed"])
def test_where_nothing_has_to_be_enabled_nothing_is_told(release: str) -> None:
    assert installation_of([suite("sysbench-cpu").program], host(release)).note == ""
    assert installation_of([suite("fio").program], host("rocky-9.4")).note == ""


def test_several_tools_come_in_one_command_and_root_needs_no_sudo() -> None:
    wanted = [suite(name).program for name in ("sysbench-cpu", "sysbench-memory", "iperf3")]
    assert installation_of(wanted, host("fedora-40", "root")).command == MESSAGES["dnf_install_y_sysbench"]
    assert installation_of(wanted, host("opensuse-leap-15.6", "root")).command == (
        "zypper --non-interactive install sysbench iperf"
    )


def test_a_distribution_nobody_knows_has_no_command() -> None:
    assert installation_of([suite("fio").program], disk_host(distribution="haiku")).command is None


def test_what_works_as_the_host_is_can_be_told() -> None:
    facts = without_tool(disk_host(), "fio")
    assert [each.id for each in usable_suites(facts) if each.id in {"fio", "dd"}] == ["dd"]
    assert has_program(suite("fio").program, facts) is False
    assert has_program(suite("iperf3").program, facts) is None  # nobody looked
    bare = without_tool(facts, "dd")
    assert not {"fio", "dd"} & {each.id for each in usable_suites(bare)}
    assert "dd" in works_without(facts)
    assert "dd" not in works_without(bare)


def test_a_package_that_starts_a_server_is_told() -> None:
    assert "starts a server" in installation_of([suite("pgbench").program], host("debian-12")).note
    assert "starts a server" in installation_of([MARIADB_SERVER], host("ubuntu-24.04")).note
    assert installation_of([suite("pgbench").program], host("fedora-40")).note == ""


def test_fresh_images_fetch_their_lists_first() -> None:
    assert "'apt-get update; " in str(installation_of([suite("linpack").program], host("ubuntu-24.04")).command)
    assert "|| pacman -Sy; " in str(installation_of([suite("fio").program], host("arch")).command)
