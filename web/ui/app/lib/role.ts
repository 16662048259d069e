// The role that the pages of search speak for: one choice for all of them.

const KEY = "role";

interface Named { name: string }
export interface Known<R extends Named> { default_role: string; roles: R[] }

/**
 * The role in force: that of the address even where nobody knows it, so that the server says so;
 * else the one chosen last if it still exists, else the default one.
 */
export function roleInForce<R extends Named>(known: Known<R> | null, address: string | null, chosen: string | null): string {
  if (address) return address;
  if (!known) return "";
  const has = (name: string | null) => known.roles.some((one) => one.name === name);
  return (has(chosen) ? chosen : known.default_role) ?? "";
}

export const chosenRole = () => localStorage.getItem(KEY);
export const chooseRole = (name: string) => localStorage.setItem(KEY, name);
