"""The ways in which an output is wrapped when people paste it: prefixes of logs, quoting, markup, borders, escapes."""

import csv
import html
import io
import json
import quopri
import textwrap
from collections.abc import Callable, Mapping, Sequence

Wrap = Callable[[Sequence[str]], str]
"""Returns the lines of an output as they are pasted."""


def _each(wrap: Callable[[int, str], str]) -> Wrap:
    return lambda lines: "\n".join(wrap(number, line) for number, line in enumerate(lines, 1)) + "\n"


def _prefix(text: str) -> Wrap:
    return _each(lambda _number, line: text + line)


def _time(number: int, format_: str) -> str:
    minute, second = divmod(number % 3600, 60)
    return format_.format(minute=minute, second=second, fraction=f"{number * 7919 % 1_000_000_000:09d}")


def _stamp(format_: str) -> Wrap:
    return _each(lambda number, line: _time(number, format_) + line)


def _between(before: str, after: str) -> Wrap:
    return lambda lines: before + "\n".join(lines) + after


def _width(lines: Sequence[str]) -> int:
    return max(map(len, lines), default=0)


def _boxed(lines: Sequence[str]) -> str:
    wide = _width(lines)
    rows = [f"│ {line:<{wide}} │" for line in lines]
    return "\n".join([f"┌{'─' * (wide + 2)}┐", *rows, f"└{'─' * (wide + 2)}┘"]) + "\n"


_TOP = (
    "top - 12:00:01 up 3 days,  1:02,  2 users,  load average: 0.61, 0.40, 0.35",
    "Tasks: 211 total,   1 running",
    "%Cpu(s):  3.1 us,  1.0 sy,  0.0 ni, 95.2 id",
    "",
    "  912 root      20   0  receiver sshd",
    "  913 ann  sender bash",
)


def _beside(border: str, *, left: bool) -> Wrap:
    def wrap(lines: Sequence[str]) -> str:
        wide = max(_width(lines), _width(_TOP))
        rows = []
        for number, line in enumerate(lines):
            other = _TOP[number % len(_TOP)]
            first, second = (other, line) if left else (line, other)
            rows.append(f"{first:<{wide}} {border} {second}".rstrip())
        return "\n".join(rows) + "\n"

    return wrap


def _json_text(before: str, after: str) -> Wrap:
    return lambda lines: before + json.dumps("\n".join(lines) + "\n") + after


def _cell(lines: Sequence[str]) -> str:
    written = io.StringIO()
    csv.writer(written).writerows([["host", "output"], ["web-1", "\n".join(lines)]])
    return written.getvalue()


def _rows(lines: Sequence[str]) -> str:
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL).writerows([line] for line in lines)
    return written.getvalue()


def _notebook(lines: Sequence[str]) -> str:
    output = {"name": "stdout", "output_type": "stream", "text": [f"{line}\n" for line in lines]}
    return json.dumps({"cells": [{"cell_type": "code", "outputs": [output]}], "nbformat": 4}, indent=1) + "\n"


def _github(lines: Sequence[str]) -> str:
    framed = ["##[group]Run ./bench.sh", "./bench.sh", "shell: /usr/bin/bash -e {0}", "##[endgroup]", *lines]
    framed += ["Post job cleanup."]
    return _stamp("2026-11-28T12:{minute:02d}:{second:02d}.{fraction:.7}Z ")(framed)


def _gitlab(lines: Sequence[str]) -> str:
    start = "\x1b[0Ksection_start:1790000000:step_script\r\x1b[0K\x1b[0K\x1b[36;1mExecuting script\x1b[0;m"
    return "\n".join([start, *lines, "\x1b[0Ksection_end:1790000060:step_script\r\x1b[0K"]) + "\n"


def _split_markers(number: int, line: str) -> str:
    return f"{_time(number, '2026-11-28T12:{minute:02d}:{second:02d}.{fraction}Z')} stdout F {line}"


_NANOSECONDS = "2026-11-28T12:{minute:02d}:{second:02d}.{fraction}Z"

WRAPPINGS: Mapping[str, Wrap] = {
    "prose before and after": _between("Hello,\n\nthis is what I get on the new machine:\n\n", "\n\nIs it slow?\n"),
    "an indented block below prose": lambda lines: (
        "Results:\n\n" + textwrap.indent("\n".join(lines), "    ") + "\nDone.\n"
    ),
    "a block indented by tabs": _prefix("\t"),
    "a fence": _between("Output:\n```console\n", "\n```\n"),
    "an indented fence in a list": lambda lines: (
        "1. Run it:\n\n" + textwrap.indent("```\n" + "\n".join(lines) + "\n```", "   ") + "\n"
    ),
    "a Jira block": _between("{noformat:title=bench}\n", "\n{noformat}\n"),
    "a Jira code on one line": _between("{code:bash}", "{code}\n"),
    "BBCode": _between("[code]\n", "\n[/code]\n"),
    "reStructuredText": lambda lines: "The output::\n\n" + textwrap.indent("\n".join(lines), "  ") + "\n",
    "org": _prefix(": "),
    "a mail": _prefix("> "),
    "a mail in a mail": _prefix(">> > "),
    "compose": _prefix("bench-1  | "),
    "compose with colours": _prefix("\x1b[36mbench-1  |\x1b[0m "),
    "kubectl": _prefix("[pod/bench-7d9f8b6c5-x2x4z/fio] "),
    "stern": _prefix("bench-7d9f8b6c5-x2x4z fio "),
    "CRI": _each(_split_markers),
    "docker timestamps": _stamp("2026-11-28T12:{minute:02d}:{second:02d}.{fraction}Z "),
    "docker JSON": _each(
        lambda number, line: json.dumps({"log": f"{line}\n", "stream": "stdout", "time": _time(number, _NANOSECONDS)})
    ),
    "a log of JSON messages": _each(
        lambda number, line: json.dumps({"level": "info", "ts": 1790000000 + number, "msg": line})
    ),
    "GitHub Actions": _github,
    "gh run view": lambda lines: "".join(f"bench\tRun fio\t{line}\n" for line in _github(lines).splitlines()),
    "GitLab": _gitlab,
    "GitLab timestamps": _stamp("2026-11-28T12:{minute:02d}:{second:02d}.{fraction:.6}Z 01O "),
    "syslog": _stamp("Nov 28 12:{minute:02d}:{second:02d} web-1 bench[912]: "),
    "a log level": _stamp("12:{minute:02d}:{second:02d} INFO  [main] "),
    "Jenkins": _stamp("[2026-11-28T12:{minute:02d}:{second:02d}.{fraction:.3}Z] "),
    "Terraform": _prefix("aws_instance.web (remote-exec): "),
    "pdsh": _prefix("web-1: "),
    "a diff": _prefix("+"),
    "comments": _prefix("# "),
    "comments of C": _prefix("// "),
    "a block comment": lambda lines: "/*\n" + _prefix(" * ")(lines) + " */\n",
    "a list": _prefix("- "),
    "cat -n": _each(lambda number, line: f"{number:>6}\t{line}"),
    "nl": _each(lambda number, line: f"{number:>6}  {line}"),
    "numbers": _each(lambda number, line: f"{number}: {line}"),
    "grep -n": _each(lambda number, line: f"out/fio.log:{number}:{line}"),
    "less -N": _each(lambda number, line: f"{number:>7} {line}"),
    "a box": _boxed,
    "a left border": _prefix("│ "),
    "a pane at the right": _beside("│", left=False),
    "a pane at the left": _beside("│", left=True),
    "an ASCII pane at the right": _beside("|", left=False),
    "ansible": lambda lines: (
        'ok: [web-1] => {\n    "msg": [\n'
        + ",\n".join(f"        {json.dumps(line)}" for line in lines)
        + "\n    ]\n}\n"
    ),
    "ansible stdout": _json_text(
        'ok: [web-1] => {"changed": true, "cmd": "./bench.sh", "rc": 0, "stdout": ', ', "stderr": ""}\n'
    ),
    "a JSON string": _json_text('{\n  "host": "web-1",\n  "stdout": ', ',\n  "exit": 0\n}\n'),
    "a JSON string in one": lambda lines: json.dumps({"result": json.dumps({"stdout": "\n".join(lines)})}) + "\n",
    "a repr of Python": lambda lines: repr("\n".join(lines) + "\n") + "\n",
    "a notebook": _notebook,
    "YAML": lambda lines: "host: web-1\nstdout: |\n" + textwrap.indent("\n".join(lines), "  ") + "\nexit: 0\n",
    "YAML lines": lambda lines: "stdout_lines:\n" + "".join(f"- {json.dumps(line)}\n" for line in lines),
    "HTML": lambda lines: (
        f"<html><body><p>Output:</p><pre><code>{html.escape(chr(10).join(lines))}</code></pre></body></html>\n"
    ),
    "HTML breaks": lambda lines: "".join(f"{html.escape(line)}<br>\n" for line in lines),
    "HTML spans": lambda lines: (
        "<div>" + "".join(f'<span class="line">{html.escape(line)}</span>\n' for line in lines) + "</div>\n"
    ),
    "entities": lambda lines: html.escape("\n".join(lines)) + "\n",
    "a CSV cell": _cell,
    "CSV rows": _rows,
    "a table of Markdown": lambda lines: "| output |\n|---|\n" + "".join(f"| {line} |\n" for line in lines),
    "a table of code": lambda lines: (
        "| host | output |\n|---|---|\n" + "".join(f"| web-1 | `{line}` |\n" for line in lines)
    ),
    "watch": _between("Every 2.0s: ./bench.sh          web-1: Sat Nov 28 12:00:00 2026\n\n", "\n"),
    "Slack": _between("Ann  10:42 AM\n", "\n10:43\nagain?\nBob  10:44 AM\n  :thumbsup: 2\n"),
    "quoted-printable": lambda lines: quopri.encodestring(("\n".join(lines) + "\n").encode()).decode(),
    "Windows": lambda lines: "\r\n".join(lines) + "\r\n",
    "backslashes": _each(lambda _number, line: f"{line} \\"),
    "no tabs": lambda lines: "\n".join(lines).expandtabs() + "\n",
    "a quoted log": _stamp("> 2026-11-28T12:{minute:02d}:{second:02d}Z bench-1 | "),
    "echo of a shell": lambda lines: "+ ./bench.sh\n" + "\n".join(lines) + "\n+ exit 0\n",
    "script": lambda lines: "Script started on 2026-11-28\r\n" + "\r\r\n".join(lines) + "\r\nScript done\r\n",
}
