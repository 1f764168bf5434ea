import type { Translate } from '../text/texts.ts'
import { type BrokenSchemaRule, timePattern } from './schema-rules.ts'

const ruleTexts = {
  required: 'schema.rule.required',
  enum: 'schema.rule.enum',
  minLength: 'schema.rule.minLength',
  maxLength: 'schema.rule.maxLength',
  pattern: 'schema.rule.pattern',
  minimum: 'schema.rule.minimum',
  formatMinimum: 'schema.rule.minimum',
  maximum: 'schema.rule.maximum',
  formatMaximum: 'schema.rule.maximum',
  exclusiveMinimum: 'schema.rule.exclusiveMinimum',
  exclusiveMaximum: 'schema.rule.exclusiveMaximum',
  multipleOf: 'schema.rule.multipleOf',
  minItems: 'schema.rule.minItems',
  maxItems: 'schema.rule.maxItems',
  uniqueItems: 'schema.rule.uniqueItems',
} as const

const typeTexts = {
  integer: 'schema.type.integer',
  number: 'schema.type.number',
  object: 'schema.type.object',
} as const

const formatTexts = {
  duration: 'schema.format.duration',
  bytes: 'schema.format.bytes',
  url: 'schema.format.url',
  email: 'schema.format.email',
  'time-zone': 'schema.format.time-zone',
  host: 'schema.format.host',
  cidr: 'schema.format.cidr',
} as const

const lookup = <T extends object>(table: T, name: unknown): T[keyof T] | undefined =>
  Object.hasOwn(table, String(name)) ? table[String(name) as keyof T] : undefined

/**
 * Returns the text of a broken rule; `undefined` for a keyword without a text.
 *
 * @param patternRule the requirement of the pattern, in words
 */
export function ruleText(
  translate: Translate,
  { keyword, limit, path }: BrokenSchemaRule,
  patternRule?: string,
): string | undefined {
  const text = ownText(translate, keyword, limit, patternRule)
  return path === '' || text === undefined ? text : translate('schema.rule.within', { path, rule: text })
}

function ownText(translate: Translate, keyword: string, limit: unknown, patternRule: string | undefined) {
  if (keyword === 'pattern' && patternRule !== undefined) return translate('schema.rule.must', { rule: patternRule })
  const key =
    keyword === 'type'
      ? lookup(typeTexts, limit)
      : keyword === 'format'
        ? lookup(formatTexts, limit)
        : lookup(ruleTexts, keyword)
  if (key === undefined) return undefined
  return translate(key, { limit: Array.isArray(limit) ? limit.join(', ') : String(limit) })
}

/** Texts for patterns of the API. Other patterns are explained by the help text of their field. */
const patternTexts: Readonly<Record<string, 'code' | 'dotted' | 'line' | 'time'>> = {
  '^[a-z0-9]+(?:-[a-z0-9]+)*$': 'code',
  '^[a-z0-9]+(-[a-z0-9]+)*$': 'code',
  '^[a-z][a-z0-9-]*$': 'code',
  '^[a-z0-9]+(?:-[a-z0-9]+)*(?:\\.[a-z0-9]+(?:-[a-z0-9]+)*)+$': 'dotted',
  '^[^\\p{Cc}\\p{Cs}]*$': 'line',
  [timePattern]: 'time',
}

/** Returns the text of a rule of the API for people: without the path, and without a regular expression. */
export function formText(translate: Translate, { keyword, limit }: BrokenSchemaRule): string {
  if (keyword !== 'pattern') return ownText(translate, keyword, limit, undefined) ?? translate('schema.rule.form')
  const known = patternTexts[String(limit)]
  return known === undefined ? translate('schema.rule.form') : translate(`schema.pattern.${known}`)
}
