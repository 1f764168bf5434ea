/** Tests several instances: clients of one instance receive messages of another. */

import { type DeliveredMessage, notificationChannelCases } from '@plinth/dev/conformance'
import { assertMembers, until } from '@plinth/dev/testing'
import { createDatabase, onDatabase, startHalfOpenProxy } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis } from '@plinth/dev/testing/shared-store'
import { definePlugin, type Recipient } from '@plinth/kernel'
import { websocketGroupGuard } from '@plinth/notification-channels/websocket'
import { sharedStore } from '@plinth/shared-store'
import t from 'tap'
import { type Client, key, startWebsocket } from './fixtures/websocket-product.ts'

const redisPort = 6379

t.test(
  '[N-007 N-027] a user who is connected to one instance receives messages of another through Redis',
  { skip: skipRedis },
  async (t) => {
    const at = await createDatabase('sqlite')
    const redis = createRedisNamespace()
    t.teardown(async () => {
      await redis.drop()
      await at.drop()
    })
    const one = await startWebsocket(t, at, { config: redis.config })
    const two = await startWebsocket(t, at, { config: redis.config })
    const ada = await one.user('ada')
    const here = await one.connect({ token: ada.token })
    const there = await two.connect({ token: ada.token })
    await two.inbox.add({ messageId: 'm1', subject: 'Hi', content: 'from two', userIds: [ada.id] })
    await two.settled()
    for (const client of [here, there]) {
      t.match(await client.next(), { event: 'notification.created', data: { content: 'from two', unread: true } })
    }
    await one.facade.send(
      {
        subject: 'Hi',
        content: 'from one',
        recipients: [{ kind: 'websocket-session', sessionId: there.hello.sessionId }],
      },
      { channels: ['websocket'] },
    )
    for (const client of [here, there]) {
      t.match(await client.next(), { event: 'notification.created', data: { content: 'from one', id: null } })
      await client.settled()
      t.equal(client.received.length, 3, 'each once')
    }
    for (const { presence } of [one, two]) {
      t.match(presence, { sockets: 1, users: 1 }, 'each instance tells who is connected to itself')
      t.equal(presence.ofUser(ada.id), 1)
    }
    t.equal(one.presence.ofSession(there.hello.sessionId), 1, 'one login session, connected twice')
    here.ws.close()
    await here.closed
    await until(() => one.presence.ofUser(ada.id) === 0, 'the other connection is not its own')
    t.equal(two.presence.ofUser(ada.id), 1)
    const [{ id }] = (await ada.call('GET', 'notifications/inbox')).data.items
    await ada.call('PUT', `notifications/inbox/${id}/read`)
    t.match(await there.next(), { event: 'notification.read', data: { id } })
  },
)

onDatabase(t, '[N-007] through the database, without Redis', async (t, at) => {
  const config = { 'platform.shared-store.database.poll-interval': '100ms', [`${key}.heartbeat`]: '10m' }
  const one = await startWebsocket(t, at, { config })
  const two = await startWebsocket(t, at, { config })
  const ada = await one.user('ada')
  const there = await two.connect({ token: ada.token })
  const recipients = [{ kind: 'user', userId: ada.id } as const]
  const [result] = await one.facade.send(
    { subject: 'Hi', content: 'from one', recipients },
    { channels: ['websocket'] },
  )
  t.hasStrict(result, { outcome: 'accepted' })
  let isThere = false
  const arrived = there.next().then((message) => {
    isThere = true
    return message
  })
  // Only this loop advances the clock of the instance that polls the database.
  for (const late = AbortSignal.timeout(120_000); !isThere; late.throwIfAborted()) {
    await two.clock.advance(100)
    // The clock must not advance faster than the database works.
    await two.db.query('select 1')
  }
  t.match(await arrived, { event: 'notification.created', data: { content: 'from one' } })

  const code = { variables: { code: '482913' }, secretVariables: ['code'] }
  const secret = { ...code, subject: 'Your code', content: 'It is 482913', recipients }
  assertMembers(t, await one.facade.send(secret, { channels: ['websocket'] }), [
    { outcome: 'rejected', errorCode: 'secret-needs-redis' },
  ])
  const [row] = await one.db.query<{ total: unknown }>(
    `select count(*) as total from shared_store_message where content like '%482913%'`,
  )
  t.equal(Number(row?.total), 0, 'no secret lies in a table')
})

/** Plugin that admits every user to the group that the test cases use. */
const open = definePlugin({
  id: 'test.open',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [websocketGroupGuard],
  setup: ({ contribute }) => contribute(websocketGroupGuard, 'open', { mayJoin: (group) => group === 'readers' }),
})

t.test(
  '[N-013] the channel obeys its contract, with its clients on another instance',
  { skip: skipRedis },
  async (t) => {
    const at = await createDatabase('sqlite')
    const redis = createRedisNamespace()
    t.teardown(async () => {
      await redis.drop()
      await at.drop()
    })
    const proxy = await startHalfOpenProxy({ port: redisPort })
    t.teardown(() => proxy.close())
    const config = { ...redis.config, [`${key}.guests.enabled`]: true, [`${key}.max-sockets-per-user`]: 1000 }
    const there = await startWebsocket(t, at, { config, plugins: [open] })
    const here = await startWebsocket(t, at, {
      config: {
        ...config,
        'platform.cache.port': proxy.port,
        'platform.cache.connect-timeout': '2s',
        'platform.cache.command-timeout': '1s',
      },
    })
    const [user, watched, sitting, reading] = await Promise.all(
      ['ada', 'bob', 'eve', 'mia'].map((name) => there.user(name)),
    )
    if (user === undefined || watched === undefined || sitting === undefined || reading === undefined)
      throw new Error('no user')
    const session = await there.connect({ token: sitting.token })
    const recipients: readonly Recipient[] = [
      { kind: 'user', userId: user.id },
      { kind: 'websocket-user', userId: watched.id },
      { kind: 'websocket-session', sessionId: session.hello.sessionId },
      { kind: 'websocket-group', group: 'readers' },
      { kind: 'websocket-guest' },
    ]
    session.ws.terminate()

    const end = {
      id: 'end',
      subject: '',
      content: 'end',
      variables: {},
      attributes: {},
      recipients: recipients.slice(0, 1),
    }
    const receivedStore = there.running.service(sharedStore)
    let hear = () => {}
    await receivedStore.subscribe('test.end', () => hear())
    /** Waits until the other instance has received all published messages and written them to its connections. */
    const received = async () => {
      const isReceived = new Promise<void>((resolve) => {
        hear = resolve
      })
      await receivedStore.publish('test.end', '')
      await isReceived
      const context = { signal: new AbortController().signal, idempotencyKey: end.id, attempt: 1 }
      await there.channel.send(end, context)
    }

    const create = async () => {
      const clients: Client[] = []
      for (const one of [user, watched, sitting, reading, undefined]) {
        clients.push(await there.connect(one === undefined ? {} : { token: one.token }))
      }
      clients[3]?.translate({ type: 'subscribe', group: 'readers' })
      await clients[3]?.next()
      /** Returns the messages of each client, with the recipient that caused them. */
      const delivered = async (): Promise<DeliveredMessage[]> => {
        await received()
        const all = clients.map(async (client, index) => {
          await client.settled()
          return client.received
            .filter(({ event, data }) => event === 'notification.created' && data.messageId !== end.id)
            .map(({ data: { subject, content } }) => ({
              subject,
              content,
              recipients: [recipients[index] as Recipient],
            }))
        })
        return (await Promise.all(all)).flat()
      }
      const stop = async () => {
        for (const { ws, closed } of clients) {
          ws.terminate()
          await closed
        }
      }
      return { channel: here.channel, delivered, stop }
    }
    const store = here.running.service(sharedStore)
    const isBack = async () => {
      for (const late = AbortSignal.timeout(120_000); ; late.throwIfAborted()) {
        try {
          await store.get('probe')
          return
        } catch {
          // The silent connection is destroyed after the time limit of its command, and a new one is opened after a
          // pause.
          await here.clock.advance(1_000)
        }
      }
    }
    const nextHop = {
      fail: () => proxy.fallSilent(),
      hang: () => proxy.fallSilent(),
      async recover() {
        proxy.recover()
        await isBack()
      },
    }
    const cases = notificationChannelCases(
      async () => {
        await nextHop.recover()
        return create()
      },
      { nextHop, recipients, maxContentLength: 65_536, patienceMs: 30_000, caseLimitMs: 300_000 },
    )
    for (const { name, run } of cases) await t.test(name, run)
  },
)
