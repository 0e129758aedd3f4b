"""A command line is read back into the values that it was made of, for every suite."""

import json
import math
import re
import shlex
import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suites import registry
from suites.base import Context, Suite, complete_values
from suites.command_line import command_text, lines_of
from suites.fio_job.file import ALIASES
from suites.parameters import Parameter, Type, Value

EMPTY = Context()
FIO = shutil.which("fio") or ""

TEXTS = {
    "block_sizes": ["", "4k-64k", "4k,64k", "4k/60:64k/40"],
    "steady_state": ["", "iops:10%", "bw_slope:0.5%"],
    "device": ["", "/dev/nvme9n1", "/dev/disk/by-id/a:b"],
    "depths": ["1, 4", "32"],
    "job_counts": ["1", "2, 4"],
    "blocks": ["4k", "4k, 1m"],
    "buffers": ["1 B, 1 KiB", "64k"],
    "congestion": ["", "bbr"],
    "command": ["sleep 1", "echo 'a b' | wc", "./run --n=1"],
    "environment": ["", "A=1 B=2"],
    "config": ["gcc.cfg"],
    "accepted": ["0", "0 1"],
    "directory": ["/var/tmp"],
    "path": ["/opt/hpl/xhpl"],
}
"""Valid texts of the parameters whose text is more than any word."""


def _value(parameter: Parameter) -> st.SearchStrategy[Value]:
    low = math.ceil(parameter.minimum if parameter.minimum is not None else 0)
    high = int(min(parameter.maximum if parameter.maximum is not None else 10**6, 10**6))
    if parameter.type is Type.CHOICE:
        return st.sampled_from([choice.value for choice in parameter.choices])
    if parameter.type is Type.FLAG:
        return st.booleans()
    if parameter.type in {Type.TEXT, Type.LINES}:
        return st.sampled_from(TEXTS.get(parameter.name, [str(parameter.default)]))
    return st.integers(low, max(low, high))


@st.composite
def _pairs(draw: st.DrawFn, suite: Suite) -> tuple[dict[str, Value], dict[str, Value]]:
    """Return the values of a command line, and the different ones of the step that it is read into."""

    def drawn() -> dict[str, Value]:
        return {
            known.name: draw(_value(known)) if known.name == "path" or draw(st.booleans()) else known.default
            for known in suite.parameters
        }

    shown, other = drawn(), drawn()
    readable = suite.syntax.readable(suite.parameters)
    kept = {known.name for known in suite.parameters if known.name not in readable or not known.identity}
    return complete_values(suite, shown), complete_values(suite, {**other, **{name: shown[name] for name in kept}})


@pytest.mark.parametrize("suite", registry.SUITES, ids=lambda suite: suite.id)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_line_is_read_back_into_its_values(suite: Suite, data: st.DataObject) -> None:
    shown, other = data.draw(_pairs(suite))
    text = command_text(suite, shown, EMPTY)
    parsed = suite.parse_command(text, other, EMPTY)
    assert parsed is not None
    assert parsed.unread == ()
    assert command_text(suite, parsed.values, EMPTY) == text


SPELLINGS: dict[str, dict[str, str]] = {
    "fio": {new: old for old, new in ALIASES.items()} | {"rwmixread": "rwmixwrite"},
    "iperf3": {"-t": "--time", "-P": "--parallel"},
}
"""Other spellings of options by suite."""


@pytest.mark.parametrize("suite", registry.SUITES, ids=lambda suite: suite.id)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_refusal_quotes_the_words_as_typed(suite: Suite, data: st.DataObject) -> None:
    """Each value of a command in turn is replaced by a bad one, and options by their other spellings."""
    shown, _ = data.draw(_pairs(suite))
    typed = shlex.split(command_text(suite, shown, EMPTY))
    at = data.draw(st.integers(1, max(1, len(typed) - 1)))
    for other, name in SPELLINGS.get(suite.id, {}).items():
        typed = [re.sub(rf"^(-*){other}(?==|$)", rf"\g<1>{name}", word) for word in typed]
    dashes, equals, _ = typed[-1 if at >= len(typed) else at].partition("=")
    typed[at:at] = [] if at < len(typed) else ["x"]
    typed[at] = f"{dashes}=-9z" if equals else "-9z"
    text = shlex.join(typed)
    parsed = suite.parse_command(text, complete_values(suite, {}), EMPTY)
    if parsed is not None:
        refused = [each.word for each in parsed.unread if each.blocks]  # of a command in quotes, what is left of it
        assert [word for words in refused for word in words.split() if word not in text] == []


@pytest.mark.parametrize(
    ("suite_id", "text", "values"),
    [
        ("fio", "fio --name=x --rw=randread --bs=8k", {"rw": "randread", "block_size": 8192, "iodepth": 1}),
        ("fio", "$ sudo -n env A=1 fio \\\n  --name x -rw=randwrite \\\n  --iodepth 32 --direct=1 --size=2g",
         {"rw": "randwrite", "iodepth": 32, "direct": True, "size": 2**31}),
        ("fio", "fio --name=x --readwrite=write --filename=/dev/sdz --runtime=1m --time_based",
         {"device": "/dev/sdz", "runtime": 60.0}),
        ("fio", "fio --name=x --rw=randrw --rwmixwrite=30", {"rwmixread": 70}),
        ("sysbench-cpu", "sysbench cpu --threads=4 run", {"threads": 4, "time": 10.0}),
        ("sysbench-cpu", "sysbench --test=cpu --num-threads=2 --max-time=5 run", {"threads": 2, "time": 5.0}),
        ("iperf3", "iperf3 -c h -t 30 -P 4", {"address": "h", "time": 30.0, "streams": 4}),
        ("iperf3", "iperf3 --client h -uR -b 20M -t30", {"protocol": "udp", "direction": "receive", "time": 30.0}),
        ("dd", "dd if=/dev/zero of=out bs=1M count=100 oflag=direct", {"block_size": 2**20, "flush": "direct"}),
        ("ioping", "ioping -D -c 5 .", {"cache": "direct", "count": 5}),
        ("pgbench", "pgbench -c 8 -j 4 -T 60 bench", {"clients": 8, "threads": 4, "time": 60.0}),
        ("stress-ng", "stress-ng --memrate 2 -t 1m", {"method": "memrate", "threads": 2, "time": 60.0}),
        ("command", "openssl speed -evp aes-256-gcm", {"command": "openssl speed -evp aes-256-gcm", "shell": False}),
        ("command", "make && time ./run | tail -1", {"shell": True}),
        ("fio-job", "fio --bs=4k --name=a --rw=read --name=b --rw=write",
         {"job": "[global]\nbs=4k\n[job1]\nrw=read\n[job2]\nrw=write"}),
    ],
)  # fmt: skip
def test_a_pasted_line_is_read(suite_id: str, text: str, values: dict[str, Value]) -> None:
    suite = registry.suite(suite_id)
    parsed = suite.parse_command(text, complete_values(suite, {}), EMPTY)
    assert parsed is not None
    assert values.items() <= parsed.values.items()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("fio --name=x --rw=read --zonemode=zbd", "--zonemode=zbd"),
        ("fio --name=x --rw=read --iodepth=none", "--iodepth=none"),
        ("fio --name=x --rw=read --rwmixread=70", "--rwmixread=70"),
        ("fio --name=x --rw=randrw --bs=4KiB,8KiB", "--bs=4KiB,8KiB"),
        ("fio --name=x --rw=read --iodepth=1,500", "--iodepth=1,500"),
        ("fio --name=x --rw=randrw --rwmixwrite 150", "--rwmixwrite 150"),
        ("fio --name=x --readwrite=many --blocksize=none", "--readwrite=many"),
        ("fio --name=x --rw=read '--blocksize=no size'", "'--blocksize=no size'"),
        ("fio --name=x --rw=read --filename=/dev/sdy:/srv/x", "--filename=/dev/sdy:/srv/x"),
        ("fio --name=x --rw=read --filename=/dev/sdy --filename=/dev/sdz", "--filename=/dev/sdz"),
        ("fio --name=x --rw=read 2>>out", "2>>out"),
        ("fio --name=x --rw=read", "--thread"),
        ("fio --name=x --rw=read --filename=/srv/file", "--filename=/srv/file"),
        ("fio --name=x --rw=read --size=1g --name=y --rw=write --size=2g", "--name=y"),
        ("fio --name=global --size=1g --name=x --rw=read --name=global --rw=write", "--name=global"),
        ("fio --name=x --rw=read --size=1g && fio --name=y --rw=write --size=2g", "fio"),
        ("fio --name=x --rw=read; echo fio --rw=write", "--rw=write"),
        ("fio --name=x --rw=read --runtime=30 --size=1g", "--runtime=30"),
        ("fio --name=x --rw=read --runtime=30 --time_based=0", "--runtime=30"),
        ("./fio-3.36/fio --name=x --rw=read", "./fio-3.36/fio"),
        ("sudo -E fio --name=x --rw=read", "sudo"),
        ("fio --name=x --rw=read --thread=0", "--thread=0"),
        ("fio --name=x --rw=read --group_reporting=0", "--group_reporting=0"),
        ("LD_PRELOAD=a.so fio --name=x --rw=read", "LD_PRELOAD=a.so"),
        ("fio --name=x --rw=read > out; rm -rf /", "rm"),
        ("fio --rw='read", ""),
        ("fio " + "x" * 70_000, ""),
    ],
)
def test_a_word_that_cannot_be_read_is_named(text: str, word: str) -> None:
    fio = registry.suite("fio")
    parsed = fio.parse_command(text, complete_values(fio, {}), EMPTY)
    assert parsed is not None
    assert any(unread.text.startswith(word) for unread in parsed.unread)
    assert parsed.values["rw"] != "write"
    assert (parsed.values["size"], parsed.values["runtime"]) == (2**30, 0)


@pytest.mark.parametrize(
    ("second", "depths", "unread"),
    [
        ("--rw=read --iodepth=4", "1, 4", []),
        ("--rw=write --iodepth=4", "1, 4", ["--rw=write"]),
        ("--rw=read --iodepth=4 --numjobs=2", "1, 4", [""]),
    ],
)
def test_a_sweep_reads_commands_that_differ_in_its_lists_only(second: str, depths: str, unread: list[str]) -> None:
    sweep = registry.suite("fio-sweep")
    text = "\n".join(f"fio --name=x {words}" for words in ("--rw=read --iodepth=1 --numjobs=1", second))
    parsed = sweep.parse_command(text, complete_values(sweep, {}), EMPTY)
    assert parsed is not None
    assert parsed.values["depths"] == depths
    assert [each.word for each in parsed.unread if each.blocks] == unread


@pytest.mark.skipif(not FIO, reason="needs fio")
@pytest.mark.parametrize("size", ["2m", "2MB", "2Mi", "2MiB", "2000KiB", "2000kB", "0x200000"])
def test_sizes_are_those_of_fio(size: str) -> None:
    words = ["fio", "--name=a", "--ioengine=null", f"--size={size}", f"--bs={size}"]
    answer = subprocess.run([FIO, *words[1:], "--output-format=json"], capture_output=True, check=True)
    fio = registry.suite("fio")
    parsed = fio.parse_command(" ".join(words), complete_values(fio, {}), EMPTY)
    assert parsed is not None
    read = json.loads(answer.stdout)["jobs"][0]["read"]["io_bytes"]
    assert (parsed.values["block_size"], parsed.values["size"]) == (read, read)


@pytest.mark.parametrize("word", ["conv=fsync", "oflag=sync", "bs=4b"])
def test_a_word_of_dd_with_another_meaning_is_named(word: str) -> None:
    dd = registry.suite("dd")
    parsed = dd.parse_command(f"dd if=/dev/zero count=8 {word}", complete_values(dd, {}), EMPTY)
    assert parsed is not None
    assert [each.word for each in parsed.unread] == [word]
    nearest = {"conv=fsync": "fdatasync", "oflag=sync": "dsync"}.get(word, "none")
    assert (parsed.values["flush"], parsed.values["block_size"]) == (nearest, 512)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A=1 taskset -c 0 fio {}", {"A=1", "taskset", "-c", "0"}),
        ("cd /srv && time fio {} | tee out", {"cd", "/srv", "time", "tee", "out"}),
        ("for i in 1 2; do fio {}; done", {"for", "i", "in", "1", "2", "do", "done"}),
        ("fio {} && fio {}", {"fio"}),
        ("fio {} job.fio other.fio --output=a", {"job.fio", "other.fio", "--output=a"}),
        ("fio job.fio", {"job.fio"}),
        ("fio {} --output-format=json", set()),
    ],
)
def test_a_job_file_is_one_whole_command(text: str, words: set[str]) -> None:
    suite = registry.suite("fio-job")
    line = text.replace("{}", "--name=x --rw=read --zonemode=zbd")
    parsed = suite.parse_command(line, complete_values(suite, {}), EMPTY)
    assert parsed is not None
    assert {each.word for each in parsed.unread if each.blocks} == words


def test_a_changed_word_changes_its_value_only() -> None:
    fio = registry.suite("fio")
    values = complete_values(fio, {"size": 2**30 + 2**20, "runtime": 30.0, "loops": 3, "fsync": 4})
    text = command_text(fio, values, EMPTY).replace("--iodepth=1", "--iodepth=64")
    parsed = fio.parse_command(text, values, EMPTY)
    assert parsed is not None
    assert parsed.values == {**values, "iodepth": 64}


@given(st.text(max_size=300) | st.text("fio -=\\'\"$(){};|<>&\n*[]rw", max_size=80))
def test_hostile_text_is_read_without_an_exception(text: str) -> None:
    for suite_id in ("fio", "iperf3", "sysbench-cpu", "command", "fio-job"):
        suite = registry.suite(suite_id)
        suite.parse_command(text, complete_values(suite, {}), EMPTY)
        suite.parse_command(f"fio {text}", complete_values(suite, {}), EMPTY)


@pytest.mark.parametrize("prompt", ["$ ", "# ", "root@web-1:~# ", "[ann@web-1 ~]$ ", "ann@h:/tmp/x$ "])
def test_a_copied_prompt_is_no_word(prompt: str) -> None:
    assert lines_of(f"{prompt}fio --name=x") == [["fio", "--name=x"]]
    assert lines_of(f"echo {prompt}fio")[0][0] == "echo"
    assert lines_of(f"{prompt}cd /srv\n{prompt}fio") == [["cd", "/srv"], ["fio"]]


@pytest.mark.parametrize("prompt", ["", "$ ", "root@web-1:~# "])
def test_a_comment_above_a_command_is_no_word(prompt: str) -> None:
    assert lines_of(f"# random reads\n\n  # of one job\n{prompt}fio --name=x  # as root") == [["fio", "--name=x"]]
    command = registry.suite("command")
    parsed = command.parse_command(f"# speed\n{prompt}openssl speed", complete_values(command, {}), EMPTY)
    assert parsed is not None
    assert (parsed.values["command"], parsed.values["shell"], parsed.unread) == ("openssl speed", False, ())


@pytest.mark.parametrize(("suite_id", "line", "expected"), [
    ("pgbench", "pgbench -c 4 -T 60 -h db1 -p 5433 -U me bench",
     {"address": "db1", "port": 5433, "user": "me", "database": "bench"}),
    ("pgbench", "pgbench -T 60 bench", {"address": "", "database": "bench"}),
    ("redis", "redis-benchmark -h 10.0.0.3 -p 6380 -n 1000", {"address": "10.0.0.3", "port": 6380}),
    ("sysbench-oltp", "sysbench oltp_read_only --db-driver=pgsql --pgsql-host=db1 --pgsql-db=bench run",
     {"address": "db1", "database": "bench", "driver": "pgsql"}),
    ("sysbench-oltp", "sysbench oltp_read_only --mysql-socket=/run/mysql.sock run", {"address": "/run/mysql.sock"}),
    ("http", "wrk -t2 -c10 -d30 http://web1/", {"url": "http://web1/"}),
])  # fmt: skip
def test_a_line_that_names_a_server_is_run_against_it(suite_id: str, line: str, expected: dict[str, Value]) -> None:
    suite = next(each for each in registry.SUITES if each.id == suite_id)
    parsed = suite.parse_command(line, complete_values(suite, {}), EMPTY)
    assert parsed is not None
    assert parsed.unread == ()
    assert {name: parsed.values[name] for name in ("server", *expected)} == {"server": "named", **expected}


def test_the_options_of_a_driver_that_is_not_used_are_not_read() -> None:
    suite = next(each for each in registry.SUITES if each.id == "sysbench-oltp")
    parsed = suite.parse_command("sysbench oltp_read_only --pgsql-host=db1 run", complete_values(suite, {}), EMPTY)
    assert parsed is not None
    assert [each.word for each in parsed.unread] == ["--pgsql-host=db1"]
