/** As T, where an optional member may also be `undefined`. */
type OrUndefined<T> = {
  [Name in keyof T]: Record<never, never> extends Pick<T, Name> ? T[Name] | undefined : T[Name]
}

/**
 * Returns a copy without the members that are `undefined`. T is the type that the surrounding code expects, so that the compiler
 * finds misspelt members. Where none is expected, name it: `defined<Options>({ reason })`.
 *
 * Not for the conditions of a query, because a condition that is missing by mistake selects more rows.
 */
export function defined<T>(members: unknown extends T ? never : NoInfer<OrUndefined<T>>): T {
  const kept: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) if (value !== undefined) kept[name] = value
  return kept as T
}
