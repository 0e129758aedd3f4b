"""Whatever a line of the user's own is written like: it reaches no device, and everyday lines are not refused.

The host's guard alone judges each line; none of them is run.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.plans.plan import make_step
from remote.target_guard import REFUSED, refusal, target_guard
from suites.base import Context
from tests.loop_devices import MIB, loops, loops_to_itself
from tests.messages import messages

MESSAGES = messages("lab", "test_command_guard")
TABLES = Path(__file__).parents[1] / "data" / "command"

Names = dict[str, str]


@pytest.fixture(scope="module")
def names(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Names]:
    """Yield a loop device under the names that a line could give it."""
    root = tmp_path_factory.mktemp("guard")
    folder, private, secret = root / "asm", root / "private", root / "secret"
    for each in (folder / "deep", private / "sub", secret, *(root / "work" / name for name in ("src", "sub", "out"))):
        each.mkdir(parents=True)
    with loops(root) as make:
        with loops_to_itself():
            device = make("precious.img", MIB)
        for link in (folder / "l7", folder / "hostname", folder / "deep" / "hostname", private / "own", secret / "l7"):
            link.symlink_to(device)
        (folder / "up").symlink_to("/dev")
        (private / "other" / "deep").mkdir(parents=True)
        (private / "precious2.img").symlink_to(folder / "l7")
        os.mknod(folder / "node", 0o600 | 0o060000, Path(device).stat().st_rdev)
        os.link(root / "precious.img", root / "second.img")
        (private / "hostname").touch()
        (private / "other" / "deep" / "file").symlink_to(device)
        (root / "evil.fio").write_text(f"[j]\nrw=write\nsize=4k\nfilename={device}\n")
        yield {
            "device": device,
            "name": Path(device).name,
            "number": Path(device).name.removeprefix("loop"),
            "folder": str(folder),
            "link": str(folder / "l7"),
            "root": str(root),
            "private": str(private),
            "many": " ".join(map(str, range(70))),
            "work": str(root / "work"),
            "up": "../" * 12,
        }


def judge(line: str, names: Names, where: str = "private", **values: object) -> str:
    """Return why the guard of a host refuses `line` in a step's private directory; empty where it does not."""
    step = make_step("command", {"command": line, "shell": True, **values})
    (command,) = step.suite.commands(step.values, Context())
    done = subprocess.run(
        target_guard(command.targets, ["true"]),
        cwd=names[where],
        capture_output=True,
        check=False,
        timeout=60,
        env={"PATH": os.environ["PATH"], "HOME": names["root"], "OUT": f"{names['root']}/out", "DISK": names["device"],
             "OPTIONS": f"-v --output={names['device']}", "DD": f"bs=4k of={names['device']}"},
    )  # fmt: skip
    assert done.returncode in {0, REFUSED}, done
    assert bool(done.returncode) == bool(done.stderr), done
    return refusal(done.returncode, done.stderr)


def lines(name: str) -> list[str]:
    """Return the lines of a table in tests/data/command without its headings."""
    table = (TABLES / f"guard-{name}.txt").read_text(encoding="utf-8")
    return [line for line in table.split("\n") if line and not line.startswith("# ")]


@pytest.mark.quick(80)
@pytest.mark.parametrize("line", lines("refused") + lines("unclosed"))
def test_a_line_that_reaches_a_device_is_refused(names: Names, line: str) -> None:
    assert judge(line.format(**names), names)


@pytest.mark.parametrize("line", lines("everyday"))
def test_an_everyday_line_is_not_refused(names: Names, line: str) -> None:
    assert judge(line.format(**names), names, "work") == ""


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("dd if=/dev/zero of=$WHERE", {"environment": "WHERE={device}"}),
        ("dd if=/dev/zero of=x$WHERE", {"environment": "WHERE=/../../asm/l7"}),
        ("cd dev; dd if=/dev/zero of={name}", {"environment": "CDPATH=/"}),
        ("dd if=/dev/zero of={name}", {"working_directory": "/dev"}),
        ("dd if=/dev/zero of=l7", {"working_directory": "{folder}"}),
        ("dd if=/dev/zero of={name}", {"working_directory": "{folder}/up"}),
        ("perl prog.pl -f{name}", {"working_directory": "/dev"}),
        ("dd if=/dev/zero of={link}", {"shell": False}),
        ("fio {root}/evil.fio", {"shell": False}),
        ("sh -c 'dd of={link}'", {"shell": False}),
        ("cp /etc/passwd {link} -v", {"shell": False}),
    ],
)
def test_a_line_reaches_no_device_by_its_other_parameters(
    names: Names, line: str, values: dict[str, str | bool]
) -> None:
    given: dict[str, Any] = {
        name: value.format(**names) if isinstance(value, str) else value for name, value in values.items()
    }
    assert judge(line.format(**names), names, **given)


@pytest.mark.parametrize("line", ["dd of=a*b", "echo x > /dev/loop0", "dd of=$X of=~/x", "echo ${x"])
def test_signs_mean_nothing_where_no_shell_reads_them(names: Names, line: str) -> None:
    assert judge(line, names, "work", shell=False) == ""


def test_what_this_account_may_not_look_at_is_refused(names: Names) -> None:
    """With sudo the program may write where the guard cannot look."""
    with tempfile.TemporaryDirectory() as made:
        open_to_all, secret = Path(made), Path(made) / "secret"
        open_to_all.chmod(0o755)
        secret.mkdir(mode=0o700)
        (secret / "link").symlink_to(names["device"])
        (open_to_all / "link").symlink_to(secret / "link")

        def refused(line: str) -> bool:
            step = make_step("command", {"command": line, "shell": True})
            (command,) = step.suite.commands(step.values, Context())
            words = target_guard(command.targets, ["true"])
            return subprocess.run(words, cwd=made, user=65534, capture_output=True, check=False).returncode == REFUSED

        for path in (f"{secret}/link", f"{made}/link", "link", "secret/link", "secret/new", f"{secret}/l*"):
            assert refused(f"sudo dd if=/dev/zero of={path}"), path
        for path in (f"{made}/new", "new", "/nowhere/new", f"{made}/new*"):
            assert not refused(f"sudo dd if=/dev/zero of={path}"), path


@pytest.mark.parametrize(
    "line",
    [
        "flock " * 3000,
        "sudo " * 3000 + "dd of=x",
        "xargs " * 3000 + "dd of=x",
        "{a,b}" * 800,
        "{{{{{{{{" * 300,
        "{a," * 900,
        "$(" * 2000,
        "$(a " * 300 + ")" * 300,
        "`a " * 2001,
        "( " * 3000,
        "${x:-" * 800 + "}" * 800,
        "$((" * 1500,
        "sh -c " * 1500 + "x",
        "eval " * 1500 + "x",
        "echo 'a b' | sh; " * 300,
        "ln -s a b; " * 300,
        "cd a; " * 600,
        "A=$A$A; " * 300 + "dd of=$A",
        "for i in 1 2 3; do A=$A$A$i; B=$A$B$i; done; " * 40,
        "find . -exec find . -exec " * 200 + "x ;",
        "parallel " * 800,
        "'a b' " * 1500,
        "> x " * 2000,
        "*" * 9000,
        "\\ " * 4000,
        "~" * 9000,
    ],
)
def test_a_line_that_asks_too_much_is_answered_at_once(names: Names, line: str) -> None:
    from_ = time.monotonic()
    judge(line[:4000], names, "work")
    assert time.monotonic() - from_ < 60


def test_a_refusal_is_readable(names: Names) -> None:
    assert MESSAGES["to_read_it_give_it_as"] in judge("./bench {device}".format(**names), names)
    assert judge("dd of=$1é", names) == (MESSAGES["dd_writes_to_and_only_a"])
    assert "\u009b" not in judge("dd of=$1\u009b31m", names)
