/** Runs many random movements of several concurrent callers. Afterwards the data must satisfy every ledger rule. */
import { onDatabase, runOnServer } from '@plinth/dev/testing/database'
import t from 'tap'
import { brokenRules } from './fixtures/invariants.ts'
import { brokenLots, lotTables, TestLots } from './fixtures/lot-repository.ts'
import { startLedger } from './fixtures/product.ts'
import { RandomWork, randomOperations, storedTotals } from './fixtures/random-work.ts'

/** Number of operations of one run, over all callers. */
const operations = 10_000

onDatabase(t, 'K-014 I1 to I9 and I11 hold over random operations, with deadlocks', async (t, at) => {
  if (at.dialect === 'postgresql') {
    // Sets a shorter time, because by default PostgreSQL detects deadlocks only after one second, and this test causes
    // many.
    await runOnServer(
      'postgresql',
      `alter database ${at.config['platform.database.name']} set deadlock_timeout = '20ms'`,
    )
  }
  const lots = new TestLots()
  const pool = { 'platform.database.pool-size': 10 }
  const { ledger, db } = await startLedger(t, at, {
    lots,
    plugins: [lotTables],
    config: at.dialect === 'sqlite' ? {} : pool,
  })
  lots.db = db
  // One of 150 movements gets a simulated deadlock, in addition to the real deadlocks of the database server.
  let movements = 0
  lots.beforeMove = () => {
    if (++movements % 150 === 0) throw Object.assign(new Error('deadlock, injected'), { errno: 1213 })
  }
  const work = new RandomWork(db, ledger)
  const seed = Number(process.env['SEED'] ?? Date.now() % 2 ** 31)
  t.comment(`SEED=${seed}`)
  await work.run(randomOperations(operations, seed), 24, 'run')

  t.same(await brokenRules(db), [])
  t.same(await brokenLots(db), [])
  t.same(work.wrong, [], 'I7 I8 a repetition is replayed, another movement under its key refused')
  t.same(await storedTotals(ledger), work.totals, 'I11 every answer is what happened')
  // On a busy machine, a transaction may lose five times in a row against a transaction that locks the accounts in the
  // opposite order.
  const gaveUp = 'pair PLINTH_DATABASE_TRANSACTION_GAVE_UP'
  t.ok((work.counts.get(gaveUp) ?? 0) <= (work.counts.get('pair done') ?? 0) / 100, 'few pairs give up')
  const responses = [...work.counts.keys()].filter((name) => !name.endsWith(' done'))
  const meant = new Set([
    ...['debit', 'transfer', 'hold', 'lots-refuse'].map((action) => `${action} money.balance-insufficient`),
    'capture money.hold-closed',
    'capture money.hold-unknown',
    'capture money.exceeds-hold',
    'release money.hold-closed',
    'release money.hold-unknown',
    'reverse money.exceeds-journal',
    'transfer money.posting-invalid',
    'mismatch refused',
    'lots-refuse test.lots-refused',
    gaveUp,
  ])
  t.same(
    responses.filter((name) => !meant.has(name)),
    [],
    'nothing else reached a caller',
  )
  for (const action of ['credit', 'debit', 'transfer', 'hold', 'capture', 'release', 'reverse', 'repeat', 'pair']) {
    t.ok((work.counts.get(`${action} done`) ?? 0) > 50, action)
  }
})
