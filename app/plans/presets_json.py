"""The public JSON of presets."""

from collections.abc import Iterable
from typing import Annotated, TypedDict

from app.json_converter import Json, publish, published
from app.plans.presets import Preset, PresetQuestion
from suites.parameters import Type

FORMAT = "benchwright-presets/1"


class QuestionKeys(TypedDict):
    """Keys of a question beside those of PresetQuestion."""

    type: Type | Annotated[str, "host"]


class PresetKeys(TypedDict):
    """Keys of a preset beside those of Preset."""

    asks: list[Annotated[Json, PresetQuestion, QuestionKeys]]


PresetJson = Annotated[Json, Preset, PresetKeys]


class PresetsJson(TypedDict):
    """The presets."""

    format: Annotated[str, FORMAT]
    presets: list[PresetJson]


publish(Preset, "name title answers minutes resources after asks")
publish(
    PresetQuestion,
    "name title=parameter.title type=parameter.type unit=parameter.unit help=parameter.help example optional",
)


def preset_to_json(given: Preset) -> PresetJson:
    """Return the public JSON of a preset; the type of a host's name is “host”."""
    found: Json = published(given)
    for written, ask in zip(found["asks"], given.asks, strict=True):
        written["type"] = "host" if ask.host else written["type"]
    return found


def presets_to_json(given: Iterable[Preset]) -> PresetsJson:
    """Return the public JSON of presets."""
    return {"format": FORMAT, "presets": [preset_to_json(each) for each in given]}
