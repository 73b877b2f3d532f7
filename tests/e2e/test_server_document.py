"""The server does what its own OpenAPI document says, whatever is sent."""

import re
import subprocess
import sys

import pytest

from tests.e2e.programs import run, wait_until
from tests.e2e.servers import ui

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
RECORD = "import holter; run = holter.init(); run.log({'x': 1}); print(run.id)"


@pytest.mark.timeout(400)
def test_every_answer_is_one_that_the_document_has() -> None:
    run_id = run(RECORD).stdout.strip()
    with ui() as served:
        wait_until(lambda: served.http.get(f"/runs/{run_id}").status_code == 200)
        found = subprocess.run(
            [
                *(sys.executable, "-m", "schemathesis.cli", "run", f"{served.address}/api/v1/openapi.json"),
                *(
                    "--header",
                    f"Authorization: Bearer {served.key}",
                    "--checks",
                    CHECKS,
                    "--phases",
                    "coverage,fuzzing",
                ),
                # A stream has no end to wait for.
                *("--exclude-path", "/api/v1/events", "--max-examples", "4", "--seed", "1", "--no-color"),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=380,
        )
        assert found.returncode == 0, found.stdout[-6000:]
        tested = re.search(r"Tested: (\d+)", found.stdout)
        assert tested is not None
        assert int(tested[1]) >= 25
        assert "Traceback" not in served.output.read_text()
