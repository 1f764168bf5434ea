import { type Database, erasedName, personalTable } from '@plinth/database'
import { bilingual, type PersonalTable } from '@plinth/kernel'
import {
  AccountRow,
  accountOwner,
  EntryRow,
  entryOwner,
  FindingRow,
  HoldRow,
  JournalRow,
  journalOwner,
  ReconciliationRow,
} from './entities.ts'

const reason = bilingual(
  'Money records must be kept, and the ledger is append-only. The user id no longer identifies a person.',
  '资金记录依法须保留，账本只可追加。用户编号不再指向任何人。',
)

export const ledgerTables = (db: Database): readonly PersonalTable[] => [
  personalTable(db, EntryRow, {
    title: bilingual('Ledger entries', '账本分录'),
    owner: entryOwner,
    erasure: 'kept',
    reason,
  }),
  personalTable(db, HoldRow, { title: bilingual('Holds', '冻结记录'), owner: entryOwner, erasure: 'kept', reason }),
  personalTable(db, JournalRow, {
    title: bilingual('Movements', '资金变动'),
    owner: journalOwner,
    // Omitted, because the actor of a movement may be another user.
    omit: ['actor'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, JournalRow, {
    title: bilingual('Movements that the user made as an operator', '用户作为操作员发起的资金变动'),
    owner: { actor: 'actor' },
    // Omitted, because these fields describe the owner of the account, who may be another user.
    omit: ['idemKey', 'refId', 'reason'],
    erasure: 'kept',
    reason,
  }),
  personalTable(db, FindingRow, {
    title: bilingual('Findings of reconciliations', '对账差异'),
    owner: entryOwner,
    erasure: 'kept',
    reason: bilingual('Removed with their reconciliation.', '随对账记录一并清除。'),
  }),
  personalTable(db, AccountRow, {
    title: bilingual('Accounts', '资金账户'),
    owner: accountOwner,
    erasure: 'kept',
    reason,
  }),
  personalTable(db, ReconciliationRow, {
    title: bilingual('Reconciliations that the user requested', '用户发起的对账'),
    owner: { username: 'requested_by' },
    erasure: 'anonymised',
    set: { requestedBy: erasedName },
    reason: bilingual('A reconciliation proves that the ledger was checked.', '对账记录证明账本已核对。'),
  }),
]
