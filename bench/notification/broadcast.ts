/**
 * One message to a million inboxes: a row for each user (`inbox.add`, the only way in earlier releases) and one row for
 * all users (`inbox.addForAll`). Then measures requests of a reader with 200,000 items and 1,000 messages to all users.
 * `node bench/notification/broadcast.ts [--readers 1000000] [--database postgresql]`.
 */
import { parseArgs } from 'node:util'
import databasePlugin, { type Database, database, insertRows } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import type { TestDialect } from '@plinth/dev/testing/database'
import events from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18n from '@plinth/i18n'
import iam, { accounts } from '@plinth/iam'
import inboxPlugin, { inbox } from '@plinth/inbox'
import { defineProduct } from '@plinth/kernel'
import { type OpenDatabase, onDatabases, settingsOf, settingsText } from '../databases.ts'
import { sectionText } from '../kernel/report.ts'
import { median, quantile } from '../kernel/statistics.ts'

const { values } = parseArgs({
  options: {
    readers: { type: 'string', default: '1000000' },
    items: { type: 'string', default: '200000' },
    broadcasts: { type: 'string', default: '1000' },
    database: { type: 'string', multiple: true, default: ['postgresql'] },
  },
})
const [readers, items, broadcasts] = [values.readers, values.items, values.broadcasts].map(Number) as [
  number,
  number,
  number,
]
const origin = { name: 'bench', clientIp: '127.0.0.1', traceId: 'bench', userAgent: 'bench' }
const password = 'correct horse battery staple'
const text = { subject: 'Scheduled maintenance on Saturday', content: 'Please save your work before. '.repeat(10) }
const tables = ['content', 'item', 'mark'].map((name) => `notification_inbox_${name}`)

async function fillUsers(db: Database): Promise<void> {
  const columns = ['username', 'username_key', 'email_folded', 'enabled', 'version', 'created_at', 'updated_at']
  const now = new Date()
  for (let from = 1; from <= readers; from += 1_000) {
    const rows = Array.from({ length: Math.min(1_000, readers - from + 1) }, (_, index) => from + index)
    const list = rows.map(() => `(?, ${columns.map(() => '?').join(', ')})`).join(', ')
    const row = (id: number) => [id, `reader-${id}`, `reader-${id}`, '', true, 1, now, now]
    await db.execute(`insert into iam_user (id, ${columns.join(', ')}) values ${list}`, rows.flatMap(row))
  }
}

async function countRows(db: Database): Promise<number> {
  let rows = 0
  for (const table of tables) {
    const [found] = await db.query<{ total: unknown }>(`select count(*) as total from ${table}`)
    rows += Number(found?.total)
  }
  return rows
}

/** Returns the size of the tables with their indexes in MB. */
async function sizeOf(db: Database): Promise<number> {
  if (db.dialect !== 'postgresql') return Number.NaN
  const sizes = tables.map((table) => `pg_total_relation_size('${table}')`).join(' + ')
  const [row] = await db.query<{ bytes: unknown }>(`select ${sizes} as bytes`)
  return Number(row?.bytes) / 1e6
}

async function measure(dialect: TestDialect, open: OpenDatabase): Promise<void> {
  const at = await open()
  const running = await startForTest(
    defineProduct({
      name: 'broadcast',
      plugins: [databasePlugin, httpPlugin, i18n, iam, events, inboxPlugin],
      config: { ...at.config, 'platform.http.port': 0 },
    }),
  )
  const db = running.service(database)
  const service = running.service(inbox)
  await fillUsers(db)
  const reader = await running.service(accounts).create({ username: 'reader', password }, origin)

  const userIds = Array.from({ length: readers }, (_, index) => index + 1)
  const ways = {
    'inbox.add': (messageId: string) => service.add({ ...text, messageId, userIds }),
    'inbox.addForAll': (messageId: string) => service.addForAll({ ...text, messageId }),
  }
  const written = []
  for (const [way, send] of Object.entries(ways)) {
    for (const table of tables) await db.execute(`delete from ${table}`)
    if (db.dialect === 'postgresql') for (const table of tables) await db.execute(`vacuum full ${table}`)
    const bytes = await sizeOf(db)
    const start = performance.now()
    await send(way)
    const seconds = (performance.now() - start) / 1_000
    const added = (await sizeOf(db)) - bytes
    written.push([way, seconds.toFixed(3), String(await countRows(db)), added.toFixed(2)])
  }

  for (const table of tables) await db.execute(`delete from ${table}`)
  for (let index = 0; index < broadcasts; index++) {
    await service.addForAll({
      ...text,
      messageId: `broadcast-${index}`,
      attributes: { module: index % 2 ? 'mall' : 'forum' },
    })
  }
  const { ItemRow } = await import('../../plugins/inbox/src/entities.ts')
  for (let from = 0; from < items; from += 1_000) {
    const rows = Array.from({ length: 1_000 }, (_, index) => {
      const module = index % 2 ? 'mall' : 'forum'
      const unread = index % 400 === 0
      const userId = reader.id
      return { id: db.newId(), contentId: from + index + 1, userId, ownerId: userId, module, unread, readAt: null }
    })
    await insertRows(db, ItemRow, rows)
  }
  for (const table of tables) await db.execute(dialect === 'postgresql' ? `analyze ${table}` : 'select 1')

  const server = running.service(http)
  const login = await server.inject({
    method: 'POST',
    url: '/api/v1/auth/login',
    payload: { username: 'reader', password },
  })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
  const path = '/api/v1/notifications/inbox'
  const time = async (query: string) => {
    const times: number[] = []
    for (let round = 0; round < 60; round++) {
      const start = performance.now()
      const response = await server.inject({ method: 'GET', url: `${path}${query}`, headers })
      if (response.statusCode !== 200 || response.json().code !== '200') throw new Error(response.body)
      // The first requests are the warm-up.
      if (round >= 10) times.push(performance.now() - start)
    }
    return [median(times).toFixed(2), quantile(times, 0.95).toFixed(2)]
  }
  const queries = [
    '?count=none',
    '?count=none&unreadOnly=true',
    '?count=none&module=mall',
    '/unread-count',
    '?page=40&count=none',
  ]
  const read: string[][] = []
  for (const query of queries) read.push([`GET ${query}`, ...(await time(query))])
  const put = async () => server.inject({ method: 'PUT', url: `${path}/read-all`, headers })
  const start = performance.now()
  const all = (await put()).json().data.affected
  read.push([`PUT /read-all (${all} items)`, (performance.now() - start).toFixed(0), ''])
  for (const query of queries.slice(0, 2)) read.push([`GET ${query}, all read`, ...(await time(query))])
  read.push(['GET /unread-count, all read', ...(await time('/unread-count'))])
  const settings = settingsText(await settingsOf(db, dialect))
  await running.stop('done')
  const notes = [`${readers} users; the reader has ${items} items and sees ${broadcasts} messages to all users`]
  const report = [
    [['way', 'seconds', 'rows', 'MB'], ...written],
    [['request', 'median ms', '95 % ms'], ...read],
  ]
  console.log(
    sectionText({ title: `One message to ${readers} inboxes: ${dialect}`, settings, tables: report, notes, bars: [] }),
  )
}

await onDatabases(values.database, measure)
