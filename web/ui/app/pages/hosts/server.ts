// What this page asks the workflow runner.
import type { components } from "../../api/runner";
import { api } from "../../lib/api";
import type { Sent } from "../../lib/sent";

const PART = "runner";

export type Host = Sent<components["schemas"]["VmHostView"]>;

/** What to tell a person about a failure. */
export const say = (error: unknown): string => (error instanceof Error ? error.message : "something went wrong");

const of = (name: string, what: string): string => `/vm-hosts/${encodeURIComponent(name)}/${what}`;

export const hosts = (): Promise<Host[]> => api(PART, "/vm-hosts");
export const cordon = (name: string): Promise<unknown> => api(PART, of(name, "cordon"), { method: "POST" });
export const uncordon = (name: string): Promise<unknown> => api(PART, of(name, "cordon"), { method: "DELETE" });
export const drain = (name: string): Promise<{ jobs: number; shells: number }> => api(PART, of(name, "drain"), { method: "POST" });
