"""Tuning of the hosts by a plan: settings changed for the run and restored afterwards; off by default."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from remote.tuning import DROP_CACHES, Setting, SettingKind
from suites.errors import BenchwrightError, ParameterError
from suites.parameters import Value, flag_parameter, format_size, parse_size, text_parameter

PAGE = 4096
"""Granularity of readahead in bytes."""

MOST_READAHEAD = 2**30

DEVICE_PATTERN = r"/dev/[A-Za-z0-9_/.:+@=-]{1,200}"


class TuningPlanError(BenchwrightError):
    """Invalid tuning in a plan."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The settings changed on every host of the plan; empty or None leaves one unchanged.

    `drop_caches` empties the page cache before each trial. `readahead` (bytes) and `scheduler` are those of `device`, a
    path. With `optional` the run continues if a setting cannot be changed, and records that.
    """

    drop_caches: bool = False
    governor: str = ""
    device: str = ""
    readahead: int | None = None
    scheduler: str = ""
    optional: bool = False

    @property
    def settings(self) -> tuple[Setting, ...]:
        """The settings that are changed before the first trial and restored after the last."""
        found = []
        if self.governor:
            found.append(Setting(SettingKind.GOVERNOR, self.governor))
        if self.scheduler:
            found.append(Setting(SettingKind.SCHEDULER, self.scheduler, self.device))
        if self.readahead is not None:
            found.append(Setting(SettingKind.READAHEAD, str(self.readahead // 1024), self.device))
        return tuple(found)

    @property
    def changes_hosts(self) -> bool:
        """Whether anything is changed."""
        return self.drop_caches or bool(self.settings)

    def purposes(self) -> list[str]:
        """Return the actions that need root, as text."""
        dropping = ["drop the page cache before each trial"] if self.drop_caches else []
        return dropping + [f"set the {setting_title(setting)} to {setting.value}" for setting in self.settings]


TUNING = (
    flag_parameter(
        name="drop_caches",
        title="Drop the page cache",
        help="Write dirty pages and empty the cache before each trial. This slows other programs on the host.",
        option=DROP_CACHES,
    ),
    text_parameter(
        name="governor",
        title="CPU governor",
        help="A governor of the kernel, such as performance. Empty: unchanged.",
        pattern=r"[a-z_-]{1,32}",
        option="scaling_governor",
    ),
    text_parameter(
        name="device",
        title="Block device",
        help="Path of the device for readahead and scheduler, such as /dev/nvme1n1.",
        pattern=DEVICE_PATTERN,
    ),
    text_parameter(
        name="readahead",
        title="Readahead",
        help="A multiple of 4 KiB, such as 128 KiB; 0 disables readahead. Empty: unchanged.",
        pattern=r"[0-9]{1,9}( ?[kKmM]?i?[bB]?)?",
        option="read_ahead_kb",
    ),
    text_parameter(
        name="scheduler",
        title="I/O scheduler",
        help="A scheduler of the kernel, such as none or mq-deadline. Empty: unchanged.",
        pattern=r"[a-z0-9_-]{1,32}",
        option="scheduler",
    ),
    flag_parameter(
        name="optional",
        title="Continue without tuning",
        help="Measure even if a setting cannot be changed, for example without root. Off: the run stops.",
    ),
)
"""The tuning as parameters, for forms, checks and files."""


def tuning_of(values: Mapping[str, Value]) -> Tuning:
    """Return the tuning from the values of a form or file; raise TuningPlanError if it is invalid."""
    readahead = str(values["readahead"]).strip()
    return check_tuning(
        Tuning(
            drop_caches=values["drop_caches"] is True,
            governor=str(values["governor"]),
            device=str(values["device"]),
            readahead=_size(readahead) if readahead else None,
            scheduler=str(values["scheduler"]),
            optional=values["optional"] is True,
        )
    )


def tuning_values(tuning: Tuning) -> dict[str, Value]:
    """Return `tuning` as the values of a form or file."""
    return {
        "drop_caches": tuning.drop_caches,
        "governor": tuning.governor,
        "device": tuning.device,
        "readahead": "" if tuning.readahead is None else format_size(tuning.readahead),
        "scheduler": tuning.scheduler,
        "optional": tuning.optional,
    }


def check_tuning(tuning: Tuning) -> Tuning:
    """Return `tuning`; raise TuningPlanError if it is invalid."""
    if tuning.readahead is not None and not (tuning.readahead % PAGE == 0 <= tuning.readahead <= MOST_READAHEAD):
        raise TuningPlanError(f"tuning.readahead is {tuning.readahead} B.", "Set a multiple of 4 KiB, up to 1 GiB.")
    if (tuning.readahead is not None or tuning.scheduler) and not re.fullmatch(DEVICE_PATTERN, tuning.device):
        raise TuningPlanError(
            "tuning has no block device for readahead or scheduler.", "Set device to a path below /dev."
        )
    return tuning


def _size(text: str) -> int:
    try:
        return parse_size(text)
    except ValueError:
        raise ParameterError(f"{text!r} is not accepted.", "Set a size such as 128 KiB.", "readahead") from None


def setting_title(setting: Setting) -> str:
    """Return the title of a setting."""
    titles = {
        SettingKind.GOVERNOR: "CPU governor",
        SettingKind.SCHEDULER: f"I/O scheduler of {setting.device}",
        SettingKind.READAHEAD: f"readahead of {setting.device} (KiB)",
    }
    return titles[setting.kind]


def setting_command(setting: Setting) -> str:
    """Return the equivalent root shell command."""
    if setting.kind is SettingKind.GOVERNOR:
        return f"echo {setting.value} | tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor"
    name = setting.device.removeprefix("/dev/")
    if "/" in name:
        name = f'"$(basename "$(readlink -f {setting.device})")"'
    file = "scheduler" if setting.kind is SettingKind.SCHEDULER else "read_ahead_kb"
    return f"echo {setting.value} > /sys/class/block/{name}/queue/{file}"


def path_title(path: str) -> str:
    """Return the title of the kernel's file at `path`: ``readahead of sdb (KiB)``."""
    cpu = re.search(r"/(?:policy|cpu)(\d+)/(?:cpufreq/)?scaling_governor$", path)
    if cpu:
        return f"CPU governor of CPU {cpu[1]}"
    block = re.fullmatch(r"/sys/block/([^/]+)/queue/(scheduler|read_ahead_kb)", path)
    if block:
        return f"{'I/O scheduler' if block[2] == 'scheduler' else 'readahead (KiB)'} of {block[1]}"
    return path
