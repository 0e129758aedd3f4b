"""Parameters of a run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from app.detached_runs import DetachedRun
from app.events import PlannedSession
from app.plans.consent import ConsentFile
from app.plans.plan import Plan
from app.records import RunRecord
from app.runs.control import Control
from app.runs.run_hosts import Admit
from remote.connection_state import PATIENCE, ReconnectPolicy
from remote.questions import Asker, RefusingAsker
from remote.session import Session
from suites.facts import CloudLimit


@dataclass(frozen=True, slots=True)
class RunRequest:
    """Parameters of a run. `connect` opens a session on a host; `addresses` are the hosts' addresses from here.

    `detached_run` is the run to attach, `stored_output` then the stored output of its running trials by trial id.
    """

    run_id: str
    plan: Plan
    connect: Callable[[str, Asker], Session]
    control: Control
    addresses: Mapping[str, str] = field(default_factory=dict)
    interval: float = 1.0  # seconds between telemetry samples
    baseline: RunRecord | None = None  # for plans with the policy UNTIL_VERDICT
    detached_run: DetachedRun | None = None
    stored_output: Mapping[int, tuple[tuple[str, bytes], ...]] = field(default_factory=dict)
    take_over: Callable[[], None] = lambda: None  # called before an attached run is changed
    patience: ReconnectPolicy = PATIENCE
    unwatched: frozenset[str] = frozenset()  # steps whose trials run without telemetry
    asker: Asker = field(default_factory=RefusingAsker)
    agreed: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of the local files that may be copied, by path
    session: PlannedSession | None = None  # the session of a series that it is
    admit: Admit = lambda _host, _boot: ""
    streams: Callable[[], Sequence[str]] = tuple  # the other hosts that runs of this computer measure now
    cloud_limits: Callable[[str], tuple[CloudLimit, ...]] = lambda _host: ()  # those that the user stored of a host
    memory: ConsentFile | None = None  # confirmed data losses on this computer
