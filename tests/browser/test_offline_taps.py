"""What is reported on the console without a network is kept on the device, and sent once."""

import pytest
from browsing import DESK, PHONE, assert_fits, complaints, looking, press, text, until

pytestmark = pytest.mark.slow


SIZES = pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])


@pytest.fixture
def network(chromium):
    """Turns the network of the browser off and on."""

    def turn(on):
        speed = -1 if on else 0
        how = {"offline": not on, "latency": 0, "downloadThroughput": speed, "uploadThroughput": speed}
        chromium.execute_cdp_cmd("Network.emulateNetworkConditions", how)

    chromium.execute_cdp_cmd("Network.enable", {})
    yield turn
    turn(True)
    chromium.execute_script("localStorage.clear()")


@SIZES
def test_a_tap_without_a_network_is_kept_and_sent_once(size, chromium, console, network):
    api, plan = console
    id = f"tap-{size[0]}"
    api.start(plan, id=id, label="bed tap")
    api.ask(id)
    with looking(chromium, size) as window:
        window.get(f"{api.http.base_url}/cases/{id}")
        network(False)
        press(window, "Recovery")
        until(lambda: "Kept on this device: Round 1: recovery." in text(window, "#next"))
        assert [one for one in window.find_elements("css selector", "#next form.tell") if one.is_displayed()] == []
        assert_fits(window)
        press(window, "Take it back")
        press(window, "Relapse")
        until(lambda: "Kept on this device: Round 1: relapse." in text(window, "#next"))
        assert complaints(window) == []
        assert api.case(id).total == 0
        assert api.case(id).open_rounds == [1]
        network(True)
        until(lambda: "Round 2 of 10" in text(window, "#next"))
        assert "Kept" not in text(window, "#next")
        window.get_log("browser")
        window.get(f"{api.http.base_url}/cases/{id}")
        history = api.http.get(f"/api/v1/cases/{id}/events").json()["data"]
        assert [(one["kind"], one["reward"]) for one in history] == [("asked", None), ("told", 0.0), ("asked", None)]


def test_a_tap_that_somebody_else_made_first_is_not_recorded_twice(chromium, console, network):
    api, plan = console
    api.start(plan, id="tap2", label="bed tap 2")
    api.ask("tap2")
    with looking(chromium, PHONE) as window:
        window.get(f"{api.http.base_url}/cases/tap2")
        network(False)
        press(window, "Recovery")
        until(lambda: "Kept on this device" in text(window, "#next"))
        api.tell("tap2", 1, 0)
        network(True)
        until(lambda: "was not recorded" in text(window, "#next"))
        press(window, "I have seen it")
        until(lambda: "was not recorded" not in text(window, "#next"))
        history = api.http.get("/api/v1/cases/tap2/events").json()["data"]
        assert [one["reward"] for one in history if one["kind"] == "told"] == [0.0]
        window.get_log("browser")
