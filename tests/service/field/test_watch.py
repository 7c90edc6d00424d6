"""The watch: plans are monitored by themselves, and every message is sent once, signed, in order, to one address."""

import asyncio
import hmac
import json
import threading
from datetime import date, timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
import sqlalchemy as sa
from markupsafe import escape
from running_service import CLINIC, client_of, clinic_plan, in_thread, local

from banditree.errors import InvalidInput
from banditree.service.cases.case import utc_now
from banditree.service.field import watch as watching
from banditree.service.field import webhook
from banditree.service.field.watch import Watch
from banditree.service.jobs.worker import Worker
from banditree.service.problems import Refused
from banditree.service.settings import Settings
from banditree.service.store import jobs, schema
from banditree.service.store.database import Database

SECRET = "a secret of sixteen"


class Receiver(BaseHTTPRequestHandler):
    """Keeps what is sent to it; /elsewhere sends one on."""

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((self.path, dict(self.headers), body))
        self.send_response(302 if self.path == "/elsewhere" else self.server.status)
        self.send_header("location", "/alarms")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def receiver():
    server = HTTPServer(("127.0.0.1", 0), Receiver)
    server.got, server.status = [], 200
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_every_alarm_is_sent_once_and_signed(receiver, tmp_path):
    url = f"http://127.0.0.1:{receiver.server_port}/alarms"
    settings = local(tmp_path / "cases.db", workers=0, webhook_url=url, webhook_secret=SECRET)
    with in_thread(settings) as (app, http):
        client = client_of(http)
        plan = client.add_plan(clinic_plan(60), "clinic", client.add_collection(CLINIC, "clinic"), sign="fine")
        for number in range(8):
            step = client.ask(client.start(plan, id=f"p-{number}").id)[0]
            for _ in range(20):
                told = client.tell(f"p-{number}", step.round, 0, ask=1)  # nothing ever helps: no kind is like that
                step = told.steps[0]
        worker, watch = Worker(settings), Watch(app.state.desk, app.state.workers, settings)
        for _ in range(3):
            asyncio.run(watch.look())
            while worker.step():
                pass
        asyncio.run(Watch(app.state.desk, app.state.workers, settings).look())  # a server that starts again
        while worker.step():
            pass
        worker.database.close()
        told = http.get(f"/api/v1/plans/{plan}/monitor").json()["data"]["alarms"]
        first_page = http.get("/").text
    assert told
    assert f"About plans: {len(told)} alarm" in first_page
    assert all(str(escape(one["sentence"])) in first_page for one in told)
    assert f'href="/plans/{plan}#alarms"' in first_page
    alarms = [one for one in receiver.got if json.loads(one[2])["event"] == "alarm"]
    assert len(alarms) == len(told) == len(receiver.got) - 1  # one is about the signature
    for path, headers, body in alarms:
        assert path == "/alarms"
        signed = f"{headers['x-banditree-timestamp']}.".encode() + body
        assert headers["x-banditree-signature"] == f"sha256={hmac.new(SECRET.encode(), signed, sha256).hexdigest()}"
        content = json.loads(body)
        assert (content["event"], content["plan"], content["name"]) == ("alarm", plan, "clinic")
        assert "p-" not in body.decode()  # nothing of any case
    assert {json.loads(body)["alarm"]["sentence"] for _, _, body in alarms} == {one["sentence"] for one in told}


@pytest.mark.slow
def test_messages_are_sent_again_in_order_until_they_are_taken(receiver, tmp_path, monkeypatch):
    monkeypatch.setattr(webhook, "WAITS", (0.0,))
    monkeypatch.setattr(watching, "AGAIN", timedelta(0))
    url = f"http://127.0.0.1:{receiver.server_port}/all"
    settings = local(tmp_path / "cases.db", workers=0, webhook_url=url, webhook_secret=SECRET)
    with in_thread(settings) as (app, http):
        client = client_of(http)
        first = client.add_plan(clinic_plan(60), "one", sign="fine")
        client.start(first, "p-1", "Grace Hopper")
        client.arrange("p-1", owner="ada", due=date.today())
        worker, watch = Worker(settings), Watch(app.state.desk, app.state.workers, settings)

        def work():
            asyncio.run(watch.look())
            while worker.step():
                pass
            got = [(json.loads(body)["event"], headers[webhook.MESSAGE]) for _, headers, body in receiver.got]
            receiver.got.clear()
            return got

        receiver.status = 500
        (kept,) = work()  # and the later one waits for it
        assert kept[0] == "signature"
        assert work() == [kept]
        second = client.add_plan(clinic_plan(80), "two", sign="fine as well")
        assert work() == [kept]
        receiver.status = 200
        asyncio.run(watch.look())
        while worker.step():
            pass
        worker.database.close()
    contents = [json.loads(body) for _, _, body in receiver.got]
    assert [one["event"] for one in contents] == ["signature", "due", "signature"]
    assert receiver.got[0][1][webhook.MESSAGE] == kept[1]
    assert [contents[0]["plan"], contents[2]["plan"], contents[2]["comment"]] == [first, second, "fine as well"]
    (visit,) = contents[1]["visits"]
    assert visit == {"case": "p-1", "plan": first, "owner": "ada", "due": date.today().isoformat()}
    assert "Hopper" not in str(receiver.got)


def test_a_message_that_nobody_takes_for_days_gives_way(tmp_path):
    database = Database(local(tmp_path / "cases.db"))
    given = {"seconds": 1, "megabytes": 100, "once": True}
    with database.write() as connection:
        old, new = (jobs.add_job(connection, jobs.WATCH, "webhook", {"day": day}, **given) for day in "12")
        assert jobs.claim(connection, "w").id == old
        assert jobs.claim(connection, "v") is None
        jobs.finish(connection, 1, "w", jobs.State.FAILED, result=None, problem="status 500")
        assert jobs.claim(connection, "v") is None
        long_ago = utc_now(ago=jobs.GIVEN_UP)
        connection.execute(sa.update(schema.jobs).where(schema.jobs.c.id == old).values(at=long_ago))
        assert jobs.to_send_again(connection, utc_now()) == []
        assert jobs.claim(connection, "v").id == new
    database.close()


def test_nobody_is_sent_on(receiver, monkeypatch):
    monkeypatch.setattr(webhook, "WAITS", (0.0, 0.0))
    with pytest.raises(Refused, match="status 302"):
        webhook.send(f"http://127.0.0.1:{receiver.server_port}/elsewhere", SECRET, b"{}", "m")
    assert [path for path, _, _ in receiver.got] == ["/elsewhere", "/elsewhere"]
    with pytest.raises(Refused, match="ConnectError"):
        webhook.send("http://127.0.0.1:9/", SECRET, b"{}", "m")


@pytest.mark.parametrize(
    "url", ["http://clinic.example/x", "ftp://clinic.example", "clinic.example", "file:///etc/passwd"]
)
def test_alarms_are_not_sent_where_others_can_read_them(url):
    with pytest.raises(InvalidInput, match="webhook_url must be an address that begins with https"):
        Settings(webhook_url=url, webhook_secret=SECRET)


def test_a_webhook_needs_a_secret_that_is_not_shown():
    with pytest.raises(InvalidInput, match="webhook_secret must be at least 16"):
        Settings(webhook_url="https://clinic.example/x", webhook_secret="short")
    assert SECRET not in repr(Settings(webhook_url="https://clinic.example/x", webhook_secret=SECRET))
