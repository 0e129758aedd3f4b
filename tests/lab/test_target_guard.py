"""What fio opens is judged on the host at the moment of use: no spelling writes to a device or destroys a file."""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.events import FindingRaised, RunEnded, State
from app.plans.plan import LOCAL, Plan, Repetition, make_step
from app.runs.control import Control
from app.services import Workstation
from remote.target_guard import REFUSED, target_guard
from suites.base import Context
from suites.vocab import Finding
from tests.lab.probe_runs import workstation
from tests.lab_sshd import AnsweringAsker
from tests.loop_devices import MIB, MakeLoop, backing_file, make_loop, run
from tests.messages import messages

MESSAGES = messages("lab", "test_target_guard")

__all__ = ["make_loop", "workstation"]

PRECIOUS = b"precious" * (MIB // 4)


def execute(
    workstation: Workstation, suite: str, trials: int = 1, **values: str | bool
) -> tuple[list[Finding], RunEnded]:
    """Run a step of `suite` on this computer, typing nothing; return what was found and how it ended."""
    plan = Plan("guard", (LOCAL,), (make_step(suite, values),), repetition=Repetition(trials=trials))
    events = list(workstation.run(plan, AnsweringAsker(), Control()))
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    return [event.finding for event in events if isinstance(event, FindingRaised)], ended


def shown(workstation: Workstation, ended: RunEnded) -> str:
    """Return everything that the run gives as its reason: in words, and on the trial's standard error."""
    record = workstation.load("last")
    numbers = range(1, len(record.trials) + 1)
    output = [workstation.output(record.summary.id, number).get("stderr", b"") for number in numbers]
    return " ".join([ended.reason, *(part.decode() for part in output)])


def digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


WRITE = "size=1m\nbs=64k\n"

DEVICES = {
    "by its name": "[j]\nrw=write\nfilename={device}\n",
    "through a symbolic link": "[j]\nrw=write\nfilename={link}\n",
    "through a link to a link in a directory of links": "[j]\nrw=write\nfilename={links}/again\n",
    "by an empty variable": "[j]\nrw=write\nfilename=/de${{0}}v/{name}\n",
    "by an empty variable in an option": "[j]\nrw=write\nfile${{0}}name={device}\n",
    "by a file that is included": "[j]\nrw=write\ninclude {include}\n",
    "by a file that is included, whatever follows": "[j]\nrw=write\ninclude={include}\n",
    "behind U+2028": "[j]\nrw=write\n# a comment\u2028[k]\nfilename={device}\n",
    "behind U+0085": "[j]\nrw=write\n# a comment\u0085rw=read\nfilename={device}\n",
    "behind a no-break space": "[j]\nrw=write\n\u00a0;x\nfilename={device}\n",
    "by way of /dev/..": "[j]\nrw=write\nfilename=/dev/../dev/./{name}\n",
    "by way of /proc": "[j]\nrw=write\nfilename=/proc/self/root{device}\n",
    "as a relative path": "[j]\nrw=write\nfilename={climb}{device}\n",
    "in a directory": "[{name}]\nrw=write\ndirectory=/dev\n",
    "as another node of it": "[j]\nrw=write\nfilename={node}\n",
    "as a hard link to a node": "[j]\nrw=write\nfilename={hard}\n",
    "behind a directory that fio makes": "[j]\nrw=write\nfile_append=1\nfilename={links}/new/../again\n",
    "as a bind mount": "[j]\nrw=write\nfilename={bound}\n",
    "by the name of a section": "[{link}]\nrw=write\n",
    "from a global section, beside a name of its own": "[global]\nfilename={link}\n[j]\nrw=write\nfilename=mine\n",
    "from a section that counts as global": "[globalish]\nfilename={link}\n[j]\nrw=write\n",
    "as the second of two": "[j]\nrw=write\nfilename=mine:{link}\n",
    "as a name with an escaped colon": "[j]\nrw=write\nfilename={colon}\n",
    "by a format of names": "[j]\nrw=write\nfilename_format={folder}/$JobName\n",
    "by a keyword that is empty": "[j]\nrw=write\nfilename_format=$clientuid{device}\n",
    "by a keyword that is empty, in the name of a section": "[$ClientUID{folder}/link]\nrw=write\n",
    "behind a directory that has a number": "[j]\nrw=write\nfilename_format=$filenum/../{climb}{device}\n",
    "behind a number": "[j]\nrw=write\nfilename_format={folder}/$jobnum/../link\n",
    "by the letters of a number": "[j]\nrw=write\nfilename_format={folder}/li$jobnumk\nnumjobs=2\n",
    "as a log of I/O": "[j]\nrw=read\nwrite_iolog={link}\n",
    "as memory": "[j]\nrw=read\niomem=mmapshared:{link}\n",
    "by a trim": "[j]\nrw=randtrim\nfilename={link}\n",
    "as a log of bandwidth": "[j]\nrw=read\nwrite_bw_log={folder}/log\n",
    "by a verify with trims": "[j]\nrw=read\ntrim_percentage=100\nfilename={link}\n",
    "by a replay": "[j]\nread_iolog={iolog}\n",
    "by a directory that is opened": "[j]\nrw=write\nopendir={folder}\n",
    "by an engine that cannot be judged": "[j]\nrw=write\nioengine=external:/nowhere.so\nfilename={link}\n",
    "by a program before": "[j]\nrw=read\nexec_prerun=dd if=/dev/zero of={link} bs=4k count=1\n",
    "by an engine’s program": "[j]\nioengine=exec\nprogram=dd\narguments=if=/dev/zero of={link} bs=4k count=1\n",
    "by a file that a reader has open": "[j]\nrw=read\nfilename={link}\n[k]\nrw=write\nfilename=/proc/self/fd/5\n",
}


@pytest.fixture
def device(make_loop: MakeLoop) -> str:
    made = make_loop("precious.img", 4 * MIB)
    backing_file(made).write_bytes(PRECIOUS * 2)
    return made


@pytest.fixture
def spelled(device: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """Yield a device by every name that a job file could give it."""
    folder = tmp_path / "asm"
    links = tmp_path / "links"
    (folder / "dir").mkdir(parents=True)
    links.mkdir()
    for name in ("link", "j", "li0k", "li1k", "log_bw.1.log", "with:colon"):
        (folder / name).symlink_to(device)
    (links / "again").symlink_to(folder / "link")
    os.mknod(tmp_path / "node", 0o600 | 0o060000, Path(device).stat().st_rdev)
    os.link(tmp_path / "node", tmp_path / "hard")
    (tmp_path / "bound").touch()
    run("mount", "--bind", device, tmp_path / "bound")
    (tmp_path / "more.fio").write_text(f"filename={device}\n")
    (tmp_path / "iolog").write_text(f"fio version 2 iolog\n{device} add\n{device} open\n{device} write 0 4096\n")
    yield {
        "device": device,
        "name": Path(device).name,
        "folder": str(folder),
        "link": str(folder / "link"),
        "links": str(links),
        "node": str(tmp_path / "node"),
        "hard": str(tmp_path / "hard"),
        "bound": str(tmp_path / "bound"),
        "include": str(tmp_path / "more.fio"),
        "iolog": str(tmp_path / "iolog"),
        "climb": "../" * 12,
        "colon": f"{folder}/with\\:colon",
    }
    subprocess.run(["umount", str(tmp_path / "bound")], check=False)


@pytest.mark.slow
@pytest.mark.parametrize("case", DEVICES)
def test_no_spelling_of_a_job_file_writes_to_a_device(
    workstation: Workstation, spelled: dict[str, str], case: str
) -> None:
    job = f"[global]\n{WRITE}{DEVICES[case].format(**spelled)}"
    before = digest(backing_file(spelled["device"]))
    _, ended = execute(workstation, "fio-job", job=job)
    assert digest(backing_file(spelled["device"])) == before
    assert Path(spelled["device"]).exists()
    assert ended.state is not State.DONE, case
    assert shown(workstation, ended)


def start(tmp_path: Path, suite: str, **values: object) -> subprocess.CompletedProcess[str]:
    """Run the commands of a step as a host would, without a run around them; return the last."""
    workspace = tmp_path / "workspace"
    workspace.mkdir(exist_ok=True)
    step = make_step(suite, values)
    for command in step.suite.commands(step.values, Context()):
        for file in command.files:
            (workspace / file.name).write_text(file.text)
        words = target_guard(command.targets, command.argv)
        done = subprocess.run(words, cwd=workspace, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode:
            break
    return done


@pytest.mark.parametrize("case", DEVICES)
def test_no_spelling_gets_past_the_guard_itself(spelled: dict[str, str], tmp_path: Path, case: str) -> None:
    job = f"[global]\n{WRITE}{DEVICES[case].format(**spelled)}"
    before = digest(backing_file(spelled["device"]))
    done = start(tmp_path, "fio-job", job=job)
    assert digest(backing_file(spelled["device"])) == before
    assert (done.returncode, "benchwright: " in done.stderr) == (REFUSED, True), done


FILES = {
    "written": "rw=write\nfilename={file}\n",
    "laid out anew, because it is shorter than the size": "rw=read\nsize=2m\nfilename={file}\n",
    "laid out anew, because of its offset": "rw=read\nsize=512k\noffset=900k\nfilename={file}\n",
    "laid out anew by another size": "rw=randread\nfilesize=1m-2m\nfilename={file}\n",
    "laid out anew by sizes of another base": "rw=read\nkb_base=1000\nsize=1050KiB\nfilename={file}\n",
    "removed at the end": "rw=read\nunlink=1\nfilename={file}\n",
    "removed at the end by an idle engine": "ioengine=null\nrw=read\nunlink=1\nfilename={file}\n",
    "removed at each turn": "rw=read\nunlink_each_loop=1\nfilename={file}\n",
    "removed by an engine": "ioengine=filedelete\nfilename={file}\n",
    "opened to be written by an engine": "ioengine=filecreate\nfilename={file}\n",
    "cut by an engine": "ioengine=ftruncate\nrw=write\nfilename={file}\n",
    "allocated by an engine": "ioengine=falloc\nrw=read\nfilename={file}\n",
    "a log of bandwidth": "rw=read\nwrite_bw_log={folder}/log\n",
    "a log of latency": "rw=read\nwrite_lat_log={folder}/log\n",
    "a log of IOPS without a number": "rw=read\nper_job_logs=0\nwrite_iops_log={folder}/log\n",
    "a histogram": "rw=read\nwrite_hist_log={folder}/log\nlog_hist_msec=100\n",
    "a log named after the job": "rw=read\nname={folder}/log\nwrite_bw_log\n",
    "a log of I/O": "rw=read\nwrite_iolog={file}\n",
    "memory": "rw=read\nmem=mmap:{file}\n",
    "the output of a program": "rw=read\nname={folder}/out\nexec_prerun=true\n",
    "the output of an engine’s program": "ioengine=exec\nprogram=/bin/true\nname={folder}/out\n",
    "one of several in a directory": "rw=write\ndirectory={folder}\nnrfiles=3\n",
    "one of several directories": "rw=write\ndirectory=.:{folder}\nnumjobs=2\n",
    "a name of a format": "rw=write\nfilename_format={folder}/$jobnum.data\n",
    "a name behind a number": "rw=write\nfilename_format=$filenum/../{folder}/file\n",
    "a name behind a keyword": "rw=write\nfilename_format={folder}/..$clientuid/mine/file\n",
    "a file at whose end it reads": "rw=read\nfile_append=1\nfilename={file}\n",
    "a share beyond the whole": "rw=read\nsize=200%\nfilename={file}\n",
    "a share of a file’s size": "rw=read\nsize=1000%\nfilesize=300%\nfilename={file}\n",
    "a file behind a link": "rw=write\nfilename={folder}/link\n",
    "a file behind a directory that fio makes": "rw=write\nfilename={folder}/new/../file\n",
    "a file behind a directory that has the name of a variable": "rw=write\nfilename=$HOME/../../mine/file\n",
    "a file that has the name of a section": "rw=write\nname=file\ndirectory={folder}\n",
}


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    """Return a directory of the user's own files, under names that fio would take."""
    folder = tmp_path / "mine"
    folder.mkdir()
    names = ("file", "log_bw.1.log", "log_lat.1.log", "log_iops.log", "log_clat_hist.1.log", "out.prerun.txt",
             "out.stdout", "j.0.2", "j.1.0", "0.data")  # fmt: skip
    for name in names:
        (folder / name).write_bytes(b"x" * MIB)
    (folder / "link").symlink_to(folder / "file")
    return {"folder": str(folder), "file": str(folder / "file")}


def contents(folder: str) -> dict[str, str]:
    return {file.name: digest(file) for file in Path(folder).iterdir() if file.exists()}


@pytest.mark.parametrize("case", FILES)
def test_no_file_of_the_user_is_destroyed_without_confirmation(
    files: dict[str, str], tmp_path: Path, case: str
) -> None:
    job = f"[global]\nsize=64k\nbs=4k\n[j]\n{FILES[case].format(**files)}"
    before = contents(files["folder"])
    done = start(tmp_path, "fio-job", job=job)
    assert contents(files["folder"]) == before
    assert (done.returncode, "benchwright: " in done.stderr) == (REFUSED, True), done


@pytest.mark.slow
@pytest.mark.parametrize("case", ["written", "removed at the end", "a log of bandwidth"])
def test_who_agrees_may_overwrite_files_but_no_device(
    files: dict[str, str], device: str, tmp_path: Path, case: str
) -> None:
    job = f"[global]\nsize=64k\nbs=4k\n[j]\n{FILES[case].format(**files)}"
    before = contents(files["folder"])
    assert start(tmp_path, "fio-job", job=job, existing_files="overwrite").returncode == 0
    assert contents(files["folder"]) != before
    before_device = digest(backing_file(device))
    done = start(tmp_path, "fio-job", job=f"[j]\nrw=write\nsize=64k\nfilename={device}\n", existing_files="overwrite")
    assert done.returncode == REFUSED
    # The file behind a device is the device.
    job = f"[j]\nrw=write\nsize=64k\nfilename={backing_file(device)}\n"
    assert start(tmp_path, "fio-job", job=job, existing_files="overwrite").returncode == REFUSED
    assert digest(backing_file(device)) == before_device


def test_a_section_that_has_the_name_of_a_directory_works_on_no_file_of_the_users(tmp_path: Path) -> None:
    # The first trial makes the directory "sub"; then fio takes the section's name for the file itself.
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "sub").write_bytes(b"precious")
    job = f"[a]\nrw=write\nsize=64k\nfilename=sub/a\n[sub]\nrw=write\nsize=64k\ndirectory={folder}\n"
    for _ in range(2):
        done = start(tmp_path, "fio-job", job=job)
        assert (folder / "sub").read_bytes() == b"precious"
    assert (done.returncode, f"{folder}/sub exists" in done.stderr) == (REFUSED, True)
    (tmp_path / "victims").mkdir()
    (folder / "below").mkdir()
    (folder / "victims").write_bytes(b"precious")
    job = f"[../victims]\nrw=write\nsize=64k\ndirectory={folder}/below\n"
    assert start(tmp_path, "fio-job", job=job).returncode == REFUSED
    assert (folder / "victims").read_bytes() == b"precious"


def test_the_file_behind_a_device_is_recognised_by_each_of_its_names(device: str, tmp_path: Path) -> None:
    os.link(backing_file(device), tmp_path / "second.img")
    (tmp_path / "third.img").touch()
    run("mount", "--bind", backing_file(device), tmp_path / "third.img")
    before = digest(backing_file(device))
    try:
        for name in ("second.img", "third.img"):
            job = f"[j]\nrw=write\nsize=64k\noverwrite=1\nfilename={tmp_path}/{name}\n"
            assert start(tmp_path, "fio-job", job=job, existing_files="overwrite").returncode == REFUSED
            assert digest(backing_file(device)) == before
    finally:
        subprocess.run(["umount", str(tmp_path / "third.img")], check=False)


SHELL = {"shell": True}

GOOD = {
    "in the private directory": "rw=write\n",
    "in the private directory, twice": "rw=randrw\nfilename=a:b\nwrite_bw_log\nverify=crc32c\n",
    "laid out first": "rw=randread\nnrfiles=4\nnumjobs=2\n",
    "new files elsewhere": "rw=write\ndirectory={folder}\nfilename=new\nwrite_iolog={folder}/new.log\n",
    "an existing file that is long enough": "rw=randread\nfilename={file}\nsize=1m\n",
    "a part of an existing file": "rw=read\nfilename={file}\nsize=25%\n",
    "all of an existing file": "rw=read\nfilename={file}\nsize=0\n",
    "a device that is read": "rw=randread\nfilename={device}\nsize=1m\n",
    "/dev/null": "rw=write\nfilename=/dev/null\n",
    "no file at all": "ioengine=null\nrw=write\n",
    "files that are removed again": "rw=write\nunlink=1\ndirectory={folder}\n",
    "files of an engine": "ioengine=filecreate\nnrfiles=20\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("case", GOOD)
def test_what_harms_nothing_runs_and_runs_again(files: dict[str, str], device: str, tmp_path: Path, case: str) -> None:
    job = f"[global]\nsize=64k\nbs=4k\n[good]\n{GOOD[case].format(**files, device=device)}"
    for _ in range(2):  # the second trial finds what the first has made
        done = start(tmp_path, "fio-job", job=job)
        assert done.returncode == 0, done.stdout + done.stderr


LINES = {
    "dd": "dd if=/dev/zero of={link} bs=64k count=1",
    "dd to another node": "dd if=/dev/zero of={node} bs=64k count=1",
    "a redirection": "cat /etc/hostname > {link}",
    "a redirection of both ways": "cat /etc/hostname 1<> {link}",
    "a redirection that appends": "echo x >> {link}",
    "tee": "echo x | tee {link}",
    "cp": "cp /etc/hostname {bound}",
    "a variable of the line": "D={link}; dd if=/dev/zero of=$D bs=64k count=1",
    "a variable that only a shell can tell": "for d in {link}; do dd if=/dev/zero of=$d bs=64k count=1; done",
    "a variable of the environment": "dd if=/dev/zero of=$WHERE bs=64k count=1",
    "a pattern": "dd if=/dev/zero of={folder}/lin? bs=64k count=1",
    "a change of directory": "cd {folder} && dd if=/dev/zero of=link bs=64k count=1",
    "a change of directory that only a shell can tell": "cd $(dirname {link}) && echo x > link",
    "a shell in a shell": "sh -c 'sh -c \"dd if=/dev/zero of={link} bs=64k count=1\"'",
    "an eval": "eval 'dd if=/dev/zero' of={link} bs=64k count=1",
    "a command in a word": 'echo "$(dd if=/dev/zero of={link} bs=64k count=1)"',
    "a program of which nothing is known": "python3 -c 'open(\"{link}\", \"r+b\").write(b\"x\" * 9)'",
    "xargs": "echo count=1 | xargs dd if=/dev/zero of={link}",
    "busybox": "busybox dd if=/dev/zero of={link} bs=64k count=1",
    "behind a comment with a quotation mark": "dd if=/dev/zero of={link} bs=64k count=1 # it's",
    "fio": "fio --name=j --rw=write --size=64k --filename={link}",
    "fio with a beginning of an option": "fio --name=j --rw=read --size=64k --write_iol={link}",
    "fio with a file for all": "fio --size=64k --filename={link} --name=j --filename=mine --rw=write",
    "fio with a job named so": "fio --name={link} --rw=write --size=64k",
    "fio with a job file": "fio {include}",
    "fio with a log": "fio --name=j --rw=read --size=64k --write_iolog={link}",
    "fio with its output": "fio --name=j --rw=read --size=64k --output={link}",
    "a file system": "mkfs.ext4 -F {link}",
    "blkdiscard": "blkdiscard -f {link}",
    "a descriptor": "exec 7<>{link}; dd if=/dev/zero of=/dev/fd/7 bs=64k count=1",
    "in front of many words": "true " + "x " * 300 + "; dd if=/dev/zero of={link} bs=64k count=1",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "which"),
    [*((case, "command") for case in LINES), *(("dd", which) for which in ("prepare", "before", "clean_up"))],
)
def test_no_line_of_a_command_writes_to_a_device(
    spelled: dict[str, str], tmp_path: Path, case: str, which: str
) -> None:
    Path(spelled["include"]).write_text(f"[j]\nrw=write\nsize=64k\nfilename={spelled['link']}\n")
    values = {"command": "true", "shell": True, "environment": f"WHERE={spelled['link']}"}
    before = digest(backing_file(spelled["device"]))
    done = start(tmp_path, "command", **{**values, which: LINES[case].format(**spelled)})
    assert digest(backing_file(spelled["device"])) == before
    assert (done.returncode, "benchwright: " in done.stderr) == (REFUSED, True), done


@pytest.mark.parametrize(
    "line",
    [
        "dd if={device} of=/dev/null bs=64k count=1",
        "cat < {device} | head -c 10 > out",
        "fio --name=j --rw=read --filename={link} --size=64k",
        "head -c 100 {device} | wc -c",
        "lsblk {device}",
        "cd / && echo x > /dev/null 2>&1",
        "dd if=/dev/zero of=$HOME/x bs=4k count=1; echo y > ~/y",
        "echo x > out.$$; make --version > /dev/stderr; ls -l > {folder}/new",
        "N=5; for n in 1 2; do echo $n $N; done > out",
        "dd if=/dev/zero of={folder}/new bs=4k count=1 && dd if=/dev/zero of={folder}/new bs=4k count=1",
        "fio --name=good --rw=write --size=64k --directory={folder}",
    ],
)
def test_a_command_that_harms_no_device_runs(spelled: dict[str, str], tmp_path: Path, line: str) -> None:
    for _ in range(2):
        done = start(tmp_path, "command", command=line.format(**spelled), **SHELL)
        assert done.returncode == 0, done.stderr


def test_suites_with_a_directory_of_their_own_write_nowhere_else(device: str, tmp_path: Path) -> None:
    small = {"size": "1 MiB"}
    for suite, name, values in (
        ("fio", "benchwright.0.0", small),
        ("fio-sweep", "benchwright.0", small),
        ("fio-snia", "benchwright", small),
        ("dd", "benchwright.dat", {}),
        ("sysbench-fileio", "test_file.0", {"total_size": "1 MiB"}),
    ):
        workspace = tmp_path / suite
        (workspace / "workspace").mkdir(parents=True)
        (workspace / "workspace" / name).symlink_to(device)
        before = digest(backing_file(device))
        assert start(workspace, suite, **values).returncode == REFUSED, suite
        assert digest(backing_file(device)) == before


WHOLE_RUNS = ("laid out anew, because it is shorter than the size", "removed at the end", "removed by an engine",
              "a log of bandwidth", "memory")  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", WHOLE_RUNS)
def test_a_run_destroys_no_file_and_says_which(workstation: Workstation, files: dict[str, str], case: str) -> None:
    before = contents(files["folder"])
    job = f"[global]\nsize=64k\nbs=4k\n[j]\n{FILES[case].format(**files)}"
    _, ended = execute(workstation, "fio-job", job=job)
    assert contents(files["folder"]) == before
    assert ended.state is State.FAILED
    assert MESSAGES["fio_was_not_started_on_this"] in ended.reason
    assert files["folder"] in ended.reason


@pytest.mark.slow
@pytest.mark.parametrize("case", ["dd", "a change of directory", "xargs", "fio with a job file"])
@pytest.mark.parametrize("which", ["command", "prepare", "before", "clean_up"])
def test_a_run_of_a_command_writes_to_no_device(
    workstation: Workstation, spelled: dict[str, str], case: str, which: str
) -> None:
    Path(spelled["include"]).write_text(f"[j]\nrw=write\nsize=64k\nfilename={spelled['link']}\n")
    before = digest(backing_file(spelled["device"]))
    lines = {"command": "true", which: LINES[case].format(**spelled)}
    _, ended = execute(workstation, "command", 1, **lines, **SHELL)
    assert digest(backing_file(spelled["device"])) == before
    assert ended.state is not State.DONE or MESSAGES["exit_status_77_benchwright"] in ended.reason


@pytest.mark.slow
def test_trials_may_write_again_what_the_first_has_made(workstation: Workstation, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    job = f"[job]\nrw=write\nsize=1m\ndirectory={folder}\nwrite_bw_log={folder}/log\n"
    _, ended = execute(workstation, "fio-job", trials=3, job=job)
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert sorted(file.name for file in folder.iterdir()) == ["job.0.0", "log_bw.1.log"]
    _, ended = execute(workstation, "fio-job", job=job)  # another step did not make them
    assert ended.state is State.FAILED
    assert f"{folder}/job.0.0 exists and would be overwritten or removed." in ended.reason
