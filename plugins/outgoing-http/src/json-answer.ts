/** Parses a response body as JSON. Returns `undefined` if it is not valid JSON. */
export function jsonOf(body: string): unknown {
  // Many services return an empty body; an exception for each would be slow.
  if (body === '') return undefined
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Properties of a JSON object. */
export type Members = { readonly [name: string]: unknown }

/** Returns whether a value is an object and not an array. */
export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns the part of a JSON value at a path such as `error.message` or `items.0`, or `undefined` if it is not found.
 */
export function memberAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((part, name) => {
    return typeof part === 'object' && part !== null && Object.hasOwn(part, name) ? Reflect.get(part, name) : undefined
  }, value)
}
