"""The probe on this machine: true, quick, tidy, and asking a cloud's metadata service for nothing it should not."""

import os
import platform
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from remote.errors import OutputLimitError
from remote.local import LocalSession
from remote.probe import ProbeError, read_clock, read_facts
from remote.session import Channel, Session
from suites.facts import Absent, DirectoryFault, Facts


@pytest.fixture
def session() -> Iterator[LocalSession]:
    session = LocalSession()
    yield session
    session.close()


def test_every_shell_reads_the_truth(shell_session: Session, tmp_path: Path) -> None:
    facts = read_facts(shell_session, [str(tmp_path), "/nowhere"])
    assert facts.host == "testhost"
    assert facts.system.host_name == platform.node()
    assert facts.system.kernel == platform.release()
    assert facts.cpu.threads == os.cpu_count()
    assert facts.cpu.usable == len(os.sched_getaffinity(0))
    assert facts.memory.total == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert facts.system.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    offset = facts.system.clock_offset
    assert isinstance(offset, Absent) or abs(offset) < 0.5
    found = facts.directory(str(tmp_path))
    assert found is not None
    assert found.writable is True
    space = os.statvfs(tmp_path)
    assert found.free == pytest.approx(space.f_bavail * space.f_frsize, rel=0.01)
    assert {interface.name for interface in facts.interfaces} == set(os.listdir("/sys/class/net"))  # noqa: PTH208 (names are all we compare)


def test_the_size_of_a_file_is_read_whatever_its_name(session: LocalSession, tmp_path: Path) -> None:
    path = tmp_path / "-k 'a\"$(id)"
    path.write_bytes(bytes(2**20))
    found = read_facts(session, [str(path)]).directory(str(path))
    assert found is not None
    assert found.file == path.stat().st_blocks * 512


@pytest.mark.alone
def test_it_takes_less_than_a_second(session: LocalSession) -> None:
    started = time.monotonic()
    read_facts(session)
    assert time.monotonic() - started < 1.0


def test_nothing_is_left_behind(session: LocalSession, tmp_path: Path) -> None:
    read_facts(session, [str(tmp_path)])
    assert list(tmp_path.iterdir()) == []
    assert not [path for place in ("/tmp", "/var/tmp") for path in Path(place).glob(".benchwright-*")]


def test_awkward_directories_are_taken_literally(shell_session: Session, tmp_path: Path) -> None:
    directory = tmp_path / "a b$(touch x)'\"*;ü€"
    directory.mkdir()
    facts = read_facts(shell_session, [f"{directory}/", "-rf", str(directory)])
    found = facts.directory(str(directory))
    assert found is not None
    assert found.writable is True
    assert [found.path for found in facts.directories].count(str(directory)) == 1
    assert facts.directories[1].fault is DirectoryFault.MISSING


def test_a_host_without_a_shell_is_an_error_for_people(behind: Callable[..., Session]) -> None:
    with pytest.raises(ProbeError, match="testhost: facts could not be read: “restricted account”") as caught:
        read_facts(behind("sh", "-c", "echo 'restricted\x1baccount' >&2; exit 1"))
    assert "POSIX shell" in caught.value.remedy


def test_an_endless_answer_is_cut_off(behind: Callable[..., Session]) -> None:
    with pytest.raises(OutputLimitError):
        read_facts(behind("sh", "-c", "yes"))


def test_a_greeting_does_no_harm(behind: Callable[..., Session]) -> None:
    greeting = behind("sh", "-c", "echo Welcome; echo '@@uname 1'; exec \"$@\"", "sh")
    assert read_facts(greeting).system.host_name == platform.node()


# Metadata services, played by a server on this machine


class Cloud(ThreadingHTTPServer):
    """A metadata service that answers what it is told to, and remembers every request."""

    daemon_threads = True

    def __init__(self, answers: Mapping[str, str], header: str, token: str = "") -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers = answers
        self.header = header
        self.token = token
        self.asked: list[str] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    server: Cloud

    def answer(self, text: str | None) -> None:
        self.server.asked.append(f"{self.command} {self.path}")
        self.send_response(404 if text is None else 200)
        self.send_header("Content-Length", str(len(text or "")))
        self.end_headers()
        self.wfile.write((text or "").encode())

    def do_PUT(self) -> None:
        self.answer(self.server.token or None)

    def do_GET(self) -> None:
        name, _, value = self.server.header.partition(": ")
        self.answer(self.server.answers.get(self.path) if self.headers.get(name, "") == value else None)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing on the screen."""


AWS = {
    "/latest/meta-data/instance-type": "c7i.2xlarge",
    "/latest/meta-data/instance-id": "i-0123456789abcdef0",
    "/latest/meta-data/placement/region": "eu-central-1",
}
GCP = {
    "/computeMetadata/v1/instance/machine-type": "projects/123/machineTypes/n2-standard-4",
    "/computeMetadata/v1/instance/id": "4567890123456789012",
    "/computeMetadata/v1/instance/zone": "projects/123/zones/europe-west3-c",
}
_AZURE = "/metadata/instance/compute/%s?api-version=2021-02-01&format=text"
AZURE = {
    _AZURE % "vmSize": "Standard_D4s_v5",
    _AZURE % "vmId": "02aab8a4-74ef-476e-8182-f6d2ba4166a6",
    _AZURE % "location": "westeurope",
}
AZURE_ASSET = "7783-7084-3265-9085-8269-3286-77"


InCloud = Callable[..., Facts]


@pytest.fixture
def in_cloud(tmp_path: Path, behind: Callable[..., Session]) -> InCloud:
    """Return a function that reads this machine's facts as if DMI named a cloud with its metadata service at `base`."""

    def read(base: str, *, vendor: str, asset: str = "", path: str = os.environ["PATH"]) -> Facts:
        for name, text in (("sys_vendor", vendor), ("chassis_asset_tag", asset), ("bios_version", "1.0")):
            (tmp_path / name).write_text(f"{text}\n", encoding="ascii")
        return read_facts(behind("env", f"BENCHWRIGHT_DMI={tmp_path}", f"BENCHWRIGHT_METADATA={base}", f"PATH={path}"))

    return read


@pytest.fixture
def serve() -> Iterator[Callable[..., Cloud]]:
    """Return a function that starts a metadata service, which is served until the test ends."""
    clouds: list[Cloud] = []

    def start(answers: Mapping[str, str], header: str, token: str = "") -> Cloud:
        cloud = Cloud(answers, header, token)
        threading.Thread(target=cloud.serve_forever, kwargs={"poll_interval": 0.02}).start()
        clouds.append(cloud)
        return cloud

    yield start
    for cloud in clouds:
        cloud.shutdown()
        cloud.server_close()


def reported(facts: Facts) -> tuple[object, ...]:
    return facts.cloud.provider, facts.cloud.instance_type, facts.cloud.instance_id, facts.cloud.region


AWS_REPORTED = ("AWS", "c7i.2xlarge", "i-0123456789abcdef0", "eu-central-1")


@pytest.mark.alone
def test_aws_is_asked_with_a_token_and_for_three_things_only(serve: Callable[..., Cloud], in_cloud: InCloud) -> None:
    cloud = serve(AWS, "X-aws-ec2-metadata-token: secret", "secret")
    assert reported(in_cloud(cloud.base, vendor="Amazon EC2")) == AWS_REPORTED
    assert cloud.asked == ["PUT /latest/api/token", *(f"GET {path}" for path in AWS)]


@pytest.mark.alone
def test_aws_without_tokens_is_asked_without(serve: Callable[..., Cloud], in_cloud: InCloud) -> None:
    cloud = serve(AWS, "X-aws-ec2-metadata-token: ")
    assert reported(in_cloud(cloud.base, vendor="Amazon EC2")) == AWS_REPORTED


@pytest.mark.alone
def test_gcp_tells_its_zone(serve: Callable[..., Cloud], in_cloud: InCloud) -> None:
    cloud = serve(GCP, "Metadata-Flavor: Google")
    facts = in_cloud(cloud.base, vendor="Google")
    assert reported(facts) == ("GCP", "n2-standard-4", "4567890123456789012", "europe-west3")
    assert cloud.asked == [f"GET {path}" for path in GCP]


@pytest.mark.alone
def test_azure_is_known_by_its_asset_tag(serve: Callable[..., Cloud], in_cloud: InCloud) -> None:
    cloud = serve(AZURE, "Metadata: true")
    vendor = "Microsoft Corporation"
    facts = in_cloud(cloud.base, vendor=vendor, asset=AZURE_ASSET)
    assert reported(facts) == ("Azure", "Standard_D4s_v5", "02aab8a4-74ef-476e-8182-f6d2ba4166a6", "westeurope")
    asked = len(cloud.asked)
    facts = in_cloud(cloud.base, vendor=vendor, asset="none")
    assert facts.cloud.provider == Absent("DMI names no supported cloud")
    assert len(cloud.asked) == asked


ALIBABA = {
    "/latest/meta-data/instance/instance-type": "ecs.t6-c1m2.large",
    "/latest/meta-data/instance-id": "i-bp1abc",
    "/latest/meta-data/region-id": "eu-central-1",
}
ORACLE = {
    "/opc/v2/instance/shape": "VM.Standard.E4.Flex",
    "/opc/v2/instance/id": f"ocid1.instance.oc1.eu-frankfurt-1.{'a' * 60}",
    "/opc/v2/instance/canonicalRegionName": "eu-frankfurt-1",
    "/opc/v2/instance/shapeConfig/baselineOcpuUtilization": "BASELINE_1_8",
}


@pytest.mark.alone
@pytest.mark.parametrize("token", ["secret", ""])
def test_alibaba_is_asked_with_a_token_if_it_has_any(
    serve: Callable[..., Cloud], in_cloud: InCloud, token: str
) -> None:
    cloud = serve(ALIBABA, f"X-aliyun-ecs-metadata-token: {token}", token)
    assert reported(in_cloud(cloud.base, vendor="Alibaba Cloud")) == ("Alibaba Cloud", *ALIBABA.values())


@pytest.mark.alone
def test_oracle_tells_the_baseline_of_a_burstable_instance(serve: Callable[..., Cloud], in_cloud: InCloud) -> None:
    cloud = serve(ORACLE, "Authorization: Bearer Oracle")
    facts = in_cloud(cloud.base, vendor="QEMU", asset="OracleCloud.com")
    assert (*reported(facts), facts.cloud.baseline) == ("Oracle Cloud", *ORACLE.values())
    without = {path: text for path, text in ORACLE.items() if "baseline" not in path}
    facts = in_cloud(serve(without, "Authorization: Bearer Oracle").base, vendor="QEMU", asset="OracleCloud.com")
    assert reported(facts) == ("Oracle Cloud", *without.values())
    assert isinstance(facts.cloud.baseline, Absent)


@pytest.mark.alone
def test_no_service_is_asked_where_dmi_names_no_cloud(serve: Callable[..., Cloud], in_cloud: InCloud) -> None:
    cloud = serve(AWS, "X-aws-ec2-metadata-token: ")
    facts = in_cloud(cloud.base, vendor="QEMU")
    assert facts.cloud.instance_type == Absent("DMI names no supported cloud")
    assert cloud.asked == []


@pytest.mark.alone
@pytest.mark.parametrize("program", ["wget", "busybox"])
def test_wget_serves_where_curl_is_missing(
    serve: Callable[..., Cloud], in_cloud: InCloud, tmp_path: Path, program: str
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    if program == "busybox":
        subprocess.run(["busybox", "--install", "-s", folder], check=True)
    else:
        for path in Path("/usr/bin").iterdir():
            if path.name != "curl":
                (folder / path.name).symlink_to(path)
    cloud = serve(AWS, "X-aws-ec2-metadata-token: ")  # busybox has no PUT
    assert reported(in_cloud(cloud.base, vendor="Amazon EC2", path=str(folder))) == AWS_REPORTED


@pytest.mark.alone
@pytest.mark.parametrize("vendor", ["Amazon EC2", pytest.param("Google", marks=pytest.mark.slow)])
def test_a_silent_service_costs_little_time(in_cloud: InCloud, vendor: str) -> None:
    def seconds() -> float:
        started = time.monotonic()
        facts.append(in_cloud(f"http://127.0.0.1:{silent.getsockname()[1]}", vendor=vendor))
        return time.monotonic() - started

    facts: list[Facts] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert any(seconds() < 1.0 for _ in range(3))  # the computer that tests this does other things, too
    assert {one.cloud.instance_type for one in facts} == {Absent("no metadata service answered within 300 ms")}


@pytest.mark.alone
def test_an_answer_that_is_no_identifier_is_refused(serve: Callable[..., Cloud], in_cloud: InCloud) -> None:
    answers = dict.fromkeys(AWS, "<html>Log in to the hotel's network</html>")
    cloud = serve(answers, "X-aws-ec2-metadata-token: ")
    facts = in_cloud(cloud.base, vendor="Amazon EC2")
    assert facts.cloud.region == Absent("invalid answer of the metadata service")


class OddClock(LocalSession):
    """A host whose `date` prints `answer`, an argument of printf."""

    answer = ""

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        script = f"read -r n; printf '@@%s 0 {self.answer}\\n' \"$0\"; cat >/dev/null"
        return super().open(["sh", "-c", script, argv[3]], stdin=stdin, keep_input=keep_input)


@pytest.mark.parametrize("answer", ["\\377\\376", "1700000000.", "1700000000.%%N", "soon", "-5"])
def test_a_date_without_parts_of_a_second_is_no_reading_of_the_clock(
    answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OddClock, "answer", answer)
    session = OddClock("testhost")
    assert read_clock(session) == []
    session.close()


def test_the_clock_is_read_within_its_uncertainty(session: LocalSession) -> None:
    readings = read_clock(session)
    assert len(readings) > 1
    assert all(one.sent <= one.host <= one.received for one in readings)
