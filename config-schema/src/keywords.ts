import { type JsonSchema, type JsonValue, type Localized, spaceBeforeAscii } from './declaration.ts'
import { formats } from './formats.ts'

interface TypeRule {
  /** The rule in words. The text completes "must ..." and "必须…". */
  readonly rule: Localized
  readonly example: JsonValue
  matches(value: unknown): boolean
}

/** The types that the schema of a key may have. The type also determines how a plain text is converted to a value. */
export const typeRules: Readonly<Record<string, TypeRule>> = {
  string: {
    rule: { en: 'be text', 'zh-CN': '是文本' },
    example: 'text',
    matches: (value) => typeof value === 'string',
  },
  integer: {
    rule: { en: 'be a whole number within plus or minus 2^53 - 1', 'zh-CN': '是 ±(2^53 - 1) 以内的整数' },
    example: 60,
    matches: Number.isSafeInteger,
  },
  number: { rule: { en: 'be a number', 'zh-CN': '是数字' }, example: 0.5, matches: Number.isFinite },
  boolean: {
    rule: { en: 'be true or false', 'zh-CN': '是 true 或 false' },
    example: true,
    matches: (value) => typeof value === 'boolean',
  },
  array: { rule: { en: 'be a list', 'zh-CN': '是列表' }, example: ['first', 'second'], matches: Array.isArray },
  object: {
    rule: { en: 'be a JSON object', 'zh-CN': '是 JSON 对象' },
    example: { name: 'value' },
    matches: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  },
}

/**
 * One keyword of JSON Schema. `met` and `rule` receive only values of `types` and operands that `accepts` has accepted.
 */
export interface Keyword {
  readonly types: readonly string[]
  /** The rule for the operand, in words. It completes "must be ...". */
  readonly operand: string
  accepts(operand: unknown, schema: JsonSchema): boolean
  met(value: unknown, operand: unknown, schema: JsonSchema): boolean
  /** The rule for the value, in words. The text completes "must ..." and "必须…". */
  rule(operand: unknown): Localized
}

/**
 * Maximum characters of a text that is compared with a pattern. Longer texts never match, because some expressions need
 * a time that grows fast with the length. Patterns are meant for names and addresses.
 */
export const maxMatchedLength = 4096

/** A regular expression that rejects texts above `maxMatchedLength`. */
interface BoundedPattern {
  test(text: string): boolean
  /** Returns a unique text for each expression. ajv compares patterns by this text. */
  toString(): string
}

const patterns = new Map<string, BoundedPattern>()

/**
 * Compiles a regular expression once for each source.
 *
 * @throws SyntaxError if the source is not a regular expression
 */
export function pattern(source: string): BoundedPattern {
  const known = patterns.get(source)
  if (known !== undefined) return known
  const expression = new RegExp(source, 'u')
  const bounded: BoundedPattern = {
    test: (text) => text.length <= maxMatchedLength && expression.test(text),
    toString: () => String(expression),
  }
  patterns.set(source, bounded)
  return bounded
}
function isPattern(source: unknown): boolean {
  try {
    return typeof source === 'string' && pattern(source) !== undefined
  } catch {
    return false
  }
}

/**
 * Converts a text to a number that can be compared, for example a duration to milliseconds. Returns `undefined` if the
 * format of the schema has no order, or if the text is invalid.
 */
const rank = (schema: JsonSchema, text: unknown) => formats[String(schema['format'])]?.decode?.(String(text))
const codePoints = (text: string) => [...text].length
const count = (amount: number, noun: string, nouns = `${noun}s`) => `${amount} ${amount === 1 ? noun : nouns}`
const properties = (amount: number) => count(amount, 'property', 'properties')

const atLeast = (operand: unknown): Localized => ({ en: `be at least ${operand}`, 'zh-CN': `不小于 ${operand}` })
const atMost = (operand: unknown): Localized => ({ en: `be at most ${operand}`, 'zh-CN': `不大于 ${operand}` })

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
const members = { ...size, types: ['object'] }

const annotation = {
  types: Object.keys(typeRules),
  operand: 'text',
  accepts: (operand: unknown) => typeof operand === 'string',
  met: () => true,
  rule: () => ({ en: 'be anything', 'zh-CN': '是任意值' }),
}

/** The supported keywords about a whole value. Keywords about parts of lists and objects are in `plain-schema.ts`. */
export const keywords: Readonly<Record<string, Keyword>> = {
  format: {
    types: ['string'],
    operand: `one of ${Object.keys(formats).join(', ')}`,
    accepts: (operand: string) => Object.hasOwn(formats, operand),
    met: (value: string, operand: string) => formats[operand]?.validate(value) === true,
    rule: (operand: string) => {
      const { en, 'zh-CN': zhCN } = formats[operand]?.rule ?? {
        en: `text of the format ${operand}`,
        'zh-CN': `格式为 ${operand} 的文本`,
      }
      return { en: `be ${en}`, 'zh-CN': `是${spaceBeforeAscii(zhCN)}` }
    },
  },
  formatMinimum: {
    ...limit,
    // An invalid text has no rank. It passes here, because the keyword `format` already reports it.
    met: (value, operand, schema) => (rank(schema, value) ?? Infinity) >= (rank(schema, operand) ?? 0),
    rule: atLeast,
  },
  formatMaximum: {
    ...limit,
    met: (value, operand, schema) => (rank(schema, value) ?? 0) <= (rank(schema, operand) ?? Infinity),
    rule: atMost,
  },
  minLength: {
    ...length,
    met: (value: string, operand: number) => codePoints(value) >= operand,
    rule: (operand: number) => ({
      en: `have at least ${count(operand, 'character')}`,
      'zh-CN': `至少有 ${operand} 个字符`,
    }),
  },
  maxLength: {
    ...length,
    met: (value: string, operand: number) => codePoints(value) <= operand,
    rule: (operand: number) => ({
      en: `have at most ${count(operand, 'character')}`,
      'zh-CN': `最多有 ${operand} 个字符`,
    }),
  },
  pattern: {
    types: ['string'],
    operand: 'a regular expression',
    accepts: isPattern,
    met: (value: string, operand: string) => pattern(operand).test(value),
    rule: (operand) => ({ en: `match the pattern ${operand}`, 'zh-CN': `匹配模式 ${operand}` }),
  },
  enum: {
    types: ['string', ...numeric.types],
    operand: 'a list of at least one value, each once',
    accepts: (operand) => Array.isArray(operand) && operand.length > 0 && new Set(operand).size === operand.length,
    met: (value, operand: readonly unknown[]) => operand.includes(value),
    rule: (operand: readonly unknown[]) => {
      const values = operand.map((one) => JSON.stringify(one))
      return { en: `be one of ${values.join(', ')}`, 'zh-CN': `是 ${values.join('、')} 之一` }
    },
  },
  minimum: {
    ...numeric,
    met: (value: number, operand: number) => value >= operand,
    rule: atLeast,
  },
  maximum: {
    ...numeric,
    met: (value: number, operand: number) => value <= operand,
    rule: atMost,
  },
  exclusiveMinimum: {
    ...numeric,
    met: (value: number, operand: number) => value > operand,
    rule: (operand) => ({ en: `be above ${operand}`, 'zh-CN': `大于 ${operand}` }),
  },
  exclusiveMaximum: {
    ...numeric,
    met: (value: number, operand: number) => value < operand,
    rule: (operand) => ({ en: `be below ${operand}`, 'zh-CN': `小于 ${operand}` }),
  },
  multipleOf: {
    ...numeric,
    operand: 'a number above 0',
    accepts: (operand) => Number.isFinite(operand) && Number(operand) > 0,
    met: (value: number, operand: number) => Number.isInteger(value / operand),
    rule: (operand) => ({ en: `be a multiple of ${operand}`, 'zh-CN': `是 ${operand} 的倍数` }),
  },
  title: annotation,
  description: annotation,
  minItems: {
    ...items,
    met: (value: readonly unknown[], operand: number) => value.length >= operand,
    rule: (operand: number) => ({ en: `have at least ${count(operand, 'item')}`, 'zh-CN': `至少有 ${operand} 项` }),
  },
  maxItems: {
    ...items,
    met: (value: readonly unknown[], operand: number) => value.length <= operand,
    rule: (operand: number) => ({ en: `have at most ${count(operand, 'item')}`, 'zh-CN': `最多有 ${operand} 项` }),
  },
  minProperties: {
    ...members,
    met: (value: object, operand: number) => Object.keys(value).length >= operand,
    rule: (operand: number) => ({ en: `have at least ${properties(operand)}`, 'zh-CN': `至少有 ${operand} 个属性` }),
  },
  maxProperties: {
    ...members,
    met: (value: object, operand: number) => Object.keys(value).length <= operand,
    rule: (operand: number) => ({ en: `have at most ${properties(operand)}`, 'zh-CN': `最多有 ${operand} 个属性` }),
  },
  uniqueItems: {
    types: ['array'],
    operand: 'true or false',
    accepts: (operand) => typeof operand === 'boolean',
    met: (value: readonly unknown[], operand) =>
      operand === false || new Set(value.map((item) => JSON.stringify(item))).size === value.length,
    rule: () => ({ en: 'not have the same item twice', 'zh-CN': '不含重复的项' }),
  },
}
