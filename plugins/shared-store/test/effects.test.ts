/** Tests the effect of each configuration key of the shared store, mostly with a separate Redis server. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import databasePlugin, { database } from '@plinth/database'
import {
  assertKeyEffect,
  assertMembers,
  freePort,
  type KeyValues,
  manualClock,
  rejectsWith,
  startForTest,
  until,
  watchProcess,
} from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { skipWithoutRedisProgram, startRedis } from '@plinth/dev/testing/shared-store'
import { defineProduct, type JsonValue } from '@plinth/kernel'
import sharedStorePlugin, { sharedStore } from '@plinth/shared-store'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { send, startSentinel } from './fixtures/redis-servers.ts'

const start = async (t: Test, config: Readonly<Record<string, JsonValue>>, clock = manualClock()) => {
  const product = defineProduct({
    name: 'test',
    plugins: [databasePlugin, sharedStorePlugin],
    config: { 'platform.database.sqlite.file': ':memory:', 'platform.cache.command-timeout': '30s', ...config },
  })
  const running = await startForTest(product, { clock })
  t.teardown(() => running.stop('test ended'))
  return { clock, running, store: running.service(sharedStore) }
}

async function redisServer(t: Test, settings: (port: number) => readonly string[]) {
  const host = '127.0.0.3'
  const port = await freePort(host)
  const child = spawn('redis-server', ['-'], { stdio: ['pipe', 'pipe', 'ignore'] })
  child.stdin.end([`bind ${host}`, 'save ""', 'appendonly no', ...settings(port)].join('\n'))
  const { output, until } = watchProcess(t, child)
  await until(() => output().includes('Ready to accept connections'), 'redis-server is ready')
  return {
    host,
    port,
    config: { 'platform.cache.enabled': true, 'platform.cache.host': host, 'platform.cache.port': port },
  }
}

/** Starts a product that stores a value, and returns the outcome. */
const outcomeOf = async (t: Test, config: KeyValues) => {
  try {
    const { store } = await start(t, config)
    await store.set('k', 'v')
    return 'stored'
  } catch (error) {
    return /WRONGPASS|NOAUTH|ECONNREFUSED|certificate|$/.exec((error as Error).message)?.[0]
  }
}

t.test(
  'address, user and key names with which the product uses Redis',
  { skip: skipWithoutRedisProgram },
  async (t) => {
    const access = { 'platform.cache.username': 'shop', 'platform.cache.password': 'shop-password' }
    const { host, port, config } = await redisServer(t, (port) => [
      `port ${port}`,
      'bind 127.0.0.3 127.0.0.4',
      'user shop on >shop-password ~* &* +@all',
      'user stock on >shop-password ~* &* +@all',
    ])
    const client = new Redis({ host, port })
    t.teardown(() => client.disconnect())
    /** Stores a value. Returns what the server reports about the value and about the connections of the product. */
    const observe = async (values: KeyValues) => {
      await client.flushall()
      const { store, running } = await start(t, { ...config, ...access, ...values })
      await store.set('k', 'v')
      const places = (await client.info('keyspace')).match(/db\d+/g)
      const connections = String(await client.client('LIST')).split('\n')
      const own = connections.filter((line) => /user=(?:shop|stock)/.test(line))
      const found = (pattern: RegExp) => [...new Set(own.map((line) => pattern.exec(line)?.[1]))].join()
      const keys: string[] = []
      for (const place of places ?? []) {
        await client.select(Number(place.slice(2)))
        keys.push(...(await client.keys('*')).map((key) => /\w+/.exec(key)?.[0] ?? ''))
      }
      await running.stop('observed')
      return { places, keys, users: found(/user=(\w+)/), addresses: found(/laddr=([\d.]+)/) }
    }
    const byDefault = { places: ['db0'], keys: ['plinth'], users: 'shop', addresses: '127.0.0.3' }
    const [enabled] = await assertKeyEffect(t, 'platform.cache.enabled', { changed: true, compared: false, observe })
    t.match(enabled, { before: { places: null, users: '' }, after: byDefault })
    const [hosts] = await assertKeyEffect(t, 'platform.cache.host', { compared: host, changed: '127.0.0.4', observe })
    t.match(hosts, { before: byDefault, after: { addresses: '127.0.0.4' } })
    const [places] = await assertKeyEffect(t, 'platform.cache.database', { changed: 5, observe })
    assertMembers(t, places, { before: byDefault, after: { places: ['db5'] } })
    const [prefixes] = await assertKeyEffect(t, 'platform.cache.key-prefix', { changed: 'mall', observe })
    assertMembers(t, prefixes, { before: byDefault, after: { keys: ['mall'] } })
    const [users] = await assertKeyEffect(t, 'platform.cache.username', { compared: 'shop', changed: 'stock', observe })
    t.match(users, { before: byDefault, after: { users: 'stock' } })

    const outcome = (values: KeyValues) => outcomeOf(t, { ...config, ...access, ...values })
    const [passwords] = await assertKeyEffect(t, 'platform.cache.password', {
      compared: 'shop-password',
      changed: 'other',
      observe: outcome,
    })
    t.match(passwords, { before: 'stored', after: 'WRONGPASS' })
    const [ports] = await assertKeyEffect(t, 'platform.cache.port', {
      compared: port,
      changed: await freePort(host),
      observe: outcome,
    })
    t.match(ports, { before: 'stored', after: 'ECONNREFUSED' })
  },
)

t.test('the deployment of Redis, its addresses and a password file', { skip: skipWithoutRedisProgram }, async (t) => {
  const password = 'open-sesame'
  const server = await startRedis('--requirepass', password)
  t.teardown(() => server.drop())
  const sentinelUser =
    'user shop on >shop resetchannels &+switch-master -@all +sentinel|get-master-addr-by-name +sentinel|sentinels +subscribe +@connection'
  const admin = 'user default on >admin ~* &* +@all'
  const sentinel = await startSentinel(server.port, [admin, sentinelUser, `sentinel auth-pass NAME ${password}`], {
    password: 'admin',
    quorum: 1,
  })
  t.teardown(() => sentinel.drop())
  const port = await freePort()
  const config = {
    'platform.cache.enabled': true,
    'platform.cache.mode': 'sentinel',
    'platform.cache.port': port,
    'platform.cache.password': password,
    'platform.cache.sentinel.name': 'primary',
    'platform.cache.sentinel.nodes': [`127.0.0.1:${sentinel.port}`],
    'platform.cache.sentinel.username': 'shop',
    'platform.cache.sentinel.password': 'shop',
  }
  const without = (key: keyof typeof config) => {
    const { [key]: _left, ...rest } = config
    return rest
  }
  const stored = { before: '', after: 'stored' }
  const observe = (values: KeyValues, key: string) =>
    outcomeOf(t, { ...without(key as keyof typeof config), ...values })
  const [modes] = await assertKeyEffect(t, 'platform.cache.mode', { changed: 'sentinel', observe })
  t.match(modes, { before: 'ECONNREFUSED', after: 'stored' })
  const [nodes] = await assertKeyEffect(t, 'platform.cache.sentinel.nodes', {
    changed: config['platform.cache.sentinel.nodes'],
    observe,
  })
  t.match(nodes, stored)
  const [names] = await assertKeyEffect(t, 'platform.cache.sentinel.name', { changed: 'primary', observe })
  t.match(names, stored)
  for (const [known] of [
    await assertKeyEffect(t, 'platform.cache.sentinel.username', { changed: 'shop', observe }),
    await assertKeyEffect(t, 'platform.cache.sentinel.password', { changed: 'shop', observe }),
  ]) {
    t.match(known, { before: /^(?:WRONGPASS|NOAUTH)$/, after: 'stored' })
  }

  // A node that no other node has met does not know its address.
  const cluster = `--cluster-enabled yes --cluster-announce-ip 127.0.0.1 --cluster-port ${await freePort()}`
  const node = await startRedis(...cluster.split(' '))
  t.teardown(() => node.drop())
  await send(node.port, ['cluster', 'addslotsrange', 0, 16_383])
  await until(async () => String(await send(node.port, ['cluster', 'info'])).includes('cluster_state:ok'), 'it serves')
  const [clusters] = await assertKeyEffect(t, 'platform.cache.cluster.nodes', {
    changed: [`127.0.0.1:${node.port}`],
    observe: (values) => outcomeOf(t, { 'platform.cache.enabled': true, 'platform.cache.mode': 'cluster', ...values }),
  })
  t.match(clusters, stored)

  const file = join(t.testdir(), 'password')
  writeFileSync(file, `${password}\n`)
  const single = { 'platform.cache.enabled': true, 'platform.cache.port': server.port }
  const [files] = await assertKeyEffect(t, 'platform.cache.password-file', {
    changed: file,
    observe: (values) => outcomeOf(t, { ...single, ...values }),
  })
  t.match(files, { before: 'NOAUTH', after: 'stored' })
  const missing = start(t, { ...single, 'platform.cache.password-file': `${file}-missing` })
  await rejectsWith(t, missing, { cause: { code: 'PLINTH_SHARED_STORE_PASSWORD_FILE' } })
})

t.test('Redis over TLS', { skip: skipWithoutRedisProgram }, async (t) => {
  const directory = t.testdir()
  const [key, certificate] = [join(directory, 'key.pem'), join(directory, 'certificate.pem')]
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '2',
      '-subj',
      '/CN=nobody.example',
      '-keyout',
      key,
      '-out',
      certificate,
    ],
    { stdio: 'ignore' },
  )
  const { config } = await redisServer(t, (port) => [
    'port 0',
    `tls-port ${port}`,
    'tls-auth-clients no',
    `tls-cert-file ${certificate}`,
    `tls-key-file ${key}`,
    `tls-ca-cert-file ${certificate}`,
  ])
  const observe = (values: KeyValues) => outcomeOf(t, { ...config, ...values })
  const [outcomes] = await assertKeyEffect(t, 'platform.cache.tls', { compared: 'encrypt', changed: 'verify', observe })
  t.match(outcomes, { before: 'stored', after: 'certificate' }, 'no authority has signed the certificate')
  t.not(await observe({ 'platform.cache.tls': 'off' }), 'stored')
})

t.test('a connection that takes too long is closed', async (t) => {
  // This server accepts connections and never responds to the handshake.
  const sockets: Socket[] = []
  const mute = createServer((socket) => sockets.push(socket.on('error', () => {}))).listen(0, '127.0.0.1')
  await once(mute, 'listening')
  t.teardown(() => mute.close())
  const { port } = mute.address() as { port: number }
  const config = { 'platform.cache.enabled': true, 'platform.cache.port': port, 'platform.cache.tls': 'encrypt' }
  const [states] = await assertKeyEffect(t, 'platform.cache.connect-timeout', {
    changed: '150ms',
    async observe(values) {
      const connected = once(mute, 'connection') as Promise<[Socket]>
      const starting = start(t, { ...config, ...values }).catch(() => 'rejected')
      const [socket] = await connected
      const closed = once(socket.resume(), 'close').then(() => 'closed')
      const state = await Promise.race([closed, pause(2_000, 'open')])
      socket.destroy()
      t.equal(await starting, 'rejected')
      return state
    },
  })
  t.match(states, { before: 'open', after: 'closed' })
  const tooShort = start(t, { 'platform.cache.connect-timeout': '99ms' })
  await rejectsWith(t, tooShort, { message: /connect-timeout/ }, 'no connection succeeds in less than 100 ms')
})

t.test('a call that Redis does not answer fails in time', { skip: skipWithoutRedisProgram }, async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.drop())
  const [states] = await assertKeyEffect(t, 'platform.cache.command-timeout', {
    compared: '1s',
    changed: '30s',
    async observe(values) {
      const { store, running } = await start(t, { ...redis.config, ...values })
      redis.freeze()
      const reading = store.get('k').catch(({ code }: { code: string }) => code)
      const state = await Promise.race([reading, pause(4_000, 'waits')])
      redis.thaw()
      await reading
      await running.stop('observed')
      return state
    },
  })
  t.match(states, { before: 'PLINTH_SHARED_STORE_UNAVAILABLE', after: 'waits' })
})

t.test('without Redis, the database stores the entries until they are removed', async (t) => {
  const [rows] = await assertKeyEffect(t, 'platform.shared-store.database.sweep-interval', {
    changed: '7m',
    async observe(values) {
      const { clock, running, store } = await start(t, values)
      await store.set('k', 'v', 1_000)
      await clock.advance(200_000)
      return (await running.service(database).query('select * from shared_store_entry')).length
    },
  })
  t.match(rows, { before: 0, after: 1 })
})

t.test('without Redis, an instance polls for messages of others', async (t) => {
  const clock = manualClock()
  const sleeps: number[] = []
  const { sleep } = clock
  clock.sleep = (ms, signal) => {
    sleeps.push(ms)
    return sleep(ms, signal)
  }
  const file = await createDatabase('sqlite')
  t.teardown(() => file.drop())
  const config = {
    ...file.config,
    'platform.shared-store.database.poll-interval': '1234ms',
  }
  const { running, store } = await start(t, config, clock)
  const messages: string[] = []
  await store.subscribe('topic', (message) => messages.push(message))
  sleeps.length = 0
  const beats = async () => {
    const [count] = await running
      .service(database)
      .query<{ n: number }>('select count(*) as n from shared_store_message')
    return Number(count?.n)
  }
  await clock.advance(300_000)
  t.same([...new Set(sleeps.filter((ms) => ms < 60_000))], [5000], 'an instance that is alone hardly asks')
  t.ok((await beats()) <= 30, 'and leaves little behind')
  await store.publish('topic', 'own')
  await clock.advance(0)
  t.same(messages, ['own'], 'it hears itself at once')

  const other = await start(t, config, clock)
  await other.store.subscribe('topic', () => {})
  await clock.advance(5000)
  sleeps.length = 0
  await clock.advance(20_000)
  t.same([...new Set(sleeps.filter((ms) => ms < 60_000))], [1234], 'it polls as configured while others are there')
  await other.store.publish('topic', 'foreign')
  await clock.advance(1234)
  t.same(messages, ['own', 'foreign'])
  await other.running.stop('it leaves')
  await clock.advance(60_000)
  sleeps.length = 0
  await clock.advance(20_000)
  t.same([...new Set(sleeps.filter((ms) => ms < 60_000))], [5000], 'when the other has left it is alone again')
})

t.test('a message of another instance is received after the polling interval', async (t) => {
  const [received] = await assertKeyEffect(t, 'platform.shared-store.database.poll-interval', {
    changed: '4s',
    async observe(values) {
      const clock = manualClock()
      const file = await createDatabase('sqlite')
      t.teardown(() => file.drop())
      const config = { ...file.config, ...values }
      const [one, other] = [await start(t, config, clock), await start(t, config, clock)]
      const messages: string[] = []
      await one.store.subscribe('topic', (message) => messages.push(message))
      await other.store.subscribe('topic', () => {})
      const pass = async (ms: number) => {
        for (let passed = 0; passed < ms; passed += 250) {
          await clock.advance(250)
          // The database handles one statement after another, so the result of a running poll comes before the result
          // of this statement.
          await one.running.service(database).query('select 1')
        }
      }
      // With an interval of 4 s, the instance polls at 18 s and at 22 s.
      await pass(18_500)
      await other.store.publish('topic', 'Hello')
      await pass(2500)
      return messages
    },
  })
  assertMembers(t, received, { before: ['Hello'], after: [] })
})
