"""The checks of during: what comes true while a trial runs, told at once, and looked at again when it is over."""

from app.checks import during_course, during_host, during_network, during_others
from suites.checks import TrialCheck

FAMILIES: tuple[tuple[str, tuple[TrialCheck, ...]], ...] = (
    ("During: was the host taken away", during_host.OF_A_TRIAL),
    ("During: who else was there", during_others.OF_A_TRIAL),
    ("During: what was lost on the way", during_network.OF_A_TRIAL),
    ("During: did the rate hold", during_course.OF_A_TRIAL),
)
"""The checks of during by the question they answer."""

DURING_CHECKS: tuple[TrialCheck, ...] = tuple(check for _, checks in FAMILIES for check in checks)
"""What is asked of a trial every few seconds while it runs."""

OF_THE_WHOLE: tuple[TrialCheck, ...] = tuple(
    check for check in DURING_CHECKS if check is not during_course.TOKEN_BUCKET
)
"""Those that are asked once more of the whole trial when it is over; a token bucket has a check of after for that."""
