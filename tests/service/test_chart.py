"""The Helm chart gives resources that Kubernetes takes, for one server and for many; the databases of the chart and of
the compose files come up as a pair of which one stands by."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import kubernetes_validate
import psycopg
import pytest
import typer
import yaml
from postgres_pair import USER, programs
from running_service import free_port

from banditree.cli.app import app
from banditree.service.server import GRACE
from banditree.service.settings import Settings

DEPLOY = Path(__file__).parents[2] / "deploy"
CHART = DEPLOY / "chart"
HELM = Path(sys.executable).parent / "helm"
OPTIONS = {name for one in typer.main.get_command(app).commands["serve"].params for name in one.opts}
ONE = {"host": "plans.clinic.example"}
MANY = {
    **ONE,
    "replicas": 3,
    "postgresql": {"enabled": True, "secretName": "databases"},
    "admin": {"secretName": "first-admin"},
    "settings": {"BANDITREE_LOG_LEVEL": "warning"},
    "settingsFrom": ["sign-on"],
    "trustedProxies": ["10.0.0.0/8"],
    "image": {"repository": "registry.example/banditree", "pullSecrets": [{"name": "registry"}]},
    "nodeSelector": {"disk": "ssd"},
}
OWN = {
    **ONE,
    "replicas": 2,
    "database": {"secretName": "url"},
    "backup": {"enabled": False},
    "ingress": {"enabled": False},
}


def helm(*arguments, values=None):
    said = subprocess.run(
        [HELM, *arguments, "-f", "-"], input=json.dumps(values), capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    return said.stdout


def rendered(values):
    found = [one for one in yaml.safe_load_all(helm("template", "plans", CHART, values=values)) if one]
    return {(one["kind"], one["metadata"]["name"].removeprefix("plans-banditree").lstrip("-")): one for one in found}


@pytest.mark.parametrize("values", [ONE, MANY, OWN])
@pytest.mark.parametrize("version", ["1.25", "1.33"])
def test_kubernetes_takes_every_resource(values, version):
    for one in rendered(values).values():
        kubernetes_validate.validate(one, version, strict=True)


def test_the_chart_is_as_helm_wants_it():
    helm("lint", "--strict", CHART, values=MANY)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "host is needed"),
        ({**ONE, "replicas": 2}, "More than one server needs PostgreSQL"),
        ({**ONE, "postgresql": {"enabled": True}}, "postgresql.secretName is needed"),
    ],
)
def test_values_that_cannot_work_are_refused(values, said):
    with pytest.raises(AssertionError, match=said):
        rendered(values)


def test_the_servers_fit_the_service():
    (pod,) = [one["spec"]["template"]["spec"] for (kind, _), one in rendered(MANY).items() if kind == "Deployment"]
    (service,) = pod["containers"]
    given = [word.partition("=")[0] for word in service["args"] if word.startswith("--")]
    assert set(given) <= OPTIONS
    for probe, path in (("startupProbe", "/ready"), ("readinessProbe", "/ready"), ("livenessProbe", "/health")):
        assert service[probe]["httpGet"]["path"] == path
        assert service[probe]["httpGet"]["httpHeaders"][0]["value"] in service["args"][3]
    assert pod["terminationGracePeriodSeconds"] > GRACE + int(service["lifecycle"]["preStop"]["exec"]["command"][1])
    assert service["securityContext"]["readOnlyRootFilesystem"] is True
    assert pod["securityContext"]["runAsUser"] == 10001
    url = next(one["value"] for one in service["env"] if one["name"] == "BANDITREE_DATABASE")
    hosts = re.findall(r"host=([\w-]+):5432", url)
    assert {("Service", host.removeprefix("plans-banditree-")) for host in hosts} <= rendered(MANY).keys()
    assert Settings(database=url).url.endswith("target_session_attrs=read-write")
    annotations = rendered(ONE)["Ingress", ""]["metadata"]["annotations"]
    assert int(annotations["nginx.ingress.kubernetes.io/proxy-body-size"].rstrip("m")) * 2**20 >= Settings().max_upload
    assert int(annotations["nginx.ingress.kubernetes.io/proxy-read-timeout"]) > Settings().job_seconds


def test_every_night_and_before_every_upgrade_there_is_a_backup_that_is_verified():
    found = rendered(ONE)
    night = found["CronJob", "backup"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    before = found["Job", "before-upgrade"]
    assert before["metadata"]["annotations"]["helm.sh/hook"] == "pre-upgrade"
    for pod in (night, before["spec"]["template"]["spec"]):
        (one,) = pod["containers"]
        script = one["args"][0]
        assert script.index("db backup -o") < script.index("db restore")
        subprocess.run(["sh", "-n"], input=script, text=True, check=True)
        volumes = {volume["name"]: volume for volume in pod["volumes"]}
        assert {mount["name"] for mount in one["volumeMounts"]} == volumes.keys()
        assert volumes["data"]["persistentVolumeClaim"]["claimName"] == "plans-banditree-data"


# What the image of PostgreSQL does when it starts, as far as the files of `deploy` depend on it.
ENTRYPOINT = """#!/bin/sh
set -e
[ "$1" != postgres ] || shift
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  echo "$POSTGRES_PASSWORD" > "$PGDATA.password"
  set_up="-E UTF8 --auth-local=trust --auth-host=scram-sha-256 -U banditree"
  initdb $set_up --pwfile="$PGDATA.password" -D "$PGDATA" > /dev/null
  pg_ctl -D "$PGDATA" -s -w -l "$PGDATA.log" -o "$* -c listen_addresses=''" start
  timeout 20 psql -q -h /tmp -U banditree postgres -c 'CREATE DATABASE banditree'
  . "$INIT"
  pg_ctl -D "$PGDATA" -s -w -m fast stop
fi
exec postgres "$@"
"""


def scripts_of_compose():
    """(what the first server runs when it is new, what starts it, what starts the standby) of the compose files."""
    found = yaml.safe_load((DEPLOY / "standby.yaml").read_text())
    first = found["services"]["database"].get("command", ["postgres"])
    texts = found["configs"]["replication"]["content"], " ".join(["docker-entrypoint.sh", *first])
    return [text.replace("$$", "$") for text in (*texts, found["services"]["standby"]["command"][0])]


def scripts_of_chart():
    data = rendered(MANY)["ConfigMap", "databases"]["data"]
    return [data[name].replace("plans-banditree-", "") for name in ("replication.sh", "database.sh", "standby.sh")]


@pytest.mark.slow
@pytest.mark.parametrize("scripts_of", [scripts_of_compose, scripts_of_chart])
def test_the_databases_come_up_as_a_pair_and_the_standby_takes_over(scripts_of):
    with TemporaryDirectory(prefix="bt-pair-") as folder:  # pytest's own folders are closed to another user
        comes_up_and_takes_over(scripts_of, Path(folder))


def comes_up_and_takes_over(scripts_of, folder):
    ports = {"database": free_port(), "standby": free_port()}
    init, database, standby = scripts_of()
    entrypoint = folder / "docker-entrypoint.sh"
    for path, text in ((entrypoint, ENTRYPOINT), (folder / "init", init), (folder / "database.sh", database)):
        path.write_text(text)
        path.chmod(0o755)
    (folder / "standby.sh").write_text(standby.replace("-h database", f"-h 127.0.0.1 -p {ports['database']}"))
    bin = programs()
    who = {"user": USER, "extra_groups": []} if os.geteuid() == 0 else {}
    if who:
        subprocess.run(["chown", "-R", USER, folder], check=True)
    known = {"PATH": f"{folder}:{bin}:{os.environ['PATH']}", "PGPASSWORD": "secret7", "POSTGRES_PASSWORD": "secret7"}
    known |= {"POSTGRES_USER": "banditree", "INIT": str(folder / "init")}

    def start(name):
        own = {**known, "PGDATA": str(folder / name), "PGPORT": str(ports[name])}
        command = ["sh", "-e", folder / f"{name}.sh"]
        log = (folder / f"{name}.said").open("w")
        return subprocess.Popen(command, env=own, cwd=folder, stdout=log, stderr=log, **who)

    def say(name, statement):
        where = {"host": "127.0.0.1", "port": ports[name], "user": "banditree", "password": "secret7"}
        with psycopg.connect(**where, dbname="banditree", autocommit=True) as connection:
            found = connection.execute(statement)
            return found.fetchone()[0] if found.description else None

    def wait_until(name, statement, value):
        found = None
        for _ in range(600):
            try:
                found = say(name, statement)
            except psycopg.OperationalError as problem:
                found = str(problem)
            if found == value:
                return
            time.sleep(0.1)
        raise AssertionError(f"{found}: {(folder / f'{name}.said').read_text()[-2000:]}")

    servers = {}
    try:
        servers["database"] = start("database")
        wait_until("database", "SHOW synchronous_standby_names", "*")
        servers["standby"] = start("standby")
        wait_until("database", "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", 1)
        say("database", "CREATE TABLE reports AS SELECT 7 AS outcome")
        servers["database"].send_signal(signal.SIGQUIT)  # at once, as if the power had failed
        subprocess.run([bin / "pg_ctl", "-w", "-s", "-D", folder / "standby", "promote"], check=True, **who)
        assert say("standby", "SELECT outcome FROM reports") == 7
        say("standby", "INSERT INTO reports VALUES (8)")  # which waits for no standby of its own
    finally:
        for process in servers.values():
            process.terminate()
            process.wait(30)
