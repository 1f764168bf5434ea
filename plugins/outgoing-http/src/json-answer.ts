/** The body of an answer read as JSON; `undefined` when it is none. */
export function jsonOf(body: string): unknown {
  // Many services answer nothing at all; an exception for each would cost more than the rest.
  if (body === '') return undefined
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

/** Members of a JSON object. */
export type Members = { readonly [name: string]: unknown }

/** Whether a value is an object with members, and no list. */
export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Member of a JSON value by its path, such as `error.message` or `items.0`; `undefined` where there is none. */
export function memberAt(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((part, name) => {
    return typeof part === 'object' && part !== null && Object.hasOwn(part, name) ? Reflect.get(part, name) : undefined
  }, value)
}
