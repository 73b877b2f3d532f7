"""What is on the canvases: marks of death, ghosts, bands, limits, crosshairs, axes."""

import functools
import itertools
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.crowds import record_crowd
from tests.browser.drawn import SPY, drawn, token, words
from tests.browser.gallery import forget_settings, gallery_in
from tests.browser.training import record
from tests.browser.watched import Watched
from tests.e2e.programs import run, wait_until
from tests.e2e.servers import Served

GREEDY = """
import resource, time, holter
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
run = holter.init(project="vision", name="greedy")
print("id", run.id, flush=True)
held = []
for step in range(1000):
    run.log({"loss": 1 / (step + 1)})
    held.append(open("/dev/null"))
    time.sleep(0.08)
"""


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with gallery_in(tmp_path_factory.mktemp("gallery")) as server:
        record(server, N="fine", LR="0.3")
        record(server, N="killed", LR="0.1", KILL="1")
        yield server


@pytest.fixture
def workspace(stranger: Watched, gallery: Served) -> Page:
    stranger.come_to(gallery)
    forget_settings(gallery)
    stranger.page.add_init_script(SPY)
    page = stranger.open("/p/vision")
    expect(page.get_by_role("article", name="train/loss")).to_contain_text("2 runs")
    expect(page.get_by_role("img", name="train/loss, 2 lines")).to_be_visible()
    wait_until(lambda: len(drawn(page, "train/loss", "stroke")) > 3)
    return page


def colour(page: Page, name: str) -> str:
    found: str = page.get_by_role("button", name=f"Lines of {name}").evaluate(
        "node => node.style.getPropertyValue('--colour')"
    )
    return found


def line_of(page: Page, metric: str, name: str) -> dict[str, list[list[float]]]:
    wanted = colour(page, name)
    [line] = [each for each in drawn(page, metric, "stroke") if each["style"] == wanted and each["alpha"] == 1]
    return line


def crosses(page: Page, metric: str) -> list[list[list[float]]]:
    strokes = [each for each in drawn(page, metric, "stroke") if each["style"] == token(page, "--death")]
    return [each["path"] for each in strokes if each["path"]]


def test_the_line_of_a_dead_run_ends_in_a_cross_and_no_other_does(workspace: Page) -> None:
    [[one, two, *rest]] = crosses(workspace, "train/loss")
    assert len(rest) == 2
    middle = [(one[0] + two[0]) / 2, (one[1] + two[1]) / 2]
    assert middle == pytest.approx(line_of(workspace, "train/loss", "killed")["path"][-1], abs=0.01)
    assert middle != pytest.approx(line_of(workspace, "train/loss", "fine")["path"][-1], abs=0.01)


def test_a_line_that_only_leaves_the_zoom_has_no_cross_there(stranger: Watched, gallery: Served) -> None:
    stranger.come_to(gallery)
    forget_settings(gallery)
    stranger.page.add_init_script(SPY)
    for zoom, many in (("from=20&to=150", 0), ("from=20&to=199.5", 1)):
        page = stranger.open(f"/p/vision?{zoom}")
        wait_until(functools.partial(drawn, page, "train/loss", "stroke"))
        assert len(crosses(page, "train/loss")) == many


def test_a_cross_stays_on_the_value_that_was_logged(workspace: Page) -> None:
    before = crosses(workspace, "train/loss")
    workspace.get_by_label("Smoothing").fill("0.95")
    wait_until(lambda: any(each["alpha"] < 0.3 for each in drawn(workspace, "train/loss", "stroke")))
    ghosts = [each for each in drawn(workspace, "train/loss", "stroke") if each["style"] == colour(workspace, "killed")]
    [[one, two, *_]] = crosses(workspace, "train/loss")
    assert [(one[0] + two[0]) / 2, (one[1] + two[1]) / 2] == pytest.approx(ghosts[0]["path"][-1], abs=0.01)
    assert before != []


def test_few_points_are_dots_and_are_not_smoothed(workspace: Page) -> None:
    line = line_of(workspace, "val/loss", "fine")["path"]
    workspace.get_by_label("Smoothing").fill("0.9")
    wait_until(lambda: any(each["alpha"] < 0.3 for each in drawn(workspace, "train/loss", "stroke")))
    assert line_of(workspace, "val/loss", "fine")["path"] == line
    fills = [each for each in drawn(workspace, "val/loss", "fill") if each["style"] == colour(workspace, "fine")]
    assert len(line) == 20
    dots = [[[x - 2, y] for x, y in each["path"]] for each in fills if len(each["path"]) == 20]
    assert dots == [[pytest.approx(place) for place in line]]


SWEEP = """
import math, holter
for at in range(6):
    run = holter.init(project="sweep", name=f"run{at}")
    for step in range(300):
        loss = 0.3 + 0.01 * at + 3 * math.exp(-step / 10) + 0.01 * math.sin(step * (at + 1))
        run.log({"loss": loss * 1e6 if at == 3 and step > 150 else loss})
    run.finish()
"""


def test_one_run_that_diverged_does_not_flatten_the_others_and_is_said(watched: Watched, server: Served) -> None:
    run(SWEEP)
    wait_until(lambda: server.http.get("/runs?project=sweep").json()["total"] == 6)
    watched.page.add_init_script(SPY)
    page = watched.open("/p/sweep")
    chart = page.get_by_role("article", name="loss")
    chip = chart.get_by_role("button", name="1 outlier hidden · Show")
    expect(chip).to_have_attribute("title", "Outside what is shown: run3")

    def highest() -> float:
        return max(float(each.replace("k", "e3").replace("M", "e6")) for each in heights(page))

    assert highest() < 2
    wedges = [each for each in drawn(page, "loss", "fill") if each["style"] == colour(page, "run3")]
    assert len(wedges) == 1
    page.get_by_label("Select run3").check()
    expect(chip).to_have_count(0)
    wait_until(lambda: highest() > 1e5)
    page.get_by_label("Select run3").uncheck()
    chip.click()
    expect(page).to_have_url(re.compile(r"c\.loss=all"))
    expect(chip).to_have_count(0)
    wait_until(lambda: highest() > 1e5)
    chart.get_by_role("button", name="Menu of loss").click()
    page.get_by_role("menuitemcheckbox", name="Hide outliers").click()
    expect(chip).to_be_visible()


def heights(page: Page) -> list[str]:
    """The words of the axis that goes up: the ones that are not in the lowest line."""
    texts = drawn(page, "loss", "text")
    lowest = max(each["y"] for each in texts)
    return [each["text"] for each in texts if each["y"] < lowest - 2]


def test_a_smoothed_line_has_the_raw_one_as_its_ghost(workspace: Page) -> None:
    raw = line_of(workspace, "train/loss", "fine")["path"]
    workspace.get_by_label("Smoothing").fill("0.9")
    wait_until(lambda: any(each["alpha"] < 0.3 for each in drawn(workspace, "train/loss", "stroke")))
    ours = [each for each in drawn(workspace, "train/loss", "stroke") if each["style"] == colour(workspace, "fine")]
    ghost, smoothed = ours
    assert ghost["alpha"] == pytest.approx(0.22)
    assert smoothed["alpha"] == 1

    def roughness(path: list[list[float]]) -> float:
        return sum(abs(after[1] - before[1]) for before, after in itertools.pairwise(path))

    assert len(ghost["path"]) == len(raw)
    assert roughness(smoothed["path"]) < roughness(ghost["path"]) / 2


def test_a_group_is_a_mean_within_its_band(workspace: Page) -> None:
    workspace.get_by_label("Group:").select_option("config.model.layers")
    expect(workspace.get_by_role("article", name="train/loss")).to_contain_text("1 group")
    wait_until(lambda: any(each["alpha"] < 0.2 for each in drawn(workspace, "train/loss", "fill")))
    [band] = [each for each in drawn(workspace, "train/loss", "fill") if each["alpha"] == pytest.approx(0.15)]
    [mean] = [each for each in drawn(workspace, "train/loss", "stroke") if each["style"] == band["style"]]
    heights = [y for _, y in band["path"]]
    assert all(min(heights) - 0.01 <= y <= max(heights) + 0.01 for _, y in mean["path"])
    assert max(heights) - min(heights) > 5


def test_the_mean_of_runs_with_few_points_does_not_jump_between_them(watched: Watched, server: Served) -> None:
    record_crowd(server, 6, lambda at: {"optimizer": ["adam", "sgd"][at % 2]})
    watched.page.add_init_script(SPY)
    page = watched.open("/p/sweep?group=config.optimizer")
    expect(page.get_by_role("article", name="loss")).to_contain_text("2 groups")
    wait_until(lambda: drawn(page, "loss", "fill"))
    means = [each["path"] for each in drawn(page, "loss", "stroke") if len(each["path"]) == 5]
    assert len(means) == 2
    for path in means:
        assert all(after[1] < before[1] for before, after in itertools.pairwise(path))


def test_the_crosshair_is_at_the_same_place_in_every_chart(workspace: Page) -> None:
    box = workspace.get_by_role("article", name="train/loss").get_by_role("img").bounding_box()
    assert box is not None
    workspace.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.5)
    expect(workspace.locator(".tip")).to_contain_text("fine")
    expect(workspace.locator(".tip")).to_contain_text("killed")
    assert workspace.locator(".tip").count() == 1
    hairs = workspace.locator("article .hair").evaluate_all("all => all.map((each) => each.style.visibility)")
    assert hairs.count("visible") == len(hairs) >= 4


def test_the_axis_may_be_time_or_any_metric(workspace: Page) -> None:
    for axis, head in (("time", "time"), ("relative", "seconds since start"), ("train/accuracy", "train/accuracy")):
        workspace.get_by_label("x:").select_option(axis)
        expect(workspace.get_by_role("img", name="train/loss, 2 lines")).to_be_visible()
        workspace.get_by_role("button", name="Menu of train/loss").click()
        workspace.get_by_role("menuitem", name="View as table").click()
        dialog = workspace.get_by_role("dialog", name="train/loss")
        expect(dialog.get_by_role("columnheader").first).to_have_text(head)
        expect(dialog.get_by_role("row").nth(20)).to_be_attached()
        workspace.keyboard.press("Escape")


def test_a_logarithmic_scale_gives_the_same_room_to_the_same_ratio(workspace: Page) -> None:
    def rooms() -> tuple[float, float]:
        """Between the marks 1 and 2, and between 2 and 3."""
        heights = {each["text"]: each["y"] for each in drawn(workspace, "train/loss", "text")}
        return heights["1"] - heights["2"], heights["2"] - heights["3"]

    workspace.get_by_role("button", name="Menu of train/loss").click()
    workspace.get_by_role("menuitemcheckbox", name="Hide outliers").click()
    wait_until(lambda: "3" in words(workspace, "train/loss"))
    assert rooms()[0] == pytest.approx(rooms()[1], abs=1.1)
    workspace.get_by_role("button", name="Log y").click()
    wait_until(lambda: rooms()[0] > 1.2 * rooms()[1])
    assert rooms()[0] / rooms()[1] == pytest.approx(0.693 / 0.405, rel=0.1)


def test_only_charts_near_what_is_in_sight_are_there_and_asked_for(watched: Watched, server: Served) -> None:
    many = "import holter\nrun = holter.init(project='vision', name='wide')\nprint('id', run.id, flush=True)\n"
    many += "for step in range(5):\n    run.log({f'm{part:02}/{key}': step for part in range(20) for key in range(6)})"
    found = run(many).stdout.split()[1]
    wait_until(lambda: server.http.get(f"/runs/{found}/keys").json().get("keys", [])[119:], within_s=60)
    asked: list[str] = []
    watched.page.on("request", lambda request: asked.extend(_keys(request.post_data_json, request.url)))
    page = watched.open("/p/vision")
    expect(page.get_by_role("article", name="m00/0").get_by_role("img")).to_be_visible()
    page.wait_for_timeout(700)
    assert page.locator("article canvas").count() // 2 < 60
    assert "m00/0" in asked
    assert "m19/5" not in asked
    page.get_by_role("article", name="m19/5").scroll_into_view_if_needed()
    expect(page.get_by_role("article", name="m19/5").get_by_role("img")).to_be_visible()
    assert page.get_by_role("article", name="m00/0").get_by_role("img").count() == 0


def _keys(body: object, url: str) -> list[str]:
    return list(body["keys"]) if url.endswith("/series") and isinstance(body, dict) else []


def test_the_curve_that_mattered_runs_into_its_limit_at_the_moment_of_death(watched: Watched, server: Served) -> None:
    found = run(GREEDY).stdout.split()[1]
    wait_until(lambda: server.http.get(f"/runs/{found}").json().get("cause") == "too-many-open-files", within_s=60)
    watched.page.add_init_script(SPY)
    page = watched.open(f"/p/vision/r/{found}")
    expect(page.get_by_role("heading", name="Open files against the limit")).to_be_visible()
    wait_until(lambda: words(page, "Open files against the limit"))
    told = words(page, "Open files against the limit")
    assert "limit 64" in told
    assert [text for text in told if re.match(r"✕ exit code 1 \d\d:\d\d:\d\d", text)]
    dashed = [each for each in drawn(page, "Open files against the limit", "stroke") if each["dash"]]
    assert [each["style"] for each in dashed] == [token(page, "--death")]
    expect(page.get_by_role("region", name="Try this").get_by_role("listitem").first).to_be_visible()
    page = watched.open(f"/p/vision/r/{found}/system")
    expect(page.get_by_role("region", name="Machine").get_by_role("article").first).to_be_visible()
    wait_until(lambda: words(page, "Open files"))
    assert "limit 64" in words(page, "Open files")
    expect(page.get_by_role("region", name="Program")).to_contain_text("the machine has")
    expect(page.get_by_role("region", name="Machine")).to_contain_text(re.compile(r"full [\d.]+ [GTM]iB"))
