import type { Lease, SharedStore } from '@plinth/shared-store'
import {
  type CaseBodies,
  type ConformanceCase,
  ConformanceError,
  type ConformanceLimits,
  createCallTimeouts,
  createCases,
  expectEqual,
} from './index.ts'

/** Returns a store and leases whose calls fail after the time limit of the kit. */
function boundedStore(store: SharedStore, { answer }: ReturnType<typeof createCallTimeouts>): SharedStore {
  const lease = (held: Lease): Lease => ({
    key: held.key,
    fence: held.fence,
    renew: (leaseMs) => answer('renew of a lease', () => held.renew(leaseMs)),
    release: () => answer('release of a lease', () => held.release()),
  })
  return {
    driver: store.driver,
    redis: store.redis,
    quota: store.quota,
    get: (key) => answer('get', () => store.get(key)),
    set: (key, value, ttlMs) => answer('set', () => store.set(key, value, ttlMs)),
    setIfAbsent: (key, value, ttlMs) => answer('setIfAbsent', () => store.setIfAbsent(key, value, ttlMs)),
    take: (key) => answer('take', () => store.take(key)),
    delete: (key) => answer('delete', () => store.delete(key)),
    deleteIf: (key, value) => answer('deleteIf', () => store.deleteIf(key, value)),
    increment: (key, ttlMs, by) => answer('increment', () => store.increment(key, ttlMs, by)),
    acquire: (key, leaseMs) =>
      answer('acquire', async () => {
        const held = await store.acquire(key, leaseMs)
        return held && lease(held)
      }),
    publish: (channel, message) => answer('publish', () => store.publish(channel, message)),
    subscribe: (channel, listener, onGap) => answer('subscribe', () => store.subscribe(channel, listener, onGap)),
  }
}

export interface SharedStoreHarness {
  /** Two instances that share the same empty data. */
  readonly instances: readonly [SharedStore, SharedStore]
  /** Advances the clock of the store, or waits if the clock is real. A case needs less than two seconds. */
  pass(ms: number): Promise<void>
  /** Waits until published messages have arrived. */
  settle(): Promise<void>
  stop(): Promise<void>
}

/**
 * Lifetime in milliseconds of entries that must expire. It is short, because the test may have to wait. On a slow
 * machine, such an entry may expire too early.
 */
const shortMs = 200
/** Lifetime in milliseconds of entries that must not expire during a case. */
const longMs = 3_600_000

/** Keys that stores often confuse or reject. */
const awkwardKeys = [
  'a',
  'A',
  'a ',
  'a:b',
  '',
  ' ',
  '{a}',
  '{a}b',
  '%7ba}',
  'a\0b',
  'ключ',
  '🔑',
  'k'.repeat(600),
  `${'k'.repeat(600)}x`,
]

async function thrownBy(work: () => Promise<unknown>): Promise<string> {
  try {
    await work()
    return 'nothing'
  } catch (error) {
    return error instanceof Error ? error.name : String(error)
  }
}

const inParallel = <T>(
  [one, two]: SharedStoreHarness['instances'],
  times: number,
  work: (store: SharedStore) => Promise<T>,
) => Promise.all(Array.from({ length: times }, (_, index) => work(index % 2 === 0 ? one : two)))

const bodies: CaseBodies<SharedStoreHarness> = {
  'values are shared, overwritten and deleted': [
    'Keep values as they are, whatever their length and characters, where all instances find them.',
    async ({ instances: [one, two] }) => {
      expectEqual('A key without a value reads as undefined', await one.get('k'), undefined)
      await one.set('k', 'first')
      expectEqual('Another instance reads what was set', await two.get('k'), 'first')
      await two.set('k', '')
      expectEqual('An empty text is a value', await one.get('k'), '')
      expectEqual('delete says that there was a value', await one.delete('k'), true)
      expectEqual('and then that there was none', await two.delete('k'), false)
      expectEqual('A deleted value is gone', await two.get('k'), undefined)
      const long = `${'x'.repeat(100_000)}ü🔑'"\\\n`
      await one.set('k', long)
      expectEqual('Values come back as they were', await two.get('k'), long)
    },
  ],

  'different keys and kinds do not touch each other': [
    'Use the whole key as it is, under a name of its own for each kind; no trimming, folding of case or cutting, and a collation that compares bytes.',
    async ({ instances: [one, two] }) => {
      for (const [index, key] of awkwardKeys.entries()) await one.set(key, `${index}`)
      for (const [index, key] of awkwardKeys.entries()) {
        expectEqual('Each key has its own value', await two.get(key), `${index}`)
        expectEqual('A counter has another name than a value', (await two.increment(key, 60_000)).value, 1)
        expectEqual('and so has a lock', (await two.acquire(key, 60_000)) === undefined, false)
      }
    },
  ],

  'a value ends with its time to live, and set renews it': [
    'Judge the end of a value wherever it is read, deleted or taken; times are milliseconds, and a read renews nothing.',
    async ({ instances: [one, two], pass }) => {
      await one.set('short', 'x', shortMs)
      await one.set('long', 'x', longMs)
      await one.set('renewed', 'x', shortMs)
      await one.set('renewed', 'y')
      expectEqual('It is there before', await two.get('long'), 'x')
      await pass(shortMs + 1)
      expectEqual('It is gone after', await two.get('short'), undefined)
      expectEqual('delete finds nothing then', await two.delete('short'), false)
      expectEqual('take finds nothing then', await two.take('short'), undefined)
      expectEqual('A value set without a time to live stays', await two.get('renewed'), 'y')
      // On a slow machine, the value may expire before the read. Then the case repeats with a longer lifetime.
      for (let ttlMs = shortMs; ; ttlMs *= 2) {
        const startedAt = performance.now()
        await one.set('early', 'x', ttlMs)
        await pass(ttlMs / 4)
        const found = await two.get('early')
        if (performance.now() >= startedAt + ttlMs) continue
        expectEqual('It is there until its end', found, 'x')
        break
      }
      await one.set('read', 'x', shortMs)
      for (let part = 0; part < 4; part++) {
        await two.get('read')
        await pass(shortMs / 4 + 1)
      }
      expectEqual('A value that was read meanwhile is gone as well', await two.get('read'), undefined)
    },
  ],

  'take hands a value to one caller': [
    'Read and delete in one atomic step.',
    async ({ instances }) => {
      await instances[0].set('once', 'secret')
      const taken = await inParallel(instances, 20, (store) => store.take('once'))
      expectEqual(
        'One of 20 callers gets it',
        taken.filter((value) => value !== undefined),
        ['secret'],
      )
    },
  ],

  'deleteIf deletes one value and no other': [
    'Compare and delete in one atomic step.',
    async ({ instances, pass }) => {
      const [one, two] = instances
      expectEqual('There is nothing to delete', await one.deleteIf('code', 'first'), false)
      await one.set('code', 'first')
      const deleted = await inParallel(instances, 20, (store) => store.deleteIf('code', 'first'))
      expectEqual('One of 20 callers deletes it', deleted.filter(Boolean).length, 1)
      expectEqual('Then it is gone', await two.get('code'), undefined)
      await one.set('code', 'second')
      expectEqual('Another value is not meant', await two.deleteIf('code', 'first'), false)
      expectEqual('It stays', await one.get('code'), 'second')
      await Promise.all([two.deleteIf('code', 'second'), one.set('code', 'third')])
      expectEqual('What comes while an older one is deleted stays', await two.get('code'), 'third')
      await one.set('short', 'x', shortMs)
      await pass(shortMs + 1)
      expectEqual('What has ended is not there', await two.deleteIf('short', 'x'), false)
    },
  ],

  'setIfAbsent lets one caller set': [
    'Look and set in one atomic step; a refused call changes neither the value nor its end.',
    async ({ instances, pass }) => {
      const [one, two] = instances
      const won = await inParallel(instances, 20, (store) => store.setIfAbsent('nonce', 'x', longMs))
      expectEqual('One of 20 callers sets it', won.filter(Boolean).length, 1)
      expectEqual('The value stays what it was', await one.setIfAbsent('nonce', 'y'), false)
      expectEqual('The value stays what it was', await two.get('nonce'), 'x')
      await one.setIfAbsent('short', 'x', shortMs)
      await pass(shortMs + 1)
      expectEqual('After its time to live it can be set again', await two.setIfAbsent('short', 'z'), true)
      // On a slow machine, the value may expire before the second call. Then the case repeats with a longer lifetime.
      for (let ttlMs = shortMs; ; ttlMs *= 2) {
        const key = `refused ${ttlMs}`
        await one.setIfAbsent(key, 'x', ttlMs)
        const late = await two.setIfAbsent(key, 'y', longMs)
        await pass(ttlMs + 1)
        if (late) continue
        expectEqual('A refused call does not move the end', await one.get(key), undefined)
        break
      }
    },
  ],

  'increment loses no hit': [
    'Add in one atomic step; never read, add and write.',
    async ({ instances }) => {
      const counted = await inParallel(instances, 40, (store) => store.increment('hits', 60_000, 3))
      const values = counted.map(({ value }) => value).sort((a, b) => a - b)
      expectEqual(
        'Each of 40 hits of 3 sees a sum of its own',
        values,
        Array.from({ length: 40 }, (_, i) => 3 * (i + 1)),
      )
    },
  ],

  'the first hit sets the time to live and later ones never extend it': [
    'Set the end with the first hit only, and answer what is left of it in milliseconds.',
    async ({ instances: [one, two], pass }) => {
      const first = await one.increment('c', longMs)
      expectEqual('The first hit is 1', first.value, 1)
      const isRight = Number.isSafeInteger(first.ttlMs) && first.ttlMs > longMs / 2
      if (!isRight) throw new ConformanceError('The first hit answers the time to live', `${longMs}`, first.ttlMs)
      let last = longMs
      for (let hit = 0; hit < 5; hit++) {
        await pass(shortMs / 10)
        const { ttlMs } = await two.increment('c', 2 * longMs)
        if (ttlMs > last) throw new ConformanceError('Time to live never grows', `at most ${last}`, ttlMs)
        last = ttlMs
      }
      await one.increment('short', shortMs)
      await pass(shortMs + 1)
      expectEqual('After it the counter starts over', (await two.increment('short', shortMs)).value, 1)
    },
  ],

  'a lock has one holder': [
    'Compare the holder in the same step that renews or releases, and count fences for each lock beyond its leases.',
    async ({ instances, pass }) => {
      const [one, two] = instances
      const leases = await inParallel(instances, 20, (store) => store.acquire('task', longMs))
      const [held, ...others] = leases.filter((lease) => lease !== undefined)
      expectEqual('One of 20 callers gets the lock', [held !== undefined, others.length], [true, 0])
      if (held === undefined) return
      expectEqual('Its holder can renew it', await held.renew(longMs), true)
      for (const store of instances) {
        expectEqual(
          'It stays with its holder, who cannot take it twice',
          await store.acquire('task', longMs),
          undefined,
        )
      }
      expectEqual('Its holder can release it', await held.release(), true)
      expectEqual('once', await held.release(), false)
      const next = await two.acquire('task', longMs)
      expectEqual('A released lock is free', next !== undefined, true)
      expectEqual('A lease can be renewed to a shorter time', await next?.renew(shortMs), true)
      await pass(shortMs + 1)
      const last = await one.acquire('task', longMs)
      expectEqual('A lease that ended is free', last !== undefined, true)
      expectEqual('Who lost it cannot renew it', await next?.renew(longMs), false)
      expectEqual('nor release it', await next?.release(), false)
      expectEqual('and it stays with its holder', await two.acquire('task', longMs), undefined)
      const fences = [held.fence, next?.fence ?? 0, last?.fence ?? 0]
      expectEqual(
        'Fences grow',
        fences,
        [...new Set(fences)].sort((a, b) => a - b),
      )
      expectEqual('Fences are whole numbers', fences.every(Number.isSafeInteger), true)
      // On a slow machine, the lease may expire before its renewal. Then the case repeats with a longer lease.
      for (let leaseMs = shortMs; ; leaseMs *= 2) {
        const short = await one.acquire('renewed', leaseMs)
        const isRenewed = await short?.renew(longMs)
        await pass(leaseMs + 1)
        if (isRenewed !== true) continue
        expectEqual('A renewed lease lasts', await two.acquire('renewed', longMs), undefined)
        break
      }
    },
  ],

  'messages reach all who listen': [
    "Hand each message to every listener of the channel of every instance, once; a listener that throws or hangs is no other one's matter.",
    async ({ instances: [one, two], settle }) => {
      const received: string[] = []
      await one.publish('news', 'before anybody listened')
      const stops = [
        await one.subscribe('news', (message) => received.push(`one ${message}`)),
        await two.subscribe('news', () => {
          throw new Error('a listener that fails')
        }),
        await two.subscribe('news', (message) => received.push(`two ${message}`)),
        await two.subscribe('other', (message) => received.push(`other ${message}`)),
        await one.subscribe('news', () => new Promise<void>(() => {})),
      ]
      await one.publish('news', 'a')
      await two.publish('news', 'b')
      await settle()
      expectEqual('Each listener of the channel hears each message once', received.sort(), [
        'one a',
        'one b',
        'two a',
        'two b',
      ])
      received.length = 0
      await one.publish('late', 'before')
      stops.push(await two.subscribe('late', (message) => received.push(`late ${message}`)))
      await settle()
      expectEqual('Who comes later hears nothing of before', received, [])
      await stops[2]?.()
      await one.publish('news', 'c')
      await settle()
      expectEqual('Who stopped listening hears nothing', received, ['one c'])
      for (const stop of stops) await stop()
      received.length = 0
      await one.publish('news', 'd')
      await settle()
      expectEqual('Nobody listens any more', received, [])
    },
  ],

  'arguments out of range are refused before anything happens': [
    'Check arguments first and throw a RangeError.',
    async ({ instances: [store] }) => {
      const bad: Record<string, () => Promise<unknown>> = {
        'a time to live of 0': () => store.set('k', 'v', 0),
        'a fraction of a millisecond': () => store.setIfAbsent('k', 'v', 1.5),
        'an endless time to live': () => store.increment('k', Number.POSITIVE_INFINITY),
        'a negative hit': () => store.increment('k', 1000, -1),
        'a hit that is no number': () => store.increment('k', 1000, Number.NaN),
        'a lease of 0': () => store.acquire('k', 0),
        'half a surrogate pair in a key': () => store.get('\ud800'),
        'NUL in a value': () => store.set('k', 'a\0b'),
        'NUL in a message': () => store.publish('k', 'a\0b'),
      }
      for (const [what, call] of Object.entries(bad))
        expectEqual(`${what} is refused`, await thrownBy(call), 'RangeError')
      expectEqual('and nothing was set', await store.get('k'), undefined)
      expectEqual('nor counted', (await store.increment('k', 1000)).value, 1)
    },
  ],
}

/**
 * Returns the test cases of the contract `SharedStore`, for any test runner. Quotas are tested by `rateLimitStoreCases`
 * of the kernel.
 *
 * @param create creates an empty store
 */
export function sharedStoreCases(
  create: () => SharedStoreHarness | Promise<SharedStoreHarness>,
  limits: ConformanceLimits = {},
): ConformanceCase[] {
  const bounds = createCallTimeouts(limits)
  const bounded = async () => {
    const harness = await create()
    const [one, two] = harness.instances
    return {
      instances: [boundedStore(one, bounds), boundedStore(two, bounds)] as const,
      // A timer may fire a millisecond early, and a store may use whole milliseconds. So each wait is one millisecond
      // longer.
      pass: (ms: number) => harness.pass(ms + 1),
      settle: () => harness.settle(),
      stop: () => harness.stop(),
    }
  }
  return createCases(bounded, bodies, limits)
}
