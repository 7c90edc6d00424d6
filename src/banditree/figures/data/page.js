"use strict";
(function () {
  const data = JSON.parse(document.getElementById("plan-data").textContent);
  const language = document.documentElement.lang;
  const t = (key, values) => data.strings[key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
  const all = (selector) => [...document.querySelectorAll("#flow " + selector)];

  function shown(p) {
    const percent = (part, digits) => part.toLocaleString(language, { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits });
    if (p === 0) return "0";
    if (p >= 0.9995) return p === 1 ? percent(1, 0) : "> " + percent(0.999, 1);
    if (p >= 0.0005) return percent(p, 1);
    return p.toExponential(1);
  }
  function amount(value) {
    return value === null ? "–" : value.toLocaleString(language, { maximumFractionDigits: value < 10 ? 2 : 1 });
  }
  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // Jumps stand beside the rows, in lanes. (Styles are set here since a strict page allows none in its text.)
  function place() {
    for (const ladder of document.querySelectorAll(".ladder")) {
      if (Number(ladder.dataset.lanes)) ladder.style.gridTemplateColumns = "minmax(0, 1fr) repeat(" + ladder.dataset.lanes + ", .75rem)";
      for (const jump of ladder.querySelectorAll(".jump")) {
        jump.style.setProperty("--wide", jump.dataset.wide);
        jump.style.setProperty("--narrow", jump.dataset.narrow);
        jump.style.gridColumn = jump.dataset.columns;
        jump.style.display = "block";
      }
    }
  }
  place();
  document.addEventListener("replaced", place);
  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details.part")) part.open = true;
  });

  // What is known of one row or end: the tasks still possible there, and how each task gets there.
  function describe(box) {
    const number = Number(box.dataset.box), facts = document.getElementById("facts");
    const name = box.classList.contains("then") ? box.textContent : t(data.in_lines ? "line" : "box", { number });
    facts.replaceChildren(element("h2", name));
    const possible = data.possible[number];
    if (possible) {
      const names = possible.map((i) => data.tasks[i]).join(", ");
      facts.append(element("p", t("possible", { n: possible.length, tasks: data.tasks.length, names })));
    }
    if (!data.chance) {
      facts.append(element("p", data.note, "soft"));
      return;
    }
    const table = element("table");
    const head = table.createTHead().insertRow();
    for (const title of [data.task_word, data.strings.chance, data.strings.cost, data.strings.rounds]) {
      const cell = element("th", title);
      cell.scope = "col";
      head.append(cell);
    }
    const body = table.createTBody();
    const order = data.tasks.map((_, i) => i).sort((i, j) => data.chance[j][number - 1] - data.chance[i][number - 1]);
    for (const i of order) {
      const row = body.insertRow();
      row.append(element("td", data.tasks[i], possible && possible.includes(i) ? "still" : ""));
      row.firstChild.title = data.tasks[i];
      row.append(element("td", shown(data.chance[i][number - 1])));
      row.append(element("td", amount(data.cost[i][number - 1])));
      row.append(element("td", amount(data.rounds[i][number - 1])));
    }
    facts.append(table, element("p", data.note, "soft"));
  }

  // Rows may be replaced while the page is open, so that one listener on the document serves them all.
  let current = null;
  function show(event) {
    const box = event.target.closest?.("#flow .box");
    if (!box || (current === box && event.type !== "click")) return;
    current = box;
    const details = document.getElementById("details");
    details.hidden = false;
    details.classList.add("chosen");
    describe(box);
  }
  for (const kind of ["pointerover", "focusin", "click"]) document.addEventListener(kind, show);

  document.addEventListener("click", (event) => {
    if (event.target.closest("#hide")) {
      document.getElementById("details").hidden = true;
      current = null;
    }
    const link = event.target.closest("#flow .link");
    if (!link) return;
    event.preventDefault();
    const row = document.getElementById(link.getAttribute("href").slice(1));
    row.focus();
    row.scrollIntoView({ block: "center" });
  });

  // Up and down go through the rows and ends.
  document.addEventListener("keydown", (event) => {
    const box = event.target.closest("#flow .box");
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!box || !step || event.ctrlKey || event.altKey || event.metaKey) return;
    const boxes = all(".box");
    event.preventDefault();
    boxes[boxes.indexOf(box) + step]?.focus();
  });

  // Light up the most likely way of the chosen task.
  function light(task) {
    const path = task === "" ? [] : data.paths[Number(task)];
    for (const lit of all(".lit")) lit.classList.remove("lit");
    for (const chance of all(".chance")) chance.textContent = task === "" ? "" : shown(data.chance[Number(task)][Number(chance.dataset.box) - 1]);
    path.forEach((number, step) => {
      const row = document.getElementById("row-" + number);
      if (row) row.closest(".rung").classList.add("lit");
      const before = step > 0 && document.getElementById("row-" + path[step - 1]);
      if (before) before.closest(".rung").querySelector('.way[data-box="' + number + '"]')?.classList.add("lit");
    });
    const rows = path.filter((number) => document.getElementById("row-" + number));
    const end = path.length && !document.getElementById("row-" + path[path.length - 1]) ? " to an end" : "";
    const way = (data.in_lines ? "lines on the path" : "boxes on the path") + end;
    document.getElementById("path").textContent = path.length ? t(way, { numbers: rows.join(", ") }) : "";
  }
  document.getElementById("pick-task")?.addEventListener("change", (event) => light(event.target.value));
})();
