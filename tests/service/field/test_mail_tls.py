"""E-mails to a mail server elsewhere go encrypted, to the server that was meant, or not at all."""

import ssl
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from socket import socket

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from running_service import local

from banditree.service.field import mail
from banditree.service.field.mail import deliver
from banditree.service.problems import Refused


class Box:
    """Takes what it is given, and remembers who logged in and whether that was encrypted."""

    def __init__(self):
        self.got, self.logged_in = [], []

    async def handle_DATA(self, server, session, envelope):
        self.got.append((envelope.content, is_encrypted(server)))
        return "250 OK"

    def knows(self, server, session, envelope, mechanism, data):
        self.logged_in.append((data.login, is_encrypted(server)))
        return AuthResult(success=True)


def is_encrypted(server):
    return server.transport.get_extra_info("sslcontext") is not None


def certified(folder, name):
    """A certificate for a host, signed by itself, and its key, as files."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    made = x509.CertificateBuilder(who, who, key.public_key(), x509.random_serial_number())
    made = made.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
    made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    (folder / f"{name}.crt").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / f"{name}.key").write_bytes(key.private_bytes(*plain))
    return folder / f"{name}.crt", folder / f"{name}.key"


@pytest.fixture
def serving(tmp_path, monkeypatch):
    """Starts a mail server that a client takes for one elsewhere; gives its box and the settings that send to it."""
    monkeypatch.setattr(mail, "is_loopback", lambda host: False)
    monkeypatch.setattr(mail, "WAITS", (0.0,))
    running = []

    def start(scheme="smtp", name="localhost", trusted=True, **offers):
        certificate, key = certified(tmp_path, name)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate) if trusted else "/dev/null")
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        with socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        at_once = {"ssl_context": context, "auth_require_tls": False}  # which is about STARTTLS alone
        how = at_once if scheme == "smtps" else {"tls_context": context, "require_starttls": True}
        box = Box()
        server = Controller(box, hostname="localhost", port=port, authenticator=box.knows, **{**how, **offers})
        server.start()
        running.append(server)
        given = {"mail_server": f"{scheme}://clinic@localhost:{port}", "mail_password": "correct horse"}
        given |= {"mail_from": "plans@clinic.example", "mail_to": ("ada@clinic.example",)}
        return box, local(tmp_path / "cases.db", **given)

    yield start
    for server in running:
        server.stop()


def note():
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "plans@clinic.example", "ada@clinic.example", "Grüße"
    message.set_content("Wärme")
    return message


@pytest.mark.parametrize("scheme", ["smtp", "smtps"])
def test_a_message_and_the_password_go_encrypted(scheme, serving):
    box, settings = serving(scheme)
    deliver(settings, note())
    assert box.logged_in == [(b"clinic", True)]
    assert [encrypted for _, encrypted in box.got] == [True]


@pytest.mark.parametrize(
    ("offers", "why"),
    [
        ({"trusted": False}, "SSLCertVerificationError"),
        ({"name": "mail.elsewhere.example"}, "SSLCertVerificationError"),
        ({"tls_context": None, "require_starttls": False, "auth_require_tls": False}, "SMTPNotSupportedError"),
    ],
    ids=["a stranger's certificate", "another host's certificate", "no encryption"],
)
def test_neither_message_nor_password_is_given_to_anybody_else(offers, why, serving):
    box, settings = serving(**offers)
    with pytest.raises(Refused, match=f"{why}.*Check mail_server"):
        deliver(settings, note())
    assert (box.got, box.logged_in) == ([], [])
