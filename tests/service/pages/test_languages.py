"""The pages of those who follow cases, in the language that their browser prefers or that they choose."""

import re
from html import unescape

import pytest
from boxes import renamed
from pseudo import GREEK, spoken_by
from running_service import CLINIC, client_of, in_thread, local

from banditree.service.pages import case_pages, rendering
from banditree.trees.tree import build_tree

OURS = {"banditree", "run", "local", "UTC", "p", "mild", "severe", "English", "Deutsch", "Español", "Français"}


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    with in_thread(local(tmp_path_factory.mktemp("languages") / "cases.db")) as (_app, http):
        http.headers["accept"] = "text/html"
        http.follow_redirects = True
        yield http


@pytest.fixture(scope="module")
def case(http):
    """A case of a plan in Greek, with something of everything in its history."""
    api = client_of(http)
    plan = renamed(build_tree(CLINIC, 100, vocabulary=GREEK), ("Α", "Β"))
    api.start(api.add_plan(plan, "Κλινική", sign="ναι"), id="p-1", label="κλίνη", without=[])
    steps = [
        ("ask", {}),
        ("tell", {"round": "1", "reward": "1", "ask": "next"}),
        ("undo", {"round": "1"}),
        ("tell", {"round": "1", "reward": "1", "ask": "next"}),
        ("correct", {"round": "1", "reward": "0", "reason": "λάθος"}),
        ("override", {"round": "2", "arm": "Β", "reason": "αλλεργία"}),
        ("tell", {"round": "2", "reward": "missing", "ask": "next"}),
        ("arrange", {"label": "κλίνη 2", "owner": "θάλαμος", "every": "7", "due": "2026-01-05"}),
        ("note", {"text": "καλά"}),
        ("close", {"reason": "τέλος"}),
        ("reopen", {"reason": "λάθος"}),
        ("ask", {"n": "2", "wait": "no"}),
    ]
    for action, data in steps:
        answer = http.post(f"/cases/p-1/{action}", data=data)
        assert answer.status_code == 200, answer.text[-500:]
    return "p-1"


def said(page):
    """The words of a page: what is seen, and what is read aloud; parts in a language of their own are omitted."""
    page = re.sub(r"<(script|style|title).*?</\1>", "", page, flags=re.S)
    page = re.sub(r'<(\w+)[^>]* lang="en"[^>]*>.*?</\1>', "", page, flags=re.S)
    read = re.findall(r'(?:aria-label|placeholder|title)="([^"]*)"', page)
    return set(re.findall("[A-Za-zÀ-ÖØ-öø-ÿ]+", unescape(" ".join([re.sub("<[^>]*>", " ", page), *read]))))


@pytest.mark.parametrize("path", ["/", "/cases", "/cases/p-1", "/cases?search=p-1&state=closed", "/help"])
def test_everything_on_the_pages_of_cases_is_said_in_the_language(path, http, case, monkeypatch):
    language = spoken_by(monkeypatch)
    for module in (rendering, case_pages):
        monkeypatch.setattr(module, "spoken", lambda request: language)
    page = http.get(path).text
    assert '<html lang="zz">' in page
    version = http.get("/api/v1/openapi.json").json()["info"]["version"]
    assert said(page.replace(version, "")) <= OURS


def test_the_language_is_the_browsers_or_the_one_that_was_chosen(http, case):
    page = f"/cases/{case}"
    assert "Nächster Schritt" in http.get(page, headers={"accept-language": "de-CH,fr;q=0.5"}).text
    assert "Next step" in http.get(page, headers={"accept-language": "it"}).text
    chosen = http.get(f"/language/fr?back={page}", headers={"accept-language": "de"})
    assert chosen.url.path == page
    assert "Étape suivante" in chosen.text or "Prochaine étape" in chosen.text
    assert http.get("/language/fr?back=//evil.example", follow_redirects=False).headers["location"] == "/"
    assert http.get("/language/xx").status_code == 422
    http.cookies.clear()


def test_a_page_that_is_english_says_so(http):
    page = http.get("/collections", headers={"accept-language": "es"}).text
    assert '<html lang="es">' in page
    assert '<main id="main" lang="en">' in page
    assert ">Planes</a>" in page


@pytest.mark.slow
def test_the_card_the_app_and_the_plan_are_in_the_language(http, case):
    api = client_of(http)
    plan = api.case(case).plan
    card = api.card(plan, "html", language="de").decode()
    assert 'lang="de"' in card
    assert "Arbeitsblatt" in card
    assert "Dieser Plan wurde nicht an Fällen geprüft" in card
    assert re.search(r"Unterschrieben von local, \d+\. \w+ 20\d\d", card)
    assert "Worksheet" in api.card(plan, "html").decode()
    for address in (f"/plans/{plan}", f"/plans/{plan}/app"):
        assert (
            "Zeile" in http.get(address, headers={"accept-language": "de"}).text
            or "Feld" in http.get(address, headers={"accept-language": "de"}).text
        )
