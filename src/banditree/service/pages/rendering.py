"""Templates, files of the pages, and what every page shows."""

from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from banditree.figures.html import written
from banditree.languages.catalogue import codes
from banditree.languages.language import Language, preferred
from banditree.languages.retelling import retold
from banditree.nouns import counted, plural
from banditree.plans.words import Vocabulary, amount, capital, harm_noun
from banditree.service.edge.once import new_key
from banditree.service.problems import NotFound
from banditree.service.store.people import Person, Role, csrf_token

SEE_OTHER = 303
LANGUAGE = "language"  # The cookie that keeps which language somebody chose.
STATIC = {
    "plan.css": ("banditree.figures", "data/page.css", "text/css"),
    "plan.js": ("banditree.figures", "data/page.js", "text/javascript"),
    "console.css": ("banditree.service", "pages/static/console.css", "text/css"),
    "console.js": ("banditree.service", "pages/static/console.js", "text/javascript"),
    "studio.css": ("banditree.service", "pages/static/studio.css", "text/css"),
    "studio.js": ("banditree.service", "pages/static/studio.js", "text/javascript"),
    "app-worker.js": ("banditree.service", "pages/static/app-worker.js", "text/javascript"),
    "job.js": ("banditree.service", "pages/static/job.js", "text/javascript"),
    "icon.svg": ("banditree.service", "pages/static/icon.svg", "image/svg+xml"),
}

router = APIRouter(include_in_schema=False)


@router.get("/static/{name}")
async def static(name: str) -> Response:
    """A style sheet, a script or the icon."""
    if name not in STATIC:
        raise NotFound(f"There is no file {name}.")
    return static_file(name)


def static_file(name: str, headers: dict[str, str] | None = None) -> Response:
    """A file of the pages."""
    package, path, media = STATIC[name]
    return Response(_content(package, path), media_type=media, headers=headers)


@cache
def _content(package: str, path: str) -> bytes:
    return files(package).joinpath(path).read_bytes()


@cache
def _written(text: str) -> Markup:
    return Markup(written(text))


@cache
def environment() -> Environment:
    """The templates, each compiled once, with everything escaped that is not marked as safe."""
    made = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "plural": plural,
        "time": time_element,
        "day": day_element,
        "capital": capital,
        "harm_noun": harm_noun,
        "number": shown_number,
        "written": _written,
    }
    made.globals |= {"amount": amount, "counted": counted, "new_key": new_key}
    return made


def spoken(request: Request) -> Language:
    """The language of whoever looks at a page: the one chosen there, or else what the browser prefers."""
    chosen = request.cookies.get(LANGUAGE, "")
    return Language(chosen) if chosen in codes() else preferred(request.headers.get("accept-language", ""))


class Sayer:
    """What a template says things with: messages of the sources in a language, values and words in their places.

    >>> print(Sayer(Language("de"), {}).say("All {n} events", n=Markup("<b>3</b>")))
    Alle <b>3</b> Einträge
    """

    def __init__(self, language: Language, values: dict[str, object]) -> None:
        self.language, self.values = language, values

    def say(self, message: str, /, **values: object) -> Markup:
        """A message; what is put into it is escaped, but markup stays."""
        return escape(self.language.translated(message)).format(**{**self.values, **values})

    def count(self, n: int, one: str, many: str, /, **values: object) -> Markup:
        """A message about a number, {n}."""
        shown = self.language.digits(f"{n:,}")
        return escape(self.language.translated(one, many, n)).format(**{**self.values, "n": shown, **values})


def page(request: Request, template: str, status: int = 200, **content: Any) -> Response:
    """A page, with who looks at it and what that person may do."""
    person: Person | None = getattr(request.state, "person", None)
    role = 0 if person is None else int(person.role)
    language, words = spoken(request), content.get("words")
    sayer = Sayer(language, words.values if isinstance(words, Vocabulary) else {})
    common = {
        "person": person,
        "authentication": request.app.state.settings.authentication,
        "may_act": role >= Role.OPERATOR,
        "may_sign": role >= Role.SIGNER,
        "may_rule": role >= Role.ADMIN,
        "csrf": csrf_token(person.secret) if person is not None and person.by_cookie and person.secret else "",
        "here": request.url.path,
        "seen_at": str(request.url.path) + (f"?{request.url.query}" if request.url.query else "")
        if request.method == "GET"
        else parent(request.url.path),
        "language": language,
        "languages": {code: Language(code).meant("the name of this language", "English") for code in codes()},
        "say": sayer.say,
        "count": sayer.count,
        "meant": language.meant,
        "told": partial(retold, language),
        "digits": language.digits,
        "percent": lambda share: language.say("{number}%", number=language.digits(f"{100 * share:.0f}")),
        "alarm_said": lambda alarm: alarm.get("said", {}).get(language.code, alarm["sentence"]),
        "link": Markup('<a href="{}">{}</a>').format,
        "strong": Markup("<strong>{}</strong>").format,
        "code": Markup("<code>{}</code>").format,
        "most_upload": request.app.state.settings.max_upload,
    }
    return HTMLResponse(environment().get_template(template).render({**common, **content}), status)


def problem_page(request: Request, status: int, message: str) -> Response:
    """An error as a page; who is not logged in is asked to."""
    if status == 401:
        back = request.url.path if request.method == "GET" else parent(request.url.path)
        unsaved = "" if request.method == "GET" else "&unsaved=yes"
        return RedirectResponse(f"/login?next={quote(back)}{unsaved}", SEE_OTHER)
    return page(request, "problem.html", status, message=message, unchanged=status < 500, back=parent(request.url.path))


def wants_page(request: Request) -> bool:
    """Whether an error is to be shown to a person: not of the API, and the browser asked for a page."""
    return not request.url.path.startswith("/api/") and "text/html" in request.headers.get("accept", "")


def parent(path: str) -> str:
    """The page to go back to from an action.

    >>> parent("/cases/p-17/tell"), parent("/plans"), parent("/studio/4f1c/know"), parent("/nowhere")
    ('/cases/p-17', '/plans', '/studio/4f1c', '/')
    """
    parts = path.strip("/").split("/")
    if parts[0] not in ("cases", "plans", "collections", "studio", "jobs", "users", "tokens", "login", "password"):
        return "/"
    return "/" + "/".join(parts[:2] if parts[0] in ("cases", "studio") and len(parts) > 2 else parts[:1])


def time_element(at: str) -> Markup:
    """A time in UTC, which the script puts into the reader's time zone.

    >>> print(time_element("2026-03-01T09:30:00.123456Z"))
    <time datetime="2026-03-01T09:30:00Z">2026-03-01 09:30 UTC</time>
    """
    return Markup('<time datetime="{}Z">{} {} UTC</time>').format(at[:19], at[:10], at[11:16])


def day_element(day: str) -> Markup:
    """A day, which the script writes as the reader does.

    >>> print(day_element("2026-05-04"))
    <time datetime="2026-05-04">2026-05-04</time>
    """
    return Markup('<time datetime="{0}">{0}</time>').format(day)


def shown_number(value: float) -> str:
    """A number for people.

    >>> shown_number(3.0), shown_number(2.25), shown_number(1234567.0)
    ('3', '2.25', '1,234,567')
    """
    return f"{value:,.0f}" if value == int(value) else f"{value:,.6g}"
