/** What each key of the cache does, seen on a Redis server of the test's own. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import databasePlugin, { database } from '@plinth/database'
import { createDatabase } from '@plinth/database/testing'
import { defineProduct, type JsonValue } from '@plinth/kernel'
import { freePort, manualClock, rejectsWith, startForTest, watchProcess } from '@plinth/kernel/testing'
import sharedStorePlugin, { sharedStore } from '@plinth/shared-store'
import { skipOwnRedis } from '@plinth/shared-store/testing'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'

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

t.test('where, as whom and under which names the product uses Redis', { skip: skipOwnRedis }, async (t) => {
  const { host, port, config } = await redisServer(t, (port) => [
    `port ${port}`,
    'user shop on >shop-password ~* &* +@all',
    'user default off',
  ])
  const access = { 'platform.cache.username': 'shop', 'platform.cache.password': 'shop-password' }
  const places = { 'platform.cache.database': 5, 'platform.cache.key-prefix': 'mall' }
  const { store } = await start(t, { ...config, ...access, ...places })
  await store.set('k', 'v')
  const client = new Redis({ host, port, username: 'shop', password: 'shop-password', db: 5 })
  t.teardown(() => client.disconnect())
  const keys = await client.keys('*')
  t.equal(keys.length, 1, 'effects of platform.cache.{enabled,host,port,database}: it lies there')
  t.match(keys[0], /^\{?mall\b/, 'effect of platform.cache.key-prefix')
  t.match(await client.client('LIST'), /user=shop/, 'effect of platform.cache.username')
  for (const key of Object.keys(access)) {
    const refused = start(t, { ...config, ...access, [key]: 'nobody' })
    await rejectsWith(t, refused, { message: /WRONGPASS/ }, 'effects of platform.cache.{username,password}')
  }
})

t.test('Redis over TLS', { skip: skipOwnRedis }, async (t) => {
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
  const { store } = await start(t, { ...config, 'platform.cache.tls': 'encrypt' })
  await store.set('k', 'v')
  t.equal(await store.get('k'), 'v', 'effect of platform.cache.tls: any certificate will do')
  const unknown = start(t, { ...config, 'platform.cache.tls': 'verify' })
  await rejectsWith(t, unknown, { message: /certificate/ }, 'effect of platform.cache.tls: nobody signed this one')
  await rejectsWith(
    t,
    start(t, { ...config, 'platform.cache.tls': 'off' }),
    { message: /./ },
    'effect of platform.cache.tls',
  )
})

t.test('how long a connection may take', async (t) => {
  // It takes the connection and never answers the handshake.
  const sockets: Socket[] = []
  const mute = createServer((socket) => sockets.push(socket.on('error', () => {}))).listen(0, '127.0.0.1')
  await once(mute, 'listening')
  t.teardown(() => mute.close())
  const { port } = mute.address() as { port: number }
  const config = { 'platform.cache.enabled': true, 'platform.cache.port': port, 'platform.cache.tls': 'encrypt' }
  const within = (time: string) => start(t, { ...config, 'platform.cache.connect-timeout': time })
  let isOver = false
  const patient = within('1m').catch(() => {
    isOver = true
  })
  await rejectsWith(t, within('150ms'), { message: /ETIMEDOUT|time/ })
  t.equal(isOver, false, 'effect of platform.cache.connect-timeout: who began earlier with a longer one waits on')
  for (const socket of sockets) socket.destroy()
  await patient
})

t.test('without Redis', async (t) => {
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
    'platform.cache.enabled': false,
    'platform.shared-store.database.sweep-interval': '7m',
    'platform.shared-store.database.poll-interval': '1234ms',
  }
  const { running, store } = await start(t, config, clock)
  await store.set('k', 'v')
  const [row] = await running.service(database).query<{ n: number }>('select count(*) as n from shared_store_entry')
  t.equal(Number(row?.n), 1, 'effect of platform.cache.enabled: without it the database keeps entries')
  t.ok(
    sleeps.includes(7 * 60_000),
    'effect of platform.shared-store.database.sweep-interval: so long between two sweeps',
  )
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
  t.same(
    [...new Set(sleeps.filter((ms) => ms < 60_000))],
    [1234],
    'effect of platform.shared-store.database.poll-interval: so long between two looks while others are there',
  )
  await other.store.publish('topic', 'foreign')
  await clock.advance(1234)
  t.same(messages, ['own', 'foreign'])
  await other.running.stop('it leaves')
  await clock.advance(60_000)
  sleeps.length = 0
  await clock.advance(20_000)
  t.same([...new Set(sleeps.filter((ms) => ms < 60_000))], [5000], 'when the other has left it is alone again')
})
