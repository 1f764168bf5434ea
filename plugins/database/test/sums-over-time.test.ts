/** Tests counts and sums of rows over time: by id and by milliseconds, by group, in hours and in local days. */
import databasePlugin, { database, firstIdAt, stepsOf, sumsByStep, sumsOverTime } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import { createDayFormatter } from '@plinth/site'
import t from 'tap'

const sales = definePlugin({
  id: 'sales',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { database },
  migrations: [
    defineChangeSet({
      id: '0001-create-sales',
      up: ({ schema, type }) => [
        schema
          .createTable('sale')
          .addColumn('id', type.id, (c) => c.primaryKey())
          .addColumn('sold_at', type.bigint, (c) => c.notNull())
          .addColumn('currency', type.text(8))
          .addColumn('amount', type.bigint, (c) => c.notNull()),
      ],
    }),
  ],
})

const shanghai = createDayFormatter(() => 'Asia/Shanghai')
const at = (text: string) => Date.parse(text)

onEachDatabase(t, 'rows are counted and added up by id and by time, for each group', async (t, { config }) => {
  const running = await startForTest(defineProduct({ name: 'test', plugins: [databasePlugin, sales], config }))
  t.teardown(() => running.stop('test ended'))
  const db = running.service(database)
  const rows: readonly (readonly [time: string, currency: string | null, amount: number])[] = [
    ['2026-03-01T15:59:59.999Z', 'cny', 1],
    // Two amounts whose sum is above 2^53, so a double would round it.
    ['2026-03-01T16:00:00.000Z', 'cny', Number.MAX_SAFE_INTEGER],
    ['2026-03-01T16:14:59.999Z', 'cny', Number.MAX_SAFE_INTEGER - 1],
    ['2026-03-01T16:15:00.000Z', 'usd', 5],
    ['2026-03-03T16:00:00.000Z', null, 7],
  ]
  for (const [index, [time, currency, amount]] of rows.entries())
    await db.execute('insert into sale (id, sold_at, currency, amount) values (?, ?, ?, ?)', [
      firstIdAt(at(time)) + index,
      at(time),
      currency,
      amount,
    ])
  const span = { from: at('2026-03-01T16:00:00Z'), to: at('2026-03-03T16:00:00Z') }
  const sums = { sold: 'count(*)', soldAmount: 'sum(amount)' } as const
  const expected = [
    { at: span.from, by: 'cny', sums: { sold: 2n, soldAmount: 2n * BigInt(Number.MAX_SAFE_INTEGER) - 1n } },
    { at: at('2026-03-01T16:15:00Z'), by: 'usd', sums: { sold: 1n, soldAmount: 5n } },
  ]
  for (const time of [{ id: 'id' }, { ms: 'sold_at' }] as const) {
    const found = await sumsOverTime(db, { table: 'sale', time, span, by: 'currency', sums })
    t.strictSame(
      found.toSorted((a, b) => a.at - b.at),
      expected,
      `the first moment is included, the last is not: ${JSON.stringify(time)}`,
    )
  }
  const where = { sql: 'currency = ?', parameters: ['usd'] }
  t.strictSame(await sumsOverTime(db, { table: 'sale', time: { id: 'id' }, span, where, sums }), [
    { at: at('2026-03-01T16:15:00Z'), by: '', sums: { sold: 1n, soldAmount: 5n } },
  ])
  const late = { from: at('2100-01-01T00:00:00Z'), to: at('2100-01-02T00:00:00Z') }
  t.strictSame(
    await sumsOverTime(db, { table: 'sale', time: { id: 'id' }, span: late, sums }),
    [],
    'later than all ids',
  )
  const all = { from: 0, to: at('2027-01-01T00:00:00Z') }
  const groups = await sumsOverTime(db, { table: 'sale', time: { ms: 'sold_at' }, span: all, by: 'currency', sums })
  t.strictSame(groups.find(({ by }) => by === '')?.sums, { sold: 1n, soldAmount: 7n }, 'null is the empty group')
})

t.test('a long span has local days, each with a number for each group', (t) => {
  const span = { from: at('2026-03-01T16:00:00Z'), to: at('2026-03-04T01:00:00Z') }
  const found = [
    { at: at('2026-03-02T15:45:00Z'), by: 'cny', sums: { sold: 2n } },
    { at: at('2026-03-02T16:00:00Z'), by: 'cny', sums: { sold: 3n } },
    { at: at('2026-03-03T16:00:00Z'), by: 'usd', sums: { sold: 1n } },
  ]
  const steps = sumsByStep(found, ['sold'], { span, dayOf: shanghai, always: ['eur'] })
  t.strictSame(
    steps.filter(({ by }) => by !== 'eur').map(({ at, by, sums }) => `${at} ${by} ${sums.sold}`),
    [
      '2026-03-02 cny 2',
      '2026-03-02 usd 0',
      '2026-03-03 cny 3',
      '2026-03-03 usd 0',
      '2026-03-04 cny 0',
      '2026-03-04 usd 1',
    ],
  )
  t.strictSame(
    steps.filter(({ by }) => by === 'eur').map(({ sums }) => sums.sold),
    [0n, 0n, 0n],
  )
  t.end()
})

t.test('a short span has hours that begin with it', (t) => {
  const span = { from: at('2026-03-01T18:30:00Z'), to: at('2026-03-01T20:40:00Z') }
  const found = [{ at: at('2026-03-01T19:30:00Z'), by: '', sums: { sold: 4n } }]
  t.strictSame(
    sumsByStep(found, ['sold'], { span, dayOf: createDayFormatter(() => 'Asia/Kolkata') }).map(({ at, sums }) => [
      at,
      sums.sold,
    ]),
    [
      ['2026-03-01T18:30:00.000Z', 0n],
      ['2026-03-01T19:30:00.000Z', 4n],
      ['2026-03-01T20:30:00.000Z', 0n],
    ],
  )
  t.end()
})

t.test('days of 23 and 25 hours are one step each', (t) => {
  const berlin = createDayFormatter(() => 'Europe/Berlin')
  for (const [from, to] of [
    ['2026-03-26T23:00:00Z', '2026-03-31T22:00:00Z'],
    ['2026-10-22T22:00:00Z', '2026-10-27T23:00:00Z'],
  ] as const) {
    const steps = stepsOf({ from: at(from), to: at(to) }, berlin)
    t.equal(steps.length, 5)
    for (const step of steps) {
      t.equal(berlin(new Date(step.from)), step.at)
      t.not(berlin(new Date(step.from - 1)), step.at, `${step.at} begins at ${new Date(step.from).toISOString()}`)
    }
  }
  t.end()
})
