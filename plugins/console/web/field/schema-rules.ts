import { amountReaders } from './quantity.ts'

export type Schema = Readonly<Record<string, unknown>>

/** A rule of a schema that a value breaks. The server has the last word and knows more; this is the early hint. */
export interface BrokenSchemaRule {
  /** The keyword of JSON Schema. */
  readonly rule: string
  /** What the schema demands. */
  readonly limit: unknown
  /** Where in the value, for lists and structures: `[2]`, `name`. Empty for the value itself. */
  readonly path: string
}

type Meets = (value: never, limit: never, schema: Schema) => boolean

const sizeOf = (text: string) => [...text].length

const amount = (text: unknown, schema: Schema) => amountReaders[String(schema['format'])]?.(String(text))

const types: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  integer: Number.isSafeInteger,
  number: Number.isFinite,
  boolean: (value) => typeof value === 'boolean',
  array: Array.isArray,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
}

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  duration: (text) => amountReaders['duration']?.(text) !== undefined,
  bytes: (text) => amountReaders['bytes']?.(text) !== undefined,
  url: (text) => /^https?:\/\/[^\s\\/]+[^\s\\]*$/i.test(text) && URL.canParse(text),
  email: (text) => /^[^\s@]+@[^\s@]+$/.test(text),
}

/** In the order in which they are told. */
const keywords: Readonly<Record<string, Meets>> = {
  type: (value: unknown, type: string) => types[type]?.(value) ?? true,
  format: (value: string, format: string) => formats[format]?.(value) ?? true,
  enum: (value: unknown, values: readonly unknown[]) => values.includes(value),
  minLength: (value: string, limit: number) => sizeOf(value) >= limit,
  maxLength: (value: string, limit: number) => sizeOf(value) <= limit,
  pattern: (value: string, pattern: string) => matches(value, pattern),
  minimum: (value: number, limit: number) => value >= limit,
  maximum: (value: number, limit: number) => value <= limit,
  exclusiveMinimum: (value: number, limit: number) => value > limit,
  exclusiveMaximum: (value: number, limit: number) => value < limit,
  multipleOf: (value: number, limit: number) => Number.isInteger(value / limit),
  formatMinimum: (value: string, limit: string, schema) => (amount(value, schema) ?? 0) >= (amount(limit, schema) ?? 0),
  formatMaximum: (value: string, limit: string, schema) =>
    (amount(value, schema) ?? 0) <= (amount(limit, schema) ?? Number.POSITIVE_INFINITY),
  minItems: (value: readonly unknown[], limit: number) => value.length >= limit,
  maxItems: (value: readonly unknown[], limit: number) => value.length <= limit,
  uniqueItems: (value: readonly unknown[], isAsked: boolean) =>
    !isAsked || new Set(value.map((item) => JSON.stringify(item))).size === value.length,
}

/** Longer texts are left to the server: an expression may go back to each of their characters. */
const longestMatched = 1000

function matches(value: string, pattern: string): boolean {
  try {
    return value.length > longestMatched || new RegExp(pattern, 'u').test(value)
  } catch {
    return true
  }
}

/** The first rule that a value breaks, in it or in one of its parts. */
export function brokenSchemaRule(value: unknown, schema: Schema, path = ''): BrokenSchemaRule | undefined {
  const broken = Object.keys(keywords).find(
    (rule) => rule in schema && !keywords[rule]?.(value as never, schema[rule] as never, schema),
  )
  if (broken !== undefined) return { rule: broken, limit: schema[broken], path }
  if (Array.isArray(value)) {
    return firstOf(value.entries(), ([index, item]) =>
      brokenSchemaRule(item, (schema['items'] ?? {}) as Schema, `${path}[${index + 1}]`),
    )
  }
  if (!types['object']?.(value)) return undefined
  const members = value as Readonly<Record<string, unknown>>
  const missing = ((schema['required'] ?? []) as readonly string[]).find((name) => members[name] === undefined)
  const within = (name: string) => (path === '' ? name : `${path}.${name}`)
  if (missing !== undefined) return { rule: 'required', limit: missing, path: within(missing) }
  return firstOf(Object.entries(members), ([name, member]) =>
    brokenSchemaRule(member, memberSchema(schema, name), within(name)),
  )
}

function firstOf<T, Found>(items: Iterable<T>, look: (item: T) => Found | undefined): Found | undefined {
  for (const item of items) {
    const found = look(item)
    if (found !== undefined) return found
  }
  return undefined
}

/** Schema of a member of a structure: its own, or that of all others. */
export function memberSchema(schema: Schema, name: string): Schema {
  const own = (schema['properties'] as Readonly<Record<string, Schema>> | undefined)?.[name]
  const others = schema['additionalProperties']
  return own ?? (typeof others === 'object' && others !== null ? (others as Schema) : {})
}

/**
 * What a value is sent as: fields hold what was typed, so a number is text until then. Text that is none stays text, and
 * breaks the rule of its type.
 */
export function writtenOf(typed: unknown, schema: Schema): unknown {
  const type = schema['type']
  if (type === 'integer' || type === 'number') {
    const text = String(typed ?? '').trim()
    return text === '' || Number.isNaN(Number(text)) ? text : Number(text)
  }
  if (type === 'array' && Array.isArray(typed)) {
    return typed.map((item) => writtenOf(item, (schema['items'] ?? {}) as Schema)).filter((item) => item !== '')
  }
  if (type === 'object' && typeof typed === 'string') return parsed(typed)
  if (type === 'object' && typeof typed === 'object' && typed !== null) {
    const members = Object.entries(typed).map(([name, member]) => [name, writtenOf(member, memberSchema(schema, name))])
    return Object.fromEntries(members.filter(([, member]) => member !== '' && member !== undefined))
  }
  return typed
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
