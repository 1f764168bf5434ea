import { isDeepStrictEqual } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { manualClock, startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct, type RateLimitRequest, rateLimitStore, systemClock } from '@plinth/kernel'
import localTokenBucket, { LocalBucketStore } from '@plinth/rate-limit-stores/local-token-bucket'
import memory, { MemoryStore } from '@plinth/rate-limit-stores/memory'
import fc from 'fast-check'
import t from 'tap'
import { IdlePurge } from '../src/purge-pace.ts'

const owner = definePlugin({ id: 'test.owner', version: '1.0.0', kernel: '^1.0.0', extensionPoints: [rateLimitStore] })
const stores = {
  memory: { plugin: memory, Store: MemoryStore },
  'local-token-bucket': { plugin: localTokenBucket, Store: LocalBucketStore },
}
const minuteMs = 60_000
const request = (changes: Partial<RateLimitRequest> = {}): RateLimitRequest => ({
  key: 'account:1',
  limit: 5,
  windowMs: minuteMs,
  cost: 1,
  ...changes,
})

for (const [name, { plugin, Store }] of Object.entries(stores)) {
  t.test(`the store ${name} releases expired keys when nobody calls any more`, async (t) => {
    const clock = manualClock()
    const running = await startForTest(defineProduct({ name: 'stores', plugins: [owner, plugin] }), { clock })
    t.teardown(() => running.stop('test ended'))
    const store = running.contributions(rateLimitStore).get(name)
    if (!(store instanceof Store)) throw new Error('it is another store')
    for (let index = 0; index < 3000; index++) store.consume(request({ key: `once:${index}` }))
    store.consume(request({ key: 'lasting', windowMs: 20 * minuteMs, cost: 5 }))
    t.equal(clock.sleepers, 0, 'nothing waits for a sweep')
    await clock.advance(299_999)
    t.equal(store.size, 3001)
    await clock.advance(1)
    const left = store.size
    t.ok(left < 3001 && left >= 3001 - 512, `${left} of 3001 after one step`)
    await clock.advance(1_000)
    t.equal(store.size, 1, 'what is in use stays')
    await clock.advance(25 * minuteMs)
    t.equal(store.size, 0)

    store.consume(request({ key: 'later' }))
    await clock.advance(6 * minuteMs)
    t.equal(store.size, 0, 'it begins again with the next key')

    store.consume(request({ key: 'at the end' }))
    await running.stop('test ended')
    await clock.advance(60 * minuteMs)
    t.equal(store.size, 1, 'nothing is swept when the plugin has stopped')
    store.consume(request({ key: 'after it' }))
    await clock.advance(60 * minuteMs)
    t.equal(store.size, 2)
  })
}

t.test('sweeps do not change decisions of the memory store, wherever its windows begin afterwards', async (t) => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ key: fc.integer({ min: 0, max: 400 }), windowMs: fc.constantFrom(1000, 7000, 50_000) }),
    },
    { weight: 2, arbitrary: fc.record({ many: fc.integer({ min: 1, max: 600 }) }) },
    { weight: 2, arbitrary: fc.record({ passedMs: fc.integer({ min: 1, max: 9000 }) }) },
    { weight: 2, arbitrary: fc.constant('sweep' as const) },
  )
  const property = fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
    const clock = manualClock()
    const options = { clock, cleanupInterval: 1_000_000, maxKeys: 1_000_000 }
    const [swept, plain] = [new MemoryStore(options), new MemoryStore(options)]
    const agree = (key: number, windowMs: number) => {
      const requested = request({ key: `k${key}`, windowMs })
      return isDeepStrictEqual(swept.consume(requested), plain.consume(requested))
    }
    for (const each of steps) {
      if (each === 'sweep') while (swept.sweep());
      else if ('passedMs' in each) await clock.advance(each.passedMs)
      else if ('many' in each) for (let key = 0; key < each.many; key++) swept.consume(request({ key: `once:${key}` }))
      else if (!agree(each.key, each.windowMs)) return false
    }
    for (const windowMs of [1000, 7000, 50_000]) {
      for (let key = 0; key <= 400; key++) if (!agree(key, windowMs)) return false
    }
    await clock.advance(minuteMs)
    while (swept.sweep());
    return swept.size === 0
  })
  await t.resolves(fc.assert(property, { numRuns: 40 }))
})

t.test('a sweep releases the memory of the windows, also if some remain', async (t) => {
  setFlagsFromString('--expose-gc')
  const collect: () => void = runInNewContext('gc')
  const held = () => {
    // V8 frees the memory of a collection in another thread. A second collection waits for this thread.
    collect()
    collect()
    return process.memoryUsage().arrayBuffers
  }
  const clock = manualClock()
  const store = new MemoryStore({ clock, cleanupInterval: 1_000_000, maxKeys: 1_000_000 })
  for (let index = 0; index < 10; index++) store.consume(request({ key: `lasting:${index}`, windowMs: 100 * minuteMs }))
  const before = held()
  for (let index = 0; index < 70_000; index++) store.consume(request({ key: `once:${index}` }))
  const full = held()
  t.ok(full - before > 2e6, `${full - before} bytes more`)
  await clock.advance(minuteMs)
  while (store.sweep());
  t.equal(store.size, 10)
  const kept = held() - before
  t.ok(kept < 1e6, `${kept} bytes are kept`)
  t.equal(store.peek(request({ key: 'lasting:3', windowMs: 100 * minuteMs })).remaining, 3)
})

t.test('a sweep does not keep the process alive', async (t) => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
  const before = timers()
  const sweep = new IdlePurge(systemClock)
  t.teardown(() => sweep.stop())
  sweep.held({ size: 1, sweep: () => false })
  t.equal(timers(), before, 'its timer is not waited for')
})
