"""Worker of the queue of host-runs: Procrastinate's, which also outlasts lost connections, and threads for its jobs.

Procrastinate's own worker ends after a failed query, and sends no heartbeat while the jobs that it began still run: for
hours here. It leaves jobs of a worker that was killed to a periodic job, which may be lost in the same way.
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar

import psycopg
from procrastinate import App, JobContext, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.worker import Worker

from app.store.roles import QUEUE_SCHEMA

log = logging.getLogger(__name__)

QUEUE = "host_runs"
"""Name of the queue, and of the task of its jobs."""

POLL = 5.0
"""Seconds between queries for jobs whose notification was lost."""

HEARTBEAT, HEARTBEAT_TIMEOUT = 10.0, 30.0
"""Seconds between heartbeats of a worker, and after the last one until its jobs are delivered again."""

RECONNECT = 1.0
"""Seconds until a query is repeated that a lost connection interrupted."""

_FORGOTTEN = 86400.0
"""Seconds after its last heartbeat when a worker's row is deleted: until then, a suspended worker may continue."""

_AT_ONCE = datetime(1970, 1, 1, tzinfo=UTC)
"""When a job that is delivered again may start. The default is the time by this computer's clock, often wrong."""

_Returned = TypeVar("_Returned")


class QueueWorker:
    """A worker that runs until `stop`. `handle` gets the content of each job, on at most `at_once` threads.

    `parameters` are those of libpq. Jobs are deleted once handled, also if `handle` raised an exception.
    """

    def __init__(
        self,
        parameters: Mapping[str, Any],
        handle: Callable[[Mapping[str, object]], object],
        at_once: int,
        stop: threading.Event,
    ) -> None:
        self._handle, self._at_once, self._stop = handle, at_once, stop
        self._threads = ThreadPoolExecutor(at_once, "host-run")  # the event loop's own would have six on two processors
        self._handled: set[int | None] = set()
        self._app = App(connector=_ReconnectingConnector(parameters, stop))
        self._app.task(name=QUEUE, queue=QUEUE, pass_context=True)(self._run_job)

    def run(self) -> None:
        """Work until `stop`; return when the last call of `handle` has returned."""
        with self._threads:
            asyncio.run(self._run())

    async def _run(self) -> None:
        while not self._stop.is_set():
            worker = Worker(
                self._app, [QUEUE], concurrency=self._at_once, delete_jobs="always", install_signal_handlers=False,
                fetch_job_polling_interval=POLL, abort_job_polling_interval=_FORGOTTEN,  # no job is aborted
                update_heartbeat_interval=HEARTBEAT, stalled_worker_timeout=_FORGOTTEN,
            )  # fmt: skip
            try:
                async with self._app.open_async():
                    await self._run_worker(worker)
            except (ConnectorException, psycopg.Error):  # not a lost connection: its row was deleted, for example
                log.warning("the worker of the queue ended", exc_info=True)
            if not self._stop.is_set():
                await asyncio.sleep(POLL)

    async def _run_worker(self, worker: Worker) -> None:
        beside = [asyncio.create_task(one) for one in (self._stop_worker(worker), self._redeliver_lost(worker))]
        try:
            await worker.run()
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _run_job(self, context: JobContext, /, **content: object) -> None:
        self._handled.add(context.job.id)
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._handle, content)
        finally:
            self._handled.discard(context.job.id)

    async def _stop_worker(self, worker: Worker) -> None:
        while not await asyncio.to_thread(self._stop.wait, 1.0):
            continue
        worker.stop()

    async def _redeliver_lost(self, worker: Worker) -> None:
        """Deliver again what no worker handles: jobs of workers without heartbeat, and own ones.

        A job is this worker's but not handled if the reply to its fetch, or to its end, was lost with the connection.
        """
        manager, suspects = self._app.job_manager, set[int | None]()
        while True:
            await asyncio.sleep(HEARTBEAT)
            with suppress(ConnectorException):
                lost = await manager.get_stalled_jobs(queue=QUEUE, seconds_since_heartbeat=HEARTBEAT_TIMEOUT)
                if worker.worker_id is None:  # which would mean all workers
                    continue
                own = await manager.list_jobs_async(queue=QUEUE, status="doing", worker_id=worker.worker_id)
                idle = {job.id: job for job in own if job.id not in self._handled}
                again = {job.id: job for job in lost if job.id not in self._handled}
                again |= {number: job for number, job in idle.items() if number in suspects}
                suspects = set(idle)
                for number, job in again.items():
                    log.warning("job %s of the queue is delivered again", number)
                    await manager.retry_job(job, retry_at=_AT_ONCE)


class _ReconnectingConnector(PsycopgConnector):
    """Repeats, until `stop`, queries that a lost connection interrupted. They may have succeeded before."""

    def __init__(self, parameters: Mapping[str, Any], stop: threading.Event) -> None:
        super().__init__(
            kwargs={**parameters, "prepare_threshold": None},  # for PgBouncer before 1.21
            configure=_configure, min_size=0, max_size=4, timeout=5.0, reconnect_timeout=5.0,
        )  # fmt: skip
        self._stop = stop

    async def execute_query_async(self, query: Any, **arguments: Any) -> None:
        try:
            await self._repeated(partial(super().execute_query_async, query, **arguments))
        except ConnectorException as error:
            if not isinstance(error.__cause__, psycopg.errors.RaiseException):
                raise
            # Another worker has the job, or it was deleted by the first attempt.
            log.info("the queue: %s", error.__cause__.diag.message_primary)

    async def execute_query_one_async(self, query: Any, **arguments: Any) -> dict[str, Any]:
        return await self._repeated(partial(super().execute_query_one_async, query, **arguments))

    async def execute_query_all_async(self, query: Any, **arguments: Any) -> list[dict[str, Any]]:
        return await self._repeated(partial(super().execute_query_all_async, query, **arguments))

    async def listen_notify(self, on_notification: Any, channels: Any) -> None:
        await self._repeated(partial(super().listen_notify, on_notification, channels))

    async def _repeated(self, call: Callable[[], Awaitable[_Returned]]) -> _Returned:
        level = logging.WARNING
        while True:
            try:
                return await call()
            except ConnectorException as error:
                if self._stop.is_set() or not isinstance(error.__cause__, psycopg.OperationalError):
                    raise
                log.log(level, "the connection to the queue: %s", error.__cause__)
                level = logging.DEBUG  # reported once
                await asyncio.sleep(RECONNECT)


_DURABLE = (
    """SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"""
)
"""A worker's row that a crash of the server removed would end that worker."""


async def _configure(connection: "psycopg.AsyncConnection[Any]") -> None:
    await connection.set_autocommit(True)
    await connection.execute("SELECT set_config('search_path', %s, false)", (QUEUE_SCHEMA,))
    await connection.execute(_DURABLE)
