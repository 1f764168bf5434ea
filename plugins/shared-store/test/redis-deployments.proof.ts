/** Tests the shared store on sentinels and on a cluster: contracts, failovers, silent servers, rights, TLS, rotation. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import databasePlugin from '@plinth/database'
import { rateLimitJointCases, rateLimitStoreCases } from '@plinth/dev/conformance'
import { type SharedStoreHarness, sharedStoreCases } from '@plinth/dev/conformance/shared-store'
import { assertMembers, rejectsWith, startForTest, until } from '@plinth/dev/testing'
import { skipWithoutRedisProgram, startRedis } from '@plinth/dev/testing/shared-store'
import { defineProduct, healthCheck, type JsonValue } from '@plinth/kernel'
import sharedStorePlugin, { sharedStore } from '@plinth/shared-store'
import { Queue, Worker } from 'bullmq'
import t, { type Test } from 'tap'
import { startInstance, storeOf } from '../../rate-limit-stores/test/fixtures/product.ts'
import type { NodeOptions } from '../src/redis-clients.ts'
import { patience, settle, twoInstances } from './fixtures/instances.ts'
import { type RedisServer, send, startCluster, startSentinels } from './fixtures/redis-servers.ts'

type Config = Readonly<Record<string, JsonValue>>

const options = { skip: skipWithoutRedisProgram, timeout: 900_000 }
const memory = { 'platform.database.sqlite.file': ':memory:' }

const startStore = async (t: Test, config: Config, roles?: readonly 'cli'[]) => {
  const product = defineProduct({
    name: 'test',
    plugins: [databasePlugin, sharedStorePlugin],
    config: { ...memory, 'platform.cache.enabled': true, ...config },
  })
  const running = await startForTest(product, roles === undefined ? {} : { roles })
  t.teardown(() => running.stop('test ended'))
  return { running, store: running.service(sharedStore) }
}

const deployments = {
  async sentinel(t: Test) {
    const sentinels = await startSentinels()
    t.teardown(() => sentinels.drop())
    return sentinels
  },
  async cluster(t: Test) {
    const cluster = await startCluster()
    t.teardown(() => cluster.drop())
    return { ...cluster, servers: cluster.nodes as readonly RedisServer[] }
  },
}

/** Returns the ports of all servers that accept writes. */
async function primaryPorts(servers: readonly RedisServer[]): Promise<number[]> {
  const roles = await Promise.all(servers.map(({ port }) => send(port, ['role']) as Promise<string[]>))
  return servers.flatMap(({ port }, index) => (roles[index]?.[0] === 'master' ? [port] : []))
}

const clear = async (servers: readonly RedisServer[]) => {
  for (const port of await primaryPorts(servers)) await send(port, ['flushall'])
}

t.test('the shared store obeys its contract on sentinels', { ...options }, async (t) => {
  const { config, servers } = await deployments.sentinel(t)
  const { instances, stop } = await twoInstances({ ...memory, ...config })
  t.teardown(stop)
  const create = async (): Promise<SharedStoreHarness> => {
    await clear(servers)
    return { instances, pass: (ms) => pause(ms), settle: () => settle(instances), stop: async () => {} }
  }
  for (const { name, run } of sharedStoreCases(create, patience)) await t.test(name, run)
})

for (const [name, deploy] of Object.entries(deployments)) {
  t.test(`the limiter stores obey their contract on ${name}`, { ...options }, async (t) => {
    const { config, servers } = await deploy(t)
    const values = { ...memory, ...config, 'platform.cache.command-timeout': '2s' }
    const [one, two] = [await startInstance(values), await startInstance(values)]
    t.teardown(() => one.stop('test ended'))
    t.teardown(() => two.stop('test ended'))
    const entries = async () => {
      const sizes = await Promise.all((await primaryPorts(servers)).map((port) => send(port, ['dbsize'])))
      return sizes.reduce<number>((sum, size) => sum + Number(size), 0)
    }
    // With all servers frozen, no replica can take over.
    const disconnect = () => {
      for (const server of servers) server.freeze()
    }
    const stop = () => {
      for (const server of servers) server.thaw()
    }
    const request = { key: 'ready', limit: 5, windowMs: 60_000, cost: 1 }
    for (const name of ['shared-window', 'shared-bucket'] as const) {
      const [store, other] = [storeOf(one, name), storeOf(two, name)]
      const responds = async () => {
        for (const each of [store, other]) await each.consume(request)
        return true
      }
      const create = async () => {
        await until(() => responds().catch(() => false), 'both instances are connected')
        await clear(servers)
        return { store, other, entries, stop }
      }
      const given = { ...patience, disconnect }
      const ownTime = { pass: (ms: number) => pause(ms), toleranceMs: 5 }
      const cases = [...rateLimitJointCases(create, given), ...rateLimitStoreCases(create, { ...given, ownTime })]
      for (const { name: title, run } of cases) await t.test(`${name}: ${title}`, { timeout: 600_000 }, run)
    }
  })
}

/** Calls until it is stopped. Records how many calls succeeded, failed, and the longest call in milliseconds. */
function callOften(call: () => Promise<unknown>, restMs = 5) {
  const seen = { succeeded: 0, failed: 0, longestMs: 0, lastFailedAt: 0, codes: new Set<string>() }
  let isOver = false
  const running = (async () => {
    while (!isOver) {
      const begin = performance.now()
      await call().then(
        () => {
          seen.succeeded += 1
        },
        (error: { code?: string }) => {
          seen.failed += 1
          seen.lastFailedAt = performance.now()
          seen.codes.add(String(error.code))
        },
      )
      seen.longestMs = Math.max(seen.longestMs, performance.now() - begin)
      await pause(restMs)
    }
  })()
  return {
    seen,
    async stop() {
      isOver = true
      await running
      return seen
    },
  }
}

const commandTimeoutMs = 1000
const quick = { 'platform.cache.command-timeout': `${commandTimeoutMs}ms`, 'platform.cache.connect-timeout': '2s' }
/** Margin for a busy host. */
const lateMs = 1500

/** Uses the store while something happens to Redis. Prints and checks how long calls took and when they succeed again. */
async function endure(t: Test, what: string, config: Config, happen: () => Promise<unknown>) {
  const { store } = await startStore(t, { ...config, ...quick })
  const received: number[] = []
  let gaps = 0
  await store.subscribe(
    'news',
    (text) => received.push(Number(text)),
    () => {
      gaps += 1
    },
  )
  let sent = 0
  const written = new Map<string, string>()
  const request = { key: 'limit', limit: 1_000_000, windowMs: 3_600_000, cost: 1 }
  let counter = 0
  const load = {
    values: callOften(async () => {
      const name = `value ${counter++}`
      await store.set(name, name, 600_000)
      written.set(name, name)
    }),
    quotas: callOften(() => store.quota.decide('window', request, true)),
    joint: callOften(() => store.quota.decideAll('bucket', [request, { ...request, key: 'other limit' }])),
    locks: callOften(async () => (await store.acquire(`lock ${counter++}`, 60_000))?.release()),
    messages: callOften(async () => {
      await store.publish('news', `${sent}`)
      sent += 1
    }, 20),
  }
  const begin = performance.now()
  const sleep = async (ms: number) => pause(ms)
  await sleep(1000)
  const happenedAt = performance.now()
  await happen()
  const settled = async () => {
    const all = Object.values(load).map(({ seen }) => seen.succeeded)
    await pause(500)
    return Object.values(load).every(({ seen }, index) => {
      return seen.succeeded > (all[index] ?? 0) && performance.now() - seen.lastFailedAt > 400
    })
  }
  await until(settled, 'all calls succeed again')
  const seen = await Promise.all(Object.entries(load).map(async ([name, { stop }]) => [name, await stop()] as const))
  await until(async () => {
    await store.publish('news', '-1')
    return received.includes(-1)
  }, 'messages arrive again')
  const missing = (
    await Promise.all([...written].map(async ([name, value]) => (await store.get(name)) !== value))
  ).filter(Boolean)
  const quota = await store.quota.decide('window', request, false)
  const taken = seen.find(([name]) => name === 'quotas')?.[1].succeeded ?? 0
  const counted = request.limit - quota.remaining - 1
  const lastFailure = Math.max(happenedAt, ...seen.map(([, { lastFailedAt }]) => lastFailedAt))
  t.comment(
    `${what}: errors ended after ${((lastFailure - happenedAt) / 1000).toFixed(1)} s; acknowledged values missing: ${missing.length} of ${written.size}; ` +
      `granted units not counted: ${Math.max(0, taken - counted)} of ${taken}; messages missed: ${sent - new Set(received.filter((n) => n >= 0)).size} of ${sent}, gaps reported: ${gaps}`,
  )
  for (const [name, { succeeded, failed, longestMs, codes }] of seen) {
    t.comment(`${what}: ${name}: ${succeeded} succeeded, ${failed} failed, longest ${Math.round(longestMs)} ms`)
    t.ok(longestMs < commandTimeoutMs + lateMs, `${name} never wait longer than the command timeout`)
    t.same(
      [...codes].filter((code) => code !== 'PLINTH_SHARED_STORE_UNAVAILABLE'),
      [],
      `${name} report an outage only`,
    )
  }
  t.ok(performance.now() - begin < 120_000)
  return {
    missing: missing.length,
    written: written.size,
    gaps,
    lost: sent - new Set(received.filter((n) => n >= 0)).size,
  }
}

t.test('failures of a primary with sentinels', { ...options }, async (t) => {
  const sentinels = await startSentinels()
  t.teardown(() => sentinels.drop())
  const { config } = sentinels
  const failover = await endure(t, 'sentinel failover', config, () => sentinels.failover())
  t.ok(failover.gaps > 0 || failover.lost === 0, 'subscribers learn that messages were missed')
  await endure(t, 'primary frozen for 8 s', config, async () => {
    const frozen = await sentinels.primary()
    frozen.freeze()
    await pause(8000)
    frozen.thaw()
  })
  const gone = await endure(t, 'all sentinels gone', config, async () => {
    await Promise.all(sentinels.sentinels.map(({ kill }) => kill()))
    await pause(3000)
    await Promise.all(sentinels.sentinels.map(({ start }) => start()))
  })
  t.equal(gone.missing, 0, 'the connections to the primary continue without sentinels')
  await endure(t, 'primary killed', config, async () => {
    const killed = await sentinels.primary()
    await killed.kill()
    await until(async () => (await sentinels.primary()).port !== killed.port, 'another server is the primary')
    await killed.start()
  })
  await Promise.all(sentinels.sentinels.map(({ kill }) => kill()))
  const begin = performance.now()
  const starting = startStore(t, { ...config, ...quick })
  await rejectsWith(t, starting, {
    cause: {
      code: 'PLINTH_SHARED_STORE_UNAVAILABLE',
      message: /^Redis at primary \(sentinels .*All sentinels are unreachable/,
    },
  })
  t.ok(performance.now() - begin < 10_000, 'a start without sentinels ends')
})

t.test('failures of a cluster', { ...options }, async (t) => {
  const cluster = await startCluster()
  t.teardown(() => cluster.drop())
  const [first, second] = cluster.nodes
  const key = '{plinth:windows}:limit'
  const owner = await cluster.primaryOf(key)
  const target = [first, second].find((node) => node?.port !== owner.port) as typeof owner
  const moved = await endure(t, 'reshard of 1,000 slots', cluster.config, () => cluster.reshard(owner, target, 1000))
  t.equal(moved.missing, 0, 'moving slots loses nothing')
  await endure(t, 'cluster primary frozen for 8 s', cluster.config, async () => {
    first?.freeze()
    await pause(8000)
    first?.thaw()
  })
  await endure(t, 'cluster primary killed', cluster.config, async () => {
    // The replica may have become the primary instead of the frozen server.
    const [role] = (await send(cluster.replica.port, ['role'])) as string[]
    const victim = role === 'master' ? cluster.replica : first
    await victim?.kill()
    await pause(6000)
    await victim?.start()
  })
  for (const { port } of cluster.nodes) {
    const errors = String(await send(port, ['info', 'errorstats']))
    t.notMatch(errors, 'CROSSSLOT', `no command used several slots on ${port}`)
  }
})

const rights = (prefix: string) =>
  `resetchannels ~${prefix}:* ~{${prefix}}* ~{${prefix}:* &${prefix}:* -@all +@read +@write +@scripting +@pubsub +@connection -@dangerous +info +time`.split(
    ' ',
  )

t.test('a user with few rights is enough, and a missing right is reported by name', { ...options }, async (t) => {
  const server = await startRedis()
  t.teardown(() => server.drop())
  const user = (name: string, ...more: string[]) =>
    send(server.port, ['acl', 'setuser', name, 'on', '>secret-word', ...rights('shop'), ...more])
  const login = (name: string) => ({
    ...server.config,
    'platform.cache.username': name,
    'platform.cache.password': 'secret-word',
    'platform.cache.key-prefix': 'shop',
  })
  await user('shop')
  const { running, store } = await startStore(t, login('shop'))
  const request = { key: 'a', limit: 10, windowMs: 60_000, cost: 1 }
  await store.set('a', 'b', 1000)
  t.equal(await store.take('a'), 'b')
  t.equal((await store.increment('a', 1000)).value, 1)
  t.ok(await (await store.acquire('a', 1000))?.release())
  for (const algorithm of ['window', 'bucket'] as const) {
    t.ok((await store.quota.decide(algorithm, request, true)).allowed)
    await store.quota.decideAll(algorithm, [request, { ...request, key: 'b' }])
    await store.quota.reset(algorithm, 'a')
  }
  const received: string[] = []
  await store.subscribe('news', (text) => received.push(text))
  await store.publish('news', 'one')
  await until(() => received.length === 1, 'the message arrives')
  const ready = await running.contributions(healthCheck).get('redis')?.(new AbortController().signal)
  t.same(ready, { warnings: [] }, 'INFO shows the policy')
  await runJob(t, login('shop'))
  const denied = (await send(server.port, ['acl', 'log'])) as unknown[]
  t.same(denied, [], 'Redis has denied nothing')

  const without: [string, string[], () => Promise<unknown>, RegExp][] = []
  const limited = async (name: string, right: string[]) => {
    await user(name, ...right)
    return (await startStore(t, login(name), ['cli'])).store
  }
  const noScripts = await limited('no-scripts', ['-@scripting'])
  without.push(['scripting', [], () => noScripts.increment('a', 1000), /'evalsha'/])
  const noTime = await limited('no-time', ['-time'])
  without.push(['time', [], () => noTime.acquire('b', 1000), /time|script/i])
  const noChannels = await limited('no-channels', ['resetchannels'])
  without.push(['channels', [], () => noChannels.publish('news', 'x'), /channel/])
  const noKeys = await limited('no-keys', ['resetkeys'])
  without.push(['keys', [], () => noKeys.get('a'), /keys/])
  for (const [name, , call, message] of without) {
    await rejectsWith(t, call(), { code: 'PLINTH_SHARED_STORE_REFUSED', message }, `without ${name}`)
  }
  await user('no-info', '-info')
  const { running: blind } = await startStore(t, login('no-info'))
  const report = await blind.contributions(healthCheck).get('redis')?.(new AbortController().signal)
  const unknown = /does not permit the command INFO, so its maxmemory-policy is unknown/
  assertMembers(t, report, { warnings: [unknown] })
})

/** Runs one job through BullMQ with the connections of the store. */
async function runJob(t: Test, config: Config) {
  const { store } = await startStore(t, config)
  const { redis } = store
  if (redis === undefined) throw new Error('no Redis')
  // BullMQ does not close connections that it was given.
  const connection = (maxRetriesPerRequest: number | null) => {
    const client = redis.connect({ maxRetriesPerRequest })
    t.teardown(() => client.disconnect())
    return client
  }
  const common = { prefix: `{${redis.keyPrefix}}`, skipVersionCheck: true }
  const queue = new Queue('jobs', { ...common, connection: connection(0) })
  const ran: string[] = []
  const run = async ({ name }: { name: string }) => void ran.push(name)
  const worker = new Worker('jobs', run, { ...common, connection: connection(null) })
  const failures: unknown[] = []
  queue.on('error', (error) => failures.push(error))
  worker.on('error', (error) => failures.push(error))
  await queue.add('report', null, { removeOnComplete: true })
  await until(() => ran.length > 0, 'the job runs')
  t.same(ran, ['report'])
  await worker.close()
  await queue.close()
  t.same(failures, [], 'BullMQ reports no error')
}

t.test('jobs of BullMQ run on sentinels and on a cluster, also with few rights', { ...options }, async (t) => {
  const sentinels = await startSentinels()
  t.teardown(() => sentinels.drop())
  await runJob(t, sentinels.config)
  const cluster = await startCluster()
  t.teardown(() => cluster.drop())
  await runJob(t, cluster.config)
  for (const { port } of cluster.nodes) {
    await send(port, ['acl', 'setuser', 'shop', 'on', '>secret-word', ...rights('shop'), '+cluster|slots'])
  }
  const login = {
    ...cluster.config,
    'platform.cache.username': 'shop',
    'platform.cache.password': 'secret-word',
    'platform.cache.key-prefix': 'shop',
  }
  await runJob(t, login)
  const { store } = await startStore(t, login)
  await store.set('a', 'b')
  t.ok((await store.quota.decide('window', { key: 'a', limit: 1, windowMs: 1000, cost: 1 }, true)).allowed)
  for (const { port } of cluster.nodes) t.same(await send(port, ['acl', 'log']), [], `nothing was denied on ${port}`)
})

t.test('sentinels and their servers over TLS, with users', { ...options }, async (t) => {
  const directory = t.testdir()
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')]
  const parameters =
    '-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=redis.example'.split(' ')
  const names = ['-addext', 'subjectAltName=IP:127.0.0.1']
  execFileSync('openssl', ['req', ...parameters, ...names, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  const files = `--tls-cert-file ${certificate} --tls-key-file ${key} --tls-ca-cert-file ${certificate}`
  const tls = `--tls-auth-clients no --tls-replication yes ${files}`.split(' ')
  const client: NodeOptions = { password: 'open-sesame', tls: { rejectUnauthorized: false } }
  const ports = ['--port', '0', '--tls-port', 'PORT']
  const servers = [...ports, ...tls, '--requirepass', 'open-sesame', '--masterauth', 'open-sesame']
  const sentinels = await startSentinels({
    servers,
    sentinels: [
      'port 0',
      'tls-port PORT',
      'tls-auth-clients no',
      'tls-replication yes',
      `tls-cert-file ${certificate}`,
      `tls-key-file ${key}`,
      `tls-ca-cert-file ${certificate}`,
      'sentinel auth-pass NAME open-sesame',
      'requirepass open-sesame',
      'sentinel sentinel-pass open-sesame',
    ],
    client,
  })
  t.teardown(() => sentinels.drop())
  const config = {
    ...sentinels.config,
    'platform.cache.password': 'open-sesame',
    'platform.cache.sentinel.password': 'open-sesame',
    'platform.cache.connect-timeout': '5s',
  }
  await t.rejects(startStore(t, { ...config, 'platform.cache.tls': 'off' }), 'no connection without TLS')
  await t.rejects(startStore(t, { ...config, 'platform.cache.tls': 'verify' }), 'an unknown authority is not trusted')
  const own = getCACertificates('default')
  setDefaultCACertificates([...own, readFileSync(certificate, 'utf8')])
  t.teardown(() => setDefaultCACertificates(own))
  const { store } = await startStore(t, { ...config, 'platform.cache.tls': 'verify' })
  await store.set('a', 'b')
  const wrong = startStore(t, {
    ...config,
    'platform.cache.tls': 'verify',
    'platform.cache.sentinel.password': 'wrong-word',
  })
  const rejection = await wrong.catch((error: { cause: Error }) => error.cause)
  t.match(rejection, { message: /WRONGPASS/ })
  t.notMatch(String((rejection as Error).message), 'wrong-word')
  await sentinels.failover()
  await until(
    () =>
      store.set('a', 'c').then(
        () => true,
        () => false,
      ),
    'calls succeed after a failover over TLS',
  )
})

for (const name of ['single', 'sentinel', 'cluster'] as const) {
  t.test(`a password is rotated under load without a failed call: ${name}`, { ...options }, async (t) => {
    const file = join(t.testdir(), 'password')
    writeFileSync(file, 'first-word')
    const start = {
      async single() {
        const server = await startRedis()
        return { config: server.config, servers: [server] as readonly RedisServer[], drop: () => server.drop() }
      },
      sentinel: () => startSentinels(),
      async cluster() {
        const cluster = await startCluster()
        return { ...cluster, servers: cluster.nodes as readonly RedisServer[] }
      },
    }
    const { config, servers, drop } = await start[name]()
    t.teardown(() => drop())
    const everywhere = (...command: string[]) => Promise.all(servers.map(({ port }) => send(port, command)))
    await everywhere('acl', 'setuser', 'shop', 'on', '>first-word', '~*', '&*', '+@all')
    const login = { 'platform.cache.username': 'shop', 'platform.cache.password-file': file }
    const { store } = await startStore(t, { ...config, ...login })
    const received: string[] = []
    await store.subscribe('news', (text) => received.push(text))
    const calls = [
      callOften(() => store.increment('calls', 600_000)),
      callOften(() => store.quota.decide('window', { key: 'a', limit: 1e6, windowMs: 60_000, cost: 1 }, true)),
      callOften(() => store.publish('news', 'x')),
    ]
    const probe = store.redis?.connect({ maxRetriesPerRequest: 0 })
    t.teardown(() => probe?.disconnect())
    await pause(1000)
    writeFileSync(file, 'wrong-word')
    await pause(6000)
    await everywhere('acl', 'setuser', 'shop', '>second-word')
    writeFileSync(file, 'second-word')
    await pause(6500)
    await everywhere('acl', 'setuser', 'shop', '<first-word')
    await pause(1000)
    for (const { stop } of calls) t.match(await stop(), { failed: 0 })
    // Only the new password opens connections now.
    await everywhere('client', 'kill', 'user', 'shop')
    await until(
      () =>
        store.set('a', 'b').then(
          () => true,
          () => false,
        ),
      'the store connects with the new password',
    )
    const { length } = received
    await until(async () => {
      await store.publish('news', 'y').catch(() => {})
      return received.length > length
    }, 'messages arrive again')
    const fresh = store.redis?.connect({ maxRetriesPerRequest: 0 })
    t.teardown(() => fresh?.disconnect())
    t.equal(await fresh?.ping(), 'PONG', 'new connections use the new password')
  })
}
