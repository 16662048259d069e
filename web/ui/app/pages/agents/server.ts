// What these pages ask the orchestrator.
import { api } from "../../lib/api";
import type { Agent, AgentRun, Calendar, Prompt, RouteAnswer, Status } from "./model";

export const PART = "orchestrator";
const of = (run: string): string => `/admin/runs/${encodeURIComponent(run)}`;

export const status = (): Promise<Status> => api(PART, "/admin/status");
export const agents = async (): Promise<Agent[]> => (await api<{ agents: Agent[] }>(PART, "/admin/agents")).agents;
export const runs = (query: Record<string, string>): Promise<{ runs: AgentRun[]; next: string | null }> =>
  api(PART, `/admin/runs?${new URLSearchParams(query)}`);
export const run = (id: string): Promise<AgentRun> => api(PART, of(id));
export const cancel = (id: string): Promise<{ cancelled: boolean; state: string }> => api(PART, `${of(id)}/cancel`, { method: "POST" });
export const retry = async (id: string): Promise<string> => (await api<{ run: string }>(PART, `${of(id)}/retry`, { method: "POST" })).run;
export const prompt = (project: string, agent: string): Promise<Prompt> =>
  api(PART, `/admin/agents/${encodeURIComponent(project)}/${encodeURIComponent(agent)}/prompt`);
export const calendar = (days: number): Promise<Calendar> => api(PART, `/admin/calendar?days=${days}`);
export const tryText = (json: { text: string; project?: string; author?: string }): Promise<RouteAnswer> => api(PART, "/admin/route", { json });
export const setPaused = (project: string, paused: boolean): Promise<unknown> =>
  api(PART, `/admin/projects/${encodeURIComponent(project)}/${paused ? "pause" : "resume"}`, { method: "POST" });
