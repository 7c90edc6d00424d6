"""A plan as a library of CQL 1.5, which works out the next option from the rounds of a case (docs/travel.md)."""

from decimal import ROUND_FLOOR, Decimal

from banditree.errors import invalid
from banditree.files.engines import HORIZON_REACHED, PERSON_NEEDED, Limit, Move, Place, pages_of, places, plain
from banditree.files.plans import fingerprint
from banditree.plans.plan import Plan
from banditree.plans.wording import plan_text

VERSION = "1.0.0"
DECIMALS = 8  # No number of CQL has more.
LARGEST = 1e19  # It holds 28 digits, decimals among them.
AT = "Tuple { page Integer, place Integer, tallied Integer, total Decimal, never List<String> }"
ROUND = "Tuple { option String, outcome Decimal, harm Boolean }"


def library_name(plan: Plan) -> str:
    """The name of the library of a plan."""
    return f"BanditreePlan_{fingerprint(plan)}"


def cql_text(plan: Plan) -> str:
    """The text of a library: its rounds go in as a parameter, in their order; "Option" is what to give next."""
    every = places(plan, "CQL")
    _check_decimals(every)
    about = plan_text(plan).replace("*/", "* /")
    parts = [
        f"library {library_name(plan)} version '{VERSION}'",
        f"/*\n{about}\n*/",
        f"// Every round of the case so far; its outcome is null where it is missing.\nparameter Rounds List<{ROUND}>",
        "// The options that the case must not get from the start.\nparameter Without List<String>",
        _cases("Page for", "never List<String>", _pages(plan), "0"),
        _cases("Option at", "page Integer, place Integer", _options(every), "null as String"),
        _cases("Words at", "page Integer, place Integer", _words(every), "null as String"),
        _cases("Points at", "page Integer, place Integer, outcome Decimal", _points(every), "outcome"),
        _cases("Moved", f"at {AT}, tallied Integer, total Decimal", _moves(every), _at("at.page", "at.place")),
        _after(plan),
        f'define "Start": {_at(_page_for("Never"), "0", never=_quoted("Never"))}',
        'define "Never": Coalesce(Without, List<String>{})',
        'define "At": Rounds R aggregate A starting ("Start"): "After"(A, R)',
        f'define "Over": Count(Rounds R return all 1) >= {plan.horizon}',
        'define "Option": if "Over" then null else "Option at"("At".page, "At".place)',
        'define "Reason": case '
        f"when \"Over\" then '{HORIZON_REACHED}' when \"Option\" is null then '{PERSON_NEEDED}' else null end",
        'define "Says": if "Over" then null else "Words at"("At".page, "At".place)',
        *(f'define "Gives option {n}": "Option" = {string(arm)}' for n, arm in enumerate(plan.arms, start=1)),
    ]
    return "\n\n".join(parts) + "\n"


def string(text: str) -> str:
    """Text as CQL writes it.

    >>> print(string("St. John's wort"))
    'St. John\\'s wort'
    """
    for letter, written in (("\\", "\\\\"), ("'", "\\'"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(letter, written)
    return f"'{text}'"


def _cases(name: str, takes: str, cases: list[tuple[str, str]], otherwise: str) -> str:
    lines = [f"    when {when} then {then}" for when, then in cases]
    if not lines:
        return f'define function "{name}"({takes}): {otherwise}'
    return "\n".join([f'define function "{name}"({takes}):', "  case", *lines, f"    else {otherwise}", "  end"])


def _pages(plan: Plan) -> list[tuple[str, str]]:
    return [
        (
            " and ".join(
                [*(f"{string(a)} in never" for a in missing), *(f"not ({string(a)} in never)" for a in gives)]
            ),
            str(n),
        )
        for n, missing, gives in pages_of(plan)
        if missing or gives
    ]


def _options(every: list[Place]) -> list[tuple[str, str]]:
    return [(_here(place), string(place.arm)) for place in every if place.arm is not None]


def _words(every: list[Place]) -> list[tuple[str, str]]:
    return [(_here(place), string(place.says)) for place in every]


def _points(every: list[Place]) -> list[tuple[str, str]]:
    found = []
    for place in every:
        for one in place.bins:
            above = "" if one.above is None else f" and outcome > {_decimal(one.above)}"
            upto = "" if one.upto is None else f" and outcome <= {_decimal(one.upto)}"
            found.append((f"{_here(place)}{above}{upto}", _decimal(one.points)))
    return found


def _moves(every: list[Place]) -> list[tuple[str, str]]:
    found = []
    for place in every:
        here = f"at.page = {place.page} and at.place = {place.row}"
        for move in place.moves:
            tests = [_limit("tallied", move.rounds), _limit("Round(total, 8)", move.total)]
            found.append((" and ".join([here, *filter(None, tests)]), _led(place, move)))
    return found


def _led(place: Place, move: Move) -> str:
    if move.to is not None:
        return _at(str(place.page), str(move.to))
    total = "total" if move.capped is None else _decimal(move.capped)
    return _at("at.page", "at.place", "tallied", total)


def _after(plan: Plan) -> str:
    """An outcome counts where its round was given what the plan says; what did harm may lead to another page."""
    counts = (
        'round.outcome is not null and not (round.option in at.never) and round.option = "Option at"(at.page, at.place)'
    )
    points = 'at.total + "Points at"(at.page, at.place, round.outcome)'
    counted = (
        f'define function "Counted"(at {AT}, round {ROUND}):\n'
        f'  if {counts}\n    then "Moved"(at, at.tallied + 1, {points})\n    else at'
    )
    if plan.on_harm is None:
        return f'{counted}\n\ndefine function "After"(at {AT}, round {ROUND}): "Counted"(at, round)'
    turned = (
        f'define function "Turned"(at {AT}, never List<String>):\n'
        f'  if "Page for"(never) = at.page then {_at("at.page", "at.place", "at.tallied", "at.total", "never")}\n'
        f"  else {_at(_page_for('never', quoted=False), '0', never='never')}"
    )
    after = (
        f'define function "After"(at {AT}, round {ROUND}):\n'
        '  if round.harm is true then "Turned"("Counted"(at, round), at.never union { round.option })\n'
        '  else "Counted"(at, round)'
    )
    return f"{counted}\n\n{turned}\n\n{after}"


def _here(place: Place) -> str:
    return f"page = {place.page} and place = {place.row}"


def _at(page: str, place: str, tallied: str = "0", total: str = "0.0", never: str = "at.never") -> str:
    return f"Tuple {{ page: {page}, place: {place}, tallied: {tallied}, total: {total}, never: {never} }}"


def _page_for(never: str, quoted: bool = True) -> str:
    return f'"Page for"({_quoted(never) if quoted else never})'


def _quoted(name: str) -> str:
    return f'"{name}"'


def _limit(what: str, limit: Limit | None) -> str:
    if limit is None:
        return ""
    value = plain(limit.value) if what == "tallied" else _decimal(limit.value)
    return f"{what} {limit.sign} {value}"


def _decimal(value: float) -> str:
    """A number with a point and at most 8 decimals; what is forgiven in a total beyond them is in the rounding."""
    if abs(value) >= LARGEST:
        raise invalid("the totals of a plan", f"below {LARGEST:g} in CQL", value)
    text = format(Decimal(repr(value)).quantize(Decimal(1).scaleb(-DECIMALS), rounding=ROUND_FLOOR), "f").rstrip("0")
    return f"{text}0" if text.endswith(".") else text


def _check_decimals(every: list[Place]) -> None:
    cuts = {one.upto for place in every for one in place.bins if one.upto is not None}
    for value in sorted(cuts):
        if Decimal(repr(value)) != Decimal(_decimal(value)):
            raise invalid("the cuts of a plan", f"of at most {DECIMALS} decimals in CQL", value)
