"""A worker: a process that takes jobs from the line, each in a child of its own with limits of time and memory.

The server keeps it as a child and holds its standard input: a byte means that a job came in, the end that the server
is gone. Then the worker ends its own child, puts the job back in line and ends too. Workers of other servers on the
same database do the same queue.
"""

import json
import logging
import multiprocessing
import os
import select
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from typing import Any

from banditree.errors import InvalidInput
from banditree.progress import Progress
from banditree.service import jobs
from banditree.service.database import Database
from banditree.service.jobs import Job, State, Wish
from banditree.service.problems import Refused, Unavailable
from banditree.service.settings import Settings

POLL = 2.0  # seconds between looks at the line, for jobs that another server took in
BEAT = 1.0  # seconds between signs of life, and so between looks at what is wished
GRACE = 5.0  # seconds that a job has to give its best so far after it was told to stop
MOST_RESULT = 32_000_000  # bytes of a result
NICENESS = 10  # jobs give way to the answering of cases
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}

log = logging.getLogger("banditree.service")


class Workers:
    """The worker processes of a server: started with the first job, ended with the server."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._processes: list[subprocess.Popen[bytes]] = []

    def wake(self) -> None:
        """Tell the workers that there is a job; start those that are not there."""
        self._processes = [one for one in self._processes if one.poll() is None]
        while len(self._processes) < self._settings.workers:
            self._processes.append(self._start())
        for process in self._processes:
            _tell(process, b"\n")

    def close(self) -> None:
        """End the workers; what they were at is put back in line."""
        for process in self._processes:
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
        for process in self._processes:
            try:
                process.wait(2 * GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "banditree.service.worker"]
        environment = {**os.environ, **ONE_THREAD}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, start_new_session=True)
        _tell(process, json.dumps(asdict(self._settings)).encode() + b"\n")  # not as arguments, which all can read
        return process


def _tell(process: subprocess.Popen[bytes], content: bytes) -> None:
    with suppress(OSError):
        process.stdin.write(content)  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]


class ServerGone(Exception):
    """The server that started this worker has ended."""


class Worker:
    """Takes jobs and does them, one at a time. source: where the server's bytes come from; None for none."""

    def __init__(self, settings: Settings, source: int | None = None) -> None:
        self.database = Database(settings, migrates=False)
        self.settings, self.source = settings, source
        self.name = f"{socket.gethostname()}:{os.getpid()}:{int(time.time())}"

    def serve(self) -> None:
        """Work until the server is gone."""
        while True:
            try:
                if not self.step():
                    self._pause(POLL)
            except Unavailable as problem:
                log.error("unavailable", extra={"fields": {"reason": problem.message}})
                self._pause(POLL)
            except ServerGone:
                return

    def step(self) -> bool:
        """Do the next job; False if there is none."""
        with self.database.write() as connection:
            gone = [name for name, silent in jobs.holders(connection) if silent or _has_ended(name)]
            jobs.hand_back(connection, gone)
            job = jobs.claim(connection, self.name)
        if job is None:
            return False
        self._do(job)
        return True

    def _do(self, job: Job) -> None:
        context = multiprocessing.get_context("fork")  # everything is imported, and this process has one thread
        mine, theirs = context.Pipe()
        child = context.Process(target=_child, args=(theirs, self.settings, job), daemon=True)
        child.start()
        theirs.close()
        try:
            state, result, problem = self._watch(job, child, mine)
        except ServerGone:
            self._end(child)
            with self.database.write() as connection:
                jobs.hand_back(connection, [self.name])
            raise
        finally:
            self._end(child)
            mine.close()
        self._finish(job, state, result, problem)

    def _watch(self, job: Job, child: Any, pipe: Connection) -> tuple[State, str | None, str | None]:
        """What came of a job: its answer, or why there is none."""
        progress, until, last, told = Progress(0, 0), time.monotonic() + job.seconds, 0.0, False
        while True:
            for ready in wait_for([pipe, child.sentinel], timeout=BEAT / 4):
                if ready is pipe:
                    try:
                        message = pipe.recv()
                    except (EOFError, OSError):
                        return State.FAILED, None, _died(job, child)
                    if not isinstance(message, Progress):
                        return message  # type: ignore[no-any-return]
                    progress = message
                elif not pipe.poll():
                    return State.FAILED, None, _died(job, child)
            now = time.monotonic()
            if now - last >= BEAT:
                last, wanted = now, self._beat(job, progress)
                if wanted is Wish.CANCEL:
                    return State.CANCELLED, None, None
                if (wanted is Wish.STOP or now > until) and not told:
                    told, until = True, min(until, now) + GRACE
                    with suppress(OSError):
                        pipe.send(Wish.STOP)
            if told and now > until:
                return State.FAILED, None, f"It took longer than its limit of {job.seconds} seconds."
            self._pause(0)

    def _beat(self, job: Job, progress: Progress) -> Wish | None:
        try:
            with self.database.write() as connection:
                return jobs.beat(connection, job.number, self.name, progress)
        except Unavailable:
            return None  # the work goes on meanwhile

    def _finish(self, job: Job, state: State, result: str | None, problem: str | None) -> None:
        while True:
            try:
                with self.database.write() as connection:
                    jobs.finish(connection, job.number, self.name, state, result=result, problem=problem)
                return
            except Unavailable:
                self._pause(POLL)

    def _end(self, child: Any) -> None:
        if child.is_alive():
            child.kill()
        child.join()

    def _pause(self, seconds: float) -> None:
        """Wait, but not when a job comes in; raise when the server is gone."""
        if self.source is None:
            time.sleep(seconds)
        elif select.select([self.source], [], [], seconds)[0] and not os.read(self.source, 4096):
            raise ServerGone


def _child(pipe: Connection, settings: Settings, job: Job) -> None:
    """Do one job within its limits, and send what came of it."""
    from banditree.service.work import KINDS

    os.nice(NICENESS)
    die_with_parent()
    limit_memory(job.megabytes)
    stopped = False

    def on_progress(progress: Progress) -> bool:
        nonlocal stopped
        stopped = stopped or pipe.poll()
        pipe.send(progress)
        return not stopped

    try:
        result = json.dumps(KINDS[job.kind](Database(settings, migrates=False), job.settings, on_progress))
        if len(result) > MOST_RESULT:
            raise InvalidInput(f"Its result has {len(result):,} bytes, more than the {MOST_RESULT:,} that are kept.")
        pipe.send((State.DONE, result, None))
    except (InvalidInput, Refused) as problem:
        pipe.send((State.FAILED, None, str(problem)))
    except MemoryError:
        pipe.send((State.FAILED, None, f"It needs more memory than its limit of {job.megabytes:,} MB."))
    except Exception as error:
        log.error("job failed", exc_info=error, extra={"fields": {"job": job.id, "kind": job.kind}})
        pipe.send((State.FAILED, None, "Something went wrong here, and it is in the log."))


def _died(job: Job, child: Any) -> str:
    child.join()
    how = f"signal {-child.exitcode}" if child.exitcode < 0 else f"exit code {child.exitcode}"
    return f"Its process ended ({how}). It may have needed more memory than its limit of {job.megabytes:,} MB."


def _has_ended(worker: str) -> bool:
    """Whether a worker of this computer is no longer there; nothing is known of other computers'."""
    host, pid, _ = worker.rsplit(":", 2)
    if host != socket.gethostname() or int(pid) == os.getpid():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def die_with_parent() -> None:
    """End this process when its parent does, whatever ended that, where the system can do so."""
    with suppress(OSError, AttributeError):
        import ctypes

        PR_SET_PDEATHSIG = 1
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def limit_memory(megabytes: int) -> None:
    """Let this process use this much memory beyond what it has now, where the system can hold it to that."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        with open("/proc/self/statm") as file:
            now = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + megabytes * 1_000_000,) * 2)


def main() -> None:
    """Work for the server that started this process: its settings are the first line of standard input."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return
        line += byte
    given = json.loads(line)
    lists: dict[str, Any] = {key: tuple(value) for key, value in given.items() if isinstance(value, list)}
    settings = Settings(**{**given, **lists})
    from banditree.service.edge import start_logging

    start_logging(settings.log_level)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then lets go of this process
    import banditree.reports.report
    import banditree.service.work  # noqa: F401  (here once, so that children have it)

    Worker(settings, source=0).serve()


if __name__ == "__main__":
    main()
