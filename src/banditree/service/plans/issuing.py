"""What a card or report says about itself: the plan's name and version, who signed it, and where to see whether it is
still in force."""

from datetime import UTC, datetime

from banditree.figures.issue import Issue
from banditree.languages.dates import day_in
from banditree.languages.language import Language
from banditree.service.store import records
from banditree.service.store.database import Connection, Database
from banditree.service.store.signing import PlanState


def stamp_of(connection: Connection, plan: str) -> str:
    """Everything a sheet of a plan says that may change: two sheets with the same stamp are the same."""
    line = next(one for one in records.documents(connection, "plans") if one["id"] == plan)
    return "|".join([datetime.now(UTC).date().isoformat(), str(line["signed_at"]), str(line["replaced_by"])])


def issue_of(database: Database, plan: str, spoken: Language) -> Issue:
    """What today's sheet of a plan says about itself."""
    import segno

    with database.read() as connection:
        line = next(one for one in records.documents(connection, "plans") if one["id"] == plan)
    say, today = spoken.say, day_in(spoken, datetime.now(UTC).date())
    signed = day_in(spoken, datetime.fromisoformat(line["signed_at"]).date()) if line["signed_at"] else ""
    state = {
        PlanState.DRAFT: say("Draft: not signed, not to be followed."),
        PlanState.SIGNED: say("Signed by {name}, {day}.", name=line["signed_by"], day=signed),
        PlanState.REPLACED: say("REPLACED by version {version}: not for new cases.", version=line["replaced_by"]),
    }[PlanState(line["state"])]
    where = database.settings.public_url.rstrip("/")
    address = f"{where}/plans/{plan}" if where else f"banditree plan {plan}"
    if where:
        printed = say("Printed {day}. Scan the mark to see whether it is still in force.", day=today)
    else:
        printed = say("Printed {day}. Look it up under Plans by its version.", day=today)
    lines = (say("{name}, version {version}.", name=line["name"], version=plan), state, printed)
    matrix = segno.make(address, micro=False, error="m").matrix
    return Issue(lines, tuple(tuple(bool(cell) for cell in row) for row in matrix), address)
