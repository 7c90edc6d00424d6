"""All sentences of the sources that are said in a language, and what a catalogue lacks of them.

To begin or complete a catalogue: `python tests/messages.py it` prints the messages that src/banditree/languages/it.po
does not have yet, ready to be translated at its end.
"""

import ast
import json
import re
import sys
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, nodes

SOURCES = Path(__file__).parents[1] / "src" / "banditree"
STRINGS = (SOURCES / "figures" / "data" / "app.strings.json", SOURCES / "figures" / "data" / "page.strings.json")


class Message(NamedTuple):
    """A sentence to be translated; plural: what it is for other numbers than one; context: what tells it apart."""

    text: str
    plural: str | None = None
    context: str | None = None

    @property
    def key(self):
        """As gettext keeps it."""
        text = self.text if self.plural is None else f"{self.text}\0{self.plural}"
        return text if self.context is None else f"{self.context}\x04{text}"


# What these are given may be said to a person; where it is put together, its values are in numbered places.
TOLD = {"message", "Refused", "NotFound", "Conflict", "NotLoggedIn", "Forbidden", "TooLarge", "TooMany", "Unavailable"}
# What only programs and those who run the service meet stays English.
FOR_PROGRAMS = ("service/client.py", "service/edge/", "service/field/mail.py", "service/field/webhook.py")
FOR_PROGRAMS += ("service/jobs/routes.py", "service/people/sign_on.py", "service/point_of_care/", "service/settings.py")
FOR_PROGRAMS += ("service/store/backup.py", "service/store/database.py", "service/store/files.py")
ALSO_TOLD = {"InvalidInput": ("service/studio/", "policies/session.py")}  # whose refusals people meet, too


def messages():
    """Every message of the sources, in the order of files and lines."""
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                place = path.relative_to(SOURCES)
                texts = [_text(a) for a in node.args]
                if message := _of_call(_name(node.func), texts) or _told(node, place.as_posix()):
                    found.setdefault(message, place)
    for path in sorted(SOURCES.rglob("*.html")):
        for node in Environment().parse(path.read_text()).find_all(nodes.Call):
            name = node.node.name if isinstance(node.node, nodes.Name) else ""
            texts = [one.value if isinstance(one, nodes.Const) else None for one in node.args]
            if message := _of_call(name, texts):
                found.setdefault(message, path.relative_to(SOURCES))
    for path in filter(Path.exists, STRINGS):
        for text in json.loads(path.read_text()).values():
            found.setdefault(Message(text), path.relative_to(SOURCES))
    return found


def _name(called):
    return called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""


def _text(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _told(node, place):
    """What a person may be told by a call that puts it together."""
    name = _name(node.func)
    is_told = name in TOLD or place.startswith(ALSO_TOLD.get(name, ("-",)))
    if not is_told or not node.args or place.startswith(FOR_PROGRAMS):
        return None
    said = node.args[0]
    if isinstance(said, ast.Constant) and isinstance(said.value, str):
        return Message(said.value) if "{" not in said.value else None
    if not isinstance(said, ast.JoinedStr):
        return None
    places = iter(range(len(said.values)))
    parts = (one.value if isinstance(one, ast.Constant) else f"{{{next(places)}}}" for one in said.values)
    text = "".join(parts)
    return Message(text) if re.search("[a-z]{2}", text) else None


def _of_call(name, texts):
    if name in ("say", "message") and texts and texts[0] is not None:
        return Message(texts[0])
    if name == "count" and len(texts) == 3 and None not in texts[1:]:
        return Message(texts[1], texts[2])
    if name == "meant" and len(texts) == 2 and None not in texts:
        return Message(texts[1], context=texts[0])
    return None


def unsaid():
    """Where something is to be said whose words are not in the call, so that no catalogue can have them."""
    found = []
    for path in sorted(SOURCES.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and _name(node.func) == "say" and node.args and _text(node.args[0]) is None:
                found.append(f"{path.relative_to(SOURCES)}:{node.lineno}")
    return found


def written(message):
    """A message as a catalogue has it before it is translated."""
    lines = [] if message.context is None else [f"msgctxt {_quoted(message.context)}"]
    lines.append(f"msgid {_quoted(message.text)}")
    if message.plural is None:
        return "\n".join([*lines, 'msgstr ""'])
    return "\n".join([*lines, f"msgid_plural {_quoted(message.plural)}", 'msgstr[0] ""', 'msgstr[1] ""'])


def _quoted(text):
    return json.dumps(text, ensure_ascii=False)


if __name__ == "__main__":
    from banditree.languages.catalogue import entries, source

    try:
        known = entries(source(sys.argv[1]), sys.argv[1])
    except FileNotFoundError:
        known = {}
    print("\n\n".join(written(message) for message in messages() if message.key not in known))
