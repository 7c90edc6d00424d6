"""Erasure reaches every place where the content of a case can be: a word is planted in all of them, and looked for."""

import io
import secrets
from pathlib import Path

import pytest
import sqlalchemy as sa
from running_service import CLINIC, client_of, clinic_plan, in_thread, local

from banditree.service.cases.held_files import holds
from banditree.service.jobs.worker import Worker
from banditree.service.problems import Refused
from banditree.service.store import jobs
from banditree.service.store.backup import back_up
from banditree.service.store.erasure import REACHED
from banditree.service.store.schema import metadata
from banditree.trees.tree import build_tree

# Columns of text in which nothing about a case can be: names, ids, times and what the service itself writes.
ABOUT_NO_CASE = {
    "collections": {"id", "name", "document", "at", "actor", "site", "proof"},
    "plans": {"id", "name", "collection", "document", "at", "actor", "site", "signed_at", "signed_by", "comment"}
    | {"replaces", "gave_way_to", "proof"},
    "splits": {"id", "old", "new", "at", "actor", "comment", "ended_at", "ended_by", "kept", "end_comment", "site"}
    | {"proof"},
    "files": {"id", "name", "at", "actor", "site", "proof"},
    "cases": {"id", "plan", "at", "actor", "state", "site", "split", "proof"},
    "events": {"kind", "at", "actor", "proof"},
    "snapshots": {"hash"},
    "users": {"name", "role", "password", "at", "subject", "site", "proof"},
    "secrets": {"id", "kind", "hash", "user", "role", "name", "at", "expires", "parent", "proof"},
    "attempts": {"at", "name", "address"},
    "audit": {"at", "actor", "action", "subject", "address", "chain"},
    "trail": {"chain"},
    "jobs": {"id", "kind", "key", "subject", "settings", "state", "wish", "worker", "beat", "at", "actor", "began"}
    | {"ended", "site", "proof"},
    "studies": {"id", "name", "at", "actor", "changed", "changed_by", "site", "proof"},
    "answers": {"key", "request", "cases", "at", "proof"},
}
TEXTS = sa.String | sa.LargeBinary


def test_every_column_of_text_is_reached_or_says_nothing_about_a_case():
    known = REACHED | {f"{table}.{name}" for table, names in ABOUT_NO_CASE.items() for name in names}
    columns = [column for table in metadata.sorted_tables for column in table.c]
    assert {str(column) for column in columns if isinstance(column.type, TEXTS)} <= known


def planted(http, app, word):
    """A case with a word in everything that a person can fill, and what can be made from it; its id."""
    client = client_of(http)
    collection = client.add_collection(CLINIC, "clinic")
    plan = client.add_plan(clinic_plan(), "clinic", collection, sign="tested")
    case = client.start(plan, label=word).id
    client.tell(case, client.ask(case)[0].round, 1)
    client.note(case, word)
    client.override(case, "B", word)
    client.tell(case, 2, 0)
    client.correct(case, 2, 1, word)
    assert http.post(f"/api/v1/cases/{case}/close", json={"reason": word}).status_code == 200
    exported = client.export("decisions", format="parquet")
    wide = client.export("decisions").decode().encode("utf-16")
    for name, content in (("export.parquet", exported), ("export.csv", client.export("decisions")), ("wide.csv", wide)):
        assert http.post("/api/v1/files", params={"name": name}, content=content).status_code == 200
    assert http.post("/studio", files={"file": ("export.parquet", exported)}, data={"name": "draft"}).status_code < 400
    with app.state.desk.database.write() as connection:
        file = connection.exec_driver_sql("SELECT id FROM files").scalars().first()
        limits = {"seconds": 60, "megabytes": 1000}
        jobs.add_job(connection, "ada", "learn", {"file": file}, subject=file, **limits)
    for path in ("monitor?by=label", "monitor", "digest?by=label"):
        work(app, http, f"/api/v1/plans/{plan}/{path}")
    return plan, case


def work(app, http, path):
    """Ask for something that a job computes, and do its jobs here."""
    answer, worker = http.get(path), Worker(app.state.settings)
    while answer.status_code == 202:
        while worker.step():
            pass
        answer = http.get(path)
    worker.database.close()
    return answer.text


def where(app, folder, word):
    """The tables and files that hold a word; what is compressed is unpacked."""
    found = []
    with app.state.desk.database.read() as connection:
        for table in metadata.sorted_tables:
            for row in connection.execute(sa.select(table)):
                found += [table.name for cell in row if word in unpacked(cell)]
    return found + [path.name for path in Path(folder).iterdir() if word.encode() in path.read_bytes()]


def unpacked(cell):
    if isinstance(cell, bytes) and cell.startswith(b"PAR1"):
        import pyarrow.parquet as pq

        return str(pq.read_table(io.BytesIO(cell)).to_pylist())
    return cell.replace(b"\0", b"").decode(errors="replace") if isinstance(cell, bytes) else str(cell)


@pytest.mark.slow
def test_a_word_planted_everywhere_is_nowhere_after_erasing(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr("banditree.service.jobs.routes.PATIENCE", 0.1)
    word, folder = f"w{secrets.token_hex(8)}", tmp_path / "data"
    folder.mkdir()
    with in_thread(local(folder / "cases.db", workers=0)) as (app, http), caplog.at_level("DEBUG", "banditree"):
        monkeypatch.setattr("banditree.service.jobs.routes.PATIENCE", 0.1)
        plan, case = planted(http, app, word)
        before = where(app, folder, word)
        assert {"cases", "events", "files", "jobs", "studies"} <= set(before), before
        assert http.post(f"/api/v1/cases/{case}/erase").json()["data"]["done"]
        app.state.desk.database.scrub()
        assert where(app, folder, word) == []
        pages = ["/", "/cases", f"/cases/{case}", "/plans", f"/plans/{plan}", "/studio", "/jobs", "/audit"]
        pages += [f"/plans/{plan}/field?by=label", "/api/v1/audit", "/api/v1/jobs", "/api/v1/export/events"]
        for page in pages:
            assert word not in http.get(page, headers={"accept": "text/html"}).text, page
        back_up(app.state.settings, folder / "backup.db")
        assert where(app, folder, word) == []
        assert word not in caplog.text


def test_other_files_stay(tmp_path):
    with in_thread(local(tmp_path / "cases.db", workers=0)) as (_app, http):
        client = client_of(http)
        plan = client.add_plan(build_tree(CLINIC, 50), "clinic", sign="tested")
        case = client.start(plan, "p-17").id
        kept = http.post("/api/v1/files", params={"name": "a.csv"}, content=b"case,arm\np-170,A\n").json()["data"]["id"]
        gone = http.post("/api/v1/files", params={"name": "b.csv"}, content=b"case,arm\np-17,A\n").json()["data"]["id"]
        assert http.post(f"/api/v1/cases/{case}/erase").status_code == 200
        left = [line["id"] for line in http.get("/api/v1/files").json()["data"]]
        assert (kept in left, gone in left) == (True, False)
        actions = [line["action"] for line in http.get("/api/v1/audit").json()["data"]]
        assert "delete file" in actions


def test_a_damaged_file_is_refused_and_not_read_beyond_its_end():
    for name in ("a.parquet", "a.feather"):
        with pytest.raises(Refused, match="cannot be read as a table"):
            holds(name, b"PAR1ARROW1" + bytes(100), "p-17")
