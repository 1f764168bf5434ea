/**
 * Tests charts of several instances: each instance returns the sum and the values of each instance, and lists the
 * instances that did not respond.
 */

import { metricChart } from '@plinth/admin'
import { manualClock, until } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { pino } from 'pino'
import t from 'tap'
import { addUpSteps, type InstanceSteps, MetricHistoryOfAllInstances } from '../src/admin/joined-history.ts'
import { spans } from '../src/admin/metric-history.ts'
import { startLiveOffice } from './fixtures/live-office.ts'

const stepMs = spans.hour.stepMs
const title = { en: 'x', 'zh-CN': 'y' }
const chart = metricChart({
  id: 'probe.calls',
  title,
  order: 1,
  metric: 'calls',
  lines: [
    { name: 'all', title },
    { name: 'failed', title },
  ],
})

/**
 * Returns a message bus. Every listener receives every message immediately. A disconnected listener receives nothing.
 */
function bus() {
  const listeners = new Map<string, (text: string) => void>()
  const said: string[] = []
  const cut = new Set<string>()
  return {
    said,
    cut,
    store(name: string) {
      return {
        publish: async (_: string, text: string) => {
          said.push(text)
          for (const [other, listener] of listeners) if (!cut.has(other)) listener(text)
        },
        subscribe: async (_: string, listener: (text: string) => void) => {
          listeners.set(name, listener)
          return async () => void listeners.delete(name)
        },
      }
    },
  }
}

const at = (step: number) => Date.UTC(2026, 0, 1) + step * stepMs
const counted = (instance: string, phase: number, all: readonly number[]): InstanceSteps => ({
  instance,
  since: at(0) + phase,
  steps: all.map((count, index) => ({ at: at(index + 1) + phase, of: null, counts: { all: count, failed: 1 } })),
})

t.test('steps of several instances are summed on one grid, up to the step that all have completed', async (t) => {
  const one = counted('one', 4_000, [1, 2, 3])
  t.equal(addUpSteps([one], 'hour'), one.steps, 'of one alone nothing is moved')
  const sum = addUpSteps([one, counted('two', -11_000, [10, 20, 30, 40])], 'hour')
  t.strictSame(
    sum.map(({ at, counts }) => [at, counts['all'], counts['failed']]),
    [
      [at(1), 11, 2],
      [at(2), 22, 2],
      [at(3), 33, 2],
    ],
  )
  t.strictSame(addUpSteps([counted('one', 0, []), counted('two', 0, [])], 'hour'), [])
})

t.test(
  'the requested instance asks the others, waits for active ones and lists those without a response',
  async (t) => {
    const { store, cut, said } = bus()
    const clock = manualClock(at(10))
    const office = async (name: string, steps: InstanceSteps) => {
      const history = { instance: name, since: steps.since ?? 0, steps: () => steps.steps }
      const joined = new MetricHistoryOfAllInstances({
        history,
        store: store(name),
        clock,
        log: pino({ level: 'silent' }) as never,
        chartOf: (id) => (id === chart.id ? chart : undefined),
      })
      await joined.start()
      return joined
    }
    const one = await office('one', counted('one', 0, [1, 2]))
    const two = await office('two', counted('two', 0, [10, 20]))
    await office('three', counted('three', 0, [100, 200]))
    const names = async (requested: Promise<Awaited<ReturnType<typeof one.steps>>>) => {
      const { answers, silent } = await requested
      return {
        answers: answers.map(({ instance }) => instance),
        silent,
        sum: addUpSteps(answers, 'hour').at(0)?.counts['all'],
      }
    }
    t.strictSame(said, [], 'nothing is said while nobody looks')
    const first = names(one.steps(chart, 'hour'))
    await clock.advance(1_000)
    t.strictSame(await first, { answers: ['one', 'two', 'three'], silent: [], sum: 111 })
    const received = said.length
    t.strictSame((await names(one.steps(chart, 'hour'))).sum, 111)
    t.equal(said.length, received, 'who asks again at once gets the same')

    await clock.advance(5_000)
    t.strictSame((await names(one.steps(chart, 'hour'))).sum, 111, 'of those who are known nobody is waited for longer')
    cut.add('three')
    await clock.advance(5_000)
    const silent = names(one.steps(chart, 'hour'))
    await clock.advance(3_000)
    t.strictSame(await silent, { answers: ['one', 'two'], silent: ['three'], sum: 11 })
    await two.stop()
    await clock.advance(150_000)
    const alone = names(one.steps(chart, 'hour'))
    await clock.advance(1_000)
    t.strictSame(await alone, { answers: ['one'], silent: [], sum: 1 }, 'who has gone is missed by nobody')
  },
)

t.test('two instances on one database each return the sum and the values per instance', async (t) => {
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const teardown = (work: () => Promise<void>) => t.teardown(work)
  const config = { 'platform.shared-store.database.poll-interval': '100ms' }
  const one = await startLiveOffice(teardown, at, config)
  const two = await startLiveOffice(teardown, at, config)
  const token = await one.root()
  type ApiResponse = {
    instances: { instance: string; answered: boolean }[]
    items: { at: string; counts: { all: number } }[]
  }
  const ask = async (office: typeof one, query: string) => {
    let response: ApiResponse | undefined
    const requested = office
      .call('GET', `admin/console/charts/http.requests/points${query}`, token)
      .then(({ data }) => {
        response = data as ApiResponse
      })
    // The clock must not advance faster than the servers work.
    await until(async () => {
      for (const { clock } of [one, two]) await clock.advance(100)
      return response !== undefined
    }, 'the chart is answered')
    await requested
    return response as ApiResponse
  }
  for (const { clock } of [one, two]) await clock.advance(stepMs)
  // Waits until both instances have found each other.
  let joined = await ask(one, '')
  for (const late = AbortSignal.timeout(60_000); joined.instances.length < 2; late.throwIfAborted()) {
    for (const { clock } of [one, two]) await clock.advance(5_000)
    joined = await ask(one, '')
  }
  const [own, other] = joined.instances.map(({ instance }) => instance)
  t.not(own, other)
  const theirs = await ask(two, '')
  t.equal(theirs.instances[0]?.instance, other, 'the other answers for both as well')
  const sums = ({ items }: ApiResponse) => items.reduce((sum, { counts }) => sum + counts.all, 0)
  const parts = [await ask(one, `?instance=${own}`), await ask(one, `?instance=${other}`)]
  t.ok(parts.every((part) => part.items.length > 0))
  const all = sums(await ask(one, ''))
  t.ok(all >= Math.max(...parts.map(sums)) && all > 0, `${parts.map(sums)} make ${all}`)
})
