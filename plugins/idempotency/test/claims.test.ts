/** Tests that the claim of an idempotency key commits in the transaction of its call. */
import { type Database, database } from '@plinth/database'
import { manualClock, until } from '@plinth/dev/testing'
import { createDatabase, onEachDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { configOn, describeOutcome, newShop, startShop } from './fixtures/product.ts'
import { killed, newTill, type Till, tillPlugin } from './fixtures/till.ts'

async function startTill(t: Test, at: TestDatabase, till: Till, settings: Parameters<typeof startShop>[3] = {}) {
  const shop = await startShop(t, configOn(at), newShop(), { ...settings, plugins: [tillPlugin(till)] })
  const db = shop.running.service(database)
  const sell = async (key: string, { item = 'lamp', path = 'sales' } = {}) => {
    const response = await shop.send(key, { item }, { path: `/api/v1/till/${path}` })
    const replayed = response.headers.get('idempotency-replayed') === 'true' ? ' replayed' : ''
    return `${describeOutcome(response)}${response.code === '200' ? ` ${response.data.text}` : ''}${replayed}`
  }
  return { ...shop, db, sell }
}

async function sqlite(t: Test) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  return at
}

async function countOf(db: Database, table: 'till_sale' | 'idempotency_call'): Promise<number> {
  const [row] = await db.query<{ total: unknown }>(`select count(*) as total from ${table}`)
  return Number(row?.total)
}

onEachDatabase(t, 'a call that was killed after its commit is never executed again', async (t, at) => {
  const till = newTill()
  const one = await startTill(t, at, till)
  const two = await startTill(t, at, newTill())
  t.equal(await one.sell('k-1'), '200 sold')
  t.equal(await two.sell('k-1'), '200 sold replayed')

  till.after = killed
  const outcomes: string[] = []
  for (const [instance, path, item] of [
    [one, 'sales', 'lamp'],
    [two, 'sales', 'lamp'],
    [two, 'sales', 'chair'],
    [one, 'outside', 'lamp'],
  ] as const) {
    outcomes.push(await instance.sell('k-2', { item, path }))
  }
  t.same(outcomes, ['500 undefined', '409 idempotency.answer-not-kept', '422 idempotency.key-reused', '500 undefined'])
  t.equal(await countOf(one.db, 'till_sale'), 3)

  // A resumable route builds the response of a repeated call itself, once.
  const resumed = await two.sell('k-2', { path: 'outside' })
  t.match(resumed, /^200 repeated \d+$/)
  t.equal(await one.sell('k-2', { path: 'outside' }), `${resumed} replayed`)
  t.equal(await one.sell('k-2', { path: 'outside', item: 'chair' }), '422 idempotency.key-reused')
  t.equal(await countOf(one.db, 'till_sale'), 3)

  t.equal(await two.sell('k-3', { path: 'twice' }), '200 sold', 'two transactions of one call share its claim')
  t.equal(await countOf(one.db, 'till_sale'), 5)

  till.inside = killed
  const claims = await countOf(one.db, 'idempotency_call')
  t.equal(await one.sell('k-4'), '500 undefined')
  t.equal(await countOf(one.db, 'idempotency_call'), claims, 'a rollback frees the key')
  t.equal(await two.sell('k-4', { item: 'chair' }), '200 sold', 'also for other content')
  t.equal(await countOf(one.db, 'till_sale'), 6)
})

onEachDatabase(t, 'an instance that lost its lease does not execute the call a second time', async (t, at) => {
  const clock = manualClock()
  const till = newTill()
  const [paused, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  till.before = () => {
    reached.resolve()
    return paused.promise
  }
  const config = { 'platform.idempotency.lease': '5s' }
  const one = await startTill(t, at, till, { config, clock: manualClock(clock.now()) })
  const two = await startTill(t, at, newTill(), { config, clock })
  const late = one.sell('k-1')
  await reached.promise
  t.equal(await two.sell('k-1'), '409 idempotency.in-progress')
  // The instance does not renew its lease, because its clock stands still.
  await clock.advance(5_000)
  await until(async () => (await two.sell('k-1')).startsWith('200 sold'), 'the end of the lease')
  paused.resolve()
  t.equal(await late, '409 idempotency.in-progress')
  t.equal(await one.sell('k-1'), '200 sold replayed')
  t.equal(await countOf(two.db, 'till_sale'), 1)
})

t.test('claims and records of earlier versions count until their retention ends', async (t) => {
  const at = await sqlite(t)
  const clock = manualClock()
  const { db, sell, running } = await startTill(t, at, newTill(), {
    clock,
    config: { 'platform.idempotency.retention': '2m' },
  })
  t.equal(await sell('k-1'), '200 sold')
  await db.execute('delete from idempotency_call')
  t.equal(await sell('k-1'), '200 sold replayed', 'a record of an earlier version has no claim')
  await clock.advance(1_000)
  t.equal(await sell('k-2'), '200 sold')
  await db.execute('delete from shared_store_entry')
  t.equal(await sell('k-2'), '200 sold replayed', 'the claim contains the response')
  const purge = async () => {
    await running.scheduledTasks.find(({ name }) => name === 'idempotency.purge')?.run(new AbortController().signal)
    return countOf(db, 'idempotency_call')
  }
  await clock.advance(119_000)
  t.equal(await purge(), 1)
  t.equal(await sell('k-1'), '200 sold')
  t.equal(await sell('k-2'), '200 sold replayed')
  await clock.advance(1_001)
  t.equal(await purge(), 1)
  await db.execute('delete from shared_store_entry')
  t.equal(await sell('k-2'), '200 sold', 'an expired claim')
  t.equal(await countOf(db, 'till_sale'), 4)
})

t.test('a call without a claim is an error in development and one warning in production', async (t) => {
  const at = await sqlite(t)
  const { sell } = await startTill(t, at, newTill())
  t.equal(await sell('k-1', { path: 'loose' }), '500 undefined')
  t.equal(await sell('k-1', { path: 'loose' }), '200 sold replayed', 'the call was executed')
  const before = process.env['NODE_ENV']
  t.teardown(() => {
    if (before === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = before
  })
  process.env['NODE_ENV'] = 'production'
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const production = await startTill(t, at, newTill(), { logger })
  for (const key of ['k-2', 'k-2', 'k-3']) t.match(await production.sell(key, { path: 'loose' }), '200 sold')
  const warned = lines.map((line) => JSON.parse(line)).filter(({ code }) => code === 'PLINTH_IDEMPOTENCY_NO_CLAIM')
  t.equal(warned.length, 1)
  t.match(warned[0].msg, 'POST /api/v1/till/loose of plugin "till"')
  t.equal(await countOf(production.db, 'till_sale'), 3)
})
