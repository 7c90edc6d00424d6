"""Builds the documentation of this version as site/VERSION, beside those of the versions that are there already.

site/index.html leads to the newest, and site/versions.json lists all for the menu on every page.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from banditree.version import __version__

ROOT = Path(__file__).parents[1]


def newest_first(versions: list[str]) -> list[str]:
    """The versions by their numbers; a release stands before what came before it.

    >>> newest_first(["0.9.0", "0.10.0rc1", "0.10.0"])
    ['0.10.0', '0.10.0rc1', '0.9.0']
    """

    def key(version: str) -> tuple[list[int], bool, str]:
        numbers = re.match(r"[0-9.]*", version)[0]
        return [int(one) for one in numbers.split(".") if one], numbers == version, version

    return sorted(versions, key=key, reverse=True)


def publish(site: Path) -> None:
    """Write what leads to the versions in a folder."""
    versions = newest_first([page.parent.name for page in site.glob("*/index.html")])
    listed = [{"version": one, "title": one, "aliases": ["latest"] if one == versions[0] else []} for one in versions]
    (site / "versions.json").write_text(json.dumps(listed, indent=2) + "\n")
    to = f"{versions[0]}/index.html"
    leads = f'<meta charset="utf-8"><title>banditree</title><meta http-equiv="refresh" content="0; url={to}">'
    (site / "index.html").write_text(
        f'<!DOCTYPE html>\n<html lang="en">{leads}<a href="{to}">{versions[0]}</a></html>\n'
    )


if __name__ == "__main__":
    site = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "site").absolute()
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site / __version__)]
    subprocess.run(build, check=True, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    publish(site)
    print(f"The documentation is in {site}/index.html")
