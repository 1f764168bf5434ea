import { setTimeout as pause } from 'node:timers/promises'
import databasePlugin from '@plinth/database'
import { assertMembers, freePort, rejectsWith, startForTest, until } from '@plinth/dev/testing'
import { startHalfOpenProxy } from '@plinth/dev/testing/database'
import { skipRedis, startRedis } from '@plinth/dev/testing/shared-store'
import { defineProduct, healthCheck, type JsonValue, type Logger } from '@plinth/kernel'
import sharedStorePlugin, { redisProbe, sharedStore } from '@plinth/shared-store'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { Listeners } from '../src/listeners.ts'

/** The deadline is long enough for a response on a busy host. */
const deadlineMs = 2_000
const unavailable = { code: 'PLINTH_SHARED_STORE_UNAVAILABLE' }
const options = { skip: skipRedis, timeout: 600_000 }

const start = (
  config: Record<string, JsonValue>,
  roles?: readonly ('web' | 'worker' | 'cli')[],
  logger: Logger = pino({ enabled: false }),
) =>
  startForTest(
    defineProduct({
      name: 'test',
      plugins: [databasePlugin, sharedStorePlugin],
      config: {
        'platform.database.sqlite.file': ':memory:',
        'platform.cache.enabled': true,
        'platform.cache.command-timeout': '30s',
        ...config,
      },
    }),
    { logger, ...(roles === undefined ? {} : { roles }) },
  )

async function storeOnOwnRedis(t: Test) {
  const redis = await startRedis()
  if (redis === undefined) throw new Error('redis-server cannot be started')
  t.teardown(() => redis.drop())
  const config = { 'platform.cache.port': redis.port, 'platform.cache.command-timeout': `${deadlineMs}ms` }
  const lines: Record<string, unknown>[] = []
  const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  const product = await start(config, undefined, logger)
  t.teardown(() => product.stop('test ended'))
  const store = product.service(sharedStore)
  const request = { key: 'k', limit: 1000, windowMs: 60_000, cost: 1 }
  const calls: Record<string, () => Promise<unknown>> = {
    get: () => store.get('k'),
    set: () => store.set('k', 'v'),
    take: () => store.take('k'),
    increment: () => store.increment('k', 60_000),
    acquire: () => store.acquire('k', 60_000),
    publish: () => store.publish('k', 'v'),
    window: () => store.quota.decide('window', request, true),
    bucket: () => store.quota.decide('bucket', request, true),
    joint: () => store.quota.decideAll('window', [request, { ...request, key: 'l' }]),
    reset: () => store.quota.reset('window', 'k'),
  }
  /** Returns true if every call fails with the expected code before a timer of this duration ends. */
  const allFailWithin = async (ms: number) => {
    let isOver = false
    const timer = setTimeout(() => {
      isOver = true
    }, ms)
    const inTime = await Promise.all(
      Object.entries(calls).map(async ([name, call]) => {
        const thrown = await call().then(
          () => undefined,
          (error: unknown) => error,
        )
        t.match(thrown, unavailable, name)
        return !isOver
      }),
    )
    clearTimeout(timer)
    return inTime.every(Boolean)
  }
  const answers = () =>
    store.get('kept').then(
      () => true,
      () => false,
    )
  return { redis, product, store, lines, calls, allFailWithin, answers }
}

t.test('a frozen Redis is detected at the deadline, and afterwards immediately', { ...options }, async (t) => {
  const { redis, product, store, allFailWithin, answers } = await storeOnOwnRedis(t)
  await store.set('kept', 'kept')
  const received: string[] = []
  await store.subscribe('news', (message) => received.push(message))
  redis.freeze()
  t.teardown(redis.thaw)
  t.equal(await allFailWithin(60_000), true, 'nobody hangs')
  // The calls and the timer use the same event loop, so a call that fails before the timer has not waited for a
  // response.
  t.equal(await allFailWithin(deadlineMs / 2), true, 'while the connection is made anew calls fail at once')
  const check = product.contributions(healthCheck).get('redis')
  const report = await check?.(new AbortController().signal)
  assertMembers(
    t,
    report,
    { warnings: [/^Redis at 127\.0\.0\.1:\d+ does not respond/] },
    'the database is the authority',
  )
  redis.thaw()
  await until(answers, 'Redis answers again')
  t.equal(await store.get('kept'), 'kept')
  t.same(await check?.(new AbortController().signal), { warnings: [] })
  await store.publish('news', 'after')
  await until(() => received.length > 0, 'the message arrives')
  t.same(received, ['after'])
})

t.test('a killed Redis restarts empty, and everything continues', { ...options }, async (t) => {
  const { redis, store, lines, calls, allFailWithin, answers } = await storeOnOwnRedis(t)
  await store.set('kept', 'lost')
  for (const call of Object.values(calls)) await call()
  const before = await store.acquire('task', 60_000)
  const underWay = Promise.allSettled(Array.from({ length: 50 }, () => store.increment('hits', 60_000)))
  redis.freeze()
  const cutOff = Promise.allSettled(Array.from({ length: 50 }, () => store.increment('cut off', 60_000)))
  await redis.kill()
  t.equal((await underWay).length, 50)
  const outcomes = await cutOff
  t.ok(
    outcomes.every((outcome) => outcome.status === 'fulfilled' || outcome.reason.code === unavailable.code),
    'calls that were under way fail or have their answer',
  )
  t.equal(await allFailWithin(deadlineMs / 2), true, 'a connection that is closed needs no deadline')
  await redis.start()
  await until(answers, 'Redis answers again')
  t.equal(await store.get('kept'), undefined, 'what was there is gone')
  t.equal((await store.increment('cut off', 60_000)).value, 1, 'nothing was sent twice')
  for (const [name, call] of Object.entries(calls)) await t.resolves(call(), name)
  const after = await store.acquire('task', 60_000)
  t.ok((after?.fence ?? 0) > (before?.fence ?? 0), 'fences grow over the loss of everything')
  t.equal(await before?.renew(60_000), false, 'a lock that was lost is not held')
  const place = `127.0.0.1:${redis.port}`
  assertMembers(
    t,
    lines.filter(({ msg }) => /Redis/.test(String(msg))),
    [
      { level: 50, place, msg: 'no connection to Redis' },
      { level: 30, place, msg: 'connected to Redis again' },
    ],
  )
})

t.test('a listener that fails is logged with its channel, and the others receive the message', (t) => {
  const lines: Record<string, unknown>[] = []
  const listeners = new Listeners(pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }))
  const received: string[] = []
  listeners.add('news', {
    listener() {
      throw new Error('deaf')
    },
    onGap() {
      throw new Error('no gap')
    },
  })
  listeners.add('news', { listener: (text) => received.push(text), onGap: () => received.push('gap') })
  listeners.tell('news', 'hello')
  listeners.tellGap()
  t.same(received, ['hello', 'gap'])
  const problem = { level: 50, channel: 'news', msg: 'a listener failed' }
  assertMembers(t, lines, [problem, problem])
  assertMembers(t, lines, [{ err: { message: 'deaf' } }, { err: { message: 'no gap' } }])
  t.end()
})

t.test(
  'listeners listen again after each loss, and are told that they may have missed messages',
  { ...options },
  async (t) => {
    const { redis, store, answers } = await storeOnOwnRedis(t)
    const received: string[] = []
    const gaps = { news: 0, other: 0 }
    const onGap = (name: keyof typeof gaps) => () => {
      gaps[name] += 1
    }
    const stopNews = await store.subscribe('news', (message) => received.push(message), onGap('news'))
    await store.subscribe('other', (message) => received.push(`other ${message}`), onGap('other'))
    await store.subscribe('news', () => {})
    t.same(gaps, { news: 0, other: 0 }, 'there is no gap at first')
    for (let round = 1; round <= 3; round++) {
      await redis.kill()
      await redis.start()
      await until(() => gaps.news === round && gaps.other === round, 'both know of the gap')
      await until(answers, 'commands go on')
      // The subscriber is notified of the gap and receives every later message.
      await store.publish('news', `${round}`)
      await store.publish('other', `${round}`)
      await until(() => received.length === 2 * round, 'both messages arrive')
    }
    t.same(received, ['1', 'other 1', '2', 'other 2', '3', 'other 3'], 'each message once')
    await stopNews()
    await store.publish('news', 'nobody')
    await store.publish('other', 'last')
    await until(() => received.length === 7, 'the last message arrives')
    t.same(received.at(-1), 'other last')
  },
)

t.test('a listener that was removed while Redis was unavailable is not restored', { ...options }, async (t) => {
  const { redis, store } = await storeOnOwnRedis(t)
  const stop = await store.subscribe('news', () => {})
  await redis.kill()
  await stop()
  await redis.start()
})

t.test('a Redis that dies repeatedly does no harm, and nothing is forgotten', { ...options }, async (t) => {
  const { redis, store, answers } = await storeOnOwnRedis(t)
  const rejections: unknown[] = []
  const note = (reason: unknown) => rejections.push(reason)
  process.on('unhandledRejection', note)
  t.teardown(() => process.off('unhandledRejection', note))
  const received: string[] = []
  await store.subscribe('news', (message) => received.push(message))
  for (let round = 0; round < 8; round++) {
    await redis.kill()
    await redis.start()
    // The pauses grow until they are long enough for a connection, so that some connections are lost between connecting
    // and subscribing.
    await pause(round * 15)
  }
  await until(answers, 'Redis answers')
  await until(async () => {
    await store.publish('news', 'again')
    return received.length > 0
  }, 'it is heard again')
  t.same(rejections, [], 'no promise of nobody is rejected')
})

t.test('a product without its Redis does not start, and reports why', { ...options }, async (t) => {
  const redis = await startRedis()
  if (redis === undefined) throw new Error('redis-server cannot be started')
  await redis.kill()
  const config = { 'platform.cache.port': redis.port, 'platform.cache.password': 'hidden-secret' }
  t.teardown(() => redis.drop())
  await rejectsWith(t, start(config), { message: /shared-store.*127\.0\.0\.1:\d+/s })
  const command = await start({ 'platform.cache.port': redis.port }, ['cli'])
  t.teardown(() => command.stop('test ended'))
  const store = command.service(sharedStore)
  for (const call of [() => store.get('k'), () => store.subscribe('news', () => {})]) {
    const error = await call().then(
      () => undefined,
      (thrown: Error) => thrown,
    )
    t.match(error, unavailable)
    t.match(error?.message, /ECONNREFUSED/)
    t.notMatch(error?.message, /hidden-secret/)
  }
  await redis.start()
  t.equal(await store.get('k'), undefined, 'a command that goes on connects when it can')
  const received: string[] = []
  await store.subscribe('news', (message) => received.push(message))
  await store.publish('news', 'hello')
  await until(() => received.length > 0, 'the message arrives')
})

t.test(
  'a Redis that accepts connections but sends nothing: start, probe and reconnect end in time',
  { ...options },
  async (t) => {
    const proxy = await startHalfOpenProxy({ port: 6379 })
    t.teardown(() => proxy.close())
    const config = {
      'platform.cache.port': proxy.port,
      'platform.cache.password': 'hidden-secret',
      'platform.cache.connect-timeout': '1s',
    }
    proxy.fallSilent()
    // The kernel would also end the start, but only after half a minute and with a message that does not contain the
    // address.
    const startFailure = await start(config).then(
      () => new Error('it started'),
      (error: Error) => error,
    )
    t.match(startFailure.message, `127.0.0.1:${proxy.port} does not respond: no answer in time`)
    t.notMatch(startFailure.message, /hidden-secret/)

    const command = await start(config, ['cli'])
    t.teardown(() => command.stop('test ended'))
    const calls: (() => Promise<unknown>)[] = [
      () => command.service(redisProbe).time(),
      () => command.service(sharedStore).get('k'),
    ]
    for (const call of calls) {
      await rejectsWith(t, call(), {
        ...unavailable,
        message: new RegExp(`${proxy.port} does not respond: no answer in time`),
      })
    }
    await until(() => proxy.clients === 0, 'no socket is left behind')
  },
)

t.test('a silent network: callers and listeners connect again, and stop in time', { ...options }, async (t) => {
  const proxy = await startHalfOpenProxy({ port: 6379 })
  t.teardown(() => proxy.close())
  const config = {
    'platform.cache.port': proxy.port,
    'platform.cache.connect-timeout': '3s',
    'platform.cache.command-timeout': '3s',
  }
  const product = await start(config)
  const store = product.service(sharedStore)
  let gaps = 0
  await store.subscribe(
    'news',
    () => {},
    () => {
      gaps += 1
    },
  )
  proxy.fallSilent()
  await rejectsWith(t, store.get('k'), unavailable)
  const before = proxy.accepted
  // New connections open but receive no response, so each of them times out.
  await until(() => proxy.accepted >= before + 3, 'it tries again and again')
  proxy.recover()
  await until(
    () =>
      store.get('k').then(
        () => true,
        () => false,
      ),
    'who asks has its answer',
  )
  await until(() => gaps > 0, 'who listens listens again')
  proxy.fallSilent()
  await product.stop('test ended')
  await until(() => proxy.clients === 0, 'no socket is left behind')
})

t.test(
  'a Redis that may evict counters is a warning at the start and of the health check',
  { ...options },
  async (t) => {
    const redis = await startRedis()
    t.teardown(() => redis.drop())
    const client = new Redis({ port: redis.port })
    t.teardown(() => client.disconnect())
    const lines: string[] = []
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) })
    const config = { 'platform.database.sqlite.file': ':memory:', ...redis.config }
    const product = defineProduct({ name: 'test', plugins: [databasePlugin, sharedStorePlugin], config })
    const policy =
      /^Redis at 127\.0\.0\.1:\d+ has the maxmemory-policy allkeys-lru, .*Set maxmemory-policy to noeviction\.$/
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
    const running = await startForTest(product, { logger })
    t.teardown(() => running.stop('test ended'))
    assertMembers(t, lines, [policy])
    const check = async () => running.contributions(healthCheck).get('redis')?.(new AbortController().signal)
    assertMembers(t, await check(), { warnings: [policy] })
    await client.config('SET', 'maxmemory-policy', 'noeviction')
    t.same(await check(), { warnings: [] })
  },
)

t.test('a node of a Redis Cluster is rejected', { ...options }, async (t) => {
  // The default cluster port is 10,000 above the port of the server. The system may give that port to another client.
  const redis = await startRedis('--cluster-enabled', 'yes', '--cluster-port', `${await freePort()}`)
  t.teardown(() => redis.drop())
  const cluster = { code: 'PLINTH_SHARED_STORE_CLUSTER', message: /is a node of a Redis Cluster/ }
  await rejectsWith(t, start({ ...redis.config }), { code: 'PLINTH_START_FAILED', cause: cluster })
  const doctor = await start({ ...redis.config }, ['cli'])
  t.teardown(() => doctor.stop('test ended'))
  const check = doctor.contributions(healthCheck).get('redis')
  await rejectsWith(t, Promise.resolve(check?.(new AbortController().signal)), cluster)
})

t.test('an error of a connection lists the key of transport security', { ...options }, async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.drop())
  const rejected = start({ ...redis.config, 'platform.cache.tls': 'encrypt', 'platform.cache.connect-timeout': '2s' })
  await rejectsWith(t, rejected, { cause: { ...unavailable, fix: /platform\.cache\.tls/ } })
})
