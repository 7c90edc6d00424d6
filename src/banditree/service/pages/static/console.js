"use strict";
// Times in the reader's time zone.
function localTimes(root) {
  // The reader's own way of writing them, where the page is in the reader's language.
  const page = document.documentElement.lang;
  const locale = navigator.language.startsWith(page) ? undefined : page;
  const format = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
  const days = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeZone: "UTC" });
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

// What the page of a case says by itself, in its language.
const said = JSON.parse(document.getElementById("watch")?.dataset.said || "{}");
const say = (name, values = {}) => said[name].replace(/{(\w+)}/g, (_, place) => values[place]);

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
    status.textContent = say("updated", { name: events[0].actor });
  }

  async function keepLooking() {
    try {
      await look();
    } catch (problem) {
      status.textContent = say("lost");
      status.dataset.lost = "yes";
    }
    setTimeout(keepLooking, every);
  }
  setTimeout(keepLooking, every);
})();

// What is reported without a network, or after the log-in has ended, is kept on this device and sent once: the round's
// number and the key of the form are part of it. What was kept under another log-in is sent when somebody says so.
(function () {
  const KEY = "banditree-kept";
  const status = document.getElementById("live");
  const here = () => document.getElementById("watch")?.dataset.case;
  const token = () => document.querySelector("input[name=csrf_token]")?.value;

  function kept() {
    try { return JSON.parse(localStorage.getItem(KEY)) || []; } catch { return []; }
  }
  const keep = (all) => localStorage.setItem(KEY, JSON.stringify(all));
  const without = (one) => keep(kept().filter((other) => other.body !== one.body));
  const changed = (one, more) => keep(kept().map((other) => (other.body === one.body ? { ...other, ...more } : other)));
  const asks = (one) => !one.refused && one.token !== token();

  // A tap was not made a moment ago, whenever it is sent; a number that was typed may still be asked about.
  function unasked(given) {
    if (!given.has("typed")) given.set("sure", given.get("round"));
    return given;
  }

  function button(text, pressed) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = text;
    made.addEventListener("click", pressed);
    return made;
  }

  function note(one) {
    const made = document.createElement("div");
    made.className = "alarm kept";
    made.setAttribute("role", "alert");
    const sentence = document.createElement("p");
    sentence.textContent = say(one.refused ? "refused" : asks(one) ? "asks" : "kept", { what: one.what });
    made.append(sentence);
    if (asks(one)) made.append(button(say("send"), () => {
      const body = unasked(new URLSearchParams(one.body));
      body.set("csrf_token", token());
      changed(one, { token: token(), body: body.toString() });
      tryToSend();
    }), " ");
    made.append(button(say(one.refused ? "seen" : "back"), () => { without(one); show(); }));
    return made;
  }

  function show() {
    document.querySelectorAll(".kept").forEach((one) => one.remove());
    const next = document.getElementById("next");
    if (!next) return;
    const mine = kept().filter((one) => one.id === here());
    for (const one of mine) next.prepend(note(one));
    const waiting = mine.filter((one) => !one.refused).map((one) => one.round);
    next.querySelectorAll("form.tell").forEach((form) => { form.hidden = waiting.includes(form.elements.round?.value); });
  }

  // Sent as any form where there is a network; whether the log-in had ended is seen on the page that comes then.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form.tell")) return;
    const given = new FormData(form, event.submitter);
    const round = given.get("round");
    const outcome = event.submitter?.getAttribute("aria-label") || given.get("reward");
    const one = { id: here(), action: form.getAttribute("action"), round, what: outcome, token: token() };
    const others = kept().filter((other) => other.action !== one.action || other.round !== round);
    if (navigator.onLine && !status?.dataset.lost) {
      sessionStorage.setItem(KEY, JSON.stringify({ ...one, body: new URLSearchParams(given).toString() }));
      return;
    }
    event.preventDefault();
    delete form.dataset.sent;
    keep([...others, { ...one, body: unasked(new URLSearchParams(given)).toString() }]);
    show();
  });
  const sent = sessionStorage.getItem(KEY);
  sessionStorage.removeItem(KEY);
  if (sent && document.querySelector("[data-unsaved]")) keep([...kept(), JSON.parse(sent)]);

  async function send() {
    for (const one of kept().filter((other) => !other.refused && !asks(other))) {
      const headers = { "content-type": "application/x-www-form-urlencoded", accept: "text/html" };
      let answer;
      try { answer = await fetch(one.action, { method: "POST", body: one.body, headers }); } catch { return; }
      if (new URL(answer.url).pathname === "/login" || answer.status === 429 || answer.status >= 500) return; // sent later
      if (answer.redirected) without(one); // a page that asks about it is answered in place
      else changed(one, { refused: true });
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
