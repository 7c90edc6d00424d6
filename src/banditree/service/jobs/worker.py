"""A worker: a process that takes jobs from the line, each in a child of its own with limits of time and memory.

The server keeps it as a child and holds its standard input: a byte means that a job came in, the end that the server
is gone. Then the worker ends its own child, puts the job back in line and ends too. Workers of other servers on the
same database do the same queue. Jobs that read uploads get children without the secrets of the database (`extracts`).
"""

import asyncio
import json
import logging
import multiprocessing
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import replace
from multiprocessing import forkserver
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any

from banditree.errors import InvalidInput
from banditree.nouns import counted
from banditree.progress import Progress
from banditree.service.edge.requests import start_logging
from banditree.service.jobs.clock import COMPILING, Clock, Compiling, tell_of_compiling
from banditree.service.jobs.messages import Ended, Reports
from banditree.service.problems import Refused, Unavailable
from banditree.service.settings import Settings
from banditree.service.store import jobs
from banditree.service.store.database import Database
from banditree.service.store.extracts import extract
from banditree.service.store.jobs import Job, Lane, State, Wish

LOOK = 3.0  # A server looks every this many seconds whether its workers are there.
POLL = 2.0  # The line is looked at every this many seconds, for jobs that another server took in.
BEAT = 1.0  # A worker gives a sign of life, and looks whether its job is to end, every this many seconds.
GRACE = 5.0  # A job that is told to stop has this many seconds to give its best so far.
MOST_RESULT = 32_000_000  # A result may have this many bytes.
SCRATCH = "banditree-job-"  # The name of a job's folder begins so; the process number of its worker follows.
RESERVED = 3_000  # Megabytes that engines for tables reserve and never use; what is really used is watched.
DATA_PAGES = 5  # The place of the size of data and stack in /proc/PID/statm.
SECRETS = ("BANDITREE_", "PG")  # The names of variables that may hold secrets begin so.
NICENESS = 10  # Jobs have a lower priority than answers to requests.
ONE_THREAD = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}

log = logging.getLogger("banditree.service")


class Workers:
    """The worker processes of a server: started with the first job of their lane, ended with the server.

    `workers` of the settings do what people ask for; one more does what pages wait for.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._numbers = {Lane.ASKED: settings.workers, Lane.PAGES: min(settings.workers, 1)}
        self.processes: dict[Lane, list[subprocess.Popen[bytes]]] = {lane: [] for lane in Lane}

    def wake(self, lane: Lane) -> None:
        """Tell the workers of a lane that there is a job; start those that are not there."""
        self.processes[lane] = [one for one in self.processes[lane] if one.poll() is None]
        while len(self.processes[lane]) < self._numbers[lane]:
            self.processes[lane].append(self._start(lane))
        for process in self.processes[lane]:
            _tell(process, b"\n")

    async def run(self) -> None:
        """Start workers again that ended before their time, until cancelled; the new ones take up what they were at."""
        while True:
            await asyncio.sleep(LOOK)
            for lane, processes in self.processes.items():
                ended = [one.returncode for one in processes if one.poll() is not None]
                if ended:
                    log.error("worker ended", extra={"fields": {"lane": lane.value, "codes": ended}})
                    self.wake(lane)

    def close(self) -> None:
        """End the workers; what they were at is put back in line."""
        every = [process for lane in Lane for process in self.processes[lane]]
        for process in every:
            with suppress(OSError):
                process.stdin.close()  # type: ignore[union-attr]
        for process in every:
            try:
                process.wait(2 * GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self, lane: Lane) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "banditree.service.jobs.worker", lane.value]
        environment = {**os.environ, **ONE_THREAD}
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, start_new_session=True)
        _tell(process, self._settings.model_dump_json().encode() + b"\n")  # not as arguments, which all can read
        return process


def _tell(process: subprocess.Popen[bytes], content: bytes) -> None:
    with suppress(OSError):
        process.stdin.write(content)  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]


class ServerGone(Exception):
    """The server that started this worker has ended."""


class Worker:
    """Takes jobs of a lane, or of any, and does them, one at a time. source: where the server's bytes come from."""

    def __init__(self, settings: Settings, source: int | None = None, lane: Lane | None = None) -> None:
        self.database = Database(settings, migrates=False)
        self.settings, self.source, self.lane = settings, source, lane
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
            job = jobs.claim(connection, self.name, self.lane)
        if job is None:
            return False
        self._do(job)
        return True

    def _do(self, job: Job) -> None:
        folder, apart = scratch_folder(), "file" in job.settings
        # By default everything is imported, and this process has one thread.
        context: Any = multiprocessing.get_context("forkserver" if apart else "fork")
        if apart:
            start_nursery()
        mine, theirs = context.Pipe()
        settings = extract(self.database, job.settings, Path(folder)) if apart else self.settings
        child = context.Process(target=_child, args=(theirs, settings, job, folder), daemon=True)
        child.start()
        theirs.close()
        found: list[Any] = []
        try:
            ended = self._watch(job, child, mine, found)
        except ServerGone:
            self._end(child)
            with self.database.write() as connection:
                jobs.hand_back(connection, [self.name], told=True)
            raise
        finally:
            self._end(child)
            mine.close()
            shutil.rmtree(folder, ignore_errors=True)
        self._finish(job, ended, found)

    def _watch(self, job: Job, child: Any, pipe: Connection, found: list[Any]) -> Ended:
        """What came of a job: its answer, or why there is none; what it finds on the way is added to `found`."""
        progress, clock, last, told = Progress(0, 0), Clock(job.seconds), 0.0, False
        n_written, before = 0, memory_used(os.getpid())
        while True:
            for ready in wait_for([pipe, child.sentinel], timeout=BEAT / 4):
                if ready is pipe:
                    try:
                        message = pipe.recv()
                    except (EOFError, OSError):
                        return Ended(State.FAILED, None, _died(job, child))
                    if isinstance(message, Ended):
                        return message
                    if isinstance(message, Progress):
                        progress = message
                    elif isinstance(message, Compiling):
                        clock.hear(message)
                        progress = replace(progress, text=COMPILING if message.begins else "")
                    else:
                        found.append(message)
                elif not pipe.poll():
                    return Ended(State.FAILED, None, _died(job, child))
            if memory_used(child.pid) > before + job.megabytes:
                return Ended(State.FAILED, None, _too_large(job))
            now = time.monotonic()
            if now - last >= BEAT:
                last, wanted = now, self._beat(job, progress, found if len(found) > n_written else None)
                n_written = len(found)
                if wanted is Wish.CANCEL:
                    return Ended(State.CANCELLED, None, None)
                if (wanted is Wish.STOP or clock.is_over()) and not told:
                    told = True
                    clock.leave(GRACE)
                    with suppress(OSError):
                        pipe.send(Wish.STOP)
            if told and clock.is_over():
                return Ended(State.FAILED, None, f"It took longer than its limit of {counted(job.seconds, 'second')}.")
            self._pause(0)

    def _beat(self, job: Job, progress: Progress, found: list[Any] | None) -> Wish | None:
        try:
            with self.database.write() as connection:
                return jobs.beat(connection, job.number, self.name, progress, found)
        except Unavailable:
            return None  # the work goes on meanwhile

    def _finish(self, job: Job, ended: Ended, found: list[Any]) -> None:
        while True:
            try:
                with self.database.write() as connection:
                    jobs.finish(connection, job.number, self.name, **ended._asdict(), found=found)
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


def _child(pipe: Connection, settings: Settings, job: Job, folder: str) -> None:
    """Do one job within its limits, and send what came of it."""
    from banditree.service.jobs.work import KINDS

    os.nice(NICENESS)
    die_with_parent()
    limit_memory(job.megabytes + RESERVED)
    tempfile.tempdir = folder
    tell_of_compiling(pipe)
    try:
        result = json.dumps(KINDS[job.kind](Database(settings, migrates=False), job.settings, Reports(pipe)))
        if len(result) > MOST_RESULT:
            raise InvalidInput(f"The result has {len(result):,} bytes, more than the {MOST_RESULT:,} that are kept.")
        pipe.send(Ended(State.DONE, result, None))
    except (InvalidInput, Refused) as problem:
        pipe.send(Ended(State.FAILED, None, str(problem)))
    except MemoryError:
        pipe.send(Ended(State.FAILED, None, _too_large(job)))
    except Exception as error:
        log.error("job failed", exc_info=error, extra={"fields": {"job": job.id, "kind": job.kind}})
        pipe.send(Ended(State.FAILED, None, "Something went wrong in the service; its log says what."))


def _too_large(job: Job) -> str:
    return f"It needs more memory than its limit of {job.megabytes:,} MB."


def _died(job: Job, child: Any) -> str:
    child.join()
    how = f"signal {-child.exitcode}" if child.exitcode < 0 else f"exit code {child.exitcode}"
    return f"Its process ended ({how}). It may have needed more memory than its limit of {job.megabytes:,} MB."


def _has_ended(worker: str) -> bool:
    """Whether a worker of this computer is no longer there; nothing is known about other computers'."""
    host, pid, _ = worker.rsplit(":", 2)
    return host == socket.gethostname() and int(pid) != os.getpid() and _is_gone(int(pid))


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


def scratch_folder() -> str:
    """A folder for the files of one job, private; those of workers that were killed are removed on the way."""
    for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        pid = left.name.removeprefix(SCRATCH).partition("-")[0]
        if pid.isdecimal() and _is_gone(int(pid)):
            shutil.rmtree(left, ignore_errors=True)
    return tempfile.mkdtemp(prefix=f"{SCRATCH}{os.getpid()}-")


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
            now = int(file.read().split()[DATA_PAGES]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (now + megabytes * 1_000_000,) * 2)


def forget_secrets() -> None:
    """Take from the environment what opens the database or speaks for the service."""
    for name in [name for name in os.environ if name.startswith(SECRETS)]:
        del os.environ[name]


def start_nursery() -> None:
    """Start the process whose children read uploads, unless it is there: it has everything imported, and no secrets."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(SECRETS)}
    forget_secrets()
    multiprocessing.set_forkserver_preload(["banditree.service.jobs.work"])
    forkserver.ensure_running()
    os.environ.update(kept)


def memory_used(pid: int) -> float:
    """Megabytes of its own that a process has in memory; 0 where the system does not say."""
    try:
        with open(f"/proc/{pid}/statm") as file:
            _, resident, shared, *_ = map(int, file.read().split())
        return (resident - shared) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, ValueError):
        return 0.0


def main() -> None:
    """Work for the server that started this process: its settings are the first line of standard input."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(0, 1)
        if not byte:
            return
        line += byte
    settings = Settings(**json.loads(line))
    start_logging(settings.log_level)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then lets go of this process
    import banditree.reports.report
    import banditree.service.jobs.work  # noqa: F401  (here once, so that children have it)

    lane = Lane(sys.argv[1])
    if lane is Lane.ASKED:  # of the others, few ever read an upload
        start_nursery()
    Worker(settings, 0, lane).serve()


if __name__ == "__main__":
    main()
