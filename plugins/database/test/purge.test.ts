import { setImmediate as nextTurn } from 'node:timers/promises'
import databasePlugin, { type Database, database, purgeOldRows, type RemovedRows } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { onEachDatabase, watchStatements } from '@plinth/dev/testing/database'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import fc from 'fast-check'
import t from 'tap'
import { nextPurgeSize } from '../src/rows/purge.ts'

const records = definePlugin({
  id: 'records',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { database },
  migrations: [
    defineChangeSet({
      id: '0001-create-records',
      up: ({ schema, type }) => [
        schema
          .createTable('record')
          .addColumn('id', type.id, (c) => c.primaryKey())
          .addColumn('age', type.integer, (c) => c.notNull()),
        schema.createIndex('record_age_index').on('record').column('age'),
        schema
          .createTable('record_part')
          .addColumn('id', type.id, (c) => c.primaryKey())
          .addColumn('record_id', type.id, (c) => c.notNull()),
        schema.createIndex('record_part_record_id_index').on('record_part').column('record_id'),
      ],
    }),
  ],
})

onEachDatabase(t, 'old rows are removed in steps, with turns of the event loop between', async (t, at) => {
  const product = defineProduct({ name: 'test', plugins: [databasePlugin, records], config: at.config })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  const db = running.service(database)
  const rows = 2_000
  const fill = async () => {
    await db.execute('delete from record')
    await db.execute('delete from record_part')
    await db.transactional(async () => {
      for (let start = 1; start <= rows; start += 100) {
        const ids = Array.from({ length: 100 }, (_, index) => start + index)
        await db.execute(`insert into record (id, age) values ${ids.map((id) => `(${id}, ${id})`).join(', ')}`)
        await db.execute(
          `insert into record_part (id, record_id) values ${ids.map((id) => `(${id}, ${id})`).join(', ')}`,
        )
      }
    })
  }
  const count = async (table: string) =>
    Number((await db.query<{ n: unknown }>(`select count(*) as n from ${table}`))[0]?.n)
  const old = {
    table: 'record',
    where: 'age <= ?',
    parameters: [1_500],
    orderBy: 'age',
    dependents: [{ table: 'record_part', column: 'record_id' }],
  }
  const { signal } = new AbortController()

  await fill()
  let turns = 0
  let isOver = false
  const others = (async () => {
    for (; !isOver; turns++) await nextTurn()
  })()
  t.equal(await purgeOldRows(db, old, { signal }), 1_500)
  isOver = true
  await others
  t.ok(turns >= 4, `others had ${turns} turns meanwhile`)
  t.equal(await count('record'), 500, 'what is not old stays')
  t.equal(await count('record_part'), 500, 'with its parts')
  const [youngest] = await db.query<{ age: number }>('select min(age) as age from record')
  t.equal(Number(youngest?.age), 1_501)
  t.equal(await purgeOldRows(db, old, { signal }), 0, 'again there is nothing left')

  await fill()
  let tallied = 0
  const tally = {
    columns: ['age'],
    subtract: async (_: Database, groups: readonly RemovedRows[]) => {
      for (const { rows, values } of groups) tallied += rows * Number(values['age'])
    },
  }
  t.equal(await purgeOldRows(db, { ...old, orderBy: 'age, id', tally }, { signal }), 1_500)
  t.equal(tallied, (1_500 * 1_501) / 2, 'each row that is removed is told of once')

  await fill()
  t.equal(await purgeOldRows(db, old, { signal: AbortSignal.abort() }), 0, 'nothing is begun on the way to a stop')
  const stop = new AbortController()
  setImmediate(() => stop.abort())
  const part = await purgeOldRows(db, { ...old, dependents: [] }, { signal: stop.signal })
  t.ok(part < 1_500, `an abort ends it after a step: ${part}`)
  t.equal(await count('record'), rows - part, 'whose rows are gone')
  t.equal(await purgeOldRows(db, { ...old, dependents: [] }, { signal, budgetMs: 0 }), 0, 'no time, no step')
  t.equal(await purgeOldRows(db, { ...old, dependents: [] }, { signal }), 1_500 - part, 'the next run goes on')
})

t.test('a slow step makes the next one smaller immediately; fast steps make it larger gradually', async (t) => {
  const pace = { targetMs: 25, smallestStep: 100, largestStep: 2_000, maxGrowth: 1.25 }
  t.equal(nextPurgeSize(2_000, 50, pace), 1_000)
  t.equal(nextPurgeSize(1_000, 1, pace), 1_250, 'however quick it was')
  t.equal(nextPurgeSize(50, 1_300, pace), 100, 'a server that stood still is asked for few')
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 2_000 }), fc.double({ min: 0, max: 5_000, noNaN: true }), (size, took) => {
      const next = nextPurgeSize(size, took, pace)
      const isInTime = next === pace.smallestStep || next * (took / size) <= pace.targetMs + took / size
      return isInTime && next >= 100 && next <= 2_000 && next <= Math.ceil(size * 1.25) && Number.isInteger(next)
    }),
  )
  // Simulates a server that needs 0.5 ms per row, then one that needs 0.02 ms.
  let size = 2_000
  for (let step = 0; step < 3; step++) size = nextPurgeSize(size, size * 0.5, pace)
  t.equal(size, 100)
  for (let step = 0; step < 20; step++) size = nextPurgeSize(size, size * 0.02, pace)
  t.equal(size, 1_250)
})

onEachDatabase(t, 'a step reads the rows to remove by an index, however few rows the table has', async (t, at) => {
  const product = defineProduct({ name: 'test', plugins: [databasePlugin, records], config: at.config })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  const db = running.service(database)
  await db.execute('insert into record (id, age) values (1, 1), (2, 2), (3, 3)')
  const { signal } = new AbortController()
  const old = { table: 'record', where: 'age <= ?', parameters: [1], orderBy: 'age' }
  const plans = await watchStatements(db, 'record').plansOf(() => purgeOldRows(db, old, { signal }))
  t.ok(plans.length > 0)
  for (const { sql, indexes, scans } of plans) {
    t.same(scans, [], sql)
    t.ok(indexes.includes('record_age_index'), sql)
  }
})
