import type { Condition, FieldDefinition, FormDefaults, FormSchema, InstallForm } from './wire.ts'

/** A violated rule of a form field, with its limit. */
export interface BrokenRule {
  readonly keyword: 'required' | 'confirm' | 'integer' | 'minimum' | 'maximum' | 'maxLength'
  readonly limit?: number
}

/** Rules for the value of a form field. */
interface FieldRules {
  /** `integer` for an integer. Any other word means text. */
  readonly type: string
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
  /** Maximum number of characters. */
  readonly maxLength?: number | undefined
}

/**
 * Returns the first rule that a value violates. The page reports it early. The server makes the final decision and has
 * further rules.
 */
export function brokenRule(value: unknown, rules: FieldRules): BrokenRule | undefined {
  const { type, minimum, maximum, maxLength } = rules
  if (type === 'integer') {
    if (!Number.isInteger(value)) return { keyword: 'integer' }
    if (minimum !== undefined && Number(value) < minimum) return { keyword: 'minimum', limit: minimum }
    if (maximum !== undefined && Number(value) > maximum) return { keyword: 'maximum', limit: maximum }
    return undefined
  }
  // The length is counted as on the server: a character outside of the basic multilingual plane counts as one.
  const isTooLong = typeof value === 'string' && maxLength !== undefined && [...value].length > maxLength
  return isTooLong ? { keyword: 'maxLength', limit: maxLength } : undefined
}

/** Value of a form field: text (also for numbers), or true or false for a switch. */
type Value = string | boolean
/** Values by the path of their field, for example `database.port`. */
export type Values = Readonly<Record<string, Value>>

export interface Field extends FieldDefinition {
  readonly path: string
}

export interface Group {
  readonly code: string
  readonly label: string
  readonly description: string
  readonly fields: readonly Field[]
}

/** Values that the browser proposes for a site without configuration. */
interface Proposals {
  /** Address of the product as the browser sees it, with the context path. */
  readonly url: string
  readonly language: string
  /** Time zone of the browser. */
  readonly timeZone: string
}

export function groupsOf(schema: FormSchema): readonly Group[] {
  return schema.groups.map(({ fields, ...group }) => ({
    ...group,
    fields: fields.map((field) => ({ ...field, path: `${group.code}.${field.name}` })),
  }))
}

export function initialValues(groups: readonly Group[], defaults: FormDefaults, proposals: Proposals): Values {
  const values: Record<string, Value> = {}
  for (const { code, fields } of groups) {
    for (const { name, path, type, candidates } of fields) {
      const value = defaults[code]?.[name] ?? (type === 'boolean' ? false : '')
      values[path] = typeof value === 'boolean' ? value : String(value)
      // A select field without an empty entry shows its first entry. The displayed value must also be the value that is
      // sent.
      if (values[path] === '' && candidates[0] !== undefined) values[path] = candidates[0].value
    }
  }
  // A site without a name was never configured. Its values are defaults that no operator has chosen.
  if (values['site.name'] !== '') return values
  const offers = (path: string, value: string) =>
    groups.some(({ fields }) => fields.some((field) => field.path === path && hasCandidate(field.candidates, value)))
  if (offers('site.defaultLocale', proposals.language)) values['site.defaultLocale'] = proposals.language
  if (offers('site.timeZone', proposals.timeZone)) values['site.timeZone'] = proposals.timeZone
  if (values['site.url'] === '') values['site.url'] = proposals.url
  return values
}

const hasCandidate = (candidates: FieldDefinition['candidates'], value: Value | undefined) =>
  candidates.some((candidate) => candidate.value === value)

/**
 * Returns the values after a change. Dependent values change too, for example the port when the database type changes.
 */
export function withChangedValue(groups: readonly Group[], values: Values, path: string, value: Value): Values {
  const next: Record<string, Value> = { ...values, [path]: value }
  for (const { path: follower, hints } of groups.flatMap(({ fields }) => fields)) {
    if (hints.follows?.field !== path) continue
    // A value that the user has typed is not replaced.
    const proposals = Object.values(hints.follows.values).map(String)
    const current = String(values[follower] ?? '')
    const proposal = hints.follows.values[String(value)]
    if (proposal !== undefined && (current === '' || proposals.includes(current))) next[follower] = String(proposal)
  }
  return next
}

export function isVisible({ hints }: Field, values: Values): boolean {
  return hints.visibleWhen === undefined || holds(hints.visibleWhen, values)
}

/** Returns the source of a value that the installer cannot change, or `undefined`. */
export function fixingPlace({ fixed }: Field, values: Values): string | undefined {
  if (fixed === undefined) return undefined
  return fixed.condition === undefined || holds(fixed.condition, values) ? fixed.place : undefined
}

const holds = ({ field, values: expected }: Condition, values: Values) => expected.includes(values[field] ?? '')

/** Returns the rule that the value of a visible field violates. */
export function hintOf(field: Field, values: Values): BrokenRule | undefined {
  const value = values[field.path] ?? ''
  if (value === '' && field.type !== 'boolean') return field.required ? { keyword: 'required' } : undefined
  if (field.path === 'administrator.confirmPassword' && value !== values['administrator.password']) {
    return { keyword: 'confirm' }
  }
  return brokenRule(sentValue(field, value), { type: field.type, ...field.hints })
}

/** Returns the form in the format that the server accepts: only visible fields, and numbers instead of texts. */
export function formOf(groups: readonly Group[], values: Values): InstallForm {
  const form: Record<string, Record<string, string | number | boolean | null>> = {}
  for (const { code, fields } of groups) {
    const visible = fields.filter((field) => isVisible(field, values))
    form[code] = Object.fromEntries(visible.map((field) => [field.name, sentValue(field, values[field.path] ?? '')]))
  }
  return form
}

function sentValue({ type }: Field, value: Value): string | number | boolean | null {
  if (type !== 'integer' || typeof value === 'boolean') return value
  // Invalid numbers are sent unchanged, so that the server reports them.
  return value === '' ? null : /^-?\d{1,15}$/.test(value.trim()) ? Number(value) : value
}
