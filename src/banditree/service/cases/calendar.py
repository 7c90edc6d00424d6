"""The next visits as a calendar file (iCalendar, RFC 5545), which every calendar program reads."""

import re
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from typing import Any

MOST_BYTES = 75  # A line of a calendar file has at most this many bytes.


def calendar_text(visits: Iterable[Mapping[str, Any]], address: str, at: str) -> str:
    r"""One event of a whole day per visit. visits: lines of the worklist that have a day. address: of the service.

    >>> visit = {"id": "p-17", "label": "bed 2, left", "gives": "B", "due": "2026-05-04", "owner": "ada"}
    >>> text = calendar_text([visit], "https://clinic.example/", "2026-05-05T09:30:00.000000Z")
    >>> [line for line in text.splitlines() if line.startswith(("DTSTART", "DTEND", "SUMMARY"))]
    ['DTSTART;VALUE=DATE:20260504', 'DTEND;VALUE=DATE:20260505', 'SUMMARY:bed 2\\, left p-17: B (overdue)']
    """
    stamp = re.sub(r"[-:]|\.\d+", "", at)
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//banditree//visits//EN", "X-WR-CALNAME:banditree"]
    for visit in visits:
        lines += ["BEGIN:VEVENT", *_event(visit, address.rstrip("/"), stamp, at[:10]), "END:VEVENT"]
    return "".join(f"{_folded(line)}\r\n" for line in [*lines, "END:VCALENDAR"])


def _event(visit: Mapping[str, Any], address: str, stamp: str, today: str) -> list[str]:
    day = date.fromisoformat(visit["due"])
    name = f"{visit['label']} {visit['id']}" if visit["label"] else visit["id"]
    what = f"{name}: {visit['gives']}" if visit["gives"] else name
    late = " (overdue)" if visit["due"] < today else ""
    page = f"{address}/cases/{visit['id']}"
    about = f"{visit['owner']}\n{page}"
    return [
        f"UID:{visit['id']}@banditree",
        f"DTSTAMP:{stamp}",
        f"DTSTART;VALUE=DATE:{day:%Y%m%d}",
        f"DTEND;VALUE=DATE:{day + timedelta(1):%Y%m%d}",
        f"SUMMARY:{_text(what)}{late}",
        f"DESCRIPTION:{_text(about)}",
        f"URL:{page}",
        "TRANSP:TRANSPARENT",
    ]


def _text(value: str) -> str:
    """A text as it stands in a calendar file: nothing in it can begin a line of its own."""
    plain = "".join(letter if letter.isprintable() or letter == "\n" else " " for letter in value)
    return re.sub(r"([\\;,])", r"\\\1", plain).replace("\n", "\\n")


def _folded(line: str) -> str:
    r"""A long line as several: each further one begins with a blank, and no letter is torn apart.

    >>> _folded("é" * 80).encode().split(b"\r\n ")[0].decode() == "é" * 37
    True
    """
    parts: list[str] = []
    part = ""
    for letter in line:
        if len((part + letter).encode()) > MOST_BYTES - bool(parts):
            parts.append(part)
            part = ""
        part += letter
    return "\r\n ".join([*parts, part])
