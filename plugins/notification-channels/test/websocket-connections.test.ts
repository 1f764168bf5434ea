/** Tests the operations of a client on a connection, and the end of a connection. */
import { once } from 'node:events'
import { until } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { accounts } from '@plinth/iam'
import { definePlugin, type Plugin } from '@plinth/kernel'
import { websocketGroupGuard } from '@plinth/notification-channels/websocket'
import t, { type Test } from 'tap'
import { type Client, key, password, startWebsocket } from './fixtures/websocket-product.ts'

async function start(
  t: Test,
  config: Record<string, string | number | boolean | string[]> = {},
  plugins: Plugin[] = [],
) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  return startWebsocket(t, at, { config, plugins })
}

/** Plugin that admits the listed users to the group `team-<user id>`, and throws for two groups. */
const teams = definePlugin({
  id: 'test.teams',
  version: '1.0.0',
  kernel: '^1.0.0',
  contributes: [websocketGroupGuard],
  setup({ contribute }) {
    contribute(websocketGroupGuard, 'a-broken', {
      mayJoin(group) {
        if (group === 'boom') throw new Error('broken')
        return group === 'hang' ? new Promise<boolean>(() => {}) : false
      },
    })
    contribute(websocketGroupGuard, 'teams', { mayJoin: async (group, { userId }) => group === `team-${userId}` })
  },
})

t.test('[N-027] groups are joined by message, and only groups that a plugin allows', async (t) => {
  const { user, connect, facade, presence, clock, change } = await start(t, {}, [teams])
  const [ada, bob] = [await user('ada'), await user('bob')]
  const [first, second] = [await connect({ token: ada.token }), await connect({ token: bob.token })]
  const ask = async (client: Client, message: unknown) => {
    client.translate(message)
    return client.next()
  }
  const join = (client: Client, group: string) => ask(client, { type: 'subscribe', group })
  t.hasStrict(await join(first, 'news'), { type: 'error', code: 'group-forbidden', group: 'news' })
  await change('public-groups', ['news'])
  t.same(await join(first, 'news'), { type: 'subscribed', group: 'news' })
  t.same(await join(first, 'news'), { type: 'subscribed', group: 'news' }, 'once more changes nothing')
  t.hasStrict(await join(second, `team-${ada.id}`), { type: 'error', code: 'group-forbidden' })
  t.same(await join(first, `team-${ada.id}`), { type: 'subscribed', group: `team-${ada.id}` })
  t.hasStrict(
    await join(first, 'boom'),
    { type: 'error', code: 'group-forbidden' },
    'a guard that throws lets nobody in',
  )
  first.translate({ type: 'subscribe', group: 'hang' })
  await first.settled()
  await clock.advance(5_000)
  t.hasStrict(await first.next(), { type: 'error', code: 'group-forbidden', group: 'hang' }, 'nor one that hangs')
  t.equal(presence.ofGroup('news'), 1)

  const recipients = [{ kind: 'websocket-group', group: 'news' } as const]
  const send = () => facade.send({ subject: 's', content: 'to readers', recipients }, { channels: ['websocket'] })
  await send()
  t.match(await first.next(), { event: 'notification.created', data: { id: null, content: 'to readers' } })
  t.same(await ask(first, { type: 'unsubscribe', group: 'news' }), { type: 'unsubscribed', group: 'news' })
  await send()
  for (const client of [first, second]) await client.settled()
  t.equal(first.received.filter(({ event }) => event !== undefined).length, 1)
  t.equal(second.received.length, 2, 'for who is not in the group the greeting and a refusal alone')

  await change('max-groups', 2)
  await change('public-groups', ['a', 'b', 'c'])
  t.match(await join(second, 'a'), { type: 'subscribed' })
  t.match(await join(second, 'b'), { type: 'subscribed' })
  t.hasStrict(await join(second, 'c'), { type: 'error', code: 'too-many-groups', group: 'c' })
  second.ws.terminate()
  await second.closed
  await until(() => presence.ofGroup('a') === 0, 'who is gone is in no group')
})

t.test('invalid input gets an error response and closes no other connection', async (t) => {
  const { user, connect } = await start(t, { [`${key}.max-message-size`]: '256' })
  const ada = await user('ada')
  const quiet = await connect({ token: ada.token })
  const noisy = await connect({ token: ada.token })
  const ask = (message: unknown) => {
    noisy.translate(message)
    return noisy.next()
  }
  for (const garbage of [
    '',
    '{',
    'null',
    '[]',
    '"subscribe"',
    '{"type":1}',
    '{"type":"__proto__"}',
    '{"__proto__":{}}',
  ]) {
    t.same(await ask(garbage), { type: 'error', code: 'message-invalid' }, garbage)
  }
  for (const group of [undefined, 7, '', 'a b', 'x'.repeat(101), '../\n', ['news']]) {
    t.same(await ask({ type: 'subscribe', group }), { type: 'error', code: 'group-invalid' }, String(group))
  }
  const parts = await connect({ token: ada.token })
  parts.ws.send('{"type":', { fin: false })
  parts.ws.send('"ping"}', { fin: true })
  t.same(await parts.next(), { type: 'pong' }, 'in two frames')

  const ends: Record<string, [number, (client: Client) => void]> = {
    'a message that is too large': [1009, ({ ws }) => ws.send('x'.repeat(257))],
    'one that is too large in all its frames': [
      1009,
      ({ ws }) => {
        for (let sent = 0; sent < 300; sent += 100) ws.send('x'.repeat(100), { fin: false })
      },
    ],
    'a binary message': [1003, ({ ws }) => ws.send(Buffer.from('{"type":"ping"}'))],
    'what is not UTF-8': [1007, ({ ws }) => ws.send(Buffer.from([0xff, 0xfe]), { binary: false })],
    'a frame that is none': [1002, ({ ws }) => Reflect.get(ws, '_socket').write(Buffer.from([0xff, 0xff, 0, 0, 0, 0]))],
    'a frame without a mask': [1002, ({ ws }) => Reflect.get(ws, '_socket').write(Buffer.from([0x81, 0x01, 0x41]))],
  }
  for (const [name, [code, act]] of Object.entries(ends)) {
    const client = await connect({ token: ada.token })
    act(client)
    t.equal((await client.closed)[0], code, name)
  }
  quiet.translate({ type: 'ping' })
  t.same(await quiet.next(), { type: 'pong' })
})

t.test('a client that sends too much is closed', async (t) => {
  const { user, connect, clock, change } = await start(t)
  const ada = await user('ada')
  await change('max-message-rate', 3)
  const client = await connect({ token: ada.token })
  const ping = async () => {
    client.translate({ type: 'ping' })
    return client.next()
  }
  for (let second = 0; second < 3; second++) {
    for (let message = 0; message < 3; message++) t.same(await ping(), { type: 'pong' })
    await clock.advance(1_000)
  }
  for (let message = 0; message < 4; message++) client.translate({ type: 'ping' })
  t.same(await client.closed, [4429, 'too-many-messages'])
  const pinging = await connect({ token: ada.token })
  for (let message = 0; message < 4; message++) pinging.ws.ping()
  t.same(await pinging.closed, [4429, 'too-many-messages'], 'pings count as well')
})

t.test('a client that reads too slowly is disconnected and delays nobody', async (t) => {
  const { user, connect, channel, change, metrics } = await start(t)
  const [ada, bob] = [await user('ada'), await user('bob')]
  await change('max-buffered', '64KiB')
  const [slow, fast] = [await connect({ token: ada.token }), await connect({ token: bob.token })]
  slow.ws.pause()
  const signal = new AbortController().signal
  let sent = 0
  for (; sent < 2_000; sent++) {
    const message = {
      id: `m${sent}`,
      subject: 's',
      content: 'x'.repeat(60_000),
      variables: {},
      attributes: {},
      recipients: [{ kind: 'user', userId: ada.id } as const],
    }
    const outcome = await channel.send(message, { signal, idempotencyKey: `k${sent}`, attempt: 1 })
    if (outcome.providerMessage === 'Handed to 0 connections of this instance') break
  }
  t.ok(sent < 2_000, `dropped after ${sent} messages that nobody read`)
  fast.translate({ type: 'ping' })
  t.same(await fast.next(), { type: 'pong' })
  slow.ws.resume()
  t.same(await slow.closed, [4408, 'too-slow'], 'when it reads on it learns why')
  await fast.settled()
  t.match(await metrics.metrics(), /closed_total\{code="4408"\} 1/)
})

t.test('a client that does not respond to a ping is disconnected', async (t) => {
  const { user, connect, clock, change, presence } = await start(t)
  const ada = await user('ada')
  await change('heartbeat', '10s')
  const dead = await connect({ token: ada.token, autoPong: false })
  const alive = await connect({ token: ada.token })
  const pinged = Promise.all([once(dead.ws, 'ping'), once(alive.ws, 'ping')])
  await clock.advance(10_000)
  await pinged
  await alive.settled()
  t.equal(presence.sockets, 2)
  const again = once(alive.ws, 'ping')
  await clock.advance(10_000)
  t.equal((await dead.closed)[0], 1006, 'without a goodbye that nobody would read')
  await again
  t.equal(presence.sockets, 1)
})

t.test('a connection ends soon after its session, and no other does', async (t) => {
  const config = {
    'platform.iam.token.lifetime': '10m',
    'platform.iam.token.idle-timeout': '2m',
    [`${key}.heartbeat`]: '10m',
  }
  const { user, connect, clock, running, call, login, change, presence } = await start(t, config)
  await running
    .service(accounts)
    .createAdministrator(
      { username: 'root', password },
      { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' },
    )
  const root = await login('root')
  await change('session-check', '3s')
  const [ada, bob, eve, mia] = [await user('ada'), await user('bob'), await user('eve'), await user('mia')]
  const staying = await connect({ token: mia.token })
  const other = await connect({ token: await login('ada') })
  const ends: Record<string, [token: string, act: () => Promise<unknown>]> = {
    'logged out': [ada.token, () => ada.call('POST', 'auth/logout')],
    disabled: [bob.token, () => call('PUT', `admin/iam/users/${bob.id}`, root, { enabled: false })],
    deleted: [eve.token, () => call('DELETE', `admin/iam/users/${eve.id}`, root)],
  }
  for (const [name, [token, act]] of Object.entries(ends)) {
    const client = await connect({ token })
    const { sessionId } = client.hello
    t.equal(presence.ofSession(sessionId), 1)
    await clock.advance(3_000)
    await client.settled()
    t.hasStrict(await act(), { code: '200' })
    await clock.advance(3_000)
    t.same(await client.closed, [4401, 'session-ended'], name)
    await until(() => presence.sockets === 2, 'only the other connections are left')
    t.equal(presence.ofSession(sessionId), 0)
  }
  for (const client of [staying, other]) await client.settled()
  await clock.advance(120_000)
  t.same(await staying.closed, [4401, 'session-ended'], 'an open connection is no use of a session: it becomes idle')
  t.same(await other.closed, [4401, 'session-ended'])
})

t.test('[N-007] when the product stops, clients are asked to disconnect', async (t) => {
  const { user, connect, running, url } = await start(t)
  const ada = await user('ada')
  const clients = await Promise.all(Array.from({ length: 10 }, () => connect({ token: ada.token })))
  const stopped = running.stop('test ended')
  for (const { closed } of clients) t.same(await closed, [1001, 'going-away'])
  await stopped
  await t.rejects(fetch(url))
})

t.test(
  '[N-007] connections stay open until the server accepts no more, so that no client connects again to this instance',
  async (t) => {
    const { user, connect, running, clock } = await start(t, {
      'platform.http.drain-delay': '5s',
      'platform.kernel.drain-deadline': '30s',
    })
    const ada = await user('ada')
    const early = await connect({ token: ada.token })
    const stopped = running.stop('test ended')
    await until(() => running.state === 'draining', 'the product drains')
    const late = await connect({ token: ada.token }).catch((error: Error) => error)
    t.equal(early.ws.readyState, early.ws.OPEN)
    await clock.advance(5_000)
    t.same(await early.closed, [1001, 'going-away'])
    if (late instanceof Error) t.fail(`a new connection was rejected: ${late.message}`)
    else t.same(await late.closed, [1001, 'going-away'])
    await stopped
  },
)

t.test('a client that does not close its connection is disconnected at the drain deadline', async (t) => {
  const { user, connect, running } = await start(t, { 'platform.kernel.drain-deadline': '1s' })
  const ada = await user('ada')
  const client = await connect({ token: ada.token })
  client.ws.pause()
  await running.stop('test ended')
  client.ws.resume()
  await client.closed
  t.pass('the product has stopped')
})

t.test('200 connections open and close, and leave nothing behind', async (t) => {
  const { user, connect, presence, facade } = await start(t, { [`${key}.max-sockets-per-user`]: 200 })
  const ada = await user('ada')
  const clients = await Promise.all(Array.from({ length: 200 }, () => connect({ token: ada.token })))
  t.match(presence, { sockets: 200, users: 1 })
  const recipients = [{ kind: 'user', userId: ada.id } as const]
  await facade.send({ subject: 's', content: 'to all pages', recipients }, { channels: ['websocket'] })
  const received = await Promise.all(clients.map(({ next }) => next()))
  t.ok(received.every(({ data }) => data.content === 'to all pages'))
  for (const { ws } of clients) ws.close()
  await Promise.all(clients.map(({ closed }) => closed))
  // The server notices a closed connection with a delay.
  await until(() => presence.sockets === 0, 'nobody is connected')
  t.equal(presence.users, 0)
  t.equal(presence.ofUser(ada.id), 0)
  t.ok(await connect({ token: ada.token }), 'every place was given back')
})
