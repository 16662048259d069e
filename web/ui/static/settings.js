// The configuration as its JSON text: shown without secrets, changed with the token of the configuration.
import * as api from "./api.js";

const $ = (id) => document.getElementById(id);

// The version that is being edited; a change of somebody else is refused by the server, never overwritten.
let tag = "";

function tell(...lines) {
  $("config-errors").replaceChildren(...lines.map((line) => {
    const item = document.createElement("li");
    item.textContent = line;
    return item;
  }));
}

export async function openSettings() {
  tell();
  $("config-text").value = "";
  $("config-dialog").showModal();
  try {
    const configuration = await api.configuration();
    tag = configuration.tag;
    $("config-text").value = `${JSON.stringify(configuration.document, null, 2)}\n`;
  } catch (error) {
    tell(error.message);
  }
}

function faults(error) {
  const places = (error.errors || []).map((one) => `line ${one.line}, column ${one.column}: ${one.detail}`);
  return places.length ? places : [error.message];
}

async function save() {
  tell();
  try {
    const saved = await api.saveConfiguration($("config-text").value, tag);
    tag = saved.tag;
    return true;
  } catch (error) {
    tell(...faults(error));
    return false;
  }
}

// `changed` is called when another configuration is in force.
export function wireSettings(changed) {
  $("config-button").addEventListener("click", openSettings);
  $("config-cancel").addEventListener("click", () => $("config-dialog").close());
  $("config-form").addEventListener("submit", async (event) => {
    event.preventDefault();
    if (!(await save())) return;
    $("config-dialog").close();
    await changed();
  });
}
