"use strict";
(function () {
  const data = JSON.parse(document.getElementById("plan-data").textContent);
  const flow = document.querySelector(".flow");
  const panel = document.getElementById("details");
  const details = document.getElementById("facts");
  const picker = document.getElementById("pick-task");
  const boxes = [...flow.querySelectorAll(".box")];

  function shown(p) {
    if (p === 0) return "0";
    if (p >= 0.9995) return p === 1 ? "100%" : "> 99.9%";
    if (p >= 0.0005) return (100 * p).toFixed(1) + "%";
    return p.toExponential(1);
  }
  function amount(value) {
    return value === null ? "–" : value.toLocaleString("en", { maximumFractionDigits: value < 10 ? 2 : 1 });
  }
  function element(name, text, className) {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (className) made.className = className;
    return made;
  }

  // What is known of one box: the tasks still possible there, and how each task gets there.
  function describe(number) {
    details.replaceChildren(element("h3", "Box " + number));
    const possible = data.possible[number - 1];
    if (possible) {
      const names = possible.map((i) => data.tasks[i]).join(", ");
      details.append(element("p", "Still possible here (" + possible.length + " of " + data.tasks.length + "): " + names + "."));
    }
    if (!data.chance) {
      details.append(element("p", data.note, "soft"));
      return;
    }
    const table = element("table");
    const head = table.createTHead().insertRow();
    for (const title of [data.task_word, "chance to get here", "cost so far", "rounds so far"]) {
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
    details.append(table, element("p", data.note, "soft"));
  }

  document.getElementById("hide").addEventListener("click", () => { panel.hidden = true; current = null; });

  let current = null;
  for (const box of boxes) {
    const show = () => {
      if (current === box) return;
      current = box;
      panel.hidden = false;
      describe(Number(box.dataset.box));
    };
    box.addEventListener("pointerenter", show);
    box.addEventListener("focus", show);
    box.addEventListener("click", show);
  }

  function setOpen(node, open) {
    const list = node.querySelector(":scope > .room > .grid > ul");
    const fold = node.querySelector(":scope > .room > .grid > .cell .fold");
    if (!list || !fold) return;
    list.hidden = !open;
    node.classList.toggle("open", open);
    fold.setAttribute("aria-expanded", String(open));
    fold.textContent = open ? "−" : "+";
  }
  const folds = [...flow.querySelectorAll(".fold")];
  for (const fold of folds) {
    fold.hidden = false;
    fold.addEventListener("click", () => {
      const node = fold.closest(".node");
      setOpen(node, !node.classList.contains("open"));
    });
  }
  document.getElementById("fold-all").addEventListener("click", () => folds.forEach((f) => setOpen(f.closest(".node"), false)));
  document.getElementById("unfold-all").addEventListener("click", () => folds.forEach((f) => setOpen(f.closest(".node"), true)));

  function reveal(box) {
    for (let node = box.closest(".node").parentElement.closest(".node"); node; node = node.parentElement.closest(".node")) setOpen(node, true);
    box.focus();
    box.scrollIntoView({ block: "center" });
  }
  for (const link of flow.querySelectorAll(".link")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      reveal(document.getElementById(link.getAttribute("href").slice(1)));
    });
  }

  // Up and down go through the boxes in sight, right and left into and out of a branch.
  flow.addEventListener("keydown", (event) => {
    const box = event.target.closest(".box");
    if (!box || event.ctrlKey || event.altKey || event.metaKey) return;
    const node = box.closest(".node");
    const seen = boxes.filter((other) => other.offsetParent !== null);
    const place = seen.indexOf(box);
    let next = null;
    if (event.key === "ArrowDown") next = seen[place + 1];
    else if (event.key === "ArrowUp") next = seen[place - 1];
    else if (event.key === "ArrowRight") {
      setOpen(node, true);
      next = node.querySelector(":scope > .room > .grid > ul .box");
    } else if (event.key === "ArrowLeft") {
      if (node.classList.contains("open")) setOpen(node, false);
      else next = node.parentElement.closest(".node")?.querySelector(".box");
    } else return;
    event.preventDefault();
    if (next) next.focus();
  });

  // Light up the most likely way of the chosen task.
  function light(task) {
    const path = task === "" ? [] : data.paths[Number(task)];
    for (const node of flow.querySelectorAll(".lit, .yes-lit, .no-lit")) node.classList.remove("lit", "yes-lit", "no-lit");
    let node = flow.querySelector(".node");
    for (const chance of flow.querySelectorAll(".chance")) {
      const number = Number(chance.dataset.box);
      chance.textContent = task === "" ? "" : shown(data.chance[Number(task)][number - 1]);
    }
    path.forEach((number, step) => {
      if (step > 0) {
        const children = [...node.querySelectorAll(":scope > .room > .grid > ul > li")];
        let next = children.find((child) => child.dataset.target === String(number));
        const parent = node;
        if (!next) next = flow.querySelector('.node[data-target="' + number + '"]');
        else parent.classList.add(next.classList.contains("yes") ? "yes-lit" : "no-lit");
        next.classList.add("lit");
        if (!next.classList.contains("node")) next = flow.querySelector('.node[data-target="' + number + '"]');
        node = next;
      }
      node.classList.add("lit");
      setOpen(node, true);
    });
    const status = document.getElementById("path");
    status.textContent = path.length ? "Most likely path: box " + path.join(", ") + "." : "";
  }
  if (picker) picker.addEventListener("change", () => light(picker.value));
})();
