"""The container image, the compose file, the proxy and the unit: what they say fits the service, and the steps work.

No registry of images is needed: `deploy/install`, which the Dockerfile runs, is run in a clean root made from Debian's
packages; the service then starts there as the Dockerfile says, without rights and with a read-only root.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
import typer
import yaml
from running_service import clinic_plan, free_port

from banditree.cli.app import app
from banditree.files.plans import plan_json
from banditree.service.server import GRACE
from banditree.service.settings import Settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
PASSWORD = "correct horse battery"
OPTIONS = {name for one in typer.main.get_command(app).commands["serve"].params for name in one.opts}


def dockerfile():
    """The instructions, with the last of each name."""
    text = (DEPLOY / "Dockerfile").read_text().replace("\\\n", " ")
    return dict(line.split(" ", 1) for line in text.splitlines() if line and not line.startswith("#"))


def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]


def options_in(words):
    return {word for word in words if word.startswith("--")}


def test_the_image_runs_the_script_without_rights():
    steps = dockerfile()
    assert steps["RUN"].startswith("/src/deploy/install ")
    assert steps["USER"] == "10001:10001"
    assert "/ready" in steps["HEALTHCHECK"]
    assert options_in(json.loads(steps["CMD"])) <= OPTIONS
    assert "--uid 10001" in (DEPLOY / "install").read_text()
    subprocess.run(["sh", "-n", DEPLOY / "install"], check=True)
    assert os.access(DEPLOY / "install", os.X_OK)


def test_everything_the_image_copies_is_there():
    copied = re.findall(r"^COPY (.*) \S+$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name


def test_the_compose_file_fits_the_service_and_the_proxy():
    services = compose()
    service, proxy = services["service"], services["proxy"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert int(service["stop_grace_period"].rstrip("s")) > GRACE
    assert options_in(service["command"]) <= OPTIONS
    trusted = service["command"][service["command"].index("--trusted-proxies") + 1]
    assert trusted == proxy["networks"]["outside"]["ipv4_address"]
    assert "ports" not in service  # only the proxy can be reached
    assert "ports" not in services["database"]
    assert set(service["depends_on"]) <= set(services)


def test_the_standby_is_written_to_before_an_answer_and_the_service_knows_both():
    found = yaml.safe_load((DEPLOY / "standby.yaml").read_text())
    services = found["services"]
    assert "synchronous_standby_names = '*'" in found["configs"]["replication"]["content"]
    url = services["service"]["environment"]["BANDITREE_DATABASE"]
    hosts = re.findall(r"host=(\w+):5432", url)
    assert set(hosts) == {"database", "standby"} <= services.keys()
    assert url.endswith("target_session_attrs=read-write")
    assert Settings(database=url).shown_database.startswith("postgresql://banditree:***@/")
    assert {volume.partition(":")[0] for volume in services["standby"]["volumes"]} <= found["volumes"].keys()
    assert {one["source"] for one in services["database"]["configs"]} <= found["configs"].keys()


def test_the_proxy_lets_through_what_the_service_takes():
    text = (DEPLOY / "nginx.conf").read_text()
    assert int(re.search(r"client_max_body_size (\d+)m", text)[1]) * 2**20 >= Settings().max_upload
    assert int(re.search(r"proxy_read_timeout (\d+)s", text)[1]) > Settings().job_seconds
    for header in (
        "Host $host",
        "X-Forwarded-For $remote_addr",
        "X-Forwarded-Proto $scheme",
        "X-Request-Id $request_id",
    ):
        assert f"proxy_set_header {header};" in text


def test_the_unit_fits_the_service():
    text = (DEPLOY / "banditree.service").read_text()
    assert options_in(re.search("ExecStart=(.*)", text)[1].split()) <= OPTIONS
    assert int(re.search(r"TimeoutStopSec=(\d+)", text)[1]) > GRACE
    if shutil.which("systemd-analyze"):
        said = subprocess.run(
            ["systemd-analyze", "verify", DEPLOY / "banditree.service"], capture_output=True, text=True
        ).stderr
        assert [
            line for line in said.splitlines() if "banditree.service" in line and "not executable" not in line
        ] == []


@pytest.fixture(scope="module")
def clean_root(tmp_path_factory):
    """A root file system of Debian's packages, with the service installed by `deploy/install`."""
    if os.getuid() != 0 or shutil.which("mmdebstrap") is None:
        assert "CI" not in os.environ, "needs root and mmdebstrap"
        pytest.skip("needs root and mmdebstrap")
    folder = tmp_path_factory.mktemp("image")
    root, wheels = folder / "root", folder / "root" / "wheels"
    subprocess.run(["mmdebstrap", "--quiet", "--variant=apt", "bookworm", root], check=True)
    made = ["-m", "pip", "wheel", "--quiet", "-c", ROOT / "constraints.txt", "-w", wheels, f"{ROOT}[service,excel]"]
    subprocess.run([sys.executable, *made], check=True)
    shutil.copy(DEPLOY / "install", root / "install")
    shutil.copy("/etc/resolv.conf", root / "etc" / "resolv.conf")
    inside = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels", "PATH": os.environ["PATH"], "HOME": "/root"}
    inside |= {name: value for name, value in os.environ.items() if name.lower().endswith("_proxy")}
    steps = f"mount -t proc proc {root}/proc && exec chroot {root} sh -c '/install /wheels/banditree-*.whl'"
    subprocess.run(["unshare", "-m", "sh", "-ec", steps], env=inside, check=True)
    shutil.rmtree(wheels)
    yield root
    shutil.rmtree(root)


@pytest.mark.soak
def test_the_image_serves_from_a_read_only_root(clean_root, tmp_path):
    steps, port = dockerfile(), free_port()
    user = steps["USER"]
    uid = int(user.split(":")[0])
    known = f"env -i PATH=/usr/local/bin:/usr/bin:/bin {steps['ENV']}"
    inside = f"chroot --userspec={user} {clean_root} {known}"
    entry = " ".join(json.loads(steps["ENTRYPOINT"]))
    command = " ".join(json.loads(steps["CMD"]))
    script = f"""
        mount --bind {clean_root} {clean_root}
        mount -t tmpfs -o mode=1777 tmpfs {clean_root}/tmp
        mount -t tmpfs -o uid={uid},gid={uid},mode=0700 tmpfs {clean_root}/var/lib/banditree
        mount -o remount,ro,bind {clean_root}
        echo '{PASSWORD}' | {inside} {entry} db add-user ada --role admin
        {inside} touch /opt/banditree/x && exit 3
        exec {inside} {entry} {command} --port {port} --no-secure-cookies
    """
    process = subprocess.Popen(["unshare", "-m", "sh", "-ec", script], stderr=(tmp_path / "log").open("w"))
    try:
        check = shlex.split(steps["HEALTHCHECK"].partition("CMD ")[2].strip("[]").replace(",", " ", 2))
        probe = check[2].replace(":8000", f":{port}")
        for _ in range(600):
            assert process.poll() is None, (tmp_path / "log").read_text()
            healthy = subprocess.run(["chroot", clean_root, check[0], "-c", probe], capture_output=True)
            if healthy.returncode == 0:
                break
            time.sleep(0.2)
        assert healthy.returncode == 0, healthy.stderr
        status = Path(f"/proc/{process.pid}/status").read_text()
        assert re.search(rf"^Uid:\s+{uid}\s+{uid}", status, re.MULTILINE)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600) as http:
            assert http.get("/api/v1/cases").status_code == 401
            me = http.post("/api/v1/login", json={"name": "ada", "password": PASSWORD}).json()["data"]
            http.headers["x-csrf-token"] = me["csrf_token"]
            plan = http.post(
                "/api/v1/plans",
                json={"name": "clinic", "plan": json.loads(plan_json(clinic_plan())), "sign": {"comment": "tested"}},
            )
            case = http.post("/api/v1/cases", json={"plan": plan.json()["data"]["id"]}).json()["data"]["id"]
            assert http.post(f"/api/v1/cases/{case}/ask", json={}).json()["data"][0]["round"] == 1
            assert http.get("/api/v1/export/events").status_code == 200  # which needs somewhere to write
    finally:
        process.terminate()
        assert process.wait(30) in (0, -signal.SIGTERM)
