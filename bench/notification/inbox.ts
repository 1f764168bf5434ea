/**
 * Compares one message to 100,000 inboxes through the service with hand-written inserts in the same run: inserts of the
 * same rows into the same table, and of rows that contain the text themselves. `node bench/notification/inbox.ts
 * [--rounds 5] [--recipients 100000] [--database sqlite --database postgresql]`.
 */
import { parseArgs } from 'node:util'
import databasePlugin, { type Database, database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import type { TestDialect } from '@plinth/dev/testing/database'
import events from '@plinth/events'
import http from '@plinth/http'
import i18n from '@plinth/i18n'
import iam from '@plinth/iam'
import inboxPlugin, { type Inbox, inbox } from '@plinth/inbox'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import { type OpenDatabase, onDatabases, settingsOf, settingsText } from '../databases.ts'
import { type Bar, barsText, sectionText } from '../kernel/report.ts'
import { inverse, ratio, rotated, type Spread, spread } from '../kernel/statistics.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    recipients: { type: 'string', default: '100000' },
    database: { type: 'string', multiple: true, default: ['sqlite', 'postgresql'] },
  },
})
const rounds = Number(values.rounds)
const recipients = Number(values.recipients)
const together = 1_000
const userIds = Array.from({ length: recipients }, (_, index) => index + 1)
const message = {
  subject: 'Scheduled maintenance on Saturday',
  content: `We move to new machines on Saturday between 22:00 and 23:30 UTC. ${'Please save your work before. '.repeat(8)}`,
}

const whole = 'hand_written_inbox'
/**
 * Plugin with a table whose rows contain the whole message. It has the same indexes as the inbox items of the product.
 */
const handWritten = definePlugin({
  id: 'bench.hand-written',
  version: '1.0.0',
  kernel: '^1.0.0',
  migrations: [
    defineChangeSet({
      id: '0001-create',
      up: ({ schema, type }) => [
        schema
          .createTable(whole)
          .addColumn('id', type.id, (c) => c.primaryKey())
          .addColumn('content_id', type.id, (c) => c.notNull())
          .addColumn('user_id', type.id, (c) => c.notNull())
          .addColumn('owner_id', type.id)
          .addColumn('module', type.text(64), (c) => c.notNull())
          .addColumn('unread', type.boolean, (c) => c.notNull())
          .addColumn('read_at', type.timestamp)
          .addColumn('subject', type.text(500), (c) => c.notNull())
          .addColumn('content', type.longText, (c) => c.notNull())
          .addColumn('jump', type.json, (c) => c.notNull()),
        schema.createIndex('hand_unique').unique().on(whole).columns(['content_id', 'user_id']),
        ...[
          'owner_id, id',
          'owner_id, unread, id',
          'owner_id, module, id',
          'owner_id, module, unread, id',
          'read_at',
        ].map((columns, index) => schema.createIndex(`hand_${index}`).on(whole).columns(columns.split(', '))),
      ],
    }),
  ],
})

type Row = readonly (string | number | boolean)[]

async function insert(db: Database, table: string, columns: readonly string[], rowOf: (userId: number) => Row) {
  const place = `(${columns.map(() => '?').join(', ')})`
  for (let from = 0; from < userIds.length; from += together) {
    const rows = userIds.slice(from, from + together).map(rowOf)
    const places = rows.map(() => place).join(', ')
    await db.execute(`insert into ${table} (${columns.join(', ')}) values ${places}`, rows.flat())
  }
}

const itemColumns = ['id', 'content_id', 'user_id', 'owner_id', 'module', 'unread']
const jump = JSON.stringify({ module: 'system', event: null, targetRoute: null, targetId: null, dedupeKey: null })
const item = (db: Database, userId: number): Row => [db.newId(), 1, userId, userId, 'system', true]

interface Candidate {
  readonly name: string
  readonly table: string
  run(db: Database, inbox: Inbox, round: number): Promise<unknown>
}
const product: Candidate = {
  name: 'inbox.add',
  table: 'notification_inbox_item',
  run: (_, inbox, round) => inbox.add({ ...message, messageId: `round-${round}`, userIds }),
}
const sameRows: Candidate = {
  name: 'by hand, the same rows',
  table: 'notification_inbox_item',
  run: (db) => insert(db, 'notification_inbox_item', itemColumns, (userId) => item(db, userId)),
}
const wholeRows: Candidate = {
  name: 'by hand, the text in every row',
  table: whole,
  run: (db) =>
    insert(db, whole, [...itemColumns, 'subject', 'content', 'jump'], (userId) => [
      ...item(db, userId),
      message.subject,
      message.content,
      jump,
    ]),
}
const candidates = [product, sameRows, wholeRows]

/** Returns the size of a table with its indexes in bytes. */
async function sizeOf(db: Database, table: string): Promise<number> {
  const sql =
    db.dialect === 'sqlite'
      ? `select sum(pgsize) as bytes from dbstat where name in (select name from sqlite_schema where tbl_name = '${table}')`
      : `select pg_total_relation_size('${table}') as bytes`
  const [row] = await db.query<{ bytes: unknown }>(sql).catch(() => [])
  return Number(row?.bytes ?? Number.NaN)
}

async function measure(dialect: TestDialect, open: OpenDatabase): Promise<readonly Bar[]> {
  const at = await open()
  const running = await startForTest(
    defineProduct({
      name: 'fan-out',
      plugins: [databasePlugin, http, i18n, iam, events, inboxPlugin, handWritten],
      config: { ...at.config, 'platform.http.port': 0 },
    }),
  )
  const db = running.service(database)
  const seconds = new Map<string, number[]>(candidates.map(({ name }) => [name, []]))
  const bytes = new Map<string, number>()
  for (let round = 0; round <= rounds; round++) {
    for (const { name, table, run } of rotated(candidates, round)) {
      await db.execute(`delete from ${table}`)
      if (db.dialect === 'postgresql') await db.execute(`vacuum full ${table}`)
      const start = performance.now()
      await run(db, running.service(inbox), round)
      // The first round is the warm-up and is not counted.
      if (round > 0) seconds.get(name)?.push((performance.now() - start) / 1000)
      bytes.set(name, await sizeOf(db, table))
    }
  }
  const settings = settingsText(await settingsOf(db, dialect))
  await running.stop('done')
  const text = ({ median, min, max }: Spread) => `${median.toFixed(2)} (${min.toFixed(2)}..${max.toFixed(2)})`
  const of = (name: string) => seconds.get(name) ?? []
  const table = [
    ['candidate', 'seconds', 'items/s', 'bytes/item'],
    ...candidates.map(({ name }) => [
      name,
      text(spread(of(name))),
      (recipients / spread(of(name)).median).toFixed(0),
      ((bytes.get(name) ?? Number.NaN) / recipients).toFixed(0),
    ]),
  ]
  const notes = [`${recipients} recipients, ${together} rows a statement, ${rounds} rounds`]
  const against = (base: Candidate): Bar => ({
    name: `${dialect}: inbox.add, ${base.name}`,
    measured: inverse(ratio(of(product.name), of(base.name))),
    bar: { atLeast: 0.5 },
    unit: 'ratio',
  })
  console.log(`${sectionText({ title: `Inbox: ${dialect}`, settings, tables: [table], notes, bars: [] })}\n`)
  return [against(sameRows), against(wholeRows)]
}

console.log(`## Bars: inbox\n\n${barsText((await onDatabases(values.database, measure)).flat())}`)
