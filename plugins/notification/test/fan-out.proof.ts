/** Tests a process that is killed while it sends a message to many recipients. */
import { fork } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import databasePlugin, { type Database, database } from '@plinth/database'
import { startForTest, watchProcess } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import eventsPlugin from '@plinth/events'
import http from '@plinth/http'
import i18n from '@plinth/i18n'
import iam from '@plinth/iam'
import inboxPlugin from '@plinth/inbox'
import { defineProduct } from '@plinth/kernel'
import notificationPlugin, { notification } from '@plinth/notification'
import databaseChannel from '@plinth/notification-channels/database'
import t from 'tap'
import { channel } from './fixtures/channel.ts'

const worker = new URL('fixtures/fan-out-worker.ts', import.meta.url)

const number = async (db: Database, sql: string) => Number((await db.query<{ n: unknown }>(sql))[0]?.n)

onDatabase(t, 'N-001 N-032 K-018 a process is killed in the middle of a fan-out', async (t, at) => {
  // Sending to all 10,000 recipients is slow, so MariaDB uses fewer.
  const people = at.dialect === 'mariadb' ? 2_000 : 10_000
  const [inbox, together, each] = [Math.ceil(people / 5_000), people / 1_000, people / 50]
  const directory = mkdtempSync(join(tmpdir(), 'plinth-fan-out-'))
  t.teardown(() => rmSync(directory, { recursive: true, force: true }))
  const log = join(directory, 'sent')
  const config = {
    ...at.config,
    'platform.http.port': 0,
    'platform.notification.default-channel': 'database',
    // The long deadline ensures that only the killed process leaves sends without an outcome.
    'platform.notification.send-deadline': '5m',
    'platform.events.dispatcher.lease': '1s',
    'platform.events.dispatcher.poll-interval': '50ms',
    'platform.events.retry.initial-delay': '10ms',
    'platform.events.retry.max-delay': '50ms',
  }
  const plugins = [
    databasePlugin,
    eventsPlugin,
    http,
    i18n,
    iam,
    notificationPlugin,
    inboxPlugin,
    databaseChannel,
    channel('hook', ['user']).plugin,
    channel('pigeon', ['user'], { recipients: 'each' }).plugin,
  ]
  const web = await startForTest(defineProduct({ name: 'fan-out', plugins, config }), { roles: ['web'] })
  t.teardown(() => web.stop('test ended'))
  const db = web.service(database)
  const start = (isVictim: boolean) =>
    watchProcess(t, fork(worker, [JSON.stringify({ config, log, isVictim })], { silent: true }))

  const victim = start(true)
  await victim.until(() => victim.messages.includes('started'), 'it has started')
  const recipients = Array.from({ length: people }, (_, index) => ({ kind: 'user' as const, userId: index + 1 }))
  const channels = ['database', 'hook', 'pigeon']
  const { messageId } = await web.service(notification).enqueue({ content: 'Hi', recipients }, { channels })
  await victim.until(() => victim.messages.includes('under way'), 'the fan-out is under way')
  t.same(await victim.end('SIGKILL'), [null, 'SIGKILL'])
  t.ok((await number(db, `select count(*) as n from outbox_event where status = 'pending'`)) > 0, 'in the middle')
  t.ok((await number(db, `select count(*) as n from notification_send_log where status = 'sending'`)) > 0)

  const heir = start(false)
  const partsDone = () => number(db, 'select parts_done as n from notification_message')
  // Waits for one part after another, because on a slow host all parts together exceed the time limit of a wait.
  for (let part = 1; part <= inbox + together + each; part++) {
    await heir.until(async () => (await partsDone()) >= part, `part ${part} is done`)
  }

  const [row] = await db.query<Record<string, unknown>>(
    'select message_id, parts, parts_done, accepted, rejected, deferred, unknown, skipped from notification_message',
  )
  t.equal(row?.['message_id'], messageId)
  t.equal(Number(row?.['parts']), inbox + together + each, 'of 5,000, of 1,000 and of 50')
  t.equal(Number(row?.['parts_done']), inbox + together + each)
  t.equal(
    Number(row?.['accepted']) + Number(row?.['unknown']),
    inbox + together + people,
    'every delivery has one outcome',
  )

  t.same(
    await db
      .query('select count(*) as n, count(distinct user_id) as users from notification_inbox_item')
      .then((rows) => rows.map((row) => Object.values(row).map(Number))),
    [[people, people]],
    'every recipient has one item in the inbox',
  )
  const logged = async (code: string, status: string) =>
    number(db, `select count(*) as n from notification_send_log where channel = '${code}' and status = '${status}'`)
  t.equal(await logged('database', 'success'), inbox)
  const lines = readFileSync(log, 'utf8').trim().split('\n')
  for (const code of ['hook', 'pigeon']) {
    const reached = lines
      .filter((line) => line.startsWith(`${code} `))
      .flatMap((line) => line.slice(code.length + 1).split(','))
    t.equal(new Set(reached).size, reached.length, `${code}: nobody got it twice`)
    const unknown = await logged(code, 'unknown')
    const success = await logged(code, 'success')
    t.equal(success + unknown, code === 'hook' ? together : people, `${code}: what is not accepted is unknown`)
    t.ok(code === 'hook' || reached.length >= success, `${code}: what is accepted went out`)
  }
  const unknown = await logged('pigeon', 'unknown')
  t.ok(unknown > 0 && unknown <= 80, `${unknown} sends were under way when the process died, and an operator sees them`)
  t.equal(await number(db, `select count(*) as n from notification_send_log where status = 'sending'`), 0)
})
