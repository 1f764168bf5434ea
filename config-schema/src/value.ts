import {
  inBothLocales,
  type JsonSchema,
  type JsonValue,
  type KeyDeclaration,
  type Localized,
  localize,
  spaceBeforeAscii,
} from './declaration.ts'
import { formats } from './formats.ts'
import { typeRules } from './keywords.ts'
import { appendJsonPointer, type Violation } from './plain-schema.ts'
import { createSchemaCheck } from './schema-check.ts'

/** Control characters, and the two line separators of Unicode. */
const control = /[\p{Cc}\u2028\u2029]/u
const controlInLines = /(?![\t\n\r])\p{Cc}/u

const oneLine = {
  en: 'be one line of text without control characters',
  'zh-CN': '是不含控制字符的单行文本',
}
const severalLines = {
  en: 'have no control characters besides line breaks and tabs',
  'zh-CN': '不含换行和制表符以外的控制字符',
}

/**
 * Returns a violation for the first text in a value, including property names, that contains a control character.
 * Values are used in mail headers, requests, file names and logs, where a control character could inject content. The
 * depth of the value must be limited.
 *
 * @param isMultiline true if line breaks and tabs are allowed
 */
function controlCharacter(value: JsonValue, isMultiline: boolean, path = ''): Violation | undefined {
  if (typeof value === 'string') {
    if (!(isMultiline ? controlInLines : control).test(value)) return undefined
    return { keyword: 'line', path, rule: isMultiline ? severalLines : oneLine, example: undefined, part: value }
  }
  if (typeof value !== 'object' || value === null) return undefined
  for (const [name, part] of Object.entries(value)) {
    const found =
      (Array.isArray(value) ? undefined : controlCharacter(name, isMultiline, path)) ??
      controlCharacter(part, isMultiline, appendJsonPointer(path, name))
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Maximum length of a value in UTF-16 units, including property names and list items. A schema may set a lower limit.
 * This limit is checked first, because the other checks may take long for large values.
 */
export const maxValueLength = 2 ** 16

/**
 * Maximum number of nested lists and objects. Recursive functions process values, and deeper nesting could overflow the
 * stack.
 */
const maxDepth = 64

/**
 * Maximum total length of all secrets of one source, in UTF-16 units. All texts that leave the product are searched for
 * these secrets.
 */
export const maxSecretsLength = 2 ** 20

/**
 * Returns the number of characters of all parts of a value, plus one for each part. Stops counting above
 * `maxValueLength`. Returns Infinity for a value with more than 64 levels. The function is not recursive, so any depth
 * is safe.
 */
export function countValueCharacters(value: JsonValue): number {
  let length = 0
  const waiting: (readonly [part: JsonValue, level: number])[] = [[value, 0]]
  for (let one = waiting.pop(); one !== undefined && length <= maxValueLength; one = waiting.pop()) {
    const [next, level] = one
    if (typeof next !== 'object' || next === null) {
      length += String(next).length
      continue
    }
    if (level === maxDepth) return Number.POSITIVE_INFINITY
    const isList = Array.isArray(next)
    for (const [name, part] of Object.entries(next)) {
      length += isList ? 1 : name.length + 1
      if (length > maxValueLength) break
      waiting.push([part, level + 1])
    }
  }
  return length
}

function tooLongValue(part: JsonValue): Violation | undefined {
  const length = countValueCharacters(part)
  if (length <= maxValueLength) return undefined
  const rule =
    length === Number.POSITIVE_INFINITY
      ? {
          en: `have at most ${maxDepth} lists and objects within each other`,
          'zh-CN': `最多嵌套 ${maxDepth} 层列表和对象`,
        }
      : { en: `have at most ${maxValueLength} characters`, 'zh-CN': `最多有 ${maxValueLength} 个字符` }
  return { keyword: 'maxLength', path: '', rule, example: undefined, part }
}

/**
 * Message for a value that is valid itself, but makes all secrets of its source together too long. Completes "<key>
 * ...".
 */
export const secretsTooLongRule = `must leave all sensitive values of its source within ${maxSecretsLength} characters together`

/**
 * Text that replaces every value of a sensitive key. The length is constant, so it does not reveal the length of the
 * secret.
 */
export const maskedValue = '******'

/** A rule that a value violates. */
export interface ValueProblem {
  /** The violated keyword of JSON Schema, for example `formatMinimum`. */
  readonly rule: string
  /**
   * Completes "<key> ..." in the requested language. Contains the rule and an example, and the value unless the key is
   * sensitive.
   */
  readonly message: string
}

export type ParsedValueResult =
  | { readonly ok: true; readonly value: JsonValue }
  | ({ readonly ok: false } & ValueProblem)

/** Returns the JSON of a value for a message, shortened to 60 characters. */
function brief(value: JsonValue): string {
  if (tooLongValue(value) !== undefined)
    return typeof value === 'string' ? brief(value.slice(0, 100)) : 'too long to be shown'
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch {
    // A product file is code. It may contain values that JSON cannot represent.
  }
  text ??= String(value)
  return text.length <= 60 ? text : `${text.slice(0, 57)}...`
}

function problemOf(
  declaration: KeyDeclaration,
  { keyword, path, rule: ofSchema, example, part }: Violation,
  locale: string,
): ValueProblem {
  const { sensitive, examples, default: fallback } = declaration
  const rule = keyword === 'pattern' && declaration.rule !== undefined ? inBothLocales(declaration.rule) : ofSchema
  const declared = examples?.[0] ?? (sensitive || fallback === '' ? undefined : fallback)
  const shown = path === '' && ['type', 'format', 'pattern'].includes(keyword) ? (declared ?? example) : example
  const like: Localized =
    shown === undefined
      ? { en: '', 'zh-CN': '' }
      : { en: `, for example ${brief(shown)}`, 'zh-CN': `，例如 ${brief(shown)}` }
  const must: Localized = {
    en: `must ${rule.en}${like.en}`,
    'zh-CN': `必须${spaceBeforeAscii(rule['zh-CN'])}${like['zh-CN']}`,
  }
  // The path is omitted too, because it may contain property names of the secret value.
  if (sensitive) return { rule: keyword, message: localize(must, locale) }
  const message: Localized = {
    en: `${path && `at ${path} `}${must.en}; it is ${brief(part)}`,
    'zh-CN': `${path && `在 ${path} 处`}${must['zh-CN']}；给出的是 ${brief(part)}`,
  }
  return { rule: keyword, message: localize(message, locale) }
}

/**
 * Returns all rules that a written value violates. If the value is longer than `maxValueLength` or contains forbidden
 * control characters, only that violation is returned.
 *
 * @param locale language of the messages: Chinese for every Chinese tag, otherwise English
 */
export function validateValue(declaration: KeyDeclaration, value: JsonValue, locale = 'en'): readonly ValueProblem[] {
  // Checked first, because the other checks may take long for large values.
  const first = tooLongValue(value) ?? controlCharacter(value, declaration.multiline === true)
  const violations = first === undefined ? createSchemaCheck(declaration.schema).violations(value) : [first]
  return violations.map((violation) => problemOf(declaration, violation, locale))
}

/**
 * Converts a written value to the value that the plugin reads: milliseconds for a duration, bytes for a size. Other
 * values are not changed.
 */
export function readValue<T>(declaration: KeyDeclaration<T>, value: JsonValue | undefined): T {
  const decode = formats[String(declaration.schema['format'])]?.decode
  return (decode !== undefined && typeof value === 'string' ? decode(value) : value) as T
}

/** Parses JSON. JSON.parse reads 1e999 as Infinity, which JSON cannot represent, so such numbers are rejected. */
function parseJson(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text, (_name, value) => {
      if (value === Infinity || value === -Infinity) throw new RangeError('Number out of range')
      return value
    })
  } catch {
    return undefined
  }
}

const asNumber = (grammar: RegExp, text: string) => (grammar.test(text) ? Number(text) : undefined)

const scalarReaders = new Map<string, (text: string) => JsonValue | undefined>([
  ['string', (text) => text],
  ['integer', (text) => asNumber(/^(0|-?[1-9]\d*)$/, text)],
  ['number', (text) => asNumber(/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/, text)],
  ['boolean', (text) => (text === 'true' || text === 'false' ? text === 'true' : undefined)],
])

/** Converts a text to a value according to a schema. Returns `undefined` if that is not possible. */
function read(schema: JsonSchema, text: string): JsonValue | undefined {
  const type = String(schema['type'])
  const value =
    type === 'array' ? readList(schema, text) : type === 'object' ? parseJson(text) : scalarReaders.get(type)?.(text)
  return value !== undefined && typeRules[type]?.matches(value) ? value : undefined
}

/** Reads a JSON array, or values between commas. Blanks around a value are ignored. Empty values are rejected. */
function readList(schema: JsonSchema, text: string): JsonValue | undefined {
  if (text.trimStart().startsWith('[')) return parseJson(text)
  const { type = 'string' }: JsonSchema = Object(schema['items'])
  const items = text.split(',').map((item) => item.trim())
  const values = items.map((item) =>
    item === '' || !scalarReaders.has(String(type)) ? undefined : read({ type }, item),
  )
  return values.every((value) => value !== undefined) ? values : undefined
}

const emptyHints: Readonly<Record<string, string>> = {
  array: '; write [] for an empty list',
  object: '; write {} for an empty object',
}

/**
 * Converts a text from the environment, a `.env` file, the command line or a database row to the written value of a
 * key. The type in the schema determines the conversion. It is strict: no blanks around numbers, no hexadecimal
 * numbers, no `yes`. `validateValue` checks the other rules of the schema.
 */
export function parseValueText(declaration: KeyDeclaration, text: string): ParsedValueResult {
  const type = String(declaration.schema['type'])
  const plainText = type === 'string' && declaration.schema['format'] === undefined && !declaration.schema['enum']
  if (text === '' && !plainText) {
    const message = `must not be empty: give it a value or remove it${emptyHints[type] ?? ''}`
    return { ok: false, rule: 'empty', message }
  }
  const tooLong = tooLongValue(text)
  const value = tooLong === undefined ? read(declaration.schema, text) : text
  if (value !== undefined) return { ok: true, value }
  const { rule = { en: 'have a type', 'zh-CN': '有类型' }, example } = typeRules[type] ?? {}
  return { ok: false, ...problemOf(declaration, { keyword: 'type', path: '', rule, example, part: text }, 'en') }
}

/** A value from a source: a JSON value in `written`, or a text that must still be converted. */
export interface SourceValue {
  readonly written?: JsonValue
  readonly text?: string
}

/** Returns the written value of a source entry, or the first rule of the key that it violates. */
export function parseSourceValue(declaration: KeyDeclaration, { written, text = '' }: SourceValue): ParsedValueResult {
  const read: ParsedValueResult =
    written === undefined ? parseValueText(declaration, text) : { ok: true, value: written }
  if (!read.ok) return read
  const [problem] = validateValue(declaration, read.value)
  return problem === undefined ? read : { ok: false, ...problem }
}
