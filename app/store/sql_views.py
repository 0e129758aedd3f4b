"""Views of the results for other programs: psql, sqlite3, pandas, DuckDB, Grafana. Help: resources/help/library.md.

Benchwright itself never reads them. A library with a view of any other text is refused: library_file.foreign_code(). A
change of one needs a new READ_FORMAT, and the former text among those that are accepted.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dialect:
    """What differs between databases: names of the views, and how JSON is read. `{0}` is a column with JSON."""

    name: str  # of a view
    texts: str  # a list of texts, joined by a comma
    labels: str  # a list of pairs, as name=value;name=value
    moments: str  # the times of packed samples as rows `moment`, for the next two
    time: str
    value: str
    order: str  # the collation of a text that is no column of a table
    facts: str  # SELECT of run_id, host, moment, fact, value, number, unit, absent


_SQLITE_FACTS = """\
SELECT run_id, host, moment, CAST(fact AS TEXT) AS fact,
  CAST(CASE json_type(content, '$.value') WHEN 'true' THEN 'true' WHEN 'false' THEN 'false'
    ELSE json_extract(content, '$.value') END AS TEXT) AS value,
  CAST(CASE WHEN json_type(content, '$.value') NOT IN ('text', 'array', 'null', 'VARCHAR', 'ARRAY', 'NULL')
    THEN json_extract(content, '$.value') END AS DOUBLE PRECISION) AS number,
  NULLIF(CAST(json_extract(content, '$.unit') AS TEXT), '') AS unit,
  CAST(json_extract(content, '$.absent') AS TEXT) AS absent
FROM (
  SELECT facts.run_id, facts.host, facts.moment, part.key || '.' || one.key AS fact, one.value AS content
  FROM facts, json_each(facts.content) AS part,
    json_each(CASE upper(part.type) WHEN 'OBJECT' THEN part.value ELSE '{}' END) AS one
  WHERE upper(one.type) = 'OBJECT'
  UNION ALL
  SELECT facts.run_id, facts.host, facts.moment,
    part.key || '.' || (SELECT title.value FROM json_each(item.value) AS title LIMIT 1) || '.' || one.key, one.value
  FROM facts, json_each(facts.content) AS part,
    json_each(CASE upper(part.type) WHEN 'ARRAY' THEN part.value ELSE '[]' END) AS item,
    json_each(CASE upper(item.type) WHEN 'OBJECT' THEN item.value ELSE '{}' END) AS one
  WHERE upper(one.type) = 'OBJECT'
)"""
"""DuckDB runs the text of a view itself when it attaches a library; its names of JSON types are others, in capitals."""

# Lists without escapes in them are read without JSON: it is faster, and DuckDB would quote the texts.
_SQLITE_TEXTS = """CAST(CASE WHEN {0} = '[]' THEN ''
    WHEN instr({0}, '\\') = 0 THEN replace(replace(replace({0}, '", "', ', '), '["', ''), '"]', '')
    ELSE (SELECT group_concat(value, ', ') FROM json_each({0})) END AS TEXT)"""
_SQLITE_LABELS = """CAST(CASE WHEN {0} = '[]' THEN ''
    WHEN instr({0}, '\\') = 0
    THEN replace(replace(replace(replace({0}, '", "', '='), '"], ["', ';'), '[["', ''), '"]]', '')
    ELSE (SELECT group_concat(json_extract(value, '$[0]') || '=' || json_extract(value, '$[1]'), ';')
      FROM json_each({0})) END AS TEXT)"""

SQLITE = Dialect(
    name="results_{}",
    texts=_SQLITE_TEXTS,
    labels=_SQLITE_LABELS,
    moments="json_each(sample_times.time_list) AS moment",
    time="CAST(moment.value AS DOUBLE PRECISION)",
    value="CAST(json_extract(packed_samples.value_list, '$[' || moment.key || ']') AS DOUBLE PRECISION)",
    order="",
    facts=_SQLITE_FACTS,
)

RESULTS_SCHEMA = "results"
"""Schema of the views in PostgreSQL."""

_ORDER = 'COLLATE "C"'
"""The order of texts in a file and of the columns of tables, whatever the locale of the server."""

POSTGRESQL_VIEWS = 3
"""Version of the views in PostgreSQL: an owner who opens a library with an older one replaces them. Columns stay."""

_UNREADABLE = r"\\u(0000|[dD][89a-fA-F])"
"""Escapes in JSON of what text in PostgreSQL cannot have: NUL, and surrogates, which may lack their other half."""

_HIGH, _LOW = (rf"\\u[dD]{half}[0-9a-fA-F]{{{{2}}}}" for half in ("[89abAB]", "[c-fC-F]"))  # within a format

# With escaped backslashes written as \u005c, each backslash that is left begins an escape.
_POSTGRESQL_JSON = rf"""CAST(CASE WHEN {{0}} ~ '{_UNREADABLE}' THEN regexp_replace(
    replace(replace({{0}}, '\\', '\u005c'), '\u0000', '\ufffd'),
    '{_HIGH}(?!{_LOW})|(?<!{_HIGH}){_LOW}', '\\ufffd', 'g') ELSE {{0}} END AS JSON)"""
"""A column with JSON, with U+FFFD in place of NUL and of halves of surrogate pairs."""

_WITHIN_DOUBLE = (
    r"^-?([0-9]{1,200}(\.[0-9]{1,200})?([eE][-+]?[0-9]{1,2})?|[0-9](\.[0-9]+)?[eE][-+]?([12]?[0-9]{1,2}|30[0-7]))$"
)
"""Numbers in JSON that a double holds: PostgreSQL refuses others, where SQLite reads an infinity or 0."""

_POSTGRESQL_FACTS = f"""\
SELECT run_id, host, moment, fact {_ORDER} AS fact, (content ->> 'value') {_ORDER} AS value,
  CASE json_typeof(content -> 'value') WHEN 'number'
      THEN CASE WHEN content ->> 'value' ~ '{_WITHIN_DOUBLE}' THEN CAST(content ->> 'value' AS DOUBLE PRECISION) END
    WHEN 'boolean' THEN CAST(CAST(content ->> 'value' AS BOOLEAN) AS INTEGER) END AS number,
  NULLIF(content ->> 'unit', '') {_ORDER} AS unit, (content ->> 'absent') {_ORDER} AS absent
FROM (
  SELECT facts.run_id, facts.host, facts.moment, part.key || '.' || one.key AS fact, one.value AS content
  FROM facts, json_each({_POSTGRESQL_JSON.format("facts.content")}) AS part,
    json_each(CASE json_typeof(part.value) WHEN 'object' THEN part.value ELSE '{{}}' END) AS one
  WHERE json_typeof(one.value) = 'object'
  UNION ALL
  SELECT facts.run_id, facts.host, facts.moment,
    part.key || '.' || (SELECT title.value #>> '{{}}' FROM json_each(object) AS title LIMIT 1) || '.' || one.key,
    one.value
  FROM facts, json_each({_POSTGRESQL_JSON.format("facts.content")}) AS part,
    json_array_elements(CASE json_typeof(part.value) WHEN 'array' THEN part.value ELSE '[]' END) AS item,
    LATERAL (SELECT CASE json_typeof(item.value) WHEN 'object' THEN item.value ELSE '{{}}' END AS object) AS made,
    json_each(object) AS one
  WHERE json_typeof(one.value) = 'object'
) AS members"""  # noqa: S608 (constant text)

POSTGRESQL = Dialect(
    name=RESULTS_SCHEMA + ".{}",
    texts=f"""(SELECT COALESCE(string_agg(one, ', ' ORDER BY at), '')
    FROM json_array_elements_text({_POSTGRESQL_JSON}) WITH ORDINALITY AS list (one, at)) {_ORDER}""",  # noqa: S608
    labels=f"""(SELECT COALESCE(string_agg((pair ->> 0) || '=' || (pair ->> 1), ';' ORDER BY at), '')
    FROM json_array_elements({_POSTGRESQL_JSON}) WITH ORDINALITY AS list (pair, at)) {_ORDER}""",  # noqa: S608
    moments="""ROWS FROM (json_array_elements_text(CAST(sample_times.time_list AS JSON)),
  json_array_elements_text(CAST(packed_samples.value_list AS JSON))) AS moment (time_text, value_text)""",
    time="CAST(moment.time_text AS DOUBLE PRECISION)",
    value="CAST(moment.value_text AS DOUBLE PRECISION)",
    order=f" {_ORDER}",
    facts=_POSTGRESQL_FACTS,
)

_RUNS = """\
SELECT runs.id AS run, CAST(COALESCE(NULLIF(annotations.name, ''), runs.name) AS TEXT) AS name, runs.question,
  {hosts} AS hosts, {steps} AS steps, runs.state, runs.started, runs.ended, runs.headline,
  verdicts.level AS trust, verdicts.limited_by, annotations.note, annotations.binned AS deleted,
  runs.program_version
FROM runs
LEFT JOIN annotations ON annotations.run_id = runs.id
LEFT JOIN verdicts ON verdicts.run_id = runs.id AND verdicts.step IS NULL AND verdicts.host IS NULL"""

_METRICS = """\
SELECT figures.run_id AS run, CAST(COALESCE(NULLIF(annotations.name, ''), runs.name) AS TEXT) AS name, runs.started,
  trials.host, trials.step, trials.number AS trial, trials.warm_up, trials.state,
  metrics.name AS metric, {labels} AS labels, figures.value, metrics.unit, metrics.better,
  verdicts.level AS trust, verdicts.limited_by
FROM figures
JOIN runs ON runs.id = figures.run_id
JOIN trials ON trials.run_id = figures.run_id AND trials.id = figures.trial
JOIN metrics ON metrics.id = figures.metric
LEFT JOIN annotations ON annotations.run_id = figures.run_id
LEFT JOIN verdicts ON verdicts.run_id = figures.run_id AND verdicts.step = trials.step
  AND verdicts.host = trials.host"""

_SAMPLES = """\
SELECT {series}, sample_rows.time AS time_s, metrics.name AS metric, {labels} AS labels,
  sample_rows.value, metrics.unit, sample_rows.warm_up OR trials.warm_up AS warm_up
FROM series
JOIN metrics ON metrics.id = series.metric
LEFT JOIN trials ON trials.run_id = series.run_id AND trials.id = series.trial
JOIN sample_rows ON sample_rows.series = series.id
UNION ALL
SELECT {series}, {time}, metrics.name, {labels},
  {value}, metrics.unit, packed_samples.warm_up OR trials.warm_up
FROM series
JOIN metrics ON metrics.id = series.metric
LEFT JOIN trials ON trials.run_id = series.run_id AND trials.id = series.trial
JOIN packed_samples ON packed_samples.series = series.id
JOIN sample_times ON sample_times.id = packed_samples.times
CROSS JOIN {moments}"""
"""The rows come first: their columns have declared types, which are those of the view."""

_SERIES = """\
series.run_id AS run, CAST(COALESCE(series.host, trials.host) AS TEXT) AS host, trials.step, trials.number AS trial,
  CAST(CASE WHEN series.trial IS NULL THEN 'telemetry' ELSE 'test' END AS TEXT){order} AS kind"""

_FINDINGS = """\
SELECT findings.run_id AS run, findings.host, findings.step, trials.number AS trial, findings.check_id AS finding,
  findings.level AS severity, findings.title, findings.measured, findings.why, findings.remedy, findings.source
FROM findings
LEFT JOIN trials ON trials.run_id = findings.run_id AND trials.id = findings.trial"""


_FACTS = """\
SELECT run_id AS run, host, moment, fact, value, number, unit, absent
FROM (
{facts}
) AS found"""


def definitions(dialect: Dialect) -> Mapping[str, str]:
    """Return the query of each view by its name in a database."""
    labels = dialect.labels.format("series.labels")
    found = {
        "runs": _RUNS.format(hosts=dialect.texts.format("runs.hosts"), steps=dialect.texts.format("runs.steps")),
        "metrics": _METRICS.format(labels=dialect.labels.format("figures.labels")),
        "samples": _SAMPLES.format(
            series=_SERIES.format(order=dialect.order),
            labels=labels,
            moments=dialect.moments,
            time=dialect.time,
            value=dialect.value,
        ),
        "facts": _FACTS.format(facts=dialect.facts),
        "findings": _FINDINGS,
    }
    return {dialect.name.format(name): query for name, query in found.items()}


def with_old_order(query: str) -> str:
    """Return the query of a view in PostgreSQL with the order of texts of version 2: that of the server's locale."""
    return query.replace(_ORDER, 'COLLATE "default"')


STATEMENTS = {name: f"CREATE VIEW {name} AS {query}" for name, query in definitions(SQLITE).items()}
"""The statement that creates each view of an SQLite library, as SQLite keeps it."""
