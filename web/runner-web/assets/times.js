// Times in the reader's zone, and durations that go on.
"use strict";
function showTimes(root) {
  for (const time of root.querySelectorAll("time[data-ms]")) {
    const date = new Date(Number(time.dataset.ms));
    time.dateTime = date.toISOString();
    time.textContent = date.toLocaleString();
  }
}
function duration(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 60) return `${s} s`;
  return s < 3600 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${Math.floor(s / 3600)} h ${Math.floor(s / 60) % 60} min`;
}
function showDurations() {
  for (const span of document.querySelectorAll("[data-since]")) span.textContent = duration(Date.now() - Number(span.dataset.since));
}
showTimes(document);
showDurations();
setInterval(showDurations, 1000);
