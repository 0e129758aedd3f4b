"""Values being typed: nothing typed is lost, and tuned values follow the host until somebody chooses."""

import pytest

from suites.errors import ParameterError
from suites.parameters import Choice, Parameter, Tuned, Type
from widgets.wizard.draft import ParameterForm, ValueSource

THREADS = Parameter(name="threads", title="Threads", type=Type.INTEGER, default=1, minimum=1, maximum=64, help="")
SIZE = Parameter(name="size", title="Size", type=Type.SIZE, default=4096, minimum=512, help="")
MODE = Parameter(
    name="mode",
    title="Mode",
    type=Type.CHOICE,
    default="read",
    choices=(Choice("read", "R"), Choice("mix", "M")),
    help="",
)
SHARE = Parameter(
    name="share",
    title="Share",
    type=Type.INTEGER,
    default=50,
    maximum=100,
    help="",
    applies=lambda values: values["mode"] == "mix",
)
PARAMETERS = (THREADS, SIZE, MODE, SHARE)


def test_it_starts_from_the_tools_defaults() -> None:
    form = ParameterForm(PARAMETERS)
    assert form.values() == {"threads": 1, "size": 4096, "mode": "read", "share": 50}
    assert form.source("threads") is ValueSource.DEFAULT


def test_a_text_that_is_not_accepted_stays_and_says_what_would_be() -> None:
    form = ParameterForm(PARAMETERS)
    form.set_text("size", "4 potatoes")
    assert form.text("size") == "4 potatoes"
    problem = form.problems()["size"]
    assert "4 potatoes" in problem.message
    assert "4 KiB" in problem.remedy
    assert form.values()["size"] == 4096
    assert isinstance(form.parsed("size"), ParameterError)


def test_units_are_read() -> None:
    form = ParameterForm(PARAMETERS)
    for text, value in (("8k", 8192), ("1 MB", 10**6), ("2 GiB", 2**31)):
        form.set_text("size", text)
        assert form.values()["size"] == value


def test_tuned_values_are_taken_until_somebody_chooses() -> None:
    form = ParameterForm(PARAMETERS)
    form.retune({"threads": Tuned(8, "8 CPUs")})
    assert (form.text("threads"), form.source("threads")) == ("8", ValueSource.TUNED)
    form.set_text("threads", "3")
    form.retune({"threads": Tuned(16, "16 CPUs")})
    assert (form.text("threads"), form.source("threads")) == ("3", ValueSource.CUSTOM)
    form.use_tuned()
    assert form.text("threads") == "16"


def test_the_chosen_default_stays_when_the_host_is_read_again() -> None:
    form = ParameterForm(PARAMETERS)
    form.retune({"threads": Tuned(8, "8 CPUs")})
    form.use_defaults()
    form.retune({"threads": Tuned(16, "16 CPUs")})
    assert (form.text("threads"), form.source("threads")) == ("1", ValueSource.DEFAULT)


def test_given_values_are_somebodys_choice() -> None:
    form = ParameterForm(PARAMETERS, {"threads": 4})
    form.retune({"threads": Tuned(8, "8 CPUs")})
    assert form.text("threads") == "4"


def test_a_parameter_without_effect_cannot_be_wrong() -> None:
    form = ParameterForm(PARAMETERS)
    form.set_text("share", "many")
    assert not form.applies("share")
    assert form.problems() == {}
    form.set_text("mode", "mix")
    assert "share" in form.problems()


@pytest.mark.parametrize("text", ["0", "65", "1.5", "", "eight"])
def test_bounds_and_types_are_kept(text: str) -> None:
    form = ParameterForm(PARAMETERS)
    form.set_text("threads", text)
    assert "threads" in form.problems()
