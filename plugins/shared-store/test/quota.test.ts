import { AsyncLocalStorage } from 'node:async_hooks'
import databasePlugin, { database } from '@plinth/database'
import { assertMembers, manualClock, rejectsWith, startForTest, until } from '@plinth/dev/testing'
import { createDatabase, everyDialect } from '@plinth/dev/testing/database'
import { createRedisNamespace, skipRedis, skipWithoutRedisProgram, startRedis } from '@plinth/dev/testing/shared-store'
import { type Clock, defineProduct, type RateLimitDecision } from '@plinth/kernel'
import sharedStorePlugin, { type QuotaAlgorithm, sharedStore } from '@plinth/shared-store'
import fc from 'fast-check'
import { Redis } from 'ioredis'
import t from 'tap'
import { MicroBatch } from '../src/micro-batch.ts'
import { type BucketState, bucketScale, decideBucket, decideWindow, type WindowState } from '../src/quota-rules.ts'

t.test('calls of one tick are sent together', async (t) => {
  for (const eager of [true, false]) {
    const sizes: number[] = []
    let atOnce = 0
    let most = 0
    const batch = new MicroBatch<number, number>({
      size: 10,
      concurrency: 2,
      eager,
      run: async (items) => {
        sizes.push(items.length)
        atOnce += 1
        most = Math.max(most, atOnce)
        await new Promise((resolve) => setImmediate(resolve))
        atOnce -= 1
        return items.map((item) => (item === 13 ? new Error('unlucky') : 2 * item))
      },
    })
    const outcomes = await Promise.allSettled(Array.from({ length: 35 }, (_, item) => batch.ask(item)))
    t.same(sizes, [10, 10, 10, 5])
    t.equal(most, 2, 'no more batches at once than allowed')
    t.same(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message)),
      Array.from({ length: 35 }, (_, item) => (item === 13 ? 'unlucky' : 2 * item)),
      'each has its own answer or error',
    )
  }
})

t.test('a call that is cancelled before it is sent is not sent; a batch belongs to no caller', async (t) => {
  const context = new AsyncLocalStorage<string>()
  const seen: unknown[] = []
  const batch = new MicroBatch<string, string>({
    size: 10,
    concurrency: 1,
    eager: true,
    run: async (items) => {
      seen.push(context.getStore(), ...items)
      if (items.includes('fails')) throw new Error('all of it')
      return items
    },
  })
  const given = new AbortController()
  const [late, kept] = context.run('transaction of the first', () => [
    batch.ask('late', { signal: given.signal }),
    batch.ask('kept'),
  ])
  given.abort(new Error('given up'))
  await rejectsWith(t, late as Promise<string>, { message: 'given up' })
  t.equal(await kept, 'kept')
  await rejectsWith(t, batch.ask('never', { signal: AbortSignal.abort(new Error('before')) }), { message: 'before' })
  t.same(seen, [undefined, 'kept'])
  const failing = [batch.ask('fails'), batch.ask('with it')]
  for (const call of failing) await rejectsWith(t, call, { message: 'all of it' })
  t.equal(await batch.ask('afterwards'), 'afterwards')
})

t.test('one deadline ends all calls that were made together: waiting and running ones, and nothing else', async (t) => {
  const sent: number[][] = []
  const answered: ((responses: number[]) => void)[] = []
  const batch = new MicroBatch<number, number>({
    size: 3,
    concurrency: 1,
    eager: true,
    run: (items) => {
      sent.push([...items])
      return new Promise((resolve) => answered.push(resolve))
    },
  })
  const deadline = () => {
    const giveUps = new Set<(reason: Error) => void>()
    const patience = {
      onEnd: (giveUp: (reason: Error) => void) => {
        giveUps.add(giveUp)
        return () => void giveUps.delete(giveUp)
      },
    }
    return { giveUps, patience }
  }
  const [first, second] = [deadline(), deadline()]
  const ask = (item: number, { patience }: typeof first) =>
    batch.ask(item, patience).then(
      (response) => response,
      (error: Error) => error.message,
    )
  const early = [1, 2, 3, 4].map((item) => ask(item, first))
  const late = [5, 6].map((item) => ask(item, second))
  await new Promise((resolve) => process.nextTick(resolve))
  t.same(sent, [[1, 2, 3]])
  t.equal(first.giveUps.size, 2, 'one for what was sent and one for what waits, not one for each call')
  for (const giveUp of first.giveUps) {
    first.giveUps.delete(giveUp)
    giveUp(new Error('the time is over'))
  }
  t.same(await Promise.all(early), Array(4).fill('the time is over'))
  const ended = Promise.all(late)
  answered[0]?.([10, 20, 30])
  await until(() => answered.length >= 2, 'the calls are answered', 0)
  t.same(
    sent,
    [
      [1, 2, 3],
      [5, 6],
    ],
    'nobody waits for 4, so it is not sent',
  )
  answered[1]?.([50, 60])
  t.same(await ended, [50, 60])
  t.equal(first.giveUps.size + second.giveUps.size, 0, 'nothing is left')
})

t.test('R-033 buckets use integers, at any size, and never accept more than they refill', async (t) => {
  const any = fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
  const size = fc.oneof(fc.integer({ min: 1, max: 1000 }), any)
  const steps = fc.array(
    fc.tuple(fc.double({ min: 0, max: 1.2, noNaN: true }), fc.double({ min: 0, max: 1, noNaN: true })),
    {
      maxLength: 30,
    },
  )
  const property = fc.property(size, size, steps, (limit, windowMs, calls) => {
    const { ticks, tickMs } = bucketScale(limit, windowMs)
    if (limit * ticks > Number.MAX_SAFE_INTEGER || !Number.isSafeInteger(tickMs)) return false
    const period = Math.min(windowMs, 1e12)
    let now = 0
    let state: BucketState | undefined
    let taken = 0n
    for (const [wait, part] of calls) {
      now += Math.floor(wait * period)
      const cost = Math.max(1, Math.floor(part * limit))
      const ruling = decideBucket(state, { key: 'k', limit, windowMs, cost }, now, true)
      state = ruling.state ?? state
      if (ruling.decision.allowed) taken += BigInt(cost)
      // The quota that was taken may never exceed the initial content of the bucket and the refill since then.
      const effective = BigInt(ticks) * BigInt(tickMs)
      if ((taken - BigInt(limit)) * effective > BigInt(now) * BigInt(limit)) return false
      const { remaining, retryAfterMs, allowed } = ruling.decision
      if (!Number.isSafeInteger(remaining) || remaining < 0 || remaining > limit) return false
      if (allowed ? retryAfterMs !== 0 : retryAfterMs < 1 || retryAfterMs > windowMs) return false
    }
    return true
  })
  t.doesNotThrow(() => fc.assert(property, { numRuns: 2000 }))
})

t.test(
  'R-035 R-037 the scripts of Redis decide like the rules, also with several rules on one key',
  { skip: skipRedis },
  async (t) => {
    const db = await createDatabase('sqlite')
    const space = createRedisNamespace()
    t.teardown(() => space.drop())
    t.teardown(() => db.drop())
    const product = defineProduct({
      name: 'test',
      plugins: [databasePlugin, sharedStorePlugin],
      config: { ...db.config, ...space.config },
    })
    const running = await startForTest(product)
    t.teardown(() => running.stop('test ended'))
    const { quota } = running.service(sharedStore)
    // A day is so long that nothing expires or refills during the sequence.
    const day = 86_400_000
    const call = fc.record({
      key: fc.constantFrom('a', 'b'),
      cost: fc.integer({ min: 1, max: 14 }),
      take: fc.boolean(),
      // Rules with different windows use the same key. They are counted separately.
      windowMs: fc.constantFrom(day, 2 * day, 366 * day),
      limit: fc.integer({ min: 1, max: 12 }),
    })
    let world = 0
    for (const algorithm of ['window', 'bucket'] as const satisfies readonly QuotaAlgorithm[]) {
      const property = fc.asyncProperty(
        fc.array(call, { minLength: 1, maxLength: 40 }),
        fc.boolean(),
        async (calls, together) => {
          world += 1
          const windows = new Map<string, WindowState>()
          const buckets = new Map<string, BucketState>()
          const ask = ({ key, cost, take, windowMs, limit }: (typeof calls)[number]) =>
            quota.decide(algorithm, { key: `${world}:${key}`, limit, windowMs, cost }, take)
          // The calls run concurrently, so that they are sent in one script, or one after another, each in its own
          // script.
          const responses: RateLimitDecision[] = []
          if (together) responses.push(...(await Promise.all(calls.map(ask))))
          else for (const call of calls) responses.push(await ask(call))
          return calls.every(({ key, cost, take, windowMs, limit }, index) => {
            const request = { key, limit, windowMs, cost }
            const held = algorithm === 'window' ? `${key} ${windowMs}` : `${key} ${windowMs} ${limit}`
            const response = responses[index]
            if (algorithm === 'window') {
              const { decision, state } = decideWindow(windows.get(held), request, 1, take)
              if (state !== undefined) windows.set(held, state)
              return response?.allowed === decision.allowed && response.remaining === decision.remaining
            }
            const { decision, state } = decideBucket(buckets.get(held), request, 1, take)
            if (state !== undefined) buckets.set(held, state)
            const near = Math.abs((response?.retryAfterMs ?? 0) - decision.retryAfterMs) < 10_000
            return response?.allowed === decision.allowed && response.remaining === decision.remaining && near
          })
        },
      )
      await t.resolves(fc.assert(property, { numRuns: 60 }), algorithm)
    }
  },
)

t.test(
  'R-035 a script that Redis does not have is sent again, and its result is read as usual',
  { skip: skipRedis || skipWithoutRedisProgram, timeout: 600_000 },
  async (t) => {
    const redis = await startRedis()
    t.teardown(() => redis.drop())
    const client = new Redis({ port: redis.port })
    t.teardown(() => client.disconnect())
    const product = defineProduct({
      name: 'test',
      plugins: [databasePlugin, sharedStorePlugin],
      config: { 'platform.database.sqlite.file': ':memory:', ...redis.config },
    })
    const running = await startForTest(product)
    t.teardown(() => running.stop('test ended'))
    const { quota } = running.service(sharedStore)
    const year = 365 * 86_400_000
    const small = { limit: 5, windowMs: year, cost: 1 }
    // A Lua number has too few digits for both results of this limit together.
    const large = { limit: 1_000_000_000, windowMs: year, cost: 1 }
    const requested = (algorithm: QuotaAlgorithm, world: string) => [
      () => quota.decide(algorithm, { key: `${world}:one`, ...small }, true),
      () => quota.decide(algorithm, { key: `${world}:one`, ...small, cost: 5 }, true),
      () => quota.decide(algorithm, { key: `${world}:large`, ...large }, true),
      () => quota.decide(algorithm, { key: `${world}:large`, ...large, cost: large.limit }, true),
      () => quota.decide(algorithm, { key: `${world}:one`, ...small }, false),
      () =>
        Promise.all(['a', 'b', 'a'].map((key) => quota.decide(algorithm, { key: `${world}:${key}`, ...small }, true))),
      () =>
        quota.decideAll(
          algorithm,
          ['a', 'c'].map((key) => ({ key: `${world}:${key}`, ...small, cost: 3 })),
        ),
    ]
    const sent = async () => {
      const stats = await client.info('commandstats')
      return Number(/cmdstat_eval:calls=(\d+)/.exec(stats)?.[1] ?? 0)
    }
    for (const algorithm of ['window', 'bucket'] as const) {
      const shown: unknown[][] = []
      for (const [world, forgets] of [
        ['forgotten', true],
        ['known', false],
      ] as const) {
        const before = await sent()
        const responses: RateLimitDecision[] = []
        const calls = requested(algorithm, world)
        for (const ask of calls) {
          if (forgets) await client.script('FLUSH')
          responses.push(...[await ask()].flat())
        }
        // After the last FLUSH, only one of the three scripts was loaded again.
        t.equal((await sent()) - before, forgets ? calls.length : 2, `${algorithm}: scripts sent, ${world}`)
        shown.push(responses.map(({ allowed, remaining }) => ({ allowed, remaining })))
        for (const { allowed, resetAtMs, retryAfterMs } of responses) {
          t.ok(resetAtMs > Date.now() && resetAtMs <= Date.now() + year)
          t.ok(allowed ? retryAfterMs === 0 : retryAfterMs > 0 && retryAfterMs <= year, `${retryAfterMs}`)
        }
      }
      const reported = (allowed: boolean, remaining: number) => ({ allowed, remaining })
      const expected = [
        reported(true, 4),
        reported(false, 4),
        reported(true, 999_999_999),
        reported(false, 999_999_999),
        reported(true, 3),
        reported(true, 4),
        reported(true, 4),
        reported(true, 3),
        reported(true, 0),
        reported(true, 2),
      ]
      t.same(shown, [expected, expected], algorithm)
    }
  },
)

t.test('R-035 the scripts of Redis are exact up to the largest numbers', { skip: skipRedis }, async (t) => {
  const space = createRedisNamespace()
  t.teardown(() => space.drop())
  const product = defineProduct({
    name: 'test',
    plugins: [databasePlugin, sharedStorePlugin],
    config: { 'platform.database.sqlite.file': ':memory:', ...space.config },
  })
  const running = await startForTest(product)
  t.teardown(() => running.stop('test ended'))
  const { quota } = running.service(sharedStore)
  const most = Number.MAX_SAFE_INTEGER
  const year = 365 * 86_400_000
  for (const algorithm of ['window', 'bucket'] as const) {
    for (const [limit, windowMs] of [
      [1, year],
      [60, 60_000],
      [60, year],
      [140_000, year],
      [150_000, year],
      [1e12, 1000],
      [most, 1],
      [most, year],
    ] as const) {
      const name = `${algorithm} ${limit} in ${windowMs} ms`
      const request = { key: `${limit}:${windowMs}`, limit, windowMs: Math.max(windowMs, 60_000) }
      const taken = Math.ceil(limit / 2)
      const askedAt = Date.now()
      // Tolerance of the remaining quota. A bucket refills during the test.
      const tolerance = () =>
        limit / 1e6 + (algorithm === 'bucket' ? (limit * (Date.now() - askedAt + 1)) / request.windowMs : 0)
      const first = await quota.decide(algorithm, { ...request, cost: taken }, true)
      t.match(first, { allowed: true, retryAfterMs: 0 }, name)
      const left = limit - taken
      t.ok(Math.abs(first.remaining - left) <= tolerance(), `${name}: ${first.remaining} are left`)
      const { resetAtMs } = first
      t.ok(resetAtMs > askedAt && resetAtMs <= Date.now() + request.windowMs, `${name}: ends at ${resetAtMs}`)
      const denied = await quota.decide(algorithm, { ...request, cost: limit }, true)
      t.equal(denied.allowed, false, name)
      const wait = denied.retryAfterMs
      t.ok(Number.isSafeInteger(wait) && wait >= 1 && wait <= request.windowMs, `${name}: waits ${wait} ms`)
      t.ok(Math.abs(denied.remaining - left) <= Math.max(1, tolerance()), `${name}: still ${denied.remaining}`)
    }
  }
})

for (const { dialect, skip } of everyDialect) {
  t.test(`expired entries are removed, others stay (${dialect})`, { skip }, async (t) => {
    const db = await createDatabase(dialect)
    t.teardown(() => db.drop())
    const clock = manualClock(Date.now())
    const sleepless: Clock = { ...clock, now: () => clock.now(), monotonic: () => clock.monotonic() }
    const product = defineProduct({ name: 'test', plugins: [databasePlugin, sharedStorePlugin], config: db.config })
    const running = await startForTest(product, { clock: sleepless })
    t.teardown(() => running.stop('test ended'))
    const store = running.service(sharedStore)
    const sql = running.service(database)
    const names = async () =>
      (await sql.query<{ name: string }>('select name from shared_store_entry order by name')).map(({ name }) => name)

    await Promise.all(Array.from({ length: 600 }, (_, index) => store.increment(`c${index}`, 1)))
    await store.set('stays', 'x')
    await store.set('long', 'x', 86_400_000)
    await store.set('taken', 'secret')
    await store.take('taken')
    t.equal((await names()).length, 603)
    t.same(
      await sql.query('select content from shared_store_entry where name = ?', ['value:taken']),
      [{ content: null }],
      'of what was taken no content is left',
    )
    await clock.advance(60_000)
    await until(async () => (await names()).length <= 2, 'expired entries are removed')
    t.same(await names(), ['value:long', 'value:stays'])
  })
}

for (const { dialect, skip } of everyDialect.filter((one) => one.dialect !== 'sqlite')) {
  t.test(`an entry that another transaction has locked delays nobody else (${dialect})`, { skip }, async (t) => {
    const db = await createDatabase(dialect)
    t.teardown(() => db.drop())
    const start = () =>
      startForTest(defineProduct({ name: 'test', plugins: [databasePlugin, sharedStorePlugin], config: db.config }))
    const [one, two] = [await start(), await start()]
    t.teardown(() => one.stop('test ended'))
    t.teardown(() => two.stop('test ended'))
    const { quota } = one.service(sharedStore)
    const take = (key: string) => quota.decide('window', { key, limit: 1000, windowMs: 3_600_000, cost: 1 }, true)
    const names = ['stuck', 'stuck too', ...Array.from({ length: 40 }, (_, index) => `free ${index}`)]
    await Promise.all(names.map(take))

    const isHeld = Promise.withResolvers<void>()
    const isOver = Promise.withResolvers<void>()
    const holder = two.service(database).transactional(async () => {
      await two
        .service(database)
        .execute(`update shared_store_entry set since = since where name in ('windows:stuck', 'windows:stuck too')`)
      isHeld.resolve()
      await isOver.promise
    })
    await isHeld.promise
    let stuck = 0
    const waiting = Array.from({ length: 30 }, (_, index) =>
      take(index % 2 === 0 ? 'stuck' : 'stuck too').then((decision) => {
        stuck += 1
        return decision
      }),
    )
    const joint = quota.decideAll(
      'window',
      ['free 0', 'stuck'].map((key) => ({ key, limit: 1000, windowMs: 3_600_000, cost: 1 })),
    )
    for (let round = 1; round <= 5; round++) {
      const reported = await Promise.all(names.slice(2).concat(`new ${round}`).map(take))
      t.ok(
        reported.every(({ allowed }) => allowed),
        'all others are decided',
      )
    }
    t.equal(stuck, 0)
    const given = AbortSignal.timeout(1)
    await t.rejects(quota.decide('window', { key: 'stuck', limit: 1, windowMs: 1, cost: 1 }, true, { signal: given }))
    isOver.resolve()
    await holder
    const decisions = await Promise.all(waiting)
    t.same(
      decisions.map(({ remaining }) => remaining).toSorted((a, b) => a - b),
      Array.from({ length: 30 }, (_, index) => 983 + Math.floor(index / 2)).map((n) => n + 1),
      'then each takes its share once',
    )
    assertMembers(t, await joint, [{ remaining: 993 }, { remaining: 983 }])
    t.match(await take('stuck'), { remaining: 982 }, 'nothing is left over')
  })
}

t.test('calls that wait together are sent in full batches, whatever the deadlines of their callers', async (t) => {
  const batches: number[][] = []
  const batch = new MicroBatch<number, number>({
    size: 4,
    concurrency: Number.POSITIVE_INFINITY,
    eager: true,
    run: async (items) => {
      batches.push([...items])
      return items.map((item) => 10 * item)
    },
  })
  const [early, late, last] = [{ isOver: () => false }, { isOver: () => false }, { isOver: () => true }]
  const callers = [early, early, early, late, late, late, late, last, late]
  const responses = callers.map((patience, item) => batch.ask(item, patience))
  responses[7]?.catch(() => {})
  t.same(
    await Promise.all(responses.filter((_, item) => item !== 7)),
    [0, 1, 2, 3, 4, 5, 6, 8].map((item) => 10 * item),
    'each gets its own answer',
  )
  t.same(batches, [[0, 1, 2, 3], [4, 5, 6], [8]], 'and who has stopped waiting is not sent')
})
