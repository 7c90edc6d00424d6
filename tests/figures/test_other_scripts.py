"""Names in other scripts: numbers keep their order beside them, and what a PDF cannot show is said."""

import pytest
from boxes import renamed
from example_plans import protocol

from banditree.errors import PlanWarning
from banditree.figures.card import card_html, card_info, card_pages
from banditree.figures.drawing import ladder_scene
from banditree.figures.html import ladder_html
from banditree.figures.ladder import ladder_info
from banditree.figures.pdf import pdf
from banditree.figures.svg import svg

ARABIC = "\u0639\u0644\u0627\u062c \u0623"
CHINESE = "\u963f\u83ab\u897f\u6797"
RUSSIAN = "\u0418\u0431\u0443\u043f\u0440\u043e\u0444\u0435\u043d"


def plan_with(name):
    return renamed(protocol(), (*protocol().arms[:3], name, "E"))


def test_a_name_from_right_to_left_does_not_turn_points_round():
    """Behind an Arabic name "+1/-3" would be drawn as "3-/1+", unless the name stands by itself."""
    plan = plan_with(ARABIC)
    assert f"Give <bdi>{ARABIC}</bdi> for as long as the score (+1/-3)" in card_html(card_info(plan))
    assert f"Give <bdi>{ARABIC}</bdi> for as long as the score" in ladder_html(ladder_info(plan))
    assert f"Give \u2068{ARABIC}\u2069 for as long as" in svg(ladder_scene(ladder_info(plan)))


@pytest.mark.parametrize("name", [ARABIC, CHINESE], ids=["Arabic", "Chinese"])
def test_a_pdf_says_what_it_cannot_show(name):
    with pytest.warns(PlanWarning, match=r"A PDF cannot show some letters .* Write an \.html file instead") as said:
        pdf(card_pages(card_info(plan_with(name))))
    assert len(said) == 1


@pytest.mark.filterwarnings("error::banditree.errors.PlanWarning")
def test_letters_that_the_font_has_are_no_reason_to_warn():
    pdf(card_pages(card_info(plan_with(RUSSIAN))))
