"""Links between the places of a list: which are reached, in which order they are read, how long a path can be."""

from collections.abc import Iterable, Sequence

from banditree.errors import invalid

Links = Sequence[Sequence[int]]  # for each place, those it leads to


def reading_order(links: Links) -> list[int]:
    """The places reached from place 0 so that links lead to later ones except where they return (reverse postorder).

    >>> reading_order([(2, 1), (), (1, 0)])
    [0, 2, 1]
    """
    finished: list[int] = []
    seen: set[int] = set()
    todo: list[tuple[int, bool]] = [(0, False)]
    while todo:
        place, done = todo.pop()
        if done:
            finished.append(place)
        elif place not in seen:
            if not 0 <= place < len(links):
                raise invalid("the next box", f"one of the {len(links)} boxes", place)
            seen.add(place)
            todo.append((place, True))
            todo += [(child, False) for child in links[place]]
    return finished[::-1]


def reached(start: Iterable[int], links: Links) -> set[int]:
    """The places that can be reached from `start`, itself included.

    >>> sorted(reached([1], [(1, 2), (2,), ()]))
    [1, 2]
    """
    todo = list(start)
    seen = set(todo)
    while todo:
        for child in links[todo.pop()]:
            if child not in seen:
                seen.add(child)
                todo.append(child)
    return seen


def reversed_links(links: Links) -> list[list[int]]:
    """For each place, those that lead to it.

    >>> reversed_links([(1, 2), (2,), ()])
    [[], [0], [0, 1]]
    """
    back: list[list[int]] = [[] for _ in links]
    for place, children in enumerate(links):
        for child in children:
            back[child].append(place)
    return back


def longest_path(links: Links, weight: Sequence[int], order: Sequence[int]) -> int:
    """The heaviest path from the first place of `order`, over links that lead to later ones in it.

    >>> longest_path([(1, 2), (2, 0), ()], [5, 3, 0], [0, 1, 2])
    8
    """
    rank = {place: number for number, place in enumerate(order)}
    heaviest: dict[int, int] = {}
    for place in reversed(order):
        onward = [heaviest[child] for child in links[place] if rank[child] > rank[place]]
        heaviest[place] = int(weight[place]) + max(onward, default=0)
    return heaviest[order[0]]
