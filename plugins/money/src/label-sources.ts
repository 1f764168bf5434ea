import { createStaticLabelSource, type Label, type LabelSource } from '@plinth/admin'
import { type Database, findPage } from '@plinth/database'
import { callerRows } from '@plinth/iam'
import { bilingual, type LocalizedText, localize } from '@plinth/kernel'
import type { Ledger } from './contract.ts'
import { permissionCodes } from './declarations.ts'
import { AccountRow, accountOwner, JournalRow, journalOwner } from './entities.ts'
import { systemOwner } from './ledger/checks.ts'

/** A search returns the newest 20 rows. */
const window = { orderBy: [{ property: 'id', direction: 'desc' }], size: 20, offset: 0, count: 'none' } as const
const numbers = (ids: readonly string[]) => ids.map(Number).filter(Number.isSafeInteger)

const ownerTypes: Readonly<Record<string, LocalizedText>> = {
  system: bilingual('System account', '系统账户'),
}
const systemAccounts: Readonly<Record<string, LocalizedText>> = {
  issued: bilingual('issued', '发放'),
  redeemed: bilingual('redeemed', '使用'),
  expired: bilingual('expired', '过期'),
  forfeited: bilingual('forfeited', '作废'),
}

export function ledgerLabels(
  db: Database,
  { assets, kinds }: Pick<Ledger, 'assets' | 'kinds'>,
): Readonly<Record<string, LabelSource>> {
  const named = (text: LocalizedText | undefined, code: string, locale: string) =>
    text === undefined ? code : localize(text, locale)
  const accountLabel = ({ id, ownerType, ownerId, asset }: AccountRow, locale: string): Label => {
    const name = named(assets.get(asset)?.displayName, asset, locale)
    if (ownerType === 'user') return { id, name, owner: { labels: 'iam.user', id: ownerId } }
    const type = named(ownerTypes[ownerType], ownerType, locale)
    const own = ownerType === systemOwner ? named(systemAccounts[ownerId], ownerId, locale) : ownerId
    return { id, name: `${type} ${own} · ${name}` }
  }
  const journalLabel = ({ id, kind }: JournalRow, locale: string): Label => ({
    id,
    name: named(kinds.get(kind), kind, locale),
  })
  return {
    'money.asset': createStaticLabelSource((locale) =>
      [...assets].map(([asset, { displayName }]) => ({ id: asset, name: localize(displayName, locale) })),
    ),
    'money.account': {
      permission: permissionCodes.accountView,
      scope: 'caller',
      async byIds(ids, request) {
        const where = { $and: [{ id: { $in: numbers(ids) } }, callerRows(request, accountOwner)] }
        return (await db.fork().find(AccountRow, where)).map((row) => accountLabel(row, request.locale))
      },
      async search(text, request) {
        // A search finds an owner only by the complete user id, because an index cannot find a part of it.
        const owner = text === '' ? {} : { ownerType: 'user', ownerId: text }
        const where = { $and: [owner, callerRows(request, accountOwner)] }
        return (await findPage<AccountRow>(db.fork(), AccountRow, where, window)).items.map((row) =>
          accountLabel(row, request.locale),
        )
      },
    },
    'money.journal': {
      permission: permissionCodes.ledgerView,
      scope: 'caller',
      async byIds(ids, request) {
        const where = { $and: [{ id: { $in: numbers(ids) } }, callerRows(request, journalOwner)] }
        return (await db.fork().find(JournalRow, where)).map((row) => journalLabel(row, request.locale))
      },
      async search(text, request) {
        const id = Number(text)
        const expected = Number.isSafeInteger(id) && text !== '' ? { id } : {}
        const where = { $and: [expected, callerRows(request, journalOwner)] }
        return (await findPage<JournalRow>(db.fork(), JournalRow, where, window)).items.map((row) =>
          journalLabel(row, request.locale),
        )
      },
    },
  }
}
