"""Pictures of what asks before a host is changed or a device is lost."""

from dataclasses import replace

from PySide6.QtWidgets import QScrollArea, QWidget

from app.events import HostChange
from app.plans.plan import LOCAL
from app.questions import Asker, ConsentItem, ConsentQuestion, LossQuestion, SecretQuestion
from app.records import ChangeRecord
from app.services import Workstation
from remote.tuning import SettingNote
from tests.shot_stage import Shot, Stage, opened
from widgets import jobs
from widgets.hosts.cleanup_dialogs import RestoreDialog
from widgets.hosts.hosts_page import HostsPage
from widgets.main_window import MainWindow
from widgets.parts.dialogs import QuestionDialog
from widgets.question_dialogs import ConsentDialog, LossDialog, SecretDialog
from widgets.wizard.measure_page import PARAMETERS, REVIEW, MeasurePage

RUN = "20261119-141530-k3f9"
GOVERNOR = "/sys/devices/system/cpu/cpufreq/policy{}/scaling_governor"

LOSS = LossQuestion(
    host="web-1",
    device="/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0f3a91c27be4d5a60",
    facts=(
        ("Device", "/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_vol0f3a91c27be4d5a60 (/dev/nvme1n1)"),
        ("Known as", "nvme-Amazon_Elastic_Block_Store_vol0f3a91c27be4d5a60"),
        ("Model", "Amazon Elastic Block Store"),
        ("Serial number", "vol0f3a91c27be4d5a60"),
        ("Size", "100 GiB"),
        ("Contents", "no file system and no partition table, but data was written there"),
        ("Overwritten by", "fio (randwrite)"),
    ),
    confirmation="vol0f3a91c27be4d5a60",
    confirmed_by="serial number",
)

CONSENT = ConsentQuestion(
    plan="nightly build of the service",
    items=(
        ConsentItem("Executes on this computer", "build: Preparation", "git clone https://git.example.org/service.git"),
        ConsentItem(
            "Executes on this computer",
            "build: Command",
            "cd -- /srv/service && env CARGO_INCREMENTAL=0 RUSTFLAGS=-Ctarget-cpu=native cargo build --release "
            "--jobs 8 --manifest-path server/Cargo.toml && ./target/release/server --self-test --duration 60 | tee log",
        ),
        ConsentItem("Executes on this computer", "build: Cleaning up", "rm -rf /srv/service/target"),
    ),
)

CONSENT_LONG = replace(
    CONSENT,
    items=(
        *CONSENT.items,
        ConsentItem(
            "Executes on web-1", "unixbench: what the archive contains", "tar -xf unixbench-archive && make all"
        ),
        ConsentItem(
            "Copies a file of this computer to web-1",
            "unixbench: as unixbench-archive",
            "/home/ann/UnixBench.tgz (3.1 MiB)",
        ),
        ConsentItem(
            "Changes web-1",
            "CPU governor, as root, before the first trial; restored after the last",
            "echo performance | tee /sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
        ),
        ConsentItem("Executes on web-1", "load: Command", "seq 1 100 | xargs -n1 -P8 sh -c 'curl -s $0' " * 40),
    ),
)

CONSENT_HOSTS = ConsentQuestion(
    plan="fleet",
    items=(
        ConsentItem(
            "Executes on " + ", ".join(f"ip-10-0-{n}-17.eu-central-1.compute.internal" for n in range(24)),
            "build: Command",
            "make -j8 && ./bench --all",
        ),
        ConsentItem(f"Sends from {'a' * 250}.example.org", "iperf3: peer", "10.0.0.9"),
    ),
)

SUDO = SecretQuestion(
    "web-1",
    "ann",
    "Password for sudo",
    purpose="drop the page cache before each trial, set the CPU governor to performance",
)


def _dialog(stage: Stage, dialog: QuestionDialog) -> QWidget:
    stage.window()
    stage.keep(dialog).show()
    return dialog


def _loss(stage: Stage) -> QWidget:
    return _dialog(stage, LossDialog(LOSS))


def _loss_wrong(stage: Stage) -> QWidget:
    dialog = LossDialog(LOSS)
    dialog.field.setText("vol0f3a91c27be4d5a61")
    return _dialog(stage, dialog)


def _loss_confirmed(stage: Stage) -> QWidget:
    dialog = LossDialog(LOSS)
    dialog.field.setText(LOSS.confirmation)
    return _dialog(stage, dialog)


def _consent(stage: Stage) -> QWidget:
    return _dialog(stage, ConsentDialog(CONSENT))


def _consent_long(stage: Stage) -> QWidget:
    return _dialog(stage, ConsentDialog(CONSENT_LONG))


def _consent_read(stage: Stage) -> QWidget:
    dialog = ConsentDialog(CONSENT_LONG)
    _dialog(stage, dialog)
    stage.settle()
    dialog.list.verticalScrollBar().setValue(dialog.list.verticalScrollBar().maximum())
    return dialog


def _consent_hosts(stage: Stage) -> QWidget:
    return _dialog(stage, ConsentDialog(CONSENT_HOSTS))


def _sudo(stage: Stage) -> QWidget:
    return _dialog(stage, SecretDialog(SUDO))


def _planned(stage: Stage, step: int, **device: str) -> tuple[MainWindow, MeasurePage]:
    window = stage.window()
    page = opened(window, MeasurePage)
    page.begin([LOCAL])
    _settle(stage, page)
    form = page.plan_step.tests.add("fio").form
    for name, text in device.items():
        form.set_text(name, text)
    page.plan_step.changed.emit()
    _settle(stage, page)
    page.go(step)
    return window, page


def _settle(stage: Stage, page: MeasurePage) -> None:
    stage.settle(lambda: not jobs.running() and not page.assessor.busy and not page.reader.waiting)


def _scroll_down(page: MeasurePage) -> None:
    area = page.review.findChild(QScrollArea)
    if isinstance(area, QScrollArea):
        area.ensureWidgetVisible(page.review.tuning)


def _tuned(stage: Stage) -> QWidget:
    window, page = _planned(stage, REVIEW)
    wanted = {"drop_caches": "yes", "governor": "performance", "device": "/dev/vda", "scheduler": "none"}
    for name, text in wanted.items():
        page.draft.tuning.set_text(name, text)
    page.review.tuning.changed.emit()
    _settle(stage, page)
    _scroll_down(page)
    return window


def _tuning_refused(stage: Stage) -> QWidget:
    window, page = _planned(stage, REVIEW)
    for name, text in (("governor", "as fast as possible"), ("readahead", "130 KiB"), ("device", "/dev/vda")):
        page.draft.tuning.set_text(name, text)
    page.review.tuning.changed.emit()
    _settle(stage, page)
    _scroll_down(page)
    return window


def _device(stage: Stage) -> QWidget:
    return _planned(stage, PARAMETERS, device="/dev/vda", rw="randwrite")[0]


CHANGED = tuple(
    SettingNote(GOVERNOR.format(number), "powersave", "performance", RUN, "ann@desk", 720.0) for number in range(4)
)


def _changed(stage: Stage) -> QWidget:
    window = stage.window()
    page = opened(window, HostsPage)
    page.table.select("web-1")
    stage.settle()
    changes = [HostChange("web-1", f"CPU governor of CPU {n}", "", "powersave", "performance") for n in range(4)]
    page.changed.show_changes([ChangeRecord(RUN, change, "2026-11-19T14:15:31+00:00") for change in changes])
    return window


def _restore(stage: Stage) -> QWidget:
    window = stage.window()
    dialog = stage.keep(RestoreDialog(_Noted(), window.asker, "web-1", window))
    dialog.show()
    stage.settle()
    return dialog


class _Noted(Workstation):
    """A workstation whose one host has something noted down."""

    def host_notes(self, name: str, asker: Asker) -> tuple[SettingNote, ...]:
        """Return what is noted down."""
        del name, asker
        return CHANGED


SHOTS: list[Shot] = [
    ("safety-loss", _loss),
    ("safety-loss-wrong", _loss_wrong),
    ("safety-loss-confirmed", _loss_confirmed),
    ("safety-consent", _consent),
    ("safety-consent-long", _consent_long),
    ("safety-consent-read", _consent_read),
    ("safety-consent-hosts", _consent_hosts),
    ("safety-sudo", _sudo),
    ("safety-tuned", _tuned),
    ("safety-tuning-refused", _tuning_refused),
    ("safety-device-in-use", _device),
    ("safety-changed", _changed),
    ("safety-restore", _restore),
]
