"""Pictures of the window itself: hosts, help, questions, faults."""

import json
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.hosts.hosts import HostEntry
from app.plans.plan import LOCAL, Plan, make_step
from app.questions import HostKeyQuestion, LocalProgramQuestion, SecretQuestion
from tests.shot_stage import Shot, Stage, opened
from tests.widgets.library_runs import Made, record
from widgets.export_dialog import ExportDialog
from widgets.help_page import TOPICS
from widgets.hosts.add_host_dialog import AddHostDialog
from widgets.hosts.hosts_page import HostsPage
from widgets.hosts.limits_dialog import LimitsDialog
from widgets.main_window import MainWindow
from widgets.parts.dialogs import QuestionDialog
from widgets.parts.empty_state import EmptyState
from widgets.question_dialogs import HostKeyDialog, LocalProgramDialog, SecretDialog

FINGERPRINT = "SHA256:kXQ1zj4Y0m3Q9wZ0Zr3p1mZq7c2dJvJ3lE0Jt8x0q1A"
KEY_QUESTION = HostKeyQuestion(
    "web-1", "192.0.2.14", 2222, "ssh-ed25519", FINGERPRINT, "/home/ann/.ssh/known_hosts", "bastion"
)


def _hosts(window: MainWindow) -> HostsPage:
    return opened(window, HostsPage)


def _first_start(stage: Stage) -> QWidget:
    return stage.window()


def _refused(stage: Stage) -> QWidget:
    window = stage.window()
    page = _hosts(window)
    page.table.select("bastion")
    page.connections.test("bastion")
    stage.settle()
    window.show_running("running 1 · This computer fio 00:41 of 02:10")
    return window


def _many(stage: Stage) -> QWidget:
    for number in range(12):
        stage.workstation.save_hosts(HostEntry(f"fleet-{number:02}", host_name=f"198.51.100.{number + 1}", user="ann"))
    window = stage.window()
    _hosts(window).table.selectAll()
    for number in range(12):
        stage.workstation.remove_host(f"fleet-{number:02}")
    return window


def _help(topic: str, stage: Stage) -> QWidget:
    window = stage.window()
    window.show_help(topic)
    return window


def _no_measurement(stage: Stage) -> QWidget:
    empty = stage.keep(
        EmptyState("No runs yet", "Every run is kept here from its first second.", "New measurement", stage.settle)
    )
    empty.resize(stage.variant.size[0] // 2, stage.variant.size[1] // 2)
    empty.show()
    return empty


def _limits(stage: Stage) -> QWidget:
    volumes = [{"VolumeId": f"vol-0{n}1b2c3d4e5f60718", "Iops": 3000 * n, "Throughput": 125 * n} for n in (1, 2)]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(json.dumps({"Volumes": volumes}))
        file.flush()
        stage.workstation.cloud_limits.add("web-1", Path(file.name))
    dialog = stage.keep(LimitsDialog(stage.workstation, "web-1", stage.window()))
    dialog.show()
    stage.settle()
    return dialog


def _add_host(stage: Stage) -> AddHostDialog:
    window = stage.window()
    dialog = stage.keep(AddHostDialog(stage.workstation, window.asker, stage.workstation.hosts(), None, window))
    dialog.show()
    return dialog


def _add_host_faults(stage: Stage) -> QWidget:
    dialog = _add_host(stage)
    for name, text in (("name", "web 2"), ("port", "99999"), ("identity_file", "~/.ssh/id_ed25519.pub")):
        dialog.fields[name].edit.setText(text)
    dialog.test_button.click()
    return dialog


def _add_host_refused(stage: Stage) -> QWidget:
    dialog = _add_host(stage)
    dialog.fields["name"].edit.setText("bastion")
    dialog.test_button.click()
    return dialog


def _host_key(expected: str, stage: Stage) -> QWidget:
    dialog = stage.keep(HostKeyDialog(KEY_QUESTION))
    dialog.expected.setText(expected)
    dialog.show()
    return dialog


def _host_key_with_note(stage: Stage) -> QWidget:
    note = (
        "StrictHostKeyChecking accept-new (/home/ann/.ssh/config, line 3) is not followed: an unknown key is always "
        "asked about, a changed one always refused."
    )
    dialog = stage.keep(HostKeyDialog(replace(KEY_QUESTION, note=note)))
    dialog.show()
    return dialog


def _program(stage: Stage) -> QWidget:
    command = "ssh -q -W 192.0.2.14:2222 -o ControlMaster=auto -o ControlPath=/run/user/1000/gate.sock gate.example.org"
    question = LocalProgramQuestion("web-1", "ProxyCommand", command, "/home/ann/.ssh/config", 12)
    dialog = stage.keep(LocalProgramDialog(question))
    dialog.show()
    return dialog


def _key_changed(stage: Stage) -> QWidget:
    dialog = _add_host(stage)
    dialog.fields["name"].edit.setText("web-1")
    dialog.outcome.show_message(
        "error",
        f"Host key of web-1 has changed: the host sent {FINGERPRINT} (ssh-ed25519), but /home/ann/.ssh/known_hosts, "
        f"line 7 has {FINGERPRINT.replace('kXQ', 'lXQ')} (ssh-ed25519). Possible causes: a man-in-the-middle attack, a "
        "reinstalled host, or a cloud address reassigned to another instance, in which case earlier results are from "
        "another machine.",
        "If the change is expected, remove the old key: ssh-keygen -R '[192.0.2.14]:2222' -f "
        "/home/ann/.ssh/known_hosts",
    )
    return dialog


def _secret(question: SecretQuestion, stage: Stage) -> QWidget:
    dialog = stage.keep(SecretDialog(question))
    dialog.show()
    return dialog


def _export(stage: Stage) -> QWidget:
    dialog = stage.keep(ExportDialog(stage.workstation, ["20260114-140831-k3vd"], "Quick benchmark of This computer"))
    dialog.show()
    return dialog


def _export_preview(stage: Stage) -> QWidget:
    (run,) = record(stage.workstation, Made("20260114-140831-k3vd", samples=2))
    dialog = stage.keep(ExportDialog(stage.workstation, [run], "Quick benchmark of This computer"))
    dialog.html_box.setChecked(True)
    dialog.show()
    dialog.preview_button.click()
    stage.settle(lambda: "->" in dialog.preview.toPlainText())
    return dialog


def _leaving(stage: Stage) -> QWidget:
    window = stage.window()
    window.pages.run(Plan("fio on web-1", (LOCAL,), (make_step("sysbench-cpu", {"time": 3}),)), None)
    live = window.pages.live
    stage.settle(lambda: live is not None and bool(live.runs.running))
    window.closing.allowed()
    return window.findChildren(QuestionDialog)[0]


SHOTS: list[Shot] = [
    ("hosts-first-start", _first_start),
    ("hosts-refused-while-running", _refused),
    ("hosts-many", _many),
    ("hosts-limits", _limits),
    *((f"help-{topic}", partial(_help, topic)) for topic in (*TOPICS, "check-page-cache", "check-memory-too-small")),
    ("empty-state", _no_measurement),
    ("add-host", _add_host),
    ("add-host-faults", _add_host_faults),
    ("add-host-refused", _add_host_refused),
    ("host-key", partial(_host_key, "")),
    ("host-key-match", partial(_host_key, f"256 {FINGERPRINT} root@web-1 (ED25519)")),
    ("host-key-mismatch", partial(_host_key, FINGERPRINT.replace("kXQ", "lXQ"))),
    ("host-key-note", _host_key_with_note),
    ("host-key-changed", _key_changed),
    ("local-program", _program),
    (
        "password-keyring",
        partial(_secret, SecretQuestion("web-1", "ann", "Password of ann on web-1", lasting=True, may_keep=True)),
    ),
    ("password", partial(_secret, SecretQuestion("web-1", "ann", "Password:", None, 2))),
    ("passphrase", partial(_secret, SecretQuestion("web-1", "ann", "Passphrase", "/home/ann/.ssh/id_ed25519"))),
    ("export", _export),
    ("export-preview", _export_preview),
    ("leaving", _leaving),
]
