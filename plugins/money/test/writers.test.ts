/** Tests many callers that write to one account at the same time: other requests still get connections. */
import type { Database } from '@plinth/database'
import { onEachServer } from '@plinth/dev/testing/database'
import type { Ledger } from '@plinth/money'
import t, { type Test } from 'tap'
import { brokenRules } from './fixtures/invariants.ts'
import { asset, of, startLedger, userOwner } from './fixtures/product.ts'

const kind = 'test.posting'
const callers = 64

interface Writer {
  /** Runs before the account is locked. @returns the id that `write` uses */
  readonly prepare?: (ledger: Ledger, key: string) => Promise<number>
  readonly write: (ledger: Ledger, key: string, id: number, db: Database) => Promise<unknown>
  /** Change of the available balance by one call. */
  readonly units: number
}

const hold = async (ledger: Ledger, key: string) =>
  (await ledger.hold({ ...of('busy'), amount: 2, key: `${key}:hold`, kind })).holdId
const debit = async (ledger: Ledger, key: string) =>
  (await ledger.debit({ ...of('busy'), amount: 2, key: `${key}:debit`, kind })).journalId
const posting = { ...of('busy'), amount: 1, kind }
const accountOf = async (ledger: Ledger) => (await ledger.find(of('busy')))?.id ?? 0

const writers: Readonly<Record<string, Writer>> = {
  credit: { write: (ledger, key) => ledger.credit({ ...posting, key }), units: 1 },
  'credit in a request with an idempotency key': {
    // The transactions of such a request begin with a statement of their own.
    write: (ledger, key, _, db) =>
      db.withFirstStatement(
        async () => {},
        () => ledger.credit({ ...posting, key }),
      ),
    units: 1,
  },
  debit: { write: (ledger, key) => ledger.debit({ ...posting, key }), units: -1 },
  hold: { write: (ledger, key) => ledger.hold({ ...posting, key }), units: -1 },
  'transfer to others': {
    write: (ledger, key) =>
      ledger.transfer({ from: userOwner('busy'), to: userOwner('other'), asset, amount: 1, key, kind }),
    units: -1,
  },
  'transfer from others': {
    write: (ledger, key) =>
      ledger.transfer({ from: userOwner('other'), to: userOwner('busy'), asset, amount: 1, key, kind }),
    units: 1,
  },
  capture: {
    prepare: hold,
    write: (ledger, key, holdId) => ledger.capture({ holdId, amount: 1, key, kind }),
    units: 1,
  },
  release: { prepare: hold, write: (ledger, key, holdId) => ledger.release({ holdId, key }), units: 2 },
  reverse: { prepare: debit, write: (ledger, key, journalId) => ledger.reverse({ journalId, key }), units: 2 },
  batch: {
    prepare: accountOf,
    write: (ledger, key, accountId) =>
      ledger.batch({
        asset,
        kind,
        direction: 'debit',
        accountIds: [accountId],
        postings: async () => [{ accountId, amount: 1, key }],
      }),
    units: -1,
  },
  post: {
    write: (ledger, key) =>
      ledger.post([
        { action: 'credit', ...of('other'), amount: 1, key: `${key}:other`, kind },
        { action: 'credit', ...posting, key },
      ]),
    units: 1,
  },
  transactional: {
    write: (ledger, key) => ledger.transactional([of('busy')], () => ledger.credit({ ...posting, key })),
    units: 1,
  },
}

onEachServer(t, 'many writers of one account leave connections for others', async (t, at) => {
  const { ledger, db } = await startLedger(t, at, { config: { 'platform.database.pool-size': 10 } })
  for (const id of ['busy', 'other']) await ledger.credit({ ...of(id), amount: 10_000, key: `grant:${id}`, kind })
  const accountId = await accountOf(ledger)
  const available = async () => (await ledger.balance(of('busy'))).available

  const checkWriter = async (t: Test, name: string, { prepare, write, units }: Writer) => {
    const keys = Array.from({ length: callers }, (_, index) => `${name}:${index}`)
    const ids: number[] = []
    for (const key of keys) ids.push((await prepare?.(ledger, key)) ?? 0)
    const before = await available()
    const isLocked = Promise.withResolvers<void>()
    const isDone = Promise.withResolvers<void>()
    const holder = db.statements(async () => {
      await db.query('select id from money_account where id = ? for update', [accountId])
      isLocked.resolve()
      await isDone.promise
    })
    await isLocked.promise
    const order: string[] = []
    const call = async (key: string, index: number) => {
      await write(ledger, key, ids[index] ?? 0, db)
      order.push('write')
    }
    const calls = keys.map(call)
    try {
      for (let round = 0; round < 3; round++) {
        await Promise.all(Array.from({ length: 10 }, () => db.query('select id from money_journal limit 1')))
        order.push('read')
      }
    } finally {
      isDone.resolve()
      await holder
    }
    await Promise.all(calls)
    t.same(order, [...Array(3).fill('read'), ...Array(callers).fill('write')], 'the readers do not wait')
    t.equal((await available()) - before, callers * units)
  }

  for (const [name, writer] of Object.entries(writers)) {
    await t.test(name, (t) => checkWriter(t, name, writer))
  }
  t.same(await brokenRules(db), [])
})
