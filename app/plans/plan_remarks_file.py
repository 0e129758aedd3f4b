"""What a plan file keeps about findings: [[acknowledged]] and [[changed]] tables."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypedDict

import tomlkit

from app.plans.plan import Plan, PlanError
from app.plans.plan_remarks import LONGEST, Acknowledged, Remedied

REMARKS = ("acknowledged", "changed")
"""The keys of a plan file that this module reads and writes."""

MOST = 1000


class Remarks(TypedDict):
    """The fields of a plan that are read here."""

    acknowledged: tuple[Acknowledged, ...]
    changed: tuple[Remedied, ...]


def read_remarks(content: Mapping[str, Any]) -> Remarks:
    """Return the remarks in the `content` of a plan file; raise PlanError naming what is wrong."""
    return {
        "acknowledged": tuple(Acknowledged(**table) for table in _tables(content, "acknowledged", Acknowledged)),
        "changed": tuple(Remedied(**table) for table in _tables(content, "changed", Remedied)),
    }


def _tables(content: Mapping[str, Any], name: str, kind: type[Acknowledged | Remedied]) -> list[dict[str, str]]:
    tables = content.get(name, [])
    if not isinstance(tables, list) or len(tables) > MOST or not all(isinstance(table, dict) for table in tables):
        raise PlanError(f"{name} is not [[{name}]] tables.", f"Write [[{name}]] and its values below it.")
    for number, table in enumerate(tables, 1):
        _check(table, kind, f"{name} {number}")
    return tables


def _check(table: Mapping[str, Any], kind: type[Acknowledged | Remedied], where: str) -> None:
    known = {field.name for field in fields(kind)}
    needed = known - {"step"} if kind is Acknowledged else known
    for key in table:
        if key not in known:
            raise PlanError(f"{where} has no “{key[:60]}”.", f"It may have {', '.join(sorted(known))}.")
    for key in sorted(needed - set(table)):
        raise PlanError(f"{where} has no {key}.", f"It needs {', '.join(sorted(needed))}.")
    for key, value in table.items():
        if not isinstance(value, str) or len(value) > LONGEST or not value.isprintable():
            raise PlanError(f"{where}: {key} is {str(value)[:60]!r}.", "Give one line of text.")
        if not value.strip() and key in {"finding", "reason"}:
            raise PlanError(f"{where}: {key} is empty.", "Say which finding, and why it may stand.")


def add_remarks(document: tomlkit.TOMLDocument, plan: Plan) -> None:
    """Write the remarks of `plan` into `document`; nothing where there are none."""
    for name, remarks in (("acknowledged", plan.acknowledged), ("changed", plan.changed)):
        if not remarks:
            continue
        tables = tomlkit.aot()
        for remark in remarks:
            table = tomlkit.table()
            for field in fields(remark):
                value = getattr(remark, field.name)
                if value is not None:
                    table[field.name] = value
            tables.append(table)
        document[name] = tables
