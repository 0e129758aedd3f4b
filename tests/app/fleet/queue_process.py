"""A worker of the queue in a process of its own: to be killed, frozen or cut off.

Usage: queue_process.py URL SECONDS DELAY. Each job is claimed after DELAY seconds by a row of `claims`, which can be
inserted once, and then takes SECONDS. A claim has a token: after a lost connection, its worker recognises its own.
"""

import secrets
import sys
import threading
import time
from functools import partial

import psycopg

from app.fleet import queue_worker
from app.fleet.job_queue import HostRunJob, JobQueue
from app.library_location import ServerUrl, location_of

CLAIMS = """CREATE TABLE claims (study text, number int, epoch int, token text, ended bool,
    PRIMARY KEY (study, number, epoch))"""


def shorten_intervals() -> None:
    """Have workers lose patience in a second, and look for jobs without a notification every half."""
    queue_worker.HEARTBEAT, queue_worker.HEARTBEAT_TIMEOUT, queue_worker.POLL = 0.2, 1.0, 0.5


def run_claimed(url: ServerUrl, seconds: float, delay: float, job: HostRunJob) -> None:
    """Claim the job and spend its time; return at once if it was claimed before."""
    time.sleep(delay)
    key = (job.study, job.number, job.epoch)
    insert = """INSERT INTO claims VALUES (%s, %s, %s, %s, false) ON CONFLICT (study, number, epoch)
        DO UPDATE SET ended = false WHERE claims.token = excluded.token"""
    if execute(url, insert, *key, secrets.token_hex()):
        time.sleep(seconds)
        execute(url, "UPDATE claims SET ended = true WHERE (study, number, epoch) = (%s, %s, %s)", *key)


def execute(url: ServerUrl, statement: str, *values: object) -> int:
    """Execute a statement, again until the server answers; return the number of rows."""
    while True:
        try:
            with psycopg.connect(url.for_libpq, autocommit=True) as connection:
                return connection.execute(statement.encode(), values).rowcount
        except psycopg.OperationalError:
            time.sleep(0.2)


if __name__ == "__main__":
    shorten_intervals()
    library = location_of(sys.argv[1])
    assert isinstance(library, ServerUrl)
    JobQueue(library).work(
        partial(run_claimed, library, float(sys.argv[2]), float(sys.argv[3])), at_once=2, stop=threading.Event()
    )
