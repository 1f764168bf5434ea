import { setTimeout as pause } from 'node:timers/promises'
import { database } from '@plinth/database'
import { rateLimitJointCases, rateLimitStoreCases } from '@plinth/dev/conformance'
import { assertMembers, rejectsWith, until } from '@plinth/dev/testing'
import { createDatabase, dialectsUnderTest } from '@plinth/dev/testing/database'
import { skipRedis, startRedis } from '@plinth/dev/testing/shared-store'
import { type Clock, type RateLimitRequest, type RateLimitStore, rateLimitStore, systemClock } from '@plinth/kernel'
import { Redis } from 'ioredis'
import t from 'tap'
import { type StoreName, startInstance, storeOf } from './fixtures/product.ts'

const names: readonly StoreName[] = ['shared-window', 'shared-bucket']
const timeout = 600_000
const request = (changes: Partial<RateLimitRequest> = {}): RateLimitRequest => ({
  key: 'account:1',
  limit: 5,
  windowMs: 60_000,
  cost: 1,
  ...changes,
})
/** Long time limits, because a host that runs many tests at the same time is slow. */
const patience = { patienceMs: 60_000, caseLimitMs: timeout }

const realTime = { ownTime: { pass: (ms: number) => pause(ms), toleranceMs: 5 } }

for (const { dialect, skip } of dialectsUnderTest) {
  t.test(`on the database (${dialect})`, { skip, timeout }, async (t) => {
    const db = await createDatabase(dialect)
    t.teardown(() => db.drop())
    // Calls use the clock of each test case. The sweep of expired entries uses real time.
    let current: Clock = systemClock
    const clock: Clock = { now: () => current.now(), monotonic: () => current.monotonic(), sleep: systemClock.sleep }
    const instance = await startInstance(db.config, clock)
    t.teardown(() => instance.stop('test ended'))
    const another = await startInstance(db.config, clock)
    t.teardown(() => another.stop('test ended'))
    const sql = instance.service(database)

    for (const name of names) {
      t.test(`R-032 R-035 ${name} obeys its contract`, { timeout }, async (t) => {
        const create = async (given: Clock) => {
          current = dialect === 'sqlite' ? given : systemClock
          await sql.execute('delete from shared_store_entry')
          let cut = false
          return {
            store: storeOf(instance, name),
            other: storeOf(another, name),
            entries: async () =>
              Number((await sql.query<{ held: unknown }>('select count(*) as held from shared_store_entry'))[0]?.held),
            cut: async () => {
              cut = true
              await sql.execute('alter table shared_store_entry rename to shared_store_gone')
            },
            stop: async () => {
              if (cut) await sql.execute('alter table shared_store_gone rename to shared_store_entry')
            },
          }
        }
        const disconnect = (harness: Awaited<ReturnType<typeof create>>) => harness.cut()
        const sqlite = dialect === 'sqlite'
        for (const { name, run } of rateLimitJointCases(create, { disconnect, ...patience }))
          await t.test(name, { timeout }, run)
        const cases = rateLimitStoreCases(create, { disconnect, ...patience, ...(sqlite ? {} : realTime) })
        for (const { name, run } of cases) await t.test(name, { timeout }, run)
      })
    }
  })
}

t.test('on Redis', { skip: skipRedis, timeout }, async (t) => {
  const redis = await startRedis()
  if (redis === undefined) throw new Error('redis-server cannot be started')
  t.teardown(() => redis.drop())
  const keyPrefix = 'limits'
  const config = {
    'platform.database.sqlite.file': ':memory:',
    ...redis.config,
    'platform.cache.key-prefix': keyPrefix,
    // The kit waits for this timeout each time it disconnects the store.
    'platform.cache.command-timeout': '2s',
  }
  const client = new Redis({ port: redis.port })
  t.teardown(() => client.disconnect())
  const [one, two] = [await startInstance(config), await startInstance(config)]
  t.teardown(() => one.stop('test ended'))
  t.teardown(() => two.stop('test ended'))
  const [window, otherWindow] = [storeOf(one, 'shared-window'), storeOf(two, 'shared-window')]
  const bucket = storeOf(one, 'shared-bucket')
  t.beforeEach(() => client.flushall())

  for (const name of names) {
    t.test(`R-032 R-035 ${name} obeys its contract`, { timeout }, async (t) => {
      const store = storeOf(one, name)
      const responses = () =>
        Promise.resolve(store.peek(request())).then(
          () => true,
          () => false,
        )
      const disconnect = () => void redis.freeze()
      const create = async () => {
        await until(responses, 'it is connected')
        await client.flushall()
        const entries = async () => (await client.keys('*')).length
        return { store, other: storeOf(two, name), entries, stop: () => void redis.thaw() }
      }
      for (const { name, run } of rateLimitJointCases(create, { disconnect, ...patience })) {
        await t.test(name, { timeout }, run)
      }
      const cases = rateLimitStoreCases(create, { ...realTime, ...patience, disconnect })
      for (const { name, run } of cases) await t.test(name, { timeout }, run)
      await until(responses, 'it is connected again')
    })
  }

  t.test('R-013 R-035 1000 calls of cost 3 over two instances take 99 of 100', async (t) => {
    const of = request({ limit: 100, cost: 3 })
    const calls = Array.from({ length: 1000 }, (_, call) => (call % 2 === 0 ? window : otherWindow).consume(of))
    t.equal((await Promise.all(calls)).filter(({ allowed }) => allowed).length, 33)
    t.equal(await client.hget(`${keyPrefix}:windows:account:1`, 's60000'), '99', 'what was denied is not counted')
  })

  t.test(
    'a Redis that hangs: one deadline ends all calls of a millisecond, and later calls are counted again',
    async (t) => {
      t.match(await window.consume(request()), { allowed: true, remaining: 4 })
      redis.freeze()
      t.teardown(() => redis.thaw())
      const ends: ((reason: Error) => void)[] = []
      const context = {
        signal: new AbortController().signal,
        isOver: () => false,
        onEnd: (giveUp: (reason: Error) => void) => {
          ends.push(giveUp)
          return () => {}
        },
      }
      const calls = Array.from({ length: 500 }, (_, call) => window.consume(request({ key: `key ${call}` }), context))
      const outcomes = Promise.allSettled(calls)
      t.equal(ends.length, 4, 'one for each script of 128 calls')
      for (const giveUp of ends) giveUp(new Error('the time is over'))
      t.same(
        new Set((await outcomes).map((one) => (one.status === 'rejected' ? one.reason.message : 'an answer'))),
        new Set(['the time is over']),
      )
      redis.thaw()
      const counts = () =>
        Promise.resolve(window.peek(request())).then(
          ({ remaining }) => remaining === 3,
          () => false,
        )
      await until(counts, 'it is connected again')
    },
  )

  t.test(
    'R-036 the first call sets the time to live, later ones never extend it, and keys without one get one',
    async (t) => {
      const key = `${keyPrefix}:windows:account:1`
      await client.hset(key, '60000', 5, '60000e', Date.now() - 1)
      t.match(await window.consume(request()), { allowed: true, remaining: 4 }, 'what is over does not count')
      const healed = await client.pttl(key)
      t.ok(healed > 0 && healed <= 60_000, `a counter without an end gets one: ${healed}`)
      let last = healed
      // The reported end of a window may vary only by the duration of a call.
      const end = { notBefore: Number.NEGATIVE_INFINITY, notAfter: Number.POSITIVE_INFINITY }
      for (let hit = 0; hit < 100; hit++) {
        const askedAt = Date.now()
        const { resetAtMs } = await window.consume(request({ limit: 1000 }))
        end.notBefore = Math.max(end.notBefore, resetAtMs - (Date.now() - askedAt) - 1)
        end.notAfter = Math.min(end.notAfter, resetAtMs + 1)
        const left = await client.pttl(key)
        if (left > last) t.fail(`the time to live grew from ${last} to ${left}`)
        last = left
      }
      t.ok(end.notBefore <= end.notAfter, 'the end of the window stays where it is')
      await window.consume(request({ key: 'long', windowMs: 3_600_000 }))
      await window.consume(request({ key: 'long' }))
      t.ok((await client.pttl(`${keyPrefix}:windows:long`)) > 60_000, 'the key lives as long as its longest window')
      await client.hset(`${keyPrefix}:windows:long`, '60000e', Date.now() - 1)
      await window.consume(request({ key: 'long', windowMs: 90_000 }))
      const fields = (await client.hkeys(`${keyPrefix}:windows:long`)).sort()
      t.same(fields, ['3600000', '3600000e', '90000', '90000e'], 'of a window that is over nothing stays')
      await client.set(`${keyPrefix}:window:account:2`, 5)
      t.match(await window.consume(request({ key: 'account:2' })), { allowed: true }, 'what an earlier version left')
    },
  )

  t.test('scripts that Redis does not have are sent again; only the call with a broken key fails', async (t) => {
    await window.consume(request())
    await client.script('FLUSH')
    t.match(await window.consume(request()), { allowed: true, remaining: 3 })
    await client.lpush(`${keyPrefix}:windows:broken`, 'x')
    const outcomes = await Promise.allSettled(
      ['a', 'broken', 'b'].map(async (key) => (await window.consume(request({ key }))).allowed),
    )
    assertMembers(t, outcomes, [
      { value: true },
      { reason: { code: /^PLINTH_SHARED_STORE_REFUSED$/, message: /WRONGTYPE/ } },
      { value: true },
    ])
  })

  t.test('R-037 R-038 a bucket belongs to its limit and window, and resetAt is a hint', async (t) => {
    // The window is an hour, so that nothing refills during the test, even on a busy host.
    const windowMs = 3_600_000
    const [small, large] = [request({ limit: 10, windowMs }), request({ limit: 20, windowMs })]
    t.equal(await admitted(bucket, 12, small), 10)
    const before = Date.now()
    const { resetAtMs } = await bucket.consume(small)
    t.ok(resetAtMs >= before + windowMs && resetAtMs <= Date.now() + windowMs, 'denied: now and the window')
    t.equal(await admitted(bucket, 21, large), 20, 'another limit starts fresh')
    const askedAt = Date.now()
    const allowed = await bucket.consume(request({ limit: 30, windowMs }))
    t.equal(allowed.allowed, true)
    t.ok(
      allowed.resetAtMs > askedAt + windowMs - 1_000 && allowed.resetAtMs < Date.now() + windowMs + 1_000,
      'allowed: now and the window',
    )
    t.equal((await client.keys('*')).length, 1, 'all buckets of a key lie under one')
    const left = await client.pttl(`${keyPrefix}:bucket:account:1`)
    t.ok(left > 0 && left <= windowMs + 1_000, `and end when they are full: ${left}`)
    await bucket.reset('account:1')
    t.equal(await admitted(bucket, 12, small), 10)
  })

  t.test('R-039 keys have the prefix of the project, and windows and buckets are separate', async (t) => {
    await window.consume(request())
    await bucket.consume(request())
    t.same((await client.keys('*')).sort(), [`${keyPrefix}:bucket:account:1`, `${keyPrefix}:windows:account:1`])
  })
})

t.test('R-029 R-030 R-031 both stores are enabled unless they are disabled', async (t) => {
  const memory = { 'platform.database.sqlite.file': ':memory:' }
  const both = await startInstance(memory)
  t.teardown(() => both.stop('test ended'))
  t.same([...both.contributions(rateLimitStore).keys()].sort(), ['shared-bucket', 'shared-window'])
  const shared = [...both.contributions(rateLimitStore).values()].map(({ traits }) => traits)
  t.ok(shared.every((traits) => traits.shared))
  const one = await startInstance({ ...memory, 'platform.rate-limit.stores.shared-bucket.enabled': false })
  t.teardown(() => one.stop('test ended'))
  t.same([...one.contributions(rateLimitStore).keys()], ['shared-window'])
  await rejectsWith(t, startInstance({ ...memory, 'platform.rate-limit.stores.shared-window.provider': 'redis' }), {
    message: /provider/,
  })
})

async function admitted(store: RateLimitStore, times: number, of: RateLimitRequest): Promise<number> {
  const decisions = await Promise.all(Array.from({ length: times }, () => store.consume(of)))
  return decisions.filter(({ allowed }) => allowed).length
}
