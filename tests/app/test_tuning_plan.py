"""What a plan changes on its hosts: nothing by default, written down in the file, told as commands before it runs."""

from dataclasses import replace

import pytest

from app.formats import plan_from_json, plan_to_json
from app.plans.plan import Plan, make_step
from app.plans.plan_file import format_plan, parse_plan
from app.plans.tuning import Tuning, path_title
from app.plans.validation import validate
from app.runs.root_commands import root_commands
from suites.errors import BenchwrightError
from tests.messages import messages

MESSAGES = messages("app", "test_tuning_plan")

PLAIN = Plan("disk", ("web-1", "web-2"), (make_step("sysbench-cpu", {"time": 1}),))
WHOLE = Tuning(
    drop_caches=True,
    governor="performance",
    device="/dev/nvme1n1",
    readahead=128 * 1024,
    scheduler="none",
    optional=True,
)
TUNED = replace(PLAIN, tuning=WHOLE)


def test_a_plan_changes_nothing_unless_it_says_so() -> None:
    assert not PLAIN.tuning.changes_hosts
    assert root_commands(PLAIN, {}) == ()
    assert "tuning" not in format_plan(PLAIN)
    assert PLAIN.hash() == replace(PLAIN, tuning=Tuning(optional=True)).hash()


def test_what_is_changed_is_part_of_the_plan() -> None:
    assert TUNED.hash() != PLAIN.hash()
    assert TUNED.format == "benchwright-plan/2"
    assert parse_plan(format_plan(TUNED)) == TUNED
    assert plan_from_json(plan_to_json(TUNED)) == TUNED


def test_a_stored_plan_from_before_changes_nothing() -> None:
    stored = plan_to_json(PLAIN)
    del stored["tuning"]
    assert plan_from_json(stored) == PLAIN


def test_every_command_of_root_is_told_for_every_host() -> None:
    reported = [(command.host, command.line, command.when) for command in root_commands(TUNED, {})]
    back = "before the first trial; restored after the last"
    assert reported == [
        (host, line, when)
        for host in ("web-1", "web-2")
        for line, when in (
            (MESSAGES["echo_performance_tee_sys"], back),
            (MESSAGES["echo_none_sys_class_block"], back),
            ("echo 128 > /sys/class/block/nvme1n1/queue/read_ahead_kb", back),
            (MESSAGES["sync_echo_3_proc_sys_vm_drop"], "before each trial"),
        )
    ]


def test_a_device_by_its_id_is_looked_up_by_the_line_itself() -> None:
    plan = replace(PLAIN, tuning=Tuning(device="/dev/disk/by-id/ata-X", scheduler="none"))
    assert root_commands(plan, {})[0].line == (MESSAGES["echo_none_sys_class_block_2"])


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ("readahead = '130 KiB'\ndevice = '/dev/sdb'", "multiple of 4 KiB"),
        ("readahead = '2 GiB'\ndevice = '/dev/sdb'", "readahead"),
        ("readahead = '128 KiB'", "has no block device"),
        ("scheduler = 'none'", "has no block device"),
        ("scheduler = 'none; rm -rf /'\ndevice = '/dev/sdb'", "scheduler"),
        ("governor = '$(reboot)'", "governor"),
        ("device = '/etc/passwd'", "device"),
        ("device = '/dev/sdb; reboot'", "device"),
        ("drop_caches = 'perhaps'", "drop_caches"),
        ("turbo = true", "tuning has no “turbo”"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(table: str, shown: str) -> None:
    text = format_plan(PLAIN).replace("[[step]]", f"[tuning]\n{table}\n\n[[step]]")
    with pytest.raises(BenchwrightError) as caught:
        parse_plan(text)
    assert shown in str(caught.value)


def test_a_plan_made_in_code_is_checked_too() -> None:
    with pytest.raises(BenchwrightError):
        validate(replace(PLAIN, tuning=Tuning(readahead=1000, device="/dev/sdb")))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/sys/devices/system/cpu/cpufreq/policy3/scaling_governor", "CPU governor of CPU 3"),
        ("/sys/devices/system/cpu/cpu12/cpufreq/scaling_governor", "CPU governor of CPU 12"),
        ("/sys/block/nvme1n1/queue/scheduler", "I/O scheduler of nvme1n1"),
        ("/sys/block/sdb/queue/read_ahead_kb", "readahead (KiB) of sdb"),
        ("/proc/sys/vm/drop_caches", "/proc/sys/vm/drop_caches"),
    ],
)
def test_a_path_of_the_kernel_in_words(path: str, words: str) -> None:
    assert path_title(path) == words
