// Agents in the palette: by name first, then by project and by what they are for.
import type { components } from "../../api/orchestrator";

export type Agent = components["schemas"]["AgentView"];

/** Those that fit the text: names that begin so, names that hold it, then whatever else holds it. */
export function found<One extends Pick<Agent, "project" | "agent" | "description">>(agents: One[], text: string): One[] {
  const typed = text.trim().toLowerCase();
  const rank = (one: One) => {
    const name = one.agent.toLowerCase();
    if (name.startsWith(typed)) return 0;
    if (name.includes(typed)) return 1;
    return `${one.project}/${name} ${one.description}`.toLowerCase().includes(typed) ? 2 : 3;
  };
  return agents
    .map((one) => ({ one, rank: rank(one) }))
    .filter(({ rank }) => rank < 3)
    .sort((a, b) => a.rank - b.rank)
    .map(({ one }) => one);
}
