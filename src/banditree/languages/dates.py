"""Days and months as the readers of a language write them."""

from datetime import date

from banditree.languages.language import Language, message

MONTHS = (
    message("January"),
    message("February"),
    message("March"),
    message("April"),
    message("May"),
    message("June"),
    message("July"),
    message("August"),
    message("September"),
    message("October"),
    message("November"),
    message("December"),
)


def month_in(language: Language, day: date) -> str:
    """The month of a day.

    >>> month_in(Language("es"), date(2026, 3, 9)), month_in(Language(), date(2026, 3, 9))
    ('marzo de 2026', 'March 2026')
    """
    return language.say("{month} {year}", month=language.translated(MONTHS[day.month - 1]), year=day.year)


def day_in(language: Language, day: date) -> str:
    """A day.

    >>> day_in(Language("de"), date(2026, 3, 9)), day_in(Language("fr"), date(2026, 3, 9))
    ('9. März 2026', '9 mars 2026')
    """
    return language.say("{day} {month}", day=day.day, month=month_in(language, day))
