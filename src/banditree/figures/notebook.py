"""How plans, collections and results show themselves in notebooks."""

from banditree.figures.curves import curves_info
from banditree.figures.drawing import ladder_scene
from banditree.figures.heat_map import heat_map_info, heat_map_scene
from banditree.figures.ladder import ladder_info
from banditree.figures.svg import svg
from banditree.figures.timeline import regret_info, timeline_scene
from banditree.nouns import counted
from banditree.plans.plan import Plan
from banditree.simulation.results import Results
from banditree.tasks.collection import Collection

LARGE = 200  # With more boxes a drawing would fill the notebook, and the text says enough.


def plan_bundle(plan: Plan) -> dict[str, str]:
    """The plan as text, and as a picture unless it is large."""
    if plan.n_boxes > LARGE:
        return {"text/plain": str(plan)}
    return {"text/plain": str(plan), "image/svg+xml": svg(ladder_scene(ladder_info(plan)))}


def collection_bundle(collection: Collection) -> dict[str, str]:
    """The collection as a sentence and as a heat map."""
    return {"text/plain": str(collection), "image/svg+xml": svg(heat_map_scene(heat_map_info(collection)))}


def results_bundle(results: Results) -> dict[str, str]:
    """The results as a sentence and as regret curves, as far as runs are finished."""
    done, asked = int(results.finished.sum()), results.finished.size
    text = (
        f"{done:,} of {counted(asked, 'run')} of {', '.join(results.policies)} on {counted(len(results.tasks), 'task')}"
    )
    if done < asked:
        return {"text/plain": text}
    (panel,) = curves_info({"Regret, mean over tasks": results})
    return {"text/plain": text, "image/svg+xml": svg(timeline_scene(regret_info(panel)))}
