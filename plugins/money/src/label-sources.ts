import { type Database, findPage } from '@plinth/database'
import type { Label, LabelSource } from '@plinth/http'
import { AccountRow, JournalRow } from './entities.ts'
import { own } from './permissions.ts'

/** Names that one question answers. */
const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'none' } as const
const numbers = (ids: readonly string[]) => ids.map(Number).filter(Number.isSafeInteger)

const accountLabel = ({ id, ownerType, ownerId, asset }: AccountRow): Label => ({
  id,
  name: `${ownerType} ${ownerId} · ${asset}`,
})
const journalLabel = ({ id, kind }: JournalRow): Label => ({ id, name: kind })

/** Names of accounts and journals of the ledger, by kind. */
export function ledgerLabels(db: Database): Readonly<Record<string, LabelSource>> {
  return {
    'money.account': {
      permission: own.accountView,
      byIds: async (ids) => (await db.fork().find(AccountRow, { id: { $in: numbers(ids) } })).map(accountLabel),
      async search(text) {
        // Along an index: the owner is found by the whole of its id.
        const where = text === '' ? {} : { ownerType: 'user', ownerId: text }
        return (await findPage<AccountRow>(db.fork(), AccountRow, where, window)).items.map(accountLabel)
      },
    },
    'money.journal': {
      permission: own.ledgerView,
      byIds: async (ids) => (await db.fork().find(JournalRow, { id: { $in: numbers(ids) } })).map(journalLabel),
      async search(text) {
        const id = Number(text)
        const where = Number.isSafeInteger(id) && text !== '' ? { id } : {}
        return (await findPage<JournalRow>(db.fork(), JournalRow, where, window)).items.map(journalLabel)
      },
    },
  }
}
