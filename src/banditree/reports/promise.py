"""What a plan promises, in two or three sentences that a person can sign."""

from banditree.certificates.certify import Certificate
from banditree.certificates.unlucky import Unlucky
from banditree.certificates.varying import VaryingCertificate
from banditree.nouns import counted, plural
from banditree.plans.plan import Plan
from banditree.plans.words import amount, named, quoted, with_article


def promise_sentences(plan: Plan, certificate: Certificate, *, varies: bool = False) -> tuple[str, ...]:
    """What the plan loses in the worst task, what the unlucky lose where that can be computed, and how often it ends
    with an arm that is not the best.

    varies: the cases of a task vary, so that these numbers are only of a case at the rates of its task.

    >>> from banditree.certificates.certify import certify
    >>> from banditree.tasks.collection import Collection
    >>> from banditree.trees.tree import build_tree
    >>> two = Collection.bernoulli([[0.7, 0.2], [0.3, 0.6]], tasks=["mild", "severe"])
    >>> plan = build_tree(two, horizon=1000)
    >>> loses, unlucky, wrong = promise_sentences(plan, certify(plan, two))
    >>> loses
    'In the worst task (severe) it loses 28.8 successes over 1,000 rounds on average, compared with the best arm.'
    >>> unlucky
    '1 of 100 cases of task severe loses 28.8 successes or more.'
    >>> wrong
    'Fewer than 1 in 10,000 cases end with an arm other than the best.'
    """
    words = plan.vocabulary
    who = f"a case at the rates of its {words.task}" if varies else "it"
    first = (
        f"In the worst {words.task} ({certificate.worst_task}) {who} loses {_lost(plan, certificate)} over "
        f"{counted(certificate.horizon, 'round')} on average, compared with the best {words.arm}."
    )
    wrong = _share(float(certificate.wrong_arm.max()))
    unlucky = () if certificate.unlucky is None else (unlucky_sentence(plan, certificate, certificate.unlucky),)
    return first, *unlucky, f"{wrong} with {with_article(words.arm)} other than the best{_undecided(certificate)}."


def unlucky_sentence(plan: Plan, certificate: Certificate, found: Unlucky) -> str:
    """What 1 of 100 cases loses, in the task where that is most."""
    about = "If the rates are as estimated, " if certificate.claim.is_bound else ""
    of = named(plan.vocabulary.task, quoted(certificate.tasks[found.task]))
    lost = f"{amount(float(found.at_most[found.task, 1]))} {lost_word(plan, certificate.unit)}"
    return f"{about}1 of 100 cases of {of} loses {lost} or more."


def loss_sentence(plan: Plan, certificate: Certificate, varying: VaryingCertificate | None = None) -> str:
    """What the plan loses in the worst task, for its heading; varying: where cases vary, over these."""
    if varying is not None:
        about = f"{amount(varying.worst_regret)} {lost_word(plan, varying.unit)}"
        return f"It loses about {about} in the worst {plan.vocabulary.task}, over cases that vary."
    return f"It loses {_lost(plan, certificate)} in the worst {plan.vocabulary.task}."


def lost_word(plan: Plan, unit: str | None = None) -> str:
    """What is lost: the unit of worth where there is one, successes where they are counted, else reward."""
    if unit is not None:
        return unit
    return plural(plan.vocabulary.success) if plan.rewards.counts else plan.vocabulary.reward


def _lost(plan: Plan, certificate: Certificate) -> str:
    return f"{certificate.claim.hedge}{amount(certificate.worst_regret)} {lost_word(plan, certificate.unit)}"


def _share(chance: float) -> str:
    if chance <= 0:
        return "No case ends"
    if chance < 1e-4:
        return "Fewer than 1 in 10,000 cases end"
    return f"At most {100 * chance:.2g}% of the cases end"


def _undecided(certificate: Certificate) -> str:
    left = float(certificate.undecided.max())
    return "" if left < 0.005 else f"; up to {100 * left:.2g}% are still being decided when the rounds end"
