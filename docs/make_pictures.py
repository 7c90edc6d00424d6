"""Takes the pictures of the studio and the console: a real browser on a real service, from the example file to the
signature, and on the demo.

Run: python docs/make_pictures.py. Where Chromium and its driver are not installed, the pictures stay as they are.
"""

import io
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

IMAGES = Path(__file__).parent / "images"
DESK, PHONE = 1000, 390  # pixels across
MOST_HEIGHT = 1500  # pixels that are kept of a page
COLOURS = 64  # which keep a picture below 60 kB
PATIENCE = 600.0  # seconds for the slowest job, the first search, which also compiles
WORDS = {"arm": "treatment", "task": "patient group", "success": "recovery", "failure": "relapse", "reward": "recovery"}
NAMES = ("early", "hereditary", "chronic")


def main() -> None:
    """Take every picture anew."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        print("The pictures stay as they are: Chromium and its driver are not installed.")
        return
    with tempfile.TemporaryDirectory() as folder, served(Path(folder) / "pictures.db") as address, browser() as window:
        for path, name, width in walked(address):
            take(window, f"{address}{path}", IMAGES / f"studio-{name}.png", width)
    with tempfile.TemporaryDirectory() as folder, browser() as window:
        look_at_demo(window, Path(folder))


def walked(address: str) -> Iterator[tuple[str, str, int]]:
    """Go through the five pages with the example; (path, name of the picture, width) where one is to be taken."""
    import httpx

    with httpx.Client(base_url=address, timeout=60, headers={"accept": "text/html"}) as http:
        draft = http.post("/studio", data={"name": "Example clinic", "begin": "example"}).headers["location"][:-5]
        yield f"{draft}/know", "know", DESK
        how = {"individual": "patient", "arm": "treatment", "reward": "recovered"}
        said = {f"role-{role}": column for role, column in how.items()}
        post(http, f"{draft}/know", **said, outcomes="yes or no", success="yes", horizon="100", go="on")
        wait(http, f"{draft}/kinds")
        words = {f"word-{name}": word for name, word in WORDS.items()}
        names = {f"name-{number}": name for number, name in enumerate(NAMES)}
        post(http, f"{draft}/kinds", **words, **names, go="on")
        yield f"{draft}/kinds", "kinds", DESK
        post(http, f"{draft}/plan", go="search")
        page = wait(http, f"{draft}/plan")
        yield f"{draft}/plan", "plan", DESK
        yield f"{draft}/plan", "plan-phone", PHONE
        post(http, f"{draft}/plan", go="take", dot=re.findall(r'name="dot" value="(\d+)"', page)[0])
        wait(http, f"{draft}/trust")
        yield f"{draft}/trust", "trust", DESK
        yield f"{draft}/sign", "sign", DESK


def look_at_demo(window: Any, folder: Path) -> None:
    """Take the pictures of the first page, of a case, and of the card of its plan."""
    from banditree.service.client import Client
    from banditree.service.demo import fill
    from banditree.service.settings import Settings

    database, card = folder / "demo.db", folder / "card.html"
    fill(Settings(database=str(database)))
    with served(database) as address, Client(address) as client:
        take(window, f"{address}/", IMAGES / "console-start.png", DESK)
        take(window, f"{address}/cases/demo-2", IMAGES / "console-case-phone.png", PHONE)
        card.write_bytes(client.card(client.case("demo-2").plan, "html"))
        take(window, card.as_uri(), IMAGES / "card.png", DESK)


def post(http: Any, path: str, **given: str) -> None:
    """Send a form of the page at that path."""
    version = re.findall(r'name="version" value="(\d+)"', http.get(path).text)[0]
    answer = http.post(path, data={"version": version, **given})
    if answer.status_code != 303:
        sys.exit(f"{path}: {answer.text[-500:]}")


def wait(http: Any, path: str) -> str:
    """A page once its jobs are done."""
    until = time.monotonic() + PATIENCE
    while " data-busy" in (page := http.get(path).text):
        if time.monotonic() > until:
            sys.exit(f"{path} is not done after {PATIENCE:g} seconds.")
        time.sleep(1)
    return str(page)


@contextmanager
def served(database: Path) -> Iterator[str]:
    """The address of a service on an empty database."""
    import uvicorn

    from banditree.service.app import create_app
    from banditree.service.settings import Settings

    app = create_app(Settings(database=str(database), job_seconds=int(PATIENCE)))
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_config=None, access_log=False, lifespan="on"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def browser() -> Iterator[Any]:
    """A Chromium without a window."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    window = webdriver.Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
    try:
        yield window
    finally:
        window.quit()


def take(window: Any, address: str, file: Path, width: int) -> None:
    """Write the picture of a page, with few colours."""
    from PIL import Image

    def resize(height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < DESK}
        window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    resize(800)
    window.get(address)
    resize(min(window.execute_script("return document.documentElement.scrollHeight"), MOST_HEIGHT))
    picture = Image.open(io.BytesIO(window.get_screenshot_as_png())).convert("RGB")
    picture.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(file, optimize=True)
    print(f"{file.name}: {file.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
