"use strict";
// The page of a job follows it; when it has ended, the page comes again with what came of it.
(function () {
  const part = document.getElementById("job");
  const bar = part.querySelector("progress");
  const status = document.getElementById("status");
  const found = document.getElementById("found");
  const source = new EventSource("/api/v1/jobs/" + part.dataset.job + "/events");
  let rows = 0;

  source.addEventListener("progress", (event) => {
    const job = JSON.parse(event.data);
    if (job.total) { bar.max = job.total; bar.value = job.done; }
    if (job.text) status.textContent = job.text;
  });
  source.addEventListener("found", (event) => {
    const plan = JSON.parse(event.data);
    if (!found) return;
    if (rows === 0) found.replaceChildren();
    rows += 1;
    const row = found.insertRow();
    for (const text of [plan.lines, plan.reading_load.toFixed(1), plan.loss.toFixed(2), plan.wrong_arm.toPrecision(2)]) row.insertCell().textContent = text;
  });
  source.addEventListener("end", () => {
    source.close();
    location.reload();
  });
})();
