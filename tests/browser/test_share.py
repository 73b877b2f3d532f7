"""A link for guests: whoever has it sees its run in the page, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.watched import Watched
from tests.e2e.programs import run, wait_until
from tests.e2e.servers import Served, team_server

TRAINING = "import holter; run = holter.init(project='lab', name=NAME); run.log({'loss': 1.0}); run.finish()"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with team_server(tmp_path / "team") as served:
        yield served


def test_a_guest_sees_the_run_of_the_link_until_it_is_revoked(stranger: Watched, server: Served) -> None:
    for name in ("shown", "other"):
        sending = {"HOLTER_URL": server.address, "HOLTER_API_KEY": server.key, "HOLTER_RUN_ID": name}
        assert run(TRAINING.replace("NAME", repr(name)), **sending).returncode == 0
        wait_until(lambda name=name: server.state(name) == "finished", within_s=60)  # type: ignore[misc]
    made = server.post("/shares", {"runs": ["shown"]})
    page = stranger.page
    page.goto(f"{server.address}/p/lab/r/shown#share={made['key']}")
    expect(page.get_by_role("heading", name="shown")).to_be_visible()
    expect(page).not_to_have_url(f"{server.address}/p/lab/r/shown#share={made['key']}")
    page.goto(f"{server.address}/p/lab")
    expect(page.get_by_role("link", name="shown")).to_be_visible()
    expect(page.get_by_role("link", name="other")).to_have_count(0)
    server.http.delete(f"/shares/{made['id']}")
    stranger.expect_errors("401")
    page.reload()
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
