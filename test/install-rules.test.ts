/** An installation that fails and one that succeeds, told by the rules of operations to somebody who is set up to be told. */
import { join } from 'node:path'
import asyncTask from '@plinth/async-task'
import { onEachDatabase } from '@plinth/database/testing'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import notification from '@plinth/notification'
import inbox from '@plinth/notification/inbox'
import rules from '@plinth/notification/rules'
import databaseChannel from '@plinth/notification-channels/database'
import linkage from '@plinth/notification-linkage'
import storage from '@plinth/storage'
import t from 'tap'
import { secrets, startInstall } from '../plugins/install/test/fixtures/product.ts'
import { taskPlugin } from '../plugins/install/test/fixtures/task-plugin.ts'

onEachDatabase(
  t,
  'I-205 I-207 an installation that succeeds and one that fails reach the inbox of who the rules name',
  async (t, db) => {
    let isBroken = true
    const breaks = taskPlugin('shop-tables', {
      run() {
        if (isBroken) throw new Error(`no table for ${secrets.administrator}`)
      },
    })
    const settings = {
      plugins: [asyncTask, storage, notification, inbox, rules, databaseChannel, linkage, breaks.plugin],
      config: {
        'platform.storage.root': join(db.directory, 'storage'),
        'platform.notification.default-channel': 'database',
      },
    }
    // Nobody could set up a rule before there is an administrator: it delivers nothing yet.
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
      t.match(await first.call('POST', '/api/v1/notification-rules', { headers, body }), { code: '200' }, code)
    }
    await first.running.stop('the second one delivers')

    const second = await startInstall(t, db, settings)
    await second.running.service(events).idle()
    const server = second.running.service(http)
    const { items } = (await server.inject({ url: '/api/v1/notifications/inbox', headers })).json().data
    const told = items.map(({ event, displaySubject }: { event: string; displaySubject: string }) => [
      event,
      displaySubject,
    ])
    // Which of the two is written first is not said.
    t.same(told.toSorted(), [
      [codes[0], 'Installation completed'],
      [codes[1], 'Installation failed at shop-tables'],
    ])
    t.notMatch(JSON.stringify(items), secrets.administrator)
  },
)
