"""A real Chromium for the tests of pages. Where it is missing they are skipped with a word on what to install; in CI
they fail.

What people are promised, and where it is walked at 375 and at 1,280 px:

every exit of a plan is seen                test_exits, test_plan_page
what was reported by mistake, undone        test_bedside (corrected typo, undo, second tap, late outcomes, reopening)
nothing is signed unseen, or alone          test_bedside (two people), test_console (a draft), test_studio (the verdict)
alarms stay until they are answered         test_bedside
numbers, dates and files of other countries test_numbers_and_files, test_studio (newcomers)
the worklist                                test_bedside
paper says which version it is              test_bedside (card), test_card, test_plan_page (report)
without a network                           test_app, test_offline_taps; after the log-in has ended: test_bedside
languages                                   test_bedside, test_numbers_and_files, test_studio (newcomers)
axe finds nothing, nothing scrolls sideways test_console (every page), and at the end of most tests
"""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from running_service import SHORT_PLAN, TWO_GROUPS, client_of, in_thread, local

from banditree.service.demo import fill

FLAGS = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
]
MISSING = (
    "The browser tests need Chromium and its driver. On Debian and Ubuntu: apt-get install chromium chromium-driver"
)


def tool(*names):
    found = next((path for name in names if (path := shutil.which(name))), None)
    if found is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{MISSING} ({names[0]} was not found).")
    return found


def pytest_collection_modifyitems(items):
    """A browser under load now and then misses a click: such a test may try once more, and the summary says so."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.flaky(reruns=1))


@pytest.fixture(scope="session")
def chromium():
    yield from opened()


@pytest.fixture(scope="session")
def second_chromium():
    """Another browser with a profile of its own."""
    yield from opened()


def opened():
    browser = tool("chromium", "chromium-browser", "google-chrome")
    driver = tool("chromedriver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        window = webdriver.Chrome(options=options, service=Service(driver))
        window.set_script_timeout(600)
        yield window
        window.quit()


@pytest.fixture(scope="session")
def console(tmp_path_factory):
    """An open console with the demo and a plan of ten rounds; (its client, the id of the plan)."""
    path = tmp_path_factory.mktemp("console") / "cases.db"
    fill(local(path))
    with in_thread(local(path)) as (_app, http):
        api = client_of(http)
        api.path = path
        yield api, api.add_plan(SHORT_PLAN, "Short", api.add_collection(TWO_GROUPS, "Two groups"), sign="tested")
