"""A real sshd is reached, and every way in which it may not be is told apart."""

from lab_sshd import LabHost


def test_a_command_runs_on_the_host(lab_host: LabHost) -> None:
    session = lab_host.connect()
    try:
        done = session.run(["sh", "-c", "echo out; echo err >&2; exit 7"])
    finally:
        session.close()
    assert (done.stdout, done.stderr, done.exit_status) == (b"out\n", b"err\n", 7)
