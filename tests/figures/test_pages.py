"""SVG, PDF and HTML as files: well formed, self-contained, with everything in them."""

import re
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from example_plans import score_plan
from figure_plans import MAKERS, made

from banditree.errors import InvalidInput
from banditree.figures.drawing import flowchart_pages, flowchart_scene
from banditree.figures.flowchart import flowchart_info
from banditree.figures.html import flowchart_html, flowchart_section
from banditree.figures.pdf import pdf, png
from banditree.figures.reach import reach_info
from banditree.figures.scene import Scene, Text, fitted, text_width, wrap
from banditree.figures.svg import svg

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
    info = flowchart_info(made(name)[0])
    root = ElementTree.fromstring(svg(flowchart_scene(info)))
    shown = " ".join(element.text or "" for element in root.iter("{http://www.w3.org/2000/svg}text"))
    for box in info.boxes:
        for word in f"{box.action} {box.question}".split():
            assert word in shown or len(word) > 20  # only very long words are broken


def test_svg_escapes_names():
    root = ElementTree.fromstring(svg(flowchart_scene(flowchart_info(score_plan(tasks=NASTY)))))
    assert any("a & b" in (element.text or "") for element in root.iter())


@pytest.mark.parametrize("name", ["3 boxes", pytest.param("40 tasks", marks=pytest.mark.slow), "contextual"])
def test_pdf_has_its_pages_and_embedded_fonts(name):
    pages = flowchart_pages(flowchart_info(made(name)[0]))
    content = pdf(pages)
    assert content.count(b"/Type /Page ") == len(pages) or content.count(b"/Type /Page\n") == len(pages)
    assert b"/FontFile2" in content  # TrueType outlines inside
    assert b"/Subtype /Type3" not in content
    assert name != "3 boxes" or content == pdf(pages)


def test_png_is_a_picture():
    assert png(flowchart_scene(flowchart_info(made("3 boxes")[0]))).startswith(b"\x89PNG")


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InvalidInput, match=r'pip install "banditree\[figures\]"'):
        pdf([Scene(10, 10, ())])


@pytest.mark.parametrize("name", MAKERS)
def test_html_is_whole_and_fetches_nothing(name):
    plan, known = made(name)
    info = flowchart_info(plan)
    page = flowchart_html(info, reach_info(plan, known))
    reader = read(page)
    for tag, attributes in reader.tags:
        assert tag not in ("img", "iframe", "object", "embed")
        assert "src" not in attributes
        if "href" in attributes:
            assert attributes["href"].startswith(("#", "data:"))
    assert not re.search(r"https?://|@import|url\(|fetch\(|XMLHttpRequest", page)
    boxes = [attributes for tag, attributes in reader.tags if attributes.get("class") == "box"]
    assert {int(box["data-box"]) for box in boxes} == {box.number for box in info.boxes}
    assert len(page) < 400_000


def test_html_escapes_names():
    plan, known = made("links back")
    from dataclasses import replace

    nasty = replace(plan, tasks=NASTY)
    page = flowchart_html(flowchart_info(nasty), reach_info(nasty, replace(known, tasks=NASTY)))
    read(page)
    assert "<script>alert" not in page


def test_the_page_says_why_there_are_no_numbers():
    page = flowchart_html(flowchart_info(score_plan()), None, "The law is not known.")
    assert "The law is not known." in page
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
    """Box 1, a link back to it, and a leaf that is drawn in two places and lit only where the case came by."""
    plan, _ = made("links back")
    info = flowchart_info(plan)
    first = info.box(1)
    leaf = next(branch.target for box in info.boxes for branch in box.branches if info.box(branch.target).is_leaf)
    by = next(box for box in info.boxes if any(branch.target == leaf for branch in box.branches))
    path = [*shortest(info, by.number), leaf]
    page = flowchart_section(info, path=path)
    assert page.count(' aria-current="step"') == 1
    lit = re.findall(r'<li class="node([^"]*)" data-target="(\d+)"', page)
    assert {int(number) for marks, number in lit if "taken" in marks.split()} == set(path)
    assert [int(number) for marks, number in lit if "here" in marks.split()] == [leaf]
    assert len([1 for marks, _ in lit if "yes-taken" in marks or "no-taken" in marks]) == len(path) - 1
    assert first.number in path
    assert ' aria-current="step"' not in flowchart_section(info, path=[*path, 0])
    assert "taken" not in flowchart_section(info)


def shortest(info, goal):
    ways = {1: [1]}
    todo = [1]
    while goal not in ways:
        number = todo.pop(0)
        for branch in info.box(number).branches:
            if branch.target not in ways:
                ways[branch.target] = [*ways[number], branch.target]
                todo.append(branch.target)
    return ways[goal]
