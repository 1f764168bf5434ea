import type { ChartDeclaration, MetricChart } from '@plinth/admin'
import { type Clock, type Logger, RepeatedFailureLog, withinDeadline } from '@plinth/kernel'
import { instanceName } from '@plinth/kernel/host'

/** Time spans for which a process stores counts. The step of the day is a multiple of the step of the hour. */
export const spans = {
  hour: { stepMs: 30_000, steps: 120 },
  day: { stepMs: 300_000, steps: 288 },
} as const
export type Span = keyof typeof spans

const shortInLong = spans.day.stepMs / spans.hour.stepMs

/** Maximum number of label values per chart. Further values are counted together under `otherValues`. */
const maxValues = 8
const otherValues = 'other'
/** Time limit for reading a metric, in milliseconds. A metric that takes longer is read again in the next step. */
const readingMs = 5_000

/** Counts of a chart in one step. */
export interface CountedStep {
  /** End of the step in milliseconds since the epoch. */
  readonly at: number
  /** Value of the label of the chart, or null without a label. */
  readonly of: string | null
  /** Count of each line, by the name of the line. */
  readonly counts: Readonly<Record<string, number>>
}

interface CounterValue {
  /** For a histogram: the metric name of the sum. */
  readonly metricName?: string
  readonly labels: Readonly<Partial<Record<string, string | number>>>
  readonly value: number
}

interface MetricHistoryDependencies {
  readonly registry: {
    getSingleMetric(name: string): { get(): Promise<{ readonly values: readonly CounterValue[] }> } | undefined
  }
  readonly charts: ReadonlyMap<string, ChartDeclaration>
  readonly clock: Clock
  readonly log: Pick<Logger, 'error' | 'info'>
}

/** Counts of one chart line for one label value. */
class LineCounts {
  readonly hour = new Float64Array(spans.hour.steps)
  readonly day = new Float64Array(spans.day.steps)
  /** Counts of the steps that are not yet complete. */
  readonly open = { hour: 0, day: 0 }
  /** Last value of the counter. */
  #last: number

  constructor(last: number) {
    this.#last = last
  }

  read(sum: number): void {
    // The sum is smaller than before if the counter was created again. Such a counter started at zero.
    const counted = sum < this.#last ? sum : sum - this.#last
    this.open.hour += counted
    this.open.day += counted
    this.#last = sum
  }

  end(span: Span, slot: number): void {
    this[span][slot] = this.open[span]
    this.open[span] = 0
  }
}

/** Counts of one chart, by label value, then by name of the line. */
type ChartCounts = Map<string, Map<string, LineCounts>>

/**
 * Counts of the declared charts for the last hour and the last day. They are read from the metrics registry once per
 * step and stored only in memory, so a restart clears them. They contain only the counts of this process. A line needs
 * 3.3 KB, or at most nine times as much if the chart has a label.
 */
export class MetricHistory {
  /** Name of this process among the instances of the product. */
  readonly instance = instanceName()
  readonly #parts: MetricHistoryDependencies
  readonly #failures: RepeatedFailureLog
  readonly #countsOfCharts = new Map<string, ChartCounts>()
  /** Monotonic end times of the steps. Corrections of the system time do not change their order. */
  readonly #ends = { hour: new Float64Array(spans.hour.steps), day: new Float64Array(spans.day.steps) }
  readonly #ended = { hour: 0, day: 0 }
  #began: number | undefined

  constructor(parts: MetricHistoryDependencies) {
    this.#parts = parts
    this.#failures = new RepeatedFailureLog(parts.log, {
      failing: 'metrics cannot be read for the charts of the back office; what they count now is shown later',
      over: 'metrics are read for the charts of the back office again',
    })
  }

  /** Time at which the counts begin, in milliseconds since the epoch; `undefined` before the first reading. */
  get since(): number | undefined {
    return this.#began === undefined ? undefined : this.#wallTime(this.#began)
  }

  /** Counts step by step until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    await this.#readCounters(signal)
    this.#began = clock.monotonic()
    while (!signal.aborted) {
      await clock.sleep(spans.hour.stepMs, signal, { keepsAlive: false })
      if (signal.aborted) return
      await this.#readCounters(signal)
      this.#endStep('hour')
      if (this.#ended.hour % shortInLong === 0) this.#endStep('day')
    }
  }

  /** Returns the completed steps, oldest first. The result is empty if the metric of the chart does not exist. */
  steps({ id, by }: Pick<MetricChart, 'id' | 'by'>, span: Span): readonly CountedStep[] {
    const columns = [...(this.#countsOfCharts.get(id) ?? [])]
    const { steps } = spans[span]
    const ended = this.#ended[span]
    const first = Math.max(0, ended - steps)
    return Array.from({ length: ended - first }, (_, index) => {
      const slot = (first + index) % steps
      const at = this.#wallTime(this.#ends[span][slot] ?? 0)
      return columns.map(([value, lines]) => ({
        at,
        of: by === undefined ? null : value,
        counts: Object.fromEntries([...lines].map(([name, column]) => [name, column[span][slot] ?? 0])),
      }))
    }).flat()
  }

  #wallTime(monotonic: number): number {
    const { clock } = this.#parts
    return Math.round(clock.now() - (clock.monotonic() - monotonic))
  }

  async #readCounters(signal: AbortSignal): Promise<void> {
    const { registry, charts, clock } = this.#parts
    const measured = [...charts.values()].filter((chart) => chart.kind === 'measured')
    let failure: unknown
    for (const [name, asking] of Map.groupBy(measured, ({ metric }) => metric)) {
      const metric = registry.getSingleMetric(name)
      if (metric === undefined || signal.aborted) continue
      const late = () => new Error(`the metric ${name} took longer than ${readingMs} ms`)
      try {
        const { values } = await withinDeadline(clock, readingMs, () => metric.get(), late, signal)
        const counters = values.filter(({ metricName = name }) => metricName === name || metricName === `${name}_count`)
        for (const chart of asking) this.#count(chart, counters)
      } catch (error) {
        failure = error
      }
    }
    if (signal.aborted) return
    if (failure === undefined) this.#failures.succeeded()
    else this.#failures.failed(failure)
  }

  #count(chart: MetricChart, counters: readonly CounterValue[]): void {
    const columns: ChartCounts = this.#countsOfCharts.get(chart.id) ?? new Map()
    this.#countsOfCharts.set(chart.id, columns)
    for (const [value, sums] of sumsOf(chart, counters, columns)) {
      const lines = columns.get(value) ?? new Map<string, LineCounts>()
      columns.set(value, lines)
      for (const [name, sum] of sums) {
        // Counts from before the first reading are not assigned to a step.
        const column = lines.get(name) ?? new LineCounts(this.#began === undefined ? sum : 0)
        lines.set(name, column)
        column.read(sum)
      }
    }
  }

  #endStep(span: Span): void {
    const slot = this.#ended[span] % spans[span].steps
    this.#ends[span][slot] = this.#parts.clock.monotonic()
    this.#ended[span] += 1
    for (const columns of this.#countsOfCharts.values())
      for (const lines of columns.values()) for (const column of lines.values()) column.end(span, slot)
  }
}

/**
 * Returns the current values of counters by label value and line. The lines of a chart without a label exist even if
 * there is no counter yet.
 */
function sumsOf(
  { by, lines }: MetricChart,
  counters: readonly CounterValue[],
  known: { readonly has: (value: string) => boolean; readonly size: number },
): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const none = () => new Map(lines.map(({ name }) => [name, 0]))
  const sums = new Map<string, Map<string, number>>(by === undefined ? [['', none()]] : [])
  let reported = known.size
  const placeOf = (value: string) => {
    if (by === undefined) return ''
    if (known.has(value) || sums.has(value)) return value
    if (reported >= maxValues) return otherValues
    reported += 1
    return value
  }
  for (const { labels, value } of counters) {
    const place = placeOf(String(labels[by ?? ''] ?? ''))
    const found = sums.get(place) ?? none()
    sums.set(place, found)
    for (const { name, where = {} } of lines) {
      const counts = Object.entries(where).every(([label, expected]) => expected.includes(String(labels[label])))
      if (counts) found.set(name, (found.get(name) ?? 0) + value)
    }
  }
  return sums
}
