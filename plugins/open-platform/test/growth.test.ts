/** Tests the query plans of the usage on each database. Each page must use an index, however large the table is. */
import { database } from '@plinth/database'
import { manualClock } from '@plinth/dev/testing'
import { onDatabase, watchStatements } from '@plinth/dev/testing/database'
import t from 'tap'
import { startOpen } from './fixtures/product.ts'

/** One of many months. */
const usage = '/api/v1/admin/open-platform/usage?from=2026-01-01&to=2026-01-30'
const columns = 'id, day, app_id, app_key, method, route, calls, failed, cost'

onDatabase(t, 'C-051 every page of usage is a range scan of its index from its position', async (t, at) => {
  const clock = manualClock(Date.UTC(2026, 0, 30))
  const { adminToken, call, running } = await startOpen(t, at, { clock })
  const admin = await adminToken()
  const db = running.service(database)
  let id = 1_000_000
  for (let day = 0; day < 200; day++) {
    const date = new Date(Date.UTC(2025, 8, 1) + day * 86_400_000).toISOString().slice(0, 10)
    const rows = Array.from({ length: 20 }, (_, index) => [
      ++id,
      date,
      1 + (index >> 1),
      'app',
      'GET',
      `/r${index % 2}`,
      1,
      0,
      1,
    ])
    const places = rows.map(() => '(?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')
    await db.execute(`insert into open_call_day (${columns}) values ${places}`, rows.flat())
  }
  const { plansOf, statements } = watchStatements(db, 'open_call_day')
  const list = async (query: string) => {
    const response = await call('GET', `${usage}&${query}`, admin)
    t.equal(response.code, '200', query)
    return response.data
  }
  for (const [query, index, seek, lines] of [
    ['', 'open_call_day_day_app_id_route_method_unique', '(day,app_id,route,method)<(?,?,?,?)', 600],
    ['&appId=7', 'open_call_day_app_id_day_route_method_index', 'app_id=?', 60],
  ] as const) {
    const keys: unknown[] = []
    let cursor: string | null = ''
    for (; cursor !== null; ) {
      const page = await list(`size=200${query}${cursor === '' ? '' : `&cursor=${encodeURIComponent(cursor)}`}`)
      for (const { day, appId, route, method } of page.items) keys.push(JSON.stringify([day, appId, route, method]))
      cursor = page.next
    }
    t.equal(new Set(keys).size, lines, 'each line once')
    const { next } = await list(`size=40${query}&count=none`)
    for (const work of [
      () => list(`size=40${query}&count=none`),
      () => list(`size=40${query}&count=none&cursor=${encodeURIComponent(next)}`),
    ]) {
      const plans = await plansOf(work)
      t.equal(plans.length, 1)
      for (const { sql, indexes, sorts, scans } of plans) {
        // With few rows, both indexes are equally good for PostgreSQL.
        const others = db.dialect === 'postgresql' ? ['open_call_day_day_app_id_route_method_unique'] : []
        t.ok(indexes.length === 1 && [index, ...others].includes(String(indexes[0])), `${indexes}: ${sql}`)
        t.notOk(sorts || scans.length > 0, sql)
      }
    }
    if (db.dialect !== 'sqlite') continue
    for (const [sql, parameters] of statements) {
      const [line] = await db.query<{ detail: string }>(`explain query plan ${sql}`, parameters)
      t.ok(line?.detail.includes(seek), String(line?.detail))
    }
  }
})
