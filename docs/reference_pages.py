"""The reference pages, made from the code whenever the site is built (a hook of MkDocs): commands, API, files, HTTP."""

import inspect
import json
import re
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from banditree.settings import choices, default_of, limits

DOCS = Path(__file__).parent
TRY = "start/try.html"  # The app of the plan on the first page; made when the site is built.
ROOMS = {  # in the order of the sentence that says what banditree does
    "tasks": "What is known",
    "cases": "What was seen",
    "training": "Where collections come from",
    "theory": "Theory",
    "plans": "Plans",
    "trees": "The paper's plans",
    "certificates": "Certificates",
    "protocols": "Practical plans",
    "policies": "Following a plan, and other policies",
    "simulation": "Simulation",
    "evaluation": "What a plan is worth on other cases",
    "monitoring": "What a plan promised against what is observed",
    "files": "Files",
    "figures": "Figures",
    "experiments": "Experiments",
    "reports": "Reports",
    "service": "Service",
    "progress": "Progress",
    "errors": "Errors",
}
MORE = {  # modules and names that are documented without being public names of the package
    "tasks": [
        "banditree.tasks.instances.hard",
        "banditree.tasks.instances.linear",
        "banditree.tasks.instances.rand",
        "banditree.tasks.separation.Sense",
        "banditree.tasks.separation.separations",
    ],
    "plans": ["banditree.plans.plan.Form", "banditree.plans.plan.SafetyRule"],
    "trees": ["banditree.trees.tree.LazyTree", "banditree.trees.optimal.optimal_depth"],
    "progress": ["banditree.progress.goes_on", "banditree.progress.named_part"],
    "training": [
        "banditree.training.logs.read_log",
        "banditree.training.statistics.Statistics",
        "banditree.training.statistics.merge_statistics",
        "banditree.training.collection.to_collection",
        "banditree.training.simulators.train",
        "banditree.training.simulators.train_sequentially",
        "banditree.training.estimates.estimate",
        "banditree.training.classes.find_classes",
        "banditree.training.merging.merge",
    ],
    "certificates": [
        "banditree.certificates.certify.course",
        "banditree.certificates.certify.regret_bound",
    ],
    "policies": [
        "banditree.policies.base.Policy",
        "banditree.policies.base.Outcome",
        "banditree.policies.registry.policy_named",
        "banditree.policies.alarm.with_alarm",
    ],
    "simulation": [
        "banditree.simulation.results.summaries",
        "banditree.simulation.results.mean_band",
        "banditree.simulation.results.worst_band",
        "banditree.simulation.frames.as_pandas",
        "banditree.simulation.frames.as_polars",
    ],
    "evaluation": ["banditree.evaluation.worth.worth_of_kinds", "banditree.evaluation.worth.Worth"],
    "theory": [
        "banditree.theory.coefficients.deterministic_coefficient",
        "banditree.theory.coefficients.soft_coefficient",
        "banditree.theory.randomised.randomised_coefficient",
        "banditree.theory.decision_estimation.dec",
        "banditree.theory.graves_lai.graves_lai",
    ],
    "service": ["banditree.service.client.Client"],
    "figures": ["banditree.figures.curves.draw_curves", "banditree.figures.progress.progress_bar"],
    "reports": [
        "banditree.training.learning.learn",
        "banditree.reports.separation_table.choices",
    ],
}

SETTINGS = (
    "banditree.evaluation.settings.FitSettings",
    "banditree.protocols.settings.PlanSettings",
    "banditree.reports.settings.CertifySettings",
    "banditree.evaluation.settings.EvaluateSettings",
    "banditree.monitoring.settings.MonitorSettings",
    "banditree.monitoring.settings.CompareSettings",
    "banditree.training.settings.LearnSettings",
    "banditree.training.settings.RelearnSettings",
    "banditree.simulation.settings.SimulateSettings",
    "banditree.service.settings.Settings",
)


def commands_page() -> str:
    """Every command with its arguments and options, as `--help` has them."""
    import typer

    from banditree.cli.app import app

    main: Any = typer.main.get_command(app)
    listed: dict[str, Any] = {}
    for name, command in main.commands.items():
        group = getattr(command, "commands", None)
        listed |= {name: command} if group is None else {f"{name} {each}": one for each, one in group.items()}
    lines = [
        "# Commands",
        "",
        "Every command has `--help`. Bad input prints one line and exits with 2; Ctrl-C exits with 130.",
    ]
    lines += ["Commands that print results print JSON for programs with `--json`.", ""]
    lines += [
        f"- [`banditree {name}`](#banditree-{name.replace(' ', '-')}): {_first(command.help)}"
        for name, command in listed.items()
    ]
    for name, command in listed.items():
        lines += ["", f"## banditree {name}", "", *_command_lines(command)]
    return "\n".join(lines) + "\n"


def _first(text: str) -> str:
    return " ".join(text.strip().split("\n\n")[0].split())


def _command_lines(command: Any) -> Iterator[str]:
    about, _, example = command.help.strip().partition("Example:")
    for paragraph in about.strip().split("\n\n"):
        yield " ".join(paragraph.split())
        yield ""
    if example:
        yield from ("```", *(line.strip() for line in example.strip().splitlines()), "```", "")
    yield from ("| argument or option | what it is | default |", "| --- | --- | --- |")
    typed = inspect.signature(command.callback).parameters
    for parameter in command.params:
        about, default = _described(parameter, typed[parameter.name].annotation), _default(parameter)
        yield f"| {_spelled(parameter)} | {_cell(about)} | {_cell(default)} |"


def _spelled(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.name.upper()}`"
    return ", ".join(f"`{option}`" for option in [*parameter.opts, *parameter.secondary_opts])


def _described(parameter: Any, annotation: Any) -> str:
    named = choices(annotation)
    one_of = f" One of {', '.join(f'`{name}`' for name in named)}." if len(named) > 1 else ""
    return f"{parameter.help or ''}{one_of}"


def _default(parameter: Any) -> str:
    value = parameter.default
    if parameter.required:
        return "must be given"
    if value is None or value is False or value == "" or value == () or repr(value).startswith("Sentinel"):
        return ""
    return f"`{getattr(value, 'value', value)}`" if value is not True else "yes"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def api_page() -> str:
    """Every public name, by room, for mkdocstrings to fill in."""
    import banditree

    homes: dict[str, list[str]] = {room: [] for room in ROOMS}
    for name in banditree.__all__:
        home = banditree._HOMES[name]
        homes[home.split(".")[1]].append(f"{home}.{name}")
    lines = [
        "# API",
        "",
        "Names in the first part of each section come from `import banditree`. Shape letters are fixed: M tasks,",
    ]
    lines += ["K arms, d context features, H rounds, R runs, N boxes.", ""]
    for room, title in ROOMS.items():
        names = homes[room] + [name for name in MORE.get(room, []) if name not in homes[room]]
        if names:
            lines += [f"## {title}", ""]
            for name in names:
                lines += [f"::: {name}", ""]
    return "\n".join([*lines, *_settings_lines()]).rstrip() + "\n"


def _settings_lines() -> Iterator[str]:
    """The settings of every action, from their classes."""
    yield from ("## Settings", "", "Functions take them as keywords, commands as options, jobs as JSON.", "")
    for name in SETTINGS:
        module, _, title = name.rpartition(".")
        settings = getattr(import_module(module), title)
        yield from (f"### {title}", "", settings.__doc__.strip(), "", "| setting | what it is | default |")
        yield "| --- | --- | --- |"
        for field, about in settings.model_fields.items():
            rule = limits(about) or ", ".join(f"`{one}`" for one in choices(about.annotation))
            default = getattr(default_of(about), "value", default_of(about))
            shown = "must be given" if about.is_required() else "" if default is None else f"`{default!r}`"
            yield f"| `{field}` | {_cell(about.description)}{rule and f' ({rule})'} | {_cell(shown)} |"
        yield ""


def files_page() -> str:
    """The top-level fields of every kind of file, from its JSON Schema."""
    lines = [
        "# File formats",
        "",
        "All files are JSON, written whole or not at all, with the version of their format in `schema`.",
    ]
    lines += [
        "Files of an older version are read; files of a newer one are refused with what to do. Collections may also be",
        "a plain CSV matrix: see [collections](../collections.md#files).",
        "",
    ]
    for path in sorted((DOCS / "schemas").glob("*.schema.json")):
        schema = json.loads(path.read_text(encoding="utf-8"))
        kind = path.name.split(".")[0]
        lines += [f"## {kind}", "", f"{schema.get('description', '')} [JSON Schema](../schemas/{path.name})", ""]
        lines += ["| field | type | what it is |", "| --- | --- | --- |"]
        needed = schema.get("required", [])
        for field, about in schema["properties"].items():
            star = "" if field in needed else " (optional)"
            lines.append(f"| `{field}`{star} | {_type(about, schema)} | {_cell(about.get('description', ''))} |")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _type(about: dict[str, Any], schema: dict[str, Any]) -> str:
    if "const" in about:
        return f"`{about['const']}`"
    if "$ref" in about:
        return about["$ref"].rsplit("/", 1)[1]
    for key in ("anyOf", "oneOf"):
        if key in about:
            return " or ".join(dict.fromkeys(_type(one, schema) for one in about[key]))
    if about.get("type") == "array":
        return f"list of {_type(about.get('items', {}), schema)}"
    return str(about.get("type", "any"))


def http_page() -> str:
    """Every route of the service, from its OpenAPI description."""
    from banditree.service.app import create_app
    from banditree.service.settings import Settings

    with tempfile.TemporaryDirectory() as folder:
        app = create_app(Settings(database=str(Path(folder) / "none.db")))
        described = app.openapi()
    lines = [
        "# HTTP API",
        "",
        "What `banditree serve` answers; [the service](../service.md) says what it is for, who may do what, and every",
        'setting. Answers are `{"data": ...}`, errors `{"error": {"code", "message"}}`. The running service has the',
        "whole description, with the schema of every answer, at `/api/v1/openapi.json`.",
        "",
    ]
    tagged: dict[str, list[str]] = {}
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            tagged.setdefault(route["tags"][0], []).extend(_route_lines(f"{method.upper()} {path}", route, described))
    for tag, routes in tagged.items():
        lines += [f"## {tag}", "", *routes]
    return "\n".join(lines).rstrip() + "\n"


def _route_lines(title: str, route: dict[str, Any], described: dict[str, Any]) -> Iterator[str]:
    yield from (f"### `{title}`", "", _escape(route.get("description", "")), "")
    fields = [
        (one["name"], one["in"], one.get("schema", {}), one.get("required")) for one in route.get("parameters", [])
    ]
    body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    schema = described["components"]["schemas"].get(body.get("$ref", "/").rsplit("/", 1)[1], {})
    for name, about in schema.get("properties", {}).items():
        fields.append((name, "body", about, name in schema.get("required", [])))
    if fields:
        yield from ("| field | in | type |", "| --- | --- | --- |")
        for name, place, about, required in fields:
            yield f"| `{name}`{'' if required else ' (optional)'} | {place} | {_cell(_type(about, schema))} |"
        yield ""


def _escape(text: str) -> str:
    """Text that Markdown shows as it is."""
    return re.sub(r"([\\`*_<>\[\]|])", r"\\\1", " ".join(text.split()))


PAGES = {
    "reference/commands.md": commands_page,
    "reference/api.md": api_page,
    "reference/files.md": files_page,
    "reference/http.md": http_page,
}


@cache
def page(name: str) -> str:
    """The text of one reference page."""
    return PAGES[name]()


def on_files(files: Any, config: Any) -> Any:
    """Adds the reference pages to those of the site, and a plan that can be followed there; MkDocs calls this."""
    from mkdocs.structure.files import File

    from banditree.figures.app import app_html
    from banditree.service.demo import clinic_protocol

    files.append(File.generated(config, TRY, content=app_html(clinic_protocol())))
    for name in PAGES:
        files.append(File.generated(config, name, content=page(name)))
    return files
