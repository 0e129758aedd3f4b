"""What decides a verdict does not change without the version of the checks."""

import json

import pytest

from app.checks.version import CHECKS_VERSION
from tests import checks_digest

STORED = json.loads(checks_digest.RECORD.read_text(encoding="utf-8"))

RULE = (
    "If a verdict on a stored run can change, raise CHECKS_VERSION in app/checks/version.py, so that libraries are "
    "judged again. Then write the record: python -m tests.checks_digest"
)


def test_the_version_rises_with_what_decides_a_verdict() -> None:
    changed = checks_digest.differing(STORED["code"], checks_digest.code())
    assert not changed, f"These files decide verdicts and have changed: {', '.join(changed)}. {RULE}"
    assert STORED["version"] == CHECKS_VERSION, f"The record is of version {STORED['version']}. {RULE}"


def test_the_version_rises_with_the_verdicts_on_captured_results() -> None:
    reached = checks_digest.verdicts()
    changed = {
        name: (STORED["verdicts"].get(name), reached.get(name))
        for name in checks_digest.differing(STORED["verdicts"], reached)
    }
    assert not changed, f"These verdicts have changed: {json.dumps(changed, indent=1)}. {RULE}"


def test_the_record_is_not_written_over_other_verdicts_of_the_same_version() -> None:
    verdicts = {"a": ["valid: "], "b": ["valid: "]}
    before = {"version": 3, "verdicts": verdicts}
    now = {"a": ["doubtful: page-cache error"], "b": ["valid: "], "c": ["valid: "]}
    assert checks_digest.refusal(before, now, 3).startswith("Verdicts changed: a.")
    assert not checks_digest.refusal(before, now, 4)
    assert not checks_digest.refusal(before, {**verdicts, "c": ["valid: "]}, 3), "a new one is no change"


@pytest.mark.parametrize(
    ("source", "same"),
    [
        ("def f(a):\n    '''Other words.'''\n    return a > 10  # why\n", True),
        ("def f(\n    a,\n):\n    return a > 10\n", True),
        ("def f(a):\n    '''Words.'''\n    return a > 11\n", False),
        ("def f(a):\n    '''Words.'''\n    return a >= 10\n", False),
    ],
)
def test_words_about_the_code_are_no_change(source: str, same: bool) -> None:  # noqa: FBT001 (a parameter of the test)
    first = "def f(a):\n    '''Words.'''\n    return a > 10\n"
    assert (checks_digest.reduced(source) == checks_digest.reduced(first)) is same
