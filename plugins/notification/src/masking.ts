import type { Recipient } from '@plinth/kernel'

/**
 * Names of attributes with secrets or personal data. `endpoint` is one of them, because webhook URLs contain tokens.
 */
export const secretAttributeName =
  /secret|token|passw|pwd|credential|(api|access|private|device|signing)[-_.]?key|authori[sz]ation|cookie|signature|endpoint|to-user|open-?id/i

/** Matches a field or parameter in a text whose name matches `secretAttributeName`. */
const secretMember = new RegExp(`(?:${secretAttributeName.source})[\\w.-]{0,32}["']?\\s*[:=]`, 'i')

/** True if the text contains a field or parameter with the name of a secret. */
export const mayHoldSecret = (text: string): boolean => secretMember.test(text)

const maxDepth = 8

/** Copies a value for logs, without the fields whose names match `secretAttributeName`. */
export function withoutSecretAttributes(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth === maxDepth) return '...'
  if (Array.isArray(value)) return value.map((item) => withoutSecretAttributes(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !secretAttributeName.test(name))
      .map(([name, member]) => [name, withoutSecretAttributes(member, depth + 1)]),
  )
}

/** Returns the values that `withoutSecretAttributes` leaves out. */
export function secretAttributeValues(value: unknown, isSecret = false, depth = 0): string[] {
  if (typeof value === 'string' || typeof value === 'number') return isSecret ? [String(value)] : []
  if (typeof value !== 'object' || value === null || depth > maxDepth) return []
  return Object.entries(value).flatMap(([name, member]) =>
    secretAttributeValues(member, isSecret || (!Array.isArray(value) && secretAttributeName.test(name)), depth + 1),
  )
}

/** Describes a recipient for logs. Addresses are masked, so nobody can be contacted with the result. */
export function describeRecipient(recipient: Recipient): string {
  const { kind } = recipient
  switch (kind) {
    case 'user':
    case 'websocket-user':
      return `${kind}:${recipient.userId}`
    case 'email':
      return `${kind}:${recipient.address.replace(/^(.).*@/, '$1***@')}`
    case 'mobile':
      return `${kind}:***${recipient.number.slice(-4)}`
    case 'websocket-group':
      return `${kind}:${recipient.group}`
    case 'topic':
      return `${kind}:${recipient.topic}`
    default:
      return kind
  }
}
