import { useSpeech } from '../../../app/app.tsx'
import type { BrokenSchemaRule } from '../../../field/schema-rules.ts'
import type { Say } from '../../../text/texts.ts'
import { plainText } from '../../pages/shown-value.ts'
import classes from './value-text.module.css'

/** What stands for every secret. */
const mask = '••••••'

/** A value in one line. */
function valueText(say: Say, value: unknown, isSecret: boolean): string {
  if (value === undefined || value === null) return say('config.value.none')
  if (isSecret) return mask
  if (typeof value === 'boolean') return say(value ? 'schema.on' : 'schema.off')
  if (value === '' || (Array.isArray(value) && value.length === 0)) return say('config.value.empty')
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.map(plainText).join(', ')
  return plainText(value)
}

interface ValueTextProps {
  readonly value: unknown
  readonly isSecret?: boolean
}

export function ValueText({ value, isSecret = false }: ValueTextProps) {
  const { say } = useSpeech()
  const text = valueText(say, value, isSecret)
  const isQuiet = value === undefined || value === null || value === ''
  return (
    <span className={classes.value} data-quiet={isQuiet || undefined} title={text}>
      {text}
    </span>
  )
}

/** From one value to another. */
export function Change({ before, after, isSecret }: { before: unknown; after: unknown; readonly isSecret: boolean }) {
  const { say } = useSpeech()
  return (
    <span className={classes.change}>
      <del>
        <span className="visually-hidden">{say('config.value.before')} </span>
        <ValueText value={before} isSecret={isSecret} />
      </del>
      <span aria-hidden>→</span>
      <ins>
        <span className="visually-hidden">{say('config.value.after')} </span>
        {isSecret && after !== undefined ? say('config.value.new-secret') : <ValueText value={after} />}
      </ins>
    </span>
  )
}

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

const own = <T extends object>(table: T, name: unknown): T[keyof T] | undefined =>
  Object.hasOwn(table, String(name)) ? table[String(name) as keyof T] : undefined

/**
 * A broken rule in words; `undefined` for one that has none here.
 *
 * @param patternRule what the pattern of the key demands, in words
 */
export function ruleText(say: Say, { rule, limit, path }: BrokenSchemaRule, patternRule?: string): string | undefined {
  if (rule === 'pattern' && patternRule !== undefined) return say('schema.rule.must', { rule: patternRule })
  const key =
    rule === 'type' ? own(typeTexts, limit) : rule === 'format' ? own(formatTexts, limit) : own(ruleTexts, rule)
  if (key === undefined) return undefined
  const text = say(key, { limit: Array.isArray(limit) ? limit.join(', ') : String(limit) })
  return path === '' ? text : say('schema.rule.within', { path, rule: text })
}
