import { fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import databasePlugin, { type Database, database } from '@plinth/database'
import { startForTest, until, type WatchedProcess, watchProcess } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import eventsPlugin from '@plinth/events'
import { definePlugin, defineProduct } from '@plinth/kernel'
import t from 'tap'
import { createTables } from './fixtures/two-processes-tables.ts'

const keys = 6
const perProcess = 150
const leaseMs = 5_000
const worker = new URL('fixtures/two-processes-worker.ts', import.meta.url)

/** Waits for this number of messages with the text. */
const said = ({ messages, until }: WatchedProcess, text: string, count = 1) =>
  until(() => messages.filter((message) => message === text).length >= count, text)

const numbers = async (db: Database, sql: string) =>
  (await db.query<{ n: number | string }>(sql)).map(({ n }) => Number(n))

onEachDatabase(t, 'K-013 two processes, of which one is killed under load', async (t, at) => {
  const directory = mkdtempSync(join(tmpdir(), 'plinth-events-log-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const log = join(directory, 'arrived')
  const tables = definePlugin({ id: 'test', version: '1.0.0', kernel: '^1.0.0', migrations: [createTables] })
  const plugins = [databasePlugin, eventsPlugin, tables]
  const observer = await startForTest(defineProduct({ name: 'test', plugins, config: at.config }), { roles: ['web'] })
  t.teardown(() => observer.stop('test ended'))
  const db = observer.service(database)
  for (let key = 1; key <= keys; key++) {
    await db.execute('insert into test_published (id, n) values (?, 0)', [key])
    await db.execute('insert into test_applied (id, n) values (?, 0)', [key])
  }

  const config = {
    ...at.config,
    'platform.events.dispatcher.lease': `${leaseMs}ms`,
    'platform.events.dispatcher.poll-interval': '20ms',
    'platform.events.retry.initial-delay': '10ms',
    'platform.events.retry.max-delay': '50ms',
    'platform.events.retry.max-attempts': 100,
  }
  const about = JSON.stringify({ config, keys, count: perProcess, log })
  const start = () => watchProcess(t, fork(worker, [about], { silent: true }))
  const [victim, survivor] = [start(), start()]
  for (const one of [victim, survivor]) await said(one, 'started')
  for (const { child } of [victim, survivor]) child.send('go')
  await said(victim, 'published', 40)
  t.same(await victim.end('SIGKILL'), [null, 'SIGKILL'])
  await said(survivor, 'done')

  const pending = async () =>
    (await numbers(db, "select count(*) as n from outbox_event where status <> 'delivered'"))[0]
  await until(async () => (await pending()) === 0, 'all events are delivered', 20)
  t.same(await numbers(db, 'select count(*) as n from test_violation'), [0], 'nothing was applied out of turn or twice')
  const published = await numbers(db, 'select n from test_published order by id')
  t.same(
    await numbers(db, 'select n from test_applied order by id'),
    published,
    'everything published was applied once',
  )
  t.ok(published.reduce((sum, n) => sum + n) >= perProcess + 40)
  const arrived = readFileSync(log, 'utf8').trim().split('\n')
  for (const [index, last] of published.entries()) {
    const seen = arrived.filter((line) => line.startsWith(`${index + 1} `)).map((line) => Number(line.split(' ')[1]))
    const isOrdered = seen.every((n, place) => n >= (seen[place - 1] ?? 1))
    t.ok(isOrdered && new Set(seen).size === last, `handlers without transaction saw key ${index + 1} in order`)
  }
})
