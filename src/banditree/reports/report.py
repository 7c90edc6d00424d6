"""The report of a plan: what was known, the plan, its certificate, the alternatives and the settings, in one file."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from banditree.certificates.certify import Certificate, certify
from banditree.errors import InvalidInput, PlanWarning, invalid
from banditree.figures.curves import curves_info
from banditree.figures.document import (
    Block,
    Facts,
    Figures,
    Heading,
    Ladder,
    Paragraph,
    Table,
    document_html,
    document_pdf,
)
from banditree.figures.heat_map import heat_map_info, heat_map_scene
from banditree.figures.issue import Issue, mark_scene
from banditree.figures.ladder import MANY_ROWS, ladder_info
from banditree.figures.losses import losses_info, losses_scene
from banditree.figures.pareto import Candidate, pareto_info, pareto_scene
from banditree.figures.reach import ReachInfo, reach_info
from banditree.figures.scene import Scene
from banditree.figures.spending import spending_info, spending_scene
from banditree.figures.timeline import course_info, regret_info, survivors_info, timeline_scene
from banditree.nouns import counted, plural
from banditree.plans.gives import Give
from banditree.plans.line import Line
from banditree.plans.plan import Plan, current_versions, make_plan
from banditree.plans.reading_load import reading_load
from banditree.plans.wording import heading, unit
from banditree.plans.words import Vocabulary, number
from banditree.progress import Progress
from banditree.protocols.build import build_plan
from banditree.reports.analyze import QUANTITIES, analyze, bound_lines, range_text
from banditree.reports.beside import Lost, beside_text, thompson_loss
from banditree.reports.certify import CertificateReport, certificate_report, certificate_rows, certificate_sentences
from banditree.reports.held_out import NOT_JUDGED, held_out_scene
from banditree.reports.promise import loss_sentence, lost_word, promise_sentences
from banditree.simulation.results import Results, mean_band, worst_band
from banditree.tasks.arrays import FloatArray
from banditree.tasks.collection import Collection
from banditree.tasks.separation import least_separation, tolerance

MAX_ALTERNATIVE = 2_000  # A plan that is built only for comparison has at most this many boxes.
MOST_NUMBERS = 300_000  # A page holds the chances of boxes up to this many numbers, which are some megabytes.
PROTOCOL_STEPS = 300  # The search for a protocol that is only compared takes this many steps per task ...
PROTOCOL_TASKS = 10  # ... and is made for at most this many tasks, which takes seconds.
THEORY_TASKS = 20  # With more tasks, the searches of the theory may take minutes and are omitted.
THEORY_STEPS = 1_000  # The length of each search, in steps and not in seconds, so that a report is reproducible.
MANY_TASKS = 30  # With more tasks, a table shows only those with the most regret.


@dataclass(frozen=True)
class Alternative:
    """Something that could be done instead: its reading load (None if it is no plan), its regret, and how that is
    known."""

    name: str
    load: float | None
    mean: float | None
    worst: float | None
    how: str


def write_report(
    plan: Plan,
    collection: Collection,
    suffix: str,
    results: Results | None = None,
    held_out: Mapping[str, Any] | None = None,
    issue: Issue | None = None,
) -> bytes:
    """The report as the content of a file: `suffix` is .html or .pdf. The same inputs give the same bytes.

    held_out: what the plan was worth on cases that it was not made from, as `reports.held_out` says it. issue: what the
    report says about itself.
    """
    writers: dict[str, Callable[[str, list[Block]], bytes]] = {
        ".html": lambda title, blocks: document_html(title, blocks).encode(),
        ".pdf": document_pdf,
    }
    if suffix.lower() not in writers:
        raise invalid("the name of a report", "one that ends in .html or .pdf", suffix)
    title = f"{heading(plan).split(' over ')[0]}: report"
    first = [*_judged(held_out), *_issued(issue)]
    return writers[suffix.lower()](title, [*first, *report_blocks(plan, collection, results)])


def _issued(issue: Issue | None) -> list[Block]:
    if issue is None:
        return []
    return [Paragraph(" ".join(issue.lines)), Figures(((mark_scene(issue.mark, issue.address), issue.address),))]


def _judged(held_out: Mapping[str, Any] | None) -> list[Block]:
    """What comes first: the verdict on cases held out, with its picture."""
    if held_out is None:
        return [Paragraph(NOT_JUDGED)]
    if not held_out["rows"]:
        return [Paragraph(held_out["sentence"])]
    picture = held_out_scene(held_out["unit"], held_out["rows"])
    return [Paragraph(held_out["sentence"]), Figures(((picture, picture.description),))]


def report_blocks(plan: Plan, collection: Collection, results: Results | None = None) -> list[Block]:
    """Everything in the report, in order."""
    if plan.arms != collection.arms:
        raise InvalidInput(
            f"The plan is about {', '.join(plan.arms[:5])} and the collection about {', '.join(collection.arms[:5])}. "
            "Report on a plan with the collection that it was made for."
        )
    certificate, why = _certified(plan, collection)
    mts = thompson_loss(collection, plan.horizon) if collection.theta is None else None
    loss = "" if certificate is None else loss_sentence(plan, certificate.certificate, certificate.varying)
    blocks: list[Block] = [
        Paragraph(heading(plan, loss)),
        *_summary(plan, collection, certificate, mts),
        Heading("The plan"),
        _ladder(plan, collection),
        Heading(f"What was known about the {plural(plan.vocabulary.task)}"),
        *_known(plan, collection),
        Heading("What it costs and how often it errs"),
        *_certificate(certificate, why),
        *_course(plan, collection, certificate),
        Heading("What the theory says"),
        *_theory(plan, collection),
        Heading("Compared with the alternatives"),
        *_comparison(plan, collection, certificate, results, mts),
        Heading("Settings and versions"),
        Facts(tuple(settings(plan, collection))),
    ]
    return blocks


def _certified(plan: Plan, collection: Collection) -> tuple[CertificateReport | None, str]:
    try:
        return certificate_report(plan, collection, by_line=True), ""
    except InvalidInput as problem:
        return None, str(problem)


def _summary(plan: Plan, collection: Collection, report: CertificateReport | None, mts: Lost | None) -> list[Block]:
    """What the plan promises, and beside it what else could be done, where that is known."""
    if report is None:
        return []
    promised = Paragraph(" ".join(promise_sentences(plan, report.certificate, varies=collection.varies)))
    return [promised, *([] if collection.theta is not None else [Paragraph(beside_text(plan, collection, mts))])]


def _known(plan: Plan, collection: Collection) -> list[Block]:
    closest = least_separation(collection)
    blocks: list[Block] = [
        Paragraph(f"{collection} ({collection.provenance})."),
        Paragraph(f"The two hardest to tell apart: {closest}."),
    ]
    if collection.is_estimated:
        blocks += _estimates(collection, plan.vocabulary)
    else:
        blocks.append(Paragraph("The means were taken as known exactly; nothing was estimated."))
    scene = heat_map_scene(heat_map_info(collection, plan.origin.separation, plan.vocabulary))
    return [*blocks, Figures(((scene, "Darker is higher; a slash marks pairs that no test tells apart well enough."),))]


def _estimates(collection: Collection, words: Vocabulary) -> list[Block]:
    """How well each task was estimated: the radius within which its means are."""
    radius = collection.radius
    worst = np.argsort(-radius.max(axis=1), kind="stable")[:MANY_TASKS]
    rows = tuple(
        (
            collection.tasks[i],
            f"{radius[i].mean():.4f}",
            f"{radius[i].max():.4f}",
            collection.arms[int(radius[i].argmax())],
        )
        for i in worst
    )
    text = f"The means are estimates, within {radius.max():.3g} of the truth at worst, {radius.mean():.3g} on average."
    return [Paragraph(text), Table((words.task, "mean radius", "largest radius", f"of the {words.arm}"), rows)]


def _ladder(plan: Plan, collection: Collection) -> Block:
    if plan.n_tests > MANY_ROWS:
        return Paragraph(f"{plan.n_boxes:,} boxes are too many to draw; banditree show prints them.")
    reach, note = reach_or_note(plan, collection)
    return Ladder(ladder_info(plan, reach), reach, note)


def reach_or_note(plan: Plan, collection: Collection) -> tuple[ReachInfo | None, str]:
    """The chances of the boxes, or why they cannot be had."""
    if plan.n_boxes * collection.n_tasks > MOST_NUMBERS:
        return None, f"The chances of {plan.n_boxes:,} boxes for {collection.n_tasks:,} tasks are too many for a page."
    try:
        return reach_info(plan, collection), ""
    except InvalidInput as problem:
        return None, f"{problem}"


def _certificate(report: CertificateReport | None, why: str) -> list[Block]:
    if report is None:
        return [Paragraph(f"Not available: {why}")]
    head, rows = certificate_rows(report)
    shown = rows
    blocks: list[Block] = []
    if len(rows) > MANY_TASKS:
        worst = np.argsort(-report.certificate.regret, kind="stable")[:MANY_TASKS]
        shown = [rows[i] for i in worst]
        blocks.append(Paragraph(f"The {MANY_TASKS} of {len(rows)} with the most regret:", soft=True))
    blocks.append(Table(tuple(head), tuple(tuple(row) for row in shown)))
    return [*blocks, *(Paragraph(sentence) for sentence in certificate_sentences(report))]


def _course(plan: Plan, collection: Collection, report: CertificateReport | None) -> list[Block]:
    """How the plan goes round by round and where its regret comes from, as far as that is known exactly."""
    if report is None or report.certificate.claim.is_bound:
        because = "; ".join(report.certificate.reasons) if report is not None else "the plan could not be certified"
        return [Paragraph(f"Curves over the rounds are not available: {because}.", soft=True)]
    scenes: list[tuple[Scene, str]] = []
    for info in (course_info(plan, collection), survivors_info(plan, collection)):
        scenes.append((timeline_scene(info), info.note))
    spent = spending_scene(spending_info(plan, report.certificate))
    costs = f"A {unit(plan)} costs while it finds out; an end costs where it is wrong. Computed, not simulated."
    scenes.append((spent, costs))
    if report.unlucky is not None:
        lost = lost_word(plan, report.certificate.unit)
        scenes.append((losses_scene(losses_info(plan, report.unlucky, collection.tasks, lost)), ""))
    return [Figures(tuple(scenes))]


def _theory(plan: Plan, collection: Collection) -> list[Block]:
    """Coefficients, depths and bounds, with a search short enough for a report."""
    if collection.n_tasks > THEORY_TASKS:
        text = f"Omitted for more than {THEORY_TASKS} tasks, where it may take minutes: see banditree analyze."
        return [Paragraph(text, soft=True)]

    def fresh(progress: Progress) -> bool:
        return progress.done <= THEORY_STEPS

    try:
        facts = analyze(collection, _asked(plan, collection), plan.horizon, effort=0, on_progress=fresh).facts
    except InvalidInput as problem:
        return [Paragraph(f"Not available: {problem}", soft=True)]
    pairs = tuple((label, range_text(facts, name)) for label, name in QUANTITIES)
    return [*(Paragraph(line) for line in bound_lines(facts)), Facts(pairs)]


def _asked(plan: Plan, collection: Collection) -> float | None:
    """The separation that was asked for: None where it is the collection's own, which a tree takes by default.

    The two differ for estimates: a separation that is asked for is a claim about the true means.
    """
    own = least_separation(collection).value
    return (
        None
        if plan.origin.separation is None or abs(plan.origin.separation - own) <= tolerance(own)
        else plan.origin.separation
    )


def _comparison(
    plan: Plan,
    collection: Collection,
    report: CertificateReport | None,
    results: Results | None,
    mts: Lost | None,
) -> list[Block]:
    found = alternatives(plan, collection, None if report is None else report.certificate)
    if results is not None:
        found += _simulated(results, plan.horizon, collection.shares)
    elif mts is not None:
        how = f"mean of {counted(mts.runs, 'simulated run')}{' at the estimated rates' * collection.is_estimated}"
        found.append(Alternative("mTS", None, mts.mean, mts.worst, how))
    rows = tuple(
        (
            one.name,
            "-" if one.load is None else f"{one.load:,.1f}",
            "-" if one.mean is None else f"{one.mean:,.2f}",
            "-" if one.worst is None else f"{one.worst:,.2f}",
            one.how,
        )
        for one in found
    )
    blocks: list[Block] = [Table(("what", "reading load", "mean regret", "worst regret", "how it is known"), rows)]
    scenes: list[tuple[Scene, str]] = []
    plans = [
        Candidate(one.name, one.load, one.worst) for one in found if one.load is not None and one.worst is not None
    ]
    if len(plans) > 1:
        caption = "Filled points are plans that no other plan beats in both reading load and regret."
        scenes.append((pareto_scene(pareto_info(plans)), caption))
    if results is not None:
        (panel,) = curves_info({"Regret, mean over tasks": results})
        info = regret_info(panel)
        scenes.append((timeline_scene(info), info.note))
    else:
        text = "Other adaptive policies (mUCB, UCB1, ...) need a simulation, and no results of one were given."
        blocks.append(Paragraph(text, soft=True))
    return [*blocks, Figures(tuple(scenes))] if scenes else blocks


def alternatives(plan: Plan, collection: Collection, certificate: Certificate | None) -> list[Alternative]:
    """What could be done instead, with regret over the same rounds: other plans, one arm for all, arms at random."""
    found = []
    if certificate is not None:
        found.append(_of_certificate("this plan", plan, certificate))
    horizon = plan.horizon
    others: dict[str, dict[str, Any]] = {
        "tree": {"method": "tree", "max_boxes": MAX_ALTERNATIVE},
        "tree, stopping early": {"method": "tree", "max_boxes": MAX_ALTERNATIVE, "stop_early": True},
        "tree of least depth": {"method": "optimal"},
    }
    if plan.origin.method != "protocol":
        others["protocol, short search"] = {"method": "protocol", "steps": PROTOCOL_STEPS * collection.n_tasks}
    found += [_built(name, collection, horizon, options) for name, options in others.items()]
    return [*found, *_without_a_plan(plan, collection)]


def _without_a_plan(plan: Plan, collection: Collection) -> list[Alternative]:
    """One arm for all and arms at random, certified as plans of one box: bounds beside bounds, exact beside exact."""
    singles = [make_plan([Line(Give(arm))], collection, plan.horizon) for arm in collection.arms]
    try:
        every = [certify(single, collection) for single in singles]
    except InvalidInput as problem:
        return [Alternative("one option for all", None, None, None, f"not available: {problem}")]
    regret = np.array([one.regret for one in every])
    worst_first = collection.shares is None
    single = int(regret.max(axis=1).argmin()) if worst_first else collection.best_single_arm
    by_chance, how = regret.mean(axis=0), str(every[0].claim)
    at_random = f"a random {plan.vocabulary.arm} each round"
    return [
        _of_certificate(f"{collection.arms[single]} for all", singles[single], every[single]),
        Alternative(at_random, None, float(collection.weights @ by_chance), float(by_chance.max()), how),
    ]


def _of_certificate(name: str, plan: Plan, certificate: Certificate) -> Alternative:
    claim = str(certificate.claim)
    return Alternative(name, reading_load(plan), certificate.mean_regret, certificate.worst_regret, claim)


def _built(name: str, collection: Collection, horizon: int, options: dict[str, Any]) -> Alternative:
    if "steps" in options and collection.n_tasks > PROTOCOL_TASKS:
        return Alternative(name, None, None, None, f"omitted: for {collection.n_tasks} tasks it takes minutes")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlanWarning)
            other = build_plan(collection, horizon, **options)
            return _of_certificate(name, other, certify(other, collection))
    except InvalidInput as problem:
        return Alternative(name, None, None, None, f"not available: {problem}")


def _simulated(results: Results, horizon: int, shares: FloatArray | None) -> list[Alternative]:
    """The policies of a simulation; one over other rounds than the plan's says so."""
    found, rounds = [], int(results.rounds[-1])
    over = "" if rounds == horizon else f" ({counted(rounds, 'round')})"
    for policy in results.policies:
        mean, worst = mean_band(results, policy, shares=shares), worst_band(results, policy)
        runs = int(results.finished[results.number(policy)].all(axis=0).sum())
        within = [f"±{band.mean[-1] - band.low[-1]:,.2f}" for band in (mean, worst)]
        how = f"{runs:,} runs{over}, {within[0]} and {within[1]} (95%)"
        found.append(Alternative(policy, None, float(mean.mean[-1]), float(worst.mean[-1]), how))
    return found


def settings(plan: Plan, collection: Collection) -> list[tuple[str, str]]:
    """What made the plan and this report."""
    made = ", ".join(f"{name} {version}" for name, version in plan.origin.versions.items())
    now = ", ".join(f"{name} {version}" for name, version in current_versions().items())
    return [
        ("method", plan.origin.method),
        ("rounds of one case", f"{plan.horizon:,}"),
        ("separation", "not used" if plan.origin.separation is None else number(plan.origin.separation)),
        ("radius of the means", number(plan.origin.radius)),
        ("seed", "none: nothing is random" if plan.origin.seed is None else str(plan.origin.seed)),
        ("rewards", str(collection.rewards.family)),
        ("source of the means", collection.provenance),
        ("plan made by", made),
        ("report made by", now),
    ]
