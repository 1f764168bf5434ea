import type { JsonSchema, JsonValue } from './declaration.ts'
import { formats } from './formats.ts'

interface TypeRule {
  /** Completes "must ...". */
  readonly rule: string
  readonly example: JsonValue
  matches(value: unknown): boolean
}

/** The types that the schema of a key may have: each says how plain text is read. */
export const types: Readonly<Record<string, TypeRule>> = {
  string: { rule: 'be text', example: 'text', matches: (value) => typeof value === 'string' },
  integer: { rule: 'be a whole number within plus or minus 2^53 - 1', example: 60, matches: Number.isSafeInteger },
  number: { rule: 'be a number', example: 0.5, matches: Number.isFinite },
  boolean: { rule: 'be true or false', example: true, matches: (value) => typeof value === 'boolean' },
  array: { rule: 'be a list', example: ['first', 'second'], matches: Array.isArray },
  object: {
    rule: 'be a JSON object',
    example: { name: 'value' },
    matches: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  },
}

/** One JSON Schema keyword. Its functions see only values of `types` and, but for `accepts`, operands that it accepts. */
export interface Keyword {
  readonly types: readonly string[]
  /** What the operand must be; completes "must be ...". */
  readonly operand: string
  accepts(operand: unknown, schema: JsonSchema): boolean
  met(value: unknown, operand: unknown, schema: JsonSchema): boolean
  /** Completes "must ...". */
  rule(operand: unknown): string
}

const patterns = new Map<string, RegExp>()
function pattern(source: string): RegExp {
  const compiled = patterns.get(source) ?? new RegExp(source, 'u')
  patterns.set(source, compiled)
  return compiled
}
function isPattern(source: unknown): boolean {
  try {
    return typeof source === 'string' && pattern(source) !== undefined
  } catch {
    return false
  }
}

/** Place of a text in the order of the schema's format; `undefined` when the format has no order or refuses the text. */
const rank = (schema: JsonSchema, text: unknown) => formats[String(schema['format'])]?.decode?.(String(text))
const codePoints = (text: string) => [...text].length
const count = (amount: number, noun: string) => `${amount} ${noun}${amount === 1 ? '' : 's'}`

const limit = {
  types: ['string'],
  operand: 'text of the format',
  accepts: (operand: unknown, schema: JsonSchema) => rank(schema, operand) !== undefined,
}
const numeric = { types: ['integer', 'number'], operand: 'a number', accepts: Number.isFinite }
const size = {
  operand: 'a whole number from 0',
  accepts: (operand: unknown) => Number.isSafeInteger(operand) && Number(operand) >= 0,
}
const length = { ...size, types: ['string'] }
const items = { ...size, types: ['array'] }

const annotation = {
  types: Object.keys(types),
  operand: 'text',
  accepts: (operand: unknown) => typeof operand === 'string',
  met: () => true,
  rule: () => 'be anything',
}

/** Keywords about a value as a whole, and what they say of it. */
export const keywords: Readonly<Record<string, Keyword>> = {
  format: {
    types: ['string'],
    operand: `one of ${Object.keys(formats).join(', ')}`,
    accepts: (operand: string) => Object.hasOwn(formats, operand),
    met: (value: string, operand: string) => formats[operand]?.validate(value) === true,
    rule: (operand: string) => `be ${formats[operand]?.rule ?? `text of the format ${operand}`}`,
  },
  formatMinimum: {
    ...limit,
    // Text that the format refuses has no rank; then the format itself is reported.
    met: (value, operand, schema) => (rank(schema, value) ?? Infinity) >= (rank(schema, operand) ?? 0),
    rule: (operand) => `be at least ${operand}`,
  },
  formatMaximum: {
    ...limit,
    met: (value, operand, schema) => (rank(schema, value) ?? 0) <= (rank(schema, operand) ?? Infinity),
    rule: (operand) => `be at most ${operand}`,
  },
  minLength: {
    ...length,
    met: (value: string, operand: number) => codePoints(value) >= operand,
    rule: (operand: number) => `have at least ${count(operand, 'character')}`,
  },
  maxLength: {
    ...length,
    met: (value: string, operand: number) => codePoints(value) <= operand,
    rule: (operand: number) => `have at most ${count(operand, 'character')}`,
  },
  pattern: {
    types: ['string'],
    operand: 'a regular expression',
    accepts: isPattern,
    met: (value: string, operand: string) => pattern(operand).test(value),
    rule: (operand) => `match the pattern ${operand}`,
  },
  enum: {
    types: ['string', ...numeric.types],
    operand: 'a list of at least one value, each once',
    accepts: (operand) => Array.isArray(operand) && operand.length > 0 && new Set(operand).size === operand.length,
    met: (value, operand: readonly unknown[]) => operand.includes(value),
    rule: (operand: readonly unknown[]) => `be one of ${operand.map((one) => JSON.stringify(one)).join(', ')}`,
  },
  minimum: {
    ...numeric,
    met: (value: number, operand: number) => value >= operand,
    rule: (operand) => `be at least ${operand}`,
  },
  maximum: {
    ...numeric,
    met: (value: number, operand: number) => value <= operand,
    rule: (operand) => `be at most ${operand}`,
  },
  exclusiveMinimum: {
    ...numeric,
    met: (value: number, operand: number) => value > operand,
    rule: (operand) => `be above ${operand}`,
  },
  exclusiveMaximum: {
    ...numeric,
    met: (value: number, operand: number) => value < operand,
    rule: (operand) => `be below ${operand}`,
  },
  multipleOf: {
    ...numeric,
    operand: 'a number above 0',
    accepts: (operand) => Number.isFinite(operand) && Number(operand) > 0,
    met: (value: number, operand: number) => Number.isInteger(value / operand),
    rule: (operand) => `be a multiple of ${operand}`,
  },
  title: annotation,
  description: annotation,
  minItems: {
    ...items,
    met: (value: readonly unknown[], operand: number) => value.length >= operand,
    rule: (operand: number) => `have at least ${count(operand, 'item')}`,
  },
  maxItems: {
    ...items,
    met: (value: readonly unknown[], operand: number) => value.length <= operand,
    rule: (operand: number) => `have at most ${count(operand, 'item')}`,
  },
  uniqueItems: {
    types: ['array'],
    operand: 'true or false',
    accepts: (operand) => typeof operand === 'boolean',
    met: (value: readonly unknown[], operand) =>
      operand === false || new Set(value.map((item) => JSON.stringify(item))).size === value.length,
    rule: () => 'not have the same item twice',
  },
}
