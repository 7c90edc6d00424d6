"""What the pages do and what the API does is the same, but for batches."""

# Each thing a form does and the route of the API that does the same.
SAME = {
    "POST /cases": ["POST /api/v1/cases", "POST /api/v1/cases/{id}/ask"],
    "POST /cases/{id}/ask": ["POST /api/v1/cases/{id}/ask"],
    "POST /cases/{id}/tell": ["POST /api/v1/cases/{id}/tell"],
    "POST /cases/{id}/override": ["POST /api/v1/cases/{id}/override"],
    "POST /cases/{id}/correct": ["POST /api/v1/cases/{id}/correct"],
    "POST /plans/{id}/alarms/{key}": ["GET /api/v1/plans/{id}/alarms", "POST /api/v1/plans/{id}/alarms/{key}"],
    "POST /cases/{id}/undo": ["POST /api/v1/cases/{id}/undo"],
    "POST /cases/{id}/reopen": ["POST /api/v1/cases/{id}/reopen"],
    "POST /cases/{id}/note": ["POST /api/v1/cases/{id}/note"],
    "POST /cases/{id}/close": ["POST /api/v1/cases/{id}/close"],
    "POST /cases/{id}/erase": ["POST /api/v1/cases/{id}/erase"],
    "GET /cases": ["GET /api/v1/cases", "GET /api/v1/export/{what}"],
    "GET /cases/{id}": ["GET /api/v1/cases/{id}", "GET /api/v1/cases/{id}/outlook", "GET /api/v1/cases/{id}/events"],
    "POST /cases/{id}/arrange": ["POST /api/v1/cases/{id}/arrange"],
    "POST /cases/many": ["POST /api/v1/cases/arrange", "POST /api/v1/cases/move"],
    "GET /due.ics": ["GET /api/v1/due.ics"],
    "POST /plans": ["POST /api/v1/plans"],
    "POST /plans/{id}/interval": ["POST /api/v1/plans/{id}/interval"],
    "GET /plans": ["GET /api/v1/plans"],
    "GET /plans/{id}": [
        "GET /api/v1/plans/{id}",
        "GET /api/v1/plans/{id}/certificate",
        "GET /api/v1/plans/{id}/proof",
    ],
    "POST /plans/{id}/sign": ["POST /api/v1/plans/{id}/sign"],
    "GET /plans/{id}/sign": ["GET /api/v1/plans/{id}/changes"],
    "GET /plans/{id}/app": ["GET /api/v1/plans/{id}"],
    "GET /plans/{id}/app/manifest.json": [],
    "GET /plans/{id}/app/worker.js": [],
    "POST /cases/files": ["POST /api/v1/cases/files"],
    "GET /plans/{id}/card": ["GET /api/v1/plans/{id}/card"],
    "POST /cases/{id}/move": ["POST /api/v1/cases/{id}/move"],
    "GET /jobs": ["GET /api/v1/jobs"],
    "GET /jobs/{id}": ["GET /api/v1/jobs/{id}", "GET /api/v1/jobs/{id}/events", "GET /api/v1/jobs/{id}/file"],
    "POST /jobs/{id}/end": ["POST /api/v1/jobs/{id}/end"],
    "POST /jobs/{id}/again": ["POST /api/v1/jobs/{id}/again"],
    "GET /plans/{id}/compare": ["GET /api/v1/plans/{id}/certificate"],
    "GET /plans/{id}/field": ["GET /api/v1/plans/{id}/monitor", "GET /api/v1/plans/{id}/digest"],
    "GET /plans/{id}/split": ["GET /api/v1/splits", "GET /api/v1/splits/{id}/comparison"],
    "POST /plans/{id}/split": ["POST /api/v1/splits"],
    "POST /plans/{id}/split/{split}/end": ["POST /api/v1/splits/{id}/end"],
    "POST /plans/{id}/relearn": ["POST /api/v1/plans/{id}/relearn"],
    "GET /plans/{id}/relearned/{job}": ["GET /api/v1/jobs/{id}"],
    "POST /plans/{id}/relearned/{job}": ["POST /api/v1/plans/{id}/successor"],
    "POST /collections": ["POST /api/v1/collections"],
    "GET /collections": ["GET /api/v1/collections"],
    "GET /collections/{id}": ["GET /api/v1/collections/{id}", "GET /api/v1/collections/{id}/separation"],
    "GET /login": ["GET /api/v1/me"],
    "POST /login": ["POST /api/v1/login"],
    "POST /logout": ["POST /api/v1/logout"],
    "GET /users": ["GET /api/v1/users"],
    "POST /users": ["POST /api/v1/users"],
    "POST /users/{name}": ["PATCH /api/v1/users/{name}"],
    "GET /tokens": ["GET /api/v1/tokens"],
    "POST /tokens": ["POST /api/v1/tokens"],
    "POST /password": ["POST /api/v1/me/password"],
    "POST /tokens/{id}/revoke": ["DELETE /api/v1/tokens/{id}"],
    "GET /audit": ["GET /api/v1/audit"],
    "GET /studio": ["GET /api/v1/files"],
    "POST /studio": ["POST /api/v1/files"],
    "GET /studio/example.csv": [],
    "GET /studio/{id}": [],
    "POST /studio/{id}/delete": ["DELETE /api/v1/files/{id}"],
    "GET /studio/{id}/know": ["GET /api/v1/files"],
    "POST /studio/{id}/know": ["POST /api/v1/files"],
    "POST /studio/{id}/file": ["POST /api/v1/files"],
    "GET /studio/{id}/kinds": ["POST /api/v1/jobs", "GET /api/v1/jobs/{id}"],
    "POST /studio/{id}/kinds": ["POST /api/v1/jobs", "POST /api/v1/collections"],
    "GET /studio/{id}/plan": ["GET /api/v1/jobs/{id}", "GET /api/v1/jobs/{id}/events"],
    "POST /studio/{id}/plan": ["POST /api/v1/jobs", "POST /api/v1/jobs/{id}/end", "POST /api/v1/plans"],
    "GET /studio/{id}/trust": ["GET /api/v1/plans/{id}/certificate", "POST /api/v1/jobs"],
    "GET /studio/{id}/report": ["POST /api/v1/jobs", "GET /api/v1/jobs/{id}/file"],
    "GET /studio/{id}/sign": ["GET /api/v1/plans/{id}/changes"],
    "POST /studio/{id}/sign": ["POST /api/v1/plans/{id}/sign"],
}
ONLY_FOR_PROGRAMS = {"POST /api/v1/cases/start", "POST /api/v1/cases/ask", "POST /api/v1/cases/tell"}


def test_what_the_pages_do_is_in_the_api_and_the_reverse(service):
    app, http = service
    document = http.get("/api/v1/openapi.json").json()["paths"]
    api = {f"{method.upper()} {path}" for path, methods in document.items() for method in methods}
    forms = {f"{method} {route.path}" for route in _routes(app) for method in route.methods - {"HEAD"}} - api
    alone = {
        "GET /",
        "GET /help",
        "GET /language/{code}",  # of the pages; the API takes language= where it matters
        "GET /static/{name}",
        "GET /api/v1/openapi.json",
        "GET /sign-on",
        "GET /sign-on/back",
        "GET /cds-services",  # CDS Hooks describes itself
        "OPTIONS /cds-services{rest:path}",
        "POST /cds-services/next-step",
        "POST /cds-services/next-step/feedback",
    }
    assert forms - alone == set(SAME)
    same = {route for routes in SAME.values() for route in routes}
    assert same <= api
    assert {route for route in api if "/api/" in route} - same == ONLY_FOR_PROGRAMS


def _routes(app):
    found, todo = [], list(app.routes)
    while todo:
        route = todo.pop()
        if hasattr(route, "methods") and hasattr(route, "path"):
            found.append(route)
        else:
            todo += list(getattr(route, "routes", [])) or list(route.original_router.routes)
    return found


def test_templates_are_compiled_once():
    from banditree.service.pages.rendering import environment

    assert environment() is environment()
    assert environment().get_template("login.html") is environment().get_template("login.html")
