// Calls to the server. Every failure becomes an Error whose message a person can act on.

async function answer(response) {
  const body = await response.json().catch(() => null);
  if (response.ok) return body;
  const detail = body && (body.detail || body.title);
  const error = new Error(detail ? `${detail}` : `the server answered ${response.status}`);
  error.errors = body && Array.isArray(body.errors) ? body.errors : [];
  throw error;
}

// A server that listens beyond loopback wants a token, and every server for a change of its configuration. It is kept for
// this tab only.
let askForToken = async () => null;
export function onTokenWanted(ask) { askForToken = ask; }

function withToken(options = {}) {
  const token = sessionStorage.getItem("token");
  if (!token) return options;
  return { ...options, headers: { ...options.headers, authorization: `Bearer ${token}` } };
}

async function send(path, options) {
  try {
    let response = await fetch(path, withToken(options));
    while (response.status === 401) {
      const body = await response.clone().json().catch(() => null);
      const token = await askForToken(body && body.detail);
      if (!token) break;
      sessionStorage.setItem("token", token);
      response = await fetch(path, withToken(options));
    }
    return response;
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("the server cannot be reached; is it still running?");
  }
}

const call = async (path, options) => answer(await send(path, options));

async function versioned(response) {
  const tag = response.headers.get("etag");
  return { document: await answer(response), tag };
}

export const configuration = async () => versioned(await send("/api/config"));

// `tag` is the version that is replaced. The text goes as it was written, so that mistakes have their lines.
export const saveConfiguration = async (text, tag) => versioned(await send("/api/config", {
  method: "PUT",
  headers: { "content-type": "application/json", "if-match": tag },
  body: text,
}));

export const roles = () => call("/api/roles");

export const health = () => call("/health");

export const document_ = (id, role, query) =>
  call(`/api/documents/${id.split("/").map(encodeURIComponent).join("/")}?` +
       new URLSearchParams({ ...(role && { role }), ...(query && { q: query }) }));

export function search({ query, role, operator, sources, skip, limit }, signal) {
  const body = { search_term: query, skip, limit };
  if (role) body.role = role;
  if (operator) body.operator = operator;
  if (sources.length) body.sources = sources;
  return call("/api/documents/search", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
    signal,
  });
}
