import { ApiFailure, type InstallApi } from './install-api.ts'
import type { ExecuteResult, ExecutionRecord, InstallForm } from './wire.ts'

/**
 * `restarting`: the product starts again on its new connection. `overdue`: it has not come back, somebody must look.
 * `refused`: the entry check does not pass any more.
 */
export type Phase = 'idle' | 'running' | 'restarting' | 'overdue' | 'failed' | 'finished' | 'refused'

export interface InstallationState {
  readonly phase: Phase
  /** Of the present session, oldest first. */
  readonly records: readonly ExecutionRecord[]
  /** Milliseconds of the clock at which it began. */
  readonly startedAt: number
  /** Session that a new try refers to; empty when none is known. */
  readonly sessionId: string
  /** For `failed` and `finished`: what the server says; empty when its answer was lost. */
  readonly message: string
  /** For `failed`: the field of the form that is to be corrected; empty for none. */
  readonly failedField: string
}

/** Time, injected: milliseconds. */
interface PageClock {
  now(): number
  sleep(ms: number): Promise<void>
}

type Api = Pick<InstallApi, 'execute' | 'retry' | 'records' | 'status'>

const seconds = 1000
/** Progress is asked for every second, and less often when it takes long. */
const pollMs = 1 * seconds
const slowPollMs = 3 * seconds
const slowAfterMs = 30 * seconds
/** One question about the status may take this long while the product restarts. */
const statusDeadlineMs = 5 * seconds
/** A restart that nobody saw is found by trying: first after this time, then as often. */
const blindTryMs = 30 * seconds
const restartLimitMs = 5 * 60 * seconds
/** After a lost connection: how long nothing may happen before the installation counts as interrupted. */
const silenceLimitMs = 20 * seconds
/** A product that cannot read its own state says that it is installed: only one that says so again and again is. */
const confirmations = 3
/** A connection that changes with every restart would never end. */
const restartLimit = 3

const idle: InstallationState = {
  phase: 'idle',
  records: [],
  startedAt: 0,
  sessionId: '',
  message: '',
  failedField: '',
}

/**
 * One installation as the page sees it: executes, shows progress while it runs, waits for a restart and goes on after it
 * (decision D23). The form is an argument, never a member, and one call runs at a time. Knows nothing of the page.
 */
export class Installation {
  readonly #api: Api
  readonly #clock: PageClock
  readonly #listeners = new Set<() => void>()
  #state = idle
  #isBusy = false

  constructor(api: Api, clock: PageClock) {
    this.#api = api
    this.#clock = clock
  }

  readonly snapshot = (): InstallationState => this.#state

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Installs; after a failure as a new try of the failed session. Does nothing while it runs already. */
  async run(form: InstallForm): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    const { sessionId } = this.#state
    this.#set({ ...idle, phase: 'running', startedAt: this.#clock.now() })
    try {
      await this.#execute(form, sessionId)
    } finally {
      this.#isBusy = false
    }
  }

  /** Looks for the restarted product again after it was given up. */
  async wait(form: InstallForm): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    try {
      await this.#restart(form, { restarts: 1, isGone: true })
    } finally {
      this.#isBusy = false
    }
  }

  async #execute(form: InstallForm, retriedSession: string, restarts = 0): Promise<void> {
    const known = new Set((await this.#records()).map(({ sessionId }) => sessionId))
    const outcome = await this.#follow(this.#call(form, retriedSession), known)
    if (outcome instanceof ApiFailure) return this.#afterFailure(outcome, known)
    const { passed, restartRequired, message, sessionId } = outcome
    const records = outcome.records.length > 0 ? outcome.records : this.#state.records
    this.#set({ records, message, sessionId: sessionId || this.#state.sessionId })
    if (!passed) this.#set({ phase: 'failed', failedField: outcome.failedField ?? '' })
    else if (restartRequired && restarts >= restartLimit) this.#set({ phase: 'overdue' })
    else if (restartRequired) await this.#restart(form, { restarts: restarts + 1, isGone: false })
    else this.#set({ phase: 'finished' })
  }

  /** A session that failed before a restart may be unknown to the new database: then this is simply the first one. */
  async #call(form: InstallForm, retriedSession: string): Promise<ExecuteResult> {
    if (retriedSession === '') return this.#api.execute(form)
    return this.#api.retry(retriedSession, form).catch((error: unknown) => {
      if (error instanceof ApiFailure && error.kind === 'missing') return this.#api.execute(form)
      throw error
    })
  }

  /** Shows the records of the new session until the call is answered. */
  async #follow(call: Promise<ExecuteResult>, known: ReadonlySet<string>): Promise<ExecuteResult | ApiFailure> {
    let outcome: ExecuteResult | ApiFailure | undefined
    const answered = call.catch(failureOf).then((value) => {
      outcome = value
    })
    const start = this.#clock.now()
    while (outcome === undefined) {
      const isSlow = this.#clock.now() - start > slowAfterMs
      await Promise.race([answered, this.#clock.sleep(isSlow ? slowPollMs : pollMs)])
      if (outcome === undefined) await this.#look(known)
    }
    return outcome
  }

  /** Takes over what the server has recorded of a session that was not known before. */
  async #look(known: ReadonlySet<string>): Promise<void> {
    const fresh = (await this.#records()).filter(({ sessionId }) => sessionId !== '' && !known.has(sessionId))
    const sessionId = fresh.at(-1)?.sessionId
    if (sessionId === undefined) return
    this.#set({ sessionId, records: fresh.filter((record) => record.sessionId === sessionId) })
  }

  /** Oldest first; none while nobody answers, which is no news about the installation. */
  async #records(): Promise<readonly ExecutionRecord[]> {
    const records = await this.#api.records().catch((): readonly ExecutionRecord[] => [])
    return records.toSorted((a, b) => a.id - b.id)
  }

  async #afterFailure(failure: ApiFailure, known: ReadonlySet<string>): Promise<void> {
    if (failure.kind === 'unreachable') return this.#recover(known)
    // Somebody else may have finished it: then the entry is closed.
    if (failure.kind === 'refused') this.#set({ phase: (await this.#isInstalled()) ? 'finished' : 'refused' })
    else this.#set({ phase: 'failed', message: failure.message })
  }

  /** The answer was lost on its way: the records and the status tell how it ended. */
  async #recover(known: ReadonlySet<string>): Promise<void> {
    let lastNews = this.#clock.now()
    while (this.#clock.now() - lastNews <= silenceLimitMs) {
      const before = this.#state.records.length
      await this.#look(known)
      if (this.#state.records.length !== before) lastNews = this.#clock.now()
      if (this.#state.records.at(-1)?.status === 'failed') break
      if (await this.#isInstalled()) return this.#set({ phase: 'finished' })
      await this.#clock.sleep(pollMs)
    }
    this.#set({ phase: 'failed' })
  }

  /** Waits until the product has gone and come back, then installs on its new connection. */
  async #restart(form: InstallForm, known: { readonly restarts: number; readonly isGone: boolean }): Promise<void> {
    this.#set({ phase: 'restarting' })
    const start = this.#clock.now()
    let { isGone } = known
    for (;;) {
      await this.#clock.sleep(pollMs)
      const waitedMs = this.#clock.now() - start
      const status = await this.#status()
      if (status === undefined) isGone = true
      else if (status.installed) {
        if (await this.#isInstalled()) return this.#set({ phase: 'finished', message: '' })
      } else if (isGone || waitedMs > blindTryMs) break
      if (waitedMs > restartLimitMs) return this.#set({ phase: 'overdue' })
    }
    this.#set({ phase: 'running', records: [] })
    return this.#execute(form, '', known.restarts)
  }

  async #isInstalled(): Promise<boolean> {
    for (let count = 1; ; count++) {
      if ((await this.#status())?.installed !== true) return false
      if (count === confirmations) return true
      await this.#clock.sleep(pollMs)
    }
  }

  #status() {
    return this.#api.status(AbortSignal.timeout(statusDeadlineMs)).catch(() => undefined)
  }

  #set(change: Partial<InstallationState>): void {
    this.#state = { ...this.#state, ...change }
    for (const listener of this.#listeners) listener()
  }
}

const failureOf = (error: unknown) =>
  error instanceof ApiFailure ? error : new ApiFailure('unreachable', error instanceof Error ? error.message : '')
