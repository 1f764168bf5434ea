import { id, instant, nullable, Type, text } from '@plinth/http'
import type { AccountView, EntryView } from '@plinth/money'
import type { Static } from 'typebox'
import { userOf } from '../rewards/owner.ts'
import type { Texts } from './texts.ts'

const entryFields = {
  id,
  journalId: id,
  kind: Type.String({ description: 'Business kind, such as `points.check-in`.' }),
  points: Type.Integer({ description: 'Change of the points that can be spent.' }),
  frozenPoints: Type.Integer({ description: 'Change of the points that are held.' }),
  availableAfter: nullable(Type.Integer()),
  frozenAfter: nullable(Type.Integer()),
  displayName: Type.String({ description: 'Name of the kind.' }),
  displayTitle: text,
  displayDescription: text,
  referenceType: nullable(text, { description: 'Kind of the thing that it is about.' }),
  referenceId: nullable(text),
  createdAt: instant,
}

/** One entry as its owner sees it. */
export const ledgerView = Type.Object(entryFields)

/** One entry as operators see it. */
export const adminLedgerView = Type.Object({
  ...entryFields,
  accountId: id,
  asset: text,
  userId: nullable(id, { description: 'Null where the account belongs to no user.' }),
  key: Type.String({ description: 'Idempotency key of the journal.' }),
  actor: nullable(text, { description: 'Who did it, where it was not the product itself.' }),
  reason: nullable(text),
})

export const accountView = Type.Object({
  id,
  userId: nullable(id, { description: 'Null where the account belongs to no user.' }),
  asset: text,
  displayName: Type.String({ description: 'Name of the asset.' }),
  available: Type.Integer(),
  frozen: Type.Integer(),
  status: Type.Enum(['open', 'closed']),
  createdAt: instant,
  updatedAt: instant,
})

export function viewOfEntry(entry: EntryView, texts: Texts, locale: string): Static<typeof ledgerView> {
  const { id, journalId, kind, available, frozen, availableAfter, frozenAfter, reference, reason } = entry
  const short = kind.replace(/^points\./, '').replaceAll('.', '-')
  const name = texts.find(locale, `kinds.${short}`) ?? kind
  const about = reference === null ? undefined : { type: reference.type, id: reference.id }
  return {
    ...{ id, journalId, kind, availableAfter, frozenAfter },
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
  texts: Texts,
  locale: string,
): Static<typeof adminLedgerView> {
  const { accountId, asset, key, actor, reason } = entry
  return { ...viewOfEntry(entry, texts, locale), accountId, asset, userId, key, actor, reason }
}

export function viewOfAccount(account: AccountView, displayName: string): Static<typeof accountView> {
  const { id, asset, available, frozen, status, createdAt, updatedAt } = account
  return {
    ...{ id, asset, displayName, available, frozen, status },
    userId: userOf(account),
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
  }
}
