"""What the cloud's metadata service told."""

import re

from remote.facts.items import Items
from suites.facts import Absent, CloudFacts

_PROVIDERS = {"aws": "AWS", "gcp": "GCP", "azure": "Azure"}
_SILENT = "no metadata service answered within 300 ms"


def cloud_facts(items: Items) -> CloudFacts:
    """Return the facts. The service is asked only where DMI names one of the clouds."""
    cloud = (items.text("cloud") or "").strip()
    if cloud not in _PROVIDERS:
        absent = _no_cloud(items)
        return CloudFacts(provider=absent, instance_type=absent, instance_id=absent, region=absent)
    lines = [*(items.text("metadata") or "").splitlines(), "", "", ""]
    kind, identity, place = (line.strip().rpartition("/")[2] for line in lines[:3])  # GCP answers with paths
    region = re.sub(r"-[a-z]$", "", place) if cloud == "gcp" else place  # GCP names the zone
    return CloudFacts(
        provider=_PROVIDERS[cloud],
        instance_type=_told(items, kind),
        instance_id=_told(items, identity),
        region=_told(items, region),
    )


def _no_cloud(items: Items) -> Absent:
    if items.text("dmi.sys_vendor"):
        return Absent("DMI names no cloud whose metadata is known")
    return Absent(f"DMI does not name the platform: {items.missing('dmi.sys_vendor').reason}")


def _told(items: Items, value: str) -> str | Absent:
    if not value:
        return items.missing("metadata", _SILENT)
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", value):
        return Absent("the metadata service's answer is not one")
    return value
