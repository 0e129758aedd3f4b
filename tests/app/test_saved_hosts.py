"""The hosts a user has typed in, and the aliases of ~/.ssh/config beside them."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.hosts.hosts import HostEntry, Hosts, HostsError, Origin, SavedHosts

WEB = HostEntry("web", Origin.SAVED, host_name="10.0.0.5", port=2222, user="admin", jump="bastion")


def test_a_saved_host_is_there_the_next_time(tmp_path: Path) -> None:
    SavedHosts(tmp_path / "folder" / "hosts.toml").save(WEB)
    assert SavedHosts(tmp_path / "folder" / "hosts.toml").entries() == [WEB]


def test_processes_that_save_at_once_lose_no_host(tmp_path: Path) -> None:
    names = [f"web-{number}" for number in range(16)]
    with ThreadPoolExecutor(8) as threads:  # each its own object and so its own lock, as in another process
        list(threads.map(lambda name: SavedHosts(tmp_path / "hosts.toml").save(HostEntry(name)), names))
    assert {entry.name for entry in SavedHosts(tmp_path / "hosts.toml").entries()} == set(names)


def test_saving_again_replaces(tmp_path: Path) -> None:
    saved = SavedHosts(tmp_path / "hosts.toml")
    saved.save(WEB)
    saved.save(HostEntry("web", host_name="10.0.0.6"))
    assert [entry.host_name for entry in saved.entries()] == ["10.0.0.6"]


def test_removing_an_unknown_host_says_so(tmp_path: Path) -> None:
    with pytest.raises(HostsError, match="“web” is not a saved host"):
        SavedHosts(tmp_path / "hosts.toml").remove("web")


@pytest.mark.parametrize("name", ["", "local", "two words", "-option", "new\nline", "right\u202eleft"])
def test_names_that_would_mislead_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(HostsError):
        SavedHosts(tmp_path / "hosts.toml").save(HostEntry(name))


@pytest.mark.parametrize("text", ["[web", "web = 1", "[web]\npassword = 'x'", "[web]\nport = 'ssh'"])
def test_a_damaged_file_is_named_and_kept(tmp_path: Path, text: str) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text(text)
    with pytest.raises(HostsError, match=r"hosts\.toml"):
        SavedHosts(path).save(WEB)
    assert path.read_text() == text


def test_all_hosts_begin_with_this_computer_and_name_the_aliases(tmp_path: Path) -> None:
    config = Path(os.environ["HOME"]) / ".ssh" / "config"
    config.parent.mkdir()
    config.write_text("Host db web\n  User root\nHost *.example\n  Port 2200\n")
    saved = SavedHosts(tmp_path / "hosts.toml")
    saved.save(WEB)
    reported = [(entry.name, entry.origin) for entry in Hosts(saved).entries()]
    assert reported == [("local", Origin.THIS_COMPUTER), ("web", Origin.SAVED), ("db", Origin.SSH_CONFIG)]


def test_what_was_typed_in_wins_over_the_config(tmp_path: Path) -> None:
    config = Path(os.environ["HOME"]) / ".ssh" / "config"
    config.parent.mkdir()
    config.write_text("Host web\n  HostName elsewhere\n  User somebody\n  IdentityFile ~/.ssh/special\n")
    saved = SavedHosts(tmp_path / "hosts.toml")
    saved.save(HostEntry("web", host_name="10.0.0.5"))
    target = Hosts(saved).target("web")
    assert (target.host_name, target.user) == ("10.0.0.5", "somebody")
    assert str(target.identity_files[0]).endswith("/.ssh/special")


def test_a_bad_ssh_config_hides_its_aliases_and_nothing_else(tmp_path: Path) -> None:
    config = Path(os.environ["HOME"]) / ".ssh" / "config"
    config.parent.mkdir()
    config.write_text('Host db\n  Port nonsense\nHost "unclosed\n')
    hosts = Hosts(SavedHosts(tmp_path / "hosts.toml"))
    assert [entry.name for entry in hosts.entries()] == ["local"]
    assert str(config) in hosts.problem()


def test_a_name_of_the_users_own_has_the_settings_of_its_address(tmp_path: Path) -> None:
    config = Path.home() / ".ssh" / "config"
    config.parent.mkdir(mode=0o700, exist_ok=True)
    config.write_text("Host web\n  Port 2200\nHost *.corp\n  User ann\n")
    saved = SavedHosts(tmp_path / "hosts.toml")
    saved.save(HostEntry("db", host_name="db1.corp"), HostEntry("web", host_name="10.0.0.5"))
    hosts = Hosts(saved)
    named, alias = hosts.target("db"), hosts.target("web")
    assert (named.name, named.host_name, named.user) == ("db", "db1.corp", "ann")
    assert (alias.name, alias.host_name, alias.port) == ("web", "10.0.0.5", 2200)


def test_hosts_are_shown_as_ssh_reaches_them(tmp_path: Path) -> None:
    config = Path.home() / ".ssh" / "config"
    config.parent.mkdir(mode=0o700, exist_ok=True)
    config.write_text(
        "Host bastion\n  HostName 198.51.100.7\n  User ops\n  Port 2200\n"
        "Host six\n  HostName 2001:db8::1\n  Port 2222\n  User ann\n"
    )
    saved = SavedHosts(tmp_path / "hosts.toml")
    saved.save(HostEntry("db", host_name="192.0.2.14", user="ann", jump="bastion"), HostEntry("bad", jump="bad"))
    assert Hosts(saved).resolved() == {
        "bastion": "ops@198.51.100.7:2200",
        "db": "ann@192.0.2.14 via ops@198.51.100.7:2200",
        "six": "ann@[2001:db8::1]:2222",
    }


def test_what_was_replaced_is_returned_so_that_it_can_be_saved_again(tmp_path: Path) -> None:
    saved = SavedHosts(tmp_path / "hosts.toml")
    saved.save(WEB)
    before = saved.save(HostEntry("web-2"), instead=["web"])
    assert before == [WEB]
    saved.save(*before, instead=["web-2"])
    assert saved.entries() == saved.remove("web") == [WEB]
