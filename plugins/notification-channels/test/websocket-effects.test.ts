/** Tests the effect of each configuration key of the realtime channel. */

import { applyLiveValues, assertKeyEffect, type KeyValues, until } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import t from 'tap'
import {
  type Client,
  type ConnectOptions,
  RefusedHandshakeError,
  startWebsocket,
} from './fixtures/websocket-product.ts'

async function start(config: KeyValues) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  return startWebsocket(t, at, { config })
}
const shared = await start({})
const ada = await shared.user('ada')
const clients: Client[] = []

/** Ends the connections of earlier observations, and sets live keys of the shared product. */
async function configured(values: KeyValues) {
  for (const { ws } of clients.splice(0)) ws.terminate()
  await until(() => shared.presence.sockets === 0, 'no client is connected')
  await applyLiveValues(shared.running, values)
}

/** Connects to the shared product, by default as the user Ada. */
async function connect(options: ConnectOptions = { token: ada.token }) {
  const client = await shared.connect(options)
  clients.push(client)
  return client
}

/** Sends a message and returns the type or the error code of the response. */
async function ask(client: Client, message: unknown): Promise<string> {
  client.translate(message)
  const { type, code } = await client.next()
  return code ?? type
}

/** Waits until the server has processed everything that the client sent, or has closed the connection. */
const settled = (client: Client) => Promise.race([client.closed, client.settled().catch(() => client.closed)])

/** Returns the reason why a handshake was rejected, or `connected`. */
const reasonOf = (connecting: Promise<unknown>) =>
  connecting.then(
    () => 'connected',
    (error: unknown) =>
      error instanceof RefusedHandshakeError ? (error.body.data.limit ?? error.body.data.reason) : String(error),
  )

t.test('connections are accepted as configured', async (t) => {
  const connectAs = (isUser: boolean, count: number) => async (config: KeyValues) => {
    await configured(config)
    const found = []
    for (let index = 0; index < count; index++) found.push(await reasonOf(isUser ? connect() : connect({})))
    return found.join(' ')
  }
  const [switches] = await assertKeyEffect(t, 'platform.notification.channels.websocket.enabled', {
    changed: false,
    observe: connectAs(true, 1),
  })
  t.same([switches?.before, switches?.after], ['connected', 'notification-websocket.switched-off'])
  const [guests] = await assertKeyEffect(t, 'platform.notification.channels.websocket.guests.enabled', {
    changed: true,
    observe: connectAs(false, 1),
  })
  t.same([guests?.before, guests?.after], ['notification-websocket.credential-missing', 'connected'])
  const limits = await assertKeyEffect(
    t,
    'platform.notification.channels.websocket.{max-sockets,max-sockets-per-user,max-sockets-per-address}',
    { changed: 2, observe: connectAs(true, 3) },
  )
  t.same(
    limits.map(({ before, after }) => [before, after]),
    ['instance', 'user', 'address'].map((limit) => ['connected connected connected', `connected connected ${limit}`]),
  )
})

t.test('groups are joined as configured', async (t) => {
  const join =
    (others: KeyValues, ...groups: readonly string[]) =>
    async (config: KeyValues) => {
      await configured({ ...others, ...config })
      const client = await connect()
      const found = []
      for (const group of groups) found.push(await ask(client, { type: 'subscribe', group }))
      return found.join(' ')
    }
  const [groups] = await assertKeyEffect(t, 'platform.notification.channels.websocket.public-groups', {
    changed: ['news'],
    observe: join({}, 'news', 'secrets'),
  })
  t.same([groups?.before, groups?.after], ['group-forbidden group-forbidden', 'subscribed group-forbidden'])
  const [counts] = await assertKeyEffect(t, 'platform.notification.channels.websocket.max-groups', {
    changed: 2,
    observe: join({ 'platform.notification.channels.websocket.public-groups': ['a', 'b', 'c'] }, 'a', 'b', 'c'),
  })
  t.same([counts?.before, counts?.after], ['subscribed subscribed subscribed', 'subscribed subscribed too-many-groups'])
})

t.test('a client that sends too much is closed', async (t) => {
  const closeCodeAfter = async (client: Client, act: (client: Client) => void) => {
    act(client)
    const ended = await settled(client)
    return ended === undefined ? 'open' : ended[0]
  }
  const [rates] = await assertKeyEffect(t, 'platform.notification.channels.websocket.max-message-rate', {
    changed: 3,
    observe: async (config) => {
      await configured(config)
      return closeCodeAfter(await connect(), (client) => {
        for (let message = 0; message < 5; message++) client.translate({ type: 'ping' })
      })
    },
  })
  t.same([rates?.before, rates?.after], ['open', 4429])
  const [sizes] = await assertKeyEffect(t, 'platform.notification.channels.websocket.max-message-size', {
    changed: '256',
    observe: async (config) => {
      const { user, connect } = await start(config)
      const client = await connect({ token: (await user('ada')).token })
      return closeCodeAfter(client, ({ translate }) => translate({ type: 'ping', rest: 'x'.repeat(300) }))
    },
  })
  t.same([sizes?.before, sizes?.after], ['open', 1009])
})

t.test('a client that does not respond to pings, or whose login has ended, is closed', async (t) => {
  /** True if the connection is closed after some time. */
  const isClosedAfter = async (client: Client, advance: () => Promise<void>) => {
    let isClosed = false
    const closed = client.closed.then(() => {
      isClosed = true
    })
    await advance()
    const result = isClosed
    client.ws.terminate()
    await closed
    return result
  }
  const [pings] = await assertKeyEffect(t, 'platform.notification.channels.websocket.heartbeat', {
    changed: '10s',
    observe: async (config) => {
      const { user, connect, clock } = await start(config)
      const { token } = await user('ada')
      const [dead, alive] = [await connect({ token, autoPong: false }), await connect({ token })]
      return isClosedAfter(dead, async () => {
        for (let step = 0; step < 2; step++) {
          await clock.advance(10_000)
          await alive.settled()
        }
      })
    },
  })
  t.match(pings, { before: false, after: true })
  const [checks] = await assertKeyEffect(t, 'platform.notification.channels.websocket.session-check', {
    changed: '3s',
    observe: async (config) => {
      const { user, connect, clock } = await start(config)
      const [ada, bob] = [await user('ada'), await user('bob')]
      const [ended, alive] = [await connect({ token: ada.token }), await connect({ token: bob.token })]
      await ada.call('POST', 'auth/logout')
      return isClosedAfter(ended, async () => {
        await clock.advance(3_000)
        for (let count = 0; count < 5; count++) await alive.settled()
      })
    },
  })
  t.match(checks, { before: false, after: true })
})

t.test('a client that does not read is closed when the waiting data exceeds the limit', async (t) => {
  const [closes] = await assertKeyEffect(t, 'platform.notification.channels.websocket.max-buffered', {
    changed: '64MiB',
    observe: async (config) => {
      await configured(config)
      const { ws } = await connect()
      ws.pause()
      const [content, { signal }] = ['x'.repeat(60_000), new AbortController()]
      // The operating system buffers some megabytes, so this loop sends 12 megabytes.
      for (let sent = 0; sent < 200; sent++) {
        const recipients = [{ kind: 'user' as const, userId: ada.id }]
        const message = { id: `m${sent}`, subject: 's', content, variables: {}, attributes: {}, recipients }
        const { providerMessage } = await shared.channel.send(message, {
          signal,
          idempotencyKey: `k${sent}`,
          attempt: 1,
        })
        if (providerMessage === 'Handed to 0 connections of this instance') return 'closed'
      }
      return 'open'
    },
  })
  t.match(closes, { before: 'closed', after: 'open' })
})
