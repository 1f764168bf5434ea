/**
 * Names of attributes that hold secrets or what leads to a person (decisions D.58 and D.59). `endpoint` is one of them
 * because webhook addresses carry tokens.
 */
const secretName =
  /secret|token|passw|pwd|credential|(api|access|private|device|signing)[-_.]?key|authori[sz]ation|cookie|signature|endpoint|to-user|open-?id/i

const deepest = 8

/** A copy for logs and records: members with a secret's name are left out, at any depth. */
export function withoutSecrets(value: unknown, depth = 0): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth === deepest) return '...'
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item, depth + 1))
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !secretName.test(name))
      .map(([name, member]) => [name, withoutSecrets(member, depth + 1)]),
  )
}
