"""What each kind of result shows of itself: its text, its rows, its picture, and all of these in notebooks."""

from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

from banditree.certificates.certify import Certificate
from banditree.evaluation.evaluate import Evaluation
from banditree.evaluation.fit import Fit
from banditree.figures.bars import bars_scene
from banditree.figures.choice import choice_info, choice_scene
from banditree.figures.heat_map import heat_map_info, heat_map_scene
from banditree.figures.monitoring import monitor_scenes
from banditree.figures.scene import Scene
from banditree.figures.svg import svg
from banditree.monitoring.monitor import Monitoring
from banditree.reports.by_state import learned_states_rows, learned_states_text, rates_by_state
from banditree.reports.certify import shown_chance, table_lines
from banditree.reports.evaluate import evaluation_text
from banditree.reports.fit import fit_text
from banditree.reports.learning import learn_text
from banditree.reports.monitor import monitor_text
from banditree.training.learning import Learned
from banditree.training.trajectories import LearnedStates

Rows = list[dict[str, Any]]


class Showing(NamedTuple):
    """How one kind of result is shown."""

    text: Callable[[Any], str]
    rows: Callable[[Any], Rows]
    scene: Callable[[Any], Scene]


def text_of(result: Any) -> str:
    """The result for people."""
    return _of(result).text(result)


def rows_of(result: Any) -> Rows:
    """The numbers of the result, unrounded."""
    return _of(result).rows(result)


def picture_of(result: Any) -> str:
    """The picture of the result, as SVG."""
    return svg(_of(result).scene(result))


def bundle_of(result: Any) -> dict[str, str]:
    """The result for notebooks: its text, and in HTML with its picture."""
    text = text_of(result)
    first, _, rest = text.partition("\n")
    shown = f"<p><b>{escape(first)}</b></p>{picture_of(result)}<pre>{escape(rest.strip(chr(10)))}</pre>"
    return {"text/plain": text, "text/html": shown}


def _of(result: Any) -> Showing:
    return next(SHOWINGS[kind] for kind in type(result).__mro__ if kind in SHOWINGS)


def evaluation_rows(found: Evaluation) -> Rows:
    """What could be done, its reward per round, and by how much the plan gives more."""
    return [
        {
            "what": row.name,
            "per_round": row.value.value,
            "low": row.value.low,
            "high": row.value.high,
            "plan_gives_more": None if row.gain is None else row.gain.value,
            "more_low": None if row.gain is None else row.gain.low,
            "more_high": None if row.gain is None else row.gain.high,
        }
        for row in found.rows
    ]


def _evaluation_scene(found: Evaluation) -> Scene:
    rows = [(row.name, row.value.value, row.value.low, row.value.high) for row in found.rows]
    return bars_scene("Reward per round", rows, f"{found.confidence:.0%} intervals by case")


def learned_rows(found: Learned) -> Rows:
    """The estimated mean of every option for every kind, with its margin and rows."""
    known = found.collection
    return [
        {
            "kind": task,
            "option": arm,
            "mean": float(known.means[i, k]),
            "margin": float(known.radius[i, k]),
            "rows": None if known.counts is None else int(known.counts[i, k]),
            "share": None if known.shares is None else float(known.shares[i]),
        }
        for i, task in enumerate(known.tasks)
        for k, arm in enumerate(known.arms)
    ]


def certificate_rows(found: Certificate) -> Rows:
    """What the plan loses in every kind, and how it ends."""
    numbers = {
        "regret": found.regret,
        "wrong_option": found.wrong_arm,
        "still_testing": found.undecided,
        "rounds_of_testing": found.pulls,
        "share": found.shares,
    }
    return [
        {"kind": name} | {what: float(each[i]) for what, each in numbers.items() if each is not None}
        for i, name in enumerate(found.tasks)
    ]


def _certificate_text(found: Certificate) -> str:
    unit = found.unit or "reward"
    hedge = found.claim.hedge or "exactly "
    first = (
        f"The plan loses {hedge}{found.regret.max():,.3f} of {unit} over {found.horizon:,} rounds in its worst kind "
        f"({found.worst_task}), compared with the best option from the start."
    )
    rows = [
        [row["kind"], f"{row['regret']:,.3f}", shown_chance(row["wrong_option"]), shown_chance(row["still_testing"])]
        for row in certificate_rows(found)
    ]
    table = table_lines(["kind", "loses", "ends with a wrong option", "still testing"], rows)
    return "\n".join([first, "", *table, *(f"Note: {remark}" for remark in (*found.reasons, *found.remarks))])


def _certificate_scene(found: Certificate) -> Scene:
    rows = [(name, value, value, value) for name, value in zip(found.tasks, found.regret.tolist(), strict=True)]
    return bars_scene(f"Lost over {found.horizon:,} rounds", rows, found.unit or "reward")


def monitoring_rows(found: Monitoring) -> Rows:
    """What was seen of every option and what was promised, for all cases first."""
    return [
        {
            "cases": part.group or "all",
            "option": found.plan.arms[cell.arm],
            "outcomes": cell.n,
            "seen": cell.observed,
            "promised": cell.expected,
            "difference": cell.difference.value,
            "low": cell.difference.low,
            "high": cell.difference.high,
        }
        for part in found.parts
        for cell in part.summary.options
        if cell.n
    ]


SHOWINGS: dict[type, Showing] = {
    Fit: Showing(fit_text, lambda fit: evaluation_rows(fit.evaluation), lambda f: choice_scene(choice_info(f.trials))),
    Evaluation: Showing(evaluation_text, evaluation_rows, _evaluation_scene),
    Learned: Showing(learn_text, learned_rows, lambda found: heat_map_scene(heat_map_info(found.collection))),
    LearnedStates: Showing(
        learned_states_text,
        learned_states_rows,
        lambda found: heat_map_scene(heat_map_info(rates_by_state(found.collection))),
    ),
    Certificate: Showing(_certificate_text, certificate_rows, _certificate_scene),
    Monitoring: Showing(
        lambda found: monitor_text(found.plan, found),
        monitoring_rows,
        lambda found: monitor_scenes(found.plan, found)[0],
    ),
}
