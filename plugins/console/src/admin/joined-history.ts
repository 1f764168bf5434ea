import { randomUUID } from 'node:crypto'
import type { MetricChart } from '@plinth/admin'
import { type Clock, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import { type CountedStep, type MetricHistory, type Span, spans } from './metric-history.ts'
import { Publications } from './publications.ts'

/** Counts of one process. */
export interface InstanceSteps {
  readonly instance: string
  /** Time at which the counts begin, in milliseconds since the epoch, or null. */
  readonly since: number | null
  readonly steps: readonly CountedStep[]
}

/** Counts of several processes of the product. The first entry is the process that handles the request. */
interface JoinedSteps {
  readonly answers: readonly InstanceSteps[]
  /** Known processes that did not respond in time. */
  readonly silent: readonly string[]
}

/** One row of a response: time, label value, and the counts in the order of `names`. */
type SentRow = readonly [at: number, of: string | null, ...counts: number[]]
interface SentSteps {
  readonly names: readonly string[]
  readonly rows: readonly SentRow[]
}

/** Message between processes. All processes receive a request, and each of them sends a response. */
type Message = { readonly from: string } & (
  | { readonly instance: string; readonly ask: string; readonly chart: string; readonly span: Span }
  | {
      readonly instance: string
      readonly answer: string
      readonly to: string
      readonly since: number | null
      readonly sent: SentSteps
    }
  | { readonly gone: true }
)

const channel = 'console.history'
/**
 * Maximum number of other processes, and maximum number of characters of a response. A day of the largest chart fits
 * into this length.
 */
const maxInstances = 64
const maxAnswerLength = 262_144
/** Time in milliseconds to wait for known processes, and time to wait while no other process is known. */
const answerMs = 3_000
const firstMs = 1_000
/** A process counts as running for this number of milliseconds after its last message. */
const thereMs = 150_000
/** Milliseconds during which a result is reused. This is shorter than one step of a chart. */
const recentMs = 5_000

interface JoinedHistoryDependencies {
  readonly history: Pick<MetricHistory, 'instance' | 'since' | 'steps'>
  /** The shared store; `undefined` in a product with a single process. */
  readonly store: Pick<SharedStore, 'publish' | 'subscribe'> | undefined
  /** Returns the chart with this id; `undefined` if it does not exist. */
  readonly chartOf: (id: string) => MetricChart | undefined
  readonly clock: Clock
  readonly log: Logger
}

interface Asked {
  readonly answers: Map<string, InstanceSteps>
  readonly received: () => void
}

/**
 * Joins the chart history of all processes. Each process stores only its own history. A process requests the counts of
 * the others through the shared store, adds up the responses that arrive in time, and lists the processes that did not
 * respond. If no page is open, nothing is sent.
 */
export class MetricHistoryOfAllInstances {
  readonly #parts: JoinedHistoryDependencies
  readonly #own = randomUUID()
  readonly #failures: RepeatedFailureLog
  /** Other processes by id, with their name and the time of their last message. */
  readonly #others = new Map<string, { readonly instance: string; readonly receivedAt: number }>()
  readonly #asked = new Map<string, Asked>()
  readonly #recent = new Map<string, { readonly at: number; readonly joined: Promise<JoinedSteps> }>()
  readonly #messages: Publications<Message>
  readonly #stopped = new AbortController()
  #stop: (() => Promise<void>) | undefined
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(parts: JoinedHistoryDependencies) {
    this.#parts = parts
    this.#failures = new RepeatedFailureLog(parts.log, {
      failing: 'charts of the back office show this instance alone; the others cannot be asked',
      over: 'charts of the back office show all instances again',
    })
    this.#messages = new Publications({ store: parts.store, channel, failures: this.#failures })
  }

  get instance(): string {
    return this.#parts.history.instance
  }

  /** Starts to respond to requests of other processes. */
  async start(): Promise<void> {
    try {
      this.#stop = await this.#parts.store?.subscribe(channel, (text) => this.#hear(text))
    } catch (error) {
      this.#failures.failed(error)
    }
  }

  async stop(): Promise<void> {
    this.#stopped.abort()
    if (this.#stop === undefined) return
    this.#messages.send({ from: this.#own, gone: true })
    await this.#stop().catch((error: unknown) => this.#failures.failed(error))
    await this.#messages.sent()
  }

  /** Returns the counts of this process and of the other processes. */
  steps(chart: MetricChart, span: Span): Promise<JoinedSteps> {
    const key = `${chart.id} ${span}`
    const now = this.#parts.clock.monotonic()
    const known = this.#recent.get(key)
    if (known !== undefined && now - known.at < recentMs) return known.joined
    const joined = this.#ask(chart, span)
    this.#recent.set(key, { at: now, joined })
    return joined
  }

  async #ask(chart: MetricChart, span: Span): Promise<JoinedSteps> {
    const { clock } = this.#parts
    const own = this.#ownSteps(chart, span)
    if (this.#stop === undefined) return { answers: [own], silent: [] }
    const now = clock.monotonic()
    const isKnown = now - this.#askedAt < thereMs
    this.#askedAt = now
    for (const [id, { receivedAt }] of this.#others) if (now - receivedAt >= thereMs) this.#others.delete(id)
    const expected = new Map([...this.#others].map(([id, { instance }]) => [id, instance]))
    const ask = randomUUID()
    const answers = new Map<string, InstanceSteps>()
    await new Promise<void>((resolve) => {
      const received = () => {
        if (isKnown && [...expected.keys()].every((id) => answers.has(id))) resolve()
      }
      this.#asked.set(ask, { answers, received })
      this.#messages.send({ from: this.#own, instance: own.instance, ask, chart: chart.id, span })
      void clock.sleep(isKnown ? answerMs : firstMs, this.#stopped.signal, { keepsAlive: false }).then(resolve, resolve)
      received()
    })
    this.#asked.delete(ask)
    const silent = [...expected]
      .filter(([id]) => !answers.has(id) && this.#others.has(id))
      .map(([, instance]) => instance)
    return { answers: [own, ...answers.values()], silent }
  }

  #ownSteps(chart: MetricChart, span: Span): InstanceSteps {
    const { history } = this.#parts
    return { instance: history.instance, since: history.since ?? null, steps: history.steps(chart, span) }
  }

  #hear(text: string): void {
    if (text.length > maxAnswerLength) return
    const message: Message = JSON.parse(text)
    const { from } = message
    if (from === this.#own) return
    if ('gone' in message) return void this.#others.delete(from)
    if (!this.#others.has(from) && this.#others.size >= maxInstances) return
    const { instance } = message
    this.#others.set(from, { instance, receivedAt: this.#parts.clock.monotonic() })
    if ('ask' in message) this.#answer(message.ask, from, message.chart, message.span)
    else if (message.to === this.#own) this.#take(message)
  }

  #take({ from, instance, answer, since, sent }: Extract<Message, { readonly answer: string }>): void {
    const requested = this.#asked.get(answer)
    requested?.answers.set(from, { instance, since, steps: stepsOf(sent) })
    requested?.received()
  }

  #answer(ask: string, to: string, id: string, span: Span): void {
    const chart = this.#parts.chartOf(id)
    if (chart === undefined || !Object.hasOwn(spans, span)) return
    const { instance, since, steps } = this.#ownSteps(chart, span)
    this.#messages.send({ from: this.#own, instance, answer: ask, to, since, sent: sentSteps(chart, steps) })
  }
}

function sentSteps({ lines }: MetricChart, steps: readonly CountedStep[]): SentSteps {
  const names = lines.map(({ name }) => name)
  return { names, rows: steps.map(({ at, of, counts }) => [at, of, ...names.map((name) => counts[name] ?? 0)]) }
}

const stepsOf = ({ names, rows }: SentSteps): readonly CountedStep[] =>
  rows.map(([at, of, ...counts]) => ({
    at,
    of,
    counts: Object.fromEntries(names.map((name, index) => [name, counts[index] ?? 0])),
  }))

/**
 * Adds up the counts of several processes. Their steps start at different times, so the steps are aligned to a common
 * grid. The result ends with the last step that all processes have completed.
 */
export function addUpSteps(answers: readonly InstanceSteps[], span: Span): readonly CountedStep[] {
  const [first, ...others] = answers.filter(({ steps }) => steps.length > 0)
  if (first === undefined || others.length === 0) return first?.steps ?? []
  const { stepMs } = spans[span]
  const onGrid = (at: number) => Math.round(at / stepMs) * stepMs
  const end = Math.min(...[first, ...others].map(({ steps }) => onGrid(steps.at(-1)?.at ?? 0)))
  const sums = new Map<string, { at: number; of: string | null; counts: Record<string, number> }>()
  for (const { at, of, counts } of [first, ...others].flatMap(({ steps }) => steps)) {
    const moment = onGrid(at)
    if (moment > end) continue
    const key = `${moment} ${of}`
    const sum = sums.get(key) ?? { at: moment, of, counts: {} }
    sums.set(key, sum)
    for (const [name, count] of Object.entries(counts)) sum.counts[name] = (sum.counts[name] ?? 0) + count
  }
  return [...sums.values()].sort((a, b) => a.at - b.at)
}
