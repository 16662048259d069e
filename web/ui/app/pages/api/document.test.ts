import { describe, expect, it } from "vitest";
import { answers, byTag, curl, example, fieldsOf, operations, typeOf, type ApiDocument } from "./document";

const files = import.meta.glob<ApiDocument>("../../../openapi/*.json", { eager: true, import: "default" });
const of = (part: string): ApiDocument => files[`../../../openapi/${part}.json`]!;
const asText = (words: { text: string }[]) => words.map((word) => word.text).join("");

const small: ApiDocument = {
  info: { title: "T", version: "1" },
  tags: [{ name: "b", description: "second" }, { name: "a" }],
  paths: {
    "/x/{id}": {
      put: { tags: ["a"], summary: "Put it's", parameters: [{ name: "id", in: "path", required: true }, { name: "to", in: "query", required: true }], requestBody: { content: { "application/json": { schema: { $ref: "#/components/schemas/Node" } } } } },
    },
    "/y": { get: { tags: ["b"], responses: { default: { $ref: "#/components/responses/Problem" } } }, trace: {} },
  },
  components: {
    schemas: { Node: { type: "object", required: ["name", "next"], properties: { name: { type: "string", example: "it's\u202e" }, next: { $ref: "#/components/schemas/Node" }, more: { type: "string" } } } },
    responses: { Problem: { description: "what is wrong" } },
  },
};

describe("the servers' own documents", () => {
  for (const part of ["search", "runner", "orchestrator", "vm-manager"]) {
    it(`of ${part}: each operation is found, asked for by a line, and answered`, () => {
      const document = of(part);
      const all = operations(document);
      expect(all.length).toBeGreaterThan(10);
      expect(byTag(document, "").flatMap((group) => group.operations).length).toBe(all.length);
      for (const one of all) {
        expect(byTag(document, one.id).flatMap((group) => group.operations.map((found) => found.id))).toContain(one.id);
        expect(curl(document, one, "http://h")).toMatch(/^curl (-X [A-Z]+ )?'http:\/\/h\/[^'{}]*' -H "authorization: Bearer \$TOKEN"/);
        for (const { answer } of answers(document, one)) expect(answer.description).toBeTruthy();
      }
      for (const schema of Object.values(document.components?.schemas ?? {})) expect(asText(typeOf(schema))).not.toBe("");
    });
  }
});

describe("a document", () => {
  it("is grouped in the order of its tags, and found by all words", () => {
    expect(byTag(small, "").map((group) => [group.tag, group.about])).toEqual([["b", "second"], ["a", ""]]);
    expect(byTag(small, "PUT to").flatMap((group) => group.operations.map((one) => one.id))).toEqual(["put /x/{id}"]);
    expect(byTag(small, "put nothing")).toEqual([]);
  });
  it("gives a line whose quotes hold and whose controls are seen; a schema of itself ends", () => {
    const put = operations(small).find((one) => one.method === "put")!;
    const line = curl(small, put, "http://h");
    expect(line).toContain("curl -X PUT 'http://h/x/ID?to=TO'");
    expect(line).toContain("it'\\''s\\u{202e}");
    expect(JSON.stringify(example(small, { $ref: "#/components/schemas/Node" }))).toContain('"next":null');
  });
  it("says types in words", () => {
    expect(asText(typeOf({ type: "array", items: { $ref: "#/components/schemas/Node" } }))).toBe("list of Node");
    expect(asText(typeOf({ oneOf: [{ type: "null" }, { const: 1 }] }))).toBe("null or 1");
    expect(asText(typeOf({ type: "integer", format: "int64" }))).toBe("integer (int64)");
    expect(fieldsOf({ allOf: [{ properties: { a: {} }, required: ["a"] }, { properties: { b: {} } }] }).map((field) => [field.name, field.required])).toEqual([["a", true], ["b", false]]);
  });
});
