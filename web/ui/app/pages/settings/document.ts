// Changes of the role file as a text, so that everything a person wrote stays as it is.

export interface ChangedLine {
  kind: "+" | "-";
  text: string;
}

/** What differs between two texts, by lines: those before and after the common ones. */
export function changes(before: string, after: string): ChangedLine[] {
  if (before === after) return [];
  const [a, b] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const removed = a.slice(start, a.length - end).map((text): ChangedLine => ({ kind: "-", text }));
  const added = b.slice(start, b.length - end).map((text): ChangedLine => ({ kind: "+", text }));
  return [...removed, ...added];
}

/** The text with one more folder in a role; throws what is wrong. */
export function addFolder(text: string, role: string, name: string, location: string): string {
  interface Role { name: string; haystacks?: unknown[] }
  const file = JSON.parse(text) as Partial<Role> & { roles?: Role[] };
  // A file may be one role alone.
  const alone = file.roles === undefined && typeof file.name === "string" ? (file as Role) : undefined;
  const found = file.roles?.find((one) => one.name === role) ?? file.roles?.[0] ?? alone;
  if (!found) throw new Error("the role file has no role to add it to");
  if (found.haystacks?.some((one) => (one as { name?: string }).name === name)) {
    throw new Error(`the role ${found.name} has a source called ${name} already`);
  }
  (found.haystacks ??= []).push({ name, service: "LocalFiles", location });
  return JSON.stringify(file, null, 2) + "\n";
}
