import type { NotificationMessage } from '@plinth/kernel'

/**
 * The message with U+FFFD for each half of a surrogate pair that stands alone. Such a half is no character: it has no UTF-8 form,
 * and each next hop would do something else with it. Lengths stay, so ranges of values stay valid.
 */
export function wellFormed(message: NotificationMessage): NotificationMessage {
  const { subject, content, html, variables, attributes } = message
  if (isWellFormed([subject, content, html, variables, attributes], new Set())) return message
  return {
    ...message,
    subject: subject.toWellFormed(),
    content: content.toWellFormed(),
    ...(html === undefined ? {} : { html: html.toWellFormed() }),
    variables: repaired(variables) as NotificationMessage['variables'],
    attributes: repaired(attributes) as NotificationMessage['attributes'],
  }
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value))

/** @param seen objects that need no second look, which also ends cycles */
function isWellFormed(value: unknown, seen: Set<unknown>): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (seen.has(value) || !(Array.isArray(value) || isPlain(value))) return true
  seen.add(value)
  return Object.values(value).every((member) => isWellFormed(member, seen))
}

/** @param around objects that hold the value, which ends cycles */
function repaired(value: unknown, around: readonly unknown[] = []): unknown {
  if (typeof value === 'string') return value.toWellFormed()
  if (around.includes(value) || !(Array.isArray(value) || isPlain(value))) return value
  const inside = (member: unknown) => repaired(member, [...around, value])
  if (Array.isArray(value)) return value.map(inside)
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, inside(member)]))
}
