/*
 * Parsers for durations and sizes. They use the same grammar as `@plinth/config-schema`, so that the page can report
 * errors early.
 */

const shortForm = /^(?:(\d+)w)?(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?$/
const isoForm = /^P(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,3}))?S)?)?$/
const millisecondsPer = [604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1] as const

/** Parses a duration such as `30s`, `1h30m` or `PT5M` to milliseconds; `undefined` for any other text. */
export function millisecondsOf(text: string): number | undefined {
  const short = shortForm.exec(text)
  const parts = short ?? isoForm.exec(text)
  if (parts === null || !/\d/.test(text)) return undefined
  const amounts = parts.slice(1)
  if (short === null) amounts[5] = (amounts[5] ?? '').padEnd(3, '0')
  const total = millisecondsPer.reduce((sum, unit, index) => sum + Number(amounts[index] ?? 0) * unit, 0)
  return Number.isSafeInteger(total) ? total : undefined
}

const bytesPer: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
}

/** Parses a size such as `1024`, `64kB` or `10MiB` to bytes; `undefined` for any other text. */
export function parseByteSize(text: string): number | undefined {
  const [, amount, unit = ''] = /^(\d+)([A-Za-z]*)$/.exec(text) ?? []
  const factor = Object.hasOwn(bytesPer, unit) ? bytesPer[unit] : undefined
  if (amount === undefined || factor === undefined) return undefined
  const total = Number(amount) * factor
  return Number.isSafeInteger(total) ? total : undefined
}

/** Functions that convert a text of each format to a number. */
const amountReaders: Readonly<Record<string, (text: string) => number | undefined>> = {
  duration: millisecondsOf,
  bytes: parseByteSize,
}

const wordUnits = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
  ['millisecond', 1],
] as const

/** Formats milliseconds in words: `5400000` becomes "1 hour, 30 minutes". */
export function durationInWords(milliseconds: number, language: string): string {
  let rest = milliseconds
  const parts: string[] = []
  for (const [unit, length] of wordUnits) {
    const amount = Math.floor(rest / length)
    rest %= length
    if (amount > 0) parts.push(unitText(amount, unit, language))
  }
  if (parts.length === 0) return unitText(0, 'second', language)
  return new Intl.ListFormat(language, { style: 'long', type: 'unit' }).format(parts)
}

const unitText = (amount: number, unit: string, language: string) =>
  new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'long' }).format(amount)

/** Returns a number of bytes with its unit, for example "10,485,760 bytes". */
export const bytesInWords = (bytes: number, language: string) => unitText(bytes, 'byte', language)

/** Pattern of hours and minutes in the API, such as 22:00. A field with this pattern has a control for a time. */
export const timePattern = '^(?:[01]\\d|2[0-3]):[0-5]\\d$'

export type Schema = Readonly<Record<string, unknown>>

/**
 * A schema rule that a value violates. The page reports it early. The server makes the final decision and has further
 * rules.
 */
export interface BrokenSchemaRule {
  /** The violated keyword of JSON Schema. */
  readonly keyword: string
  /** The limit that the schema sets for this keyword. */
  readonly limit: unknown
  /** Position of the error within a list or structure, for example `[2]` or `name`. Empty for the value itself. */
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

/** A check for each keyword. The first violated keyword in this order is shown. */
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

/**
 * Maximum length of a text that the page compares with a pattern. A pattern may backtrack for each character, so only
 * the server checks longer texts.
 */
const maxMatchedLength = 1000

function matches(value: string, pattern: string): boolean {
  try {
    return value.length > maxMatchedLength || new RegExp(pattern, 'u').test(value)
  } catch {
    return true
  }
}

/** Returns the first rule that a value or one of its parts violates. */
export const brokenSchemaRule = (value: unknown, schema: Schema): BrokenSchemaRule | undefined =>
  brokenSchemaRules(value, schema)[0]

/**
 * Returns the rules that a value violates: the first rule of the value itself, or if there is none, the rules of all
 * its parts.
 */
export function brokenSchemaRules(value: unknown, schema: Schema, path = ''): readonly BrokenSchemaRule[] {
  const broken = Object.keys(keywords).find(
    (keyword) => keyword in schema && !keywords[keyword]?.(value as never, schema[keyword] as never, schema),
  )
  if (broken !== undefined) return [{ keyword: broken, limit: schema[broken], path }]
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => brokenSchemaRules(item, itemSchema(schema), `${path}[${index + 1}]`))
  }
  if (!types['object']?.(value)) return []
  const members = value as Readonly<Record<string, unknown>>
  const within = (name: string) => (path === '' ? name : `${path}.${name}`)
  const missing = ((schema['required'] ?? []) as readonly string[]).filter((name) => members[name] === undefined)
  return [
    ...missing.map((name) => ({ keyword: 'required', limit: name, path: within(name) })),
    // Null members are not checked, because only the server knows which members may be null.
    ...Object.entries(members).flatMap(([name, member]) =>
      member === null ? [] : brokenSchemaRules(member, memberSchema(schema, name), within(name)),
    ),
  ]
}

/** Returns the rules of one part of a value, with paths relative to it. @param part `[2]` or `name` */
export const rulesWithin = (rules: readonly BrokenSchemaRule[], part: string): readonly BrokenSchemaRule[] =>
  rules.flatMap(({ path, ...rule }) => {
    if (path === part) return [{ ...rule, path: '' }]
    if (path.startsWith(`${part}.`)) return [{ ...rule, path: path.slice(part.length + 1) }]
    return path.startsWith(`${part}[`) ? [{ ...rule, path: path.slice(part.length) }] : []
  })

/** Returns the schema of the items of a list. */
export const itemSchema = (schema: Schema): Schema => withoutNull((schema['items'] ?? {}) as Schema)

/** Returns the schema of a member of a structure: the schema of this name, or the schema for all other names. */
export function memberSchema(schema: Schema, name: string): Schema {
  const own = (schema['properties'] as Readonly<Record<string, Schema>> | undefined)?.[name]
  return withoutNull(own ?? othersSchema(schema) ?? {})
}

/** Returns the schema of the members that a structure does not list; `undefined` if it allows none, or any value. */
export function othersSchema(schema: Schema): Schema | undefined {
  const [pattern] = Object.values((schema['patternProperties'] ?? {}) as Readonly<Record<string, Schema>>)
  const others = pattern ?? schema['additionalProperties']
  return typeof others === 'object' && others !== null ? (others as Schema) : undefined
}

/**
 * Returns the schema of a value that may be null, without null. The value is never null, because an empty field is not
 * sent.
 */
function withoutNull(schema: Schema): Schema {
  const others = choicesOf(schema).filter(({ type }) => type !== 'null')
  if (others.length === 0 || others.length === choicesOf(schema).length) return schema
  const { anyOf: _, ...rest } = schema
  return others.length === 1 ? { ...rest, ...others[0] } : { ...rest, anyOf: others }
}

const choicesOf = (schema: Schema) => (schema['anyOf'] ?? []) as readonly Schema[]

/** Returns the value of text for a schema that allows texts, numbers and flags: `3` is a number, `007` is a text. */
function scalarOf(text: string, schema: Schema): unknown {
  const allows = (type: string) => choicesOf(schema).some((choice) => choice['type'] === type)
  if (allows('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  return allows('number') && text !== '' && String(Number(text)) === text ? Number(text) : text
}

/**
 * Returns the value to send. Fields contain text, so numbers are converted. Text that is not a valid number stays text
 * and violates the type rule.
 */
export function writtenOf(typed: unknown, schema: Schema): unknown {
  const type = schema['type']
  if (type === 'integer' || type === 'number') {
    const text = String(typed ?? '').trim()
    return text === '' || Number.isNaN(Number(text)) ? text : Number(text)
  }
  if (type === 'array' && Array.isArray(typed)) {
    return typed.map((item) => writtenOf(item, itemSchema(schema))).filter((item) => item !== '')
  }
  if (type === 'object' && typeof typed === 'string') return parsed(typed)
  if (type === 'object' && typeof typed === 'object' && typed !== null) {
    const members = Object.entries(typed).map(([name, member]) => [name, writtenOf(member, memberSchema(schema, name))])
    return Object.fromEntries(members.filter(([, member]) => member !== '' && member !== undefined))
  }
  return typeof typed === 'string' && type === undefined ? scalarOf(typed, schema) : typed
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** True for texts that often have several lines. All forms show a text area for them. */
export const isLong = ({ type, maxLength, format, pattern, writeOnly, enum: values }: Schema) =>
  type === 'string' &&
  writeOnly !== true &&
  Number(maxLength) >= 1000 &&
  format === undefined &&
  pattern === undefined &&
  values === undefined
