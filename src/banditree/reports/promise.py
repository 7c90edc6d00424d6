"""What a plan promises, in two or three sentences that a person can sign."""

from banditree.certificates.certify import Certificate
from banditree.certificates.unlucky import Unlucky
from banditree.certificates.varying import VaryingCertificate
from banditree.plans.plan import Plan
from banditree.plans.wording import rounds
from banditree.plans.words import named


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
    values = {
        "kind": certificate.worst_task,
        "lost": _lost(plan, certificate),
        "rounds": rounds(words, certificate.horizon),
    }
    if varies:
        first = words.say(
            "In the worst {task} ({kind}) a case at the rates of its {task} loses {lost} over {rounds} on average, "
            "compared with the best {arm}.",
            **values,
        )
    else:
        first = words.say(
            "In the worst {task} ({kind}) it loses {lost} over {rounds} on average, compared with the best {arm}.",
            **values,
        )
    unlucky = () if certificate.unlucky is None else (unlucky_sentence(plan, certificate, certificate.unlucky),)
    return first, *unlucky, _wrong(plan, certificate)


def unlucky_sentence(plan: Plan, certificate: Certificate, found: Unlucky) -> str:
    """What 1 of 100 cases loses, in the task where that is most."""
    words = plan.vocabulary
    kind = named(words.task, words.quoted(certificate.tasks[found.task]))
    amount = words.amount(float(found.at_most[found.task, 1]))
    lost = words.say("{amount} {unit}", amount=amount, unit=lost_word(plan, certificate.unit))
    if certificate.claim.is_bound:
        return words.say(
            "If the rates are as estimated, 1 of 100 cases of {kind} loses {lost} or more.", kind=kind, lost=lost
        )
    return words.say("1 of 100 cases of {kind} loses {lost} or more.", kind=kind, lost=lost)


def loss_sentence(plan: Plan, certificate: Certificate, varying: VaryingCertificate | None = None) -> str:
    """What the plan loses in the worst task, for its heading; varying: where cases vary, over these."""
    words = plan.vocabulary
    if varying is not None:
        amount, unit = words.amount(varying.worst_regret), lost_word(plan, varying.unit)
        about = words.say("about {amount} {unit}", amount=amount, unit=unit)
        return words.say("It loses {lost} in the worst {task}, over cases that vary.", lost=about)
    return words.say("It loses {lost} in the worst {task}.", lost=_lost(plan, certificate))


def lost_word(plan: Plan, unit: str | None = None) -> str:
    """What is lost: the unit of worth where there is one, successes where they are counted, else reward."""
    if unit is not None:
        return unit
    return plan.vocabulary.plural("success") if plan.rewards.counts else plan.vocabulary.reward


def _lost(plan: Plan, certificate: Certificate) -> str:
    words, hedge = plan.vocabulary, certificate.claim.hedge.strip()
    values = {"amount": words.amount(certificate.worst_regret), "unit": lost_word(plan, certificate.unit)}
    if hedge == "at most":
        return words.say("at most {amount} {unit}", **values)
    return words.say("about {amount} {unit}", **values) if hedge else words.say("{amount} {unit}", **values)


def _wrong(plan: Plan, certificate: Certificate) -> str:
    """How often cases end with an arm that is not the best, and how many are still being decided at the end."""
    words, chance = plan.vocabulary, float(certificate.wrong_arm.max())
    share = words.percent(f"{100 * chance:.2g}")
    if chance <= 0:
        wrong = words.say("No case ends with {an_arm} other than the best", an_arm=words.article("arm"))
    elif chance < 1e-4:
        wrong = words.say(
            "Fewer than 1 in 10,000 cases end with {an_arm} other than the best", an_arm=words.article("arm")
        )
    else:
        wrong = words.say(
            "At most {share} of the cases end with {an_arm} other than the best",
            share=share,
            an_arm=words.article("arm"),
        )
    if (left := float(certificate.undecided.max())) < 0.005:
        return f"{wrong}."
    share = words.percent(f"{100 * left:.2g}")
    return words.say("{wrong}; up to {share} are still being decided when the rounds end.", wrong=wrong, share=share)
