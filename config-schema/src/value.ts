import {
  inBothLocales,
  type JsonSchema,
  type JsonValue,
  type KeyDeclaration,
  type Localized,
  localize,
  spaced,
} from './declaration.ts'
import { formats } from './formats.ts'
import { types } from './keywords.ts'
import { pathTo, type Violation } from './plain-schema.ts'
import { schemaCheck } from './schema-check.ts'

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
 * Returns the first text of a value, including property names, that contains a control character. Values are used in
 * mail headers, requests, file names and logs, where such a character could start something else. Only for values of
 * bounded depth.
 *
 * @param isMultiline line breaks and tabs are allowed
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
      controlCharacter(part, isMultiline, pathTo(path, name))
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Maximum characters (UTF-16 units) of a value of a key, with its names and items; a schema may allow less. Checked
 * before all other rules, whose cost may grow with the value.
 */
export const maxValueLength = 2 ** 16

/** Maximum depth of nested lists and objects, because code that traverses values is recursive. */
const deepestValue = 64

/**
 * Maximum characters of all sensitive values of one source. Every text that leaves the product is searched for them.
 */
export const maxSecretsLength = 2 ** 20

/**
 * Returns the characters of a value with all its parts, plus one for each part. Stops counting above `maxValueLength`.
 * Returns Infinity for a value of more than 64 levels. Not recursive, so it accepts any depth.
 */
export function valueLength(value: JsonValue): number {
  let length = 0
  const waiting: (readonly [part: JsonValue, level: number])[] = [[value, 0]]
  for (let one = waiting.pop(); one !== undefined && length <= maxValueLength; one = waiting.pop()) {
    const [next, level] = one
    if (typeof next !== 'object' || next === null) {
      length += String(next).length
      continue
    }
    if (level === deepestValue) return Number.POSITIVE_INFINITY
    const isList = Array.isArray(next)
    for (const [name, part] of Object.entries(next)) {
      length += isList ? 1 : name.length + 1
      if (length > maxValueLength) break
      waiting.push([part, level + 1])
    }
  }
  return length
}

/** Returns a violation for a value that is too long or too deep. */
function tooLongValue(part: JsonValue): Violation | undefined {
  const length = valueLength(part)
  if (length <= maxValueLength) return undefined
  const rule =
    length === Number.POSITIVE_INFINITY
      ? {
          en: `have at most ${deepestValue} lists and objects within each other`,
          'zh-CN': `最多嵌套 ${deepestValue} 层列表和对象`,
        }
      : { en: `have at most ${maxValueLength} characters`, 'zh-CN': `最多有 ${maxValueLength} 个字符` }
  return { keyword: 'maxLength', path: '', rule, example: undefined, part }
}

/** Completes "<key> ...": with this value, the sensitive values of its source would together be too long. */
export const tooLongTogether = `must leave all sensitive values of its source within ${maxSecretsLength} characters together`

/** Replaces every value of a sensitive key. The length is always the same, so it reveals nothing. */
export const maskedValue = '******'

/** A rule of the schema that a value violates. */
export interface ValueProblem {
  /** The violated JSON Schema keyword, for example `formatMinimum`. */
  readonly rule: string
  /**
   * Completes "<key> ...", in the requested locale. Contains the rule, an example and, unless the key is sensitive, the
   * value.
   */
  readonly message: string
}

export type TextReading = { readonly ok: true; readonly value: JsonValue } | ({ readonly ok: false } & ValueProblem)

/** Returns the JSON of a value, at most 60 characters. */
function brief(value: JsonValue): string {
  if (tooLongValue(value) !== undefined)
    return typeof value === 'string' ? brief(value.slice(0, 100)) : 'too long to be shown'
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch {
    // A product file is code and may contain values that JSON cannot represent.
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
  const must: Localized = { en: `must ${rule.en}${like.en}`, 'zh-CN': `必须${spaced(rule['zh-CN'])}${like['zh-CN']}` }
  // The path may also contain names from the value.
  if (sensitive) return { rule: keyword, message: localize(must, locale) }
  const message: Localized = {
    en: `${path && `at ${path} `}${must.en}; it is ${brief(part)}`,
    'zh-CN': `${path && `在 ${path} 处`}${must['zh-CN']}；给出的是 ${brief(part)}`,
  }
  return { rule: keyword, message: localize(message, locale) }
}

/**
 * Returns every rule that a written value violates; an empty list if it is valid. For a value longer than
 * `maxValueLength`, or with control characters that its key does not allow, only that violation is returned.
 *
 * @param locale of the messages, as for `localize`
 */
export function validateValue(declaration: KeyDeclaration, value: JsonValue, locale = 'en'): readonly ValueProblem[] {
  // Checked first, because the cost of other rules may grow with the value.
  const first = tooLongValue(value) ?? controlCharacter(value, declaration.multiline === true)
  const violations = first === undefined ? schemaCheck(declaration.schema).violations(value) : [first]
  return violations.map((violation) => problemOf(declaration, violation, locale))
}

/**
 * Returns the value that the owner reads: milliseconds for a duration, bytes for a size, otherwise the written value.
 */
export function readValue<T>(declaration: KeyDeclaration<T>, value: JsonValue | undefined): T {
  const decode = formats[String(declaration.schema['format'])]?.decode
  return (decode !== undefined && typeof value === 'string' ? decode(value) : value) as T
}

/** JSON.parse turns 1e999 into Infinity, which JSON cannot represent. */
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

/** Returns the value that a text represents according to a schema, or `undefined` if the text is not valid. */
function read(schema: JsonSchema, text: string): JsonValue | undefined {
  const type = String(schema['type'])
  const value =
    type === 'array' ? readList(schema, text) : type === 'object' ? parseJson(text) : scalarReaders.get(type)?.(text)
  return value !== undefined && types[type]?.matches(value) ? value : undefined
}

/** Reads a JSON array, or scalars between commas. Empty items are not allowed, and blanks around items are ignored. */
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
 * Converts text from the environment, a `.env` file, the command line or a database row into the written form of the
 * key, by the type of its schema. Strict: no blanks around numbers, no hexadecimal, no `yes`. The other rules of the
 * schema are checked by `validateValue`.
 */
export function readText(declaration: KeyDeclaration, text: string): TextReading {
  const type = String(declaration.schema['type'])
  const plainText = type === 'string' && declaration.schema['format'] === undefined && !declaration.schema['enum']
  if (text === '' && !plainText) {
    const message = `must not be empty: give it a value or remove it${emptyHints[type] ?? ''}`
    return { ok: false, rule: 'empty', message }
  }
  const tooLong = tooLongValue(text)
  const value = tooLong === undefined ? read(declaration.schema, text) : text
  if (value !== undefined) return { ok: true, value }
  const { rule = { en: 'have a type', 'zh-CN': '有类型' }, example } = types[type] ?? {}
  return { ok: false, ...problemOf(declaration, { keyword: 'type', path: '', rule, example, part: text }, 'en') }
}

/** A value from a source: a JSON value in `written`, or text that must still be converted. */
export interface GivenValue {
  readonly written?: JsonValue
  readonly text?: string
}

/** Returns the written form of a value from a source, or the first rule of the key that it violates. */
export function readGiven(declaration: KeyDeclaration, { written, text = '' }: GivenValue): TextReading {
  const read: TextReading = written === undefined ? readText(declaration, text) : { ok: true, value: written }
  if (!read.ok) return read
  const [problem] = validateValue(declaration, read.value)
  return problem === undefined ? read : { ok: false, ...problem }
}
