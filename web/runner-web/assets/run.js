// A run that goes on: new lines come as events, its states with the page itself, which is fetched again without its log.
// Lines are only ever set as text.
"use strict";
(() => {
  const { run, ended, from } = document.currentScript.dataset;
  const CHUNK = 200, MOST = 30000;
  const byId = (id) => document.getElementById(id);
  const touched = new Set();

  // An anchor of a line may be inside of something folded.
  function reveal() {
    const line = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
    if (!line) return;
    for (let at = line; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    line.scrollIntoView({ block: "center" });
  }
  addEventListener("hashchange", reveal);
  reveal();
  document.addEventListener("click", (event) => {
    const summary = event.target.closest("details.step > summary");
    if (summary) touched.add(summary.parentElement.id);
  });
  if (ended === "true") return;

  const COLOURS = /^(3[0-7]|9[0-7])$/, FLAGS = { 1: "a1", 2: "a2", 3: "a3", 4: "a4" };
  function apply(look, parameters) {
    const codes = parameters.split(/[;:]/);
    for (let i = 0; i < codes.length; i++) {
      const code = String(Number(codes[i] || 0));
      if (code === "0") { look.flags.clear(); look.colour = ""; }
      else if (FLAGS[code]) look.flags.add(FLAGS[code]);
      else if (code === "22") { look.flags.delete("a1"); look.flags.delete("a2"); }
      else if (code === "23") look.flags.delete("a3");
      else if (code === "24") look.flags.delete("a4");
      else if (code === "39") look.colour = "";
      else if (COLOURS.test(code)) look.colour = `a${code}`;
      else if (code === "38" || code === "48" || code === "58") i += codes[i + 1] === "2" ? 4 : 2;
    }
  }
  function coloured(text) {
    const span = document.createElement("span"), look = { flags: new Set(), colour: "" };
    text.split("\u001b").forEach((part, index) => {
      const found = index > 0 && /^\[([0-?]*[ -/]*)([@-~])/.exec(part);
      if (found && found[2] === "m") apply(look, found[1]);
      const rest = found ? part.slice(found[0].length) : part;
      const classes = [...look.flags, look.colour].filter(Boolean).join(" ");
      if (!rest) return;
      if (!classes) { span.append(rest); return; }
      const piece = document.createElement("span");
      piece.className = classes;
      piece.textContent = rest;
      span.append(piece);
    });
    return span;
  }

  function stepOf(line) {
    if (!line.job) return byId("own");
    const job = [...document.querySelectorAll("section.job")].find((job) => job.dataset.job === line.job);
    return job && job.querySelector(`details.step[data-step="${Number(line.step || 0)}"]`);
  }
  function into(parent, child) {
    let chunk = parent.lastElementChild;
    if (!chunk || !chunk.classList.contains("chunk") || chunk.childElementCount >= CHUNK) {
      chunk = document.createElement("div");
      chunk.className = "chunk";
      parent.append(chunk);
    }
    chunk.append(child);
  }
  const CLASSES = { group: "grp" };
  const groups = new WeakMap();
  for (const group of document.querySelectorAll("details[data-last]")) groups.set(group.closest(".log"), group);
  function show(step, line) {
    const log = step.querySelector(".log"), count = Number(log.dataset.lines);
    const isFirst = log.dataset.begun !== "true";
    log.dataset.begun = "true";
    // The group that names a step is its heading here.
    if (isFirst && line.step && line.kind === "group") return;
    if (line.kind === "group" || line.kind === "endgroup") groups.delete(log);
    if (line.kind === "endgroup" || count >= MOST) return;
    const number = count + 1, id = `${step.id === "own" ? "run" : step.id}-${number}`;
    const row = document.createElement(line.kind === "group" ? "summary" : "div");
    row.className = `l ${CLASSES[line.kind] || line.kind}`;
    row.id = id;
    const anchor = document.createElement("a");
    anchor.href = `#${id}`;
    anchor.textContent = number;
    row.append(anchor, coloured(line.text));
    log.dataset.lines = number;
    if (line.kind === "group") {
      const group = document.createElement("details");
      group.className = "group";
      group.append(row);
      into(log, group);
      groups.set(log, group);
      return;
    }
    const group = groups.get(log);
    if (group && line.kind === "error") group.open = true;
    into(group || log, row);
  }

  // Lines of a step that the page does not have yet wait for it, in order.
  let waiting = [];
  function take(line) {
    const step = waiting.length ? null : stepOf(line);
    if (step) show(step, line);
    else { waiting.push(line); soon(); }
  }
  function flush() {
    const lines = waiting;
    waiting = [];
    for (const line of lines) {
      const step = stepOf(line);
      if (step) show(step, line);
      else waiting.push(line);
    }
    if (waiting.length) soon(1000);
  }

  function mergeJob(fresh, old) {
    old.querySelector(".job-head").replaceChildren(...fresh.querySelector(".job-head").childNodes);
    const steps = old.querySelector(".steps");
    for (const step of fresh.querySelectorAll("details.step")) {
      const known = byId(step.id);
      if (!known) { steps.append(step); continue; }
      known.firstElementChild.replaceChildren(...step.firstElementChild.childNodes);
      if (!touched.has(known.id)) known.open = step.open;
    }
  }
  function merge(fresh) {
    for (const id of ["head", "notes", "tested", "more"]) {
      const part = fresh.getElementById(id);
      if (part && part.innerHTML !== byId(id).innerHTML) byId(id).replaceWith(part);
    }
    const jobs = byId("jobs"), ids = new Set();
    for (const job of [...fresh.querySelectorAll("section.job")]) {
      ids.add(job.id);
      const old = byId(job.id);
      if (!old || !old.querySelector(".steps")) { if (old) old.remove(); jobs.append(job); }
      else { mergeJob(job, old); jobs.append(old); }
    }
    for (const job of [...jobs.children]) if (!ids.has(job.id)) job.remove();
    showTimes(document);
    showDurations();
  }
  let planned = 0, again = false, busy = false;
  async function refresh() {
    planned = 0;
    if (busy) { again = true; return; }
    busy = true;
    try {
      const answer = await fetch(`/runs/${run}?log=none`, { headers: { accept: "text/html" } });
      if (answer.ok) merge(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch { /* The next one may come through. */ }
    busy = false;
    flush();
    if (again) { again = false; soon(); }
  }
  function soon(ms = 300) { if (!planned) planned = setTimeout(refresh, ms); }

  const source = new EventSource(`/runs/${run}/log?follow=1&from=${from}`);
  // Many lines at once: a page is laid out for each look at its height.
  let come = [];
  function showCome() {
    const lines = come, atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 40;
    come = [];
    lines.forEach(take);
    if (atEnd) scrollTo(0, document.documentElement.scrollHeight);
  }
  source.onmessage = (message) => {
    if (come.push(JSON.parse(message.data)) === 1) setTimeout(showCome, 50);
  };
  source.addEventListener("changed", () => soon());
  source.addEventListener("end", () => { source.close(); showCome(); soon(0); });
})();
