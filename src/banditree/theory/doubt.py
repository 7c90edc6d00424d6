"""How strongly the outcomes of one arm speak against a rate, whatever the rate may be instead: a bet that grows.

The bet against "the mean of the arm is between low and high" multiplies, with every reward x in [0, 1], by
q^x (1-q)^(1-x), where q = (S + 1) / (n + 2) is what n earlier rewards with the sum S suggest; and it is divided by the
most that a mean p from low to high gives all of them, prod p^x (1-p)^(1-x). If the mean is p, then
E[(q/p)^x ((1-q)/(1-p))^(1-x)] <= 1, by the inequality of the means; so what the bet has become is on average at most 1
at any time and however arms were chosen, and it ever reaches c with a chance of at most 1/c (Ville). For rewards that
are 0 or 1 it is Laplace's mixture of all rates. Bets on several arms multiply.
"""

import math

LEAST_CHANCE = 1e-9  # An outcome that is called impossible has this chance.


def log_odds_step(total: float, n: float, reward: float, low: float, high: float) -> float:
    """What the log of the bet grows by with one more reward, after n rewards with the sum `total`.

    >>> first = log_odds_step(0, 0, 0.0, 0.7, 0.7)  # the bet had 1/2 on a failure, whose chance is 0.3
    >>> round(math.exp(first), 3), round(math.exp(first + log_odds_step(0, 1, 0.0, 0.7, 0.7)), 3)
    (1.667, 3.704)
    """
    guess = (total + 1.0) / (n + 2.0)
    bet = reward * math.log(guess) + (1.0 - reward) * math.log(1.0 - guess)
    return bet + log_most(total, n, low, high) - log_most(total + reward, n + 1.0, low, high)


def log_most(total: float, n: float, low: float, high: float) -> float:
    """The log of the most that a mean between low and high gives n rewards with the sum `total`."""
    if n == 0.0:
        return 0.0
    p = min(max(total / n, low), high)
    return total * math.log(max(p, LEAST_CHANCE)) + (n - total) * math.log(max(1.0 - p, LEAST_CHANCE))


def normal_log_odds(excess: float, n: float, variance: float) -> float:
    """The log of a bet for normal rewards: excess is what the sum of n rewards is beyond n times any mean in question.

    The stake is spread over means by a normal distribution with the variance of one reward.
    """
    grown = 1.0 + n
    return 0.5 * excess * excess / (variance * grown) - 0.5 * math.log(grown)
