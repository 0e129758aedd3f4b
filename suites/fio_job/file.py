"""Parser of fio job files as fio reads them, with the effective options of each section."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from suites.base import StepEvidence
from suites.checks import CheckOutcome, NotChecked
from suites.errors import BenchwrightError
from suites.facts import Facts, known

# fio's options and engines with a known effect on files; all others are refused.


ALIASES: Mapping[str, str] = {
    "blockalign": "ba",
    "blocksize": "bs",
    "blocksize_range": "bsrange",
    "blocksize_unaligned": "bs_unaligned",
    "disable_bw": "disable_bw_measurement",
    "fileoffset": "offset",
    "fill_fs": "fill_device",
    "io_limit": "io_size",
    "iodepth_batch_complete": "iodepth_batch_complete_min",
    "iodepth_batch_submit": "iodepth_batch",
    "iomem": "mem",
    "mem_align": "iomem_align",
    "nr_files": "nrfiles",
    "ratecycle": "rate_cycle",
    "ratemin": "rate_min",
    "readwrite": "rw",
    "ss": "steadystate",
    "ss_dur": "steadystate_duration",
    "ss_ramp": "steadystate_ramp_time",
    "timeout": "runtime",
    "wait_for_previous": "stonewall",
}
"""Option aliases of fio (options.c, alias); it accepts no abbreviations in a job file."""

_NAMES = """
allow_file_create allow_mounted_write allrandrepeat apptag apptag_mask arguments atomic ba block_error_percentiles
bs bs_is_seq_rand bs_unaligned bsrange bssplit buffer_compress_chunk buffer_compress_percentage buffer_pattern
buffered bwavgtime cgroup_nodelete cgroup_weight clat_percentiles clocksource cmd_type cmdprio cmdprio_bssplit
cmdprio_class cmdprio_hint cmdprio_percentage continue_on_error cpuchunks cpuload cpumask cpumode cpus_allowed
cpus_allowed_policy create_fsync create_on_open create_only create_serialize dataplacement deac dedupe_global
dedupe_mode dedupe_percentage dedupe_working_set_percentage description direct directory disable_bw_measurement
disable_clat disable_lat disable_slat disk_util do_verify dp_scheme end_fsync error_dump exec_postrun exec_prerun
exit_on_io_done exit_what exitall exitall_on_error experimental_verify fadvise_hint fallocate fdatasync fdp fdp_pli
fdp_pli_select file_append file_service_type filename filename_format filesize fill_device fixedbufs flow flow_id
flow_sleep flow_watermark force_async fsync fsync_on_close gid gpu_dev_id grace_time group_reporting gtod_cpu
gtod_reduce hipri hipri_percentage hugepage-size ignore_error ignore_zone_limits invalidate io_size io_submit_mode
iodepth iodepth_batch iodepth_batch_complete_max iodepth_batch_complete_min iodepth_low ioengine iomem_align
iopsavgtime job_max_open_zones kb_base lat_percentiles latency_percentile latency_run latency_target latency_window
lockfile lockmem log_alternate_epoch log_alternate_epoch_clock_id log_avg_msec log_compression log_compression_cpus
log_entries log_hist_coarseness log_hist_msec log_issue_time log_max_value log_offset log_prio log_store_compressed
log_unix_epoch log_window_value loops max_latency max_open_zones md_per_io_size mem merge_blktrace_iters
merge_blktrace_scalars name new_group nice nonvectored norandommap nowait nrfiles num_range numa_cpu_nodes
numa_mem_policy number_ios numjobs offset offset_align offset_increment openfiles overwrite per_job_logs
percentage_random percentage_sequential percentile_list pi_act pi_chk plid_select plids pre_read prehint prio
prio_aging prio_hint prioclass program ramp_time random_distribution random_generator randrepeat randseed rate
rate_cycle rate_ignore_thinktime rate_iops rate_iops_min rate_min rate_process read_beyond_wp read_iolog_chunked
readfua recover_zbd_write_error refill_buffers registerfiles replay_align replay_no_stall replay_scale replay_skip
replay_time_scale runtime rw rw_sequencer rwmixcycle rwmixread rwmixwrite scramble_buffers serialize_overlap
significant_figures size slat_percentiles softrandommap sprandom sqthread_poll sqthread_poll_cpu startdelay
stat_type stats std_redirect steadystate steadystate_duration steadystate_ramp_time stonewall sync sync_file_range
thinktime thinktime_blocks thinktime_blocks_type thinktime_iotime thinktime_spin thp thread threads time_based
trim_backlog trim_backlog_batch trim_percentage trim_verify_zero uid uncached unified_rw_reporting unique_filename
unit_base unlink unlink_each_loop userspace_reap vectored verify verify_async verify_async_cpus verify_backlog
verify_backlog_batch verify_dump verify_fatal verify_header_seed verify_interval verify_mode verify_offset
verify_only verify_pattern verify_state_load verify_state_save verify_write_sequence verifysort verifysort_nr
wait_for write_barrier write_bw_log write_hint write_hist_log write_iolog write_iops_log write_lat_log write_mode
writefua zero_buffers zone_reset_frequency zone_reset_threshold zonecapacity zonemode zonerange zonesize zoneskip
"""

KNOWN = frozenset(_NAMES.split())
"""Options of fio 3.33 and later, and of the engines below, that open no file, or one that `targets` covers."""

REFUSED: Mapping[str, str] = {
    "opendir": "works on every file in a directory at that moment; name the files with filename",
    "read_iolog": "replays another file's I/O to any files it names",
    "replay_redirect": "replays another file's I/O",
    "merge_blktrace_file": "replays other files' I/O",
    "ioscheduler": "changes the I/O scheduler of the host’s disk permanently; use Tuning instead",
    "cgroup": "creates a cgroup and changes its weight on the host",
    "profile": "takes its jobs from a profile of fio, not from the file",
}
"""Options whose effect cannot be derived from the job file, and why."""

FILE_ENGINES = frozenset(
    {"sync", "psync", "vsync", "pvsync", "pvsync2", "libaio", "linuxaio", "posixaio", "io_uring", "mmap", "splice"}
)
"""Engines that read and write the files according to the pattern."""

CHANGING_ENGINES = frozenset({"falloc", "ftruncate", "filecreate", "filestat", "filedelete"})
"""Engines that create, truncate or remove their files, whatever the pattern."""

IDLE_ENGINES = frozenset({"null", "cpuio", "exec"})
"""Engines that open no file (fio, FIO_DISKLESSIO and FIO_NOIO); exec runs a program."""

ENGINES = FILE_ENGINES | CHANGING_ENGINES | IDLE_ENGINES


MAXIMUM_LINES = 2000

MAXIMUM_LINE = 4095
"""Bytes. fio parses the rest as a separate line (OPT_LEN_MAX: 4096 before fio 3.6, 8192 since)."""

BLANKS = " \t\v\f\r"
"""Blanks of isspace(3) in the C locale, in which fio runs; a no-break space or U+0085 is text to it."""

VARIABLE = re.compile(r"\$\{([^}]*)\}")
_KEYWORD = re.compile(r"\$(pagesize|mb_memory|ncpus)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SUM = re.compile(r"(\d{1,15})\s*([-+*/])\s*(\d{1,15})([kKmMgGtT]?)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=[^\s\x00-\x1f]*")
_LOADER = re.compile(r"LD_\w*|GLIBC_TUNABLES|GCONV_PATH|LOCPATH|NLSPATH|PATH|IFS|ENV|BASH_ENV|SHELLOPTS|PS4|TMPDIR")
"""Variables that select programs and libraries, or the location of fio's own files."""

PATHS = frozenset({"filename", "directory", "filename_format", "write_iolog", "mem", "name", "write_bw_log",
                   "write_lat_log", "write_iops_log", "write_hist_log"})  # fmt: skip
"""Options whose value is a path or a part of one."""

Option = tuple[str, str]


class JobFileError(BenchwrightError):
    """A job file cannot be parsed as fio does."""


@dataclass(frozen=True, slots=True)
class Section:
    """One section with its effective options: its own override those of [global] before it.

    `options` are by fio's primary name; an option without a value is "1". `missing` are variables without a value.
    `bodies` are all of them in file order, those of each [global] and last its own: file names add up.
    """

    name: str
    options: Mapping[str, str] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    bodies: tuple[tuple[Option, ...], ...] = ()

    def number(self, name: str, default: int) -> int:
        """Return an integer option, of the first direction if it has several; 2k is 2048 as for fio."""
        number = fio_size(self.options.get(name, "").split(",")[0])
        return default if number is None else number

    def flag(self, name: str) -> bool:
        """Return a boolean option; off if not given."""
        return self.options.get(name, "0").strip() not in {"0", "false"}

    def all_bodies(self) -> tuple[tuple[Option, ...], ...]:
        """Return the bodies; of a section without any, its options as one."""
        return self.bodies or (tuple(self.options.items()),)


def section_of(name: str, *bodies: Sequence[Option]) -> Section:
    """Return the section made of `bodies`, the last its own."""
    given = tuple(tuple((ALIASES.get(key, key), value) for key, value in body) for body in bodies)
    return Section(name, dict(option for body in given for option in body), bodies=given)


def read_job_file(text: str) -> tuple[Section, ...]:
    """Return the sections of a job file as written, in order, with [global] applied to those after it.

    Raises JobFileError naming the invalid line.
    """
    shared: list[tuple[Option, ...]] = []
    found: list[tuple[str, tuple[tuple[Option, ...], ...], list[Option]]] = []
    current: list[Option] | None = None
    in_global = False
    for number, line in _lines(text):
        if line.startswith("["):
            name = _section_name(line, number)
            if in_global and current is not None:
                shared.append(tuple(current))
            current, in_global = [], name.startswith("global")  # fio compares only these six letters
            if not in_global:
                found.append((name, tuple(shared), current))
        elif current is None:
            raise JobFileError(f"Line {number} is outside any section: “{line[:60]}”.", "Begin with [global].")
        else:
            current.append(_option(line, number))
    if not found:
        raise JobFileError("The job file has no section.", "Add at least one, such as [job], with its options below.")
    return tuple(_section(name, (*before, tuple(own))) for name, before, own in found)


def effective_sections(
    text: str, environment: Mapping[str, str] | None = None, facts: Facts | None = None
) -> tuple[Section, ...]:
    """Return the effective sections: variables from `environment`, `$ncpus` and similar from `facts`.

    A keyword whose value is not known stays as written. Raises JobFileError.
    """
    keywords = _keywords(facts)
    return tuple(_expanded(section, environment or {}, keywords) for section in read_job_file(text))


def read_environment(text: str) -> dict[str, str]:
    """Return the variables in ``A=1 B=/data``; raise JobFileError for an invalid or forbidden word.

    Variables that select programs or libraries are forbidden.
    """
    words = text.split()
    for word in words:
        name, _, value = word.partition("=")
        if not _ASSIGNMENT.fullmatch(word):
            raise JobFileError(f"“{word[:60]}” sets no variable.", "Write NAME=value, separated by spaces.")
        if _LOADER.fullmatch(name):
            raise JobFileError(f"{name} changes which programs and libraries fio runs.", f"Remove {name} from it.")
        if re.search(r"[;#]|\$\{", value) or _KEYWORD.search(value):
            raise JobFileError(
                f"The value of {name} has a special character of fio: “{value[:60]}”.", "Write a plain value."
            )
    return dict(word.split("=", 1) for word in words)


def _section(name: str, bodies: tuple[tuple[Option, ...], ...], missing: tuple[str, ...] = ()) -> Section:
    return Section(name, dict(option for body in bodies for option in body), missing, bodies)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the non-empty lines with their numbers, as init.c and strip_blank_end of parse.c leave them.

    Only a newline ends a line.
    """
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > MAXIMUM_LINES:
        raise JobFileError(f"The job file has {len(lines)} lines.", f"The limit is {MAXIMUM_LINES}.")
    for number, whole in enumerate(lines, 1):
        if len(whole.encode("utf-8", "replace")) > MAXIMUM_LINE:
            raise JobFileError(f"Line {number} is longer than the {MAXIMUM_LINE} bytes that fio reads.", "Shorten it.")
        line = re.split("[;#]", whole, maxsplit=1)[0].strip(BLANKS)
        if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", line):
            raise JobFileError(f"Line {number} has a control character.", "Remove it.")
        if line:
            yield number, line


def _section_name(line: str, number: int) -> str:
    match = re.fullmatch(r"\[([^\]]{1,200})\]", line)
    if match is None or len(match[1].encode("utf-8", "replace")) > 200:
        raise JobFileError(f"Line {number} is not a section: “{line[:60]}”.", "Write [name], alone on its line.")
    return match[1]


def _option(line: str, number: int) -> Option:
    if line.startswith("include"):  # whatever follows: fio ignores the rest
        raise JobFileError(
            f"Line {number} includes another file: “{line[:60]}”.", "Replace the line by the content of that file."
        )
    name, equals, value = line.partition("=")
    name = ALIASES.get(name.rstrip(BLANKS), name.rstrip(BLANKS))
    if not _NAME.fullmatch(name):
        raise JobFileError(f"Line {number} is not an option: “{line[:60]}”.", "Write name=value.")
    if "${" in VARIABLE.sub("", value):
        raise JobFileError(f"Line {number} has an unterminated variable: “{line[:60]}”.", "Write ${NAME}.")
    if name in PATHS and _KEYWORD.search(value):
        raise JobFileError(f"Line {number} has a keyword in a path: “{line[:60]}”.", "Write the number.")
    return name, value.strip(BLANKS) if equals else "1"


def _expanded(section: Section, environment: Mapping[str, str], keywords: Mapping[str, str]) -> Section:
    """Return `section` with variables and keywords expanded as in options.c, fio_option_dup_subs and
    fio_keyword_replace; variables without a value are recorded as missing, and empty as in fio."""

    def expand(name: str, value: str) -> str:
        given = VARIABLE.sub(lambda match: environment.get(match[1], ""), value)
        replaced = _KEYWORD.sub(lambda match: keywords.get(match[1], match[0]), given)
        if "${" in given or (name in PATHS and replaced != given):
            raise JobFileError(
                f"[{section.name}] has {name}={value[:60]}, which is expanded twice.", "Write its value."
            )
        return _calculated(replaced) if replaced != given else given

    ruling = [*section.options.items(), *(option for body in section.bodies for option in body if option[0] in PATHS)]
    missing = [name for _, value in ruling for name in VARIABLE.findall(value) if name not in environment]
    bodies = tuple(tuple((name, expand(name, value)) for name, value in body) for body in section.bodies)
    return _section(section.name, bodies, tuple(dict.fromkeys(missing)))


def _keywords(facts: Facts | None) -> dict[str, str]:
    if facts is None:
        return {}
    memory, cpus, page = known(facts.memory.total), known(facts.cpu.threads), known(facts.memory.page_size)
    found: dict[str, str] = {}
    if page is not None:
        found["pagesize"] = str(page)
    if memory is not None:
        found["mb_memory"] = str(memory // 2**20)
    if cpus is not None:
        found["ncpus"] = str(cpus)
    return found


def _calculated(value: str) -> str:
    """Return the result of one arithmetic expression, as fio gets it from bc; anything else unchanged."""
    match = _SUM.fullmatch(value.strip(BLANKS))
    if match is None or (match[2] == "/" and int(match[3]) == 0):
        return value
    one, other = int(match[1]), int(match[3])
    results = {"+": one + other, "-": one - other, "*": one * other, "/": one // other if other else 0}
    return f"{results[match[2]]}{match[4]}"


# Applying checks to the effective sections of a job file.


NAMED = 5
"""Sections that a finding names; the others are counted."""

Answer = CheckOutcome | NotChecked | None


def sections_of(evidence: StepEvidence) -> tuple[Section, ...] | JobFileError:
    """Return the effective sections of a step's job file on its host, or why it cannot be parsed."""
    try:
        environment = read_environment(str(evidence.values["environment"]))
        return effective_sections(str(evidence.values["job"]), environment, evidence.context.facts)
    except JobFileError as error:
        return error


def about(of: Callable[[Section], str]) -> Callable[[StepEvidence], Answer]:
    """Return a check applied to each section; the result of `of` is reported with the section's name."""

    def evaluate(evidence: StepEvidence) -> Answer:
        sections = sections_of(evidence)
        if isinstance(sections, JobFileError):
            return None
        reports = [f"[{section.name}] {answer}" for section in sections if (answer := of(section))]
        more = f"; {len(reports) - NAMED} more" if len(reports) > NAMED else ""
        return CheckOutcome(f"{'; '.join(reports[:NAMED])}{more}.") if reports else None

    return evaluate


# Sizes and times as fio reads them.


_SIZE = re.compile(r"(0x[0-9a-f]{1,15}|[0-9]{1,15})\s*([kmgtp]?)(ib)?(?:i|b)?", re.IGNORECASE | re.ASCII)
_TIME = re.compile(r"([0-9]{1,15})\s*(us|ms|s|m|h|d)?", re.IGNORECASE | re.ASCII)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def fio_size(text: str) -> int | None:
    """Return the bytes of a size as fio reads it: k, kB and Ki are 1024 bytes, KiB is 1000; None if it is not a size.

    This is not a mistake: with its default kb_base, fio swaps the two (manual, kb_base).
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    power = " kmgtp".index(match[2].lower() or " ")
    base = 1000 if match[3] else 1024
    return int(int(match[1], 16 if match[1][:2].lower() == "0x" else 10) * base**power)


def fio_seconds(text: str, unit: str = "s") -> float | None:
    """Return the seconds of a time as fio reads it, in `unit` if it names none; None if it is not a time."""
    match = _TIME.fullmatch(text.strip())
    return None if match is None else int(match[1]) * _SECONDS[(match[2] or unit).lower()]
