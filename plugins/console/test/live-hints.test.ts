/**
 * Tests the messages that the server sends to open pages of the back office. They only report that something has
 * changed.
 */

import { manualClock, rejectsWith, until } from '@plinth/dev/testing'
import { createDatabase, onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis } from '@plinth/dev/testing/shared-store'
import type { JsonValue } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { HintStreams } from '../src/admin/hint-streams.ts'
import { startLiveOffice } from './fixtures/live-office.ts'

const outbox = ['getAdminEventsOutbox', 'getAdminEventsOutboxBacklog', 'getAdminEventsOutboxById']
const roles = ['getAdminIamRoles', 'getAdminIamRolesById']
const heartbeatMs = 15_000

async function startOn(t: Test, config?: Readonly<Record<string, JsonValue>>) {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  return startLiveOffice((work) => t.teardown(work), at, config)
}

t.test('a caller who is not signed in receives no hints', async (t) => {
  const office = await startOn(t)
  const { response } = await office.listen('')
  t.equal(response.headers.get('content-type'), 'application/json; charset=utf-8')
  t.hasStrict(await office.call('GET', 'admin/console/events'), { code: '401' })
})

t.test(
  'each operator receives hints only for operations that they may call, and one message a second for any number of writes',
  async (t) => {
    const office = await startOn(t)
    const { clock, write } = office
    const root = await office.root()
    const role = await office.call('POST', 'admin/iam/roles', root, {
      code: 'outbox',
      name: 'Outbox',
      dataScope: 'all',
      permissions: ['events:outbox:view'],
    })
    const roleId = (role.data as { id: number }).id
    const { password, actor } = office
    await office.people.create({ username: 'anna', password, roleIds: [roleId] }, actor)
    await office.people.create({ username: 'bert', password }, actor)
    // The users sign in before the test listens, because a login also sends a message.
    const [anna, bert] = [await office.signIn('anna'), await office.signIn('bert')]
    const everything = await office.listen(root)
    const some = await office.listen(anna)
    const nothing = await office.listen(bert)
    t.match(Object.fromEntries(everything.response.headers), {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store, no-transform',
      'x-accel-buffering': 'no',
    })
    for (let count = 0; count < 200; count++) await write(count % 2 === 0 ? 'outbox_event' : 'iam_role')
    await clock.advance(1_000)
    t.strictSame(await everything.hint(), [...outbox, ...roles])
    t.strictSame(await some.hint(), outbox)
    await write('outbox_event')
    await clock.advance(1_000)
    t.strictSame(await everything.hint(), outbox, 'the next second')
    t.strictSame(await some.hint(), outbox)
    await clock.advance(heartbeatMs)
    for (const listener of [everything, some, nothing])
      t.equal(await listener.next(), ': alive', 'a sign of life, and no message before it')

    t.hasStrict(
      await office.call('PUT', `admin/iam/roles/${roleId}`, root, {
        name: 'Outbox',
        dataScope: 'all',
        permissions: [],
        version: 1,
      }),
      { code: '200' },
    )
    await clock.advance(heartbeatMs)
    t.equal(await some.next(), ': alive')
    await write('outbox_event')
    await clock.advance(heartbeatMs)
    t.equal(await some.next(), ': alive', 'a user without the permission gets no more hints for the operation')
    for (const listener of [everything, some, nothing]) listener.leave()
  },
)

t.test('a stream ends soon after its session', async (t) => {
  const office = await startOn(t, { 'platform.iam.token.idle-timeout': '10m' })
  const token = await office.root()
  const other = await office.signIn('root')
  const ended = await office.listen(token)
  const standing = await office.listen(other)
  t.hasStrict(await office.call('POST', 'auth/logout', token), { code: '200' })
  await office.clock.advance(heartbeatMs)
  for (const listener of [ended, standing]) t.strictSame(await listener.hint(), ['getAdminIamAudits'])
  t.equal(await ended.next(), 'event: end\ndata:')
  t.equal(await ended.next(), undefined)
  t.equal(await standing.next(), ': alive')
  await office.clock.advance(11 * 60_000)
  let last: string | undefined
  for (let block = await standing.next(); block !== undefined; block = await standing.next()) last = block
  t.equal(last, 'event: end\ndata:', 'it is not kept alive by listening')
})

t.test('a command reports its writes, does not count as an instance and prints nothing', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const office = await startLiveOffice((work) => t.teardown(work), at)
  const listener = await office.listen(await office.root())
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const command = await startLiveOffice(async () => {}, at, {}, { roles: ['cli'], logger })
  const signs = () => office.db.query('select id from shared_store_message where channel = ?', ['process'])
  const before = await signs()
  await command.write('outbox_event')
  await command.clock.advance(60_000)
  await command.running.stop('the command ended')
  const complaints = lines.filter((line) => !line.includes('PLINTH_PLAN_NOT_IMPLEMENTED'))
  t.strictSame(complaints, [], 'nothing is said about messages to others')
  t.strictSame(await signs(), before, 'no sign of life, after which the others would look more often')
  let received: string | undefined
  const hearing = (async () => {
    do received = await listener.next()
    while (received === ': alive')
  })()
  // The other instances poll for messages at their own interval, so they forward them later.
  await until(
    async () => {
      await office.clock.advance(1_000)
      return received !== undefined && received !== ': alive'
    },
    'the listener hears of the message',
    0,
  )
  await hearing
  t.match(received, /getAdminEventsOutbox/, 'a page that is open hears of it')
  listener.leave()
})

t.test('a user has at most twenty streams, and can open another one after closing a page', async (t) => {
  const office = await startOn(t)
  const token = await office.root()
  const listeners = await Promise.all(Array.from({ length: 20 }, () => office.listen(token)))
  t.hasStrict(await office.call('GET', 'admin/console/events', token), {
    code: '429',
    data: { reason: 'console.too-many-streams' },
  })
  listeners[0]?.leave()
  // The server notices a closed connection only after a delay.
  let again = await office.listen(token)
  const hasPlace = async () => {
    if (again.response.headers.get('content-type') === 'text/event-stream') return true
    again = await office.listen(token)
    return false
  }
  await until(hasPlace, 'a place is free')
  for (const listener of [...listeners, again]) listener.leave()
})

t.test('a stopping product does not wait for open streams', async (t) => {
  const office = await startOn(t)
  const listener = await office.listen(await office.root())
  // The clock of this instance does not advance, so no deadline can end the stream.
  await office.running.stop('test')
  t.equal(await listener.next(), undefined)
})

const principal = (userId: number, permissions: readonly string[] = ['iam:user:view']) =>
  ({ userId, sessionId: userId, isSuperAdmin: false, permissions: new Set(permissions), can: () => true }) as never

const page = { id: 'overview', title: 'Overview', pages: [] }
const streamsWith = (groups: readonly (typeof page)[] = [page]) =>
  new HintStreams({
    book: {
      readers: new Map([['shop', new Set(['a'.repeat(4_096)])]]),
      callable: async (ids) => [...ids],
      groups: async () => groups,
    },
    identity: { standingSessions: async (ids) => new Set(ids), principalOf: async (id) => principal(id) },
    wanted: () => {},
    clock: manualClock(),
    log: pino({ level: 'silent' }) as never,
  })

t.test('a stream begins with a comment, so that the browser knows at once that it is open', async (t) => {
  const streams = streamsWith()
  const stream = await streams.open(principal(1))
  t.equal(String(stream.read()), ': open\n\n')
  streams.stop()
})

t.test('accounts without permissions do not use up the streams of operators', async (t) => {
  const streams = streamsWith()
  const full = { code: '429', reason: 'console.too-many-streams' }
  let open = 0
  for (let user = 1; user <= 26; user++)
    for (let count = 0; count < 20; count++)
      await streams.open(principal(user, [])).then(
        () => (open += 1),
        (error: unknown) => t.match(error, full),
      )
  t.equal(open, 100)
  for (let count = 0; count < 20; count++) await streams.open(principal(100))
  await rejectsWith(t, streams.open(principal(100)), full, 'one operator has twenty as before')
  streams.stop()
  const closed = streamsWith([])
  await rejectsWith(t, closed.open(principal(1)), { code: '403', reason: 'console.no-page' })
  closed.stop()
})

t.test('a client that does not read is disconnected, and an instance limits its streams', async (t) => {
  const streams = streamsWith()
  const silent = await streams.open(principal(1))
  for (let count = 0; count < 6; count++) await streams.tell(['shop'])
  t.ok(silent.destroyed)
  t.ok(silent.readableLength < 32_768)
  for (let user = 2; user < 502; user++) await streams.open(principal(user))
  await rejectsWith(t, streams.open(principal(502)), { code: '429' })
  streams.stop()
  await rejectsWith(t, streams.open(principal(1)), { code: '503' })
})

/** Writes on one instance until the other instance reports the change. */
async function heardElsewhere(t: Test, at: TestDatabase, config: Readonly<Record<string, JsonValue>>) {
  const teardown = (work: () => Promise<void>) => t.teardown(work)
  const one = await startLiveOffice(teardown, at, config)
  const two = await startLiveOffice(teardown, at, config)
  const listener = await one.listen(await one.root())
  let received: readonly string[] | undefined
  const arrived = listener.hint().then((operations) => {
    received = operations
  })
  // The clock must not advance faster than the servers work.
  await until(async () => {
    await two.write('outbox_event')
    for (const { clock } of [two, one]) await clock.advance(500)
    return received !== undefined
  }, 'what the other one wrote is heard')
  await arrived
  t.strictSame(received, outbox)
  listener.leave()
  return { one, two }
}

onDatabase(t, 'writes of another instance are reported through the database', async (t, at) => {
  const { two } = await heardElsewhere(t, at, { 'platform.shared-store.database.poll-interval': '100ms' })
  const said = async () =>
    (await two.db.query<{ content: string }>('select content from shared_store_message')).filter(({ content }) =>
      content.includes('outbox_event'),
    ).length
  /** Waits so long that no instance is polling any more, and that all messages are in the database. */
  const later = async () => {
    for (let beat = 0; beat < 8; beat++) {
      await two.clock.advance(heartbeatMs)
      await said()
    }
    return said()
  }
  // A report of a poll, or of an earlier write, may still arrive, so the test waits until the number is stable.
  let [before, after] = [-1, await later()]
  for (const late = AbortSignal.timeout(120_000); before !== after; late.throwIfAborted()) {
    before = after
    await two.write('outbox_event')
    await two.clock.advance(2_000)
    after = await later()
  }
  t.equal(after, before, 'where nobody looks nothing is said')
})

t.test('writes of another instance are reported through Redis', { skip: skipRedis }, async (t) => {
  const at = await createDatabase('sqlite')
  const redis = createRedisNamespace()
  t.teardown(async () => {
    await redis.drop()
    await at.drop()
  })
  await heardElsewhere(t, at, redis.config)
})
