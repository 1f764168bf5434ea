import type { ChartDeclaration, MeasuredChart } from '@plinth/admin'
import { type Clock, FailureLog, instanceName, type Logger, withinDeadline } from '@plinth/kernel'

/** How far back a process remembers. The longer step is a whole number of the shorter ones. */
export const spans = {
  hour: { stepMs: 30_000, steps: 120 },
  day: { stepMs: 300_000, steps: 288 },
} as const
export type Span = keyof typeof spans

const shortInLong = spans.day.stepMs / spans.hour.stepMs

/** Values of a label that one chart tells apart, and what those count as that come later. */
const mostValues = 8
const otherValues = 'other'
/** A metric whose reading takes longer is read again in the next step. */
const readingMs = 5_000

/** What a chart counted in one step. */
export interface CountedStep {
  /** End of the step, milliseconds since the epoch. */
  readonly at: number
  /** Value of the label that the chart tells apart; null without one. */
  readonly of: string | null
  /** By the names of the lines. */
  readonly counts: Readonly<Record<string, number>>
}

interface CounterValue {
  /** Of a histogram: which of its sums. */
  readonly metricName?: string
  readonly labels: Readonly<Partial<Record<string, string | number>>>
  readonly value: number
}

interface MetricHistoryParts {
  readonly registry: {
    getSingleMetric(name: string): { get(): Promise<{ readonly values: readonly CounterValue[] }> } | undefined
  }
  readonly charts: ReadonlyMap<string, ChartDeclaration>
  readonly clock: Clock
  readonly log: Pick<Logger, 'error' | 'info'>
}

/** Counts of one line and one value of a label. */
class Column {
  readonly hour = new Float64Array(spans.hour.steps)
  readonly day = new Float64Array(spans.day.steps)
  /** Counted in the steps that have not ended. */
  readonly open = { hour: 0, day: 0 }
  /** What the counter said last. */
  #last: number

  constructor(last: number) {
    this.#last = last
  }

  read(sum: number): void {
    // A counter that was made anew began at nothing.
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

/** Columns by the value of the label, then by the name of the line. */
type Columns = Map<string, Map<string, Column>>

/**
 * What the counters of this process counted in the last hour and the last day, for the charts that are declared. Read from
 * the registry once a step and kept in memory alone: it begins anew with the process, and knows nothing of other instances.
 * A line takes 3.3 KB whatever it counts, in a chart that tells values of a label apart at most nine times that.
 */
export class MetricHistory {
  /** Names this process among the instances of the product. */
  readonly instance = instanceName()
  readonly #parts: MetricHistoryParts
  readonly #failures: FailureLog
  readonly #columns = new Map<string, Columns>()
  /** Ends of the steps by the monotonic clock: no correction of the system time puts one before the other. */
  readonly #ends = { hour: new Float64Array(spans.hour.steps), day: new Float64Array(spans.day.steps) }
  readonly #ended = { hour: 0, day: 0 }
  #began: number | undefined

  constructor(parts: MetricHistoryParts) {
    this.#parts = parts
    this.#failures = new FailureLog(parts.log, {
      failing: 'metrics cannot be read for the charts of the back office; what they count now is shown later',
      over: 'metrics are read for the charts of the back office again',
    })
  }

  /** When counting began, milliseconds since the epoch; undefined before it did. */
  get since(): number | undefined {
    return this.#began === undefined ? undefined : this.#wallTime(this.#began)
  }

  /** Counts one step after the other until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    await this.#read(signal)
    this.#began = clock.monotonic()
    while (!signal.aborted) {
      await clock.sleep(spans.hour.stepMs, signal, { keepsAlive: false })
      if (signal.aborted) return
      await this.#read(signal)
      this.#endStep('hour')
      if (this.#ended.hour % shortInLong === 0) this.#endStep('day')
    }
  }

  /** Steps that have ended, the oldest first; none of a chart whose metric nobody has made. */
  steps({ id, by }: Pick<MeasuredChart, 'id' | 'by'>, span: Span): readonly CountedStep[] {
    const columns = [...(this.#columns.get(id) ?? [])]
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

  async #read(signal: AbortSignal): Promise<void> {
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

  #count(chart: MeasuredChart, counters: readonly CounterValue[]): void {
    const columns: Columns = this.#columns.get(chart.id) ?? new Map()
    this.#columns.set(chart.id, columns)
    for (const [value, sums] of sumsOf(chart, counters, columns)) {
      const lines = columns.get(value) ?? new Map<string, Column>()
      columns.set(value, lines)
      for (const [name, sum] of sums) {
        // What was counted before the first reading belongs to no step.
        const column = lines.get(name) ?? new Column(this.#began === undefined ? sum : 0)
        lines.set(name, column)
        column.read(sum)
      }
    }
  }

  #endStep(span: Span): void {
    const slot = this.#ended[span] % spans[span].steps
    this.#ends[span][slot] = this.#parts.clock.monotonic()
    this.#ended[span] += 1
    for (const columns of this.#columns.values())
      for (const lines of columns.values()) for (const column of lines.values()) column.end(span, slot)
  }
}

/** What counters say now, by value of the label and line. A chart without a label has its lines also while nothing counts. */
function sumsOf(
  { by, lines }: MeasuredChart,
  counters: readonly CounterValue[],
  known: { readonly has: (value: string) => boolean; readonly size: number },
): ReadonlyMap<string, ReadonlyMap<string, number>> {
  const none = () => new Map(lines.map(({ name }) => [name, 0]))
  const sums = new Map<string, Map<string, number>>(by === undefined ? [['', none()]] : [])
  let told = known.size
  const placeOf = (value: string) => {
    if (by === undefined) return ''
    if (known.has(value) || sums.has(value)) return value
    if (told >= mostValues) return otherValues
    told += 1
    return value
  }
  for (const { labels, value } of counters) {
    const place = placeOf(String(labels[by ?? ''] ?? ''))
    const found = sums.get(place) ?? none()
    sums.set(place, found)
    for (const { name, where = {} } of lines) {
      const counts = Object.entries(where).every(([label, wanted]) => wanted.includes(String(labels[label])))
      if (counts) found.set(name, (found.get(name) ?? 0) + value)
    }
  }
  return sums
}
