import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { database } from '@plinth/database'
import { rejectsWith, startForTest, throwsWith } from '@plinth/dev/testing'
import fc from 'fast-check'
import type { Kysely } from 'kysely'
import t, { type Test } from 'tap'
import { openOrm } from '../src/open-orm.ts'
import { IdSource, type IdSourceTables } from '../src/rows/id-source.ts'
import { createDatabase, onEachDatabase, productOn, startOn, type TestDatabase } from './fixtures/databases.ts'

const epoch = Date.UTC(2025, 0, 1)
const minute = 60_000

/** Returns a connection to a migrated database, as another process would open it. */
async function connected(t: Test, db: TestDatabase): Promise<Kysely<IdSourceTables>> {
  await startOn(t, db)
  const { orm, connect } = await openOrm(db.settings, {
    entities: [],
    warn: () => {},
    failures: { failed() {}, succeeded() {} },
  })
  await connect()
  t.teardown(() => orm.close(true))
  return orm.driver.getConnection().getClient() as Kysely<IdSourceTables>
}

function processWithClock(db: Kysely<IdSourceTables>, startMs: number) {
  const clock = { ms: startMs, now: () => clock.ms }
  return { clock, ids: new IdSource(() => db, clock, randomUUID()) }
}

onEachDatabase(
  t,
  'K-015 ids of several processes with wrong clocks are unique, grow, and stay below 2^53',
  async (t, db) => {
    const connection = await connected(t, db)
    const start = Date.now() + 30 * minute
    const action = fc.record({
      process: fc.nat(3),
      advance: fc.constantFrom(0, 0, 1, 500, 4 * minute, 7 * minute, 25 * minute, -3 * minute),
      count: fc.integer({ min: 1, max: 40 }),
      end: fc.constantFrom('none', 'none', 'none', 'none', 'stop', 'crash'),
    })
    const skews = fc.array(fc.integer({ min: -20 * minute, max: 20 * minute }), { minLength: 4, maxLength: 4 })
    const everything = new Set<number>()
    let base = start
    await fc.assert(
      fc.asyncProperty(skews, fc.array(action, { minLength: 5, maxLength: 25 }), async (offsets, actions) => {
        base += 60 * minute
        const processes = offsets.map((offset) => processWithClock(connection, base + offset))
        for (const { ids } of processes) await ids.claim()
        const last = [0, 0, 0, 0]
        for (const { process, advance, count, end } of actions) {
          const current = processes[process]
          assert.ok(current)
          for (const { clock } of processes) clock.ms += Math.max(0, advance)
          current.clock.ms += Math.min(0, advance)
          if (end !== 'none') {
            if (end === 'stop') await current.ids.release()
            processes[process] = processWithClock(connection, current.clock.ms)
            await processes[process]?.ids.claim()
            last[process] = 0
          }
          for (let i = 0; i < count; i++) {
            const id = processes[process]?.ids.next() ?? Number.NaN
            assert.ok(Number.isSafeInteger(id) && id > (last[process] ?? 0), 'grows')
            assert.ok(!everything.has(id), `id ${id} was given out twice`)
            last[process] = id
            everything.add(id)
          }
          // On a slow server, a renewal in the background would not be finished yet, so the test waits for a renewal.
          if (advance > minute) await processes[process]?.ids.renew()
        }
        for (const { ids } of processes) await ids.release()
      }),
      { numRuns: 8 },
    )
    t.ok(everything.size > 500, `${everything.size} ids`)
  },
)

t.test('ids', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const connection = await connected(t, db)
  const rows = () => connection.selectFrom('database_id_node').selectAll().orderBy('node').execute()

  t.test('ids contain time, process and counter', async (t) => {
    const { clock, ids } = processWithClock(connection, Date.UTC(2026, 5, 1))
    await ids.claim()
    const node = (await rows()).at(-1)?.node ?? Number.NaN
    t.equal(ids.next(), ((clock.ms - epoch) * 256 + node) * 16)
    t.equal(ids.next(), ((clock.ms - epoch) * 256 + node) * 16 + 1)
    for (let i = 2; i < 16; i++) ids.next()
    t.equal(ids.next(), ((clock.ms + 1 - epoch) * 256 + node) * 16, 'the time runs ahead after sixteen')
    clock.ms = Date.UTC(2094, 8, 1)
    await ids.release()
    const late = processWithClock(connection, clock.ms)
    await late.ids.claim()
    t.ok(late.ids.next() < 2 ** 53, 'in 2094 they are still below 2^53')
    await late.ids.release()
  })

  t.test('ids continue while the clock exceeds the reserved time, stands still, or is before the epoch', async (t) => {
    const { clock, ids } = processWithClock(connection, Date.UTC(2094, 8, 6))
    await ids.claim()
    let last = ids.next()
    clock.ms += 24 * 60 * minute
    for (let i = 0; i < 1_000; i++) {
      const id = ids.next()
      if (id <= last) t.fail('does not grow')
      last = id
    }
    await ids.release()
    const early = processWithClock(connection, 0)
    await early.ids.claim()
    t.ok(early.ids.next() > 0)
    await early.ids.release()
  })

  t.test('a process that lost its number reserves another one', async (t) => {
    const { clock, ids } = processWithClock(connection, Date.UTC(2094, 8, 6))
    await ids.claim()
    const before = ids.next()
    await connection.updateTable('database_id_node').set({ holder: 'thief' }).execute()
    clock.ms += 9 * minute
    ids.next()
    await ids.claim()
    await new Promise(setImmediate)
    const holders = (await rows()).filter(({ holder }) => holder !== 'thief')
    t.equal(holders.length, 1)
    t.ok(ids.next() > before)
    await ids.release()
  })

  t.test('ids are rejected before a number is reserved, and if no number is left', async (t) => {
    const { ids } = processWithClock(connection, Date.now())
    throwsWith(t, () => ids.next(), { code: 'PLINTH_DATABASE_NO_IDS' })
    const until = Date.UTC(2094, 8, 7) - epoch
    await connection.deleteFrom('database_id_node').execute()
    for (let node = 0; node < 256; node++) {
      await connection.insertInto('database_id_node').values({ node, reserved_until: until, holder: 'x' }).execute()
    }
    await rejectsWith(t, ids.claim(), { code: 'PLINTH_DATABASE_NO_ID_NODE' })
    await connection.updateTable('database_id_node').set({ reserved_until: 5 }).where('node', '=', 77).execute()
    await ids.claim()
    t.equal(Math.floor(ids.next() / 16) % 256, 77, 'the one whose time ran out')
  })
})

onEachDatabase(t, 'processes that start together get different numbers, expired ones and new ones', async (t, db) => {
  const connection = await connected(t, db)
  for (let node = 100; node < 110; node++) {
    await connection.insertInto('database_id_node').values({ node, reserved_until: node, holder: 'lapsed' }).execute()
  }
  const processes = Array.from({ length: 20 }, () => processWithClock(connection, Date.now()))
  await Promise.all(processes.map(({ ids }) => ids.claim()))
  const nodes = new Set(processes.map(({ ids }) => Math.floor(ids.next() / 16) % 256))
  t.equal(nodes.size, 20)
})

onEachDatabase(t, 'a command reserves ids when it writes, and none before', async (t, db) => {
  const { running } = await startOn(t, db)
  await running.stop('migrated')
  const command = await startForTest(productOn(db), { roles: ['cli'] })
  t.teardown(() => command.stop('test ended'))
  const service = command.service(database)
  await service.query('select 1 as one')
  throwsWith(t, () => service.newId(), { code: 'PLINTH_DATABASE_NO_IDS' })
  t.ok((await service.transactional(async () => service.newId())) > 0)
})
