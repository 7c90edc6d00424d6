// The app of a plan: follows many cases in a browser, without a network. A case is the list of its events, as in the
// service, and stands where they lead (`fold`).
const read = (id) => JSON.parse(document.getElementById(id).textContent);
const [machine, strings] = [read("machine"), read("strings")];
const [KEY, SOON, TURNS] = [`banditree:${machine.plan}`, 4000, 310000];
const words = machine.vocabulary;
const t = (key, values = {}) => strings[key].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
const low = (text) => text.charAt(0).toLowerCase() + text.slice(1);
const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const nameOf = (reward) => (reward === null || reward === "missing" ? t("not known") : machine.rewards.outcomes.find((one) => one.value === reward)?.name ?? String(reward));
const main = document.querySelector("main");
const state = { cases: [], open: null, key: null, salt: null, kept: null, keeps: true, notice: "", again: null };

// Cases and their events

function fold(one) {
  const follower = new Follower(machine, { without: one.without });
  for (const event of one.events) apply(follower, event);
  return follower;
}

function apply(follower, { kind, round, arm, reward, harm, context, withdrawn }) {
  if (kind === "asked") follower.rounds.push({ arm: machine.arms.indexOf(arm), context: context ?? null, reward: null, overridden: false, tallied: false });
  else if (kind === "told") follower.tell(reward, round, harm);
  else if (kind === "missing") follower.tell("missing", round, harm);
  else if (kind === "overridden") follower.override(arm, round <= follower.rounds.length ? round : undefined, context);
  else if (kind === "corrected") follower.correct(reward ?? "missing", round, harm);
  else if (kind === "undone") {
    const { harm: _, ...entry } = follower.rounds[round - 1];
    follower.rounds[round - 1] = { ...entry, reward: null };
  }
  if (withdrawn?.length) follower.rounds.length = withdrawn[0].round - 1;
  if (kind === "undone") { follower.begin(); follower.apply(); }
}

/** The open rounds at the end, from this one on, that no person chose. */
function openAtEnd(follower, first = 1) {
  let last = follower.rounds.length;
  while (last >= first && last > follower.applied && follower.rounds[last - 1].reward === null && !follower.rounds[last - 1].overridden) last--;
  return follower.rounds.slice(last).map((entry, i) => ({ round: last + i + 1, arm: machine.arms[entry.arm] }));
}

/** Those of them that the plan would not give any more. */
function astray(follower) {
  for (const { round, arm } of openAtEnd(follower)) {
    const after = follower.rounds.splice(round - 1);
    const [step] = follower.ask({ context: after[0].context ?? undefined, available: [arm], wait: false });
    follower.rounds.splice(round - 1, Infinity, ...after);
    if (step.arm !== arm || step.round !== round) return openAtEnd(follower, round);
  }
  return [];
}

/** The last report that can be taken back, and how many rounds there were then. */
function lastReport(one) {
  for (let i = one.events.length - 1; i >= 0; i--) {
    const { kind, round } = one.events[i];
    if (kind === "told" || kind === "missing") {
      const rounds = one.events.slice(0, i).reduce((n, event) => (event.kind === "asked" || event.kind === "overridden" ? Math.max(n, event.round) : event.withdrawn?.length ? event.withdrawn[0].round - 1 : n), 0);
      return { round, rounds: Math.min(rounds, (one.events[i].withdrawn?.[0].round ?? Infinity) - 1) };
    }
    if (kind === "corrected" || kind === "undone") return null;
  }
  return null;
}

function sentence(event) {
  const values = { ...event, outcome: nameOf(event.reward ?? null) + (event.harm ? `, ${words.harm ?? "harm"}` : ""), give: low(words.give), word: words.arm, text: event.text ?? "" };
  return t(event.kind, values);
}

const add = (one, event) => { one.events.push({ ...event, at: new Date().toISOString() }); return event; };

function openNext(one, options = {}) {
  const follower = fold(one);
  const before = follower.rounds.length;
  const [step] = follower.ask(options);
  if (follower.rounds.length > before) add(one, { kind: "asked", round: step.round, arm: step.arm, context: follower.rounds[step.round - 1].context });
  return step.outcome ?? "";
}

const asksContext = () => machine.features.length > 0;

/** Do something to a case, keep it, and show it. A refusal is said and changes nothing. */
async function act(one, what) {
  if (!(await isCurrent())) return;
  const before = structuredClone(one.events);
  state.notice = state.again = "";
  try {
    what();
    fold(one);
  } catch (problem) {
    if (!(problem instanceof Refused)) throw problem;
    one.events = before;
    state.notice = problem.message;
  }
  await keep();
  show();
}

const newestReport = (one) => [...one.events].reverse().find((event) => ["told", "missing", "corrected", "undone"].includes(event.kind));
const isSame = (one, other) => ["kind", "round", "reward", "harm"].every((name) => one?.[name] === other[name]);

function tell(one, round, reward, harm, sure = false) {
  const last = newestReport(one);
  const event = reward === "missing" ? { kind: "missing", round } : { kind: "told", round, reward };
  if (harm !== undefined) event.harm = harm;
  if (!sure && last && last.round !== round && Date.now() - new Date(last.at) < SOON) {
    state.again = { round, reward, harm, before: sentence(last), outcome: nameOf(reward) };
    return show();
  }
  return act(one, () => {
    if (isSame(newestReport(one), event)) return; // a second tap before the page had changed
    const withdrawn = harm ? astray(fold({ ...one, events: [...one.events, event] })) : [];
    add(one, withdrawn.length ? { ...event, withdrawn } : event);
    fold(one);
    if (!asksContext() && !fold(one).openRounds.length) state.notice = why(openNext(one));
  });
}

const why = (outcome) => (outcome ? t(outcome, { word: words.arm }) : "");

// Keeping

const bytes = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
const text64 = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));

async function keyOf(passphrase, salt) {
  const raw = await crypto.subtle.importKey("raw", new TextEncoder().encode(passphrase), "PBKDF2", false, ["deriveKey"]);
  const how = { name: "PBKDF2", hash: "SHA-256", salt, iterations: TURNS };
  return crypto.subtle.deriveKey(how, raw, { name: "AES-GCM", length: 256 }, false, ["encrypt", "decrypt"]);
}

async function sealed() {
  const plain = JSON.stringify(state.cases);
  if (!state.key) return JSON.stringify({ cases: state.cases });
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const data = new Uint8Array(await crypto.subtle.encrypt({ name: "AES-GCM", iv }, state.key, new TextEncoder().encode(plain)));
  let letters = "";
  for (const one of data) letters += String.fromCharCode(one);
  return JSON.stringify({ salt: text64(state.salt), iv: text64(iv), data: btoa(letters) });
}

const stored = () => { try { return localStorage.getItem(KEY); } catch { return null; } };

async function keep() {
  const whole = await sealed();
  try {
    localStorage.setItem(KEY, whole);
    state.kept = whole;
  } catch {
    state.keeps = false;
  }
}

/** Whether nobody changed the cases in another window; else they are read again. */
async function isCurrent() {
  if (!state.keeps || stored() === state.kept) return true;
  await load();
  state.notice = t("elsewhere");
  show();
  return false;
}

async function load() {
  state.kept = stored();
  const found = state.kept ? JSON.parse(state.kept) : { cases: [] };
  state.locked = found.data ? found : null;
  if (!found.data) [state.key, state.cases] = [null, found.cases];
  else if (state.key) await unlock(state.key, found).catch(() => { state.key = null; }); // another passphrase by now
}

async function unlock(key, { iv, data, salt }) {
  const plain = await crypto.subtle.decrypt({ name: "AES-GCM", iv: bytes(iv) }, key, bytes(data));
  Object.assign(state, { key, salt: bytes(salt), cases: JSON.parse(new TextDecoder().decode(plain)), locked: null });
}

// Case files

const fileOf = (one) => ({ schema: "banditree/case/1", plan: machine.plan, session: fold(one).snapshot(), id: one.id, label: one.label, events: one.events });

function download(name, content) {
  const link = h("a", { href: URL.createObjectURL(new Blob([JSON.stringify(content)], { type: "application/json" })), download: name });
  link.click();
}

/** What happened in rounds of which there are no events: `banditree run` keeps none. */
const eventsOf = (rounds) => rounds.flatMap((entry, i) => {
  const about = { round: i + 1, arm: machine.arms[entry.arm], context: entry.context ?? undefined };
  const opened = entry.overridden ? { kind: "overridden", ...about, text: "" } : { kind: "asked", ...about, context: entry.context };
  const harm = entry.harm === undefined || entry.harm === null ? {} : { harm: entry.harm };
  const told = entry.reward === "missing" ? { kind: "missing", round: i + 1, ...harm } : { kind: "told", round: i + 1, reward: entry.reward, ...harm };
  return entry.reward === null ? [opened] : [opened, told];
});

const essence = ({ kind, round, arm, reward, text, harm }) => JSON.stringify([kind, round, arm, reward, text, harm]);
const begins = (long, short) => short.every((event, i) => long[i] && essence(event) === essence(long[i]));

async function take(files) {
  const found = { n: 0, more: 0, same: 0 };
  const problems = [];
  for (const file of files) {
    try {
      const content = JSON.parse(await file.text());
      for (const one of Array.isArray(content) ? content : [content]) takeOne(one, file.name, found);
    } catch (problem) {
      problems.push(problem instanceof Refused ? problem.message : t("no file", { name: file.name }));
    }
  }
  await keep();
  state.notice = [t("imported", found), ...problems].join(" ");
  show();
}

function takeOne(given, name, found) {
  if (given.schema !== "banditree/case/1") throw new Refused(t("no file", { name }));
  if (given.plan !== machine.plan) throw new Refused(t("another plan", { name, plan: given.plan }));
  const { session } = given;
  const without = (session.without ?? []).map((k) => machine.arms[k]);
  const id = given.id ?? `file-${name.replace(/[^\w.-]/g, "-").slice(0, 50)}`;
  const one = { id, label: given.label ?? name.replace(/\.json$/, ""), without, events: given.events ?? [] };
  const before = fold(one).rounds;
  const isNew = ({ kind, round }) => (kind === "asked" || kind === "overridden" ? round > before.length : (before[round - 1]?.reward ?? null) === null);
  one.events = [...one.events, ...eventsOf(session.rounds).filter(isNew)];
  const here = fold(one);
  if (JSON.stringify(here.rounds.map((r) => [r.arm, r.reward])) !== JSON.stringify(session.rounds.map((r) => [r.arm, r.reward]))) throw new Refused(t("no file", { name }));
  const mine = state.cases.find((other) => other.id === id);
  if (!mine) { state.cases.push(one); found.n += 1; }
  else if (begins(mine.events, one.events)) found.same += 1;
  else if (begins(one.events, mine.events)) { mine.events = one.events; found.more += 1; }
  else throw new Refused(t("both", { label: mine.label, name }));
}

// Pages

function h(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== false && value !== undefined) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false && child !== ""));
  return made;
}

const button = (label, onclick, more = {}) => h("button", { type: "button", onclick, ...more }, label);
const field = (label, control) => h("label", {}, label, control);
const input = (name, more = {}) => h("input", { name, autocomplete: "off", ...more });
const select = (name, options) => h("select", { name }, options.map(([value, label]) => h("option", { value }, label)));
const ticks = (legend, name, options) => h("fieldset", {}, h("legend", {}, legend), options.map((arm) => h("label", { class: "tick" }, h("input", { type: "checkbox", name, value: arm }), arm)));
const folded = (label, ...content) => h("details", { class: "act" }, h("summary", {}, label), ...content);

function form(label, send, ...content) {
  const sent = (event) => { event.preventDefault(); const given = new FormData(event.target); send(given, event.target); };
  return h("form", { onsubmit: sent }, ...content, h("button", {}, label));
}

function contextFields(follower) {
  const levels = (name) => machine.features.find((one) => one.name === name && one.levels?.length)?.levels;
  return follower.askedNames().map((name) => field(name, levels(name) ? select(`context-${name}`, levels(name).map((one) => [one, one])) : input(`context-${name}`, { required: true, inputmode: "decimal" })));
}

const contextOf = (given) => {
  const pairs = [...given].filter(([name]) => name.startsWith("context-")).map(([name, value]) => [name.slice(8), String(value).replace(",", ".")]);
  return pairs.length ? Object.fromEntries(pairs) : undefined;
};

const rewardOf = (given) => (given.get("reward") === "missing" ? "missing" : Number(String(given.get("reward")).trim().replace(",", ".") || NaN));
const outcomeField = () => field(t("outcome"), machine.rewards.outcomes.length ? select("reward", [...machine.rewards.outcomes.map((one) => [one.value, one.name]), ["missing", t("not known")]]) : input("reward", { required: true }));

function stepPart(one, follower, round) {
  const arm = machine.arms[follower.rounds[round - 1].arm];
  const harm = machine.on_harm ? h("label", { class: "tick" }, h("input", { type: "checkbox", "data-harm": round }), t("harmful", { harm: words.harm ?? "harm" })) : "";
  const harmed = () => (machine.on_harm ? main.querySelector(`[data-harm="${round}"]`).checked : undefined);
  const buttons = machine.rewards.outcomes.map(({ value, name }, i, all) => button(capital(name), () => tell(one, round, value, harmed()), { class: `big ${i === 0 ? "good" : i === all.length - 1 ? "bad" : ""}`, "aria-label": `${t("round")} ${round}: ${name}` }));
  const typed = form(t("report"), (given) => tell(one, round, rewardOf(given), harmed()), field(t("outcome of", { word: capital(words.reward), round }), input("reward", { required: true, inputmode: "decimal" })));
  return h("div", { class: "step" }, h("p", { class: "say" }, `${words.give} `, h("strong", {}, arm)), h("p", { class: "soft" }, t("happened", { round, horizon: machine.horizon.toLocaleString() })), harm,
    buttons.length ? h("div", { class: "row" }, buttons) : typed, button(t("unknown"), () => tell(one, round, "missing", harmed()), { "aria-label": `${t("round")} ${round}: ${t("unknown")}` }));
}

function nextPart(one, follower, closed) {
  const open = follower.openRounds;
  const ask = (given) => act(one, () => {
    const absent = given.getAll("absent");
    const available = absent.length ? machine.arms.filter((arm) => !absent.includes(arm)) : undefined;
    state.notice = why(openNext(one, { context: contextOf(given), available }));
  });
  const last = one.events.findLast(({ kind }) => kind !== "asked" && kind !== "noted");
  const isOpen = (arm) => open.some((round) => machine.arms[follower.rounds[round - 1].arm] === arm);
  const changed = last?.withdrawn?.filter(({ arm }) => !isOpen(arm)).map(({ round, arm }) => h("p", { class: "alarm", role: "alert" }, t("withdrawn", { round, arm, give: low(words.give) }))) ?? [];
  const again = state.again && h("div", { class: "alarm", role: "alert" }, h("p", {}, t("again", state.again)), h("div", { class: "row" }, button(t("no"), () => { state.again = null; show(); }), button(t("yes", state.again), () => tell(one, state.again.round, state.again.reward, state.again.harm, true))));
  return h("section", { "aria-labelledby": "next-title" }, h("h2", { id: "next-title", tabindex: "-1" }, t("next")),
    state.notice && h("p", { class: "alarm", role: "alert" }, state.notice), changed, again, closed && h("p", { class: "say" }, t("is closed")),
    again ? "" : open.map((round) => stepPart(one, follower, round)),
    !closed && !open.length && form(t("what next"), ask, contextFields(follower), folded(t("not now"), ticks(t("not now"), "absent", machine.arms))),
    !closed && open.length && folded(t("another"), form(t("give now"), (given) => act(one, () => { state.notice = why(openNext(one, { wait: false, context: contextOf(given) })); }), contextFields(follower))));
}

function standsPart(one, follower) {
  const { page, row, pulls, total } = follower.at;
  const { place, says, counts } = machine.pages[page - 1].rows[row];
  const tally = counts.kind === "for good" ? "" : t(counts.kind === "rounds" ? "tally rounds" : "tally", { pulls, total, rounds: counts.rounds });
  const astrayRounds = follower.offPlanRounds;
  return h("section", {}, h("h2", {}, t("stands")), h("p", {}, t("rounds", { n: follower.rounds.length, horizon: machine.horizon.toLocaleString(), place: capital(place) })), h("p", {}, says), tally && h("p", {}, tally),
    one.without.length ? h("p", {}, `${t("never")}: ${one.without.join(", ")}`) : "",
    follower.barred.length ? h("p", {}, t("barred", { harm: words.harm ?? "harm", arms: follower.barred.map((k) => machine.arms[k]).join(", ") })) : "",
    astrayRounds.length ? h("p", {}, t("off plan", { rounds: astrayRounds.join(", ") })) : "");
}

function elsePart(one, follower, closed) {
  const told = follower.rounds.flatMap((entry, i) => (entry.reward === null ? [] : [i + 1])).reverse();
  const numbers = (list) => field(t("round"), select("round", list.map((n) => [n, `${n} (${machine.arms[follower.rounds[n - 1].arm]}${follower.rounds[n - 1].reward === null ? "" : `, ${nameOf(follower.rounds[n - 1].reward)}`})`])));
  const reason = () => field(t("reason"), input("text", { required: true, maxlength: 2000 }));
  const harmField = () => (machine.on_harm ? h("label", { class: "tick" }, h("input", { type: "checkbox", name: "harm" }), t("harmful", { harm: words.harm ?? "harm" })) : "");
  const correct = (given) => act(one, () => {
    const [reward, round] = [rewardOf(given), Number(given.get("round"))];
    const event = { kind: "corrected", round, reward: reward === "missing" ? null : reward, text: given.get("text"), ...(machine.on_harm ? { harm: given.has("harm") } : {}) };
    const trial = fold({ ...one, events: [...one.events, event] });
    const withdrawn = given.has("keep") ? [] : astray(trial);
    add(one, withdrawn.length ? { ...event, withdrawn } : event);
    if (!closed && !asksContext() && !fold(one).openRounds.length) { const outcome = openNext({ ...one, events: structuredClone(one.events) }); if (!outcome && !withdrawn.length) openNext(one); }
  });
  const override = (given) => act(one, () => add(one, { kind: "overridden", round: Number(given.get("round")) || follower.rounds.length + 1, arm: given.get("arm"), context: contextOf(given), text: given.get("text") }));
  const plain = (kind) => (given) => act(one, () => add(one, { kind, text: given.get("text") ?? "" }));
  return h("section", {}, h("h2", {}, t("something else")),
    told.length ? folded(t("correct"), form(t("correct"), correct, numbers(told), outcomeField(), harmField(), reason(), h("label", { class: "tick" }, h("input", { type: "checkbox", name: "keep" }), t("keep")))) : "",
    closed ? "" : folded(t("different", { word: words.arm }), form(t("save"), override, follower.openRounds.length ? numbers(follower.openRounds) : contextFields(follower), field(capital(words.arm), select("arm", machine.arms.map((arm) => [arm, arm]))), reason())),
    folded(t("note"), form(t("save"), plain("noted"), field(t("text"), h("textarea", { name: "text", required: true, maxlength: 2000, rows: 3 })))),
    folded(t(closed ? "reopen" : "close"), form(t(closed ? "reopen" : "close"), plain(closed ? "reopened" : "closed"), field(t("reason"), input("text", { required: closed })))),
    h("div", { class: "row" }, button(t("export"), () => download(`${one.label.replace(/[^\p{L}\p{N}.-]+/gu, "-")}.case.json`, fileOf(one))), button(t("print"), () => window.print()),
      button(t("delete"), async () => { if (window.confirm(t("sure delete", { label: one.label })) && (await isCurrent())) { state.cases = state.cases.filter((other) => other !== one); state.open = null; await keep(); show(); } })));
}

function casePage(one) {
  const follower = fold(one);
  const closed = one.events.findLast((event) => event.kind === "closed" || event.kind === "reopened")?.kind === "closed";
  const saved = one.events.findLast((event) => ["told", "missing", "corrected", "undone"].includes(event.kind));
  const last = closed ? null : lastReport(one);
  const undo = () => act(one, () => {
    const withdrawn = openAtEnd(follower, last.rounds + 1);
    add(one, { kind: "undone", round: last.round, ...(withdrawn.length ? { withdrawn } : {}) });
  });
  return [h("div", { class: "stay" }, h("div", { class: "row" }, button(`‹ ${t("all cases")}`, () => { Object.assign(state, { open: null, notice: "", again: null }); show(); })), h("h1", {}, one.label),
    saved && h("div", { class: "row saved" }, h("p", { role: "status" }, t("saved", { what: sentence(saved) })), last && button(t("undo"), undo))),
    nextPart(one, follower, closed), standsPart(one, follower), elsePart(one, follower, closed),
    h("section", {}, h("h2", {}, t("history")), h("ol", {}, [...one.events].reverse().map((event) => h("li", {}, sentence(event), " ", h("span", { class: "soft" }, event.at ? new Date(event.at).toLocaleString() : "")))))];
}

function listPage() {
  const start = (given) => {
    const one = { id: crypto.randomUUID?.() ?? `case-${Date.now()}-${Math.random().toString(36).slice(2)}`, label: given.get("label").trim(), without: given.getAll("never"), events: [] };
    try { fold(one); } catch (problem) { state.notice = problem.message; return show(); }
    state.cases.push(one);
    state.open = one.id;
    return act(one, () => { if (!asksContext()) state.notice = why(openNext(one)); });
  };
  const line = (one) => {
    const follower = fold(one);
    const open = follower.openRounds.map((round) => `${words.give} ${machine.arms[follower.rounds[round - 1].arm]}`);
    return h("li", {}, button([one.label, h("span", {}, open.join(", ") || machine.pages[follower.at.page - 1].rows[follower.at.row].place)], () => { Object.assign(state, { open: one.id, notice: "" }); show(); }));
  };
  const picked = h("input", { type: "file", multiple: true, accept: ".json", onchange: async (event) => { if (await isCurrent()) await take(event.target.files); } });
  return [h("h1", {}, machine.text[0].split(":")[0]), h("p", { class: "soft" }, t("offline")), state.notice && h("p", { class: "alarm", role: "alert" }, state.notice), !state.keeps && h("p", { class: "alarm", role: "alert" }, t("not kept")),
    h("section", {}, h("h2", {}, t("cases")), state.cases.length ? h("ul", { class: "cases" }, [...state.cases].reverse().map(line)) : h("p", {}, t("no cases"))),
    h("section", {}, h("h2", {}, t("new case")), form(t("start"), start, field(t("label"), input("label", { required: true, maxlength: 100 })), folded(t("never"), ticks(t("never"), "never", machine.arms)))),
    h("section", {}, h("h2", {}, t("plan")), h("pre", {}, machine.text.join("\n"))),
    h("section", {}, h("h2", {}, t("keep safe")), h("p", {}, t("lock note")), field(t("import"), picked), h("div", { class: "row" }, button(t("export all"), () => download("cases.json", state.cases.map(fileOf))), button(t("print"), () => window.print())), lockPart()),
    h("section", {}, h("h2", {}, t("numbers")), h("p", {}, t("proof note")), field(t("proof files"), h("input", { type: "file", multiple: true, accept: ".json", onchange: (event) => checkNumbers(event.target) })))];
}

/** Work the numbers of a plan out again from its three files, and say below them what is proven. */
async function checkNumbers(picker) {
  const said = (...lines) => { picker.closest("section").querySelector("ul")?.remove(); picker.closest("section").append(h("ul", { role: "status" }, lines.map((line) => h("li", {}, line)))); };
  const named = { regret: t("regret"), wrong_arm: t("wrong option", { word: words.arm }), harm: words.harm ?? "harm" };
  const digits = (value) => value.toLocaleString(undefined, { maximumSignificantDigits: 6 });
  try {
    const texts = await Promise.all([...picker.files].map((file) => file.text()));
    const files = texts.map((text) => ({ text, ...(({ data, ...rest }) => data ?? rest)(readExactly(text)) }));
    const [plan, about, proof] = ["plan", "collection", "proof"].map((kind) => files.find((file) => String(file.schema).startsWith(`banditree/${kind}/`)));
    if (!plan || !about || !proof) throw new Error(t("three files"));
    if ((await fingerprint(plan.text)) !== machine.plan) throw new Error(t("other numbers"));
    const found = await verify(...[plan, about, proof].map(({ text, ...document }) => document));
    said(...found.map(({ task, what, least, most }) => t("proven", { task, what: named[what], least: digits(least), most: digits(most) })));
  } catch (problem) {
    said(t("not proven", { text: problem instanceof SyntaxError ? t("three files") : problem.message }));
  }
}

async function fingerprint(text) {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return [...digest.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function lockPart() {
  if (!globalThis.crypto?.subtle || !state.keeps) return ""; // what is not kept would be gone
  const lock = async (given) => { if (!(await isCurrent())) return; state.salt = crypto.getRandomValues(new Uint8Array(16)); state.key = await keyOf(given.get("passphrase"), state.salt); await keep(); show(); };
  if (!state.key) return folded(t("lock"), form(t("set"), lock, field(t("passphrase"), input("passphrase", { type: "password", required: true, minlength: 8 }))));
  return h("div", { class: "row" }, button(t("lock now"), async () => { state.key = null; state.cases = []; await load(); show(); }), button(t("unset"), async () => { if (await isCurrent()) { state.key = null; await keep(); show(); } }));
}

function lockedPage() {
  const open = async (given) => {
    try { await unlock(await keyOf(given.get("passphrase"), bytes(state.locked.salt)), state.locked); state.notice = ""; } catch { state.notice = t("wrong passphrase"); }
    show();
  };
  return [h("h1", {}, machine.text[0].split(":")[0]), h("p", {}, t("locked")), state.notice && h("p", { class: "alarm", role: "alert" }, state.notice), form(t("unlock"), open, field(t("passphrase"), input("passphrase", { type: "password", required: true })))];
}

function show() {
  const one = state.cases.find((other) => other.id === state.open);
  const page = state.locked ? lockedPage() : one ? casePage(one) : listPage();
  main.replaceChildren(...page.flat().filter(Boolean));
  document.title = one ? one.label : machine.text[0].split(":")[0];
}

window.addEventListener("storage", async (event) => { if (event.key === KEY && event.newValue !== state.kept) { await load(); show(); } });
if (document.querySelector('link[rel="manifest"]') && "serviceWorker" in navigator) navigator.serviceWorker.register("app/worker.js", { scope: location.pathname });
await load();
show();
