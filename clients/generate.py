"""Makes the clients for TypeScript and Python from the description of the HTTP API: `make clients`.

What the generators write (28,000 lines) is not kept in the repository: it follows from the code, is made in a minute,
and would hide every other change. What is written by hand stands beside it: how to connect, and an example.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from banditree.service.app import create_app
from banditree.service.settings import Settings
from banditree.service.store.database import Database
from banditree.service.store.people import Role, add_user, hashed

HERE = Path(__file__).parent
GENERATOR = "openapi-python-client==0.29.1"
OWN = Path(sys.prefix) / "generators"  # It needs older libraries than ours, so it has an environment of its own.


def description() -> str:
    """The description of the API where people log in, which says what each request must carry."""
    with TemporaryDirectory() as folder:
        settings = Settings(database=f"{folder}/none.db", authentication=True)
        opened = Database(settings)
        with opened.write() as connection:
            add_user(connection, "clients", "nobody-logs-in", Role.ADMIN, hashed("for one moment only"))
        opened.close()
        return json.dumps(create_app(settings).openapi())


def typescript(described: Path, folder: Path) -> None:
    """The TypeScript client, type-checked and compiled."""
    run("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent", cwd=folder)
    said = run("npx", "openapi-typescript", described, "-o", "schema.d.ts", "--default-non-nullable=false", cwd=folder)
    if "warn" in said.replace("npm warn", ""):
        sys.exit(f"openapi-typescript warns:\n{said}")
    run("npx", "tsc", cwd=folder)


def python(described: Path, folder: Path) -> None:
    """The Python client."""
    if not (OWN / "bin" / "openapi-python-client").exists():
        run(sys.executable, "-m", "venv", OWN)
        run(OWN / "bin" / "python", "-m", "pip", "install", "--quiet", GENERATOR)
    package = folder / "banditree_client"
    asked = ("generate", "--path", described, "--output-path", package, "--meta", "none", "--overwrite")
    run(OWN / "bin" / "openapi-python-client", *asked, "--fail-on-warning")
    (package / "py.typed").touch()


def run(*command: object, cwd: Path | None = None) -> str:
    """What a program said, which must succeed; our pinned versions do not bind it, and it finds what came with it."""
    free = {**os.environ, "PIP_CONSTRAINT": "", "PATH": f"{OWN / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    found = subprocess.run([*map(str, command)], cwd=cwd, env=free, capture_output=True, text=True, check=False)
    if found.returncode:
        sys.exit(f"{command[0]} said:\n{found.stdout}{found.stderr}")
    return found.stdout + found.stderr


def main(into: Path = HERE) -> None:
    """Make both, in `clients` or in a copy of it."""
    for name in ("typescript", "python"):
        if into != HERE:
            shutil.copytree(HERE / name, into / name, ignore=shutil.ignore_patterns("node_modules", "dist"))
    with TemporaryDirectory() as folder:
        described = Path(folder) / "openapi.json"
        described.write_text(description(), encoding="utf-8")
        typescript(described, into / "typescript")
        python(described, into / "python")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
