/** Tests a failed and a successful installation. Notification rules report them to a configured recipient. */
import { join } from 'node:path'
import asyncTask from '@plinth/async-task'
import { assertMembers } from '@plinth/dev/testing'
import { onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import inbox from '@plinth/inbox'
import notification from '@plinth/notification'
import databaseChannel from '@plinth/notification-channels/database'
import linkage from '@plinth/notification-linkage'
import rules from '@plinth/notification-rules'
import storage from '@plinth/storage'
import { pino } from 'pino'
import t from 'tap'
import { secrets, startInstall } from '../plugins/install/test/fixtures/product.ts'
import { taskPlugin } from '../plugins/install/test/fixtures/task-plugin.ts'

const plugins = [asyncTask, storage, notification, inbox, rules, databaseChannel, linkage]
const configOn = (db: TestDatabase) => ({
  'platform.storage.root': join(db.directory, 'storage'),
  'platform.notification.default-channel': 'database',
})

onDatabase(
  t,
  'I-205 I-207 a successful and a failed installation reach the inboxes of the configured recipients',
  async (t, db) => {
    let isBroken = true
    const breaks = taskPlugin('shop-tables', {
      run() {
        if (isBroken) throw new Error(`no table for ${secrets.administrator}`)
      },
    })
    const settings = { plugins: [...plugins, breaks.plugin], config: configOn(db) }
    // Before the first administrator exists, there can be no notification rule, so this failure causes no message.
    const first = await startInstall(t, db, { ...settings, roles: ['web'] })
    const failed = (await first.execute()).data
    t.match(failed, { passed: false, locked: false })
    isBroken = false
    const { data } = await first.install(`sessions/${failed.sessionId}/retry`, { body: first.form })
    t.match(data, { passed: true, locked: true })
    const login = await first.call('POST', '/api/v1/auth/login', {
      body: { username: 'founder', password: secrets.administrator },
    })
    const headers = { authorization: `Bearer ${login.data.accessToken}` }
    const { id: userId } = (await first.call('GET', '/api/v1/iam/users/me', { headers })).data
    const codes = ['install.execution.completed', 'install.execution.failed']
    for (const code of codes) {
      const body = { code, recipientUserIds: [userId] }
      t.hasStrict(await first.call('POST', '/api/v1/notification-rules', { headers, body }), { code: '200' }, code)
    }
    await first.running.stop('the second one delivers')

    const second = await startInstall(t, db, settings)
    await second.running.service(events).idle()
    const server = second.running.service(http)
    const { items } = (await server.inject({ url: '/api/v1/notifications/inbox', headers })).json().data
    const reported = items.map(({ event, displaySubject }: { event: string; displaySubject: string }) => [
      event,
      displaySubject,
    ])
    // The two messages may arrive in any order.
    t.same(reported.toSorted(), [
      [codes[0], 'Installation completed'],
      [codes[1], 'Installation failed in step shop-tables'],
    ])
    t.notMatch(JSON.stringify(items), secrets.administrator)
  },
)

onDatabase(t, 'I-206 before the first migration a failed installation misses no rule', async (t, db) => {
  const lines: string[] = []
  const { running, execute, form } = await startInstall(t, db, {
    plugins,
    config: { ...configOn(db), 'platform.database.migrate-at-start': false },
    roles: ['web'],
    logger: pino({ level: 'warn' }, { write: (line) => void lines.push(line) }),
  })
  const { data } = await execute({ body: { ...form, site: { ...form.site, name: '' } } })
  t.match(data, { passed: false, locked: false })
  await running.service(events).idle()
  const reported = lines.map((line) => JSON.parse(line))
  assertMembers(
    t,
    reported.filter(({ msg }) => /notified that the installation/.test(msg)),
    [{ msg: 'only this process is notified that the installation has ended' }],
  )
  t.same(
    reported.filter(({ level }) => level >= 50),
    [],
  )
})
