import { useState } from 'react'
import { useSpeech } from '../../../app/app.tsx'
import { CallFailure } from '../../api/call.ts'
import type { Field, Unit } from '../../api/page-types.ts'
import { decimalOf, minorOf } from '../amounts.ts'
import { sentOf, type Typed, typedOf } from './field-input.tsx'

/** Values of a form with their errors. */
export interface FormState {
  readonly values: Readonly<Record<string, Typed>>
  readonly errors: Readonly<Record<string, string>>
  /** First field with an error. It is a new object after each validation, so that the field gets the focus again. */
  readonly sought: { readonly name: string } | undefined
  /** Server error that belongs to no field. */
  readonly failure: CallFailure | undefined
  readonly isChanged: boolean
  change(name: string, value: Typed): void
  /** Returns the members to send. If a value is missing, shows the error and returns `undefined`. */
  body(onlyChanged: boolean): Record<string, unknown> | undefined
  /** Shows an error of the server. */
  fail(error: Error): void
}

/**
 * Returns the form member to which a server error refers. The error may specify it as `body.name`, `name`,
 * `providers[0].url` or `providers/0/url`.
 */
export function memberMeant(names: readonly string[], place: string): string | undefined {
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
export type UnitOf = (name: string, values: Readonly<Record<string, unknown>>) => Unit | undefined

export function useFormState(
  fields: readonly Field[],
  initial: (name: string) => unknown,
  unitOf: UnitOf = () => undefined,
  restored: Readonly<Record<string, Typed>> = {},
): FormState {
  const { translate } = useSpeech()
  const [first] = useState(() => {
    const typed = Object.fromEntries(fields.map((field) => [field.name, typedOf(initial(field.name), field)]))
    const inUnits = fields.flatMap(({ name }) => {
      const unit = unitOf(name, typed)
      return unit === undefined
        ? []
        : [[name, decimalOf(String(typed[name]), unit.scale) ?? String(typed[name])] as const]
    })
    return { ...typed, ...Object.fromEntries(inUnits) }
  })
  const [values, setValues] = useState<Readonly<Record<string, Typed>>>({ ...first, ...restored })
  const [errors, setErrors] = useState<Readonly<Record<string, string>>>({})
  const [failure, setFailure] = useState<CallFailure>()
  const [sought, setSought] = useState<FormState['sought']>()
  const show = (found: Readonly<Record<string, string>>) => {
    setErrors(found)
    const wrong = fields.find(({ name }) => name in found)
    setSought(wrong && { name: wrong.name })
  }
  const isSame = (name: string) => JSON.stringify(values[name]) === JSON.stringify(first[name])
  return {
    values,
    errors,
    sought,
    failure,
    isChanged: fields.some(({ name }) => !isSame(name)),
    change(name, value) {
      setValues((last) => ({ ...last, [name]: value }))
      setErrors(({ [name]: _, ...rest }) => rest)
    },
    body(onlyChanged) {
      const found: Record<string, string> = {}
      const body: Record<string, unknown> = {}
      // If one member of a group has changed, all members of the group are sent.
      const changed = new Set(fields.flatMap(({ name }) => (isSame(name) ? [] : [groupOf(name)])))
      for (const field of fields) {
        const { name, required } = field
        if (onlyChanged && !required && !changed.has(groupOf(name))) continue
        // Empty optional fields are omitted, so that the server applies its defaults.
        if (!onlyChanged && !required && values[name] === '' && isSame(name)) continue
        const unit = unitOf(name, values)
        const typed = values[name] ?? ''
        const minor = unit === undefined || typed === '' ? typed : minorOf(String(typed), unit.scale)
        if (minor === undefined) {
          found[name] = translate('admin.amount.invalid', { count: unit?.scale ?? 0 })
          continue
        }
        try {
          const sent = sentOf(minor, field)
          if (required && (sent === undefined || (typeof sent === 'string' && sent.trim() === '')))
            found[name] = translate('admin.required')
          else if (sent !== undefined) body[name] = sent
        } catch {
          found[name] = translate('admin.no-structure')
        }
      }
      show(found)
      setFailure(undefined)
      return Object.keys(found).length === 0 ? body : undefined
    },
    fail(error) {
      if (!(error instanceof CallFailure)) throw error
      const names = fields.map(({ name }) => name)
      const known = error.faults.flatMap(({ field, message }) => {
        const name = memberMeant(names, field)
        return name === undefined ? [] : [[name, message] as const]
      })
      show(Object.fromEntries(known))
      setFailure(known.length > 0 && known.length === error.faults.length ? undefined : error)
    },
  }
}
