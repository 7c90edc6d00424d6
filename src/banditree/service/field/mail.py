"""The job that sends a message by e-mail to the people who are set: plain text, over a connection that nobody else can
read. It says what the webhook says, with links, and of a case only its pseudonym, whose it is and when it is due.
"""

import smtplib
import ssl
import time
from collections.abc import Mapping
from email.message import EmailMessage
from email.utils import formatdate
from typing import Any
from urllib.parse import unquote, urlsplit

from banditree.nouns import counted
from banditree.service.field.webhook import WAITS, content_of
from banditree.service.jobs.messages import Reports
from banditree.service.problems import Refused
from banditree.service.settings import Settings, is_loopback
from banditree.service.store import jobs
from banditree.service.store.database import Database

SECONDS = 20.0  # The mail server must answer each step within this many seconds.
PORTS = {"smtp": 587, "smtps": 465}


def mail(database: Database, settings: Mapping[str, Any], reports: Reports) -> dict[str, Any]:
    """Send a message to the addresses that are set; which, or why there was none to send any more."""
    known = database.settings
    if not known.mail_server:
        raise Refused("No mail server is set, so the message was not sent. Set mail_server, and try the job again.")
    event, content = content_of(database, settings)
    if content is None:
        return {"sent": None}
    subject, text = worded(event, content, known.public_url.rstrip("/"))
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = known.mail_from, ", ".join(known.mail_to), subject
    message["Date"] = formatdate(localtime=False)
    message["Message-ID"] = f"<{jobs.key_of('mail', settings)[:32]}@{known.mail_from.rpartition('@')[2]}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(text)
    deliver(known, message)
    return {"sent": event}


def worded(event: str, content: Mapping[str, Any], where: str) -> tuple[str, str]:
    """The subject and the text of a message. where: the address at which people reach the service, or "".

    >>> visits = {"day": "2026-05-04", "visits": [{"case": "p-1", "plan": "f89b", "owner": "ada", "due": "2026-05-02"}]}
    >>> subject, text = worded("due", visits, "https://clinic.example")
    >>> print(f"{subject} | {text.splitlines()[2]}")
    1 visit due on 2026-05-04 | p-1, due 2026-05-02, ada: https://clinic.example/cases/p-1
    """
    name = " ".join(str(content.get("name", "")).split())
    if event == "alarm":
        lines = [
            content["alarm"]["sentence"],
            f"Answer it on the page of the plan{_at(where, 'plans', content['plan'])}",
        ]
        return f"Alarm: {name}", _text([f"Plan {name}:", "", *lines])
    if event == "signature":
        lines = [f"{content['by']} signed the plan {name}: {content['comment']}"]
        return f"Signed: {name}", _text([*lines, f"The plan{_at(where, 'plans', content['plan'])}"])
    visits = [
        f"{one['case']}, due {one['due']}, {one['owner'] or 'nobody in particular'}{_at(where, 'cases', one['case'])}"
        for one in content["visits"]
    ]
    subject = f"{counted(len(visits), 'visit')} due on {content['day']}"
    return subject, _text(["Due, or overdue:", "", *visits])


def _at(where: str, kind: str, id: str) -> str:
    return f": {where}/{kind}/{id}" if where else ""


def _text(lines: list[str]) -> str:
    return "\n".join([*lines, "", "Sent by banditree, which reads no answers."])


def deliver(known: Settings, message: EmailMessage) -> None:
    """Hand a message to the mail server; tried three times."""
    problem = ""
    for wait in WAITS:
        time.sleep(wait)
        try:
            with _connected(known) as server:
                refused = server.send_message(message)
        except (OSError, smtplib.SMTPException) as error:
            problem = f"{type(error).__name__}{f' {error.smtp_code}' if hasattr(error, 'smtp_code') else ''}"
            continue
        if not refused:
            return
        problem = f"refused for {', '.join(refused)}"  # the others have it; it comes again under the same Message-ID
    raise Refused(f"The message could not be mailed ({problem}). Check mail_server and mail_to, and try the job again.")


def _connected(known: Settings) -> smtplib.SMTP:
    """A connection to the mail server, encrypted unless it is on this computer, and logged in where that is asked."""
    url = urlsplit(known.mail_server)
    host, port = url.hostname or "", url.port or PORTS[url.scheme]
    context = ssl.create_default_context()
    if url.scheme == "smtps":
        server: smtplib.SMTP = smtplib.SMTP_SSL(host, port, timeout=SECONDS, context=context)
    else:
        server = smtplib.SMTP(host, port, timeout=SECONDS)
    try:
        if url.scheme == "smtp" and not is_loopback(host):
            server.starttls(context=context)
        if url.username:
            server.login(unquote(url.username), known.mail_password)
    except BaseException:
        server.close()
        raise
    return server
