"""The pages: nothing public left out, nothing stale, and a site that builds without warnings or outside help."""

import contextlib
import importlib.util
import inspect
import io
import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import banditree
from banditree.cli import main
from banditree.cli.app import app
from banditree.policies.registry import POLICIES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
REFRESH = "Run: python docs/make_pages.py"


def module_of(name):
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REFERENCE = module_of("reference_pages")


@pytest.fixture(scope="module")
def maker():
    return module_of("make_pages")


def text_of(page):
    return REFERENCE.page(page) if page in REFERENCE.PAGES else (DOCS / page).read_text(encoding="utf-8")


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL)


def test_every_public_name_is_documented():
    documented = {
        name.rsplit(".", 1)[1] for name in re.findall(r"^::: (\S+)$", text_of("reference/api.md"), re.MULTILINE)
    }
    assert set(banditree.__all__) <= documented
    for name in banditree.__all__:
        value = getattr(banditree, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert inspect.getdoc(value), name


def test_reference_pages_are_made_and_not_stored():
    assert [page for page in REFERENCE.PAGES if (DOCS / page).exists()] == []


def test_every_name_of_the_api_page_exists():
    for full in re.findall(r"^::: (\S+)$", text_of("reference/api.md"), re.MULTILINE):
        module, name = full.rsplit(".", 1)
        assert hasattr(importlib.import_module(module), name), full


def test_every_command_and_option_is_documented_and_says_what_it_does():
    page = text_of("reference/commands.md")
    every = typer.main.get_command(app).commands
    groups = {name: group.commands for name, group in every.items() if hasattr(group, "commands")}
    within = {f"{group} {name}": one for group, commands in groups.items() for name, one in commands.items()}
    for name, command in {**{name: one for name, one in every.items() if name not in groups}, **within}.items():
        section = page.partition(f"\n## banditree {name}\n")[2].partition("\n## ")[0]
        assert section, name
        assert "Example:" in command.help, f"{name} has no example in its help"
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.name} has no help"
            for option in parameter.opts if parameter.param_type_name == "option" else [parameter.name.upper()]:
                assert f"`{option}`" in section, f"{name} {option}"


def test_every_policy_is_named_on_some_page():
    everything = "".join(map(text_of, PAGES))
    assert [name for name in POLICIES if f"`{name}`" not in everything] == []


def test_every_kind_of_file_has_its_schema_on_the_page():
    for schema in (DOCS / "schemas").glob("*.json"):
        assert f"schemas/{schema.name}" in text_of("reference/files.md")
        for field in json.loads(schema.read_text(encoding="utf-8"))["properties"]:
            assert f"`{field}`" in text_of("reference/files.md")


def anchors(page):
    titles = re.findall(
        r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text_of(page), flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    )
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", title).strip().lower()) for title in titles}


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", *(f"docs/{page}" for page in PAGES)])
def test_links_between_pages_lead_somewhere(page):
    made = {DOCS / name for name in (*REFERENCE.PAGES, REFERENCE.TRY)}
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", (ROOT / page).read_text(encoding="utf-8")):
        there = Path(os.path.normpath((ROOT / page).parent / target))
        assert "://" in target or there in made or there.exists(), target


@pytest.mark.parametrize("page", PAGES)
def test_links_to_sections_lead_somewhere(page):
    for path, anchor in re.findall(r"\]\(([^)#\s:]*)#([^)\s]+)\)", text_of(page)):
        target = os.path.normpath(Path(page).parent / path) if path else page
        assert anchor in anchors(target), f"{path}#{anchor}"


@pytest.mark.parametrize("page", ["index.md", "protocols.md", "start/reading-a-plan.md"])
def test_pages_show_the_plan_of_the_readme(page):
    """One clinic and one plan on all pages; `tests/golden` compares the README's with `banditree demo`."""
    plan = re.search(
        r"^``` text\n(1\. .*?)^```", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert plan
    assert plan[1] in text_of(page)


def test_files_that_the_reliability_page_names_exist():
    named = re.findall(r"`(tests/[\w/.]+)`", text_of("reference/reliability.md"))
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert len(named) > 20


def test_benchmarks_that_pages_name_exist_and_are_named():
    everything = "".join(map(text_of, PAGES))
    named = set(re.findall(r"benchmarks/(bench_\w+\.py)", everything))
    assert named == {path.name for path in (ROOT / "benchmarks").glob("bench_*.py")}


@pytest.mark.parametrize("page", PAGES)
def test_every_page_can_be_reached_from_the_menu(page):
    assert re.search(rf": {re.escape(page)}$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "bash")])
def test_commands_on_the_pages_run(page, tmp_path, monkeypatch):
    """Python and bash blocks in their order; in a bash block, every line that begins with `banditree`."""
    monkeypatch.chdir(tmp_path)
    names = {}
    printed = io.StringIO()
    for language, block in re.findall(r"^```(python|bash)\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL):
        if language == "python":
            exec(compile(block, page, "exec"), names)
            continue
        for line in block.replace("\\\n", " ").splitlines():
            if line.startswith("banditree "):
                with contextlib.redirect_stdout(printed), pytest.raises(SystemExit) as ended:
                    main(shlex.split(line)[1:])
                assert ended.value.code == 0, line
    for shown in blocks(page, "(?:text| {.text .wrap})"):
        for line in filter(str.strip, shown.splitlines()):
            assert line.strip() in printed.getvalue(), line


@pytest.fixture(scope="module")
def played(maker, tmp_path_factory, quick_limits):
    """What both examples print and find, their limits looked for in full, and the folder with their pictures."""
    from banditree.reports import limits

    folder = tmp_path_factory.mktemp("pictures")
    with pytest.MonkeyPatch.context() as patch:
        for name, thorough in quick_limits.items():
            patch.setattr(limits, name, thorough)
        return {name: maker.play(name, folder / f"{name}.svg") for name in maker.EXAMPLES}, folder


@pytest.mark.slow
@pytest.mark.parametrize("name", ["crackers", "incentives"])
def test_examples_print_what_their_pages_show(played, name):
    plays, folder = played
    assert blocks(f"examples/{name}.md", "text")[0] == plays[name][0], REFRESH
    assert (folder / f"{name}.svg").stat().st_size > 10_000
    assert (DOCS / "images" / f"{name}.svg").exists()


@pytest.mark.slow
def test_the_plan_for_crackers_helps_and_the_one_for_incentives_does_not(played):
    crackers, incentives = (played[0][name][1] for name in ("crackers", "incentives"))
    rate = {name: hits.sum() / crackers["bought"].sum() for name, hits in crackers["found"].items()}
    assert rate["protocol, 3 lines"] > rate["best-selling brand"] + 0.2
    assert rate["protocol, 3 lines"] > rate["tree, 2 kinds"] + 0.2
    assert max(rate.values()) == rate["favourite, in hindsight"]
    assert incentives["plan"].n_tests == 0  # one offer is best in both kinds
    assert incentives["value"].tailored - incentives["value"].everyone < 0.01


def test_versions_of_the_site_stand_side_by_side(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    from make_site import publish

    for version in ("0.9.0", "0.10.0"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "index.html").touch()
    publish(tmp_path)
    listed = json.loads((tmp_path / "versions.json").read_text())
    assert [(one["version"], one["aliases"]) for one in listed] == [("0.10.0", ["latest"]), ("0.9.0", [])]
    assert "url=0.10.0/index.html" in (tmp_path / "index.html").read_text()


@pytest.mark.slow
def test_the_site_builds_without_warnings_and_asks_nobody_for_anything(tmp_path):
    build = [sys.executable, ROOT / "docs" / "make_site.py", tmp_path / "site"]
    done = subprocess.run(
        build, cwd=ROOT, capture_output=True, text=True, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    for page in (tmp_path / "site").rglob("*.html"):
        loaded = re.findall(
            r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(https?:[^\s\">]+)", page.read_text(encoding="utf-8")
        )
        assert loaded == [], page


def test_every_hop_of_the_journeys_exists():
    """`room.module.name` on the page of the house is a function or class; `room.module` is a module."""
    hops = re.findall(r"`((?:" + "|".join(REFERENCE.ROOMS) + r"|cli)\.[\w.]+)`", text_of("design/house.md"))
    assert len(hops) > 20
    for hop in hops:
        assert pkgutil.resolve_name(f"banditree.{hop}") is not None, hop
