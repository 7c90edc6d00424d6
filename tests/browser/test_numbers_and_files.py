"""Numbers of other countries, and files as people make them: what was understood is shown, and what may be read in two
ways is asked, on a phone and at a desk, in the reader's language."""

import pytest
from browsing import DESK, PHONE, assert_fits, complaints, fill_in, looking, press, reading, tap, text, until
from running_service import client_of, in_thread, local
from tables_to_bring import BAD, workbook_of

from banditree.protocols.build import build_plan
from banditree.service.demo import SHOP, SHOP_WORDS

pytestmark = pytest.mark.slow

SIZES = pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    with in_thread(local(tmp_path_factory.mktemp("files") / "cases.db", workers=0)) as (_app, http):
        yield http


def bring(window, http, path):
    """Bring a file to a new draft."""
    window.get(f"{http.base_url}/studio")
    fill_in(window, "form", name="Draft")
    window.find_element("css selector", "input[type=file]").send_keys(str(path))
    tap(window, "button[value=file]")


def is_good(window):
    assert_fits(window)
    assert complaints(window) == []


@SIZES
def test_what_can_be_read_in_two_ways_is_asked_and_nothing_goes_on_before(size, chromium, http, tmp_path):
    rows = [f"P{n % 20};0{1 + n % 9}/0{1 + n % 8}/2026;{'AB'[n // 3 % 2]};1,{200 + n};{n % 2}" for n in range(120)]
    path = tmp_path / "besuche.csv"
    path.write_text("\n".join(["Patient;Datum;Behandlung;Dosis;geheilt", *rows]))
    with looking(chromium, size) as window:
        bring(window, http, path)
        until(lambda: "written with the day or the month first?" in text(window))
        is_good(window)
        press(window, "On to the kinds")
        until(lambda: window.current_url.endswith("/know?stuck=true"))
        for name, value in (("dates", "day first"), ("decimals", ",")):
            tap(window, f"input[name=read-{name}][value='{value}']")
        press(window, "Read it again")
        until(lambda: "Dates in Datum: 01/01/2026 is 1 January 2026." in text(window))
        assert "Decimal commas: 1,200 is 1.200 (column Dosis)." in text(window)
        is_good(window)


@SIZES
def test_another_sheet_is_chosen_and_what_is_no_table_is_named(size, chromium, http, tmp_path):
    names = ["Patientin", "Mittel", "besser"]
    log = [names, *([f"P{n % 12}", "AB"[n % 2], ["ja", "nein"][n % 3 == 0]] for n in range(48))]
    rates = [["Typ", "A", "B", "Anteil der Fälle"], ["leicht", "90%", "20%", "0,7"], ["schwer", "20%", "80%", "0,3"]]
    (tmp_path / "two.xlsx").write_bytes(workbook_of({"Alt": [names, *log[1:5]], "Neu": log}))
    (tmp_path / "rates.xlsx").write_bytes(workbook_of({"Raten": rates}))
    (tmp_path / "scan.xlsx").write_bytes(BAD["a renamed PDF"][0])
    (tmp_path / "empty.xlsx").write_bytes(BAD["a formula without its value"][0])
    with looking(chromium, size) as window, reading(window, "de-DE"):
        bring(window, http, tmp_path / "two.xlsx")
        until(lambda: "Gelesen wird das Blatt 'Neu' von 'Alt', 'Neu'." in text(window))
        assert "48 Zeilen, 12 Fälle, 2 Optionen." in text(window)
        fill_in(window, "form.card", **{"read-sheet": "Alt"})
        press(window, "Noch einmal lesen")
        until(lambda: "Gelesen wird das Blatt 'Alt'" in text(window))
        is_good(window)
        bring(window, http, tmp_path / "rates.xlsx")
        until(lambda: "Diese kamen aus rates.xlsx." in text(window))
        shares = [field.get_attribute("value") for field in window.find_elements("css selector", "[name^=share-]")]
        assert shares == ["0.7", "0.3"]  # no third treatment
        is_good(window)
        for name, said in (("scan.xlsx", "Das ist ein PDF"), ("empty.xlsx", "eine Formel ohne ihren Wert in")):
            bring(window, http, tmp_path / name)
            until(lambda words=said: words in text(window, "[role=alert]"))
            assert "Nichts wurde geändert." in text(window)
        is_good(window)
        assert [one for one in window.get_log("browser") if "422" not in one["message"]] == []


@SIZES
def test_a_number_that_may_be_two_is_asked_about_and_one_with_a_comma_is_taken(size, chromium, http):
    api, id = client_of(http), f"number-{size[0]}"
    api.start(api.add_plan(build_plan(SHOP, 20, "tree", vocabulary=SHOP_WORDS), "Shop", sign="tested"), id=id)
    api.ask(id)
    with looking(chromium, size) as window, reading(window, "fr-FR"):
        window.get(f"{http.base_url}/cases/{id}")
        for typed, said in (
            ("1,234", "Le résultat : '1,234' pourrait être 1,234 ou 1234."),
            ("peu", "Le résultat doit"),
        ):
            type_number(window, typed)
            until(lambda words=said: words in text(window, "[role=alert]"))
            is_good(window)
            window.back()
            until(lambda: "Tour 1" in text(window, "#next"))
        type_number(window, "31,5")
        until(lambda: "Tour 1 : 31,5" in text(window, "#history"))
        is_good(window)
        assert [one for one in window.get_log("browser") if "422" not in one["message"]] == []
    assert [event.reward for event in api.events(id) if event.kind == "told"] == [31.5]


def type_number(window, number):
    field = window.find_element("css selector", "#next .tell input[name=reward]:not([type])")
    field.clear()
    field.send_keys(number)
    tap(window, field.find_element("xpath", "./ancestor::form//button"))
