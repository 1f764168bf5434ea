import { defineEntity } from '@mikro-orm/core'
import databasePlugin, {
  column,
  containsFoldedText,
  countRows,
  database,
  findPage,
  firstIdAt,
  foldText,
  insertRows,
  type KeyValue,
  type PageWindow,
  type RowCondition,
  type TimeRange,
} from '@plinth/database'
import { assertMembers, rejectsWith, startForTest } from '@plinth/dev/testing'
import { onEachDatabase, type TestDatabase, watchStatements } from '@plinth/dev/testing/database'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import t, { type Test } from 'tap'

const Record = defineEntity({
  name: 'Record',
  tableName: 'record',
  indexes: [{ properties: ['rank', 'id'] }, { properties: ['endedAt', 'id'] }],
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
        schema.createIndex('record_ended_at_id_index').on('record').columns(['ended_at', 'id']),
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

/** Returns pseudo-random numbers. They are the same in every run. */
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

onEachDatabase(t, 'paging by position returns every row once', async (t, at) => {
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
      // Clients return the position as JSON, so the test converts it to JSON and back.
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
      const requested = await inPages(orderBy, 17, where)
      t.same(await walk(orderBy, 7, where), requested, `${title}: as by pages`)
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

onEachDatabase(t, 'rows are counted up to the requested limit, and an invalid position is rejected', async (t, at) => {
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
  assertMembers(t, await page({}, { count: 'exact', offset: 20_000 }), { total: 10_400, items: [], next: null })
  assertMembers(t, await page({ rank: 7 }, { count: 'exact' }), { total: 0, items: [], next: null })
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
    await rejectsWith(
      t,
      page({}, { orderBy, after: after as readonly KeyValue[] }),
      { code: 'PLINTH_DATABASE_POSITION' },
      JSON.stringify(after),
    )
  }
  await t.rejects(page({}, { orderBy: [{ property: 'nothing', direction: 'asc' }] }), RangeError)
})

/** Inserts records with SQL. `named` contains names by record number. Other records have their number as name. */
async function insertNumbered(db: Db, count: number, named: Readonly<Record<number, string>>) {
  await db.transactional(async () => {
    for (let from = 1; from <= count; from += 400) {
      const ids = Array.from({ length: Math.min(400, count - from + 1) }, (_, index) => from + index)
      await db.execute(
        `insert into record (id, name, rank, ended_at, created_at, is_open) values
         ${ids.map((id) => `(${id}, ?, ${id % 7}, ?, ?, ?)`).join(', ')}`,
        ids.flatMap((id) => [named[id] ?? `no ${id}`, id % 2 === 0 ? null : new Date(id), new Date(0), true]),
      )
    }
  })
}

onEachDatabase(t, 'a search reads a limited number of rows per page and continues after them', async (t, at) => {
  const db = await start(t, at)
  await insertNumbered(db, 6_010, { 3: 'Red wine', 5: 'GRÜNE Äpfel', 2990: '100% red', 3001: 'RED', 6005: 'tired' })
  const page = (text: string, window: Partial<PageWindow>) =>
    findPage(
      db.fork(),
      Record,
      { isOpen: true },
      { ...first, orderBy: [], size: 2, ...window },
      {
        search: { text, properties: ['name'] },
      },
    )
  const ids = ({ items }: Awaited<ReturnType<typeof page>>) => items.map(({ id }) => id)
  const one = await page('red', { count: 'exact' })
  t.same([ids(one), one.next, one.total, one.isCapped], [[3, 2_990], [3_000], 2, true], 'more may follow')
  const two = await page('red', { after: one.next ?? [], count: 'none' })
  t.same([ids(two), two.next, two.total], [[3_001], [6_000], null])
  const three = await page('rEd', { after: two.next ?? [], count: 'none' })
  t.same([ids(three), three.next], [[6_005], null])
  t.same(ids(await page('RED', { size: 1, offset: 1 })), [2_990], 'a page by its number')
  assertMembers(
    t,
    await page('no 7', { size: 1, count: 'capped' }),
    { total: 111, isCapped: true, next: [7] },
    'a full page',
  )
  assertMembers(t, await page('%', {}), { items: [{ id: 2_990 }] }, 'no wild cards')
  t.same(ids(await page('grÜne ÄPfel', {})), [5], 'as it was written, but for A to Z')
  t.match(await page('', { count: 'exact' }), { total: 6_010, isCapped: false }, 'no text, no search')

  const byEnd = [{ property: 'endedAt', direction: 'desc' }] as const
  const seen: number[] = []
  let after: readonly KeyValue[] | undefined
  do {
    const found = await page('red', { orderBy: byEnd, size: 1, after })
    seen.push(...ids(found))
    after = found.next ?? undefined
  } while (after !== undefined && seen.length < 10)
  t.same(seen, [6_005, 3_001, 3, 2_990], 'those without a value come last')
  t.match(await page('tired', { orderBy: byEnd, count: 'exact', size: 1 }), { total: 1, isCapped: true })
})

onEachDatabase(t, 'a page deep in an order with nulls is a single range scan of its index', async (t, at) => {
  const db = await start(t, at)
  await insertNumbered(db, 400, {})
  const { plansOf } = watchStatements(db, 'record')
  for (const direction of ['asc', 'desc'] as const) {
    for (const after of [undefined, [201, 201], [null, 200]]) {
      const orderBy = [{ property: 'endedAt', direction }]
      const plans = await plansOf(async () => {
        const page = await findPage(db.fork(), Record, {}, { offset: 0, count: 'capped', orderBy, size: 3, after })
        t.match(page, { total: 400, isCapped: false })
      })
      t.ok(plans.length > 0)
      for (const { sql, indexes, sorts, scans } of plans) {
        // Only PostgreSQL uses an ordered index for a count, so other databases are skipped.
        if (db.dialect !== 'postgresql' && sql.startsWith('select count')) continue
        // If many rows have no value, the primary key is as good as the index.
        const requested = sql.includes('is null')
          ? /^(?:record_ended_at_id_index|primary)$/
          : /^record_ended_at_id_index$/
        assertMembers(t, indexes, [requested], `${direction} behind ${JSON.stringify(after)}: ${sql}`)
        t.notOk(sorts || scans.length > 0, sql)
      }
    }
  }
})

onEachDatabase(t, 'rows are counted up to a limit without reading the table', async (t, at) => {
  const db = await start(t, at)
  await insertNumbered(db, 400, {})
  const rows = { table: 'record', where: 'rank = ?', parameters: [3], orderBy: 'id' }
  t.same(await countRows(db, rows, 56), { total: 56, isCapped: true })
  t.same(await countRows(db, rows, 57), { total: 57, isCapped: false })
  t.same(await countRows(db, { ...rows, parameters: [7] }), { total: 0, isCapped: false })
  const { plansOf } = watchStatements(db, 'record')
  const expected = [{ indexes: ['record_rank_id_index'], sorts: false, scans: [] }]
  t.match(await plansOf(() => countRows(db, rows)), expected)
})

onEachDatabase(
  t,
  'the position of a page is its first condition, because SQLite seeks by the first bound',
  async (t, at) => {
    const db = await start(t, at)
    await insertNumbered(db, 400, {})
    const { statements } = watchStatements(db, 'record')
    const where = { endedAt: { $gte: new Date(5), $lte: new Date(9e12) } }
    const orderBy = [{ property: 'endedAt', direction: 'desc' }] as const
    await findPage(db.fork(), Record, where, { ...first, orderBy, size: 3, after: [201, 201], count: 'none' })
    const [sql = ''] = statements.keys()
    if (db.dialect === 'sqlite' || db.dialect === 'postgresql') t.match(sql, /where \(.*\) < \(\?, \?\) and .*<= \?/)
    else t.match(sql, /<= \?.*<= \? and \(/)
  },
)

onEachDatabase(t, 'rows of a time range include the start and exclude the end', async (t, at) => {
  const db = await start(t, at)
  const day = 86_400_000
  const begin = Date.UTC(2026, 0, 1)
  const moments = [0, day, 2 * day, 40 * day].map((ms) => begin + ms)
  for (const [rank, ms] of moments.entries())
    await db.fork().insert(Record, {
      id: firstIdAt(ms) + rank,
      name: 'x',
      rank,
      endedAt: null,
      createdAt: new Date(ms),
      isOpen: true,
    })
  const window = { ...first, orderBy: [{ property: 'id', direction: 'desc' }], size: 10 } as const
  const ranks = async (range: TimeRange) => {
    const page = await findPage(db.fork(), Record, {}, { ...window, count: 'exact', range })
    t.equal(page.total, page.items.length)
    return page.items.map(({ rank }) => rank)
  }
  const created = { property: 'createdAt', id: 'id' }
  t.same(await ranks({ ...created, from: begin + day }), [3, 2, 1])
  t.same(await ranks({ ...created, to: begin + day }), [0])
  t.same(await ranks({ ...created, from: begin + day, to: begin + 2 * day }), [1])
  t.same(await ranks({ property: 'createdAt', from: begin + 3 * day }), [3], 'without an id')
  const late = Date.UTC(2100, 0, 1)
  t.same(await ranks({ ...created, from: late }), [], 'after the last possible id')
  t.same(await ranks({ ...created, from: 0, to: late }), [3, 2, 1, 0])
  t.same(await ranks({ property: 'id', from: firstIdAt(begin + 2 * day) }), [3, 2], 'a number')
  const page = await findPage(
    db.fork(),
    Record,
    {},
    { ...window, count: 'exact', size: 1, range: { ...created, to: begin + 2 * day } },
  )
  assertMembers(t, page, { items: [{ rank: 1 }], total: 2 })
  const { statements } = watchStatements(db, 'record')
  await ranks({ ...created, from: begin, to: begin + day })
  const [sql = ''] = statements.keys()
  t.match(sql, /id[`"]? >= \?.*id[`"]? < \?/, 'the ids bound what is read')
  await t.rejects(ranks({ property: 'nothing', from: 1 }), RangeError)
})

onEachDatabase(t, 'conditions select rows by values, limits and emptiness', async (t, at) => {
  const db = await start(t, at)
  await insert(db, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20], numbers(5))
  const rows = await db.fork().findAll(Record)
  const ended = Date.UTC(2024, 0, 3, 0, 0, 0, 123)
  const cases: readonly (readonly [RowCondition, (row: (typeof rows)[number]) => boolean])[] = [
    [{ property: 'rank', operator: 'in', values: [1] }, ({ rank }) => rank === 1],
    [{ property: 'rank', operator: 'in', values: [1, 2, 2 ** 40] }, ({ rank }) => rank === 1 || rank === 2],
    [{ property: 'rank', operator: 'in', values: [2 ** 40] }, () => false],
    [{ property: 'rank', operator: 'gte', values: [1] }, ({ rank }) => rank >= 1],
    [{ property: 'rank', operator: 'gte', values: [2 ** 40] }, () => false],
    [{ property: 'rank', operator: 'gte', values: [-(2 ** 40)] }, () => true],
    [{ property: 'rank', operator: 'lte', values: [0] }, ({ rank }) => rank <= 0],
    [{ property: 'rank', operator: 'lte', values: [2 ** 40] }, () => true],
    [{ property: 'rank', operator: 'lte', values: [-(2 ** 40)] }, () => false],
    [{ property: 'id', operator: 'gte', values: [Number.MAX_SAFE_INTEGER] }, () => false],
    [{ property: 'id', operator: 'in', values: [3, 7, Number.MAX_SAFE_INTEGER] }, ({ id }) => id === 3 || id === 7],
    [{ property: 'isOpen', operator: 'in', values: [true] }, ({ isOpen }) => isOpen],
    [{ property: 'isOpen', operator: 'in', values: [false] }, ({ isOpen }) => !isOpen],
    [{ property: 'name', operator: 'in', values: ["o'clock", '%', "' or 1=1 --"] }, (row) => /['%]/.test(row.name)],
    [{ property: 'endedAt', operator: 'empty', values: [true] }, ({ endedAt }) => endedAt == null],
    [{ property: 'endedAt', operator: 'empty', values: [false] }, ({ endedAt }) => endedAt != null],
    [{ property: 'endedAt', operator: 'gte', values: [ended] }, (row) => (row.endedAt?.getTime() ?? 0) >= ended],
    [{ property: 'endedAt', operator: 'lte', values: [ended] }, (row) => (row.endedAt?.getTime() ?? 2 ** 50) <= ended],
    [{ property: 'endedAt', operator: 'gte', values: [-(2 ** 52)] }, ({ endedAt }) => endedAt != null],
    [{ property: 'endedAt', operator: 'lte', values: [2 ** 52] }, ({ endedAt }) => endedAt != null],
  ]
  const open: RowCondition = { property: 'isOpen', operator: 'in', values: [true] }
  for (const orderBy of [[], [{ property: 'endedAt', direction: 'asc' } as const]]) {
    for (const [condition, isExpected] of cases) {
      const title = `${JSON.stringify(condition)} in order ${JSON.stringify(orderBy)}`
      const expected = rows.filter(isExpected).map(({ id }) => id)
      const page = await findPage(
        db.fork(),
        Record,
        { id: { $lte: 15 } },
        { ...first, orderBy, size: 3, count: 'exact', conditions: [condition] },
      )
      const inScope = expected.filter((id) => id <= 15)
      t.equal(page.total, inScope.length, title)
      t.strictSame(page.isCapped, false, title)
      t.ok(
        page.items.every(({ id }) => inScope.includes(id)),
        `${title}: no row outside of the condition of the list`,
      )
      const both = await findPage(db.fork(), Record, {}, { ...first, orderBy, size: 50, conditions: [condition, open] })
      t.strictSame(
        both.items.map(({ id }) => id).toSorted((a, b) => a - b),
        rows.filter((row) => isExpected(row) && row.isOpen).map(({ id }) => id),
        `${title} and another`,
      )
    }
  }
  const unknown: RowCondition = { property: '__proto__', operator: 'in', values: ['a'] }
  await t.rejects(
    findPage(db.fork(), Record, {}, { ...first, orderBy: [], size: 1, conditions: [unknown] }),
    RangeError,
  )
})

onEachDatabase(t, 'a later page of a limited list skips only matching rows', async (t, at) => {
  const db = await start(t, at)
  const row = { rank: 1, createdAt: new Date(0), isOpen: false }
  const rows = Array.from({ length: 12 }, (_, index) => ({
    ...row,
    id: index + 1,
    name: index % 4 === 0 ? 'sought' : 'other',
    endedAt: index < 6 ? null : new Date(1),
  }))
  await insertRows(db, Record, rows as never)
  const conditions: readonly RowCondition[] = [{ property: 'name', operator: 'in', values: ['sought'] }]
  const search = { text: 'sought', properties: ['name'] }
  for (const direction of ['asc', 'desc'] as const) {
    const window = { ...first, orderBy: [{ property: 'endedAt', direction } as const], size: 1 }
    const found = async (limits: object, options = {}) => {
      const ids: number[] = []
      for (const offset of [0, 1, 2, 3])
        ids.push(
          ...(await findPage(db.fork(), Record, {}, { ...window, ...limits, offset }, options)).items.map(
            ({ id }) => id,
          ),
        )
      return ids
    }
    const expected = direction === 'asc' ? [1, 5, 9] : [9, 5, 1]
    t.strictSame(await found({ conditions }), expected, `conditions ${direction}`)
    t.strictSame(await found({}, { search }), expected, `search ${direction}`)
  }
})

onEachDatabase(t, 'a page with conditions reads a limited number of rows and continues after them', async (t, at) => {
  const db = await start(t, at)
  const ids = Array.from({ length: 25_000 }, (_, index) => index + 1)
  const row = { name: 'a', rank: 1, endedAt: null, createdAt: new Date(0), isOpen: false }
  await insertRows(db, Record, ids.map((id) => ({ ...row, id, isOpen: id === 10 || id === 24_000 })) as never)
  const conditions: readonly RowCondition[] = [{ property: 'isOpen', operator: 'in', values: [true] }]
  const window = { ...first, orderBy: [{ property: 'id', direction: 'desc' } as const], size: 5, conditions }
  const start1 = await findPage(db.fork(), Record, {}, { ...window, count: 'capped' })
  t.match(start1, { total: 1, isCapped: true }, 'the rest was not examined')
  t.strictSame(
    start1.items.map(({ id }) => id),
    [24_000],
  )
  t.not(start1.next, null)
  const rest = await findPage(db.fork(), Record, {}, { ...window, after: start1.next ?? [] })
  t.strictSame(
    rest.items.map(({ id }) => id),
    [10],
  )
  t.equal(rest.next, null)
  const indexed: readonly RowCondition[] = [{ property: 'rank', operator: 'in', values: [1] }]
  const whole = await findPage(db.fork(), Record, {}, { ...window, conditions: indexed, count: 'exact' })
  t.match(whole, { total: 25_000, isCapped: false }, 'one value of an indexed column is not limited')
})

t.test('a search in memory finds the same texts as a search in a table', async (t) => {
  t.ok(containsFoldedText(['Straße 7', 'x'], 'STRASSE'))
  t.ok(containsFoldedText(['ΟΔΟΣ'], 'οδος'))
  t.notOk(containsFoldedText(['abc'], 'd'))
  t.equal(foldText('Ａdmin'), 'admin')
})
