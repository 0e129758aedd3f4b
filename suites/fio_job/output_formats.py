"""How fio's output is recognised, and the options that it states: JSON, text for people, terse lines."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from types import MappingProxyType

from suites.fio.identities import document_contradictions, terse_contradictions, text_contradictions
from suites.fio.metrics import BANDWIDTH, job_figures
from suites.fio.output import verify_note, without_verify
from suites.fio.parameters import ONE_AT_A_TIME, verifies_after
from suites.fio.report import JobReport, Report, read_report
from suites.fio.suite import Fio
from suites.fio.text import read_terse, read_text
from suites.fio_job.file import ALIASES, KNOWN, JobFileError, Section, read_job_file
from suites.fio_job.section_values import section_values
from suites.fio_job.stated_values import (
    BLOCKS,
    PARAMETERS,
    SIZE,
    inferred_values,
    load_on_line,
    pattern_of,
    printed_blocks,
    stated_in_file,
    stated_on_line,
    without_default_size,
)
from suites.identities import Contradictions, noted
from suites.output_reading import with_own_texts
from suites.output_times import CTIME, start_before_end
from suites.outputs import NO_DISK, OutputFormat, ParsedTrial, ReadOutput, ToolOutput, is_without_disk, parse_whole
from suites.parameters import Value
from suites.quantities import count_text
from suites.strict_json import objects_in, read_json
from suites.vocab import Figure, labels

_FIO = Fio()

_HEADER = re.compile(
    r"(?P<job>.{1,100}): \(g=(?P<group>\d{1,6})\): rw=(?P<rw>\w+), "
    rf"bs=(?P<bs>(?:\([RWT]\) )?{SIZE}(?:[-,/ RWT()]{{1,6}}{SIZE})*)"
    r".*?(?:, ioengine=(?P<ioengine>[\w.:/-]+))?(?:, iodepth=(?P<iodepth>\d+))?$"
)
_GROUP = re.compile(r"(?P<job>.{1,100}): \(groupid=(?P<group>\d{1,6}), jobs=(?P<jobs>\d{1,6})\): err=")
_LINE = re.compile(
    rf"{_GROUP.pattern}|\s*(?:read|write|trim|mixed)\s*: ?(?:IOPS|io)=|\s*(?:slat|clat|lat|sync) \([num]sec\) *: min=|"
    r"\s*(?:slat|clat|lat|sync) percentiles \([num]sec\)|Run status group \d|"
    r"\s*(?:READ|WRITE|TRIM|MIXED): (?:bw|io)="
)
_GROUP_RATE = re.compile(
    r"\s*(?P<operation>READ|WRITE|TRIM|MIXED): .{0,60}?\b(?:bw|aggrb)=\s*(?P<rate>\d{1,15}(?:\.\d{1,6})?)"
    r"(?P<prefix>[kKMGT]?)i?B/s.{0,160}?\b(?:run=|mint=)\d{1,12}(?:-|msec, maxt=)(?P<time>\d{1,12})msec"
)
"""A rate of all jobs of a group, in fio's closing summary."""
_DIRECTION = re.compile(r"\s*(?:read|write|trim|mixed)\s*:")
_TERSE = re.compile(r"[345];fio-\d[^;]{0,40};(?P<job>[^;]{0,100})")
_CLIENT = re.compile(r"<(?!(?i:snip|snipped|cut)>)(?P<host>[\w.:-]{1,100})>(?: |$)")
"""The host before lines of fio --client, alone on the line before the results of its jobs; no mark of lines left out.
"""

_SUM = "All clients"
"""The name that fio --client gives the sum of all servers."""

_LOG = re.compile(r"(\d{1,15}), \d{1,18}, [012], \d{1,10}(?:, \d{1,20}(?:, \w{1,10}){0,2})?$")
"""A sample of write_bw_log, write_iops_log or write_lat_log: time in ms, value, direction, block size, offset."""

_DOCUMENT_START = start_before_end(
    re.compile(r'"timestamp"\s*:\s*(?P<epoch>\d{1,20})\b'),
    re.compile(r'"elapsed"\s*:\s*(?P<s>\d{1,9})\b|"job_runtime"\s*:\s*(?P<ms>\d{1,12})\b'),
)
_TEXT_START = start_before_end(
    re.compile(rf": pid=\d{{1,10}}: {CTIME}$", re.MULTILINE), re.compile(r"/(?P<ms>\d{1,12})msec\)")
)
"""fio states when it wrote its result, in text as local time."""


def _with_paths(read: ReadOutput) -> ReadOutput:
    """Return a reader that notes at each result that its device or directory is by its name no disk."""

    def noting(text: str, command: str | None) -> Iterator[ToolOutput]:
        for one in read(text, command):
            path = str(one.stated.get("device") or one.stated.get("directory") or "")
            note = (f"{NO_DISK}{path} is memory, or a device without a disk.",) if is_without_disk(path) else ()
            yield replace(one, parsed=replace(one.parsed, notes=(*one.parsed.notes, *note)))

    return noting


def _at_heads(read: ReadOutput, head: re.Pattern[str]) -> ReadOutput:
    """Return a reader that finds the line of the `head` of each result after the first."""

    def placing(text: str, command: str | None) -> Iterator[ToolOutput]:
        lines = enumerate(_CLIENT.sub("", line, count=1).strip() for line in text.split("\n"))
        heads = [(number, match["job"]) for number, line in lines if (match := head.match(line))]
        at = -1
        for one in read(text, command):
            first = at < 0
            at = next((number for number, job in heads if number > at and one.name.endswith(job)), max(at, 0))
            yield replace(one, line=one.line or (0 if first else at))

    return placing


def _each_checked(read: ReadOutput, find: Contradictions) -> ReadOutput:
    """Return a reader that notes at each result what contradicts itself in its own part of the output.

    What has the name of one result only is noted at that one, wherever it is.
    """

    def checking(text: str, command: str | None) -> Iterator[ToolOutput]:
        results = list(with_own_texts(read(text, command), text))
        times, whole = Counter(one.name for one, _ in results), list(find(text))
        for one, own in results:
            by_name = [each for each in whole if each[0] and (not times[each[0]] or each[0] == one.name)]
            near = [each for each in find(own) if not each[0] or times[each[0]] > 1]
            yield from noted([one], [*(each for each in by_name if times[each[0]] <= 1), *near])

    return checking


def fio_formats() -> tuple[OutputFormat, ...]:
    """Return the formats of fio."""
    first = re.compile(rf"{_HEADER.pattern}|fio-\d+\.\d+\S*$")
    return (
        OutputFormat(
            title="fio JSON",
            keys=frozenset({"fio version", "jobs"}),
            joined=True,
            read=_with_paths(_read_documents),
            free_text=frozenset({"description", "desc"}),
            begun=_DOCUMENT_START,
        ),
        OutputFormat(
            title="fio text",
            first=first,
            line=_LINE,
            read=_each_checked(_at_heads(_with_paths(_read_text_output), _GROUP), text_contradictions),
            begun=_TEXT_START,
            prints_dots=True,
        ),
        OutputFormat(
            title="fio terse",
            first=_TERSE,
            read=_each_checked(_at_heads(_read_terse_output, _TERSE), terse_contradictions),
        ),
        OutputFormat(
            title="fio client JSON",
            keys=frozenset({"fio version", "client_stats"}),
            read=_read_clients,
            begun=_DOCUMENT_START,
        ),
        OutputFormat(title="fio log", line=_LOG, read=_read_log),
    )


# JSON


def _read_documents(text: str, _command: str | None) -> Iterator[ToolOutput]:
    """Yield the jobs of documents; those of one run by --status-interval are one, the last of which counts."""
    for at, documents in _runs(text):
        content = read_json(documents[-1])
        report = read_report(content)
        if report is None:
            continue
        found = tuple(document_contradictions(documents[-1]))
        for job, one in zip(report.jobs, _of_document(documents, report), strict=True):
            own = [("", words) for key, words in found if key == job.key]
            yield from noted([replace(one, line=text.count("\n", 0, at))], own)


def _of_document(documents: list[str], report: Report) -> Iterator[ToolOutput]:
    whole = "\n".join(documents) + "\n"
    alone = len(report.jobs) == 1
    for job in report.jobs:
        jobs = _counted_jobs(job)
        values, mixed = _job_values(job)
        unstated: dict[str, tuple[Value, ...]] = {} if job.options else {"direct": (True, False)}
        parsed = parse_whole(_FIO.parser(values), whole.encode()) if alone else _of_one(job, report, values)
        if jobs > 1 and job.job_seconds < _SAME_TIME * jobs * job.runtime:
            text = f"Jobs of the group ended earlier than the longest: the rates are means of its {job.runtime:g} s."
            parsed = replace(parsed, notes=(*parsed.notes, text))
        marked = _marked(values, *mixed)
        yield ToolOutput(_FIO.id, parsed, marked, unstated, name=job.name, seconds=_ran(job, values))


def _counted_jobs(job: JobReport) -> int:
    """Return how many jobs at least are counted as this one; 0 if it is not known."""
    section, jobs = Section(job.name, _options(job.options)), _fewest_jobs(job)
    several = section.options.get("name", job.name) != job.name
    return max(jobs, section.number("numjobs", 1) + 1) if several else jobs


def _job_values(job: JobReport) -> tuple[dict[str, Value], Sequence[str]]:
    """Return the values of a job, and the names of those that several jobs may have counted otherwise."""
    section, jobs = Section(job.name, _options(job.options)), _counted_jobs(job)
    counted: dict[str, Value] = {"numjobs": jobs} if jobs else {}
    found = {**inferred_values(job, Section(job.name), counted), **counted}
    if not section.options:  # an old fio, or a document that was reduced
        return found, ("rw",)
    values = without_default_size(section, section_values(section, ""))
    if jobs <= section.number("numjobs", 1):
        return values, ()
    # group_reporting counts several jobs as one; the options are those of one of them
    kept = {"runtime"} if values["ioengine"] in ONE_AT_A_TIME else {"runtime", "ioengine"}
    values = {**values, **{name: value for name, value in found.items() if name not in kept}}
    values.pop("size", None)
    return values, ("rw",)


def verifies(job: JobReport) -> bool:
    """Return whether the reads of a job are those that verify what it wrote."""
    return verifies_after(_job_values(job)[0])


_SAME_TIME = 0.95
"""Share of the longest time of a group that its jobs ran on average, below which some ended clearly earlier."""


def _fewest_jobs(job: JobReport) -> int:
    """Return how many jobs at least are counted as this one, from the time of all; 0 if it is not known."""
    if not job.runtime or not job.job_seconds:
        return 0
    return max(1, ceil((job.job_seconds - 0.002) / job.runtime - 0.05))  # times are in whole milliseconds


def _ran(job: JobReport, values: Mapping[str, Value]) -> float | None:
    """Return the seconds for which a job ran, with its ramp, which fio does not count; None if it does not say."""
    ramp = values.get("ramp_time")
    return job.runtime + (ramp if isinstance(ramp, float | int) else 0.0) or None


def _runs(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the documents of each run of fio, and where they begin: within one, the time of each job goes on."""
    run: list[str] = []
    begun = 0
    before: Report | None = None
    decoder = json.JSONDecoder()
    at = 0
    while (at := text.find("{", at)) >= 0:
        content, end = decoder.raw_decode(text, at)
        report = read_report(content)
        if run and not _goes_on(before, report):
            yield begun, run
            run = []
        begun = begun if run else at
        run.append(_lines_of_fio(text[at:end]))
        before, at = report, end
    if run:
        yield begun, run


def _goes_on(before: Report | None, after: Report | None) -> bool:
    if before is None or after is None:
        return False
    times = {job.key: job.runtime for job in before.jobs}
    return all(job.runtime >= times.get(job.key, 0.0) for job in after.jobs) and times.keys() <= {
        job.key for job in after.jobs
    }


def _lines_of_fio(document: str) -> str:
    """Return a document as fio's parser takes it: alone on its line, or its first and last line a brace."""
    lines = document.splitlines()
    return document if len(lines) == 1 or (lines[0].strip(), lines[-1].strip()) == ("{", "}") else "".join(lines)


def _options(given: Mapping[str, str]) -> dict[str, str]:
    return {ALIASES.get(name, name): value for name, value in given.items()}


def _of_one(job: JobReport, report: Report, values: Mapping[str, Value]) -> ParsedTrial:
    """Return the figures of one job of several: what reached the device cannot be divided among them."""
    problems = (f"fio failed with error {job.error}.",) if job.error else ()
    verified = [note] if verifies_after(values) and (note := verify_note(job)) else []
    figures = tuple(job_figures(without_verify(job) if verified else job, {}))
    return ParsedTrial(figures, notes=(*problems, *verified), complete=not problems, tool_version=report.version)


def _marked(values: Mapping[str, Value], *more: str) -> dict[str, Value]:
    """Return `values`, with the names of those that decide a finding and are not stated, and `more` of them."""
    left_open = [*(name for name in ("size", "direct", "iodepth") if name not in values), *more]
    return {**values, "not_stated": " ".join(left_open)} if left_open else dict(values)


def _read_clients(text: str, command: str | None) -> Iterator[ToolOutput]:
    """Yield the jobs of each host of fio --client, then their sum, which has the options of the first one.

    The sum has the host of the last client. Servers of one host differ in their ports.
    """
    content = read_json(text)
    jobs = [dict(job) for job in objects_in(content, "client_stats")]
    sums = [job for job in jobs if _is_sum(job)]
    clients = [job for job in jobs if not _is_sum(job)]
    options = next((dict(one) for job in clients if isinstance(one := job.get("job options"), dict)), {})
    by_host: dict[str, list[dict[str, object]]] = {}
    ports = {(str(job.get("hostname", "")), str(job.get("port", ""))) for job in clients}
    for job in clients:
        host, port = str(job.get("hostname", "")), str(job.get("port", ""))
        several = sum(name == host for name, _ in ports) > 1
        by_host.setdefault(f"{host}:{port}" if several else host, []).append(job)
    number = sum(map(_clones, clients))
    whole_options = {**options, "numjobs": str(number)}
    for host, own in (*by_host.items(), *(("", [job]) for job in sums)):
        complete = [{"job options": options if host or not sums else whole_options, **job} for job in own]
        document = json.dumps({key: value for key, value in content.items() if key not in _OF_CLIENTS})
        whole = f'{document[:-1]}, "jobs": {json.dumps(complete)}}}'
        for one in _read_documents(whole, command):
            yield replace(one, name=f"{host} {one.name}".strip())


def _is_sum(job: Mapping[str, object]) -> bool:
    return job.get("jobname") == _SUM and "job options" not in job


def _clones(job: Mapping[str, object]) -> int:
    """Return how many processes the options of a job are for."""
    options = job.get("job options")
    text = str(options.get("numjobs", "1")) if isinstance(options, dict) else "1"
    return int(text) if text.isdecimal() and len(text) < 7 else 1


_OF_CLIENTS = frozenset({"client_stats", "disk_util"})


def _read_log(text: str, _command: str | None) -> Iterator[ToolOutput]:
    """Yield that samples alone cannot be judged: a log states neither what its values are nor the job."""
    times = [int(match[1]) for line in text.splitlines() if (match := _LOG.match(line.strip()))]
    if len(times) >= FEWEST_SAMPLES:
        seen = f"{count_text(len(times), 'sample')} from {times[0] / 1000:g} s to {times[-1] / 1000:g} s"
        reason = f"{seen}, without unit and job. Give the output of fio, or its JSON."
        yield ToolOutput(_FIO.id, ParsedTrial(), undecided=reason)


FEWEST_SAMPLES = 3
"""Lines like those of a log that are taken for one."""


# Text for people, and terse lines


_PID = re.compile(r"\(groupid=\d{1,6}, jobs=\d{1,6}\): err=.{1,80}?\bpid=(\d{1,9})")

_UNNAMED = "fio: (groupid=0, jobs=1): err= 0:"
"""The head of a job, for results that were pasted without theirs."""


_COMMA = re.compile(r"\b(?:iops|bw|min|max|avg|stdev)= *\d{1,15},\d", re.IGNORECASE)


def _read_text_output(text: str, command: str | None) -> Iterator[ToolOutput]:
    comma = _COMMA.search(text)
    if comma is not None:
        reason = f"“{comma[0]}…”: fio prints no decimal commas, nor separators of thousands. Give it as fio prints it."
        yield ToolOutput(_FIO.id, ParsedTrial(notes=(reason,), complete=False), undecided=reason)
        return
    if not any(_GROUP.match(_CLIENT.sub("", line, count=1)) for line in text.splitlines()):
        if not any(_DIRECTION.match(line) for line in text.splitlines()):
            yield from _of_groups(text, command)
            return
        parts, before = list(_without_heads(text)), 0
        for words, part in parts:
            whole = f"{_UNNAMED}\n{part}"
            for one in _of_report(read_text(whole.splitlines()), whole, command, {}):
                yield replace(one, name=words or one.name, line=before) if len(parts) > 1 else one
            before += 1 + part.count("\n")
        return
    plain = [_CLIENT.sub("", line, count=1) for line in text.splitlines()]
    headers = [line for line in plain if _HEADER.match(line.strip())]
    sections = _job_file_above(plain)
    for host, lines in _by_client(text):
        stated = _stated_in_text([*headers, *lines])
        for one in _of_report(read_text(lines), "\n".join(lines), command, stated, sections):
            yield replace(one, name=f"{host} {one.name}") if host else one


_SECTION = re.compile(r"\[[^\]]{1,100}\]")
_OPTION = re.compile(r"([a-z][\w-]*)\s*(?:=|$)")


def _job_file_above(lines: Iterable[str]) -> dict[str, Section]:
    """Return the sections of the last job file above an output, by name."""
    taken: list[str] = []
    ended = False
    for line in map(str.strip, lines):
        option = _OPTION.match(line)
        if _HEADER.match(line) or _GROUP.match(line):
            break
        if _SECTION.fullmatch(line):
            taken, ended = [*([] if ended else taken), line], False
        elif option and ALIASES.get(option[1], option[1]) in KNOWN and not ended:
            taken += [line] if taken else []
        elif line and line[0] not in ";#":
            ended = True
    try:
        return {section.name: section for section in read_job_file("\n".join(taken))}
    except JobFileError:
        return {}


_TITLE = re.compile(r"[\s*_#>:-]*(?!(?i:snip|snipped|cut)\b)(?P<words>\w[^=]{0,38}?)[\s*_#:-]*$")
"""A line of a few words, with the marks of a heading; each line of fio with a figure has an equals sign."""


def _without_heads(text: str) -> Iterator[tuple[str, str]]:
    """Yield the words above each result without its head, and its lines.

    Words directly above a direction begin another, and so does a direction that this one has.
    """
    part: list[str] = []
    seen: set[str] = set()
    words = title = ""
    for line in text.splitlines():
        if direction := _DIRECTION.match(line):
            name = direction[0].strip(" \t:")
            if seen and (title or name in seen):
                yield words, "\n".join(part)
                part, seen, words = [], set(), ""
            seen.add(name)
            words = words or title
        if line.strip():
            heading = _TITLE.match(line)
            title = "" if heading is None else heading["words"]
        part.append(line)
    yield words, "\n".join(part)


def _of_groups(text: str, command: str | None) -> Iterator[ToolOutput]:
    """Yield the rates of each group of jobs in fio's closing summary, without anything else of their output."""
    groups: list[list[re.Match[str]]] = []
    for line in text.splitlines():
        found = _GROUP_RATE.match(line)
        if found and groups and found["operation"] not in {one["operation"] for one in groups[-1]}:
            groups[-1].append(found)
        elif found:
            groups.append([found])
        elif line.startswith("Run status group"):
            groups.append([])
    given = stated_on_line(command)
    for group in filter(None, groups):
        figures = tuple(
            Figure(BANDWIDTH, _bytes_per_second(one), labels(operation=one["operation"].lower())) for one in group
        )
        seconds = max(int(one["time"]) for one in group) / 1000
        done = {one["operation"].lower() for one in group}
        values = {"rw": pattern_of(done), "runtime": 0.0, **(given or {})}
        unstated = {} if "direct" in values else {"direct": (True, False)}
        marked = _marked(values, *([] if given and "rw" in given else ["rw"]))
        yield ToolOutput(_FIO.id, ParsedTrial(figures, notes=(_RATES_ONLY,)), marked, unstated, seconds=seconds)


_RATES_ONLY = "fio's closing summary alone: it has neither IOPS and latencies nor the options of the jobs."


def _bytes_per_second(rate: re.Match[str]) -> float:
    """Return a rate; fio 2 prints KB/s and means 1024 bytes."""
    return float(rate["rate"]) * 1024.0 ** " kmgt".index(rate["prefix"].lower() or " ")


def _by_client(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of each server of fio --client, then their sum; of a text without servers all lines, unnamed.

    A server's name alone precedes its results. Where the names of several precede those of all, fio does not say whose
    are first: then they have numbers.
    """
    waiting: list[str] = []
    parts: list[tuple[str, list[str]]] = [("", [])]
    server, has_jobs, closed = 0, False, False
    pids: set[str] = set()  # of the jobs of this part
    summed = f"{_SUM}: (groupid=" in text
    for line in text.splitlines():
        named = _CLIENT.match(line)
        bare = _CLIENT.sub("", line, count=1)
        group = _GROUP.match(bare.strip())
        if named and named.end() == len(line.rstrip()):
            waiting = [named["host"]] if has_jobs else [*waiting, named["host"]]
            parts.append((named["host"], []))
            server, has_jobs, closed = 0, False, False
        elif group and waiting and (group["job"] == _SUM or (len(waiting) > 1 and (closed or not has_jobs))):
            server += 1
            parts.append(("" if group["job"] == _SUM else _numbered(waiting, server), []))
            closed = False
        elif not (waiting or summed) and (pid := _PID.search(bare)):
            if closed and pid[1] not in pids:  # another start of fio; --status-interval repeats the same processes
                parts.append(("", []))
                pids.clear()
            closed = False
            pids.add(pid[1])
        has_jobs |= group is not None
        closed |= bare.startswith("Run status group")
        parts[-1][1].append(bare)
    yield from parts


def _numbered(names: Sequence[str], server: int) -> str:
    """Return how the results of a server are named that may be those of any of `names`."""
    return f"{names[0]} server {server}" if len(set(names)) == 1 else f"server {server} of {', '.join(names)}"


def _read_terse_output(text: str, command: str | None) -> Iterator[ToolOutput]:
    yield from _of_report(read_terse(text.splitlines()), text, command, {})


def _stated_in_text(lines: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the options of each job that fio's first lines and the heads of its results state.

    Of jobs that group_reporting counts as one, those that are the same for all of them.
    """
    found: dict[str, dict[str, str]] = {}
    begun: dict[str, list[tuple[str, dict[str, str]]]] = {}
    heads: dict[str, set[str]] = {}
    counted: set[tuple[str, str, str]] = set()  # --status-interval repeats the same processes
    for line in lines:
        if header := _HEADER.match(line.strip()):
            stated = {name: header[name] for name in ("rw", "ioengine", "iodepth") if header[name]}
            one = header["job"], {**stated, **printed_blocks(header["bs"], header["rw"])}
            of_group = begun.setdefault(header["group"], [])
            of_group += [] if one in of_group else [one]
        elif group := _GROUP.match(line.strip()):
            heads.setdefault(group["group"], set()).add(group["job"])
            own = found.setdefault(group["job"], {})
            pid = _PID.search(line)
            head = group["job"], group["group"], pid[1] if pid else f"number {len(counted)}"
            if head in counted:
                continue
            counted.add(head)
            own["numjobs"] = str(int(own.get("numjobs", 0)) + int(group["jobs"]))  # clones without group_reporting
    for number, jobs in begun.items():
        merged = len(jobs) > len(heads.get(number, jobs))
        for job, options in jobs:
            same = options.items() if not merged else set.intersection(*(set(each.items()) for _, each in jobs))
            found.setdefault(job, {}).update(same)
    return found


def _of_report(
    report: Report | None,
    text: str,
    command: str | None,
    stated: Mapping[str, Mapping[str, str]],
    sections: Mapping[str, Section] = MappingProxyType({}),
) -> Iterator[ToolOutput]:
    if report is None:
        return
    on_line = stated_on_line(command)
    for job in report.jobs:
        section = Section(job.name, dict(stated.get(job.name, {})))
        given = on_line or stated_in_file(sections.get(job.name.strip()), section)
        read = section_values(section, "")
        in_output = {parameter: read[parameter] for name, parameter in PARAMETERS if name in section.options}
        if BLOCKS & section.options.keys() and not (given and given.get("block_sizes") and read["block_sizes"]):
            in_output |= {name: read[name] for name in ("block_size", "block_sizes")}
        inferred = inferred_values(job, section, given or {})
        if given and "block_size" not in given:
            inferred["block_sizes"] = ""
        values = {**inferred, **(given or {}), **in_output, **load_on_line(command, section)}
        alone = len(report.jobs) == 1
        parsed = parse_whole(_FIO.parser({**read, **values}), text.encode()) if alone else _of_one(job, report, values)
        unstated = {} if "direct" in values else {"direct": (True, False)}
        marked = _marked(values, *([] if "rw" in {*(given or {}), *in_output} else ["rw"]))
        yield ToolOutput(_FIO.id, parsed, marked, unstated, name=job.name, seconds=_ran(job, values))
