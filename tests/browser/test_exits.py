"""Every way out of every kind of line is where a person looks: on the screen, on paper, in the words of the plan."""

import pytest
from browsing import DESK, PHONE, looking, tap, until
from example_plans import binned_protocol, expecting, handing_over, protocol, score_plan
from figure_plans import contextual, three

from banditree.figures.ladder import ladder_info
from banditree.plans.wording import exits

pytestmark = pytest.mark.slow

PLANS = {
    "two-sided, watched and capped lines": lambda: protocol(cap=20),
    "no rule at the foot": lambda: protocol(rule=None),
    "hand-overs": handing_over,
    "the best of several": expecting,
    "numbers": binned_protocol,
    "boxes with links back": score_plan,
    "boxes of a fixed number": lambda: three()[0],
    "with contexts": lambda: contextual()[0],
}
# What a person can see of each exit: its condition, and what to do then (the arrow of "next line" stands for it).
SEEN = """
const wide = document.documentElement.clientWidth;
function visible(part) {
  part.scrollIntoView({ block: "center", behavior: "instant" });
  const r = part.getBoundingClientRect(), style = getComputedStyle(part);
  if (r.width < 3 || r.height < 3 || r.left < 0 || r.right > wide + 1) return false;
  if (style.visibility !== "visible" || Number(style.opacity) < 1) return false;
  const top = document.elementFromPoint((r.left + r.right) / 2, (r.top + r.bottom) / 2);
  return top !== null && (part.contains(top) || top.contains(part));
}
return [...document.querySelectorAll(".ladder .rung")].map((rung) => [...rung.querySelectorAll(".way")].map((way) => {
  const parts = [way.querySelector(".when"), way.querySelector(".then, .down")];
  return parts.every(visible) ? parts.map((part) => part.innerText.trim()) : ["hidden", way.textContent];
}));
"""


@pytest.fixture(scope="module")
def on_record(console):
    """The pages that show each plan: its own, and that of a case which has just begun; by the name of the plan."""
    api, _ = console
    pages = {}
    for number, (name, made) in enumerate(PLANS.items()):
        id = api.add_plan(made(), name, sign="tested")
        api.start(id, id=f"exits-{number}")
        pages[name] = (f"{api.http.base_url}/plans/{id}", f"{api.http.base_url}/cases/exits-{number}")
    return pages


def expected(plan):
    rows = ladder_info(plan).rows
    return [[[way.when, "↓" if way.leads == "next" else way.then] for way in row.ways] for row in rows]


@pytest.mark.parametrize("media", ["screen", "print"])
@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
@pytest.mark.parametrize("name", PLANS)
def test_every_exit_is_seen(name, size, media, chromium, on_record):
    plan = PLANS[name]()
    with looking(chromium, size) as window:
        for page in on_record[name]:
            window.get(page)
            window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media})
            assert window.execute_script(SEEN) == expected(plan)


@pytest.mark.parametrize("name", PLANS)
def test_every_exit_is_in_the_words_of_the_plan(name, chromium, on_record):
    plan = PLANS[name]()
    with looking(chromium, PHONE) as window:
        window.get(on_record[name][0])
        tap(window, "#words summary")
        lines = until(lambda: window.find_element("css selector", "#words pre").text).splitlines()
        for box in range(plan.n_boxes):
            start = (f"{box + 1}. ", f"Box {box + 1}. ")
            for way in exits(plan, box):
                (line,) = [line for line in lines if line.startswith(start)]
                assert f" {way.when}: {way.then}." in line


def test_what_a_plan_with_contexts_predicts_is_on_paper(chromium, on_record):
    with looking(chromium) as window:
        window.get(on_record["with contexts"][0])
        window.print_page()
        part = window.find_element("css selector", "details.part")
        assert part.get_attribute("open") is not None
        window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
        assert part.is_displayed()
