import { Type } from '@plinth/config-schema/typebox'
import { type AuditedPropertyText, bilingual, type LocalizedText, localize, ownProperty } from '@plinth/kernel'
import type { Static } from 'typebox'
import { describedValue } from './common-schemas.ts'

type DescribedValue = Static<typeof describedValue>
type Summary = Readonly<Record<string, unknown>>

/** A fact of an audit entry: its title, and its values before and after the action. */
export const auditedChange = Type.Object({
  title: Type.String({ description: 'Name of the fact in the language of the request.' }),
  subject: describedValue,
  before: Type.Union([describedValue, Type.Null()], { description: 'Null if it was not recorded.' }),
  after: Type.Union([describedValue, Type.Null()]),
})

const yes = bilingual('Yes', '是')
const no = bilingual('No', '否')
const before = 'Before'

/** Returns a code as words: `points-account` becomes `Points account`. */
export const spoken = (code: string) => {
  const words = code.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/[-_.]+/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase()
}

/** Returns a text that is shown as it is. */
export const plainValue = (value: string): DescribedValue => ({
  value,
  name: null,
  labels: null,
  page: null,
  unit: null,
})

interface FactsOfKind {
  readonly facts?: Readonly<Record<string, AuditedPropertyText>>
  /** Facts whose names are ids of objects, for example configuration keys. */
  readonly subjects?: { readonly labels: string; readonly page?: string }
}

/** Returns the facts of an audit summary in words, with their values before and after the action. */
export function auditedChanges(
  summary: Summary,
  { facts = {}, subjects }: FactsOfKind,
  locale: string,
): Static<typeof auditedChange>[] {
  const isBefore = (name: string) => name.endsWith(before) && Object.hasOwn(summary, name.slice(0, -before.length))
  return Object.keys(summary)
    .filter((name) => !isBefore(name) && ownProperty(facts, name)?.hidden !== true)
    .map((name) => {
      const fact = ownProperty(facts, name)
      const title = fact === undefined ? spoken(name) : localize(fact.title, locale)
      const isSubject = fact === undefined && subjects !== undefined
      const shown = (value: unknown) => describedFact(value, fact ?? {}, summary, locale)
      return {
        title,
        subject: isSubject
          ? { ...plainValue(name), labels: subjects.labels, page: subjects.page ?? null }
          : plainValue(title),
        before: shown(ownProperty(summary, `${name}${before}`)),
        after: shown(summary[name]),
      }
    })
}

function describedFact(
  value: unknown,
  { values = {}, labels, page, unitFrom }: Partial<AuditedPropertyText>,
  summary: Summary,
  locale: string,
): DescribedValue | null {
  if (value === null || value === undefined || value === '') return null
  const isRaw = labels !== undefined || page !== undefined || unitFrom !== undefined
  const named: Readonly<Record<string, LocalizedText>> = { true: yes, false: no, ...values }
  const textOf = (one: unknown) => {
    const text = ownProperty(named, String(one))
    if (text !== undefined) return localize(text, locale)
    return typeof one === 'number' && !isRaw ? new Intl.NumberFormat(locale).format(one) : String(one)
  }
  return {
    ...plainValue(''),
    value: Array.isArray(value) ? value.map(textOf) : textOf(value),
    labels: labels ?? null,
    page: page ?? null,
    unit: unitFrom === undefined ? null : String(summary[unitFrom] ?? ''),
  }
}
