"""What the phrases of a printed plan mean to its readers, in each language.

Written by hand from what the words mean and not from the catalogues, so that a wrong translation is followed wrongly.
"""

from typing import NamedTuple

LEVEL = r"([+-]\d+)"


class Grammar(NamedTuple):
    """Phrases as regular expressions; a number in brackets is what a reader takes from them."""

    rule: str  # how the safety rule begins
    washout: str  # (how many rounds, or nothing for one)
    cap: str  # (level)
    above: str  # between points and the limit of the reward
    for_a_reward: str  # the same with the word for a reward
    otherwise_points: str
    box: str
    predictions: str
    found: str  # before the name of a kind
    highest: str  # treat as the kind that was found, by its predictions
    for_good: str
    times: str  # (how often, or nothing for once)
    as_long: str  # between the name and the points of a watched score
    stays: str  # (level)
    at_most: str  # a count or a total and its limit: (number)
    otherwise: str
    then: str
    at: str  # (level)
    go_to_box: str  # (number)
    score_from: str  # before the points of the rule
    at_in_rule: str  # (level)
    again_in_rule: str
    hand_over_in_rule: str
    best_of: str  # before the names
    last: str  # before the last name
    stay: str  # stay with or settle on, before the name
    next_line: str
    line: str  # (number)
    hand_over: str
    fallback: str  # how the sentence on handing over begins
    thompson: str
    person: str
    starts: str  # (how often line 1 may be begun)


GRAMMARS = {
    "en": Grammar(
        rule="Whenever you stay with",
        washout=r"Whenever you change .*, its first (?:(\d+) )?rounds? (?:is|are) given but not",
        cap=rf"never count above {LEVEL}",
        above="above",
        for_a_reward="for an? [^,]*? above",
        otherwise_points="otherwise",
        box="Box",
        predictions="Predictions",
        found="This is ",
        highest="From now on, .* with the highest prediction for it",
        for_good=" from now on",
        times=r" (?:(\d+) times|once)",
        as_long=" for as long as the score",
        stays=f"stays above {LEVEL}",
        at_most=r"[Aa]t most ([-+.,e\d]+)",
        otherwise="Otherwise",
        then="Then",
        at=f"At {LEVEL}",
        go_to_box=r"go to box (\d+)",
        score_from="score it from 0: ",
        at_in_rule=f"At {LEVEL}",
        again_in_rule="start again at (?:line|box) 1",
        hand_over_in_rule="hand over",
        best_of="settle on the best of ",
        last="and",
        stay="(?:stay with|settle on)",
        next_line="next line",
        line=r"(?:start again at |go back to )?line (\d+)",
        hand_over="hand over",
        fallback="Hand over: ",
        thompson="Thompson sampling chooses",
        person="From now on a person decides.",
        starts=r"instead of beginning (?:line|box) 1 more than (\d+) times",
    ),
    "de": Grammar(
        rule="Immer wenn Sie bei dem bleiben",
        washout=r"Nach jedem Wechsel .* (?:wird die erste Runde|werden die ersten (\d+) Runden) gegeben, aber nicht",
        cap=f"zählen Sie nie über {LEVEL} hinaus",
        above="über",
        for_a_reward="bei [^,]*? über",
        otherwise_points="sonst",
        box="Feld",
        predictions="Vorhersagen",
        found="Gefunden: ",
        highest="Ab jetzt .*, was dafür die höchste Vorhersage hat",
        for_good=" ab jetzt dauerhaft",
        times=r" (?:(\d+)-mal|einmal)",
        as_long=", solange der Punktestand",
        stays=f"über {LEVEL} bleibt",
        at_most=r"[Hh]öchstens ([-+.,e\d]+)",
        otherwise="Sonst",
        then="Danach",
        at=f"Bei {LEVEL}",
        go_to_box=r"weiter bei Feld (\d+)",
        score_from="zählen Sie einen Punktestand ab 0: ",
        at_in_rule=f"Bei {LEVEL}",
        again_in_rule="beginnen Sie wieder bei (?:Zeile|Feld) 1",
        hand_over_in_rule="übergeben Sie den Fall",
        best_of="wechseln Sie dauerhaft zum Besten aus ",
        last="und",
        stay="(?:bleiben Sie bei|wechseln Sie dauerhaft zu)",
        next_line="nächste Zeile",
        line=r"(?:beginnen Sie wieder bei |zurück zu )?Zeile (\d+)",
        hand_over="übergeben Sie den Fall",
        fallback="Den Fall übergeben heißt: ",
        thompson="Ab jetzt wählt Thompson-Sampling",
        person="Ab jetzt entscheidet ein Mensch.",
        starts=r"statt (?:Zeile|Feld) 1 mehr als (\d+)-mal zu beginnen",
    ),
    "fr": Grammar(
        rule="Chaque fois que vous gardez",
        washout=r"Après chaque changement .*, (?:le premier tour est|les (\d+) premiers tours sont) donnés? mais pas",
        cap=f"ne comptez jamais au-delà de {LEVEL}",
        above="au-dessus de",
        for_a_reward="pour [^,]*? au-dessus de",
        otherwise_points="sinon",
        box="Case",
        predictions="Prédictions",
        found="Trouvé: ",
        highest="Désormais, .* ce dont la prédiction pour ce cas est la plus élevée",
        for_good=" désormais",
        times=r" (?:(\d+) fois|une fois)",
        as_long=" tant que le score",
        stays=f"reste au-dessus de {LEVEL}",
        at_most=r"[Aa]u plus ([-+.,e\d]+)",
        otherwise="Sinon",
        then="Ensuite",
        at=f"À {LEVEL}",
        go_to_box=r"allez à la case (\d+)",
        score_from="comptez un score à partir de 0: ",
        at_in_rule=f"À {LEVEL},",
        again_in_rule="recommencez à la (?:ligne|case) 1",
        hand_over_in_rule="passez la main",
        best_of="passez définitivement au meilleur choix parmi ",
        last="et",
        stay="(?:gardez|passez définitivement à)",
        next_line="ligne suivante",
        line=r"(?:recommencez à la |revenez à la )?ligne (\d+)",
        hand_over="passez la main",
        fallback="Passer la main veut dire: ",
        thompson="Désormais, l'échantillonnage de Thompson choisit",
        person="Désormais, une personne décide.",
        starts=r"au lieu de commencer la (?:ligne|case) 1 plus de (\d+) fois",
    ),
    "es": Grammar(
        rule="Siempre que mantenga lo que da",
        washout=r"Después de cada cambio .*, (?:la primera ronda se da|las primeras (\d+) rondas se dan) pero no",
        cap=f"no cuente nunca más allá de {LEVEL}",
        above="por encima de",
        for_a_reward="con [^,]*? por encima de",
        otherwise_points="en otro caso",
        box="Casilla",
        predictions="Predicciones",
        found="Hallado: ",
        highest="De ahora en adelante, .* lo que tenga la predicción más alta para este caso",
        for_good=" de ahora en adelante",
        times=r" (?:(\d+) veces|una vez)",
        as_long=" mientras la puntuación",
        stays=f"se mantenga por encima de {LEVEL}",
        at_most=r"[Cc]omo máximo ([-+.,e\d]+)",
        otherwise="En caso contrario",
        then="Después",
        at=f"Al llegar a {LEVEL}",
        go_to_box=r"vaya a la casilla (\d+)",
        score_from="lleve una puntuación desde 0: ",
        at_in_rule=f"Al llegar a {LEVEL},",
        again_in_rule="vuelva a empezar en la (?:línea|casilla) 1",
        hand_over_in_rule="traspase el caso",
        best_of="pase definitivamente a la mejor opción entre ",
        last="y",
        stay="(?:mantenga|pase definitivamente a)",
        next_line="línea siguiente",
        line=r"(?:vuelva a empezar en la |vuelva a la )?línea (\d+)",
        hand_over="traspase el caso",
        fallback="Traspasar el caso significa: ",
        thompson="De ahora en adelante elige el muestreo de Thompson",
        person="De ahora en adelante decide una persona.",
        starts=r"en lugar de empezar la (?:línea|casilla) 1 más de (\d+) veces",
    ),
}
