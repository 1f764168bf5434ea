import { count, id, instant, nullable, Type, text } from '@plinth/http'
import { localize } from '@plinth/kernel'
import type { AccountView, EntryView, Ledger } from '@plinth/money'
import type { Static } from 'typebox'
import { noExpiryTime, type RuleRow, type SourceRow } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { ruleName } from '../rules/rule-routes.ts'
import { userIdOfAccount } from './account.ts'
import type { Texts } from './texts.ts'

export const sourceStates = ['active', 'exhausted', 'expired', 'reversed'] as const

/** Response with a source of points: `granted` = `remaining` + `held` + `consumed` + `reversed` + `expired`. */
export const sourceView = Type.Object({
  id,
  accountId: id,
  userId: nullable(id, { description: 'Null if the account does not belong to a user.' }),
  asset: text,
  sourceType: text,
  sourceId: text,
  granted: count,
  remaining: count,
  held: count,
  consumed: count,
  reversed: count,
  expired: count,
  expiresAt: nullable(instant, { description: 'Time at which the points expire. Null: never.' }),
  status: Type.Enum(sourceStates),
  journalId: id,
  ruleCode: nullable(text),
  ruleVersion: nullable(Type.Integer({ minimum: 1 })),
  createdAt: instant,
})

export const viewOfSource = ({
  expiresAt,
  userId,
  ruleCode,
  ruleVersion,
  createdAt,
  ...row
}: SourceRow): Static<typeof sourceView> => {
  const { id, accountId, asset, sourceType, sourceId, status, journalId } = row
  const { granted, remaining, held, consumed, reversed, expired } = row
  return {
    id,
    accountId,
    asset,
    sourceType,
    sourceId,
    status,
    journalId,
    granted,
    remaining,
    held,
    consumed,
    reversed,
    expired,
    userId: userId ?? null,
    ruleCode: ruleCode ?? null,
    ruleVersion: ruleVersion ?? null,
    expiresAt: expiresAt === noExpiryTime ? null : new Date(expiresAt).toISOString(),
    createdAt: new Date(createdAt).toISOString(),
  }
}

const entryFields = {
  id,
  journalId: id,
  kind: Type.String({ description: 'Type of the posting, such as `points.check-in`.' }),
  points: Type.Integer({ description: 'Change of the available points.' }),
  frozenPoints: Type.Integer({ description: 'Change of the points on hold.' }),
  availableAfter: nullable(Type.Integer()),
  frozenAfter: nullable(Type.Integer()),
  displayName: Type.String({ description: 'Displayed name of the type.' }),
  displayTitle: text,
  displayDescription: text,
  referenceType: nullable(text, { description: 'Type of the related object.' }),
  referenceId: nullable(text),
  createdAt: instant,
}

export const ledgerView = Type.Object(entryFields)

export const adminLedgerView = Type.Object({
  ...entryFields,
  accountId: id,
  asset: text,
  userId: nullable(id, { description: 'Null if the account does not belong to a user.' }),
  key: Type.String({ description: 'Idempotency key of the journal.' }),
  actor: nullable(text, { description: 'User or program that caused the entry. Null if the product caused it.' }),
  reason: nullable(text),
})

export const accountView = Type.Object({
  id,
  userId: nullable(id, { description: 'Null if the account does not belong to a user.' }),
  asset: text,
  displayName: Type.String({ description: 'Displayed name of the asset.' }),
  available: Type.Integer(),
  frozen: Type.Integer(),
  status: Type.Enum(['open', 'closed']),
  createdAt: instant,
  updatedAt: instant,
})

interface EntryNames {
  readonly texts: Texts
  readonly locale: string
  readonly kinds: Ledger['kinds']
  /** Names of tasks by the code of their rule. */
  readonly tasks: ReadonlyMap<string, string>
}

export async function readEntryNames(
  entries: readonly EntryView[],
  locale: string,
  { texts, ledger, rules }: Pick<Parts, 'texts' | 'ledger' | 'rules'>,
): Promise<EntryNames> {
  const codes = new Set(
    entries.flatMap(({ kind, reference }) => (kind === taskKind && reference ? [reference.type] : [])),
  )
  const found = codes.size === 0 ? new Map<string, RuleRow>() : await rules.current([...codes])
  const tasks = new Map([...found].map(([code, rule]) => [code, ruleName(rule, texts, locale)]))
  return { texts, locale, kinds: ledger.kinds, tasks }
}

const taskKind = 'points.task'

/** Returns the name of an entry. If its kind has no name, the name tells whether points were added or removed. */
function nameOf(
  { kind, available, frozen, reference }: EntryView,
  { texts, locale, kinds, tasks }: EntryNames,
): string {
  const task = kind === taskKind ? tasks.get(reference?.type ?? '') : undefined
  if (task !== undefined) return task
  const contributed = kinds.get(kind)
  if (contributed !== undefined) return localize(contributed, locale)
  const units = available + frozen
  const direction = units === 0 ? 'held' : units > 0 ? 'received' : 'used'
  return texts.find(locale, `kinds.${direction}`) ?? kind
}

export function viewOfEntry(entry: EntryView, names: EntryNames): Static<typeof ledgerView> {
  const { texts, locale } = names
  const { id, journalId, kind, available, frozen, availableAfter, frozenAfter, reference, reason } = entry
  const short = kind.replace(/^points\./, '').replaceAll('.', '-')
  const name = nameOf(entry, names)
  const about = reference === null ? undefined : { type: reference.type, id: reference.id }
  return {
    id,
    journalId,
    kind,
    availableAfter,
    frozenAfter,
    points: available,
    frozenPoints: frozen,
    displayName: name,
    displayTitle: (about && texts.find(locale, `entries.${short}`, { id: about.id })) ?? name,
    displayDescription: reason ?? '',
    referenceType: about?.type ?? null,
    referenceId: about?.id ?? null,
    createdAt: new Date(entry.createdAt).toISOString(),
  }
}

export function adminViewOfEntry(
  entry: EntryView,
  userId: number | null,
  names: EntryNames,
): Static<typeof adminLedgerView> {
  const { accountId, asset, key, actor, reason } = entry
  return { ...viewOfEntry(entry, names), accountId, asset, userId, key, actor, reason }
}

export function viewOfAccount(account: AccountView, displayName: string): Static<typeof accountView> {
  const { id, asset, status, createdAt, updatedAt } = account
  const { available, frozen } = account
  if (available === null || frozen === null) throw new TypeError(`Account ${id} belongs to no user.`)
  return {
    id,
    asset,
    displayName,
    available,
    frozen,
    status,
    userId: userIdOfAccount(account),
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
  }
}
