import { manualClock } from '@plinth/dev/testing'
import { onDatabase } from '@plinth/dev/testing/database'
import { event } from '@plinth/events'
import fc from 'fast-check'
import t from 'tap'
import { Type } from 'typebox'
import { retryDelay } from '../src/deliverer.ts'
import { dice } from './fixtures/dice.ts'
import { dispatcherProcess } from './fixtures/dispatcher-process.ts'
import { startEvents } from './fixtures/product.ts'

const step = event('test.step', Type.Object({ key: Type.Integer(), n: Type.Integer() }))

const publication = fc.record({
  key: fc.integer({ min: 0, max: 3 }),
  isKeyed: fc.boolean(),
  commits: fc.integer({ min: 0, max: 9 }).map((n) => n > 1),
})

onDatabase(
  t,
  'K-013 A10 every committed event arrives in order, whatever fails and whichever process dies',
  async (t, db) => {
    const clock = manualClock()
    const product = await startEvents(t, db, { clock, roles: ['web'] })
    let crashes = 0
    let failures = 0

    async function play(publications: readonly { key: number; isKeyed: boolean; commits: boolean }[], seed: number) {
      for (const table of ['outbox_event', 'outbox_delivery', 'outbox_stream', 'test_effect']) {
        await product.db.execute(`delete from ${table}`)
      }
      const random = dice(seed)
      const arrived: string[] = []
      const expected: string[] = []
      const failsNow = () => {
        const fails = random() < 0.15
        if (fails) failures += 1
        return fails
      }
      const start = () =>
        dispatcherProcess({
          db: product.db,
          clock,
          random,
          dies: () => random() < 0.02,
          handlers(registry, moment) {
            registry.add(
              step,
              'plain',
              async ({ payload, key }) => {
                arrived.push(`${key ?? 'none'}/${payload.n}`)
                await moment(async () => {})
                if (failsNow()) throw new Error('by chance')
              },
              {},
            )
            registry.add(
              step,
              'exact',
              async ({ id, payload, key }) => {
                await product.effect('exact', id, `${key ?? 'none'}/${payload.n}`)
                await moment(async () => {})
                if (failsNow()) throw new Error('by chance')
              },
              { transaction: true },
            )
          },
        })
      const processes = [start(), start()]
      const waiting = [...publications.entries()]

      for (let round = 0; round < 1_000; round++) {
        for (const [n, { key, isKeyed, commits }] of waiting.splice(0, 1 + Math.floor(random() * 4))) {
          const options = isKeyed ? { key: `k${key}` } : {}
          const published = product.db.transactional(async () => {
            await product.events.publish(step, { key, n }, options)
            if (!commits) throw new Error('rolled back')
          })
          await published.catch(() => undefined)
          if (commits) expected.push(`${isKeyed ? `k${key}` : 'none'}/${n}`)
        }
        for (const [index, one] of processes.entries()) {
          const end = await Promise.race([one.dispatcher.idle().then(() => 'idle'), one.crashed.then(() => 'crash')])
          if (end === 'idle') continue
          crashes += 1
          processes[index] = start()
        }
        if (waiting.length === 0 && ((await product.states())['pending'] ?? 0) === 0) break
        await clock.advance(Math.floor(random() * 1_000))
      }
      for (const { dispatcher, crashed } of processes) {
        await Promise.race([dispatcher.drain(new AbortController().signal), crashed])
      }

      const keyed = (notes: readonly string[], key: string) => notes.filter((note) => note.startsWith(`${key}/`))
      const numbers = (notes: readonly string[]) => notes.map((note) => Number(note.split('/')[1]))
      const exact = await product.effects('exact')
      if (exact.length !== expected.length) throw new Error(`${exact.length} effects of ${expected.length} events`)
      for (const key of ['k0', 'k1', 'k2', 'k3']) {
        const requested = numbers(keyed(expected, key)).join()
        if (numbers(keyed(exact, key)).join() !== requested) throw new Error(`effects of ${key} out of order: ${exact}`)
        const seen = numbers(keyed(arrived, key))
        if (seen.some((n, index) => n < (seen[index - 1] ?? 0))) throw new Error(`${key} went back: ${seen}`)
        if ([...new Set(seen)].join() !== requested) throw new Error(`${key} lost something: ${seen}, not ${requested}`)
      }
      const loose = (notes: readonly string[]) => [...new Set(keyed(notes, 'none'))].sort().join()
      if (loose(arrived) !== loose(expected) || loose(exact) !== loose(expected)) throw new Error('an event was lost')
    }

    const runs = db.dialect === 'sqlite' ? 25 : 10
    await fc.assert(fc.asyncProperty(fc.array(publication, { minLength: 1, maxLength: 25 }), fc.integer(), play), {
      numRuns: runs,
      endOnFailure: true,
    })
    t.ok(crashes + failures > 0, `${runs} plays with ${crashes} crashes and ${failures} failures of handlers`)
  },
)

t.test('A10 a retry waits between half and all of the doubled delay, and never longer than the maximum', async (t) => {
  const settings = { initialDelayMs: 1_000, maxDelayMs: 600_000 }
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2_000 }), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, chance) => {
      const full = Math.min(600_000, 1_000 * 2 ** (attempt - 1))
      const delay = retryDelay(attempt, settings, () => chance)
      return delay >= full / 2 && delay <= full
    }),
  )
  t.equal(
    retryDelay(1, settings, () => 1),
    1_000,
  )
  t.equal(
    retryDelay(2, settings, () => 0),
    1_000,
  )
  t.equal(
    retryDelay(11, settings, () => 1),
    600_000,
  )
})
