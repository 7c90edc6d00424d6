"""E-mails about alarms, signatures and visits that are due, taken by a real mail server on this computer."""

import asyncio
import email
from datetime import date, timedelta
from email import policy
from socket import socket

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from running_service import client_of, clinic_plan, in_thread, local

from banditree.errors import InvalidInput
from banditree.service.field import mail, watch
from banditree.service.field.mail import deliver, worded
from banditree.service.field.watch import Watch
from banditree.service.jobs.worker import Worker
from banditree.service.problems import Refused
from banditree.service.settings import Settings

PASSWORD = "correct horse"


class Box:
    """Takes what it is given, unless it is closed."""

    def __init__(self):
        self.got, self.answer = [], "250 OK"

    async def handle_DATA(self, server, session, envelope):
        if self.answer.startswith("250"):
            self.got.append((envelope.rcpt_tos, email.message_from_bytes(envelope.content, policy=policy.default)))
        return self.answer

    def knows(self, server, session, envelope, mechanism, data):
        right = (data.login, data.password) == (b"clinic", PASSWORD.encode())
        return AuthResult(success=right, handled=False)


@pytest.fixture
def box():
    box = Box()
    with socket() as free:
        free.bind(("127.0.0.1", 0))
        box.port = free.getsockname()[1]
    server = Controller(box, hostname="127.0.0.1", port=box.port, authenticator=box.knows, auth_require_tls=False)
    server.start()
    yield box
    server.stop()


def settings_of(box, path="cases.db", **more):
    given = {"mail_server": f"smtp://clinic@127.0.0.1:{box.port}", "mail_password": PASSWORD}
    given |= {"mail_from": "plans@clinic.example", "mail_to": ("ada@clinic.example", "ward-3@clinic.example")}
    return local(path, workers=0, public_url="https://plans.clinic.example", **{**given, **more})


@pytest.mark.slow
def test_messages_are_mailed_in_order_once_and_again_where_they_were_not_taken(box, tmp_path, monkeypatch):
    monkeypatch.setattr(mail, "WAITS", (0.0,))
    monkeypatch.setattr(watch, "AGAIN", timedelta(0))
    settings = settings_of(box, tmp_path / "cases.db")
    with in_thread(settings) as (app, http):
        client = client_of(http)
        plan = client.add_plan(clinic_plan(60), "Klinik\n\u00dcbung", sign="fine")
        client.start(plan, "p-1", "Grace Hopper")
        client.arrange("p-1", owner="ada", due=date.today())
        worker, watching = Worker(settings), Watch(app.state.desk, app.state.workers, settings)

        def work():
            asyncio.run(watching.look())
            while worker.step():
                pass

        box.answer = "451 later"
        work()
        assert box.got == []
        box.answer = "250 OK"
        work()
        work()  # nothing is sent twice
        worker.database.close()
    signed, due = (message for _, message in box.got)
    assert {tuple(people) for people, _ in box.got} == {settings.mail_to}
    assert signed["Subject"] == "Signed: Klinik \u00dcbung"
    assert f"https://plans.clinic.example/plans/{plan}" in signed.get_content()
    assert due["Subject"] == f"1 visit due on {date.today()}"
    assert "p-1, due" in due.get_content()
    assert "https://plans.clinic.example/cases/p-1" in due.get_content()
    assert "Hopper" not in str(box.got)
    assert due["Auto-Submitted"] == "auto-generated"
    assert signed["Message-ID"] != due["Message-ID"]


def test_an_alarm_says_what_the_page_says():
    subject, text = worded("alarm", {"plan": "f89b", "name": "clinic", "alarm": {"sentence": "A gives less."}}, "")
    assert subject == "Alarm: clinic"
    assert "A gives less." in text


def test_what_goes_wrong_is_said_without_the_password(box, monkeypatch):
    monkeypatch.setattr(mail, "WAITS", (0.0,))
    message = email.message.EmailMessage()
    message["From"], message["To"] = "a@x.example", "b@x.example"
    with pytest.raises(Refused, match="SMTPAuthenticationError 535") as problem:
        deliver(settings_of(box, mail_password="wrong one"), message)
    assert "wrong one" not in str(problem.value)
    with pytest.raises(Refused, match="ConnectionRefusedError"):
        deliver(settings_of(box, mail_server="smtp://127.0.0.1:9"), message)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"mail_server": "mail.clinic.example"}, "mail_server"),
        ({"mail_server": "smtp://ada:secret@mail.clinic.example"}, "mail_server"),
        ({"mail_from": ""}, "mail_from"),
        ({"mail_to": ()}, "mail_to"),
        ({"mail_to": ("a@x.example\nBcc: b@y.example",)}, "mail_to"),
    ],
)
def test_settings_that_cannot_send_are_refused(wrong, named):
    given = {"mail_server": "smtp://mail.clinic.example", "mail_from": "a@x.example", "mail_to": ("b@x.example",)}
    with pytest.raises(InvalidInput, match=f"{named} must be") as problem:
        Settings(**{**given, **wrong})
    assert "secret" not in str(problem.value)
