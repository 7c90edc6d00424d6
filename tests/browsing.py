"""What a person does in a browser, and what every page must be: quiet, as wide as the window, and accessible."""

import os
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

PHONE, DESK = (375, 800), (1280, 900)


@contextmanager
def looking(window, size=DESK, dark=False):
    """A window of some size; in the end nothing may have been complained about."""
    width, height = size
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    window.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    window.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": [scheme]})
    window.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})
    window.get("about:blank")  # the page of the test before would go on asking a server that has ended
    window.execute_cdp_cmd("Network.clearBrowserCookies", {})  # of every server that tests have had
    window.get_log("browser")
    yield window
    assert window.get_log("browser") == []


@contextmanager
def reading(window, locale):
    """A browser of somebody who reads another language."""
    window.execute_cdp_cmd("Network.enable", {})
    window.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": {"Accept-Language": locale}})
    window.execute_cdp_cmd("Emulation.setLocaleOverride", {"locale": locale})
    yield
    window.execute_cdp_cmd("Network.setExtraHTTPHeaders", {"headers": {}})
    window.execute_cdp_cmd("Emulation.setLocaleOverride", {})


def until(condition, seconds=180):
    """Wait for something to become true: longer than a page may wait for its certificate, which a busy machine first
    has to compile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if found := condition():
                return found
        except Exception as problem:  # the page is being replaced
            if not any(
                words in str(problem) for words in ("stale", "no such element", "does not belong to the document")
            ):
                raise
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


def text(window, selector="main"):
    return window.find_element("css selector", selector).text


def press(window, label):
    """Press the button or open the summary with this text, as a person does with a mouse or a finger."""
    quoted = f'"{label}"'
    found = window.find_elements("xpath", f"//*[self::button or self::summary or self::a][normalize-space()={quoted}]")
    tap(window, next(one for one in found if one.is_displayed()))


def tap(window, target):
    """Press an element, or what a selector finds."""
    if isinstance(target, str):
        target = until(lambda: window.find_element("css selector", target))
    window.execute_script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", target)
    target.click()


def fill_in(window, form, **values):
    """Type into the fields of a form, or choose."""
    from selenium.webdriver.support.ui import Select

    for name, value in values.items():
        field = window.find_element("css selector", f'{form} [name="{name}"]')
        if field.tag_name == "select":
            Select(field).select_by_visible_text(value)
        else:
            field.clear()
            field.send_keys(value)


def assert_fits(window):
    scroll, client = window.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert scroll <= client


AXE = Path(__file__).parent / "engines" / "node_modules" / "axe-core" / "axe.min.js"


def complaints(window):
    """Everything that axe finds on a page, however small."""
    if not AXE.exists():
        (pytest.fail if os.environ.get("CI") else pytest.skip)("axe is missing: run .ci/tools")
    window.execute_script(AXE.read_text(encoding="utf-8"))
    found = window.execute_async_script("const done = arguments[0]; axe.run().then(done)")
    assert len(found["passes"]) > 10
    return [(one["id"], [node["html"][:150] for node in one["nodes"][:3]]) for one in found["violations"]]
