// The search page: search as you type, newest query wins, everything reachable by keyboard.
import * as api from "./api.js";
import { wireSettings } from "./settings.js";
import { el, hitItem, marked, sourceChips, sourceNotices, statusText, welcome } from "./view.js";

const PAGE = 20;
const TYPING_PAUSE_MS = 80;
const HEALTH_EVERY_MS = 2000;
const SEARCH_AGAIN_MS = 1000;
const $ = (id) => document.getElementById(id);

const state = {
  roles: [], hits: [], answer: null, current: -1,
  chosen: new Set(), aborter: null, timer: 0, again: 0, opened: null,
};

// ---- The address carries the query, so that a search can be kept as a bookmark ----

function readAddress() {
  const parameters = new URLSearchParams(location.search);
  $("q").value = parameters.get("q") || "";
  $("operator").value = parameters.get("operator") === "and" ? "and" : "";
  return parameters.get("role") || localStorage.getItem("role");
}

function writeAddress() {
  const parameters = new URLSearchParams();
  if ($("q").value) parameters.set("q", $("q").value);
  if (state.roles.length > 1) parameters.set("role", $("role").value);
  if ($("operator").value) parameters.set("operator", $("operator").value);
  const text = parameters.toString();
  history.replaceState(null, "", text ? `/?${text}` : "/");
}

// ---- Searching ----

function searchSoon() {
  clearTimeout(state.timer);
  state.timer = setTimeout(() => searchNow(0), TYPING_PAUSE_MS);
}

async function searchNow(skip) {
  clearTimeout(state.timer);
  clearTimeout(state.again);
  state.aborter?.abort();
  writeAddress();
  const query = $("q").value.trim();
  document.title = query ? `${query} – Orrery search` : "Orrery search";
  if (!query) return showStart();
  const aborter = (state.aborter = new AbortController());
  try {
    const answer = await api.search({
      query, role: $("role").value, operator: $("operator").value,
      sources: [...state.chosen], skip, limit: PAGE,
    }, aborter.signal);
    showAnswer(answer, skip);
  } catch (error) {
    if (error.name !== "AbortError") showError(error.message);
  }
}

function showAnswer(answer, skip) {
  state.answer = answer;
  state.hits = skip ? state.hits.concat(answer.results) : answer.results;
  const items = answer.results.map((hit) => hitItem(hit, open));
  if (skip) $("results").append(...items);
  else $("results").replaceChildren(...items);
  $("status").textContent = statusText(answer, state.hits.length);
  $("notices").replaceChildren(...sourceNotices(answer));
  $("more").hidden = state.hits.length >= answer.total || answer.results.length === 0;
  $("welcome").replaceChildren();
  if (!skip) select(-1);
  if (answer.indexing) state.again = setTimeout(searchAgain, SEARCH_AGAIN_MS);
}

// While sources are being indexed the list fills by itself, but never under the hands of somebody who reads it.
async function searchAgain() {
  const reading = state.opened || state.current >= 0 || state.hits.length > PAGE || document.querySelector("dialog[open]");
  if (!reading) return searchNow(0);
  try {
    const health = await api.health();
    const busy = health.sources.some((source) => ["starting", "indexing"].includes(source.state));
    if (!busy) $("status").textContent = "Indexing has ended: search again to see everything.";
    else state.again = setTimeout(searchAgain, SEARCH_AGAIN_MS);
  } catch (error) {
    showError(error.message);
  }
}

function showError(message) {
  $("status").textContent = "";
  $("notices").replaceChildren(el("li", {}, message));
}

async function showStart() {
  state.hits = [];
  $("results").replaceChildren();
  $("notices").replaceChildren();
  $("more").hidden = true;
  $("status").textContent = "";
  close();
  await refreshHealth();
}

async function refreshHealth() {
  try {
    const health = await api.health();
    const busy = health.sources.filter((source) => source.state === "indexing");
    if (!$("q").value.trim()) $("welcome").replaceChildren(...welcome(health.sources));
    if (busy.length || !$("q").value.trim()) setTimeoutOnce(refreshHealth, HEALTH_EVERY_MS);
  } catch (error) {
    showError(error.message);
    setTimeoutOnce(refreshHealth, HEALTH_EVERY_MS);
  }
}

let healthTimer = 0;
function setTimeoutOnce(task, after) {
  clearTimeout(healthTimer);
  healthTimer = setTimeout(task, after);
}

// ---- Moving in the list, opening a document ----

function select(index) {
  const items = $("results").children;
  state.current = Math.max(-1, Math.min(index, items.length - 1));
  [...items].forEach((item, at) => {
    if (at === state.current) item.setAttribute("aria-current", "true");
    else item.removeAttribute("aria-current");
  });
  if (state.current < 0) return;
  items[state.current].querySelector("a").focus({ preventScroll: true });
  items[state.current].scrollIntoView({ block: "nearest" });
  if (state.opened) open(state.hits[state.current], false);
}

async function open(hit, focus = true) {
  if (!hit) return;
  state.opened = hit;
  $("preview").hidden = false;
  document.querySelector(".columns").classList.add("open");
  $("preview-title").textContent = hit.title;
  $("preview-meta").textContent = hit.path || hit.url || hit.id;
  if (focus) $("preview-title").focus({ preventScroll: true });
  try {
    const document_ = await api.document_(hit.id, $("role").value, $("q").value);
    if (state.opened !== hit) return;
    $("preview-text").replaceChildren(...marked(document_.body, document_.highlights));
    $("preview-meta").textContent = metaText(document_);
    $("preview-text").querySelector("mark")?.scrollIntoView({ block: "center" });
  } catch (error) {
    $("preview-text").textContent = error.message;
  }
}

function metaText(document_) {
  const modified = document_.modified ? new Date(document_.modified).toLocaleString() : "";
  const cut = document_.truncated ? "only the beginning is shown" : "";
  return [document_.path || document_.url, modified, cut].filter(Boolean).join(" · ");
}

function close() {
  state.opened = null;
  $("preview").hidden = true;
  $("preview-text").replaceChildren();
  document.querySelector(".columns").classList.remove("open");
}

async function copyPath() {
  const hit = state.opened || state.hits[state.current];
  if (!hit) return;
  try {
    await navigator.clipboard.writeText(hit.path || hit.url || hit.id);
    $("status").textContent = "Path copied.";
  } catch {
    $("status").textContent = `Copying is not allowed here: ${hit.path || hit.url}`;
  }
}

// ---- Roles and sources ----

function fillRoles(answer, wanted) {
  state.roles = answer.roles;
  $("role").replaceChildren(...answer.roles.map((role) => el("option", { value: role.name }, role.name)));
  const known = answer.roles.some((role) => role.name === wanted);
  $("role").value = known ? wanted : answer.default_role;
  $("role").hidden = answer.roles.length < 2;
  fillSources();
}

function fillSources() {
  const role = state.roles.find((one) => one.name === $("role").value);
  const names = role ? role.haystacks.map((haystack) => haystack.name) : [];
  state.chosen = new Set([...state.chosen].filter((name) => names.includes(name)));
  $("source-filter").hidden = names.length < 2;
  $("source-filter").replaceChildren(...sourceChips(names, state.chosen, toggleSource));
}

function toggleSource(name) {
  if (!state.chosen.delete(name)) state.chosen.add(name);
  fillSources();
  searchNow(0);
}

function changeRole() {
  localStorage.setItem("role", $("role").value);
  state.chosen.clear();
  fillSources();
  close();
  searchNow(0);
}

function nextRole() {
  if (state.roles.length < 2) return;
  $("role").selectedIndex = ($("role").selectedIndex + 1) % state.roles.length;
  changeRole();
  $("status").textContent = `Role: ${$("role").value}`;
}

// ---- Keyboard ----

const KEYS = {
  "/": () => { $("q").focus(); $("q").select(); },
  "?": () => $("help").showModal(),
  j: () => select(state.current + 1),
  k: () => select(state.current - 1),
  ArrowDown: () => select(state.current + 1),
  ArrowUp: () => (state.current <= 0 ? $("q").focus() : select(state.current - 1)),
  Enter: () => open(state.hits[Math.max(0, state.current)]),
  c: copyPath,
  m: () => $("more").hidden || searchNow(state.hits.length),
  r: nextRole,
};
const KEYS_IN_FIELD = {
  ArrowDown: KEYS.ArrowDown,
  Enter: () => { searchNow(0).then(() => state.hits.length && select(0)); },
};

function escape_() {
  if (state.opened) { close(); select(state.current); return; }
  if (document.activeElement !== $("q")) { $("q").focus(); return; }
  $("q").value = "";
  searchNow(0);
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") { event.preventDefault(); escape_(); return; }
  const inField = event.target === $("q");
  const otherControl = !inField && event.target.closest?.("select, button, input, #preview-text");
  const action = (inField ? KEYS_IN_FIELD : otherControl ? {} : KEYS)[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

// One question at a time, however many calls were refused.
let asking = null;
function tokenFromPerson(reason) {
  asking ??= new Promise((resolve) => {
    const dialog = $("token-dialog");
    $("token").value = "";
    $("token-reason").textContent = reason || "";
    dialog.addEventListener("close", () => {
      asking = null;
      resolve(dialog.returnValue === "use" ? $("token").value.trim() : null);
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

async function start() {
  api.onTokenWanted(tokenFromPerson);
  const wanted = readAddress();
  document.addEventListener("keydown", onKey);
  $("q").addEventListener("input", searchSoon);
  $("search-form").addEventListener("submit", (event) => { event.preventDefault(); searchNow(0); });
  $("role").addEventListener("change", changeRole);
  $("operator").addEventListener("change", () => searchNow(0));
  $("more").addEventListener("click", () => searchNow(state.hits.length));
  $("help-button").addEventListener("click", () => $("help").showModal());
  $("preview-close").addEventListener("click", () => { close(); select(state.current); });
  $("preview-copy").addEventListener("click", copyPath);
  wireSettings(async () => { fillRoles(await api.roles(), $("role").value); await searchNow(0); });
  try {
    fillRoles(await api.roles(), wanted);
  } catch (error) {
    showError(error.message);
  }
  await searchNow(0);
}

start();
