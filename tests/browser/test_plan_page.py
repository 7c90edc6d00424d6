"""The HTML page of a plan and the report in a real browser, as wide as a phone and as a desk."""

import base64
from functools import lru_cache

import pytest
from browsing import complaints
from figure_plans import made, of_lines

from banditree.errors import InvalidInput
from banditree.figures.html import ladder_html
from banditree.figures.ladder import ladder_info
from banditree.figures.reach import reach_info
from banditree.reports.report import write_report

pytestmark = pytest.mark.slow

PHONE, DESK = (375, 800), (1280, 900)
SIZES = pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
PLANS = pytest.mark.parametrize("name", ["3 boxes", "15 boxes", "60 boxes", "links back", "40 tasks", "protocol"])

# Pairs of visible things that share more than a pixel.
OVERLAPS = """
const things = [...document.querySelectorAll('.flow :is(.box, .link, .when, .possible, .rule, .bar)')]
  .map(e => [e, e.getBoundingClientRect()]).filter(([e, r]) => r.width > 2 && r.height > 2);
const found = [];
for (let i = 0; i < things.length; i++) for (let j = i + 1; j < things.length; j++) {
  const [a, p] = things[i], [b, q] = things[j];
  if (a.contains(b) || b.contains(a)) continue;
  const across = Math.min(p.right, q.right) - Math.max(p.left, q.left);
  if (across > 1 && Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 1)
    found.push(a.className + ' ' + a.textContent.slice(0, 40) + ' | ' + b.className + ' ' + b.textContent.slice(0, 40));
}
return found;
"""
# Text that does not fit into its box.
OVERFLOWS = """
return [...document.querySelectorAll('.line .box > span, .line .then, .line .when')].filter(e => {
  const box = e.closest('.line').getBoundingClientRect(), r = e.getBoundingClientRect();
  const out = r.left < box.left - 1 || r.right > box.right + 1 || r.bottom > box.bottom + 1;
  return r.width && (out || (e.clientWidth && e.scrollWidth > e.clientWidth + 1));
}).map(e => e.textContent);
"""


@lru_cache
def page_of(name):
    plan, known = made(name)
    try:
        reach = reach_info(plan, known)
    except InvalidInput:  # a plan whose chances cannot be computed
        return ladder_html(ladder_info(plan))
    return ladder_html(ladder_info(plan, reach), reach)


@pytest.fixture
def show(chromium, tmp_path):
    """Open a page at some size; in the end nothing may have been complained about or fetched."""

    def opened(content, size, dark=False):
        path = tmp_path / "page.html"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [scheme]})
        chromium.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
        chromium.get(path.as_uri())
        return chromium

    yield opened
    assert chromium.get_log("browser") == []
    assert chromium.execute_script("return performance.getEntriesByType('resource').length") == 0


def assert_in_order(window):
    assert window.execute_script(OVERLAPS) == []
    assert window.execute_script(OVERFLOWS) == []
    wide = "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    scroll, client = window.execute_script(wide)
    assert scroll <= client


def pick(window, task):
    script = (
        "const s = document.getElementById('pick-task'); s.value = arguments[0]; s.dispatchEvent(new Event('change'))"
    )
    window.execute_script(script, str(task))


def box(window, number):
    return window.find_element("id", f"row-{number}")


@SIZES
@PLANS
def test_nothing_overlaps_and_nothing_scrolls_sideways(name, size, show):
    window = show(page_of(name), size)
    assert_in_order(window)
    if window.find_elements("id", "pick-task"):
        pick(window, 1)
        assert_in_order(window)


@SIZES
def test_pointing_at_a_box_tells_what_is_known_of_it(size, show):
    from selenium.webdriver import ActionChains

    plan, known = made("15 boxes")
    info, reach = ladder_info(plan), reach_info(plan, known)
    window = show(page_of("15 boxes"), size)
    target = box(window, 2)
    window.execute_script("arguments[0].scrollIntoView({block: 'start', behavior: 'instant'})", target)
    if size == PHONE:
        target.click()
    else:
        ActionChains(window).move_to_element(target).perform()
    facts = window.find_element("id", "facts").text
    assert facts.startswith("Box 2")
    for task in info.rows[1].members:
        assert known.tasks[task] in facts
    assert f"({len(info.rows[1].members)} of {known.n_tasks})" in facts
    rows = window.execute_script(
        "return [...document.querySelectorAll('#facts tbody tr')].map(r => [...r.cells].map(c => c.textContent))"
    )
    assert len(rows) == known.n_tasks
    wide = window.execute_script("const d = document.getElementById('details'); return d.scrollWidth - d.clientWidth")
    assert wide <= 0
    for name, chance, cost, rounds in rows:
        task = known.tasks.index(name)
        expected = reach.chance[task, 1]
        if expected >= 0.9995:
            assert chance in ("100%", "> 99.9%")
        elif expected >= 0.0005:
            assert float(chance.rstrip("%")) == pytest.approx(100 * expected, abs=0.051)
        else:
            assert float(chance) == pytest.approx(expected, rel=0.06)
        assert float(cost.replace(",", "")) == pytest.approx(reach.cost[task, 1], abs=0.051)
        assert float(rounds.replace(",", "")) == pytest.approx(reach.rounds[task, 1], abs=0.051)


def test_the_details_can_be_put_away_on_a_phone(show):
    window = show(page_of("3 boxes"), PHONE)
    box(window, 1).click()
    window.find_element("id", "hide").click()
    assert not window.find_element("id", "details").is_displayed()
    window.find_element("css selector", ".way.end .box").click()
    assert window.find_element("id", "facts").text.startswith("Task severe: give B from now on")


@SIZES
@pytest.mark.parametrize("name", ["15 boxes", "links back"])
def test_picking_a_task_lights_its_most_likely_path(name, size, show):
    plan, known = made(name)
    reach = reach_info(plan, known)
    window = show(page_of(name), size)
    rows = "return [...document.querySelectorAll('.rung.lit .box[id]')].map(n => Number(n.dataset.box))"
    ways = "return [...document.querySelectorAll('.way.lit')].map(n => Number(n.dataset.box))"
    for task in range(known.n_tasks):
        pick(window, task)
        path = list(reach.paths[task])
        assert sorted(window.execute_script(rows)) == sorted(path[:-1])
        assert sorted(window.execute_script(ways)) == sorted(path[1:])
        said = window.find_element("id", "path").text
        assert said == f"Most likely path: box {', '.join(map(str, path[:-1]))}, then an end."
    pick(window, "")
    assert window.execute_script(ways) == []


def test_the_keyboard_is_enough(show):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    window = show(page_of("links back"), DESK)
    focused = "return document.activeElement.id || document.activeElement.textContent"

    def press(*keys):
        ActionChains(window).send_keys(*keys).perform()
        return window.execute_script(focused)

    assert [press(Keys.TAB) for _ in range(2)] == ["pick-task", "row-1"]
    assert window.find_element("id", "facts").text.startswith("Box 1")
    assert press(Keys.ARROW_DOWN) == "Give A from now on"
    assert window.find_element("id", "facts").text.startswith("Give A from now on")
    assert press(Keys.ARROW_DOWN) == "row-2"
    assert press(Keys.ARROW_UP) == "Give A from now on"


def test_links_lead_to_their_row(show):
    window = show(page_of("40 tasks"), DESK)
    link = window.find_element("css selector", ".link")
    target = link.get_attribute("href").split("#")[1]
    window.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", link)
    link.click()
    assert window.execute_script("return document.activeElement.id") == target


def test_jumps_stand_beside_the_rows_they_join(show):
    """A skip begins beside line 1 and ends beside line 4; the way back ends beside line 1."""
    window = show(page_of("protocol"), DESK)
    spans = window.execute_script(
        "return [...document.querySelectorAll('.jump')].map(j => { const r = j.getBoundingClientRect();"
        "return [...document.querySelectorAll('.rung .line')].map((l, i) => [i + 1, l.getBoundingClientRect()])"
        ".filter(([i, l]) => [r.top, r.bottom].some(y => y > l.top && y < l.bottom) && r.left >= l.right - 1)"
        ".map(([i]) => i); })"
    )
    assert sorted(spans) == [[1, 3], [1, 4]]


@SIZES
def test_a_jump_leaves_beside_its_exit(show, size):
    """The skip of line 1 stands nearer to "At +8: line 4" than to the exit below it."""
    window = show(page_of("protocol"), size)
    top, exits = window.execute_script(
        "const middle = (e) => { const r = e.getBoundingClientRect(); return (r.top + r.bottom) / 2; };"
        "return [document.querySelector('.jump:not(.back)').getBoundingClientRect().top,"
        "[...document.querySelectorAll('.rung')[0].querySelectorAll('.way')].map(middle)]"
    )
    assert abs(top - exits[0]) < abs(top - exits[1])


def test_fifteen_lines_are_printed_on_one_sheet(show):
    window = show(ladder_html(of_lines(15, "A")), DESK)
    assert base64.b64decode(window.print_page()).count(b"/Type /Page\n") == 1


@pytest.mark.parametrize(("count", "shown"), [(15, "block"), (16, "none")])
def test_jumps_are_printed_unless_a_page_break_would_bend_them(count, shown, show):
    window = show(ladder_html(of_lines(count, "A")), DESK)
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert window.execute_script("return getComputedStyle(document.querySelector('.jump')).display") == shown


def assert_accessible(window):
    assert complaints(window) == []


@SIZES
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["15 boxes", "links back", "contextual", "protocol"])
def test_axe_finds_nothing(name, dark, size, show):
    window = show(page_of(name), size, dark)
    assert_accessible(window)
    box(window, 2).click()
    if window.find_elements("id", "pick-task"):
        pick(window, 0)
    assert_accessible(window)


@lru_cache
def report_of(name):
    return write_report(*made(name), ".html")


@SIZES
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_the_report_in_a_browser(dark, size, show):
    window = show(report_of("15 boxes"), size, dark)
    assert_in_order(window)
    assert_accessible(window)
    assert len(window.find_elements("css selector", "figure svg")) >= 5


def test_the_list_alone_tells_the_plan(show):
    """What a screen reader finds: a list of rows, each with its number and text, and in it a list of its ways out."""
    window = show(page_of("protocol"), DESK)
    tree = window.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    names = [node["name"]["value"] for node in tree if node.get("role", {}).get("value") == "button" and "name" in node]
    assert any("1" in name and "Give E; success +1, failure -1" in name for name in names)
    assert "stay with B" in names
    roles = [node.get("role", {}).get("value") for node in tree]
    assert roles.count("listitem") == 5 + 7
    texts = [node["name"]["value"] for node in tree if node.get("role", {}).get("value") == "StaticText"]
    assert {"At +8", "line 4", "next line", "Then", "start again at line 1"} <= set(texts)


@pytest.mark.parametrize(("name", "least", "most"), [("3 boxes", 1, 1), ("40 tasks", 3, 40), ("protocol", 1, 1)])
def test_pages_can_be_printed(name, least, most, show):
    printed = base64.b64decode(show(page_of(name), DESK).print_page())
    assert printed.startswith(b"%PDF")
    assert least <= printed.count(b"/Type /Page\n") <= most
