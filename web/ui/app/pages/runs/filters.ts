// The filters of the list of runs and where they stand in the address.

export const FILTERS = ['repository', 'workflow', 'branch', 'state', 'event', 'actor', 'text'] as const;
export type FilterName = (typeof FILTERS)[number];
export type Filters = Partial<Record<FilterName, string>>;

/** What an address asks for; words it does not know are left alone. */
export function readFilters(search: string): Filters {
  const given = new URLSearchParams(search);
  const filters: Filters = {};
  for (const name of FILTERS) {
    const value = given.get(name)?.trim();
    if (value) filters[name] = value.slice(0, 500);
  }
  return filters;
}

/** The same as a query, in one order, so that the same filters have the same address. */
export function writeFilters(filters: Filters): string {
  const query = new URLSearchParams();
  for (const name of FILTERS) {
    const value = filters[name]?.trim();
    if (value) query.set(name, value);
  }
  const text = query.toString();
  return text ? `?${text}` : '';
}

/** The cursor in a `Link: <?…&cursor=…>; rel="next"` header. */
export function nextCursor(link: string | null): string | undefined {
  const found = /<([^>]*)>\s*;\s*rel="next"/.exec(link ?? '')?.[1];
  return found === undefined ? undefined : (new URLSearchParams(found.slice(found.indexOf('?'))).get('cursor') ?? undefined);
}
