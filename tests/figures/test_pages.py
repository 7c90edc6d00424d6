"""SVG, PDF and HTML as files: well formed, self-contained, with everything in them."""

import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from example_plans import protocol, score_plan
from figure_plans import MAKERS, made

from banditree.errors import InvalidInput
from banditree.figures.drawing import ladder_pages, ladder_scene
from banditree.figures.html import Mark, ladder_html, ladder_section, score_bar
from banditree.figures.ladder import ladder_info
from banditree.figures.pdf import pdf
from banditree.figures.reach import reach_info
from banditree.figures.scene import Scene, Text, fitted, text_width, wrap
from banditree.figures.svg import svg
from banditree.plans.plan import Form

NASTY = ("</script><script>alert(1)</script>", "a & b", "\"quoted\" 'names'")


class Reader(HTMLParser):
    """Tags in order, and what is open at the end."""

    EMPTY = frozenset({"meta", "link", "br"})

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.ids = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def read(page):
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert len(reader.ids) == len(set(reader.ids))
    return reader


@pytest.mark.parametrize("name", MAKERS)
def test_svg_is_xml_with_every_word(name):
    info = ladder_info(made(name)[0])
    root = ElementTree.fromstring(svg(ladder_scene(info)))
    shown = " ".join(element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text"))
    for row in info.rows:
        for word in " ".join([row.action, *(way.when for way in row.ways)]).split():
            assert word in shown or len(word) > 20  # only very long words are broken


def test_svg_escapes_names():
    root = ElementTree.fromstring(svg(ladder_scene(ladder_info(score_plan(tasks=NASTY)))))
    assert any("a & b" in (element.text or "") for element in root.iter())


@pytest.mark.parametrize("name", ["3 boxes", pytest.param("40 tasks", marks=pytest.mark.slow), "contextual"])
def test_pdf_has_its_pages_and_embedded_fonts(name):
    pages = ladder_pages(ladder_info(made(name)[0]))
    content = pdf(pages)
    assert content.count(b"/Type /Page ") == len(pages) or content.count(b"/Type /Page\n") == len(pages)
    assert b"/FontFile2" in content  # TrueType outlines inside
    assert b"/Subtype /Type3" not in content
    assert name != "3 boxes" or content == pdf(pages)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InvalidInput, match=r"pip install '\.\[figures\]'"):
        pdf([Scene(10, 10, ())])


@pytest.mark.parametrize("name", MAKERS)
def test_html_is_whole_and_fetches_nothing(name):
    plan, known = made(name)
    info = ladder_info(plan)
    page = ladder_html(info, None if plan.form is Form.LINES else reach_info(plan, known))
    reader = read(page)
    for tag, attributes in reader.tags:
        assert tag not in ("img", "iframe", "object", "embed")
        assert "src" not in attributes
        if "href" in attributes:
            assert attributes["href"].startswith(("#", "data:"))
    assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest", page)
    boxes = [attributes for tag, attributes in reader.tags if "box" in attributes.get("class", "").split()]
    assert {int(box["data-box"]) for box in boxes} == set(range(1, plan.n_boxes + 1))
    assert len(page) < 400_000


def test_html_escapes_names():
    _, known = made("links back")
    nasty = score_plan(tasks=NASTY)
    page = ladder_html(ladder_info(nasty), reach_info(nasty, replace(known, tasks=NASTY)))
    read(page)
    assert "<script>alert" not in page


def test_the_page_says_why_there_are_no_numbers():
    page = ladder_html(ladder_info(score_plan()), None, "The distribution is not known.")
    assert "The distribution is not known." in page
    assert 'id="pick-task"' not in page


@pytest.mark.parametrize("bold", [False, True])
def test_no_text_is_wider_than_it_was_measured(bold):
    """Measured against the font that the PDFs embed."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    font = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")
    rng = np.random.default_rng(1)
    words = ["At most 71 recoveries?", "WWWWMMMM", "Give arm 14 142 times", "naïve — Größe", "患者"]
    words += ["".join(chr(c) for c in rng.integers(33, 127, 30)) for _ in range(40)]
    for word in words:
        if "患" in word:
            continue  # the font has no glyph to measure
        path = TextPath((0, 0), word.replace("$", "S"), size=10, prop=font)
        assert path.get_extents().width <= text_width(word.replace("$", "S"), 10, bold) * 1.03


def test_wrapping_keeps_every_word_and_every_line_fits():
    text = "Administer Acetylsalicylic-acid-and-something-very-long-indeed 143 times to each of them"
    lines = wrap(text, 120, 10, bold=True)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(text_width(line, 10, bold=True) <= 120 for line in lines)
    assert wrap(text, 120, 10, most=2)[-1].endswith("...")
    assert text_width(fitted(text, 80, 10), 10) <= 80
    assert fitted("short", 80, 10) == "short"


def test_text_stays_text():
    assert ElementTree.fromstring(svg(Scene(9, 9, (Text(0, 5, "x<y", turned=True, anchor="end"),)))) is not None


def test_the_way_of_a_case_is_lit():
    """Rows it went through, the way it took out of each, and the place where it is: a row, an end, or off the plan."""
    info = ladder_info(protocol())
    page = ladder_section(info, mark=Mark([1, 4, 5]))
    assert re.findall(r'<li class="rung ([a-z ]+)"', page) == ["taken", "taken", "taken here"]
    assert re.findall(r'<li class="way (\w+) came" data-box="(\d+)"', page) == [("skip", "4"), ("next", "5")]
    assert page.count(' aria-current="step"') == 1
    at_end = ladder_section(info, mark=Mark([1, 4, 5, 7]))
    assert 'class="way end came here" data-box="7"' in at_end
    assert at_end.count(' aria-current="step"') == 1
    assert ' aria-current="step"' not in ladder_section(info, mark=Mark([1, 4, 0]))
    assert "taken" not in ladder_section(info)


def test_a_score_is_a_bar_between_the_exits():
    assert 'aria-label="Score +3, between -2 and +8"' in score_bar(Mark([1], 3, -2, 8))
    assert 'cx="50.0%"' in score_bar(Mark([1], 3, -2, 8))
    assert 'class="bar open"' in score_bar(Mark([2], 5, -4, None))
    assert score_bar(Mark([1])) == ""
