"""A shell's line is taken apart as a shell does it."""

import re
import shutil
import subprocess
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.command.program_rules import FileUse, starts, use_of
from suites.command.shell_expansion import Variables, all_commands, is_plain
from suites.command.shell_parser import commands
from suites.command.targets import targets_of_line
from suites.fio_job.command_line import FLAGS, OWN_FLAGS, OWN_VALUED, options_of
from suites.fio_job.file import ENGINES, KNOWN
from suites.targets import Target

FIO = shutil.which("fio") or ""


def forms(text: str) -> list[list[tuple[str, ...]]]:
    (command,) = commands(text, by_shell=True)
    return [Variables(()).forms(word) for word in command.words]


def words(text: str) -> list[str]:
    return [text for (form,) in forms(text) for text in form]


def targets(text: str) -> tuple[Target, ...]:
    return targets_of_line(text, {"shell": True, "environment": "", "working_directory": ""})


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("echo a>b", (["echo", "a"], ["b"])),
        ("echo a2>b", (["echo", "a2"], ["b"])),
        ("echo a 2>b", (["echo", "a"], ["b"])),
        ("echo a &>b", (["echo", "a"], ["b"])),
        ("echo a >&2", (["echo", "a"], [])),
        ("echo a >&-", (["echo", "a"], [])),
        ("echo 'a>b'", (["echo", "a>b"], [])),
        ('echo "a>b"\\>c', (["echo", "a>b>c"], [])),
        ("echo a#b # c>d", (["echo", "a#b"], [])),
        ("echo a<b>c", (["echo", "a"], ["c"])),
        (">b echo", (["echo"], ["b"])),
    ],
)
def test_redirections_are_told_from_words(text: str, found: tuple[list[str], list[str]]) -> None:
    (command,) = commands(text, by_shell=True)
    assert (command.texts, [word.text for word in command.written]) == found


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a; b", 2),
        ("a && b || c", 3),
        ("a | b |& c", 3),
        ("(a; b) & c", 3),
        ("{ a; }", 1),
        ("a $(b; c) `d`", 4),
        ('"$(a "$(b)")"', 3),
        ("a\nb", 2),
        ("case x in a) b ;; (c) d ;; esac", 5),
        ("a <(b) >(c)", 3),
    ],
)
def test_each_command_is_found(text: str, count: int) -> None:
    assert len([each for each in all_commands(commands(text, by_shell=True)) if each.texts != ["}"]]) == count


@pytest.mark.parametrize("text", ["'a", '"a', "a $(b", "a `b", "a ${b", "cat <<EOF"])
def test_what_has_no_end_is_no_line(text: str) -> None:
    with pytest.raises(ValueError, match=r"no|here"):
        commands(text, by_shell=True)


PLAIN = [*"aB7./=:-+%@", "''", '""', "\\ ", "\\$", "\\'", '\\"', "\\\\", "'q r'", "'$X'", "'\\'", '"d e"', "\\a"]
EXPANDED = ['"$X"', "$X", "${X}", '"${X}"', "${Y:-z}", '"${Y:-z z}"', "${X:-z}", "$'n'", '"\\a"', '"a\\"b"', "{a,b}"]
PIECES = st.sampled_from([*PLAIN, *EXPANDED, "x{1,2}y"])
WORD = st.lists(PIECES, min_size=1, max_size=6).map("".join)


@given(st.lists(WORD, min_size=1, max_size=4))
@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_words_are_what_bash_makes_of_them(given_words: list[str]) -> None:
    line = "printf '%s\\0' " + " ".join(given_words)
    done = subprocess.run(["bash", "-c", f"X=v; {line}"], capture_output=True, text=True, check=False)
    if done.returncode:
        return  # a quotation without its end
    theirs = done.stdout.split("\0")[:-1]
    (command,) = commands(line, by_shell=True)
    variables = Variables([("X", "v"), ("Y", "")])
    ours = [variables.forms(word) for word in command.words[2:]]
    possible = [[text for form in each for text in form] for each in ours]
    if all(is_plain(text) for each in possible for text in each):
        assert all(any(text in each for each in possible) for text in theirs if text), (line, theirs, possible)


SIGNS = [*"abc$`'\"\\(){}[]<>|&;#~*?=:!,. /\n", "$(", "${", "dd of=", "sh -c ", "eval ", "cd ", "ln -s ", "xargs "]


@given(st.lists(st.sampled_from([*SIGNS, "find ", "for ", "do ", "A="]), max_size=40).map("".join))
def test_no_line_breaks_the_reader(text: str) -> None:
    targets(text)


@pytest.mark.parametrize(
    ("line", "program"),
    [("sudo -u x nice -n 5 dd", 6), ("A=1 timeout -k 5 10 dd", 5), ("env -C /x A=1 dd", 4), ("if ! dd", 2)],
)
def test_the_program_is_found_behind_what_leads_to_it(line: str, program: int) -> None:
    assert starts(line.split())[0] == [program]


@pytest.mark.parametrize(
    ("line", "does_it"),
    [
        ("e2fsck -fn /dev/x", FileUse.READS),
        ("e2fsck -f /dev/x", FileUse.WRITES),
        ("tune2fs -l /dev/x", FileUse.READS),
        ("tune2fs /dev/x", FileUse.WRITES),
        ("fdisk /dev/x", FileUse.WRITES),
        ("parted /dev/x", FileUse.WRITES),
        ("xxd -r a b", FileUse.ANYTHING),
        ("mkfs.xfs /dev/x", FileUse.WRITES),
        ("fsck.ext4 -n /dev/x", FileUse.READS),
        ("fsck.ext4 -y /dev/x", FileUse.WRITES),
        ("wipefs /dev/x", FileUse.READS),
        ("wipefs -af /dev/x", FileUse.WRITES),
        ("cryptsetup luksFormat /dev/x", FileUse.WRITES),
        ("./bench", FileUse.ANYTHING),
    ],
)
def test_a_program_reads_or_writes_by_its_words(line: str, does_it: FileUse) -> None:
    name, *arguments = line.split()
    assert use_of(name, arguments) is does_it


def test_names_of_fio_files_add_up() -> None:
    line = options_of(["--name=a", "--filename=x", "--filename=y"])
    assert line.options == [("name", "a"), ("filename", "x"), ("filename", "y")]


@pytest.mark.parametrize(
    ("line", "files", "unknown"),
    [
        ("--zero_buffers x", ["x"], []),
        ("--zero_buffers=1 x", ["x"], []),
        ("--bs 4k x", ["x"], []),
        ("--eta-newline 1", [], []),
        ("--group_rep x", ["x"], []),
        ("--nosuch x", ["x"], ["nosuch"]),
    ],
)
def test_fio_takes_the_next_word_for_a_value_or_not(line: str, files: list[str], unknown: list[str]) -> None:
    found = options_of(line.split())
    assert (found.files, found.unknown) == (files, unknown)


def shown(*words: str) -> str:
    done = subprocess.run([FIO, *words], capture_output=True, text=True, check=False, timeout=60)
    return done.stdout + done.stderr


def flags_among(names: Iterable[str]) -> set[str]:
    return {name for name in names if "type: empty or boolean" in shown(f"--cmdhelp={name}")}


@pytest.mark.skipif(not FIO, reason="needs fio")
def test_options_that_take_a_word_are_told_from_those_that_do_not() -> None:
    of_engines = {"fixedbufs", "hipri", "registerfiles", "sqthread_poll", "userspace_reap"}
    jobs = FLAGS - of_engines - {"wait_for_previous"}
    assert flags_among(jobs) == jobs
    assert flags_among({"fill_device", "unified_rw_reporting", "direct", "bs", "unlink", "filename"}) == set()
    for name in ("eta-newline", "status-interval", "output", "trigger"):
        assert "requires an argument" in shown(f"--{name}")
    for name in ("minimal", "bandwidth-log", "append-terse", "warnings-fatal", "readonly"):
        assert "requires an argument" not in shown(f"--{name}", "--parse-only")


@pytest.mark.slow
@pytest.mark.skipif(not FIO, reason="needs fio")
def test_options_without_a_value_are_those_of_the_installed_fio() -> None:
    flags = flags_among(re.findall(r"^ *([a-z0-9_-]+) *:", shown("--cmdhelp=all"), re.MULTILINE))
    for engine in ENGINES - {"linuxaio"}:
        for name in re.findall(r"^ *([a-z0-9_-]+) *:", shown(f"--enghelp={engine}"), re.MULTILINE):
            flags |= {name} if "type: empty or boolean" in shown(f"--enghelp={engine},{name}") else set()
    assert flags == FLAGS - {"wait_for_previous"}
    assert FLAGS - {"wait_for_previous"} <= KNOWN
    for name in (OWN_FLAGS | OWN_VALUED) - {"server", "crctest", "cpuclock-test"}:
        assert ("requires an argument" in shown(f"--{name}")) == (name in OWN_VALUED), name
