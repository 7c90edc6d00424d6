import io

from banditree.figures.progress import LOG_STEPS, progress_bar
from banditree.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_log_gets_a_line_per_tenth():
    log = io.StringIO()
    with progress_bar("Working", log, quiet=0) as on_progress:
        assert all(on_progress(Progress(done, 1000)) is not False for done in range(1, 1001))
    lines = log.getvalue().splitlines()
    assert len(lines) == LOG_STEPS + 1
    assert lines[-1] == "Working: 1,000 of 1,000"
    assert "\x1b" not in log.getvalue()


def test_a_terminal_gets_a_bar(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    with progress_bar("Working", stream=terminal) as on_progress:
        on_progress(Progress(5, 10))
    assert "Working" in terminal.getvalue()
    assert "\x1b[" in terminal.getvalue()


def test_short_work_says_nothing_in_a_log_and_its_lines_name_the_part():
    log = io.StringIO()
    with progress_bar("Working", log) as on_progress:
        on_progress(Progress(1, 2))
    assert log.getvalue() == ""
    with progress_bar("Working", log, quiet=0) as on_progress:
        on_progress(Progress(1, 2, text="the third panel"))
    assert log.getvalue() == "Working (the third panel): 1 of 2\n"
