"""Alerts that really arrive: at web servers and a mail server of this machine, from programs that really run."""

import base64
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from holter.alerts.file import FILE
from holter.alerts.message import ERROR, Message
from holter.alerts.outbox import Outbox, send_one
from holter.alerts.post import Post
from holter.alerts.target import Target
from holter.errors import Undelivered
from holter.model.records import Noted
from tests.e2e.programs import data_directory, only_run, run, said, wait_until
from tests.e2e.receivers import mailbox, web

TOKEN = "tok-5dJ2kQ8vXy"
NAN = Message(
    kind="alert",
    run="abc",
    name="calm-fox",
    project="mnist",
    title="loss is NaN <at> step 7",
    text="look",
    level=ERROR,
    link="https://holter.example.org/p/mnist/r/abc",
)


def tell(*targets: str) -> None:
    data_directory().mkdir(exist_ok=True)
    (data_directory() / FILE).write_text("\n".join(f"[[target]]\n{each}\n" for each in targets))


def test_each_chat_gets_it_in_its_own_form() -> None:
    with web() as server:
        for kind in ("slack", "discord", "teams", "json", "ntfy"):
            send_one(Target(kind=kind, url=f"{server.url}/{kind}", token=TOKEN), NAN, post=Post())
        slack, discord, teams, plain, ntfy = server.posted
    assert [each.path for each in server.posted] == ["/slack", "/discord", "/teams", "/json", "/ntfy"]
    assert slack.json["text"].startswith("*mnist/calm-fox: loss is NaN &lt;at&gt; step 7*\nlook\nhttps://")
    assert discord.json["embeds"][0]["title"] == "mnist/calm-fox: loss is NaN <at> step 7"
    assert discord.json["allowed_mentions"] == {"parse": []}
    assert teams.json["attachments"][0]["content"]["body"][0]["text"].endswith("step 7")
    assert (plain.json["title"], plain.json["run"], plain.json["level"]) == ("loss is NaN <at> step 7", "abc", "ERROR")
    assert plain.headers["authorization"] == ntfy.headers["authorization"] == f"Bearer {TOKEN}"
    assert (ntfy.headers["priority"], ntfy.headers["click"]) == ("5", NAN.link)
    assert ntfy.body.decode() == f"look\n{NAN.link}"


def test_a_mail_goes_through_a_server_that_takes_mail() -> None:
    with mailbox() as server:
        target = Target(
            kind="email",
            host="127.0.0.1",
            port=server.port,
            user="ada",
            password=TOKEN,
            sender="holter@example.org",
            to=("ada@example.org", "bob@example.org"),
            security="none",
        )
        send_one(target, NAN, post=Post())
        [mail] = server.mails
    assert base64.b64decode(server.logins[0]) == f"\0ada\0{TOKEN}".encode()
    assert (mail["subject"], mail["to"]) == (NAN.head, "ada@example.org, bob@example.org")
    assert NAN.link in mail.get_content()


def test_a_command_gets_it_on_its_standard_input_and_no_shell_sees_it(tmp_path: Path) -> None:
    program = "import json, sys; open(sys.argv[1], 'w').write(sys.argv[2] + json.load(sys.stdin)['run'])"
    command = (sys.executable, "-c", program, str(tmp_path / "told"), "{title};")
    message = Message(kind="alert", run="abc", title="$(touch evil) {text}", text="no")
    send_one(Target(kind="command", command=command), message, post=Post())
    assert (tmp_path / "told").read_text() == "abc: $(touch evil) {text};abc"
    with pytest.raises(Undelivered, match="ended with 3"):
        send_one(Target(kind="command", command=(sys.executable, "-c", "raise SystemExit(3)")), NAN, post=Post())


def test_what_fails_for_now_is_sent_again_and_what_is_refused_is_said_without_its_address() -> None:
    complaints: list[str] = []
    with web() as server, mailbox() as post:
        server.answers = [(503, {}), (429, {"retry-after": "0"}), (200, {}), (404, {})]
        post.refuses = 2
        mail = Target(
            kind="email",
            host="127.0.0.1",
            port=post.port,
            sender="a@b.c",
            to=("d@e.f",),
            security="none",
            on=("death",),
        )
        chat = Target(kind="slack", name="team", url=f"{server.url}/{TOKEN}", on=("alert",))
        outbox = Outbox((chat, mail), complain=complaints.append, first_wait_s=0.01)
        outbox.add(NAN)
        server.wait_for(3)
        outbox.add(Message(kind="alert", title="another"))
        outbox.add(Message(kind="death", title="crashed"))
        wait_until(lambda: post.mails and len(server.posted) == 4)
        outbox.finish(60)
        assert outbox.join(60)
    assert complaints == ["team did not take an alert: it answered with status 404"]


def test_a_redirect_is_not_followed() -> None:
    with web() as server:
        server.answers = [(302, {"location": f"{server.url}/elsewhere"})]
        with pytest.raises(Undelivered, match="status 302"):
            send_one(Target(kind="json", url=f"{server.url}/hook"), NAN, post=Post())
    assert [each.path for each in server.posted] == ["/hook"]


def test_a_team_server_sends_nothing_into_its_own_network() -> None:
    with web() as server:
        for url in (server.url, server.url.replace("127.0.0.1", "localhost")):
            with pytest.raises(Undelivered, match="inside of the server's own network") as refused:
                send_one(Target(kind="json", url=url), NAN, post=Post(allowed=()))
            assert not refused.value.may_retry
        assert server.posted == []
        send_one(Target(kind="json", url=server.url), NAN, post=Post(allowed=("127.0.0.1",)))
        assert len(server.posted) == 1


def test_whoever_sends_hears_when_each_target_has_it_or_does_not_take_it() -> None:
    ends: list[tuple[str, bool]] = []
    with web() as server:
        server.answers = [(200, {}), (404, {})]
        targets = [
            Target(kind="json", name=name, url=f"{server.url}/{name}", on=("alert", "warning")) for name in ("a", "b")
        ]
        outbox = Outbox(targets, complain=lambda text: None, first_wait_s=60)
        outbox.add(Message(kind="alert", title="one"), then=lambda is_over: ends.append(("one", is_over)))
        outbox.add(Message(kind="death", title="two"), then=lambda is_over: ends.append(("two", is_over)))
        assert ends[:1] == [("two", True)]  # nobody wants it
        wait_until(lambda: len(ends) == 2)
        server.answers = [(200, {}), (503, {})]
        outbox.add(Message(kind="warning", title="three"), then=lambda is_over: ends.append(("three", is_over)))
        server.wait_for(4)
        outbox.finish(0.5)
        assert outbox.join(60)
    assert ends == [("two", True), ("one", True), ("three", False)]


def test_nobody_waits_for_a_server_that_does_not_answer() -> None:
    complaints: list[str] = []
    outbox = Outbox((Target(kind="json", name="x", url="http://127.0.0.1:9/"),), complain=complaints.append)
    outbox.add(NAN)
    outbox.finish(0.0)
    assert outbox.join(60)
    assert complaints == ["x did not take an alert in time"]
    assert "alerts" not in [thread.name for thread in threading.enumerate()]


def test_alerts_and_ends_of_a_run_are_told_once() -> None:
    with web() as server:
        tell(f'kind = "json"\nname = "team"\nurl = "{server.url}/{TOKEN}"')
        run(
            """
            import holter
            with holter.init(project="mnist", name="calm-fox") as run:
                run.log({"loss": 1.0})
                run.alert("loss is odd", "it was 1", level="WARN")
                run.alert("loss is odd", "it was 2", level="WARN")
            """
        )
        alert, end = server.wait_for(2)
    assert (alert.json["kind"], alert.json["title"], alert.json["level"]) == ("alert", "loss is odd", "WARN")
    assert (end.json["kind"], end.json["name"], end.json["project"]) == ("finish", "calm-fox", "mnist")
    assert end.json["title"].startswith("finished after ")
    assert end.json["title"].endswith("1 rows")
    files = [path for path in data_directory().rglob("*") if path.is_file() and path.name != FILE]
    assert [path for path in files if TOKEN.encode() in path.read_bytes()] == []


def test_a_death_is_told_with_its_verdict() -> None:
    with web() as server:
        tell(f'kind = "json"\nurl = "{server.url}"\non = ["death"]')
        run("import os, signal, holter\nrun = holter.init()\nrun.alert('x')\nos.kill(os.getpid(), signal.SIGSEGV)")
        [death] = server.wait_for(1)
    assert death.json["kind"] == "death"
    assert death.json["title"].startswith("crashed: ")
    assert "killed" in death.json["title"] or "segmentation-fault" in death.json["title"]


def test_a_file_that_can_t_be_read_is_said_in_the_run_and_ends_nothing() -> None:
    tell('kind = "pager"')
    done = run("import holter\nwith holter.init() as run: run.log({'loss': 1})")
    assert done.returncode == 0
    directory = only_run().row.directory
    wait_until(lambda: any("pager" in str(each) for each in said(directory, Noted, writer="sidecar")))


def test_an_odd_wait_is_said_and_the_alert_is_kept() -> None:
    done = run("import holter\nwith holter.init() as run: run.alert('x', wait_duration='long')")
    assert "wait_duration of alert() takes seconds or a timedelta, got long" in done.stderr
    assert [each["title"] for each in show()["alerts"]] == ["x"]


def show() -> dict[str, list[dict[str, str]]]:
    command = [sys.executable, "-m", "holter", "show", "--json"]
    return dict(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))


def test_the_command_lists_targets_without_their_addresses_and_tries_them() -> None:
    with web() as server:
        server.answers = [(200, {}), (403, {})]
        tell(
            f'kind = "slack"\nname = "team"\nurl = "{server.url}/{TOKEN}"',
            f'kind = "ntfy"\nurl = "{server.url}/{TOKEN}"',
        )
        command = [sys.executable, "-m", "holter", "alerts"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True)
        tried = subprocess.run([*command, "--test", "--json"], capture_output=True, text=True, check=False)
    assert "team" in listed.stdout
    assert TOKEN not in listed.stdout + tried.stdout + tried.stderr
    assert [each["trouble"] for each in json.loads(tried.stdout)["targets"]] == [None, "it answered with status 403"]
    assert tried.returncode == 1
