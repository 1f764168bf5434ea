import { defineEntity } from '@mikro-orm/core'
import databasePlugin, { column, database, findPage, type KeyValue, type PageWindow } from '@plinth/database'
import { onEachDatabase, type TestDatabase } from '@plinth/database/testing'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { startForTest } from '@plinth/kernel/testing'
import { defineChangeSet } from '@plinth/migrations'
import t, { type Test } from 'tap'

const Record = defineEntity({
  name: 'Record',
  tableName: 'record',
  properties: {
    id: column.primaryKey(),
    name: column.text(64),
    rank: column.integer(),
    endedAt: column.timestamp().nullable(),
    createdAt: column.timestamp(),
    isOpen: column.boolean(),
  },
})

const records = definePlugin({
  id: 'records',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { database },
  entities: [Record],
  migrations: [
    defineChangeSet({
      id: '0001-create-records',
      up: ({ schema, type }) => [
        schema
          .createTable('record')
          .addColumn('id', type.id, (c) => c.primaryKey())
          .addColumn('name', type.text(64), (c) => c.notNull())
          .addColumn('rank', type.integer, (c) => c.notNull())
          .addColumn('ended_at', type.timestamp)
          .addColumn('created_at', type.timestamp, (c) => c.notNull())
          .addColumn('is_open', type.boolean, (c) => c.notNull()),
        schema.createIndex('record_rank_id_index').on('record').columns(['rank', 'id']),
      ],
    }),
  ],
})

async function start(t: Test, at: TestDatabase) {
  const product = defineProduct({ name: 'test', plugins: [databasePlugin, records], config: at.config })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  return running.service(database)
}

type Db = Awaited<ReturnType<typeof start>>

/** The same numbers in every run. */
function numbers(seed: number) {
  let state = seed
  return (below: number) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

const names = ['a', 'A', 'b', 'ä', 'z', '中', "o'clock", 'a b', '%', '']
const day = 86_400_000

async function insert(db: Db, ids: readonly number[], next: (below: number) => number) {
  const em = db.fork()
  for (const id of ids) {
    em.create(Record, {
      id,
      name: names[next(names.length)] as string,
      rank: next(4) - 1,
      endedAt: next(3) === 0 ? null : new Date(Date.UTC(2024, 0, 1, 0, 0, 0, 123) + next(5) * day),
      createdAt: new Date(Date.UTC(2024, 5, 1) + next(6)),
      isOpen: next(2) === 0,
    })
  }
  await em.flush()
}

const orders: readonly PageWindow['orderBy'][] = [
  [],
  [{ property: 'id', direction: 'desc' }],
  [{ property: 'rank', direction: 'asc' }],
  [{ property: 'name', direction: 'desc' }],
  [{ property: 'endedAt', direction: 'asc' }],
  [{ property: 'endedAt', direction: 'desc' }],
  [
    { property: 'createdAt', direction: 'desc' },
    { property: 'name', direction: 'desc' },
  ],
  [
    { property: 'isOpen', direction: 'desc' },
    { property: 'endedAt', direction: 'asc' },
    { property: 'rank', direction: 'desc' },
    { property: 'id', direction: 'asc' },
  ],
]

const first = { offset: 0, count: 'none' } as const

onEachDatabase(t, 'a walk along positions meets every row once', async (t, at) => {
  const db = await start(t, at)
  const next = numbers(7)
  const ids = Array.from({ length: 120 }, (_, index) => index + 1)
  await insert(db, ids, next)
  const walk = async (orderBy: PageWindow['orderBy'], size: number, where: object, between = async () => {}) => {
    const seen: number[] = []
    let after: readonly KeyValue[] | undefined
    for (let pages = 0; pages < 300; pages++) {
      const page = await findPage(db.fork(), Record, where, { ...first, orderBy, size, after })
      t.ok(page.items.length <= size)
      seen.push(...page.items.map(({ id }) => id))
      if (page.next === null) return seen
      // As it comes back from a caller.
      after = JSON.parse(JSON.stringify(page.next))
      await between()
    }
    throw new Error('the walk has no end')
  }
  const inPages = async (orderBy: PageWindow['orderBy'], size: number, where: object) => {
    const seen: number[] = []
    for (let offset = 0; ; offset += size) {
      const page = await findPage(db.fork(), Record, where, { orderBy, size, offset, count: 'exact' })
      seen.push(...page.items.map(({ id }) => id))
      if (seen.length >= (page.total ?? 0)) return seen
    }
  }

  for (const orderBy of orders) {
    const title = orderBy.map(({ property, direction }) => `${property} ${direction}`).join(', ') || 'no order'
    for (const where of [{}, { isOpen: true }, { $or: [{ rank: 1 }, { endedAt: null }] }]) {
      const wanted = await inPages(orderBy, 17, where)
      t.same(await walk(orderBy, 7, where), wanted, `${title}: as by pages`)
    }
  }
  const ended = await db.query<{ id: unknown }>('select id from record where ended_at is null')
  for (const [direction, part] of [
    ['asc', (all: number[]) => all.slice(0, ended.length)],
    ['desc', (all: number[]) => all.slice(-ended.length)],
  ] as const) {
    const all = await walk([{ property: 'endedAt', direction }], 50, {})
    t.same(new Set(part(all)), new Set(ended.map(({ id }) => Number(id))), `${direction}: null is the smallest`)
  }

  let fresh = 1_000
  for (const orderBy of orders) {
    const stay = new Set(
      (await db.query<{ id: unknown }>('select id from record')).map(({ id }) => Number(id)).filter((id) => id % 3 > 0),
    )
    const seen = await walk(orderBy, 5, {}, async () => {
      await insert(db, [++fresh], next)
      const leaving = 3 * (1 + next(400))
      await db.execute('delete from record where id = ?', [leaving])
    })
    t.equal(new Set(seen).size, seen.length, 'no row twice while rows come and go')
    t.same(
      [...stay].filter((id) => !seen.includes(id)),
      [],
      'and none that stays is left out',
    )
  }
})

onEachDatabase(t, 'rows are counted as far as asked, and a foreign position is refused', async (t, at) => {
  const db = await start(t, at)
  await db.transactional(async () => {
    for (let from = 1; from <= 10_400; from += 400) {
      const rows = Array.from({ length: 400 }, (_, index) => `(${from + index}, 'x', ${(from + index) % 2}, ?, ?)`)
      await db.execute(
        `insert into record (id, name, rank, created_at, is_open) values ${rows.join(', ')}`,
        rows.flatMap(() => [new Date(0), true]),
      )
    }
  })
  const page = (where: object, window: Partial<PageWindow>) =>
    findPage(db.fork(), Record, where, { ...first, orderBy: [], size: 10, ...window })
  t.match(await page({}, { count: 'exact' }), { total: 10_400, isCapped: false })
  t.match(await page({}, { count: 'capped' }), { total: 10_000, isCapped: true })
  t.match(await page({ rank: 1 }, { count: 'capped' }), { total: 5_200, isCapped: false })
  t.match(await page({ rank: 1 }, { count: 'none' }), { total: null, isCapped: false })
  t.match(await page({ rank: 1 }, { count: 'exact', after: [9_000] }), { total: 5_200 }, 'all, not those that follow')
  t.match(await page({}, { count: 'exact', offset: 10_395 }), { total: 10_400, next: null })
  t.match(await page({}, { count: 'exact', offset: 20_000 }), { total: 10_400, items: [], next: null })
  t.match(await page({ rank: 7 }, { count: 'exact' }), { total: 0, items: [], next: null })
  t.match(await page({}, { offset: 10_390 }), { next: null }, 'the last full page has no next')

  const byEnd = [{ property: 'endedAt', direction: 'asc' }] as const
  const byName = [{ property: 'name', direction: 'asc' }] as const
  const byRank = [{ property: 'rank', direction: 'asc' }] as const
  const wrong: readonly (readonly [PageWindow['orderBy'], readonly unknown[]])[] = [
    [[], []],
    [[], [1, 2]],
    [[], ['1']],
    [[], [null]],
    [[], [1.5]],
    [[], [2 ** 60]],
    [[], [{ $gt: 0 }]],
    [[], [[1]]],
    [byEnd, ['2024-01-01', 1]],
    [byEnd, [8_640_000_000_000_001, 1]],
    [byEnd, [-1, 1]],
    [byName, [1, 1]],
    [byName, ['a\0b', 1]],
    [byRank, [2 ** 40, 1]],
    [byRank, [true, 1]],
  ]
  for (const [orderBy, after] of wrong) {
    await t.rejects(
      page({}, { orderBy, after: after as readonly KeyValue[] }),
      { code: 'PLINTH_DATABASE_POSITION' },
      JSON.stringify(after),
    )
  }
  await t.rejects(page({}, { orderBy: [{ property: 'nothing', direction: 'asc' }] }), RangeError)
})
