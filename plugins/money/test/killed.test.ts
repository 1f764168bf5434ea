/** Processes that are killed while they post: what was answered stays, what was not is whole or not there. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { onEachDatabase } from '@plinth/database/testing'
import t from 'tap'
import { brokenRules } from './fixtures/invariants.ts'
import { brokenLots, lotTables, TestLots } from './fixtures/lot-book.ts'
import { of, startLedger } from './fixtures/product.ts'

const program = new URL('fixtures/worker-process.ts', import.meta.url)
const postings = 200

onEachDatabase(t, 'K-014 a process is killed while it posts', async (t, at) => {
  const lots = new TestLots()
  const { ledger, db } = await startLedger(t, at, { lots, plugins: [lotTables] })
  lots.db = db
  for (const id of [0, 1, 2]) await ledger.credit({ ...of(id), amount: 1_000, key: `grant:${id}`, kind: 'test.grant' })

  const answered = new Set<string>()
  /** @param killAfter answers, or none: it ends by itself */
  const run = async (round: string, killAfter?: number) => {
    const about = JSON.stringify({ config: at.config, round, postings, callers: 8 })
    const child = fork(program, [about], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
    let count = 0
    child.on('message', (key) => {
      if (key === 'started') return
      answered.add(String(key))
      if (++count === killAfter) child.kill('SIGKILL')
    })
    const [code, signal] = await once(child, 'exit')
    return signal ?? code
  }
  for (const [round, killAfter] of [
    ['a', 3],
    ['b', 40],
    ['c', 97],
  ] as const) {
    t.equal(await run(round, killAfter), 'SIGKILL')
    t.same(await brokenRules(db), [], `every rule holds after the kill of ${round}`)
    t.same(await brokenLots(db), [])
  }
  const lost: string[] = []
  for (const key of answered) {
    const [row] = await db.query('select id from money_journal where idem_key = ?', [key])
    if (row === undefined) lost.push(key)
  }
  t.same(lost, [], 'what was answered is there')

  await t.test('the same postings again are carried out once', async (t) => {
    for (const round of ['a', 'b', 'c']) t.equal(await run(round), 0)
    const rows = await db.query<{ total: unknown }>(
      `select count(*) as total from money_journal where idem_key like '_:%' and idem_key not like '%:capture'`,
    )
    t.equal(Number(rows[0]?.total), 3 * postings)
    t.same(await brokenRules(db), [])
    t.same(await brokenLots(db), [])
  })
})
