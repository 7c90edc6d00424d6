"""What a card or report says about itself: the plan's name and version, who signed it, and where to see whether it is
still in force."""

from datetime import UTC, datetime

from banditree.figures.issue import Issue
from banditree.service.store import records
from banditree.service.store.database import Connection, Database
from banditree.service.store.signing import PlanState


def stamp_of(connection: Connection, plan: str) -> str:
    """Everything a sheet of a plan says that may change: two sheets with the same stamp are the same."""
    line = next(one for one in records.documents(connection, "plans") if one["id"] == plan)
    return "|".join([datetime.now(UTC).date().isoformat(), str(line["signed_at"]), str(line["replaced_by"])])


def issue_of(database: Database, plan: str) -> Issue:
    """What today's sheet of a plan says about itself."""
    import segno

    with database.read() as connection:
        line = next(one for one in records.documents(connection, "plans") if one["id"] == plan)
    state = {
        PlanState.DRAFT: "Draft: not signed, not to be followed.",
        PlanState.SIGNED: f"Signed by {line['signed_by']}, {str(line['signed_at'])[:10]}.",
        PlanState.REPLACED: f"REPLACED by version {line['replaced_by']}: not for new cases.",
    }[PlanState(line["state"])]
    where = database.settings.public_url.rstrip("/")
    address = f"{where}/plans/{plan}" if where else f"banditree plan {plan}"
    asks = "Scan the mark to see whether it is still in force." if where else "Look it up under Plans by its version."
    lines = (f"{line['name']}, version {plan}.", state, f"Printed {datetime.now(UTC).date()}. {asks}")
    matrix = segno.make(address, micro=False, error="m").matrix
    return Issue(lines, tuple(tuple(bool(cell) for cell in row) for row in matrix), address)
