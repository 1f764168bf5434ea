import { selectionOf } from '@plinth/database'
import { count, id, instant, nullable, Type, text, viewOf } from '@plinth/http'
import type { Static } from 'typebox'
import type { AccountView, DebtView, EntryView, HoldView, JournalEntryView, JournalView, LotView } from '../contract.ts'
import { FindingRow, findingRules, ReconciliationRow, reconciliationStates, recoveries } from '../entities.ts'

const minorUnits = Type.Integer({ description: 'Amount in minor units of the asset.' })
const owner = Type.Object({ type: text, id: text })
const when = (ms: number) => new Date(ms).toISOString()

export const accountSchema = Type.Object({
  id,
  owner,
  asset: text,
  role: Type.Enum(['owner', 'system']),
  available: nullable(minorUnits, {
    description: 'Available balance. Null for system accounts, which store no balance.',
  }),
  frozen: nullable(minorUnits, { description: 'Balance on hold. Null for system accounts.' }),
  owed: nullable(minorUnits, {
    description: 'Amount that the owner must return and had already spent. Null for system accounts.',
  }),
  version: nullable(Type.Integer({ minimum: 0 }), {
    description: 'Number of entries of the account. Null for system accounts.',
  }),
  status: Type.Enum(['open', 'closed']),
  createdAt: instant,
  updatedAt: instant,
})

export const accountView = (view: AccountView): Static<typeof accountSchema> => ({
  ...view,
  owner: { ...view.owner },
  createdAt: when(view.createdAt),
  updatedAt: when(view.updatedAt),
})

const journalEntryAnswer = Type.Object({
  id,
  journalId: id,
  accountId: id,
  asset: text,
  sequence: nullable(Type.Integer({ minimum: 1 }), {
    description: 'Number of the entry within its account. Null for system accounts.',
  }),
  available: minorUnits,
  frozen: minorUnits,
  availableAfter: nullable(minorUnits, { description: 'Available balance after the entry. Null for system accounts.' }),
  frozenAfter: nullable(minorUnits, { description: 'Balance on hold after the entry. Null for system accounts.' }),
  kind: text,
  monthKey: Type.Integer({ description: 'Month as a number: year times 100 plus month.' }),
  createdAt: instant,
})
const reference = nullable(Type.Object({ type: text, id: text }))
const notes = {
  key: text,
  reference,
  actor: nullable(text),
  reason: nullable(text),
}
const displayName = Type.String({
  description: 'Displayed name of the type, or its code if no plugin declares a name.',
})
export const entrySchema = Type.Object({ ...journalEntryAnswer.properties, displayName, owner, ...notes })

export type NameOfKind = (kind: string) => string

const journalEntryView = (view: JournalEntryView): Static<typeof journalEntryAnswer> => ({
  ...view,
  createdAt: when(view.createdAt),
})
const noteAnswers = ({ key, reference, actor, reason }: Pick<EntryView, keyof typeof notes>) => ({
  key,
  actor,
  reason,
  reference: reference === null ? null : { ...reference },
})
export const entryView = ({ owner, key, reference, actor, reason, ...view }: EntryView, nameOf: NameOfKind) => ({
  ...journalEntryView(view),
  displayName: nameOf(view.kind),
  owner: { ...owner },
  ...noteAnswers({ key, reference, actor, reason }),
})

export const journalSchema = Type.Object({
  id,
  action: Type.Enum(['credit', 'debit', 'transfer', 'hold', 'capture', 'release', 'reverse']),
  kind: text,
  displayName,
  ...notes,
  parentJournalId: nullable(id),
  occurredAt: instant,
  createdAt: instant,
  entries: Type.Array(journalEntryAnswer),
})

export const journalView = (view: JournalView, nameOf: NameOfKind): Static<typeof journalSchema> => ({
  ...view,
  displayName: nameOf(view.kind),
  ...noteAnswers(view),
  occurredAt: when(view.occurredAt),
  createdAt: when(view.createdAt),
  entries: view.entries.map(journalEntryView),
})

export const holdSchema = Type.Object({
  id,
  accountId: id,
  asset: text,
  amount: minorUnits,
  captured: minorUnits,
  released: minorUnits,
  state: Type.Enum(['open', 'captured', 'released']),
  expiresAt: nullable(instant, { description: 'Time of expiry. Null: never.' }),
  journalId: id,
  createdAt: instant,
})

export const holdView = (view: HoldView): Static<typeof holdSchema> => ({
  ...view,
  expiresAt: view.expiresAt === null ? null : when(view.expiresAt),
  createdAt: when(view.createdAt),
})

export const debtSchema = Type.Object({
  id,
  accountId: id,
  owner,
  asset: text,
  kind: text,
  displayName,
  reference,
  journalId: nullable(id, { description: 'Journal of the deducted part. Null if nothing was available.' }),
  deducted: minorUnits,
  shortfall: Type.Integer({ description: 'Missing part of the amount, in minor units.' }),
  owed: Type.Integer({ description: 'Part of the shortfall that is not paid yet, in minor units.' }),
  recovery: Type.Enum(recoveries, {
    description: '`none`: the amount is only recorded. `future-credits`: units that the account receives pay it.',
  }),
  actor: nullable(text),
  reason: nullable(text),
  createdAt: instant,
})

export const debtView = (view: DebtView, nameOf: NameOfKind): Static<typeof debtSchema> => ({
  ...view,
  owner: { ...view.owner },
  displayName: nameOf(view.kind),
  reference: view.reference === null ? null : { ...view.reference },
  createdAt: when(view.createdAt),
})

const lotAnswer = Type.Object({
  id,
  asset: text,
  sourceType: text,
  sourceKey: text,
  granted: minorUnits,
  remaining: minorUnits,
  held: minorUnits,
  expiresAt: nullable(instant, { description: 'Time of expiry. Null: never.' }),
  createdAt: instant,
})

export const explanationSchema = Type.Object({
  account: accountSchema,
  lots: nullable(Type.Object({ items: Type.Array(lotAnswer), next: nullable(text) }), {
    description:
      'Lots of the balance. Null if the asset does not use lots. Send `next` as `after` to read the next page.',
  }),
  holds: Type.Array(holdSchema, { description: 'Open holds, at most the newest 100.' }),
})

export const lotView = (view: LotView, asset: string): Static<typeof lotAnswer> => ({
  ...view,
  asset,
  expiresAt: view.expiresAt === null ? null : when(view.expiresAt),
  createdAt: when(view.createdAt),
})

export const reconciliationView = viewOf(selectionOf(ReconciliationRow), {
  asset: nullable(text, { description: 'Checked asset. Null: all assets.' }),
  state: Type.Enum(reconciliationStates),
  taskId: nullable(id, { description: 'Id of the asynchronous task, which reports the progress.' }),
  accounts: count,
  journals: count,
  findings: count,
  createdAt: instant,
  finishedAt: nullable(instant),
})

export const findingView = viewOf(selectionOf(FindingRow).omit('reconciliationId'), {
  rule: Type.Enum(findingRules, { description: 'Code of the violated rule, which names the two values that differ.' }),
  expected: Type.Integer({ description: 'Value stored in the account or journal: minor units, or a count.' }),
  found: Type.Integer({ description: 'Value computed from entries, holds or lots.' }),
  createdAt: instant,
})
