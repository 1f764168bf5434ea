import { type ChartDeclaration, type MetricChart, metricChart } from '@plinth/admin'
import { assertMembers, manualClock } from '@plinth/dev/testing'
import fc from 'fast-check'
import { Counter, Histogram, Registry } from 'prom-client'
import t from 'tap'
import { MetricHistory, spans } from '../src/admin/metric-history.ts'

const title = { en: 'x', 'zh-CN': 'y' }
const stepMs = spans.hour.stepMs

const calls = metricChart({
  id: 'probe.calls',
  title,
  order: 1,
  metric: 'calls',
  lines: [
    { name: 'all', title },
    { name: 'failed', title, where: { outcome: ['failed', 'late'] } },
  ],
})
const byStore: MetricChart = { ...calls, id: 'probe.stores', by: 'store' }

/** Returns a metric history with a separate registry and a manual clock. */
function historyFor(teardown: (work: () => void) => void, charts: readonly ChartDeclaration[] = [calls, byStore]) {
  const registry = new Registry()
  const clock = manualClock(Date.UTC(2026, 0, 1))
  const lines: string[] = []
  const log = {
    error: (_: object, text: string) => lines.push(text),
    info: (_: object, text: string) => lines.push(text),
  }
  const history = new MetricHistory({
    registry,
    clock,
    log: log as never,
    charts: new Map(charts.map((chart) => [chart.id, chart])),
  })
  const stopped = new AbortController()
  teardown(() => stopped.abort())
  const counter = () =>
    new Counter({ name: 'calls', help: 'x', labelNames: ['store', 'outcome'], registers: [registry] })
  const run = async () => {
    void history.run(stopped.signal)
    await clock.advance(0)
  }
  return { registry, clock, lines, history, counter, run, stopped }
}

t.test(
  'a count belongs to the step in which it happened; counts before the first reading belong to no step',
  async (t) => {
    const { clock, history, counter, run } = historyFor(t.teardown)
    t.equal(history.since, undefined)
    const made = counter()
    made.inc({ store: 'memory', outcome: 'ok' }, 100)
    await run()
    t.equal(history.since, Date.UTC(2026, 0, 1))
    t.strictSame(history.steps(calls, 'hour'), [], 'no step has ended')
    made.inc({ store: 'memory', outcome: 'ok' }, 3)
    made.inc({ store: 'redis', outcome: 'failed' }, 2)
    await clock.advance(stepMs)
    made.inc({ store: 'redis', outcome: 'late' })
    await clock.advance(stepMs)
    const at = [1, 2].map((step) => Date.UTC(2026, 0, 1) + step * stepMs)
    t.strictSame(history.steps(calls, 'hour'), [
      { at: at[0], of: null, counts: { all: 5, failed: 2 } },
      { at: at[1], of: null, counts: { all: 1, failed: 1 } },
    ])
    t.strictSame(history.steps(byStore, 'hour'), [
      { at: at[0], of: 'memory', counts: { all: 3, failed: 0 } },
      { at: at[0], of: 'redis', counts: { all: 2, failed: 2 } },
      { at: at[1], of: 'memory', counts: { all: 0, failed: 0 } },
      { at: at[1], of: 'redis', counts: { all: 1, failed: 1 } },
    ])
    t.strictSame(history.steps(calls, 'day'), [], 'no long step has ended')
  },
)

t.test('observations of a histogram are counted; a metric that does not exist has no counts', async (t) => {
  const seconds = { ...calls, id: 'probe.seconds', metric: 'seconds' }
  const { registry, clock, history, run } = historyFor(t.teardown, [calls, seconds])
  await run()
  const histogram = new Histogram({ name: 'seconds', help: 'x', labelNames: ['outcome'], registers: [registry] })
  histogram.observe({ outcome: 'failed' }, 0.3)
  histogram.observe({ outcome: 'ok' }, 12)
  await clock.advance(stepMs)
  assertMembers(t, history.steps(seconds, 'hour'), [{ counts: { all: 2, failed: 1 } }])
  t.strictSame(history.steps(calls, 'hour'), [])
})

t.test('a recreated counter starts at zero', async (t) => {
  const { registry, clock, history, counter, run } = historyFor(t.teardown)
  counter().inc(10)
  await run()
  registry.removeSingleMetric('calls')
  counter().inc(4)
  await clock.advance(stepMs)
  assertMembers(t, history.steps(calls, 'hour'), [{ counts: { all: 4 } }])
})

t.test('if a label has more than eight values, the later ones are counted together', async (t) => {
  const { clock, history, counter, run } = historyFor(t.teardown)
  const made = counter()
  await run()
  for (let store = 0; store < 20; store++) made.inc({ store: `s${store}` })
  await clock.advance(stepMs)
  made.inc({ store: 's19' }, 5)
  await clock.advance(stepMs)
  const steps = history.steps(byStore, 'hour')
  t.strictSame(
    steps.slice(0, 9).map(({ of, counts }) => [of, counts['all']]),
    [...Array.from({ length: 8 }, (_, store) => [`s${store}`, 1]), ['other', 12]],
  )
  t.match(steps.at(-1), { of: 'other', counts: { all: 5 } })
})

t.test('an unreadable metric is reported once, and its counts are shown later', async (t) => {
  const { registry, clock, history, lines, run } = historyFor(t.teardown)
  let isBroken = false
  const made = new Counter({
    name: 'calls',
    help: 'x',
    registers: [registry],
    collect() {
      if (isBroken) throw new Error('gone')
    },
  })
  await run()
  isBroken = true
  made.inc(2)
  await clock.advance(2 * stepMs)
  assertMembers(t, lines, [/cannot be read/])
  isBroken = false
  await clock.advance(stepMs)
  assertMembers(t, lines, [/cannot be read/, /are read .* again/])
  t.strictSame(
    history.steps(calls, 'hour').map(({ counts }) => counts['all']),
    [0, 0, 2],
  )
})

t.test('a metric that does not respond does not delay the others, and stopping ends the wait', async (t) => {
  const stuck = { ...calls, id: 'probe.stuck', metric: 'stuck' }
  const { registry, clock, history, counter, run, stopped } = historyFor(t.teardown, [stuck, calls])
  const never = new Counter({ name: 'stuck', help: 'x', registers: [registry] })
  never.get = () => new Promise(() => {})
  const made = counter()
  await run()
  await clock.advance(10_000)
  made.inc()
  await clock.advance(stepMs + 10_000)
  assertMembers(t, history.steps(calls, 'hour'), [{ counts: { all: 1 } }])
  stopped.abort()
  await clock.advance(10 * stepMs)
  t.equal(history.steps(calls, 'hour').length, 1)
})

t.test('a correction of the system time never moves a step before the previous one', async (t) => {
  const { clock, history, counter, run } = historyFor(t.teardown)
  counter()
  await run()
  await clock.advance(3 * stepMs)
  clock.shiftWallClock(-3_600_000)
  await clock.advance(stepMs)
  const moments = history.steps(calls, 'hour').map(({ at }) => at)
  t.strictSame(
    moments,
    moments.toSorted((a, b) => a - b),
  )
  t.equal(moments.at(-1), clock.now())
})

t.test('nothing is lost or counted twice, whenever it is counted, and the stored history is bounded', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(50), { minLength: 1, maxLength: 400 }), async (counted) => {
      const { clock, history, counter, run, stopped } = historyFor(() => {})
      const made = counter()
      await run()
      for (const count of counted) {
        made.inc(count)
        await clock.advance(stepMs)
      }
      stopped.abort()
      const reported = (span: 'hour' | 'day') => history.steps(calls, span).map(({ counts }) => counts['all'])
      const long = counted.flatMap((_, index) =>
        index % 10 === 9 ? [counted.slice(index - 9, index + 1).reduce((sum, one) => sum + one, 0)] : [],
      )
      return (
        JSON.stringify(reported('hour')) === JSON.stringify(counted.slice(-spans.hour.steps)) &&
        JSON.stringify(reported('day')) === JSON.stringify(long.slice(-spans.day.steps))
      )
    }),
    { numRuns: 15 },
  )
})
