"""The card in a real browser: a reader who sees nothing but its text makes no mistake."""

import base64
from dataclasses import replace

import numpy as np
import pytest
from boxes import renamed
from example_plans import FIVE, binned_protocol, protocol
from printed_plan import PrintedProtocol
from random_plans import HOSTILE

from banditree.figures.card import card_html, card_info
from banditree.plans.wording import outcome_names
from banditree.plans.words import Vocabulary, in_language
from banditree.policies.starting import start_session

pytestmark = pytest.mark.slow

WORDS = Vocabulary(arm="treatment", task="patient group", success="recovery", failure="relapse", give="Prescribe")
PLANS = {
    "the five lines": lambda: replace(protocol(cap=20), vocabulary=WORDS),
    "without a rule": lambda: protocol(rule=None, cap=3),
    "hostile names": lambda: renamed(protocol(cap=2), HOSTILE[:5]),
    "more hostile names": lambda: renamed(replace(protocol(), vocabulary=WORDS), HOSTILE[8:13]),
    "numbers": binned_protocol,
}
CASES, ROUNDS = 200, 60


@pytest.mark.parametrize("name", PLANS)
def test_a_reader_of_the_card_decides_as_the_session_does(name, chromium, tmp_path):
    """Five cards, 200 simulated cases each."""
    plan = PLANS[name]()
    path = tmp_path / "card.html"
    path.write_text(card_html(card_info(plan)), encoding="utf-8")
    chromium.get(path.as_uri())
    text = chromium.execute_script("return document.body.innerText")
    rng = np.random.default_rng(3)
    outcomes = dict(outcome_names(plan))
    for case in range(CASES):
        means = FIVE.means[case % 5]
        session, reader = start_session(plan, case=case), PrintedProtocol(text, plan.vocabulary, outcomes)
        for _ in range(ROUNDS):
            step = session.ask()
            assert step.name == reader.arm()
            reward = float(rng.random() < means[step.arm]) if outcomes else round(float(rng.normal()), 2)
            session.tell(reward, step.round)
            reader.tell(reward)


@pytest.mark.parametrize("paper", ["A4", "letter"])
def test_five_lines_and_the_worksheet_are_printed_on_one_sheet(paper, chromium, tmp_path):
    path = tmp_path / "card.html"
    path.write_text(card_html(card_info(PLANS["the five lines"]()), paper), encoding="utf-8")
    chromium.get(path.as_uri())
    given = {"preferCSSPageSize": True}
    printed = base64.b64decode(chromium.execute_cdp_cmd("Page.printToPDF", given)["data"])
    assert printed.count(b"/Type /Page\n") == 1


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("code", ["en", "de", "fr", "es"])
def test_no_word_of_the_worksheet_is_broken(code, width, chromium, tmp_path):
    path = tmp_path / "card.html"
    path.write_text(card_html(card_info(in_language(PLANS["the five lines"](), code))), encoding="utf-8")
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 600}
    chromium.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    chromium.get(path.as_uri())
    lines = "return [...document.querySelectorAll('th')].map(e => e.getClientRects().length && e.clientHeight)"
    heights = chromium.execute_script(lines)
    assert max(heights) < 40
    assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
