"""How programs treat the files that their words name, and which words start a program."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from posixpath import basename
from types import MappingProxyType


class Does(StrEnum):
    """What a program does with the files that its words name."""

    READS = "reads"
    WRITES = "writes"
    COPIES = "copies"
    """It reads all but the last, which it writes, or a directory that an option names."""
    ANYTHING = "anything"
    """Nothing is known of it."""


@dataclass(frozen=True, slots=True)
class Program:
    """How a program treats what its words name.

    It only reads where each word matches `looks`, and one `needs`; where one matches `otherwise`, nothing is known of
    it. `valued` are the letters of the options that take a word.
    """

    does: Does
    looks: str | None = None
    needs: str = ".*"
    otherwise: str | None = None
    valued: str = ""

    def does_with(self, words: Sequence[str]) -> Does:
        """Return what it does, given `words`."""
        if self.looks is not None and all(re.fullmatch(self.looks, word) for word in words):
            return Does.READS if any(re.fullmatch(self.needs, word) for word in words) else self.does
        if self.otherwise is not None and any(re.fullmatch(self.otherwise, word) for word in words):
            return Does.ANYTHING
        return self.does


_READS = """
[ [[ : b2sum base32 base64 break case cat cd cksum cmp column comm continue cut date df diff dirs done du dumpe2fs
echo esac exit export expr false fi findmnt fold free getconf grep egrep fgrep zgrep head hexdump hostname iconv id in
iostat join kill local ls lsblk lscpu lsof lspci lsusb md5sum mpstat nl nproc numfmt od paste pgrep pidof
pidstat popd printf ps pushd pwd read readlink readonly realpath return rev select set sha1sum sha224sum sha256sum
sha384sum sha512sum shift sleep smartctl sort stat strings sum sync tac tail test times tr true tty type udevadm ulimit
umask uname unset uptime vmstat wait wc which whoami zcat bzcat xzcat zstdcat bc arch file pv ioping blkid typeset
declare let getopts for pvs lvs vgs pvdisplay lvdisplay vgdisplay lsscsi xfs_info sg_inq
sg_readcap sg_turs sg_vpd
"""
"""Programs and words of the shell that only read what they are given, or name it."""

_WRITES = """
blkdiscard bcache btrfs cfdisk cgdisk dc3dd dcfldd ddrescue fallocate fsfreeze fstrim gdisk growpart kpartx lvchange
lvconvert lvcreate lvextend lvreduce lvremove lvresize mdadm mke2fs mkntfs mkswap nwipe parted partclone partprobe
partx pvchange pvcreate pvremove pvresize resize2fs scrub sg_format sg_unmap sg_sanitize sg_dd sgdisk shred swapoff
swapon tee truncate vgcreate vgextend vgreduce vgremove wipe xfs_copy xfs_growfs xfs_io zerofree zfs zpool
"""
"""Programs that write to whatever they are given."""

_OPERAND = r"[^-].*"
_FSCK = Program(Does.WRITES, rf"-[nfvtNCMBbpr]+|-[bBC]\S+|{_OPERAND}", needs=r"-[A-Za-z]*n[A-Za-z]*")

_TABLE: dict[str, Program] = {
    **dict.fromkeys(_READS.split(), Program(Does.READS)),
    **dict.fromkeys(_WRITES.split(), Program(Does.WRITES)),
    "sort": Program(Does.READS, otherwise=r"-[A-Za-z]*[oT].*|--(?:o|t|c).*"),
    "pidstat": Program(Does.READS, otherwise=r"-[A-Za-z]*e.*"),
    "iconv": Program(Does.READS, otherwise=r"-[A-Za-z]*o.*|--o.*"),
    "file": Program(Does.READS, otherwise=r"-[A-Za-z]*C.*|--c.*"),
    "pv": Program(Does.READS, otherwise=r"-[A-Za-z]*[oPU].*|--(?:o|p|st).*"),
    "zstdcat": Program(Does.READS, otherwise=r"-[A-Za-z0-9]*o.*|--o.*"),
    "udevadm": Program(Does.READS, otherwise="lock"),
    "sdparm": Program(Does.WRITES, rf"-[ailq]+|--(?:all|inquiry|long|quiet|get=\w+)|{_OPERAND}", needs="-.*"),
    "ioping": Program(Does.READS, otherwise=r"-[A-Za-z]*W.*"),
    "blkid": Program(Does.READS, otherwise=r"-[A-Za-z]*[cw].*|--cache.*"),
    "debugfs": Program(Does.READS, otherwise=r"-[A-Za-z]*[wfzR].*"),
    "hdparm": Program(Does.WRITES, rf"-[tTiIgvqCH]+|--direct|{_OPERAND}"),
    "blockdev": Program(Does.WRITES, rf"--(?:get\w+|report|rereadpt|flushbufs|v)|{_OPERAND}"),
    "fdisk": Program(Does.WRITES, rf"-[lxou]+|--list(?:-details)?|--output|{_OPERAND}",
                     needs=r"-[ou]*[lx][lxou]*|--list.*"),
    "sfdisk": Program(Does.WRITES, r"-[ldJsV]+|--(?:list|dump|json|verify|show-size)|/.*", needs="-.*"),
    "sgdisk": Program(Does.WRITES, r"-[pvDE]+|-i=?\d+|--(?:print|verify|info=\d+)|/.*", needs="-.*"),
    "gdisk": Program(Does.WRITES, r"-l|/.*", needs="-l"),
    "parted": Program(Does.WRITES, r"-[slm]+|--(?:script|list|machine)|/.*|print|unit|[kKMGT]?i?B|s|%|free|all|devices",
                      needs="-[sm]*l|--list|print"),
    "wipefs": Program(Does.WRITES, rf"-[npJiO]+|--(?:no-act|json|parsable|noheadings)|{_OPERAND}"),
    "badblocks": Program(Does.READS, otherwise=r"-[A-Za-z]*[wnotX].*"),
    "nvme": Program(Does.WRITES, r"-[oHvbnn].*|--output-format.*|normal|json|list|list-subsys|id-ctrl|id-ns|smart-log|"
                                 r"error-log|fw-log|show-regs|get-feature|get-log|/.*"),
    "tune2fs": Program(Does.WRITES, r"-l|/.*", needs="-l"),
    "e2fsck": _FSCK,
    "fsck": _FSCK,
    "resize2fs": Program(Does.WRITES, r"-P|/.*", needs="-P"),
    "xfs_db": Program(Does.WRITES, rf"-[rcF]+|{_OPERAND}", needs="-[cF]*r[cF]*"),
    "xfs_repair": Program(Does.WRITES, r"-[nvf]+|/.*", needs="-[vf]*n[vf]*"),
    "cryptsetup": Program(Does.WRITES, r"isLuks|luksDump|luksUUID|status|benchmark|-[vq]|luks[12]?|/.*|"
                                       r"--(?:verbose|type|dump-json-metadata)"),
    "dmsetup": Program(Does.WRITES, r"ls|info|status|table|deps|targets|version|-[cC]|--(?:tree|target)|/.*"),
    "mdadm": Program(Does.WRITES, r"-[DEQsvb]+|--(?:detail|examine|query|scan|verbose|brief|export)|/.*",
                     needs="-[DEQ]+|--(?:detail|examine|query)"),
    "losetup": Program(Does.WRITES, r"-[aljnJO]+|--(?:all|list|json|noheadings|raw|output.*|associated)|[A-Z,-]+|/.*",
                       needs="-[alj]+|--(?:all|list)"),
    "swapon": Program(Does.WRITES, r"-s|--(?:show.*|summary|noheadings|bytes|raw)"),
    "swaplabel": Program(Does.WRITES, r"/.*"),
    "btrfs": Program(Does.WRITES, r"filesystem|fi|subvolume|sub|device|dev|show|df|usage|list|stats|-[hbm]|/.*"),
    "cp": Program(Does.COPIES, valued="St"),
    "mv": Program(Does.COPIES, valued="St"),
    "ln": Program(Does.COPIES, valued="St"),
    "install": Program(Does.COPIES, valued="Stmog"),
    "rsync": Program(Does.COPIES, valued="efTB@M"),
    "scp": Program(Does.COPIES, valued="cFiJloPSDX"),
}  # fmt: skip

LISTS_DEVICES = frozenset({"lsblk", "losetup", "blkid", "findmnt", "df", "mount", "swapon", "pvs", "dmsetup", "fdisk",
                           "sfdisk", "nvme", "lsscsi", "mdadm", "zpool"})  # fmt: skip
"""Programs that print the names of devices that the line does not have."""

PLAIN_OUTPUT = frozenset({"date", "nproc", "hostname", "uname", "id", "whoami", "getconf", "seq", "expr", "basename",
                          "wc", "arch", "pidof", "pgrep", "bc", "lscpu", "uptime", "stat"})  # fmt: skip
"""Programs that print a word that is no path."""

_COPYING = ("--suffix", "--mode", "--owner", "--group", "--strip-program")
"""Long options of programs that copy, which take a word."""

UNKNOWN_PROGRAM = Program(Does.ANYTHING)

SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "busybox-sh", "rbash"})

TAKES_LINES = frozenset({"eval", "trap", "su", "runuser", "watch", "flock", "parallel", "hyperfine", "script", "tmux",
                         "screen", "sg", "entr", "at", "batch", "alias", "multitime", "jobs", "mapfile",
                         "readarray"})  # fmt: skip
"""Programs that give a word of theirs to a shell."""

OPENS = re.compile(
    r"(?:mount|losetup|swapo(?:n|ff)|zramctl|cryptsetup|dmsetup|mdadm|kpartx|partx|bcache\S*|nbd-client|qemu-nbd|rbd|"
    r"modprobe|insmod|zpool|zfs|btrfs|pv\w+|vg\w+|lv\w+|scsi\w*|sg_\w+)"
)
"""Programs that have the kernel open block devices for writing, where they do more than to read."""

ASKS = frozenset({"smartctl", "sg_inq", "sg_readcap", "sg_turs", "sg_vpd", "sdparm"})
"""Programs that open a device for writing only to ask it something."""

LEAVES = re.compile(
    r"(?:systemd-run|systemctl|busctl|machinectl|udisksctl|cgexec|cgclassify|docker|podman|nerdctl|ctr|lxc\S*|incus|virsh|"
    r"at|batch|crontab|ssh|gdb)"
)
"""Programs that have another service run or write something."""

PASSES = frozenset({"hdparm", "nvme", "blkzone"})
"""Programs that change a device by commands of its own, for which it need not be opened for writing."""

RAISES = re.compile(r"(?:sudo\S*|doas|su|run0|runuser|pkexec|sg|newgrp|please|gosu|setpriv)")
"""Programs with which a line may become root."""

_LEADING: Mapping[str, tuple[str, int]] = MappingProxyType(
    {
        "sudo": ("ughpCDRTrtUc", 0), "doas": ("uC", 0), "env": ("uCS", 0), "nice": ("n", 0), "ionice": ("cnpPu", 0),
        "time": ("fo", 0), "exec": ("a", 0), "command": ("", 0), "builtin": ("", 0), "nohup": ("", 0),
        "stdbuf": ("ioe", 0), "chrt": ("TPD", 1), "setsid": ("", 0), "eatmydata": ("", 0), "busybox": ("", 0),
        "toybox": ("", 0), "taskset": ("", 1), "numactl": ("NCmilpP", 0), "timeout": ("ks", 1), "unbuffer": ("", 0),
        "strace": ("oepsaESbOuIPX", 0), "ltrace": ("oepsaSuAln", 0), "linux64": ("", 0), "linux32": ("", 0),
        "setarch": ("", 1), "xargs": ("IiLlnPsdEaeR", 0), "catchsegv": ("", 0), "prlimit": ("", 0), "choom": ("n", 0),
        "cgexec": ("g", 0), "unshare": ("RwSG", 0), "setpriv": ("", 0), "systemd-run": ("uptHEM", 0), "chroot": ("", 1),
        "nsenter": ("tSGrw", 0), "prime-run": ("", 0), "caffeinate": ("", 0), "systemd-inhibit": ("", 0),
        "do": ("", 0), "then": ("", 0), "else": ("", 0), "elif": ("", 0), "if": ("", 0), "while": ("", 0),
        "until": ("", 0), "{": ("", 0), "}": ("", 0), "!": ("", 0), "coproc": ("", 0), "-": ("", 0),
    }
)  # fmt: skip
"""Words that lead to a program: the letters of their options that take a word, and the words before the program."""

_FLAGS = frozenset({"--ignore-environment", "--null", "--preserve-env", "--verbose", "--login", "--non-interactive",
                    "--foreground", "--preserve-status", "--set-home", "--quiet", "--no-run-if-empty", "--interactive",
                    "--scope", "--user", "--wait", "--pty", "--fifo", "--rr", "--batch", "--other", "--idle",
                    "--portability", "--ignore", "--background", "--stdin", "--exit", "--open-tty",
                    "--cpu-list"})  # fmt: skip
"""Long options of these that take no word."""

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=", re.DOTALL)


def name_of(word: str) -> str:
    """Return a program's name without its folder."""
    return basename(word)


def known_program(name: str) -> Program:
    """Return how the program of that name treats its files."""
    if re.match(r"mkfs(?:\.|$)", name):
        return Program(Does.WRITES)
    if name.startswith("fsck."):
        return _TABLE["fsck"]
    return _TABLE.get(name, UNKNOWN_PROGRAM)


def does(name: str, words: Sequence[str]) -> Does:
    """Return what the program of that name does with the files that `words` name."""
    return known_program(name).does_with(words)


def starts(words: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return where in `words` the program may be, and the words that lead to it.

    It may be in two places where only the program that leads to it knows whether its option takes a word.
    """
    at = 0
    leading: list[int] = []
    maybe: list[int] = []
    while at < len(words):
        name = name_of(words[at])
        if _ASSIGNMENT.match(words[at]):
            leading.append(at)
            at += 1
            continue
        if name not in _LEADING:
            return [*maybe, at], leading
        valued, operands = _LEADING[name]
        leading.append(at)
        at += 1
        while at < len(words) and (words[at].startswith("-") or operands):
            word = words[at]
            leading.append(at)
            at += 1
            if word == "--":
                continue
            if not word.startswith("-"):
                operands -= 1
            elif word.startswith("--"):
                if "=" not in word and word not in _FLAGS:
                    maybe.append(at)
                    at += 1
            elif valued and word[-1] in valued and not set(word[1:-1]) & set(valued):
                leading.append(at)
                at += 1
    return [each for each in maybe if each < len(words)], leading


def operands_of(program: Program, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the operands of a program that copies, and the directories that its options name as the target."""
    operands: list[str] = []
    targets: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        if word == "--":
            return [*operands, *left], targets
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            if "--target-directory".startswith(name) and len(name) > 3:
                targets.append(value if equals else left.pop(0) if left else "")
            elif not equals and left and len(name) > 3 and any(each.startswith(name) for each in _COPYING):
                left.pop(0)
        elif word.startswith("-") and len(word) > 1:
            found = next((number for number, letter in enumerate(word) if number and letter in program.valued), 0)
            if found:
                value = word[found + 1 :] or (left.pop(0) if left else "")
                targets += [value] if word[found] == "t" else []
        else:
            operands.append(word)
    return operands, targets


_LINKING = re.compile(r"-[A-Za-z]*[aRrdPls][A-Za-z]*|--(?:archive|recursive|no-dereference|link|symbolic-link).*")


def copies_links(name: str, words: Sequence[str]) -> bool:
    """Whether a program is cp with an option that copies links and devices as what they are, or whole directories."""
    return name == "cp" and any(_LINKING.fullmatch(word) for word in words)
