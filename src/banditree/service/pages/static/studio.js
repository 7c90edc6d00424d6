"use strict";
// While a job runs, the parts of the page that show it follow; without scripts the page comes again by itself.
(function () {
  const every = 1500; // milliseconds

  function busy() {
    return document.querySelector("[data-busy]");
  }

  async function look() {
    const answer = await fetch(location.href.split("#")[0]);
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const was = busy();
    for (const part of document.querySelectorAll("[data-live]")) {
      const now = fresh.getElementById(part.id);
      if (!now || part.contains(document.activeElement)) continue;
      part.replaceChildren(...now.childNodes);
      part.toggleAttribute("data-busy", now.hasAttribute("data-busy"));
    }
    if (was && !fresh.querySelector("[data-busy]")) location.reload(); // forms that wait for the result
  }

  async function keepLooking() {
    if (!busy()) return;
    if (!document.hidden) await look().catch(() => {});
    setTimeout(keepLooking, every);
  }
  setTimeout(keepLooking, every);
})();

// A file that is too large is refused before it is sent.
for (const field of document.querySelectorAll("input[type=file][data-most]")) {
  field.addEventListener("change", () => {
    const size = field.files.length ? field.files[0].size : 0;
    const mega = (bytes) => Math.ceil(bytes / 1e6) + " MB";
    field.setCustomValidity(size > field.dataset.most ? field.dataset.large.replace("{size}", mega(size)).replace("{most}", mega(field.dataset.most)) : "");
    field.reportValidity();
  });
}
