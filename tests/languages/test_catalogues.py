"""Every sentence is there in every language, with the places of the sentence, and every place says its sentences so."""

import re
import string
from dataclasses import replace

import pytest
from boxes import renamed
from example_plans import binned_plan, binned_protocol, protocol, score_plan
from messages import messages, unsaid
from pseudo import GREEK, spoken_by

from banditree.errors import InvalidInput
from banditree.figures.card import card_html, card_info
from banditree.figures.html import ladder_html
from banditree.figures.ladder import ladder_info
from banditree.files.plans import fingerprint, plan_json
from banditree.languages.catalogue import codes, compiled, entries, source
from banditree.languages.language import Language, language, preferred
from banditree.plans.plan import OnHarm
from banditree.plans.words import Vocabulary, in_language
from banditree.policies.starting import start_session

OTHERS = [code for code in codes() if code != "en"]
EVERYWHERE = {"arm", "task", "success", "failure", "reward", "give", "to_give", "harm", "n"}
METHODS = {"method\x04by hand"}  # methods have names, which a language may say in its words


def places(text):
    return {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}


@pytest.mark.parametrize("code", OTHERS)
def test_a_language_lacks_nothing(code):
    known = entries(source(code), code)
    missing = [message.text for message in messages() if message.key not in known]
    assert not missing, f"{code}.po lacks {missing}; `python tests/messages.py {code}` prints them to be translated."
    unused = known.keys() - {message.key for message in messages()} - METHODS - {""}
    assert not unused, f"{code}.po has what nobody says: {unused}"


@pytest.mark.parametrize("code", OTHERS)
def test_a_translation_has_only_the_places_of_its_sentence(code):
    for key, told in entries(source(code), code).items():
        if key:
            assert places(told) <= places(key.split("\x04")[-1]) | EVERYWHERE, key


@pytest.mark.parametrize("code", OTHERS)
def test_what_is_counted_has_as_many_forms_as_the_language(code):
    known = entries(source(code), code)
    forms = int(re.search(r"nplurals=(\d)", known[""])[1])
    assert all(told.count("\0") + 1 == forms for key, told in known.items() if "\0" in key)


def test_what_is_said_has_its_words_in_the_call():
    said_elsewhere = {"plans/words.py", "policies/base.py", "service/pages/rendering.py"}
    assert {place.partition(":")[0] for place in unsaid()} <= said_elsewhere


def test_a_catalogue_that_cannot_be_read_names_its_line():
    with pytest.raises(InvalidInput, match="xx.po, line 2"):
        compiled('msgid "line"\nmsgstr "Zeile\n', "xx")
    with pytest.raises(InvalidInput, match="xx.po, line 1: 'line' is no line of a catalogue"):
        compiled("line", "xx")
    assert entries('#, fuzzy\nmsgid "line"\nmsgstr "Reihe"\n', "xx") == {}


@pytest.fixture
def pseudo(monkeypatch):
    return spoken_by(monkeypatch)


PLANS = {
    "score": score_plan,
    "binned": binned_plan,
    "protocol": protocol,
    "capped": lambda: protocol(cap=2),
    "binned protocol": binned_protocol,
}


@pytest.mark.parametrize("name", PLANS)
def test_everything_about_a_plan_is_said_in_its_language(name, pseudo):
    plan = PLANS[name]()
    plan = replace(plan, vocabulary=GREEK, on_harm=OnHarm.NOT_AGAIN)
    plan = in_language(renamed(plan, tuple("ΑΒΓΔΕ"[: len(plan.arms)])), pseudo)
    session = start_session(plan)
    session.ask()
    said = [str(plan), session.describe(), card_html(card_info(plan)), ladder_html(ladder_info(plan))]
    text = re.sub(r"<(style|script).*?</\1>|<[^>]*>", "", "\n".join(said), flags=re.S).replace("&quot;", "")
    assert set(re.findall("[A-Za-z]+", text)) <= {word for task in plan.tasks for word in task.split()}


def test_files_know_no_language():
    plan = replace(score_plan(), vocabulary=Vocabulary(task="Gruppe", tasks="Gruppen"))
    said = in_language(plan, "de")
    assert plan_json(said) == plan_json(plan)
    assert fingerprint(said) == fingerprint(plan)
    assert in_language(said, "en").vocabulary == plan.vocabulary
    assert in_language(in_language(said, "fr"), "de").vocabulary == said.vocabulary


def test_words_of_the_user_win_and_are_never_inflected():
    words = in_language(replace(score_plan(), vocabulary=Vocabulary(task="Gruppe", arm="Mittel")), "de").vocabulary
    assert (words.counted(3, "task"), words.counted(1, "task"), words.counted(2, "arm")) == (
        "3 × Gruppe",
        "1 Gruppe",
        "2 × Mittel",
    )
    assert "Gruppes" not in str(in_language(replace(score_plan(), vocabulary=Vocabulary(task="Gruppe")), "de"))
    given = replace(score_plan(), vocabulary=Vocabulary(task="Gruppe", tasks="Gruppen"))
    assert "3 Gruppen" in str(given)
    assert "3 Gruppen" in str(in_language(given, "fr"))


def test_a_language_is_found_by_its_code_and_by_what_a_browser_accepts():
    assert language("fr_CA") == Language("fr")
    with pytest.raises(InvalidInput, match="language must be one of en, de"):
        language("tlh")
    wishes = {"": "en", "de-CH,fr;q=0.9": "de", "it,es;q=0.4": "es", "fr;q=0, de;q=x, *": "en", "en-GB,de": "en"}
    assert {accepted: preferred(accepted).code for accepted in wishes} == wishes
