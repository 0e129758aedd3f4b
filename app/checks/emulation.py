"""Check that the host's processor is not emulated in software."""

import re

from app.checks.cpu import of_facts
from suites.checks import Check, CheckOutcome
from suites.evidence import HostEvidence
from suites.facts import Facts, known
from suites.vocab import Severity

_MODEL = re.compile(r"QEMU (?:Virtual|TCG) CPU|\bTCG\b", re.IGNORECASE)
_TRANSLATED = re.compile(r"VirtualApple", re.IGNORECASE)
"""Model names of QEMU without KVM, and of Rosetta."""


def _emulated(_evidence: HostEvidence, facts: Facts) -> CheckOutcome | None:
    model, virtualisation = known(facts.cpu.model) or "", known(facts.system.virtualisation)
    # A guest of KVM may have the model name as well, and its virtualisation is then kvm.
    if not _TRANSLATED.search(model) and not (virtualisation == "qemu" and _MODEL.search(model)):
        return None
    return CheckOutcome(f"The CPU model is {model}, the virtualisation {virtualisation or 'not known'}.")


EMULATED = Check(
    id="emulated-cpu",
    severity=Severity.WARNING,
    title="CPU is emulated (no KVM)",
    why="QEMU without KVM, and Rosetta, translate each instruction: a program runs many times slower, and timings of "
    "disk and network are the emulator's.",
    remedy="Enable KVM for the guest (-accel kvm, nested virtualisation), or measure on the hardware itself.",
    source="QEMU documentation, TCG; systemd-detect-virt(1).",
    needs="CPU model and virtualisation.",
    evaluate=of_facts(_emulated),
)
