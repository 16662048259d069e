// Shows what the admin bridge says; texts of strangers are put in as text, never as markup.
"use strict";
let token = sessionStorage.getItem("orchestrator-token") || "";
const byId = (id) => document.getElementById(id);

async function get(path) {
  const headers = token ? { authorization: "Bearer " + token } : {};
  const answer = await fetch(path, { headers });
  if (answer.status === 401) { byId("login").hidden = false; throw new Error("a token is needed"); }
  if (!answer.ok) throw new Error(path + ": " + answer.status);
  return answer.json();
}

// Characters that are not seen, or turn the text around them, stand there by their number.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;
const visible = (text) => String(text ?? "").replace(HIDDEN, (c) => "<U+" + c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0") + ">");

function fill(id, rows) {
  const body = byId(id).tBodies[0];
  body.replaceChildren(...rows.map((cells) => {
    const row = document.createElement("tr");
    for (const cell of cells) { const td = document.createElement("td"); td.textContent = visible(cell); row.append(td); }
    return row;
  }));
}

function tree(node, depth) {
  const line = "  ".repeat(depth) + node.name + "  " + JSON.stringify(node.state) + (node.restarts ? "  restarts " + node.restarts : "");
  return [line, ...(node.children || []).flatMap((child) => tree(child, depth + 1))];
}

async function refresh() {
  try {
    const [status, runs, agents, actors] = await Promise.all([
      get("/admin/status"), get("/admin/runs?limit=50"), get("/admin/agents"), get("/admin/actors")]);
    byId("login").hidden = true;
    const q = status.queue;
    byId("summary").textContent = q.queued + " waiting, " + q.running + " running, " + status.statuses.length + " statuses owed, "
      + status.outbox + " posts waiting, " + status.parked + " given up, " + status.ticks + " ticks, last " + (status.last_tick_at || "never");
    fill("runs", runs.runs.map((r) => [r.id, r.project, r.agent, r.subject, r.exit ? r.state + " " + r.exit.class : r.state, r.reason || r.hold, r.queued_at]));
    fill("statuses", status.statuses.map((s) => [s.repository, s.sha.slice(0, 12), s.context, s.run]));
    fill("agents", agents.agents.map((a) => [a.project, a.agent, a.layer, a.cli, a.queued, a.running, a.last_class, a.next_due]));
    byId("actors").textContent = visible(tree(actors, 0).join("\n"));
  } catch (error) { byId("summary").textContent = visible(error.message || error); }
  setTimeout(refresh, 2000);
}

byId("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token = byId("token").value;
  sessionStorage.setItem("orchestrator-token", token);
  refresh();
});
refresh();
