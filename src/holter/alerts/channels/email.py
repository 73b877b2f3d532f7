"""A mail, through a server that takes mail from here."""

import smtplib
import ssl
from email.message import EmailMessage
from email.utils import formatdate, make_msgid

from holter.alerts.message import Message
from holter.alerts.post import TIMEOUT_S, Post
from holter.alerts.target import Target
from holter.errors import Undelivered, UsageError

PORTS = {"starttls": 587, "tls": 465, "none": 25}


def check(target: Target) -> None:
    """Raises UsageError."""
    if not target.host or not target.to or not target.sender:
        raise UsageError(f"{target.label}: a mail needs host, sender and to")
    if target.security not in PORTS:
        raise UsageError(f"{target.label}: security is one of {', '.join(PORTS)}, not {target.security[:40]!r}")
    if any(not each.isprintable() or "@" not in each for each in (*target.to, target.sender)):
        raise UsageError(f"{target.label}: sender and to must be addresses of mail")


def send(target: Target, message: Message, *, post: Post) -> None:
    """Raises Undelivered."""
    mail = EmailMessage()
    mail["Subject"] = "".join(each if each.isprintable() else " " for each in message.head)
    mail["From"], mail["To"] = target.sender, ", ".join(target.to)
    mail["Date"], mail["Message-ID"] = formatdate(), make_msgid(domain="holter.invalid")
    mail.set_content(message.body)
    port = target.port or PORTS[target.security]
    try:
        if target.security == "tls":
            server: smtplib.SMTP = smtplib.SMTP_SSL(
                target.host, port, timeout=TIMEOUT_S, context=ssl.create_default_context()
            )
        else:
            server = smtplib.SMTP(target.host, port, timeout=TIMEOUT_S)
        with server:
            if target.security == "starttls":
                server.starttls(context=ssl.create_default_context())
            if target.user:
                server.login(target.user, target.password)
            server.send_message(mail)
    except smtplib.SMTPResponseException as error:
        # What the server says may have the name or the password in it.
        raise Undelivered(f"the mail server answered with {error.smtp_code}", may_retry=error.smtp_code < 500) from None
    except (OSError, smtplib.SMTPException) as error:
        raise Undelivered(f"the mail server did not take it: {type(error).__name__}") from None
