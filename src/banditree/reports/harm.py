"""How much harm a plan does, such as side effects, as data and in words."""

from dataclasses import dataclass
from typing import Any

from banditree.certificates.certify import Certificate
from banditree.certificates.harm import HarmCertificate, certify_harm
from banditree.errors import InvalidInput
from banditree.nouns import counted, plural
from banditree.plans.plan import Plan
from banditree.plans.words import Vocabulary, amount, capital, harm_noun, named, quoted
from banditree.tasks.collection import Collection

INDEPENDENT = "{harm} is taken to come independently of the outcome of its round, given {task} and {arm}."


@dataclass(frozen=True, eq=False)
class HarmReport:
    """The certificate of a plan, its chances of harm (None where they cannot be worked out), and whether the expected
    harms are the most that estimated rates allow."""

    certificate: Certificate
    chances: HarmCertificate | None
    at_most: bool
    barring: bool


def harm_report(plan: Plan, collection: Collection, certificate: Certificate) -> HarmReport | None:
    """The harm that a plan does; None where the collection knows of none."""
    if collection.harm is None or certificate.harm is None:
        return None
    try:
        chances = None if collection.features else certify_harm(plan, collection, certificate.horizon)
    except InvalidInput:
        chances = None
    barring = plan.on_harm is not None
    others = plan.outcomes_choose  # the most harmful of their arms is counted
    at_most = not barring and (certificate.claim.is_bound or collection.harm.is_estimated or others)
    return HarmReport(certificate, chances, at_most, barring)


def harm_sentences(report: HarmReport, words: Vocabulary) -> list[str]:
    """The expected harms in the worst task, the chance of more than one, and what is left of a plan that bars arms."""
    found, chances = report.certificate, report.chances
    assert found.harm is not None
    worst, many = int(found.harm.argmax()), plural(words.harmful)
    where = named(words.task, quoted(found.tasks[worst]))
    hedge = "at most " if report.at_most else "about " if found.claim.hedge else ""
    lines = [
        f"Over {counted(found.horizon, 'round')} a case has {hedge}{amount(float(found.harm[worst]))} {many} on "
        f"average where they are most ({where})."
    ]
    if chances is not None:
        rates = " at the estimated rates" if report.at_most or found.claim.hedge else ""
        more = int(chances.more_than_one.argmax())
        lines[0] += (
            f" The chance of more than one is {share(float(chances.more_than_one[more]))}{rates} "
            f"({named(words.task, quoted(found.tasks[more]))})."
        )
        if report.barring:
            lines.append(_left(chances, words))
    return [*lines, INDEPENDENT.format(harm=capital(harm_noun(words)), task=words.task, arm=words.arm)]


def _left(chances: HarmCertificate, words: Vocabulary) -> str:
    worst = int(chances.nothing_left.argmax())
    return (
        f"Where no page is left after {harm_noun(words)}, a person decides: that happens to "
        f"{share(float(chances.nothing_left[worst]))} of the cases of "
        f"{named(words.task, quoted(chances.tasks[worst]))}, and what is done then is not counted."
    )


def share(chance: float) -> str:
    """A chance as a percentage that is never rounded to nothing.

    >>> share(0.2134), share(0.00021), share(0.0)
    ('21.3%', '0.021%', '0%')
    """
    return f"{100 * chance:.3g}%"


def harm_document(report: HarmReport | None) -> dict[str, Any] | None:
    """The same as JSON, for every task."""
    if report is None or report.certificate.harm is None:
        return None
    found, chances = report.certificate, report.chances
    assert found.harm is not None
    return {
        "at_most": report.at_most,
        "tasks": [
            {
                "task": task,
                "expected": float(found.harm[i]),
                "more_than_one": None if chances is None else float(chances.more_than_one[i]),
                "nothing_left": float(chances.nothing_left[i]) if chances is not None and report.barring else None,
            }
            for i, task in enumerate(found.tasks)
        ],
    }
