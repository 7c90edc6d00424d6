from figure_plans import made

from banditree.simulation.engine import simulate
from banditree.tasks.instances import rand
from banditree.trees.tree import build_tree


def test_plans_collections_and_results_show_themselves():
    plan, known = made("3 boxes")
    results = simulate(known, ["uniform"], horizon=50, runs=3)
    for thing in (plan, known, results):
        bundle = thing._repr_mimebundle_()
        assert bundle["image/svg+xml"].startswith("<svg ")
        assert bundle["text/plain"]
    assert plan._repr_mimebundle_(include=None, exclude=None)["text/plain"] == str(plan)


def test_large_plans_stay_text():
    plan = build_tree(rand(150, 40, 0.4), 10_000, 0.4)
    assert set(plan._repr_mimebundle_()) == {"text/plain"}
