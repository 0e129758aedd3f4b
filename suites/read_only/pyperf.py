"""pyperf: times of Python benchmarks, from its JSON."""

from collections.abc import Iterator

from suites.output_times import ISO, start_in
from suites.outputs import OutputFormat, ToolOutput
from suites.programs import Program
from suites.read_only.base import (
    RUN_CHECKS,
    RUNS,
    SPREAD,
    TIMES,
    ReadOnlySuite,
    name_of,
    numbers_in,
    spread_of,
    times_figures,
    tool_output,
)
from suites.strict_json import object_in, objects_in, read_json
from suites.vocab import Resource

_BEGUN = start_in(rf'"date"\s*:\s*"{ISO}"')


class Pyperf(ReadOnlySuite):
    """The times of Python code in several processes."""

    id = "pyperf"
    title = "pyperf"
    summary = "Time of Python code: several values in each of several processes."
    resource = Resource.CPU
    program = Program("pyperf", ("pyperf",))
    parameters = (RUNS, SPREAD)
    metrics = TIMES
    checks = RUN_CHECKS

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The JSON of pyperf, of seconds; other units (bytes) are not read."""
        keys, free_text = frozenset({"benchmarks", "version"}), frozenset({"name", "hostname", "description"})
        return (OutputFormat(title="pyperf JSON", keys=keys, read=self._read, free_text=free_text, begun=_BEGUN),)

    def _read(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        content = read_json(text)
        common = object_in(content, "metadata")
        for one in objects_in(content, "benchmarks"):
            about = {**common, **object_in(one, "metadata")}
            values = [value for run in objects_in(one, "runs") for value in numbers_in(run.get("values"))]
            if not values or about.get("unit", "second") != "second":
                continue
            stated = {"runs": len(values), "spread": spread_of(values)}
            version = name_of(about["python_version"]) if "python_version" in about else None
            name = name_of(about.get("name", ""))
            yield tool_output(self.id, times_figures(values), stated, name=name, version=version)
