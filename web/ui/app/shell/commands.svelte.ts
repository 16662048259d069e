// What the palette offers beside pages: parts register where their things are found.

export interface Command {
  title: string;
  about?: string;
  run: () => void;
}

export interface CommandSource {
  /** The part of the platform that it needs. */
  needs?: string;
  name: string;
  /** What fits the text typed, best first; asked again at every key. */
  find: (text: string, signal: AbortSignal) => Promise<Command[]> | Command[];
}

export const commandSources: CommandSource[] = [];

export function registerCommands(source: CommandSource): void {
  commandSources.push(source);
}
