"""Types of ours are read by several threads at once."""

import subprocess
import sys

READING = """
import contextlib, sys, threading
import msgspec
import holter.server.app, holter.server.route_table
from holter.model.struct_types import prepare_structs
from holter.model.verdicts import Explanation
holter.server.route_table.load_routes()
sys.setswitchinterval(1e-6)
types = sorted(prepare_structs(), key=repr)
together = threading.Barrier(4)
def read():
    for each in types:
        together.wait()
        with contextlib.suppress(msgspec.ValidationError):
            msgspec.convert({field.name: {} for field in msgspec.structs.fields(each)}, each)
threads = [threading.Thread(target=read) for _ in range(4)]
for each in threads: each.start()
for each in threads: each.join()
print(len(types), Explanation in types)
"""


def test_types_that_several_threads_read_first_at_once_end_no_process() -> None:
    found = subprocess.run([sys.executable, "-c", READING], check=False, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    many, has_verdicts = found.stdout.split()
    assert int(many) > 100
    assert has_verdicts == "True"
