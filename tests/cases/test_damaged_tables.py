"""Tables of every format, mutated: each is read or refused in one line, and no file ends the process."""

import subprocess
import sys

import pytest

SCRIPT = """
import random, sys
from pathlib import Path

import pyarrow as pa
from pyarrow import feather, parquet

from banditree.cases.sources import open_log
from banditree.errors import InvalidInput
from banditree.training.learning import learn

folder, n, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
names = ["task", "arm", "reward"]
for suffix in (".feather", ".parquet", ".csv", ".jsonl"):
    rng = random.Random(seed)
    print(suffix, file=sys.stderr)
    rows = [[rng.choice("xy"), rng.choice(["A", "B", "long name"]), rng.randrange(2)] for _ in range(200)]
    table = pa.table({name: [row[k] for row in rows] for k, name in enumerate(names)})
    table = table.append_column("kind", table["arm"].dictionary_encode())
    good = folder / f"good{suffix}"
    if suffix == ".feather":
        feather.write_feather(table, good, compression=rng.choice(["uncompressed", "lz4"]))
    elif suffix == ".parquet":
        parquet.write_table(table, good)
    elif suffix == ".csv":
        good.write_text("\\n".join(",".join(map(str, row)) for row in [names, *rows]))
    else:
        good.write_text("\\n".join(str(dict(zip(names, row))).replace("'", '"') for row in rows))
    content, refused = good.read_bytes(), 0
    for _ in range(n):
        changed = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(changed))
            if rng.random() < 0.8:
                changed[place] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
            else:
                del changed[place : place + rng.randint(1, 30)]
        path = folder / f"changed{suffix}"
        path.write_bytes(changed)
        try:
            learn(path, task="task", arm="arm", reward="reward") if rng.random() < 0.2 else open_log(path)
        except InvalidInput as problem:
            assert "\\n" not in str(problem), problem
            refused += 1
    print(refused)
"""


@pytest.mark.parametrize(
    "n", [pytest.param(30, marks=pytest.mark.slow), pytest.param(10_000, marks=pytest.mark.soak)], ids=str
)
def test_mutated_tables_are_read_or_refused(tmp_path, n):
    command = [sys.executable, "-X", "faulthandler", "-c", SCRIPT, str(tmp_path), str(n), "1"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=4 * 3600, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
