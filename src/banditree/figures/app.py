"""The app of a plan: one HTML file that follows many cases in any browser, with no request to anywhere.

It is made of the JavaScript follower of `clients/`, so it decides as the conformance file says.
"""

import json
from base64 import b64encode
from hashlib import sha256
from html import escape

from banditree.errors import InvalidInput
from banditree.figures.html import asset, strings
from banditree.files.machines import machine_document
from banditree.plans.plan import Plan
from banditree.plans.wording import about, plain_text

MOST_BYTES = 300_000  # A phone opens it at once, and it can be sent by mail.


def app_html(plan: Plan, manifest: str = "") -> str:
    """The app. manifest: the address of its manifest where a service serves it, so that it can be installed."""
    plain = {"text": plain_text(plan).split("\n")}  # without words of theory
    machine = machine_document(plan).model_copy(update=plain).model_dump_json(by_alias=True, exclude_none=True)
    texts = strings(plan.vocabulary, "app.strings.json")
    link = f'<link rel="manifest" href="{escape(manifest)}" crossorigin="use-credentials">\n' if manifest else ""
    whole = (
        f'<!DOCTYPE html>\n<html lang="{plan.vocabulary.language.code}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"{link}<title>{escape(about(plan).split(':')[0])}</title>\n<style>{asset('app.css')}</style>\n</head>\n"
        f"<body>\n<main></main>\n{_data('machine', machine)}\n{_data('strings', json.dumps(texts))}\n"
        f'<script type="module">{_code()}</script>\n</body>\n</html>\n'
    )
    if (size := len(whole.encode())) > MOST_BYTES:
        raise InvalidInput(
            f"The app of this plan would have {size:,} bytes, and at most {MOST_BYTES:,} open well on a phone. "
            "Make a plan of fewer lines, or follow it with banditree run or the service."
        )
    return whole


def policy() -> str:
    """What a browser lets the app do: run its own code, and nothing from anywhere else."""
    code, style = (b64encode(sha256(text.encode()).digest()).decode() for text in (_code(), asset("app.css")))
    return (
        f"default-src 'none'; script-src 'sha256-{code}'; style-src 'sha256-{style}'; img-src 'self' data:; "
        "manifest-src 'self'; worker-src 'self'"
    )


def _code() -> str:
    """The follower, the checker of proofs with its names to itself, and the app as one script."""
    follower, checker = (asset(name).replace("export ", "") for name in ("follower.js", "verify.js"))
    checker = f"const {{ verify, readExactly }} = (() => {{\n{checker}return {{ verify, readExactly }};\n}})();"
    return f"\n{follower}\n{checker}\n{asset('app.js')}"


def _data(name: str, text: str) -> str:
    """JSON as an element of the page."""
    plain = json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return f'<script type="application/json" id="{name}">{plain}</script>'
