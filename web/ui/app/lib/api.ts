// Calls to the servers. Every failure becomes an ApiError whose message a person can act on.

import type { components } from "../api/search";

export interface Mistake {
  message: string;
  line?: number;
  pointer?: string;
}

export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Address of the page that explains it, from problem+json. */
    readonly type: string | null = null,
    readonly errors: Mistake[] = [],
  ) {
    super(message);
  }
}

export interface Parts {
  program: string;
  version: string;
  parts: Record<string, { base: string; wants_token?: boolean }>;
}

let known: Promise<Parts> | null = null;

/** What the server of this page serves, and below which addresses. */
export function parts(): Promise<Parts> {
  known ??= plain("/ui/parts.json").then((answer) => answer.json() as Promise<Parts>);
  known.catch(() => (known = null));
  return known;
}

export type SignIn = (reason: string) => Promise<string | null>;
let ask: SignIn = async () => null;

/** Who asks for a token where a server wants one. */
export function onTokenWanted(asks: SignIn): void {
  ask = asks;
}

const TOKEN = "orrery-token";

async function plain(address: string, options: RequestInit = {}): Promise<Response> {
  const token = sessionStorage.getItem(TOKEN);
  const headers = new Headers(options.headers);
  if (token && !headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
  try {
    return await fetch(address, { ...options, headers });
  } catch (error) {
    if ((error as Error).name === "AbortError") throw error;
    throw new ApiError(0, "the server cannot be reached; is it still running?");
  }
}

async function failure(response: Response): Promise<ApiError> {
  const body = await response.json().catch(() => null);
  const said = body?.detail ?? body?.title ?? `the server answered ${response.status}`;
  const errors: components["schemas"]["FieldError"][] = Array.isArray(body?.errors) ? body.errors : [];
  const mistakes = errors.map(({ detail, line, pointer }) => ({ message: String(detail), line: line ?? undefined, pointer: pointer ?? undefined }));
  return new ApiError(response.status, String(said), body?.type ?? null, mistakes);
}

/** Signs in with a token; false where this address has no such form, or the token is another one. */
async function startSession(token: string): Promise<boolean> {
  const answer = await fetch("/sign-in", {
    method: "POST",
    headers: { accept: "application/json" },
    body: new URLSearchParams({ token }),
  }).catch(() => null);
  if (answer?.status === 429) throw await failure(answer);
  return answer?.status === 204;
}

let session: Promise<boolean> | null = null;

/** Whether somebody is signed in here: by a session, or by a token of this tab. */
export async function isSignedIn(): Promise<boolean> {
  if (sessionStorage.getItem(TOKEN)) return true;
  session ??= askForSession();
  const is = await session;
  // Another tab may sign in.
  if (!is) session = null;
  return is;
}

async function askForSession(): Promise<boolean> {
  const answer = await fetch("/ui/session.json").catch(() => null);
  const type = answer?.headers.get("content-type") ?? "";
  // A server without sessions answers its page.
  if (!answer?.ok || !type.includes("json")) return false;
  return ((await answer.json()) as { signed_in?: boolean }).signed_in === true;
}

/** Ends the session, and forgets a token of this tab. */
export async function signOut(): Promise<void> {
  sessionStorage.removeItem(TOKEN);
  session = null;
  await fetch("/sign-out", { method: "POST", headers: { accept: "application/json" } }).catch(() => null);
}

let entering: Promise<boolean> | null = null;
const entered = new EventTarget();

/** Asks for a token, once for all who want one now; false where nobody gave any. */
function enter(reason: string): Promise<boolean> {
  const one = async () => {
    const token = await ask(reason);
    if (!token) return false;
    // A session is better than a token in the page: links and streams have it as well, and it ends at sign-out.
    if (await startSession(token)) sessionStorage.removeItem(TOKEN);
    else sessionStorage.setItem(TOKEN, token);
    session = null;
    entered.dispatchEvent(new Event("entered"));
    return true;
  };
  entering ??= one().finally(() => (entering = null));
  return entering;
}

/** Asks for a token though nothing wants one yet. */
export const signIn = (): Promise<boolean> => enter("Sign in to see everything that this server has.");

/** Calls `then` whenever somebody signs in on this page. */
export function onSignedIn(then: () => void): void {
  entered.addEventListener("entered", then);
}

/** Resolves when somebody signs in, or when `signal` is given up. */
export function signedIn(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    entered.addEventListener("entered", () => done(), { once: true, signal });
    signal.addEventListener("abort", () => done(), { once: true });
  });
}

const NOT_SIGNED_IN = "not signed in: this needs a token";

/** The answer of a part's address. Asks for a token once where the server wants one. */
export async function request(part: string, path: string, options: RequestInit = {}): Promise<Response> {
  const served = (await parts()).parts[part];
  if (!served) throw new ApiError(0, `this server has no ${part}`);
  // What would be refused is not even asked for.
  if (served.wants_token && !(await isSignedIn()) && !(await enter("Sign in to see this page."))) throw new ApiError(401, NOT_SIGNED_IN);
  for (;;) {
    const response = await plain(served.base + path, options);
    if (response.status === 401) {
      session = null;
      if (await enter((await failure(response)).message)) continue;
      throw new ApiError(401, NOT_SIGNED_IN);
    }
    if (!response.ok) throw await failure(response);
    return response;
  }
}

/** The JSON that a part's address answers. `json` is sent as the body. */
export async function api<T>(
  part: string,
  path: string,
  { json, ...options }: RequestInit & { json?: unknown } = {},
): Promise<T> {
  if (json !== undefined) {
    options.method ??= "POST";
    options.body = JSON.stringify(json);
    options.headers = { "content-type": "application/json", ...options.headers };
  }
  const response = await request(part, path, options);
  return (response.status === 204 ? undefined : await response.json()) as T;
}

/** Whether an error only says that a request was given up. */
export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}
