"""The tables. Events are only ever added; erasure blanks their content and keeps the rows.

A case's events are numbered 1, 2, 3, ... and that number is part of the key: who computed an event from an outdated
state finds its number taken, and starts again from the current one. A second unique index says the same of outcomes:
one per case and round, whatever the code does. Times are UTC in ISO 8601; the order is that of the numbers.
Tables with a column `proof` are sealed: see `seals`.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    false,
    literal_column,
    null,
    text,
)

from banditree.service.cases.events import REPORTS

metadata = MetaData()
# Of a case: what follows from its events, and is written with them so that lists need not look at these.
DERIVED = ("state", "rounds", "waiting", "rings", "finished", "gives", "since", "owner", "every", "due")
WAITING = text("waiting > 0")
RINGS = text("rings")
IS_SIGNED = text("signed_at IS NOT NULL")
GOES_ON = text("ended_at IS NULL")
UNSEALED = text("proof IS NULL")
EVENT_KIND = String(40)
LINE = BigInteger().with_variant(Integer, "sqlite")  # The number of a line of the trail, for centuries at full load.


def _seal(table: str) -> tuple[Column[Any], Index]:
    """The salt of a row's seal, which every change of the row clears, and an index of the rows that have none."""
    proof = Column("proof", String(32), onupdate=null())
    return proof, Index(f"{table}_unsealed", "proof", sqlite_where=UNSEALED, postgresql_where=UNSEALED)


collections = Table(
    "collections",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("at", String(27), nullable=False),
    Column("actor", Text, nullable=False),
    Column("site", String(64)),
    *_seal("collections"),
)

plans = Table(
    "plans",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", Text, nullable=False),
    Column("collection", ForeignKey("collections.id")),
    Column("document", Text, nullable=False),
    Column("at", String(27), nullable=False),
    Column("actor", Text, nullable=False),
    Column("site", String(64)),
    # A draft has none of these but the plan that it is to replace.
    Column("signed_at", String(27)),
    Column("signed_by", Text),
    Column("comment", Text),
    Column("replaces", String(16)),
    Column("every", Integer),  # days from one visit of a case to the next
    Column("gave_way_to", String(16)),  # the plan that was kept when a split between the two ended
    Index("one_successor", "replaces", unique=True, sqlite_where=IS_SIGNED, postgresql_where=IS_SIGNED),
    *_seal("plans"),
)

# New cases of either plan are given the new one with a chance of `share`, by the seed and their ids, until it ends.
splits = Table(
    "splits",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("old", ForeignKey("plans.id"), nullable=False),
    Column("new", ForeignKey("plans.id"), nullable=False),
    Column("share", Float, nullable=False),
    Column("rounds", Integer, nullable=False),  # of a case, over which the plans are compared
    Column("seed", Integer, nullable=False),
    Column("at", String(27), nullable=False),
    Column("actor", Text, nullable=False),
    Column("comment", Text, nullable=False),
    Column("ended_at", String(27)),
    Column("ended_by", Text),
    Column("kept", String(16)),
    Column("end_comment", Text),
    Column("site", String(64)),
    Index("one_split_old", "old", unique=True, sqlite_where=GOES_ON, postgresql_where=GOES_ON),
    Index("one_split_new", "new", unique=True, sqlite_where=GOES_ON, postgresql_where=GOES_ON),
    *_seal("splits"),
)

# What people upload to learn from and to evaluate on, until somebody deletes it.
files = Table(
    "files",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", Text, nullable=False),
    Column("size", Integer, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("at", String(27), nullable=False),
    Column("actor", Text, nullable=False),
    Column("site", String(64)),
    *_seal("files"),
)

cases = Table(
    "cases",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", Text, nullable=False, unique=True),
    Column("plan", ForeignKey("plans.id"), nullable=False),
    Column("label", Text),
    Column("at", String(27), nullable=False),
    Column("actor", Text, nullable=False),
    Column("state", String(8), nullable=False, server_default="open"),
    Column("rounds", Integer, nullable=False, server_default="0"),
    Column("waiting", Integer, nullable=False, server_default="0"),
    Column("site", String(64)),
    Column("rings", Boolean, nullable=False, server_default=false()),
    Column("finished", Boolean, nullable=False, server_default=false()),  # all its rounds are used and told
    Column("gives", Text),  # the arms of its open rounds, as text
    Column("since", String(27)),  # when they were asked for; where none is open, when the last thing was reported
    Column("owner", Text),
    Column("every", Integer),  # days from one visit to the next, where they are not the plan's
    Column("due", String(10)),  # the day of the next visit, where a person set one
    Column("split", String(16)),  # in which the case was given its plan
    Index("cases_ringing", "number", sqlite_where=RINGS, postgresql_where=RINGS),
    Index("cases_by_site", "site", "number"),
    Index("cases_by_state", "state", "number"),
    Index("cases_by_plan", "plan", "number"),
    Index("cases_waiting", "number", sqlite_where=WAITING, postgresql_where=WAITING),
    *_seal("cases"),
)

events = Table(
    "events",
    metadata,
    Column("case", ForeignKey("cases.number"), primary_key=True, autoincrement=False),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("kind", EVENT_KIND, nullable=False),
    Column("round", Integer),
    Column("arm", Text),
    Column("reward", Float),
    Column("details", Text),
    Column("at", String(27), nullable=False),
    Column("actor", Text, nullable=False),
    # For the audit trail: a salt, or once the content is erased its digest; and the line that covers the event.
    Column("proof", String(64), nullable=False),
    Column("line", LINE, nullable=False),
    sqlite_with_rowid=False,
)
OUTCOMES = events.c.kind.in_([literal_column(f"'{kind}'") for kind in REPORTS])
Index("one_outcome", events.c.case, events.c.round, unique=True, sqlite_where=OUTCOMES, postgresql_where=OUTCOMES)

# Where a long case stood after its event `seq`, so that it need not be folded from the beginning.
snapshots = Table(
    "snapshots",
    metadata,
    Column("case", ForeignKey("cases.number"), primary_key=True, autoincrement=False),
    Column("seq", Integer, nullable=False),
    Column("content", Text, nullable=False),
    Column("hash", String(64), nullable=False),  # of the content: a damaged one is not used
)

users = Table(
    "users",
    metadata,
    Column("name", Text, primary_key=True),
    Column("role", String(8), nullable=False),
    Column("password", Text, nullable=False),
    Column("disabled", Boolean, nullable=False, default=False),
    Column("at", String(27), nullable=False),
    Column("subject", Text),  # who the provider of the single sign-on says this is; none for local users
    Column("site", String(64)),
    Index("users_by_subject", "subject", unique=True),
    *_seal("users"),
)

# Log-ins and API tokens: a secret that was given out, kept only as its hash.
secrets = Table(
    "secrets",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("kind", String(8), nullable=False),
    Column("hash", String(64), nullable=False, unique=True),
    Column("user", ForeignKey("users.name"), nullable=False),
    Column("role", String(8), nullable=False),
    Column("name", Text, nullable=False),
    Column("at", String(27), nullable=False),
    Column("expires", String(27)),
    Column("revoked", Boolean, nullable=False, default=False),
    Column("parent", String(16)),
    *_seal("secrets"),
)

# Log-ins that are being tried or failed lately: they are counted before the password is looked at.
attempts = Table(
    "attempts",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("at", String(27), nullable=False),
    Column("name", Text, nullable=False),
    Column("address", Text, nullable=False),
    Index("attempts_by_time", "at"),
)

audit = Table(
    "audit",
    metadata,
    Column("number", LINE, primary_key=True, autoincrement=False),
    Column("at", String(27), nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", String(24), nullable=False),
    Column("subject", Text),
    Column("address", Text),
    Column("chain", String(64), nullable=False),
    Index("audit_by_action", "action", "at"),
)

# One row: where the chain of the audit trail ends.
trail = Table(
    "trail",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("number", LINE, nullable=False),
    Column("chain", String(64), nullable=False),
)

# Long work: what to do and within which limits, who does it and how far it is, what came of it.
jobs = Table(
    "jobs",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("id", String(16), nullable=False, unique=True),
    Column("kind", String(40), nullable=False),
    Column("key", String(64), unique=True),
    Column("subject", Text),
    Column("settings", Text, nullable=False),
    Column("seconds", Integer, nullable=False),
    Column("megabytes", Integer, nullable=False),
    Column("state", String(12), nullable=False),
    Column("wish", String(8)),
    Column("tries", Integer, nullable=False),
    Column("worker", Text),
    Column("beat", String(27)),
    Column("done", Integer, nullable=False),
    Column("total", Integer, nullable=False),
    Column("best", Float),
    Column("text", Text, nullable=False),
    Column("result", Text),
    Column("problem", Text),
    Column("at", String(27), nullable=False),
    Column("actor", Text, nullable=False),
    Column("began", String(27)),
    Column("ended", String(27)),
    Column("found", Text),
    Column("site", String(64)),
    Index("jobs_by_state", "state", "number"),
    Index("jobs_by_subject", "subject"),
    Index("jobs_by_actor", "actor", "began"),
    *_seal("jobs"),
)

# What was answered to a request that carried a key, so that the same request sent again is not carried out twice.
answers = Table(
    "answers",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("request", String(64), nullable=False),  # a digest of it: another request with the same key is refused
    Column("cases", Text, nullable=False),  # the ids of the cases it is about
    Column("content", Text, nullable=False),
    Column("at", String(27), nullable=False),
    Index("answers_by_time", "at"),
    *_seal("answers"),
)

# Drafts of the studio: JSON of what was said and found so far.
studies = Table(
    "studies",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("content", Text, nullable=False),
    Column("at", String(27), nullable=False),
    Column("actor", Text, nullable=False),
    Column("changed", String(27), nullable=False),
    Column("changed_by", Text, nullable=False),
    Column("site", String(64)),
    *_seal("studies"),
)
