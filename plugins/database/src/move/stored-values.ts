import { isUtf8 } from 'node:buffer'
import type { ColumnKind, ColumnShape, Dialect } from '@plinth/migrations'
import type { Parameter } from '../rows/bound-parameters.ts'
import { canonicalJson, jsonDepth } from './canonical-json.ts'

/** A value in the form that is the same for all databases. Null is null, everything else is text or bytes. */
export type StoredValue = string | Buffer | null

/** Why a value cannot be moved. `rule` is a stable code. */
export interface ValueProblem {
  readonly rule:
    | 'not-a-boolean'
    | 'not-an-integer'
    | 'out-of-range'
    | 'not-text'
    | 'invalid-utf-8'
    | 'too-long'
    | 'zero-character'
    | 'not-a-time'
    | 'not-bytes'
    | 'invalid-json'
    | 'json-character'
    | 'json-depth'
    | 'row-too-large'
  readonly message: string
}

export class ValueError extends Error {
  readonly problem: ValueProblem

  constructor(rule: ValueProblem['rule'], message: string) {
    super(message)
    this.problem = { rule, message }
  }
}

type Family = 'sqlite' | 'postgresql' | 'mysql'
export const familyOf = (dialect: Dialect): Family => (dialect === 'mariadb' ? 'mysql' : dialect)

/**
 * How a kind of column is read, compared and written. `read` receives the value of the driver; on SQLite it is only
 * called if the storage class is `storage`.
 */
interface KindRules {
  /** Storage class of SQLite. */
  readonly storage: 'integer' | 'text' | 'blob'
  readonly wrongStorage: ValueProblem['rule']
  /** Returns the SQL that reads the column. Default: the column itself. */
  readonly select?: Partial<Readonly<Record<Family, (column: string) => string>>>
  /** @throws ValueError */
  read(raw: unknown, column: ColumnShape): string | Buffer
  /** Returns the text that is hashed. Default: the value itself. */
  readonly canonical?: (value: string) => string
  /** Returns the parameter of an insert. Default: the value itself. */
  readonly bind?: (value: string, dialect: Dialect) => Parameter
}

const asText = (cast: string) => (column: string) => `cast(${column} as ${cast})`

const integer = (smallest: bigint, largest: bigint): KindRules => ({
  storage: 'integer',
  wrongStorage: 'not-an-integer',
  read(raw) {
    const text = String(raw)
    if (!/^-?\d+$/.test(text)) throw new ValueError('not-an-integer', 'is not an integer')
    const value = BigInt(text)
    if (value < smallest || value > largest) {
      throw new ValueError('out-of-range', `is not between ${smallest} and ${largest}`)
    }
    return text
  },
  bind: Number,
})

const maxSafe = BigInt(Number.MAX_SAFE_INTEGER)

const uint256Digits = 78

function readText(raw: unknown, { length }: Pick<ColumnShape, 'length'>): string {
  const text = decoded(raw)
  if (length !== undefined && text.length > length && codePoints(text) > length) {
    throw new ValueError('too-long', `has more than ${length} characters`)
  }
  return text
}

function codePoints(text: string): number {
  let count = 0
  for (const _ of text) count++
  return count
}

/** SQLite returns bytes, because the driver would replace invalid ones. */
function decoded(raw: unknown): string {
  if (typeof raw === 'string') return raw
  if (!Buffer.isBuffer(raw)) throw new ValueError('not-text', 'is not text')
  if (!isUtf8(raw)) throw new ValueError('invalid-utf-8', 'contains bytes that are not valid UTF-8')
  return raw.toString('utf8')
}

const text: KindRules = {
  storage: 'text',
  wrongStorage: 'not-text',
  select: { sqlite: asText('blob') },
  read: readText,
}

/** First and last millisecond that all databases can store. */
const [firstTime, lastTime] = [BigInt(Date.UTC(1000, 0, 1)), BigInt(Date.UTC(9999, 11, 31, 23, 59, 59, 999))]

const kinds: Readonly<Record<ColumnKind, KindRules>> = {
  id: integer(-maxSafe, maxSafe),
  bigint: integer(-maxSafe, maxSafe),
  integer: integer(-(2n ** 31n), 2n ** 31n - 1n),
  boolean: {
    storage: 'integer',
    wrongStorage: 'not-a-boolean',
    read(raw) {
      const value = typeof raw === 'boolean' ? Number(raw) : raw
      if (value !== 0 && value !== 1) throw new ValueError('not-a-boolean', 'is not 0 or 1')
      return String(value)
    },
    bind: (value) => value === '1',
  },
  text,
  longText: text,
  uint256: { ...text, read: (raw) => readText(raw, { length: uint256Digits }) },
  timestamp: {
    ...integer(firstTime, lastTime),
    wrongStorage: 'not-a-time',
    // Milliseconds since the epoch. The text of a server would depend on its settings.
    select: {
      postgresql: (column) => `round((extract(epoch from ${column}) * 1000)::numeric)::text`,
      mysql: (column) => `cast(timestampdiff(microsecond, '1970-01-01', ${column}) div 1000 as char)`,
    },
    bind: (value, dialect) => {
      if (dialect === 'sqlite') return Number(value)
      const iso = new Date(Number(value)).toISOString()
      return dialect === 'postgresql' ? iso : iso.replace('T', ' ').replace('Z', '')
    },
  },
  json: {
    storage: 'text',
    wrongStorage: 'not-text',
    select: { sqlite: asText('blob'), postgresql: asText('text'), mysql: asText('char') },
    read: decoded,
    canonical: canonicalJson,
  },
  binary: {
    storage: 'blob',
    wrongStorage: 'not-bytes',
    read(raw) {
      if (!Buffer.isBuffer(raw)) throw new ValueError('not-bytes', 'is not binary')
      return raw
    },
  },
}

const quotes: Readonly<Record<Family, string>> = { sqlite: '"', postgresql: '"', mysql: '`' }

/** Returns the quoted name of a table or column. */
export const quoted = (name: string, dialect: Dialect): string => {
  const quote = quotes[familyOf(dialect)]
  return `${quote}${name}${quote}`
}

/** A column whose kind is known. */
export type KnownColumn = ColumnShape & { readonly kind: ColumnKind }

/** Returns the SQL that reads a column in the form that `readValue` expects. */
export function selectOf({ name, kind }: KnownColumn, dialect: Dialect): string {
  const column = quoted(name, dialect)
  return kinds[kind].select?.[familyOf(dialect)]?.(column) ?? column
}

/**
 * Returns the value of a column in the form that is the same for all databases.
 *
 * @param storage storage class of SQLite; undefined for servers, whose columns have types
 * @throws ValueError
 */
export function readValue(raw: unknown, storage: string | undefined, column: KnownColumn): StoredValue {
  if (raw === null) return null
  const rules = kinds[column.kind]
  if (storage !== undefined && storage !== rules.storage) {
    throw new ValueError(rules.wrongStorage, `is stored as ${storage}, not as ${rules.storage}`)
  }
  return rules.read(raw, column)
}

/** Returns the text of a value that is hashed: equal values have equal texts on all databases. */
export function canonicalText(value: StoredValue, { kind }: KnownColumn): string | null {
  if (value === null) return null
  return typeof value === 'string' ? (kinds[kind].canonical?.(value) ?? value) : value.toString('base64')
}

/** Returns the parameter with which a value is inserted. */
export function bindValue(value: StoredValue, { kind }: KnownColumn, dialect: Dialect): Parameter {
  if (typeof value !== 'string') return value
  return kinds[kind].bind?.(value, dialect) ?? value
}

/** MariaDB rejects JSON with more nested objects and arrays. */
const mariadbJsonDepth = 31

/**
 * Checks that the target can store a value that the source stores.
 *
 * @throws ValueError
 */
export function assertStorable(value: StoredValue, { kind }: KnownColumn, target: Dialect): void {
  if (typeof value !== 'string') return
  if (kind === 'json') assertStorableJson(value, target)
  else if (target === 'postgresql' && value.includes('\0')) {
    throw new ValueError('zero-character', 'contains the character U+0000, which PostgreSQL cannot store')
  }
}

/** Escapes in JSON text of the character U+0000 and of halves of surrogate pairs. */
const doubtfulEscape = /\\u(?:0000|d[89a-f])/i
const [zero, half] = [/\0/, /\p{Surrogate}/u]

function assertStorableJson(text: string, target: Dialect): void {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    throw new ValueError('invalid-json', 'is not valid JSON')
  }
  if (target === 'sqlite') return
  const isRejected = (part: string) => half.test(part) || (target === 'postgresql' && zero.test(part))
  if (doubtfulEscape.test(text) && hasText(parsed, isRejected)) {
    throw new ValueError('json-character', 'contains U+0000 or half of a character in JSON, which the target rejects')
  }
  if (target === 'mariadb' && jsonDepth(parsed) > mariadbJsonDepth) {
    throw new ValueError('json-depth', `is JSON with more than ${mariadbJsonDepth} levels, which MariaDB rejects`)
  }
}

function hasText(value: unknown, isRejected: (part: string) => boolean): boolean {
  if (typeof value === 'string') return isRejected(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([name, member]) => isRejected(name) || hasText(member, isRejected))
}
