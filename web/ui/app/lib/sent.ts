// Shapes of the servers' OpenAPI documents (app/api), as pages use them.

/**
 * What a server sends of a schema: a field that is not required is left out where there is nothing,
 * so it is never null.
 */
export type Sent<T> = T extends readonly (infer One)[]
  ? number extends T["length"]
    ? Sent<One>[]
    : T
  : T extends object
    ? { [Key in keyof T]: undefined extends T[Key] ? Sent<Exclude<T[Key], null>> : Sent<T[Key]> }
    : T;
