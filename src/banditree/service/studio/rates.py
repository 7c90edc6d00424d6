"""Rates that people type or bring as a table: one row per kind, one column per option."""

import re
from collections.abc import Sequence
from typing import Any

from banditree.errors import InvalidInput
from banditree.files.matrix import CHANGE, HARM, PRICE, UNIT, VALUE, Row, is_about_harm, is_about_worth
from banditree.files.worth import with_rows
from banditree.languages.language import message
from banditree.service.problems import Refused
from banditree.service.studio.content import MOST_GRID, Rates, Reading
from banditree.service.studio.looking import guess_roles
from banditree.service.studio.tables import shown_rows
from banditree.service.studio.understanding import understood
from banditree.tasks.collection import Collection
from banditree.tasks.harm import with_harm

# A column with one of these words in its name has the share of each kind among cases.
SHARES = ("share", "anteil", "häufigkeit", "proportion", "proporción", "part des cas", "fréquence")

A_SUCCESS = f"{VALUE}a success"


def rates_in(content: bytes, file: str) -> Rates | None:
    """The rates in a table that was kept; None where it is a log."""
    read = understood(content, Reading())
    table = read.table
    roles = guess_roles(table.column_names)
    if table.num_rows > MOST_GRID or table.num_columns > MOST_GRID + 2 or (roles.arm and roles.reward):
        return None
    rows = shown_rows(table, range(table.num_rows))
    rates = _rates(list(table.column_names), rows, file)
    return rates and rates.model_copy(update={"notes": read.notes})


def _rates(names: list[str], rows: list[list[str]], file: str) -> Rates | None:
    """The table as rates, if every cell is a rate, apart from a first column of names, one of shares, and rows on what
    rounds are worth and on harm."""
    said = {row[0].strip().lower(): row for row in rows if is_about_worth(row[0].strip())}
    rows = [row for row in rows if row[0].strip().lower() not in said]
    if not rows or said.keys() - {PRICE, A_SUCCESS, CHANGE, UNIT}:
        return None
    harm = [row for row in rows if row[0].strip().lower() == HARM]
    rows = [row for row in rows if row not in harm]
    if any(is_about_harm(row[0]) for row in rows) or len(harm) > 1:
        raise Refused('A table may have one row "harm", for all kinds. Remove the others, or use the command line.')
    named = any(_rate(row[0]) is None for row in rows)
    kinds = [row[0] for row in rows] if named else [""] * len(rows)
    places = [place for place in range(int(named), len(names)) if not is_share(names[place])]
    cells = [[row[place] for place in places] for row in rows]
    if len(places) < 2 or any(_rate(cell) is None for row in cells for cell in row):
        return None
    share = next((place for place, name in enumerate(names) if is_share(name)), None)
    shares = [""] * len(rows) if share is None else [row[share] for row in rows]
    by_option = {name: [row[place] for place in places] for name, row in said.items()}
    once = {name: next((cell for cell in row[1:] if cell.strip()), "") for name, row in said.items()}
    return Rates(
        options=[names[place] for place in places],
        kinds=kinds,
        cells=cells,
        shares=shares,
        harm=[row[place] for row in harm for place in places],
        prices=by_option.get(PRICE, []),
        values=by_option.get(A_SUCCESS, []),
        change=once.get(CHANGE, ""),
        unit=once.get(UNIT, ""),
        source=file[:100],
    )


def is_share(name: str) -> bool:
    """Whether a column has the shares of kinds, by its name.

    >>> is_share("Share of cases"), is_share("Anteil"), is_share("Shared care")
    (True, True, False)
    """
    return any(re.search(rf"\b{word}\b", name.lower()) for word in SHARES)


def _rate(cell: str) -> float | None:
    """A rate between 0 and 1, also as a percentage; None for what is none.

    >>> _rate("0.85"), _rate("85%"), _rate("0,85"), _rate("85"), _rate("")
    (0.85, 0.85, 0.85, None, None)
    """
    text = cell.strip().replace(",", ".")
    try:
        value = float(text.rstrip("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


def collection_of_rates(rates: Rates) -> Collection:
    """The collection of some rates; what is missing or wrong is said with its place."""
    kinds = [name.strip() or message(f"kind {number}") for number, name in enumerate(rates.kinds, 1)]
    options = [name.strip() for name in rates.options]
    if empty := [number for number, name in enumerate(options, 1) if not name]:
        raise Refused(f"Option {empty[0]} has no name. Give it one, or remove it.")
    means = [
        [_needed(cell, f"{kind}, {option}") for cell, option in zip(row, options, strict=True)]
        for kind, row in zip(kinds, rates.cells, strict=True)
    ]
    radius = _needed(rates.margin, message("How far rates may be off")) if rates.margin.strip() else 0.0
    source = message(f"known, from {rates.source}") if rates.source else message("known, typed in")
    try:
        shares = _shares(rates.shares, kinds)
        about: dict[str, Any] = {"radius": radius, "shares": shares, "provenance": source}
        known = with_rows(Collection.bernoulli(means, tasks=kinds, arms=options, **about), _on_worth(rates))
        return known if not any(cell.strip() for cell in rates.harm) else with_harm(known, _harm(rates, options))
    except InvalidInput as problem:
        raise Refused(str(problem)) from None


def _on_worth(rates: Rates) -> list[Row]:
    """What was said about worth, as rows of a table; a price or value that is missing counts as 0."""
    none = [""] * (len(rates.options) - 1)
    given = {PRICE: rates.prices, A_SUCCESS: rates.values, CHANGE: [rates.change, *none], UNIT: [rates.unit, *none]}
    return [
        Row(f"What rounds are worth, {name}", [name, *(_plain(cell, name) for cell in cells)])
        for name, cells in given.items()
        if any(cell.strip() for cell in cells)
    ]


def _plain(cell: str, name: str) -> str:
    """A cell as `files.worth` reads it."""
    text = cell.strip()
    if name == UNIT or (name == CHANGE and not text):
        return text
    return text.replace(",", ".") or "0"


def _harm(rates: Rates, options: Sequence[str]) -> dict[str, float]:
    """The harm of each option; one that is left empty is asked for."""
    cells = [*rates.harm, *[""] * len(options)]
    return {option: _needed(cell, message(f"Harm of {option}")) for option, cell in zip(options, cells, strict=False)}


def problem_of_rates(rates: Rates) -> str:
    """What is wrong with some rates, or ""."""
    try:
        collection_of_rates(rates)
    except Refused as problem:
        return problem.message
    return ""


def _needed(cell: str, place: str) -> float:
    value = _rate(cell)
    if value is None:
        shown = message(f"Got {cell.strip()[:30]!r}.") if cell.strip() else message("It is empty.")
        raise Refused(f"{place}: a rate must be a number from 0 to 1, as in 0.25, or a percentage. {shown}")
    return value


def _shares(cells: Sequence[str], kinds: Sequence[str]) -> list[float] | None:
    """The shares as parts of one; None where none was typed."""
    if not any(cell.strip() for cell in cells):
        return None
    found = [_needed(cell, message(f"Share of {kind}")) for cell, kind in zip(cells, kinds, strict=True)]
    if not sum(found) > 0:
        raise Refused("Shares of kinds must not all be 0.")
    return [share / sum(found) for share in found]


def resized(rates: Rates, kinds: int, options: int) -> Rates:
    """The grid with the given numbers of rows and columns; what was typed stays where there is room."""
    kinds, options = (min(max(n, 2), MOST_GRID) for n in (kinds, options))
    names = [*rates.options, *(_letter(n) for n in range(len(rates.options), options))][:options]
    rows = [[*row, *[""] * options][:options] for row in rates.cells]
    return rates.model_copy(
        update={
            "options": names,
            "kinds": [*rates.kinds, *[""] * kinds][:kinds],
            "cells": [*rows, *([""] * options for _ in range(kinds))][:kinds],
            "shares": [*rates.shares, *[""] * kinds][:kinds],
            "prices": [*rates.prices, *[""] * options][:options],
            "values": [*rates.values, *[""] * options][:options],
            "harm": [*rates.harm, *[""] * options][:options],
        }
    )


def _letter(number: int) -> str:
    return chr(ord("A") + number) if number < 26 else f"option {number + 1}"
