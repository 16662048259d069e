// What the palette finds in the roles that are searched.

export interface Found { id: string; title: string; path?: string; url: string }
export interface InRole { role: string | null; results: Found[] }

/** More roles than this are not asked at once. */
export const MOST_ROLES = 8;

/** The roles to ask: that of the address alone, else all, the one in force first. */
export function rolesToAsk(known: string[], address: string | null, inForce: string | null): (string | null)[] {
  if (address) return [address];
  if (known.length < 2) return [null];
  const first = inForce && known.includes(inForce) ? [inForce] : [];
  return [...first, ...known.filter((name) => name !== first[0])].slice(0, MOST_ROLES);
}

/** One document of several roles stands there once, in the first; the role stands beside it where several were asked. */
export function together(answers: InRole[]): { role: string | null; one: Found; about: string }[] {
  const seen = new Set<string>();
  const all = answers.flatMap(({ role, results }) => results.map((one) => ({ role, one })));
  return all
    .filter(({ one }) => {
      const place = one.path ?? one.url;
      return !seen.has(place) && seen.add(place);
    })
    .map(({ role, one }) => {
      const place = one.path ?? one.url;
      return { role, one, about: role && answers.length > 1 ? `${role} · ${place}` : place };
    });
}
