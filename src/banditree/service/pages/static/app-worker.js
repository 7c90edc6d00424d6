"use strict";
// Keeps the app of a plan, so that it opens without a network; with one the newest is shown.
const KEPT = "banditree-app";

self.addEventListener("install", (event) => {
  const page = new URL(self.registration.scope).pathname;
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll([page, page + "/manifest.json"])).then(() => self.skipWaiting()));
});
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  if (event.request.method === "GET") event.respondWith(fresh(event.request));
});

async function fresh(request) {
  const cache = await caches.open(KEPT);
  try {
    const answer = await fetch(request);
    if (answer.ok && !answer.redirected) await cache.put(request.url, answer.clone());
    return answer;
  } catch (problem) {
    const kept = await cache.match(request.url);
    if (kept) return kept;
    throw problem;
  }
}
