"""The pages of the studio as forms and answers: what they keep, and what they refuse without a change."""

import json
import re
from dataclasses import replace

import httpx
import numpy as np
import pytest
from running_service import CLINIC, clinic_plan, in_thread, local
from starlette.concurrency import run_in_threadpool
from tables_to_bring import BAD, LOG, RATES, SHEET, workbook

from banditree.files.plans import fingerprint, plan_json
from banditree.service.plans.uploads import Reader
from banditree.service.store import records, studies
from banditree.service.store.database import Database
from banditree.service.store.people import Role, add_user, hashed
from banditree.service.store.schema import files, jobs
from banditree.service.store.schema import studies as table_of_studies
from banditree.service.store.sites import limited
from banditree.service.studio import taking
from banditree.service.studio.kinds import as_document
from banditree.trees.tree import build_tree

APART = Reader.apart
PASSWORD = "correct horse battery"
HOW = {
    "role-individual": "patient",
    "role-arm": "treatment",
    "role-reward": "recovered",
    "outcomes": "yes or no",
    "horizon": "20",
}


@pytest.fixture(scope="module", autouse=True)
def in_this_process():
    """Files are read in a thread: the process of its own has tests of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Reader, "apart", lambda _self, _who, function, *given: run_in_threadpool(function, *given))
        yield


@pytest.fixture(scope="module")
def http(service):
    _, http = service
    http.headers["accept"] = "text/html"
    http.follow_redirects = True
    return http


def begin(http, content=LOG, name="visits.csv", **more):
    """A draft begun with a file; its address."""
    answer = http.post("/studio", data={"name": "Clinic", "begin": "file", **more}, files={"file": (name, content)})
    assert answer.status_code == 200, answer.text
    return str(answer.url.path).removesuffix("/know")


def version(http, address, step="know"):
    return re.search(r'name="version" value="(\d+)"', http.get(f"{address}/{step}").text)[1]


def change(http, address, step="know", **given):
    return http.post(f"{address}/{step}", data={"version": version(http, address, step), **given})


def goes_to(http, address, **given):
    """Where the first page sends one on to, without going there: that would learn the kinds."""
    form = {"version": version(http, address), **given}
    return http.post(f"{address}/know", data=form, follow_redirects=False).headers["location"]


def alert(answer):
    """The sentence of an answer that says what is wrong."""
    return re.search(r'role="alert"[^>]*>([^<]*)<', answer.text)[1]


def on_record(app):
    with app.state.desk.database.read() as connection:
        return [connection.execute(table.select()).all() for table in (table_of_studies, files)]


def test_a_log_is_read_at_once_and_can_be_read_in_another_way(http):
    address = begin(http)
    page = http.get(f"{address}/know").text
    assert "visits.csv: 240 rows, 40 cases, 2 options." in page
    assert "<option selected>patient</option>" in page
    page = change(http, address, **{**HOW, "role-individual": "", "role-task": "patient"}).text
    assert "The file names 40 kinds" in page
    wrong = change(http, address, **{**HOW, "role-arm": "patient", "go": "on"})
    assert wrong.url.path == f"{address}/know"
    assert "is chosen for two things" in alert(wrong)


def offers(chance_by_price):
    """A log of offers: what is given, at a price and to whom, with a chance that the price may change."""
    rng, rows = np.random.default_rng(0), ["customer,offer,bought,price,member,shop"]
    for customer in range(60):
        for _ in range(8):
            price = rng.uniform(1, 3)
            arm = "AB"[int(rng.random() < (price - 0.9) / 2.4 if chance_by_price else rng.random() < 0.5)]
            rows.append(f"C{customer},{arm},{rng.integers(2)},{price:.2f},{rng.integers(2)},{'NS'[rng.integers(2)]}")
    return "\n".join(rows).encode()


def test_how_a_log_was_made_is_said_first_and_contexts_are_taken(http):
    address = begin(http, offers(chance_by_price=True), "offers.csv")
    roles = {"role-individual": "customer", "role-arm": "offer", "role-reward": "bought", "outcomes": "yes or no"}
    page = change(http, address, **roles, horizon="8").text
    assert "options were given at random in every round" in page  # as far as the log without prices shows
    page = change(http, address, **roles, horizon="8", context=["price", "member", "shop"]).text
    assert "they depend on &#39;price&#39;; their chances are estimated from that" in page
    page = change(http, address, **roles, horizon="8", context="price", design="per-case").text
    assert "options were given once per case and kept (as stated;" in page
    assert "cannot show what a plan gives" in alert(change(http, address, **roles, horizon="8", design="per-case"))
    assert "is chosen for two things" in alert(change(http, address, **roles, horizon="8", context="bought", go="on"))
    assert goes_to(http, address, **roles, horizon="8", context="price", go="on") == f"{address}/kinds"


def test_rows_that_cannot_be_used_are_shown_and_left_out_only_if_a_person_says_so(http):
    address = begin(http, LOG + b"P1,A,\nP3,B,often\n")
    page = change(http, address, **HOW, go="on")
    assert page.url.path == f"{address}/know"
    assert "Leave them out, or correct the file" in alert(page)
    assert "2 rows of 242: recovered missing in 1 row; recovered not a number in 1 row." in page.text
    assert re.search(r'<th scope="row">242</th><td>P1</td><td>A</td><td>–</td>', page.text)
    assert not re.search(rf'href="{address}/kinds"', page.text)
    assert goes_to(http, address, **HOW, drop="yes", go="on") == f"{address}/kinds"


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_changes_nothing(service, http, what):
    content, sentence = BAD[what]
    address = begin(http)
    before = on_record(service[0])
    new = http.post("/studio", data={"name": "x", "begin": "file"}, files={"file": ("visits.csv", content)})
    given = {"version": version(http, address)}
    other = http.post(f"{address}/file", data=given, files={"file": ("visits.csv", content)})
    for answer in (new, other):
        assert answer.status_code == 422
        assert sentence.replace("'", "&#39;") in alert(answer)
        assert "Nothing was changed." in answer.text
    assert on_record(service[0]) == before


def test_no_file_at_all(service, http):
    before = on_record(service[0])
    assert "Choose a file." in alert(http.post("/studio", data={"name": "x", "begin": "file"}))
    assert on_record(service[0]) == before


def test_a_file_that_is_too_large_gets_a_page(tmp_path):
    with in_thread(local(tmp_path / "small.db", max_upload=10_000)) as (app, http):
        http.headers["accept"] = "text/html"
        answer = http.post("/studio", data={"name": "x"}, files={"file": ("visits.csv", b"a,b\n" * 10_000)})
        assert answer.status_code == 413
        assert alert(answer).startswith("A request here may have at most 10,000 bytes.")
        assert on_record(app) == [[], []]
        http.headers["accept"] = "application/json"
        answer = http.post("/studio", data={"name": "x"}, files={"file": ("visits.csv", b"a,b\n" * 10_000)})
        assert answer.json()["error"]["code"] == "too_large"


def test_two_people_in_the_same_draft(http):
    address = begin(http)
    seen_by_both = version(http, address)
    mine = {**HOW, "version": seen_by_both, "horizon": "30"}
    assert http.post(f"{address}/know", data=mine).status_code == 200
    yours = http.post(f"{address}/know", data={**HOW, "version": seen_by_both, "horizon": "40"})
    assert yours.status_code == 409
    assert "local changed this draft since you opened it, so your change was not saved." in alert(yours)
    assert f'href="{address}"' in yours.text
    assert 'value="30"' in http.get(f"{address}/know").text
    file = {"file": ("visits.csv", RATES)}
    assert http.post(f"{address}/file", data={"version": seen_by_both}, files=file).status_code == 409
    assert change(http, address, **{**HOW, "horizon": "50"}).status_code == 200


@pytest.mark.parametrize("by_form", [False, True])
def test_what_is_sent_again_with_its_key_is_done_once_and_answered_as_before(service, http, by_form):
    address = begin(http)

    def twice(path, key, files=None, **data):
        key = f"{address}/{key}"
        once = {"once": key} if by_form else {}
        form = http.build_request("POST", f"{address}/{path}", data={**data, **once}, files=files)
        form.headers.update({} if by_form else {"idempotency-key": key})
        form.read()
        answers = [http.send(form, follow_redirects=False) for _ in range(2)]
        assert [answer.status_code for answer in answers] == [303, 303], alert(answers[1])
        assert answers[0].headers["location"] == answers[1].headers["location"]
        return answers[0].headers["location"].rpartition("/")[2]

    assert twice("know", "split", **HOW, version=version(http, address), go="on") == "kinds"
    before = version(http, address)
    assert twice("file", "replace", {"file": ("rates.csv", RATES)}, version=before) == "know"
    assert int(version(http, address)) == int(before) + 1
    typed = {**grid(http.get(f"{address}/know").text), "horizon": "20", "go": "add-kind"}
    assert twice("know", "add", **typed, version=version(http, address)) == "know"
    assert int(version(http, address)) == int(before) + 2
    assert http.post(f"{address}/know", data={**typed, "version": before}).status_code == 409
    fewer = {**grid(http.get(f"{address}/know").text), "horizon": "20", "go": "drop-kind"}
    assert twice("know", "drop", **fewer, version=version(http, address)) == "know"
    rates = {**grid(http.get(f"{address}/know").text), "horizon": "20", "go": "on"}
    assert twice("know", "rates", **rates, version=version(http, address)) == "kinds"
    named = {"name-0": "mild", "name-1": "hard"}
    assert twice("kinds", "name", **named, version=version(http, address)) == "kinds"
    assert twice("kinds", "keep", **named, version=version(http, address), go="on") == "plan"
    searches = [job["id"] for job in http.get("/api/v1/jobs").json()["data"] if job["kind"] == "search"]
    assert twice("plan", "search", lines="3", version=version(http, address), go="search") == "plan"
    begun = [job["id"] for job in http.get("/api/v1/jobs").json()["data"] if job["kind"] == "search"]
    assert len(begun) == len(searches) + 1
    assert http.post(f"{address}/plan", data={"version": before, "go": "search"}).status_code == 409
    with service[0].state.desk.database.write() as connection:
        study = studies.find_study(connection, address.removeprefix("/studio/"))
        plan = build_tree(records.collection_of(connection, study.content.collection), 20)
        found = json.dumps([{"plan": json.loads(plan_json(plan))}])
        connection.execute(jobs.update().where(jobs.c.id == begun[0]).values(found=found))
    assert twice("plan", "take", dot="0", version=version(http, address), go="take") == "trust"
    assert twice("delete", "end") == "studio"


def test_a_form_without_its_version_or_with_nonsense_is_refused(http):
    address = begin(http)
    first = {**HOW, "version": "1"}
    for given in ({}, {"version": "x"}, {**first, "horizon": ""}, {**first, "horizon": "0"}):
        assert http.post(f"{address}/know", data=given).status_code == 422
    assert http.post(f"{address}/know", data={**first, "outcomes": "colours"}).status_code == 422
    assert version(http, address) == "1"


def test_another_file_begins_anew_and_its_predecessor_is_gone(service, http):
    address = begin(http)
    goes_to(http, address, **HOW, go="on")
    n_files = len(on_record(service[0])[1])
    given = {"version": version(http, address)}
    page = http.post(f"{address}/file", data=given, files={"file": ("rates.xlsx", rates_workbook())})
    assert 'value="mild"' in page.text
    assert len(on_record(service[0])[1]) == n_files - 3
    assert change(http, address, horizon="10", **grid(page.text), go="on").url.path == f"{address}/kinds"


def rates_workbook():
    return workbook([["kind", "A", "B"], ["mild", 0.9, 0.2], ["severe", 0.1, 0.8]])


def test_a_workbook_of_rates_may_say_what_rounds_are_worth(http):
    address = begin(http)
    on_worth = [["price per round", 2, 60], ["value of a success", 100, 100], ["cost of a change", 40, ""]]
    rows = [["kind", "A", "B"], ["mild", 0.9, 0.2], ["severe", 0.3, 0.8], *on_worth, ["unit", "EUR", ""]]
    given = {"version": version(http, address)}
    page = http.post(f"{address}/file", data=given, files={"file": ("rates.xlsx", workbook(rows))})
    fields = grid(page.text)
    assert (fields["price-1"], fields["value-0"], fields["change"], fields["unit"]) == ("60", "100", "40", "EUR")
    assert (fields["kind-1"], fields["rate-1-1"]) == ("severe", "0.8")
    wrong = change(http, address, horizon="10", **{**fields, "price-1": "-1"}, go="on")
    assert "What rounds are worth: the price of &#39;B&#39; must be at least 0. Got -1" in wrong.text
    assert grid(wrong.text)["price-0"] == "2"  # nothing is lost
    kinds = change(http, address, horizon="10", **fields, go="on")
    assert kinds.url.path == f"{address}/kinds"
    assert kinds.text.count("best: ") == 2
    assert "<td" in kinds.text.split("severe")[1].split("best: ")[0]
    assert "30%" in kinds.text.split("best: ")[2][:20]  # A is worth 28 there, and B 20


def grid(page):
    """The fields of the grid as they are on the page."""
    return dict(
        re.findall(r'<input name="((?:option|kind|rate|share|price|value)-[\d-]+|change|unit)" value="([^"]*)"', page)
    )


def test_rates_are_typed_named_and_become_a_collection(http):
    address = str(http.post("/studio", data={"name": "Typed", "begin": "rates"}).url.path).removesuffix("/know")
    empty = change(
        http, address, horizon="50", **{"option-0": "A", "option-1": "B", "option-2": "C", "rate-1-0": "0.5"}, go="on"
    )
    assert empty.url.path == f"{address}/know"
    assert "kind 1, A: a rate must be a number from 0 to 1" in alert(empty)
    assert http.get(f"{address}/kinds").status_code == 422
    page = change(http, address, horizon="50", **{"option-0": "A", "rate-0-0": "0.9"}, go="drop-option").text
    assert page.count('aria-label="Name of option') == 2
    assert grid(page)["rate-0-0"] == "0.9"
    full = {"option-0": "A", "option-1": "B", "kind-0": "mild", "kind-1": "severe", "rate-0-0": "90%"}
    full |= {"rate-0-1": "0.2", "rate-1-0": "0.1", "rate-1-1": "0.8", "margin": "0.05"}
    page = change(http, address, horizon="50", **full, go="on")
    assert page.url.path == f"{address}/kinds"
    assert re.search(r"90% <small>±5</small>", page.text)
    words = {"word-arm": "treatment", "word-task": "patient group", "name-0": "early", "name-1": ""}
    assert "Every kind must have a name." in alert(change(http, address, "kinds", **words, go="on"))
    page = change(http, address, "kinds", **{**words, "name-1": "late <b>"}, go="on")
    assert page.url.path == f"{address}/plan"
    assert "Which treatments may not be used?" in page.text
    (known,) = [line["id"] for line in http.get("/api/v1/collections").json()["data"] if line["name"] == "Typed"]
    assert http.get(f"/api/v1/collections/{known}").json()["data"]["tasks"] == ["early", "late <b>"]
    assert "late &lt;b&gt;" in http.get(f"{address}/kinds").text
    assert change(http, address, "plan", excluded=["A"], go="search").status_code == 422  # one option is no choice
    same = {"horizon": "50", **full}
    before = version(http, address)
    assert goes_to(http, address, **same, go="on") == f"{address}/kinds"
    assert version(http, address) == before  # who goes through the pages again loses nothing
    assert http.get(f"{address}/plan").status_code == 200
    goes_to(http, address, **{**same, "rate-0-0": "0.8"}, go="on")
    assert http.get(f"{address}/plan").status_code == 422


def drafted(app, address, plan, collection):
    """Let the draft at an address have come to a plan, as the search and a click would."""
    with app.state.desk.database.write() as everybody:
        connection = limited(everybody, "n")
        known = records.add_collection(connection, "test", "x", *records.read_collection(as_document(collection)))
        study = studies.find_study(connection, address.removeprefix("/studio/"))
        content = study.content.model_copy(update={"collection": known})
        taking.take(connection, "test", study._replace(content=content), plan, known)
    return fingerprint(plan)


@pytest.mark.slow
def test_the_same_plan_from_other_data_is_a_plan_of_its_own(people):
    olga = people("olga")
    drafts = [begin_with_rates(olga) for _ in range(2)]
    plan = clinic_plan(100)
    drafted(people.app, drafts[0], plan, CLINIC)
    drafted(people.app, drafts[1], plan, replace(CLINIC, provenance="another log"))
    found = [olga.get(f"{draft}/sign").text for draft in drafts]
    ids = [re.search(r"/plans/([0-9a-f]{16})", page).group(1) for page in found]
    assert ids[0] == fingerprint(plan) != ids[1]


@pytest.mark.slow
def test_a_study_of_the_plan_is_asked_for_on_the_page_of_trust(people):
    olga = people("olga")
    draft = begin_with_rates(olga)
    drafted(people.app, draft, clinic_plan(100), CLINIC)
    assert "How large would a study have to be?" in olga.get(f"{draft}/trust").text
    asked = olga.get(f"{draft}/trust?give=crossover&per_month=2,5").text
    assert "Simulating a study." in asked or "with a chance of 80%" in asked
    assert "must be a number" in alert(olga.get(f"{draft}/trust?give=random&per_month=many"))
    assert olga.get(f"{draft}/trust?give=random&per_month=-1").status_code == 422


def begin_with_rates(http):
    answer = http.post("/studio", data={"name": "Clinic", "begin": "rates"})
    return str(answer.url.path).removesuffix("/know")


@pytest.mark.slow
def test_a_plan_is_signed_by_a_signer_and_then_starts_cases(people):
    olga, sue = people("olga"), people("sue")
    app = people.app
    first, second = begin_with_rates(olga), begin_with_rates(olga)
    old = drafted(app, first, clinic_plan(100), CLINIC)
    page = olga.get(first)
    assert page.url.path == f"{first}/sign"
    assert "Signing needs the role signer." in page.text
    given = {"version": version(sue, first, "sign"), "comment": "Looked at by two of us"}
    assert olga.post(f"{first}/sign", data=given).status_code == 403
    assert "comment: " in alert(sue.post(f"{first}/sign", data={"version": given["version"]}))
    page = sue.post(f"{first}/sign", data=given).text
    assert "Signed by <strong>sue</strong>" in page
    assert "Looked at by two of us" in page
    assert "Give <strong>A</strong>" in olga.post("/cases", data={"plan": old}).text
    drafted(app, second, clinic_plan(50), CLINIC)
    page = sue.get(f"{second}/sign", params={"replaces": old}).text
    assert "What changes" in page
    assert "Sign and replace" in page
    given = {"version": version(sue, second, "sign"), "comment": "Shorter", "replaces": old}
    sue.post(f"{second}/sign", data=given)
    assert "It was replaced by" in olga.get(f"{first}/sign").text
    assert olga.post("/cases", data={"plan": old}).status_code == 409
    olga.close()
    sue.close()


def test_pages_before_their_time_say_what_they_need(http):
    address = begin(http)
    for step in ("kinds", "plan", "trust", "sign", "report"):
        answer = http.get(f"{address}/{step}")
        assert answer.status_code == 422
        assert "Go on from &#34;What you know&#34;." in alert(answer)
    assert http.get(address).url.path == f"{address}/know"
    assert http.get("/studio/nothing/know").status_code == 404


def test_the_example_can_be_downloaded_and_begun_with(http):
    file = http.get("/studio/example.csv")
    assert file.headers["content-disposition"] == 'attachment; filename="example-clinic.csv"'
    page = http.post("/studio", data={"name": "Example clinic", "begin": "example"}).text
    assert "300 cases, 3 options" in page
    assert file.text.startswith("patient,visit,treatment,recovered\nP001,1,")


def test_a_draft_is_deleted_with_its_files(service, http):
    before = on_record(service[0])
    address = begin(http, name="<script>.csv")
    assert "&lt;script&gt;.csv" in http.get(f"{address}/know").text
    http.post(f"{address}/delete")
    assert on_record(service[0]) == before
    assert http.get(address).status_code == 404


@pytest.fixture
def people(tmp_path):
    """A service with a viewer and two operators of two sites; logs somebody in."""
    settings = local(tmp_path / "cases.db", authentication=True, secure_cookies=False)
    database = Database(settings)
    with database.write() as connection:
        for name, role, site in (("root", Role.ADMIN, None), ("vera", Role.VIEWER, None), ("olga", Role.OPERATOR, "n")):
            add_user(connection, "test", name, role, hashed(PASSWORD), site)
        add_user(connection, "test", "otto", Role.OPERATOR, hashed(PASSWORD), "s")
        add_user(connection, "test", "sue", Role.SIGNER, hashed(PASSWORD), "n")
    database.close()
    with in_thread(settings) as (app, http):

        def enter(name):
            one = httpx.Client(base_url=http.base_url, headers={"accept": "text/html"}, follow_redirects=True)
            answer = one.post("/api/v1/login", json={"name": name, "password": PASSWORD})
            one.headers["x-csrf-token"] = answer.json()["data"]["csrf_token"]
            return one

        enter.app = app
        yield enter


def test_roles_and_sites(people):
    olga, otto, vera = people("olga"), people("otto"), people("vera")
    address = begin(olga)
    assert olga.get(address).status_code == 200
    assert otto.get(address).status_code == 404
    assert "Clinic" not in otto.get("/studio").text
    assert "Clinic" in vera.get("/studio").text
    seen = vera.get(f"{address}/know")
    assert "On to the kinds" not in seen.text
    refused = vera.post(f"{address}/know", data={**HOW, "version": "1"})
    assert refused.status_code == 403
    assert vera.post("/studio", files={"file": ("visits.csv", LOG)}).status_code == 403
    assert otto.post(f"{address}/delete").status_code == 404
    del olga.headers["x-csrf-token"]  # as a browser, which sends the token of the form
    assert olga.post(f"{address}/delete").status_code == 403
    token = re.search(r'name="csrf_token" value="([^"]+)"', olga.get("/studio").text)[1]
    assert begin(olga, csrf_token=token).startswith("/studio/")
    for one in (olga, otto, vera):
        one.close()


@pytest.mark.slow
def test_a_sheet_that_unfolds_in_memory_ends_only_the_process_that_reads_it(tmp_path):
    sheet = f'{SHEET}<row r="1"><c r="A1"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'
    content = workbook([], sheet=f"{sheet}</sheetData></worksheet>")
    with pytest.MonkeyPatch.context() as patch, in_thread(local(tmp_path / "cases.db")) as (app, http):
        patch.setattr(Reader, "apart", APART)
        http.headers["accept"] = "text/html"
        refused = http.post("/studio", data={"name": "x"}, files={"file": ("wide.xlsx", content)})
        assert refused.status_code == 422
        assert "Reading this takes more than" in alert(refused)
        assert on_record(app) == [[], []]
        http.follow_redirects = True
        assert begin(http).startswith("/studio/")  # the next file is read
