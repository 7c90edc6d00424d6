"use strict";
// Times in the reader's time zone.
function localTimes(root) {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const days = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });
  for (const time of root.querySelectorAll("time[datetime]")) {
    if (!time.title) time.title = time.textContent;
    time.textContent = (time.dateTime.includes("T") ? format : days).format(new Date(time.dateTime));
  }
}
localTimes(document);

// On a phone the details wait until a row is chosen.
function tuckDetails(root) {
  const details = root.querySelector("#details");
  if (details && window.matchMedia("(max-width: 61.99rem)").matches) details.hidden = true;
}
tuckDetails(document);

for (const button of document.querySelectorAll("[data-print]")) {
  button.hidden = false;
  button.addEventListener("click", () => window.print());
}

for (const button of document.querySelectorAll("[data-choose]")) {
  button.hidden = false;
  button.addEventListener("click", () => {
    const boxes = [...document.querySelectorAll(`input[type=checkbox][name="${button.dataset.choose}"]`)];
    const all = boxes.every((box) => box.checked);
    for (const box of boxes) box.checked = !all;
  });
}

// A report is sent once, however often the button is pressed.
document.addEventListener("submit", (event) => {
  const question = event.target.dataset.confirm;
  if (question && !window.confirm(question)) { event.preventDefault(); return; }
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "yes";
});
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

function isBeingFilledIn(part) {
  return [...part.querySelectorAll("input, select, textarea")].some((field) =>
    field === document.activeElement || (field.type !== "hidden" && field.value !== (field.defaultValue ?? field.value)));
}

// A page that waits for numbers comes again with them, but not while somebody writes on it.
(function () {
  const main = document.querySelector("main[data-refresh]");
  const comeAgain = () => (isBeingFilledIn(main) ? setTimeout(comeAgain, 3000) : location.reload());
  if (main) setTimeout(comeAgain, 3000); // milliseconds
})();

// When somebody else reports on the same case, its page follows.
(function () {
  const watch = document.getElementById("watch");
  if (!watch) return;
  const status = document.getElementById("live");
  const every = 2000; // milliseconds

  function follow(fresh) {
    const focused = document.activeElement;
    for (const part of document.querySelectorAll("[data-live]")) {
      const now = fresh.getElementById(part.id);
      if (!now) continue;
      if (part.id === "actions" && isBeingFilledIn(part)) continue;
      const open = [...part.querySelectorAll("details")].map((one) => one.open);
      part.replaceChildren(...now.childNodes);
      part.querySelectorAll("details").forEach((one, i) => { one.open = open[i] || false; });
      tuckDetails(part);
      localTimes(part);
    }
    document.dispatchEvent(new Event("replaced"));
    watch.dataset.events = fresh.getElementById("watch").dataset.events;
    if (focused && focused !== document.body && !focused.isConnected) document.getElementById("next").focus({ preventScroll: true });
  }

  async function look() {
    if (document.hidden) return;
    const news = await fetch("/api/v1/cases/" + watch.dataset.case + "/events?limit=1&after=" + watch.dataset.events);
    if (news.status === 401) { location.reload(); return; }
    if (!news.ok) throw new Error("not now");
    const events = (await news.json()).data;
    if (!events.length) {
      if (status.dataset.lost) { status.textContent = ""; delete status.dataset.lost; }
      return;
    }
    const answer = await fetch("/cases/" + watch.dataset.case + location.search);
    if (!answer.ok) throw new Error("not now");
    follow(new DOMParser().parseFromString(await answer.text(), "text/html"));
    status.textContent = "Updated: " + events[0].actor + " worked on this case.";
  }

  async function keepLooking() {
    try {
      await look();
    } catch (problem) {
      status.textContent = "The service cannot be reached. Trying again.";
      status.dataset.lost = "yes";
    }
    setTimeout(keepLooking, every);
  }
  setTimeout(keepLooking, every);
})();

// What is reported without a network is kept on this device and sent once: the round's number and the key of the form
// are part of it.
(function () {
  const KEY = "banditree-kept";
  const status = document.getElementById("live");
  const here = () => document.getElementById("watch")?.dataset.case;

  function kept() {
    try { return JSON.parse(localStorage.getItem(KEY)) || []; } catch { return []; }
  }
  const keep = (all) => localStorage.setItem(KEY, JSON.stringify(all));
  const without = (one) => keep(kept().filter((other) => other.body !== one.body));

  function show() {
    document.querySelectorAll(".kept").forEach((one) => one.remove());
    const next = document.getElementById("next");
    for (const one of kept()) {
      if (one.id !== here() || !next) continue;
      const note = document.createElement("div");
      note.className = "alarm kept";
      note.setAttribute("role", "alert");
      const said = document.createElement("p");
      said.textContent = one.refused ? one.what + " was not recorded: " + one.refused : "Kept on this device: " + one.what + ". It is sent when the network is back.";
      const back = document.createElement("button");
      back.type = "button";
      back.textContent = one.refused ? "I have seen it" : "Take it back";
      back.addEventListener("click", () => { without(one); show(); });
      note.append(said, back);
      next.prepend(note);
      next.querySelectorAll("form.tell").forEach((form) => { if (!one.refused && form.elements.round.value === one.round) form.hidden = true; });
    }
    if (next && !kept().some((one) => one.id === here() && !one.refused)) next.querySelectorAll("form.tell").forEach((form) => { form.hidden = false; });
  }

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form.tell") || (navigator.onLine && !status?.dataset.lost)) return;
    event.preventDefault();
    delete form.dataset.sent;
    const given = new FormData(form, event.submitter);
    const round = given.get("round");
    given.set("sure", round); // it was not reported a moment ago
    const outcome = event.submitter?.getAttribute("aria-label") || "Round " + round + ": " + given.get("reward");
    const one = { id: here(), action: form.getAttribute("action"), round, what: outcome, body: new URLSearchParams(given).toString() };
    keep([...kept().filter((other) => other.action !== one.action || other.round !== round), one]);
    show();
  });

  async function send() {
    for (const one of kept().filter((other) => !other.refused)) {
      const headers = { "content-type": "application/x-www-form-urlencoded", accept: "text/html" };
      let answer;
      try { answer = await fetch(one.action, { method: "POST", body: one.body, headers }); } catch { return; }
      if (new URL(answer.url).pathname === "/login" || answer.status >= 500) return; // sent after logging in
      if (answer.ok) without(one);
      else keep(kept().map((other) => (other.body === one.body ? { ...other, refused: "look at the case and report it again." } : other)));
      if (one.id === here()) location.reload();
    }
  }
  const tryToSend = () => { if (kept().length) navigator.locks ? navigator.locks.request(KEY, send) : send(); };

  window.addEventListener("online", tryToSend);
  document.addEventListener("replaced", show);
  setInterval(tryToSend, 5000); // milliseconds
  show();
  tryToSend();
})();
