/**
 * Tests a database that stops responding while all connections stay open, as after the loss of a host. An inbox and its
 * WebSockets use this database.
 */

import { setTimeout as pause } from 'node:timers/promises'
import { rejectsWith } from '@plinth/dev/testing'
import { onDatabase, startHalfOpenProxy } from '@plinth/dev/testing/database'
import t from 'tap'
import { key, startWebsocket } from './fixtures/websocket-product.ts'

const ports = { sqlite: 0, postgresql: 5432, mariadb: 3306 } as const
/** Deadline in milliseconds. It allows a few consecutive statements of a second each on a busy host. */
const deadlineMs = 120_000

onDatabase(
  t,
  '[N-007] a fan-out whose database becomes silent fails in time, and continues afterwards',
  async (t, at) => {
    // SQLite needs no network, so its connection cannot fall silent.
    if (at.dialect === 'sqlite') return
    const proxy = await startHalfOpenProxy({ port: ports[at.dialect] })
    t.teardown(() => proxy.close())
    const { user, connect, inbox, facade, clock, presence, settled } = await startWebsocket(t, at, {
      config: {
        'platform.database.port': proxy.port,
        'platform.database.connect-timeout': '6s',
        'platform.database.query-timeout': '6s',
        [`${key}.heartbeat`]: '10m',
        [`${key}.session-check`]: '10m',
      },
    })
    const ada = await user('ada')
    const clients = await Promise.all(Array.from({ length: 5 }, () => connect({ token: ada.token })))
    const reported = () => clients.map(({ received }) => received.map(({ data }) => data?.content).filter(Boolean))
    /**
     * Returns the result of the work if it ends before the deadline. Advances the manual clock meanwhile, because only
     * database statements time out in real time.
     */
    const inTime = async <T>(work: Promise<T>): Promise<T> => {
      let isOver = false
      const end = () => {
        isOver = true
      }
      work.then(end, end)
      const endsAt = performance.now() + deadlineMs
      for (; !isOver && performance.now() < endsAt; await pause(10)) await clock.advance(10)
      t.ok(isOver, 'it ends within the deadline')
      return work
    }
    const add = (content: string) => inbox.add({ messageId: content, subject: 'Hi', content, userIds: [ada.id] })
    await add('before')
    await settled()
    for (const client of clients) t.match(await client.next(), { data: { content: 'before' } })

    proxy.fallSilent()
    await rejectsWith(t, inTime(add('lost')), { code: /^PLINTH_DATABASE_/, unavailable: true })
    const recipients = [{ kind: 'user', userId: ada.id } as const]
    const results = await inTime(
      facade.send({ subject: 'Hi', content: 'dark', recipients }, { channels: ['database', 'websocket'] }),
    )
    t.equal(results.length, 2)
    for (const { channel, success, outcome } of results) {
      t.notOk(success, channel)
      t.ok(['deferred', 'unknown'].includes(outcome), `${channel}: ${outcome} is no refusal for good`)
    }
    t.hasStrict(await inTime(ada.call('GET', 'notifications/inbox')), { code: '503' })
    await Promise.all(clients.map(({ settled }) => settled()))
    t.match(presence, { sockets: 5 }, 'open sockets are no part of it')
    t.same(reported(), Array(5).fill(['before']))

    proxy.recover()
    // A connection that was opened before is still silent. The product destroys it on its next use.
    for (let isBack = false; !isBack; )
      isBack = await inTime(add('after')).then(
        () => true,
        () => false,
      )
    await inTime(settled())
    await Promise.all(clients.map(({ settled }) => settled()))
    for (const contents of reported()) t.ok(contents.includes('after'), 'what comes afterwards is told')
    t.notOk(reported().flat().includes('lost'), 'what failed was not told')
  },
)
