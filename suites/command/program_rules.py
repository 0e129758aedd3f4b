"""How programs use the files among their arguments, which words start a program, and which devices are overwritten."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from posixpath import basename, normpath


class FileUse(StrEnum):
    """How a program uses the files among its arguments."""

    READS = "reads"
    WRITES = "writes"
    COPIES = "copies"
    """Reads all but the last, which it writes, or a directory named by an option."""
    ANYTHING = "anything"
    """Unknown."""


@dataclass(frozen=True, slots=True)
class ProgramRule:
    """Rule of a program's use of its arguments.

    It only reads if each word matches `reading`, and one `required`; if one matches `unknown`, its use is unknown.
    `valued` are the letters of options that take a value.
    """

    use: FileUse
    reading: str | None = None
    required: str = ".*"
    unknown: str | None = None
    valued: str = ""

    def use_with(self, words: Sequence[str]) -> FileUse:
        """Return the use for the given `words`."""
        if self.reading is not None and all(re.fullmatch(self.reading, word) for word in words):
            return FileUse.READS if any(re.fullmatch(self.required, word) for word in words) else self.use
        if self.unknown is not None and any(re.fullmatch(self.unknown, word) for word in words):
            return FileUse.ANYTHING
        return self.use


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
"""Programs and shell builtins that only read or name their operands."""

_WRITES = """
blkdiscard bcache btrfs cfdisk cgdisk dc3dd dcfldd ddrescue fallocate fsfreeze fstrim gdisk growpart kpartx lvchange
lvconvert lvcreate lvextend lvreduce lvremove lvresize mdadm mke2fs mkntfs mkswap nwipe parted partclone partprobe
partx pvchange pvcreate pvremove pvresize resize2fs scrub sg_format sg_unmap sg_sanitize sg_dd sgdisk shred swapoff
swapon tee truncate vgcreate vgextend vgreduce vgremove wipe xfs_copy xfs_growfs xfs_io zerofree zfs zpool
"""
"""Programs that write to any operand."""

_OPERAND = r"[^-].*"
_FSCK = ProgramRule(FileUse.WRITES, rf"-[nfvtNCMBbpr]+|-[bBC]\S+|{_OPERAND}", required=r"-[A-Za-z]*n[A-Za-z]*")

_TABLE: dict[str, ProgramRule] = {
    **dict.fromkeys(_READS.split(), ProgramRule(FileUse.READS)),
    **dict.fromkeys(_WRITES.split(), ProgramRule(FileUse.WRITES)),
    "sort": ProgramRule(FileUse.READS, unknown=r"-[A-Za-z]*[oT].*|--(?:o|t|c).*"),
    "pidstat": ProgramRule(FileUse.READS, unknown=r"-[A-Za-z]*e.*"),
    "iconv": ProgramRule(FileUse.READS, unknown=r"-[A-Za-z]*o.*|--o.*"),
    "file": ProgramRule(FileUse.READS, unknown=r"-[A-Za-z]*C.*|--c.*"),
    "pv": ProgramRule(FileUse.READS, unknown=r"-[A-Za-z]*[oPU].*|--(?:o|p|st).*"),
    "zstdcat": ProgramRule(FileUse.READS, unknown=r"-[A-Za-z0-9]*o.*|--o.*"),
    "udevadm": ProgramRule(FileUse.READS, unknown="lock"),
    "sdparm": ProgramRule(FileUse.WRITES, rf"-[ailq]+|--(?:all|inquiry|long|quiet|get=\w+)|{_OPERAND}", required="-.*"),
    "ioping": ProgramRule(FileUse.READS, unknown=r"-[A-Za-z]*W.*"),
    "blkid": ProgramRule(FileUse.READS, unknown=r"-[A-Za-z]*[cw].*|--cache.*"),
    "debugfs": ProgramRule(FileUse.READS, unknown=r"-[A-Za-z]*[wfzR].*"),
    "hdparm": ProgramRule(FileUse.WRITES, rf"-[tTiIgvqCH]+|--direct|{_OPERAND}"),
    "blockdev": ProgramRule(FileUse.WRITES, rf"--(?:get\w+|report|rereadpt|flushbufs|v)|{_OPERAND}"),
    "fdisk": ProgramRule(FileUse.WRITES, rf"-[lxou]+|--list(?:-details)?|--output|{_OPERAND}",
                     required=r"-[ou]*[lx][lxou]*|--list.*"),
    "sfdisk": ProgramRule(FileUse.WRITES, r"-[ldJsV]+|--(?:list|dump|json|verify|show-size)|/.*", required="-.*"),
    "sgdisk": ProgramRule(FileUse.WRITES, r"-[pvDE]+|-i=?\d+|--(?:print|verify|info=\d+)|/.*", required="-.*"),
    "gdisk": ProgramRule(FileUse.WRITES, r"-l|/.*", required="-l"),
    "parted": ProgramRule(FileUse.WRITES,
                      r"-[slm]+|--(?:script|list|machine)|/.*|print|unit|[kKMGT]?i?B|s|%|free|all|devices",
                      required="-[sm]*l|--list|print"),
    "wipefs": ProgramRule(FileUse.WRITES, rf"-[npJiO]+|--(?:no-act|json|parsable|noheadings)|{_OPERAND}"),
    "badblocks": ProgramRule(FileUse.READS, unknown=r"-[A-Za-z]*[wnotX].*"),
    "nvme": ProgramRule(FileUse.WRITES,
                    r"-[oHvbn].*|--output-format.*|normal|json|list|list-subsys|id-ctrl|id-ns|smart-log|"
                                 r"error-log|fw-log|show-regs|get-feature|get-log|/.*"),
    "tune2fs": ProgramRule(FileUse.WRITES, r"-l|/.*", required="-l"),
    "e2fsck": _FSCK,
    "fsck": _FSCK,
    "resize2fs": ProgramRule(FileUse.WRITES, r"-P|/.*", required="-P"),
    "xfs_db": ProgramRule(FileUse.WRITES, rf"-[rcF]+|{_OPERAND}", required="-[cF]*r[cF]*"),
    "xfs_repair": ProgramRule(FileUse.WRITES, r"-[nvf]+|/.*", required="-[vf]*n[vf]*"),
    "cryptsetup": ProgramRule(FileUse.WRITES, r"isLuks|luksDump|luksUUID|status|benchmark|-[vq]|luks[12]?|/.*|"
                                       r"--(?:verbose|type|dump-json-metadata)"),
    "dmsetup": ProgramRule(FileUse.WRITES, r"ls|info|status|table|deps|targets|version|-[cC]|--(?:tree|target)|/.*"),
    "mdadm": ProgramRule(FileUse.WRITES, r"-[DEQsvb]+|--(?:detail|examine|query|scan|verbose|brief|export)|/.*",
                     required="-[DEQ]+|--(?:detail|examine|query)"),
    "losetup": ProgramRule(FileUse.WRITES,
                       r"-[aljnJO]+|--(?:all|list|json|noheadings|raw|output.*|associated)|[A-Z,-]+|/.*",
                       required="-[alj]+|--(?:all|list)"),
    "swapon": ProgramRule(FileUse.WRITES, r"-s|--(?:show.*|summary|noheadings|bytes|raw)"),
    "swaplabel": ProgramRule(FileUse.WRITES, r"/.*"),
    "btrfs": ProgramRule(FileUse.WRITES, r"filesystem|fi|subvolume|sub|device|dev|show|df|usage|list|stats|-[hbm]|/.*"),
    "cp": ProgramRule(FileUse.COPIES, valued="St"),
    "mv": ProgramRule(FileUse.COPIES, valued="St"),
    "ln": ProgramRule(FileUse.COPIES, valued="St"),
    "install": ProgramRule(FileUse.COPIES, valued="Stmog"),
    "rsync": ProgramRule(FileUse.COPIES, valued="efTB@M"),
    "scp": ProgramRule(FileUse.COPIES, valued="cFiJloPSDX"),
}  # fmt: skip

LISTS_DEVICES = frozenset({"lsblk", "losetup", "blkid", "findmnt", "df", "mount", "swapon", "pvs", "dmsetup", "fdisk",
                           "sfdisk", "nvme", "lsscsi", "mdadm", "zpool"})  # fmt: skip
"""Programs that print names of devices not on the line."""

PLAIN_OUTPUT = frozenset({"date", "nproc", "hostname", "uname", "id", "whoami", "getconf", "seq", "expr", "basename",
                          "wc", "arch", "pidof", "pgrep", "bc", "lscpu", "uptime", "stat"})  # fmt: skip
"""Programs whose output is not a path."""

_COPYING = ("--suffix", "--mode", "--owner", "--group", "--strip-program")
"""Long options of copying programs that take a value."""

UNKNOWN_PROGRAM = ProgramRule(FileUse.ANYTHING)

SHELLS = frozenset({"sh", "bash", "dash", "ash", "ksh", "mksh", "zsh", "fish", "busybox-sh", "rbash"})

LINE_RUNNERS = frozenset({"eval", "trap", "su", "runuser", "watch", "flock", "parallel", "hyperfine", "script", "tmux",
                         "screen", "sg", "entr", "at", "batch", "alias", "multitime", "jobs", "mapfile",
                         "readarray"})  # fmt: skip
"""Programs that pass an argument to a shell."""

OPENS = re.compile(
    r"(?:mount|losetup|swapo(?:n|ff)|zramctl|cryptsetup|dmsetup|mdadm|kpartx|partx|bcache\S*|nbd-client|qemu-nbd|rbd|"
    r"modprobe|insmod|zpool|zfs|btrfs|pv\w+|vg\w+|lv\w+|scsi\w*|sg_\w+)"
)
"""Programs that have the kernel open block devices for writing, unless they only query."""

DEVICE_QUERIES = frozenset({"smartctl", "sg_inq", "sg_readcap", "sg_turs", "sg_vpd", "sdparm"})
"""Programs that open a device for writing only to query it."""

DELEGATES = re.compile(
    r"(?:systemd-run|systemd-nspawn|systemctl|busctl|gdbus|dbus-send|qdbus\S*|machinectl|portablectl|udisksctl|"
    r"cgexec|cgclassify|cgcreate|cgset|run0|runc|crun|youki|kata\S*|buildah|nerdctl|ctr|crictl|kubectl|k3s|oc|helm|"
    r"(?:docker|podman|containerd|crio|libvirt)\S*|compose|lxc\S*|lxd|incus\S*|virsh|virt-\S*|vagrant|snap|flatpak|"
    r"at|batch|crontab|fcron\S*|ssh|slogin|autossh|sshpass|mosh|dropbear\S*|dbclient|rsh|rlogin|rexec|telnet|"
    r"scp|sftp|rcp|lftp|rclone|unison|sshfs|ansible\S*|salt\S*|pdsh|pdcp|rpdcp|dsh|dshbak|clush|pssh|"
    r"parallel-(?:ssh|scp|rsync)|pscp|prsync|mpirun|mpiexec|srun|sbatch|qsub|fab|puppet|chef-\S*|nomad|gdb)"
)
"""Programs that run or write through another service, on this host or on one that may be this host."""

REMOTE = re.compile(r"(?:[a-z]+://|(?:\[[^\]/]*\]|[^\s/:]+)::?)", re.IGNORECASE)
"""Prefix of an scp or rsync operand that names a host: ``HOST:``, ``[::1]:``, ``HOST::`` and ``rsync://``."""

_REMOTE_SHELL = ProgramRule(FileUse.ANYTHING, valued="BbcDEeFIiJLlmOopPQRSWw")


def reads_lines(name: str, words: Sequence[str]) -> bool:
    """Whether a program runs its input elsewhere: ssh does when given only a host."""
    if name in {"ssh", "slogin", "dbclient", "autossh", "rsh"}:
        return len(operands_of(_REMOTE_SHELL, words)[0]) < 2
    return name in {"sftp", "lftp", "at", "batch", "crontab"}


PASSES = frozenset({"hdparm", "nvme", "blkzone"})
"""Programs that change a device with commands of its own, without opening it for writing."""

RAISES = re.compile(r"(?:sudo\S*|doas|su|run0|runuser|pkexec|sg|newgrp|please|gosu|setpriv)")
"""Programs with which a line may become root."""

_LEADING: Mapping[str, tuple[str, int]] = {
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
}  # fmt: skip
"""Words that lead to a program: the letters of their options that take a value, and the words before the program."""

_FLAGS = frozenset({"--ignore-environment", "--null", "--preserve-env", "--verbose", "--login", "--non-interactive",
                    "--foreground", "--preserve-status", "--set-home", "--quiet", "--no-run-if-empty", "--interactive",
                    "--scope", "--user", "--wait", "--pty", "--fifo", "--rr", "--batch", "--other", "--idle",
                    "--portability", "--ignore", "--background", "--stdin", "--exit", "--open-tty",
                    "--cpu-list"})  # fmt: skip
"""Long options of these without a value."""

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=", re.DOTALL)


def name_of(word: str) -> str:
    """Return a program's name without its folder."""
    return basename(word)


def known_program(name: str) -> ProgramRule:
    """Return the rule of the program of that name."""
    if re.match(r"mkfs(?:\.|$)", name):
        return ProgramRule(FileUse.WRITES)
    if name.startswith("fsck."):
        return _TABLE["fsck"]
    return _TABLE.get(name, UNKNOWN_PROGRAM)


def use_of(name: str, words: Sequence[str]) -> FileUse:
    """Return how the program of that name uses the files in `words`."""
    return known_program(name).use_with(words)


def starts(words: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the possible positions of the program in `words`, and the words that lead to it.

    There may be two positions if only the leading program knows whether its option takes a value.
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


def operands_of(program: ProgramRule, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the operands of a copying program, and the target directories of its options."""
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
    """Whether a program is cp with an option that copies links and devices as such, or whole directories."""
    return name == "cp" and any(_LINKING.fullmatch(word) for word in words)


_HARMLESS = re.compile(
    r"/dev/(?:null|zero|full|u?random|shm/.*|stdin|stdout|stderr|tty|fd/\d+|pts/\d+|ptmx|mqueue/.*|hugepages/.*)"
)


def devices_in(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the devices among `paths` that hold data."""
    return tuple(path for path in paths if _is_device(path))


def _is_device(path: str) -> bool:
    plain = f"/{normpath(path).lstrip('/')}" if path.startswith("/") else ""
    return plain.startswith("/dev/") and not _HARMLESS.fullmatch(plain)


def overwritten(program: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the devices that a program overwrites."""
    kind = use_of(program, arguments)
    if kind is FileUse.COPIES:
        operands, named = operands_of(known_program(program), arguments)
        return devices_in([*operands[-1:], *named])
    return devices_in(arguments) if kind is FileUse.WRITES else ()
