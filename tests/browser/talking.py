"""Runs that print: colours, progress bars, markup and whatever else a terminal or a browser might fall for."""

from tests.e2e.programs import Program, run, sidecars, start, wait_until
from tests.e2e.servers import Served

HOSTILE = '<img src=x onerror="document.title=1">'
LINES = 300
TALK = r"""
import os, sys, time, holter
run = holter.init(project="talk", name=os.environ.get("N"), tags=[tag for tag in [os.environ.get("TAG", "")] if tag])
print("id", run.id, flush=True)
print("\x1b[1;32mgreen words\x1b[0m and \x1b[31mred ones\x1b[0m")
print('<script>document.title = "printed"</script><b>not bold</b>')
print("\x1b]0;a title of its own\x07after the title \x1b]8;;javascript:alert(1)\x07no link\x1b]8;;\x07")
for part in range(101):
    sys.stdout.write(f"\rprogress {part:3d} %")
print()
for line in range(int(os.environ.get("TALK_LINES", "LINES_USUALLY"))):
    print(f"line {line} of the loss" + (" with a Needle in it" if line in (17, 201) else ""))
sys.stdout.flush()
for step in range(10):
    run.log({"loss": 1 / (step + 1)})
while os.environ.get("TALK_ON"):
    print("still here", time.time(), flush=True)
    run.log({"loss": 0.1})
    time.sleep(0.1)
if os.environ.get("RAISE"):
    raise ValueError(os.environ["RAISE"])
""".replace("LINES_USUALLY", str(LINES))


def record_talk(server: Served, **environment: str) -> str:
    """Run it to its end, wait until the server has all of it; the id of its run."""
    found = run(TALK, **environment).stdout.split()[1]

    def is_there() -> bool:
        answer = server.http.get(f"/runs/{found}")
        if answer.status_code != 200 or answer.json()["state"] == "running" or sidecars(f"/runs/{found}"):
            return False
        return bool(server.get(f"/runs/{found}/console", tail=1)["total"] > int(environment.get("TALK_LINES", LINES)))

    wait_until(is_there, within_s=60)
    return found


def begin_talk(**environment: str) -> tuple[Program, str]:
    """One that goes on until it is killed, and the id of its run."""
    program = start(TALK, TALK_ON="1", **environment)
    assert program.stdout is not None
    return program, program.stdout.readline().split()[1]
