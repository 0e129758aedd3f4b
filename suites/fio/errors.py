"""What fio's own messages mean, and what to do about them."""

import errno
import re
from collections.abc import Iterable

from suites.tool_words import tool_words

SIGNAL_LINE = re.compile(r"^fio: terminating on signal (\d{1,3})")

MAXIMUM_NOTES = 12

_MEANINGS = {
    errno.EPERM: "the kernel does not permit it; where io_uring is switched off, use the engine libaio",
    errno.ENOENT: "a file or directory is missing",
    errno.EIO: "the device failed to read or write",
    errno.ENOMEM: "there is too little memory for the buffers; use fewer jobs, a smaller depth or smaller blocks",
    errno.EACCES: "permission denied; choose a directory that this user may write in",
    errno.EINVAL: "the file system or the device refuses such I/O: most often O_DIRECT, or a block size that is no "
    "multiple of the device's; switch direct I/O off or choose another directory",
    errno.EFBIG: "the file is larger than the file system or a limit allows",
    errno.ENOSPC: "no space left on the device; choose a smaller size or another directory",
    errno.EILSEQ: "what was read back is not what was written: the device, its driver or its memory corrupts data",
    errno.EROFS: "the file system is read-only; choose another directory",
    errno.EDQUOT: "the user's disk quota is used up; choose a smaller size or another directory",
    errno.ENOSYS: "this kernel or this fio does not have the engine; use psync or libaio",
}


def explain_error(number: int) -> str:
    """Return in one sentence what fio's error `number` (an errno) says about the trial."""
    name = errno.errorcode.get(number, "")
    meaning = _MEANINGS.get(number, "see the output")
    return f"fio failed with error {number}{f' ({name})' if name else ''}: {meaning}."


def errors_in(lines: Iterable[str]) -> list[int]:
    """Return the errnos that fio's lines of text name, each once."""
    found = (re.search(r"\berr=\s*(\d{1,4})/", line) for line in lines)
    return list(dict.fromkeys(int(match[1]) for match in found if match and int(match[1])))


def signal_in(lines: Iterable[str]) -> int | None:
    """Return the signal on which fio says that it ended, or None."""
    return next((int(match[1]) for line in lines if (match := SIGNAL_LINE.match(line))), None)


def said(lines: Iterable[str]) -> list[str]:
    """Return fio's own messages among `lines`, each once, bounded; places in its source last."""
    kept: list[str] = []
    for line in lines:
        words = tool_words(line)
        if (
            re.match(r"fio: |note: |Bad option <|Did you mean ", words)
            and not SIGNAL_LINE.match(words)
            and words not in kept
        ):
            kept.append(words)
    kept.sort(key=lambda words: bool(re.match(r"fio: (?:file:|pid=)", words)))
    return [f"fio says: {words.removeprefix('fio: ')}" for words in kept[:MAXIMUM_NOTES]]
