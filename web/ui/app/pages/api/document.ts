// An OpenAPI document as the page shows it. What a server says is text of others: nothing of it is trusted to be well formed.
import { visible } from "../../lib/text";

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  prefixItems?: Schema[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  additionalProperties?: Schema | boolean;
  example?: unknown;
  format?: string;
}
type Content = Record<string, { schema?: Schema }>;
export interface Parameter { name: string; in: string; description?: string; required?: boolean; schema?: Schema }
export interface Answer { $ref?: string; description?: string; content?: Content }
interface Told {
  tags?: string[];
  summary?: string;
  description?: string;
  parameters?: Parameter[];
  requestBody?: { content?: Content; required?: boolean };
  responses?: Record<string, Answer>;
  security?: unknown[];
}
export interface ApiDocument {
  info: { title: string; version: string; description?: string };
  tags?: { name: string; description?: string }[];
  paths: Record<string, Record<string, Told>>;
  components?: { schemas?: Record<string, Schema>; responses?: Record<string, Answer> };
}
export interface Operation extends Told {
  /** As it stands in the address: `get /runs/{id}`. */
  id: string;
  method: string;
  path: string;
}

const METHODS = ["get", "post", "put", "patch", "delete"];

export function operations(document: ApiDocument): Operation[] {
  return Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]).map((method) => ({ ...item[method], id: `${method} ${path}`, method, path })),
  );
}

/** Those in which every word of the text stands, by their first tag in the document's order. */
export function byTag(document: ApiDocument, text: string): { tag: string; about: string; operations: Operation[] }[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const fits = (one: Operation) => {
    const said = [one.id, one.summary, one.description, ...(one.tags ?? []), ...(one.parameters ?? []).map((parameter) => parameter.name)].join(" ").toLowerCase();
    return words.every((word) => said.includes(word));
  };
  const groups = new Map<string, Operation[]>((document.tags ?? []).map((tag) => [tag.name, []]));
  for (const one of operations(document).filter(fits)) {
    const tag = one.tags?.[0] ?? "others";
    groups.set(tag, [...(groups.get(tag) ?? []), one]);
  }
  const about = new Map((document.tags ?? []).map((tag) => [tag.name, tag.description ?? ""]));
  return [...groups].filter(([, found]) => found.length).map(([tag, found]) => ({ tag, about: about.get(tag) ?? "", operations: found }));
}

/** The last part of a reference: `#/components/schemas/Run` names `Run`. */
export const nameOf = (reference: string): string => reference.slice(reference.lastIndexOf("/") + 1);

export interface Word { text: string; schema?: string }
const joined = (all: Word[][], by: string): Word[] => all.flatMap((words, at) => (at ? [{ text: by }, ...words] : words));

/** The type of a value in words, of which some name a schema of the document. */
export function typeOf(schema: Schema | undefined): Word[] {
  if (!schema) return [{ text: "anything" }];
  if (schema.$ref) return [{ text: nameOf(schema.$ref), schema: nameOf(schema.$ref) }];
  if (schema.const !== undefined) return [{ text: JSON.stringify(schema.const) }];
  if (schema.enum) return [{ text: schema.enum.map((one) => JSON.stringify(one)).join(" or ") }];
  const either = schema.oneOf ?? schema.anyOf;
  if (either) return joined(either.map(typeOf), " or ");
  if (schema.allOf) return joined(schema.allOf.map(typeOf), " and ");
  if (schema.items || schema.prefixItems) return [{ text: "list of " }, ...(schema.items ? typeOf(schema.items) : joined(schema.prefixItems!.map(typeOf), ", "))];
  if (schema.additionalProperties && typeof schema.additionalProperties === "object") return [{ text: "table of " }, ...typeOf(schema.additionalProperties)];
  const kind = Array.isArray(schema.type) ? schema.type.join(" or ") : (schema.type ?? (schema.properties ? "object" : "anything"));
  return [{ text: schema.format && kind !== "object" ? `${kind} (${schema.format})` : kind }];
}

export interface Field { name: string; required: boolean; schema: Schema }

/** The fields of an object; of one that is put together, those of all its parts. */
export function fieldsOf(schema: Schema | undefined): Field[] {
  if (!schema) return [];
  const own = Object.entries(schema.properties ?? {}).map(([name, field]) => ({ name, required: schema.required?.includes(name) ?? false, schema: field }));
  return [...own, ...(schema.allOf ?? []).flatMap(fieldsOf)];
}

const DEEPEST = 4;

/** A value that a schema takes: what is required, and nothing else. */
export function example(document: ApiDocument, schema: Schema | undefined, depth = 0): unknown {
  if (!schema || depth > DEEPEST) return null;
  if (schema.example !== undefined) return schema.example;
  if (schema.$ref) return example(document, document.components?.schemas?.[nameOf(schema.$ref)], depth + 1);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0] ?? null;
  const either = schema.oneOf ?? schema.anyOf;
  if (either) return example(document, either.find((one) => one.type !== "null"), depth + 1);
  const fields = fieldsOf(schema);
  if (fields.length) return Object.fromEntries(fields.filter((field) => field.required).map((field) => [field.name, example(document, field.schema, depth + 1)]));
  const kind = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (kind === "array") return [];
  return { string: "text", integer: 1, number: 1, boolean: true, object: {} }[kind ?? ""] ?? null;
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A line for a shell that asks for an operation; `$TOKEN` is the asker's, names in capitals are to be filled in. */
export function curl(document: ApiDocument, one: Operation, base: string): string {
  const path = one.path.replace(/\{(\w+)[^}]*\}/g, (_, name: string) => name.toUpperCase());
  const wanted = (one.parameters ?? []).filter((parameter) => parameter.in === "query" && parameter.required);
  const query = wanted.map((parameter) => `${encodeURIComponent(parameter.name)}=${parameter.name.toUpperCase()}`).join("&");
  const words = ["curl"];
  if (one.method !== "get") words.push("-X", one.method.toUpperCase());
  words.push(quoted(base + path + (query && `?${query}`)), "-H", '"authorization: Bearer $TOKEN"');
  const body = one.requestBody?.content?.["application/json"];
  if (body) words.push("-H", "'content-type: application/json'", "-d", quoted(JSON.stringify(example(document, body.schema))));
  else if (one.requestBody) words.push("--data-binary", "@FILE");
  // What is copied is what is seen.
  return visible(words.join(" "));
}

/** An answer, with the shared ones put in. */
export function answers(document: ApiDocument, one: Operation): { code: string; answer: Answer }[] {
  return Object.entries(one.responses ?? {}).map(([code, answer]) => ({
    code,
    answer: answer.$ref ? (document.components?.responses?.[nameOf(answer.$ref)] ?? {}) : answer,
  }));
}
