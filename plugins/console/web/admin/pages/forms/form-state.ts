import { useState } from 'react'
import { useLanguage } from '../../../app/app.tsx'
import { formText } from '../../../field/rule-text.ts'
import { type BrokenSchemaRule, brokenSchemaRules } from '../../../field/schema-rules.ts'
import { CallFailure } from '../../api/call.ts'
import type { AmountUnit, Field } from '../../api/page-types.ts'
import { decimalOf, parseMinorUnits } from '../amounts.ts'
import { initialFieldContent, isEmpty, sentOf, type Typed } from './field-values.ts'
import { changedFollowers, withChange, withDefaults } from './linked-fields.ts'

/** A field with an error, for the list of errors above the form. */
interface WrongField {
  readonly name: string
  readonly title: string
  readonly error: string
}

/** Values of a form with their errors. */
export interface FormState {
  readonly values: Readonly<Record<string, Typed>>
  /** The values before the user changed them. */
  readonly first: Readonly<Record<string, Typed>>
  readonly errors: Readonly<Record<string, string>>
  /** Rules that parts of a list or structure break, by field. */
  readonly rules: Readonly<Record<string, readonly BrokenSchemaRule[]>>
  /** All fields with an error, once the user has tried to send the form. */
  readonly wrong: readonly WrongField[]
  /** First field with an error. It is a new object after each validation, so that the field gets the focus again. */
  readonly sought: { readonly name: string } | undefined
  /** Server error that belongs to no field. */
  readonly failure: CallFailure | undefined
  readonly isChanged: boolean
  /** Returns the content of a field, or a member of the object that the form changes. */
  current(name: string): unknown
  /** True unless another value of the form hides the field. A hidden field is not sent. */
  isShown(name: string): boolean
  change(name: string, value: Typed): void
  /** Shows the error of a field when the user leaves it. */
  leave(name: string): void
  /** Moves the focus to a field. */
  seek(name: string): void
  /** Returns the member of the object that the form changes; `undefined` for a new object. */
  initial(name: string): unknown
  /** Keeps the form from being sent while a field has a problem that its schema does not show, such as an upload. */
  hold(name: string, problem: string | undefined): void
  /**
   * Returns the members to send. If a value is not valid, shows all errors and returns `undefined`.
   * @param leftOut fields that are neither checked nor sent
   */
  body(onlyChanged: boolean, leftOut?: readonly string[]): Record<string, unknown> | undefined
  /** Shows an error of the server. */
  fail(error: Error): void
}

/**
 * Returns the form member to which a server error refers. The error may specify it as `body.name`, `name`,
 * `providers[0].url` or `providers/0/url`.
 */
export function findFieldByPath(names: readonly string[], place: string): string | undefined {
  const path = place.replace(/^body\./, '').replaceAll(/[[/]/g, '.')
  return names.filter((name) => path === name || path.startsWith(`${name}.`)).sort((a, b) => b.length - a.length)[0]
}

const groupOf = (name: string) => name.split('.', 1)[0] as string

/** Converts dotted names to nested members: `config.points` becomes `{ config: { points } }`. */
export function nested(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const made: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(members)) {
    const group = groupOf(name)
    made[group] = name === group ? value : { ...(made[group] as object), [name.slice(group.length + 1)]: value }
  }
  return made
}

/**
 * Returns the unit of a typed member, given the values of the other members. Returns `undefined` if the member is sent
 * as typed.
 */
export type UnitOf = (name: string, values: Readonly<Record<string, unknown>>) => AmountUnit | undefined

export interface FormOptions {
  readonly fields: readonly Field[]
  initial(name: string): unknown
  /** Returns a member of the object that the form changes. */
  known(name: string): unknown
  readonly unitOf: UnitOf
  /** The values before the input that is restored. By default, they are those of the object. */
  readonly first?: Readonly<Record<string, Typed>> | undefined
  /** Input from before a reload or a navigation. */
  readonly restored?: Readonly<Record<string, Typed>> | undefined
}

/** Returns the content of the fields before the user changes it. */
export function firstValues({ fields, initial, unitOf }: Pick<FormOptions, 'fields' | 'initial' | 'unitOf'>) {
  const typed = Object.fromEntries(fields.map((field) => [field.name, initialFieldContent(initial(field.name), field)]))
  const inUnits = fields.flatMap(({ name }) => {
    const unit = unitOf(name, typed)
    return unit === undefined
      ? []
      : [[name, decimalOf(String(typed[name]), unit.scale) ?? String(typed[name])] as const]
  })
  const isNew = (name: string) => initial(name) === undefined
  return withDefaults({ ...typed, ...Object.fromEntries(inUnits) }, fields, isNew)
}

export function useFormState({ fields, initial, known, unitOf, first: given, restored = {} }: FormOptions): FormState {
  const { translate } = useLanguage()
  const [first] = useState(() => given ?? firstValues({ fields, initial, unitOf }))
  const [values, setValues] = useState<Readonly<Record<string, Typed>>>({ ...first, ...restored })
  // Fields that the user has changed, so that they no longer follow another field.
  const [ownNames, setOwnNames] = useState(() => changedFollowers(fields, restored))
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set(Object.keys(restored)))
  const [isTried, setTried] = useState(false)
  // Errors of the server, which apply until the value changes.
  const [refused, setRefused] = useState<Readonly<Record<string, string>>>({})
  const [held, setHeld] = useState<Readonly<Record<string, string>>>({})
  const [failure, setFailure] = useState<CallFailure>()
  const [sought, setSought] = useState<FormState['sought']>()
  const isSame = (name: string) => JSON.stringify(values[name]) === JSON.stringify(first[name])
  const current = (name: string) => (name in values ? values[name] : known(name))
  const isShown = (name: string): boolean => {
    const when = fields.find((field) => field.name === name)?.showWhen ?? {}
    return Object.entries(when).every(([other, wanted]) => {
      return wanted.map(String).includes(String(current(other) ?? ''))
    })
  }

  /** Returns the value to send, and the rules that it breaks. */
  const read = (field: Field): { readonly sent: unknown; readonly rules: readonly BrokenSchemaRule[] } => {
    const { name, required, schema } = field
    const unit = unitOf(name, values)
    const typed = values[name]
    const minor = unit === undefined || isEmpty(typed) ? typed : parseMinorUnits(String(typed), unit.scale)
    if (minor === undefined && unit !== undefined && !isEmpty(typed))
      return { sent: undefined, rules: [{ keyword: 'amount', limit: unit.scale, path: '' }] }
    const sent = sentOf(minor, field)
    const isMissing = required && (sent === undefined || (typeof sent === 'string' && sent.trim() === ''))
    if (isMissing) return { sent, rules: [{ keyword: 'required', limit: name, path: '' }] }
    if (sent === undefined || sent === null) return { sent, rules: [] }
    // The limits of an amount are in minor units, which the user does not see, so only the server checks them.
    return { sent, rules: unit === undefined ? brokenSchemaRules(sent, schema) : [] }
  }
  const isAsked = ({ name }: Field) => isShown(name)
  const found = new Map(fields.filter(isAsked).map((field) => [field.name, read(field)] as const))
  const textOf = (rule: BrokenSchemaRule) =>
    rule.keyword === 'amount'
      ? translate('admin.amount.invalid', { count: Number(rule.limit) })
      : formText(translate, rule)
  // A missing value is not an error while the user is still filling in the form.
  const shownRules = (name: string): readonly BrokenSchemaRule[] =>
    (found.get(name)?.rules ?? []).filter(({ keyword }) => isTried || (left.has(name) && keyword !== 'required'))
  const errors: Record<string, string> = { ...refused, ...held }
  const rules: Record<string, readonly BrokenSchemaRule[]> = {}
  for (const { name } of fields) {
    const broken = shownRules(name)
    const own = broken.find(({ path }) => path === '')
    if (own !== undefined) errors[name] = textOf(own)
    rules[name] = broken.filter(({ path }) => path !== '')
  }
  const wrong = fields.flatMap(({ name, title }): readonly WrongField[] => {
    const [part] = rules[name] ?? []
    const error = errors[name] ?? (part && textOf(part))
    return error === undefined ? [] : [{ name, title, error }]
  })
  return {
    values,
    first,
    errors,
    rules,
    wrong: isTried ? wrong : [],
    sought,
    failure,
    isChanged: fields.some(({ name }) => !isSame(name)),
    current,
    isShown,
    change(name, value) {
      setValues((last) =>
        withChange(last, name, value, fields, (one) => !ownNames.has(one) && initial(one) === undefined),
      )
      setOwnNames((last) => new Set([...last, name]))
      setRefused(({ [name]: _, ...rest }) => rest)
      // The errors of a text field are shown when the user leaves it. The parts of a list or structure are checked on
      // each change.
      if (typeof value === 'object') setLeft((last) => new Set([...last, name]))
    },
    leave(name) {
      if (!isSame(name)) setLeft((last) => (last.has(name) ? last : new Set([...last, name])))
    },
    seek: (name) => setSought({ name }),
    initial,
    hold: (name, problem) =>
      setHeld(({ [name]: _, ...others }) => (problem === undefined ? others : { ...others, [name]: problem })),
    body(onlyChanged, leftOut = []) {
      const body: Record<string, unknown> = {}
      // If one member of a group has changed, all members of the group are sent.
      const changed = new Set(fields.flatMap(({ name }) => (isSame(name) ? [] : [groupOf(name)])))
      let invalid: string | undefined
      for (const field of fields.filter((one) => isAsked(one) && !leftOut.includes(one.name))) {
        const { name, required } = field
        if (name in held) invalid ??= name
        if (onlyChanged && !required && !changed.has(groupOf(name))) continue
        // Empty optional fields are not sent, so that the server uses its defaults.
        if (!onlyChanged && !required && isEmpty(values[name]) && isSame(name)) continue
        const { sent, rules } = found.get(name) ?? { sent: undefined, rules: [] }
        if (rules.length > 0) invalid ??= name
        else if (sent !== undefined) body[name] = sent
      }
      setRefused({})
      setFailure(undefined)
      setTried(invalid !== undefined)
      setSought(invalid === undefined ? undefined : { name: invalid })
      return invalid === undefined ? body : undefined
    },
    fail(error) {
      if (!(error instanceof CallFailure)) throw error
      const names = fields.map(({ name }) => name)
      const known = error.faults.flatMap(({ field, message }) => {
        const name = findFieldByPath(names, field)
        return name === undefined ? [] : [[name, message] as const]
      })
      setRefused(Object.fromEntries(known))
      setTried(known.length > 0)
      setSought(fields.find(({ name }) => known.some(([one]) => one === name)))
      // After the end of a session, the dialog for the sign-in says what to do. The form can then be sent again.
      const isShownElsewhere = error.kind === 'signed-out' || (known.length > 0 && known.length === error.faults.length)
      setFailure(isShownElsewhere ? undefined : error)
    },
  }
}
