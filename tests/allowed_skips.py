"""Which tests may be skipped where it is decided whether a change lands (CI=true): those that no package would mend.

Elsewhere any test may be skipped: a developer's computer has what it has.
"""

import os
import re

MAY_SKIP = (
    # Kernels and file systems, which nobody installs.
    r"this kernel .*",
    r"losetup: .*",
    r"no directory here is on a disk that the kernel counts",
    r"no interface here has a device",
    r"no IPv6 on this computer",
    r"a small file system cannot be mounted here: .*",
    r"loop devices cannot be mounted here",
    r"TUN devices cannot be made here: .*",
    r"network namespaces cannot be made here: .*",
    r"control groups of memory cannot be made here: .*",
    r"no quota of a control group can be set here: .*",
    r"needs root and \w+ groups of the first version",
    r"the kernel lets nobody have mounts of their own",
    r"not staged, because (?!.* is not installed).*",
    r"no probes are shipped for this architecture",
    # What cannot be had both ways: tests for root, and tests for everybody else.
    r"root may .*",
    r"mount namespaces need root",
    r"the account's shell is not bash",
    # A shell without what is tried: busybox's setsid.
    r"this setsid cannot fork",
    # What depends on the moment.
    r"others took the processors meanwhile",
    r"what others do is looked at when it runs",
    # No archive has it: it is built where there is Go.
    r"no Go compiler builds benchstat here",
)
"""The reasons, as expressions for a whole one."""

_ALLOWED = re.compile("|".join(f"(?:{reason})" for reason in MAY_SKIP), re.DOTALL)


def complaint(reason: str) -> str:
    """Return why a test must not be skipped here for `reason`, or an empty string where it may."""
    reason = reason.removeprefix("Skipped: ")
    if not os.environ.get("CI") or _ALLOWED.fullmatch(reason):
        return ""
    remedy = "Let .make/system install what it takes, or add it to tests/allowed_skips.py."
    return f"skipped, though CI is set: {reason}\n{remedy}"
