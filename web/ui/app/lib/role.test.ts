import { expect, test } from "vitest";
import { roleInForce } from "./role";

const known = { default_role: "A", roles: [{ name: "A" }, { name: "B" }] };

test.each([
  [known, null, null, "A"],
  [known, null, "B", "B"],
  [known, null, "gone", "A"],
  [known, "gone", "B", "gone"],
  [known, "A", "B", "A"],
  [null, null, "B", ""],
  [null, "B", null, "B"],
])("%#", (all, address, chosen, wanted) => expect(roleInForce(all, address, chosen)).toBe(wanted));
