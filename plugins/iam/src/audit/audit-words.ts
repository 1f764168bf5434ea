import type { describedValue } from '@plinth/http'
import { type AuditedPropertyText, type AuditTexts, bilingual, type LocalizedText, localize } from '@plinth/kernel'
import type { Static } from 'typebox'

type DescribedValue = Static<typeof describedValue>

/** Names of the audited kinds, by the first word of their actions. */
export type KindsOfAuditedObjects = ReadonlyMap<string, AuditTexts>

const yes = bilingual('Yes', '是')
const no = bilingual('No', '否')

/** Names of verbs that the plugin of an action does not name itself. */
const verbs: Readonly<Record<string, LocalizedText>> = {
  create: bilingual('Create', '新建'),
  update: bilingual('Change', '修改'),
  delete: bilingual('Delete', '删除'),
  enable: bilingual('Enable', '启用'),
  disable: bilingual('Disable', '停用'),
}

/** Returns a code as words: `points-account` becomes `Points account`. */
const spoken = (code: string) => {
  const words = code.replace(/([a-z\d])([A-Z])/g, '$1 $2').replace(/[-_.]+/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase()
}

interface Entry {
  readonly action: string
  readonly targetType: string
  readonly targetId: number | null
  readonly targetName: string | null
  readonly summary: Readonly<Record<string, unknown>>
}

const plain = (value: string): DescribedValue => ({ value, name: null, labels: null, page: null, unit: null })

/** Returns what a record shows in a list: the names of the action and of the kind of its target, and the target. */
export function auditWords(
  { action, targetType, targetId, targetName, summary }: Entry,
  kinds: KindsOfAuditedObjects,
  locale: string,
) {
  const [first = '', ...rest] = action.split('.')
  const verb = rest.join('.')
  const kind = kinds.get(first)
  const words = kind?.actions?.[verb] ?? verbs[verb]
  const titleOf = (name: string) => {
    const title = kinds.get(name)?.title
    return title === undefined ? spoken(name) : localize(title, locale)
  }
  const id = targetId === null ? targetName : String(targetId)
  const { labels, page, nameFrom } = kinds.get(targetType) ?? {}
  const name = targetId === null || nameFrom === undefined ? undefined : summary[nameFrom]
  return {
    actionName: `${titleOf(first)}: ${words === undefined ? spoken(verb) : localize(words, locale)}`,
    targetKind: titleOf(targetType),
    target:
      id === null
        ? null
        : {
            ...plain(id),
            name: typeof name === 'string' ? name : null,
            labels: targetId === null ? null : (labels ?? null),
            page: page ?? null,
          },
  }
}

const before = 'Before'

/** Returns the members of the summary with their titles, and their values before and after the action. */
export function auditedChanges({ action, summary }: Entry, kinds: KindsOfAuditedObjects, locale: string) {
  const { facts = {} } = kinds.get(action.split('.', 1)[0] ?? action) ?? {}
  const names = Object.keys(summary).filter(
    (name) => !(name.endsWith(before) && name.slice(0, -before.length) in summary),
  )
  return names.flatMap((name) => {
    const fact: Partial<AuditedPropertyText> = facts[name] ?? {}
    if (fact.hidden) return []
    const shown = (value: unknown) => describedFact(value, fact, summary, locale)
    return [
      {
        title: fact.title === undefined ? spoken(name) : localize(fact.title, locale),
        before: shown(summary[`${name}${before}`]),
        after: shown(summary[name]),
      },
    ]
  })
}

function describedFact(
  value: unknown,
  { values = {}, labels, page, unitFrom }: Partial<AuditedPropertyText>,
  summary: Entry['summary'],
  locale: string,
): DescribedValue | null {
  if (value === null || value === undefined || value === '') return null
  const isRaw = labels !== undefined || page !== undefined || unitFrom !== undefined
  const textOf = (one: unknown) => {
    const named = values[String(one)]
    if (named !== undefined) return localize(named, locale)
    if (typeof one === 'boolean') return localize(one ? yes : no, locale)
    return typeof one === 'number' && !isRaw ? new Intl.NumberFormat(locale).format(one) : String(one)
  }
  return {
    value: Array.isArray(value) ? value.map(textOf) : textOf(value),
    name: null,
    labels: labels ?? null,
    page: page ?? null,
    unit: unitFrom === undefined ? null : String(summary[unitFrom] ?? ''),
  }
}
