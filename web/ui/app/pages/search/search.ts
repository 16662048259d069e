// What the search page asks and is answered.
import { api } from "../../lib/api";

export interface Hit {
  id: string;
  title: string;
  url: string;
  path?: string;
  source: string;
  service: string;
  rank: number;
  score: number;
  snippet: string;
  highlights: [number, number][];
  line?: number;
  definition?: { name: string; kind: string; line?: number };
  matches?: Matches;
  tags: string[];
  modified?: string;
  concepts: string[];
}

export interface MatchedLine {
  line: number;
  text: string;
  highlights: [number, number][];
  is_definition?: boolean;
}

/** Lines of a document that hold words of the query: those shown, and how many there are. */
export interface Matches {
  lines: MatchedLine[];
  total: number;
  more?: boolean;
}

export interface Progress {
  done: number;
  total: number;
}

export interface SourceReport {
  name: string;
  service: string;
  took_ms: number;
  hits: number;
  indexing?: Progress;
  error?: string;
}

export interface FacetValue {
  value: string;
  count: number;
}

export interface Facets {
  types: FacetValue[];
  folders: FacetValue[];
  tags: FacetValue[];
  roles?: FacetValue[];
}

export const SORTS = ["relevance", "newest", "oldest"] as const;
export type Sort = (typeof SORTS)[number];

export interface Answer {
  facets?: Facets;
  results: Hit[];
  total: number;
  took_ms: number;
  role: string;
  relevance_function: string;
  sources: SourceReport[];
  corrections?: { word: string; corrected: string }[];
  indexing?: boolean;
  notes?: string[];
}

export interface Role {
  name: string;
  relevance_function: string;
  theme: string;
  haystacks: { name: string; service: string; location: string }[];
}

export interface SourceHealth {
  role: string;
  name: string;
  service: string;
  state: "starting" | "indexing" | "ready" | "failed";
  documents: number;
  error?: string;
  progress?: Progress;
  skipped: Record<string, number>;
}

export const PAGE = 20;
/** Lines with matches that are asked for of each result. */
const LINES = 20;

export interface Asked {
  text: string;
  role: string;
  operator: string;
  sources: string[];
  sort: Sort;
  skip: number;
}

export function search(asked: Asked, signal: AbortSignal): Promise<Answer> {
  const json: Record<string, unknown> = { search_term: asked.text, skip: asked.skip, limit: PAGE, matches: LINES };
  if (asked.role) json.role = asked.role;
  if (asked.sort !== "relevance") json.sort = asked.sort;
  // Further pages have the facets of the first.
  if (!asked.skip) json.facets = true;
  if (asked.operator) json.operator = asked.operator;
  if (asked.sources.length) json.sources = asked.sources;
  return api<Answer>("search", "/api/documents/search", { json, signal });
}

export async function suggestions(text: string, role: string, signal: AbortSignal): Promise<string[]> {
  const query = new URLSearchParams({ q: text, limit: "8", ...(role && { role }) });
  const found = await api<{ suggestions: { text: string }[] }>("search", `/api/autocomplete?${query}`, { signal });
  return found.suggestions.map((one) => one.text);
}

export const roles = () => api<{ default_role: string; roles: Role[] }>("search", "/api/roles");
export const health = () => api<{ sources: SourceHealth[] }>("search", "/health");

/** What stands in an address as the order, or the best match first. */
export const readSort = (text: string | null): Sort => SORTS.find((one) => one === text) ?? "relevance";

/** The filter of a query that keeps what has this value. */
export function facetFilter(facet: keyof Facets, value: string): string {
  if (facet === "types") return `path:*.${value}`;
  if (facet === "roles") return `is:${value}`;
  const quoted = /^[\w./-]+$/.test(value) ? value : `"${value.replaceAll('"', " ")}"`;
  return facet === "tags" ? `tag:${quoted}` : `path:${quoted}`;
}

const at = (query: string, filter: string): number => ` ${query} `.indexOf(` ${filter} `);
export const hasFilter = (query: string, filter: string): boolean => at(query, filter) >= 0;

/** The query with the filter, or without it where it holds it already. */
export function toggleFilter(query: string, filter: string): string {
  const place = at(query, filter);
  if (place < 0) return `${query.trim()} ${filter}`;
  return `${query.slice(0, place)}${query.slice(place + filter.length)}`.replace(/\s+/g, " ").trim();
}

/** The sources chosen in an address: `files,notes`; commas in names are escaped. */
export const readSources = (text: string | null): string[] => (text ? text.split(",").map(decodeURIComponent) : []);
export const writeSources = (names: string[]): string => names.map(encodeURIComponent).join(",");

/** How far the sources are that are still being indexed: `254 of 2,505 files`. */
export function progress(reports: { indexing?: Progress }[]): Progress | null {
  const busy = reports.flatMap((report) => report.indexing ?? []);
  if (!busy.length) return null;
  return { done: busy.reduce((sum, one) => sum + one.done, 0), total: busy.reduce((sum, one) => sum + one.total, 0) };
}

const EDITOR = "orrery-editor";

/** How a file is opened in an editor: a link with `{path}` and `{line}`. */
export const editor = () => localStorage.getItem(EDITOR) ?? "vscode://file{path}:{line}";
export const setEditor = (template: string) => localStorage.setItem(EDITOR, template);

/** The link that opens a file at a line; nothing for schemes that would run something here. */
export function editorLink(template: string, path: string, line = 1): string | null {
  const encoded = encodeURI(path).replaceAll("#", "%23").replaceAll("?", "%3F");
  const link = template.replace("{path}", () => encoded).replace("{line}", String(line));
  return /^[a-z][a-z0-9+.-]*:/i.test(link) && !/^(javascript|data|vbscript|file):/i.test(link) ? link : null;
}

/** Editors whose links are known; any other is written by hand. */
export const EDITORS: [string, string][] = [
  ["Visual Studio Code", "vscode://file{path}:{line}"],
  ["VSCodium", "vscodium://file{path}:{line}"],
  ["Zed", "zed://file{path}:{line}"],
  ["JetBrains IDEs", "idea://open?file={path}&line={line}"],
  ["Sublime Text", "subl://open?url=file://{path}&line={line}"],
  ["TextMate", "txmt://open?url=file://{path}&line={line}"],
  ["Emacs", "emacs://open?url=file://{path}&line={line}"],
];

/** Whether a text is read in paragraphs, not in lines. */
export const isProse = (path: string): boolean => !/\.[a-z0-9]+$/i.test(path) || /\.(md|markdown|mdx|txt|text|rst|adoc|org|tex|html?|pdf|docx?|odt|eml|mbox|ipynb|epub)$/i.test(path);

/** Whether a file is Markdown, which is shown rendered. */
export const isMarkdown = (path: string): boolean => /\.(md|markdown|mdx)$/i.test(path);

/** Whether a result's address can be opened by a browser. */
export const isWeb = (url: string): boolean => /^https?:\/\//i.test(url);
