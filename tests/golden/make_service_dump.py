"""Writes the dump of a database of the newest version, from that of the version before; see CONTRIBUTING.md.

Run: python tests/golden/make_service_dump.py
"""

import sqlite3
import tempfile
from pathlib import Path

from banditree.service.settings import Settings
from banditree.service.store.database import Database, newest_version

GOLDEN = Path(__file__).parent / "files"


def main():
    """Bring the newest dump up to date and write it under its version's name."""
    before = sorted(GOLDEN.glob("service-*.sql"))[-1]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "old.db"
        with sqlite3.connect(path) as connection:
            connection.executescript(before.read_text())
        connection.close()
        Database(Settings(database=str(path))).close()
        with sqlite3.connect(path) as connection:
            text = "\n".join(connection.iterdump()) + "\n"
        connection.close()
    (GOLDEN / f"service-{newest_version()}.sql").write_text(text)


if __name__ == "__main__":
    main()
