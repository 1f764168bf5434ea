import { hash } from 'node:crypto'
import { longestMs, type QuotaAlgorithm } from './contract.ts'

/** What a name is used for; each kind is a namespace of its own. */
export type Kind = 'value' | 'counter' | 'lock' | 'windows' | 'bucket' | 'channel'

/** The namespaces of quotas. `window` was that of one window per key, which an earlier version may have left. */
export const quotaKinds = { window: 'windows', bucket: 'bucket' } as const satisfies Record<QuotaAlgorithm, Kind>

const longest = 200
const hashed = 'sha256:'

/**
 * The name of a key in the store. Different keys have different names: braces (Redis would take their content for a hash
 * tag) and control characters (PostgreSQL refuses NUL) are escaped, long keys are hashed.
 *
 * @throws RangeError for text with half a surrogate pair, which has no bytes of its own
 */
export const nameOf = (kind: Kind, key: string): string => nameUnder(`${kind}:`, key)

/**
 * As `nameOf`, with what stands before the key already joined: names are built for every call of a limit.
 *
 * @param head ends with the kind and a colon
 */
export function nameUnder(head: string, key: string): string {
  if (typeof key !== 'string' || !key.isWellFormed())
    throw new RangeError(`A key needs well-formed text, after ${head}`)
  if (key.length > longest || key.startsWith(hashed)) return `${head}${hashed}${hash('sha256', key)}`
  return head + (special.test(key) ? key.replaceAll(specials, escaped) : key)
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the ones to escape
const special = /[\u0000-\u001f%{}]/
const specials = new RegExp(special, 'g')
const escaped = (character: string) => `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`

/** Contents travel as text, which ends at NUL in one database and cannot hold it in another. */
export function checkContent(text: string): void {
  if (typeof text !== 'string' || !text.isWellFormed() || text.includes('\0')) {
    throw new RangeError('Values and messages must be well-formed text without NUL')
  }
}

export function checkMs(name: string, ms: number): void {
  if (Number.isSafeInteger(ms) && ms >= 1 && ms <= longestMs) return
  throw new RangeError(`"${name}" must be whole milliseconds from 1 to ${longestMs}, not ${String(ms)}`)
}

export function checkAmount(by: number): void {
  if (Number.isSafeInteger(by) && by >= 1) return
  throw new RangeError(`"by" must be a whole number from 1, not ${String(by)}`)
}
