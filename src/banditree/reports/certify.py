"""The certificate of a plan, as data and as a page for people."""

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from banditree.certificates.certify import Certificate, certify
from banditree.certificates.continuations import Continuation
from banditree.certificates.missing import missing_losses
from banditree.certificates.outcomes import Claim
from banditree.certificates.unlucky import Unlucky
from banditree.certificates.varying import Estimated, VaryingCertificate, certify_cases
from banditree.errors import InvalidInput
from banditree.nouns import counted, plural
from banditree.plans.pages import page_number
from banditree.plans.plan import Plan, by_place
from banditree.plans.reading_load import reading_load
from banditree.plans.wording import unit
from banditree.plans.words import Vocabulary, amount, named, quoted
from banditree.reports.field import FieldReport, field_document, field_report, field_sentences
from banditree.reports.harm import HarmReport, harm_document, harm_report, harm_sentences
from banditree.reports.limits import (
    A_SECOND,
    limit_document,
    limit_or_none,
    limit_sentence,
    lines_document,
    lines_or_none,
    lines_sentence,
)
from banditree.reports.settings import CertifySettings
from banditree.reports.unlucky import unlucky_document, unlucky_or_none, unlucky_sentences
from banditree.settings import keywords
from banditree.tasks.changes import TRUSTED
from banditree.tasks.collection import Collection
from banditree.tasks.states import StateCollection
from banditree.theory.limits import Limit
from banditree.trees.guarantee import dt_ece_guarantee

MANY_SHARES = 6  # A sentence names at most this many shares.


@dataclass(frozen=True)
class CertificateReport:
    """A certificate, the paper's guarantee for its own plan on the same collection, the plan's size and its words.

    limit: what no algorithm can beat on the collection, None where that is not worked out. field: what the plan does
    for cases that change, or that it was not made for.
    """

    certificate: Certificate
    dt_ece_bound: float | None
    n_boxes: int
    method: str
    words: Vocabulary
    collection: Collection
    varying: VaryingCertificate | None = None
    limit: Limit | None = None
    field: FieldReport | None = None
    plan: Plan | None = None
    lines: list[Continuation] | None = None
    unlucky: Unlucky | None = None
    harm: HarmReport | None = None


@keywords(CertifySettings)
def certificate_report(
    plan: Plan, collection: Collection, *, by_line: bool = False, **settings: Any
) -> CertificateReport:
    """Everything that `banditree certify` shows.

    by_line: also what each line gives up, which takes one more certificate per line. settings: of `CertifySettings`.
    """
    asked = CertifySettings(**settings)
    if isinstance(collection, StateCollection):
        return _report_by_state(plan, collection, asked)
    certificate, effort = certify(plan, collection, asked.horizon), int(asked.limit_seconds * A_SECOND)
    if collection.provenance.endswith(TRUSTED) or TRUSTED in plan.origin.versions.values():
        remark = f"This rests on {TRUSTED}, so it is no promise about new cases."
        certificate = replace(certificate, remarks=(*certificate.remarks, remark))
    bound = dt_ece_guarantee(collection, certificate.horizon)
    varying, certificate = _varying(plan, collection, certificate)
    found = limit_or_none(collection, certificate.horizon, effort)
    words, field = plan.vocabulary, field_report(plan, collection, certificate, asked)
    lines = lines_or_none(plan, collection, certificate.horizon, effort) if by_line else None
    luck = unlucky_or_none(plan, collection, certificate, asked.unlucky)
    found_out = (varying, found, field, plan, lines, luck, harm_report(plan, collection, certificate))
    return CertificateReport(certificate, bound, plan.n_boxes, plan.origin.method, words, collection, *found_out)


def _report_by_state(plan: Plan, collection: StateCollection, asked: CertifySettings) -> CertificateReport:
    """The report on a plan with states; what else may be asked is for plans without."""
    if others := [name for name in asked.changed if name not in ("horizon", "unlucky")]:
        raise InvalidInput(f"{others[0]} must be omitted with states. Only horizon and unlucky may be given.")
    certificate = certify(plan, collection, asked.horizon)
    luck = unlucky_or_none(plan, collection, certificate, asked.unlucky)
    about = (plan.n_boxes, plan.origin.method, plan.vocabulary, collection)
    return CertificateReport(certificate, None, *about, plan=plan, unlucky=luck)


def certificate_document(report: CertificateReport) -> dict[str, Any]:
    """The report as JSON: the same numbers that people see, unrounded."""
    c = report.certificate
    return {
        "claim": str(c.claim),
        "horizon": c.horizon,
        "method": report.method,
        "boxes": report.n_boxes,
        "worst_regret": c.worst_regret,
        "worst_task": c.worst_task,
        "mean_regret": c.mean_regret,
        **({} if c.unit is None else {"unit": c.unit}),
        "dt_ece_bound": report.dt_ece_bound,
        "limit": limit_document(report.limit, report.collection),
        "field": None if report.field is None else field_document(report.field),
        "lines": None if report.plan is None else lines_document(report.plan, report.lines),
        "pages": None
        if report.plan is None or report.plan.states
        else pages_document(report.plan, report.collection, c.horizon),
        "reading_load": None if report.plan is None else reading_load(report.plan),
        "harm": harm_document(report.harm),
        "unlucky": unlucky_document(report.unlucky, report.collection),
        "lines_passed": None if report.plan is None or c.entered is None else lines_passed(report.plan, c),
        "tasks": [
            {
                "task": name,
                "regret": float(c.regret[i]),
                **({} if c.changes is None else {"changes": float(c.changes[i])}),
                "wrong_arm": float(c.wrong_arm[i]),
                "wrong_task": None if c.wrong_task is None else float(c.wrong_task[i]),
                "pulls": float(c.pulls[i]),
                "pulls_95": None if c.within is None else int(c.within[i]),
                "undecided": float(c.undecided[i]),
                **({} if c.within_margins is None else {"within_margins": float(c.within_margins[i])}),
                "share": None if c.shares is None else float(c.shares[i]),
            }
            for i, name in enumerate(c.tasks)
        ],
        "cases_that_vary": None if report.varying is None else _varying_document(report.varying),
        "because": list(c.reasons),
        "remarks": list(c.remarks),
    }


def varying_or_none(plan: Plan, collection: Collection) -> VaryingCertificate | None:
    """The certificate over cases that vary; None where they do not, or where some of the drawn ones have none."""
    with suppress(InvalidInput):
        return certify_cases(plan, collection) if collection.varies else None
    return None


def _varying(
    plan: Plan, collection: Collection, certificate: Certificate
) -> tuple[VaryingCertificate | None, Certificate]:
    """The certificate over cases that vary, or a remark on why there is none."""
    if not collection.varies:
        return None, certificate
    try:
        return certify_cases(plan, collection, certificate.horizon), certificate
    except InvalidInput as problem:
        remark = f"Cases differ within their kind, and some of the drawn ones have no certificate: {problem}"
        return None, replace(certificate, remarks=(*certificate.remarks, remark))


def _varying_document(varying: VaryingCertificate) -> dict[str, Any]:
    def numbers(found: Estimated) -> dict[str, Any]:
        by_task = {"by_task": found.by_task.tolist(), "by_task_within": found.by_task_within.tolist()}
        return {"mean": found.mean, "within": found.within, **by_task}

    return {
        "draws_per_task": varying.draws,
        "seed": varying.seed,
        "regret": numbers(varying.regret),
        "wrong_arm": numbers(varying.wrong_arm),
        "undecided": numbers(varying.undecided),
    }


def varying_sentence(varying: VaryingCertificate, words: Vocabulary) -> str:
    """What a plan does for cases that differ within their kind, as an estimate that says how good it is."""
    regret, wrong = varying.regret, varying.wrong_arm
    worst = regret.by_task_within[int(regret.by_task.argmax())]
    lost = varying.unit or words.reward
    return (
        f"Cases of one {words.task} differ. Over {varying.draws:,} drawn cases of each (seed {varying.seed}), each "
        f"computed exactly at rates of its own, {regret.mean:,.3f} ± {regret.within:.3f} {lost} is lost "
        f"against the case's own best {words.arm}, {varying.worst_regret:,.3f} ± {worst:.3f} in the worst {words.task} "
        f"({varying.worst_task}), and {wrong.mean:.1%} ± {wrong.within:.1%} settle on another {words.arm} (95% "
        "intervals over the draws). Plans are compared by these losses."
    )


def certificate_rows(report: CertificateReport) -> tuple[list[str], list[list[str]]]:
    """The header of the table for people, in their words, and one row per task.

    Whether a plan finds the task is said only of plans that name it at their ends; protocols do not."""
    c, words = report.certificate, report.words
    named = [] if c.wrong_task is None else [f"wrong {words.task}"]
    harmed = [] if c.harm is None else [plural(words.harmful)]
    luck = report.unlucky
    losing = ["regret"] if luck is None else ["regret", "1 of 100 loses"]
    testing = ["rounds of testing", "95% within", "undecided"]
    head = [words.task, *losing, f"wrong {words.arm}", *named, *testing, *harmed]
    rows = [
        [
            name,
            f"{c.regret[i]:,.3f}",
            *([] if luck is None else [f"{luck.at_most[i, 1]:,.1f}"]),
            shown_chance(c.wrong_arm[i]),
            *([] if c.wrong_task is None else [shown_chance(c.wrong_task[i])]),
            f"{c.pulls[i]:,.1f}",
            "-" if c.within is None else f"{c.within[i]:,}",
            shown_chance(c.undecided[i]),
            *([] if c.harm is None else [shown_chance(c.harm[i])]),
        ]
        for i, name in enumerate(c.tasks)
    ]
    return head, rows


def certificate_text(report: CertificateReport) -> str:
    """A table with one row per task and a sentence on what it means."""
    return "\n".join([*table_lines(*certificate_rows(report)), "", *certificate_sentences(report)])


def certificate_sentences(report: CertificateReport) -> list[str]:
    """What the numbers mean and how they compare with the guarantee of the paper."""
    c, words = report.certificate, report.words
    tasks = plural(words.task)
    lines = [
        f"{c.claim.hedge.capitalize() or 'Exactly '}this much {c.unit or words.reward} is lost on average over "
        f"{counted(c.horizon, 'round')}{_of_whom(report)}, "
        f"compared with {_the_best(report)} from the start: {c.mean_regret:,.3f} over all {tasks}{in_shares(c)}, "
        f"{c.worst_regret:,.3f} in the worst ({c.worst_task})."
    ]
    if c.changes is not None:
        lines.append(changes_sentence(report))
    if c.claim.is_bound:
        several = c.claim is Claim.BOUND_WITH_ESTIMATE
        others = "finding the best of several" if several else "Thompson sampling"
        so_far = "" if c.claim is Claim.UPPER_BOUND else f" apart from what {others} loses"
        lines.append(f"These are upper bounds{so_far}: {'; '.join(c.reasons)}.")
    if report.plan is not None and c.entered is not None:
        lines.append(in_use_sentence(report.plan, c))
    if report.plan is not None and report.unlucky is not None:
        lines += unlucky_sentences(report.plan, report.collection, c, report.unlucky)
    if report.harm is not None:
        lines += harm_sentences(report.harm, words)
    if report.varying is not None:
        lines.append(varying_sentence(report.varying, words))
    if report.field is not None:
        lines += field_sentences(report.field, report.collection, words, c.mean_regret)
    if report.limit is not None:
        ending = f"this plan loses {c.claim.hedge}{amount(c.worst_regret)}"
        lines.append(limit_sentence(report.limit, report.collection, words, ending))
    if report.plan is not None and report.lines:
        lines.append(lines_sentence(report.plan, report.lines))
    if report.plan is not None and report.plan.pages:
        lines += pages_sentences(report.plan, report.collection, c.horizon)
    if report.dt_ece_bound is not None:
        lines.append(f"For DT-ECE, Theorem 4.4 guarantees at most {report.dt_ece_bound:,.1f} on these {tasks}.")
    return [*lines, *c.remarks]


def _the_best(report: CertificateReport) -> str:
    if isinstance(report.collection, StateCollection):
        return f"its {report.words.task}'s best {report.words.arm} in every state,"
    return f"the best {report.words.arm}"


def changes_sentence(report: CertificateReport) -> str:
    """How often a case is given another arm than before, and what that costs."""
    c, words, changes = report.certificate, report.words, report.certificate.changes
    assert changes is not None
    mean, most = float(np.average(changes, weights=c.shares)), int(changes.argmax())
    where, cost = named(words.task, quoted(c.tasks[most])), amount(report.collection.change_cost)
    return (
        f"A case is given another {words.arm} than before {mean:,.2f} times on average, {changes[most]:,.2f} times in "
        f"{where}; each time costs {cost} {c.unit}, which is part of what is lost."
    )


def pages_document(plan: Plan, collection: Collection, horizon: int) -> list[dict[str, Any]]:
    """What each page of the plan loses, task by task."""
    found = missing_losses(plan, collection, horizon, only=[own.missing for own in plan.pages])
    return [
        {"page": page_number(plan, arms), "missing": arms, "worst_regret": float(loss.max()), "regret": loss.tolist()}
        for arms, loss in found.items()
    ]


def pages_sentences(plan: Plan, collection: Collection, horizon: int) -> list[str]:
    """What each page of the plan loses for a case that must not get its arms."""
    hedge = "at most " if collection.is_estimated else ""
    return [
        f"Page {page['page']}, without {' and '.join(map(quoted, page['missing']))}, loses "
        f"{hedge}{amount(page['worst_regret'])} in its worst {plan.vocabulary.task}, against the best that is left."
        for page in pages_document(plan, collection, horizon)
    ]


def lines_passed(plan: Plan, certificate: Certificate) -> float:
    """How many lines or tests a case passes on average over the tasks; one that starts again counts them again."""
    assert certificate.entered is not None
    passed = by_place(plan, certificate.entered)[:, plan.tests].sum(axis=1)
    return float(np.average(passed, weights=certificate.shares))


def in_use_sentence(plan: Plan, certificate: Certificate) -> str:
    """What the plan asks of whoever follows it, beyond reading it once.

    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]])
    >>> plan = build_tree(two, horizon=1000)
    >>> in_use_sentence(plan, certify(plan, two))
    'A case passes 1.0 boxes on average: a reading load of 3.2 in use, 2.2 on paper.'
    """
    load, passed = reading_load(plan), lines_passed(plan, certificate)
    in_use = f"a reading load of {load + passed:,.1f} in use, {load:,.1f} on paper"
    return f"A case passes {passed:,.1f} {plural(unit(plan))} on average: {in_use}."


def _of_whom(report: CertificateReport) -> str:
    return f" by a case at the rates of its {report.words.task}" if report.collection.varies else ""


def in_shares(certificate: Certificate) -> str:
    """How the mean over tasks is taken, where shares are known: " in their shares (30%, 70%)"."""
    if certificate.shares is None:
        return ""
    shares = [f"{share:.0%}" for share in certificate.shares[:MANY_SHARES]]
    return f" in their shares ({', '.join(shares)}{', ...' if len(certificate.shares) > MANY_SHARES else ''})"


def shown_chance(p: float) -> str:
    """A chance with three digits, however small: "0", "0.213", "3.1e-12".

    >>> shown_chance(0.2131), shown_chance(3.14e-12), shown_chance(0.0)
    ('0.213', '3.1e-12', '0')
    """
    if p <= 0:
        return "0"
    return f"{p:.3f}" if p >= 0.01 or math.isnan(p) else f"{p:.1e}"


def table_lines(head: list[str], rows: list[list[str]]) -> list[str]:
    """A plain table: the first column to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(row: list[str]) -> str:
        cells = [
            cell.ljust(w) if column == 0 else cell.rjust(w)
            for column, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        return "  ".join(cells).rstrip()

    return [line(head), "  ".join("-" * w for w in widths), *map(line, rows)]
