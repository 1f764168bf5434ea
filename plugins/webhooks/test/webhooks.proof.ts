import { fork } from 'node:child_process'
import dns from 'node:dns'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { until, watchProcess } from '@plinth/dev/testing'
import { onEachDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import t, { type Test } from 'tap'
import { schedule } from '../src/schedule.ts'
import { configOf, startWebhooks } from './fixtures/product.ts'
import { isSignedBy, type Respond, startReceiver, status } from './fixtures/receiver.ts'

/** Rows of the printed table: what was tried, how often, and how often the promise held. */
const held: { readonly promise: string; readonly tries: number; readonly held: number }[] = []
const count = (promise: string, results: readonly boolean[]) => {
  held.push({ promise, tries: results.length, held: results.filter(Boolean).length })
  return results.every(Boolean)
}
t.teardown(() => console.table(held))

onEachDatabase(t, 'a receiver that is down for 75 hours gets every event on the last attempt', async (t, at) => {
  const receiver = await startReceiver(t, status(500))
  const { root, login, publish, attempted, deliveries, passUntil, createEndpoint } = await startWebhooks(t, at, {
    hosts: [receiver.host],
  })
  const { id, secret } = await createEndpoint(root, receiver.url)
  for (let at = 0; at < 3; at++) await publish()
  await attempted()
  const faults: readonly Respond[] = [
    status(500),
    status(302, { location: 'http://127.0.0.1:1/' }),
    status(429),
    status(503),
    status(404),
  ]
  const onTime: boolean[] = []
  let next = secret
  for (const [index, pause] of schedule.entries()) {
    if (index === 0) continue
    const isLast = index === schedule.length - 1
    receiver.respond = isLast ? status(200) : (faults[index % faults.length] as Respond)
    if (index === 5) {
      const rotate = { graceSeconds: 86_400 }
      next = (await (await login('root'))('POST', `/endpoints/${id}/rotate-secret`, rotate)).data.secret
    }
    for (const row of await deliveries()) {
      // The clock may move by some seconds while the attempt runs.
      const waitMs = row.nextAt.getTime() - Date.parse(row.attemptLog.at(-1)?.startedAt ?? '')
      onTime.push(waitMs >= pause && waitMs <= pause * 1.1 + 7_000)
    }
    const isEnded = ({ attempts, leaseToken }: { readonly attempts: number; readonly leaseToken?: unknown }) =>
      attempts === index + 1 && leaseToken === null
    await passUntil(Math.ceil(pause * 1.1) + 1_000, (rows) => rows.every(isEnded))
  }
  const rows = await deliveries()
  t.ok(count(`${at.dialect}: each attempt has the time of the schedule`, onTime))
  t.ok(
    count(
      `${at.dialect}: delivered on the tenth attempt`,
      rows.map((row) => row.status === 'delivered' && row.attempts === 10),
    ),
  )
  const ids = new Set(receiver.requests.map(({ headers }) => headers['webhook-id']))
  t.equal(ids.size, 3)
  t.equal(receiver.requests.length, 30)
  t.ok(
    count(
      `${at.dialect}: signed with the current secret`,
      receiver.requests.slice(-3).map((one) => isSignedBy(one, next)),
    ),
  )
})

onEachDatabase(t, 'a receiver that stays down fails, and its events can be sent again', async (t, at) => {
  const receiver = await startReceiver(t, status(500))
  const { root, login, publish, attempted, settled, deliveries, clock, passUntil, createEndpoint } =
    await startWebhooks(t, at, { hosts: [receiver.host] })
  const { id } = await createEndpoint(root, receiver.url)
  const from = new Date(clock.now() - 1_000).toISOString()
  await publish()
  await attempted()
  for (const [index, pause] of schedule.entries()) {
    if (index === 0) continue
    const isEnded = ({ attempts, leaseToken }: { readonly attempts: number; readonly leaseToken?: unknown }) =>
      attempts === index + 1 && leaseToken === null
    await passUntil(Math.ceil(pause * 1.1) + 1_000, (rows) => rows.every(isEnded))
  }
  t.same(
    (await deliveries()).map((row) => row.status),
    ['failed'],
  )
  receiver.respond = status(200)
  const range = { from, to: new Date(clock.now()).toISOString() }
  const again = await login('root')
  t.same((await again('POST', `/endpoints/${id}/redeliver`, range)).data, { redelivered: 1, isMore: false })
  await settled(([row]) => row?.status === 'delivered')
  t.equal(new Set(receiver.requests.map(({ headers }) => headers['webhook-id'])).size, 1)
})

/** Starts a process that sends webhooks. */
const startSender = (t: Test, config: object) =>
  watchProcess(
    t,
    fork(new URL('fixtures/sender-process.ts', import.meta.url), [JSON.stringify(config)], {
      silent: true,
      execArgv: ['--disable-warning=ExperimentalWarning'],
    }),
  )

/** A product that does not send, a receiver, and endpoints of it. */
async function startWithReceiver(t: Test, at: TestDatabase, respond: Respond) {
  const receiver = await startReceiver(t, respond)
  const settings = { hosts: [receiver.host], roles: ['web' as const], isRealTime: true }
  const product = await startWebhooks(t, at, settings)
  for (let index = 0; index < 3; index++) await product.createEndpoint(product.root, `${receiver.url}/${index}`)
  const fast = { 'platform.webhooks.poll-interval': '50ms', 'platform.events.dispatcher.lease': '1s' }
  const config = configOf(at, { hosts: [receiver.host], config: fast })
  return { ...product, receiver, config }
}

const kills = 20

onEachDatabase(t, 'processes that are killed lose nothing, and each attempt is accounted for', async (t, at) => {
  const slow: Respond = (_, response) => setTimeout(() => response.writeHead(204).end(), 5 + Math.random() * 40)
  const { receiver, config, publish, deliveries, db } = await startWithReceiver(t, at, slow)
  const eventsPerKill = 10
  const total = 3 * eventsPerKill * kills
  let killed = 0
  for (; killed < kills; killed++) {
    for (let index = 0; index < eventsPerKill; index++) await publish()
    const sender = startSender(t, config)
    const before = receiver.requests.length
    await until(() => sender.messages.includes('started'), 'the process started', 20)
    await until(() => receiver.requests.length >= before + 1 + Math.random() * 10, 'the process sends', 1)
    t.same(await sender.end('SIGKILL'), [null, 'SIGKILL'])
    // The claims of the killed process end, without waiting for their time.
    const past = new Date(db.clock.now() - 1_000)
    await db.execute("update webhook_delivery set next_at = ? where status = 'pending'", [past])
  }
  startSender(t, config)
  await until(
    async () =>
      (await deliveries()).every((row) => row.status === 'delivered') && (await deliveries()).length === total,
    'all are delivered',
    50,
  )
  const rows = await deliveries()
  const requests = Map.groupBy(receiver.requests, ({ headers }) => String(headers['webhook-id']))
  t.equal(killed, kills)
  t.ok(
    count(
      `${at.dialect}: received after ${kills} kills`,
      rows.map(({ id }) => requests.has(`msg_${id}`)),
    ),
  )
  const isAccounted = ({ id, attempts, attemptLog }: (typeof rows)[number]) =>
    attemptLog.length === attempts &&
    attemptLog.every(({ number }, index) => number === index + 1) &&
    attemptLog.filter(({ outcome }) => outcome === 'succeeded').length === 1 &&
    attemptLog.every(({ outcome }, index) => outcome === (index === attempts - 1 ? 'succeeded' : 'interrupted')) &&
    (requests.get(`msg_${id}`)?.length ?? 0) <= attempts
  t.ok(count(`${at.dialect}: each attempt is in the log`, rows.map(isAccounted)))
  t.ok(
    rows.some(({ attempts }) => attempts > 1),
    'kills interrupted attempts',
  )
})

onEachDatabase(t, 'two instances never send a delivery at the same time', async (t, at) => {
  const running = new Map<string, number>()
  const overlaps: boolean[] = []
  const respond: Respond = (request, response) => {
    const id = String(request.headers['webhook-id'])
    const now = (running.get(id) ?? 0) + 1
    running.set(id, now)
    overlaps.push(now === 1)
    setTimeout(() => {
      running.set(id, now - 1)
      response.writeHead(204).end()
    }, 20)
  }
  const { receiver, config, publish, deliveries } = await startWithReceiver(t, at, respond)
  for (let index = 0; index < 100; index++) await publish()
  const senders = [startSender(t, config), startSender(t, config)]
  for (const { messages } of senders) await until(() => messages.includes('started'), 'a process started', 20)
  await until(
    async () => (await deliveries()).length === 300 && (await deliveries()).every((row) => row.status === 'delivered'),
    'all are delivered',
    50,
  )
  t.ok(count(`${at.dialect}: two instances, never at the same time`, overlaps))
  const ids = receiver.requests.map(({ headers }) => String(headers['webhook-id']))
  t.equal(new Set(ids).size, 300)
  t.ok(
    count(
      `${at.dialect}: two instances, sent once`,
      [...Map.groupBy(ids, (id) => id).values()].map(({ length }) => length === 1),
    ),
  )
})

onEachDatabase(t, 'each endpoint receives only events in its scope while users move', async (t, at) => {
  const receiver = await startReceiver(t)
  const { root, anna, ben, cleo, ids, db, publish, attempted, createEndpoint } = await startWebhooks(t, at, {
    hosts: [receiver.host],
  })
  const calls = { root, anna, ben, cleo }
  for (const [name, call] of Object.entries(calls)) await createEndpoint(call, `${receiver.url}/${name}`)
  const orgOf: Record<string, number> = { anna: 1, ben: 1, cleo: 2 }
  const mayHear = (name: string, owner: string) =>
    name === 'root' || name === owner || (name !== 'ben' && orgOf[name] === orgOf[owner])
  const right: boolean[] = []
  const names = Object.keys(orgOf)
  let random = 7
  const pick = (from: readonly string[]) => {
    random = (random * 48_271) % 2_147_483_647
    return from[random % from.length] as string
  }
  for (let round = 0; round < 60; round++) {
    const mover = pick(names)
    orgOf[mover] = 3 - (orgOf[mover] as number)
    await db.execute('update iam_user set org_id = ? where username = ?', [orgOf[mover] as number, mover])
    const owner = pick(names)
    receiver.requests.length = 0
    await publish({ userId: ids[owner] as number })
    await attempted()
    const heard = new Set(receiver.requests.map(({ path }) => path.split('/').at(-1) as string))
    for (const name of Object.keys(calls)) right.push(heard.has(name) === mayHear(name, owner))
  }
  t.ok(count(`${at.dialect}: heard if and only if in the data scope`, right))
})

/** Starts a server that sends headers without end. */
async function startDrippingServer(t: Test): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.write('HTTP/1.1 200 OK\r\n')
    const timer = setInterval(() => socket.write(`x-${Date.now()}: y\r\n`), 5)
    socket.on('close', () => clearInterval(timer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

onEachDatabase(t, 'slow, rebinding and hostile receivers are cut off', async (t, at) => {
  // The name has a public address when the endpoint is created, and a private one later.
  const addresses = ['127.0.0.1', '127.0.0.2']
  const { lookup } = dns
  const rebinding = (host: string, options: dns.LookupOptions, callback: (...found: never[]) => void) => {
    if (!host.startsWith('rebinding')) return lookup(host, options, callback as never)
    const found = [{ address: addresses.shift() ?? '127.0.0.2', family: 4 }]
    return (callback as (error: null, addresses: object[]) => void)(null, found)
  }
  dns.lookup = Object.assign(rebinding, lookup) as unknown as typeof lookup
  syncBuiltinESMExports()
  t.teardown(() => {
    dns.lookup = lookup
    syncBuiltinESMExports()
  })
  const receiver = await startReceiver(t, (_, response) => response.writeHead(500, { connection: 'close' }).end())
  const dripping = await startDrippingServer(t)
  const config = {
    'platform.outgoing-http.allowed-cidrs': ['127.0.0.1/32'],
    'platform.outgoing-http.allowed-ports': [String(receiver.port), String(dripping)],
  }
  const { root, publish, attempted, settled, deliveries, clock, passUntil, createEndpoint, db } = await startWebhooks(
    t,
    at,
    {
      config,
    },
  )
  const { id } = await createEndpoint(root, `http://rebinding.test:${receiver.port}/`)
  await publish()
  await attempted()
  t.equal((await deliveries())[0]?.lastReason, 'http-500')
  await passUntil(6_000, ([row]) => row?.attempts === 2 && row.leaseToken === null)
  t.equal((await deliveries())[0]?.lastReason, 'address-refused')
  t.equal(receiver.requests.length, 1)

  receiver.respond = () => undefined
  const late: boolean[] = []
  for (const port of [receiver.port, dripping]) {
    await db.execute('update webhook_endpoint set url = ? where id = ?', [`http://127.0.0.1:${port}/`, id])
    await publish()
    await settled((rows) => rows.at(-1)?.leaseToken !== null, 'the request is sent')
    await new Promise((resolve) => setTimeout(resolve, 200))
    while ((await deliveries()).at(-1)?.leaseToken !== null) {
      await clock.advance(1_000)
      // The end of the request is real work, during which this time must not pass.
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    late.push(((await deliveries()).at(-1)?.attemptLog.at(-1)?.durationMs ?? Number.NaN) <= 16_000)
    t.match((await deliveries()).at(-1)?.lastReason, /^(deadline-exceeded|answer-timeout|answer-invalid)$/)
  }
  t.ok(count(`${at.dialect}: slow receivers end in 15 s`, late))
})
