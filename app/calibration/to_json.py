"""A calibration as the public JSON of “calibrate”, which is also how it is stored."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from app.calibration.calibration import Calibration, Instrument, MetricNoise, TelemetryEffect
from app.calibration.false_alarms import FalseAlarms
from app.formats import FormatError

FORMAT = "benchwright-calibration/1"

Json = dict[str, Any]


def calibration_to_json(found: Calibration) -> Json:
    """Return the document. Times are in seconds, shares are shares: 0.05 is 5 %."""
    return {
        "format": FORMAT,
        "host": found.host,
        "made": found.made,
        "suite": found.suite,
        "run": found.run,
        "fingerprint": dict(found.fingerprint),
        "instrument": asdict(found.instrument),
        "noise": [_noise(one) for one in found.noise],
        "false_alarms": asdict(found.alarms),
        "telemetry": None if found.telemetry is None else asdict(found.telemetry),
        "margin": found.margin,
    }


def _noise(one: MetricNoise) -> Json:
    return {
        "metric": one.metric,
        "title": one.title,
        "labels": dict(one.labels),
        "n": one.n,
        "cov": one.cov,
        "detectable": {str(trials): share for trials, share in one.detectable.items()},
    }


def calibration_from_json(content: Mapping[str, Any]) -> Calibration:
    """Return the calibration in a document; raise FormatError where it is none of this format."""
    if content.get("format") != FORMAT:
        raise FormatError(f"a calibration of the format {content.get('format')!r} is not known here")
    try:
        telemetry = content["telemetry"]
        return Calibration(
            host=str(content["host"]),
            made=str(content["made"]),
            suite=str(content["suite"]),
            run=str(content["run"]),
            fingerprint=dict(content["fingerprint"]),
            instrument=Instrument(**content["instrument"]),
            noise=tuple(_read_noise(one) for one in content["noise"]),
            alarms=FalseAlarms(**content["false_alarms"]),
            telemetry=None if telemetry is None else TelemetryEffect(**telemetry),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FormatError(f"a calibration is damaged: {error}") from error


def _read_noise(content: Mapping[str, Any]) -> MetricNoise:
    detectable = {int(trials): float(share) for trials, share in content["detectable"].items()}
    at = tuple(content["labels"].items())
    return MetricNoise(content["metric"], content["title"], at, content["n"], content["cov"], detectable)
