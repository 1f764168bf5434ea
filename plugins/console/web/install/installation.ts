import { ApiFailure, type InstallApi } from './install-api.ts'
import type { ExecuteResult, ExecutionRecord, InstallForm } from './wire.ts'

/**
 * `restarting`: the product restarts on its new connection. `overdue`: it has not returned and needs an operator.
 * `refused`: the access check no longer succeeds.
 */
export type Phase = 'idle' | 'running' | 'restarting' | 'overdue' | 'failed' | 'finished' | 'refused'

export interface InstallationState {
  readonly phase: Phase
  /** Records of the current session, oldest first. */
  readonly records: readonly ExecutionRecord[]
  /** Start in milliseconds of the clock. */
  readonly startedAt: number
  /** Session that a retry refers to; empty if it is unknown. */
  readonly sessionId: string
  /** For `failed` and `finished`: message of the server; empty if its response was lost. */
  readonly message: string
  /** For `failed`: the form field to correct; may be empty. */
  readonly failedField: string
}

/** Injected time in milliseconds. */
interface PageClock {
  now(): number
  sleep(ms: number): Promise<void>
}

type Api = Pick<InstallApi, 'execute' | 'retry' | 'records' | 'status'>

const seconds = 1000
/** Progress is polled every second, and less often during a long installation. */
const pollMs = 1 * seconds
const slowPollMs = 3 * seconds
const slowAfterMs = 30 * seconds
/** Time limit of one status call during a restart. */
const statusDeadlineMs = 5 * seconds
/** An unnoticed restart is found by attempts: this is the time before the first one and between them. */
const blindTryMs = 30 * seconds
const restartLimitMs = 5 * 60 * seconds
/** After a lost connection: time without progress after which the installation counts as interrupted. */
const silenceLimitMs = 20 * seconds
/**
 * A product that cannot read its own state reports that it is installed. Therefore several equal reports are required.
 */
const confirmations = 3
/** Limits restarts, because a connection that changes with every restart would never end. */
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
 * One installation from the view of the page: executes it, shows progress, waits for a restart and continues after it
 * (decision D23). The form is an argument and is never stored. Only one call runs at a time. It does not depend on the
 * page.
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

  /** Installs. After an error it retries the failed session. Has no effect while it is running. */
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

  /** Waits again for the restarted product after the phase `overdue`. */
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

  /** A session that failed before a restart may be unknown to the new database. Then a first attempt is made. */
  async #call(form: InstallForm, retriedSession: string): Promise<ExecuteResult> {
    if (retriedSession === '') return this.#api.execute(form)
    return this.#api.retry(retriedSession, form).catch((error: unknown) => {
      if (error instanceof ApiFailure && error.kind === 'missing') return this.#api.execute(form)
      throw error
    })
  }

  /** Shows the records of the new session until the call returns. */
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

  /** Reads the server records of a new session. */
  async #look(known: ReadonlySet<string>): Promise<void> {
    const fresh = (await this.#records()).filter(({ sessionId }) => sessionId !== '' && !known.has(sessionId))
    const sessionId = fresh.at(-1)?.sessionId
    if (sessionId === undefined) return
    this.#set({ sessionId, records: fresh.filter((record) => record.sessionId === sessionId) })
  }

  /** Returns the records, oldest first. Without a response there are none, which does not change the state. */
  async #records(): Promise<readonly ExecutionRecord[]> {
    const records = await this.#api.records().catch((): readonly ExecutionRecord[] => [])
    return records.toSorted((a, b) => a.id - b.id)
  }

  async #afterFailure(failure: ApiFailure, known: ReadonlySet<string>): Promise<void> {
    if (failure.kind === 'unreachable') return this.#recover(known)
    // Another user may have finished the installation. Then the installer is locked.
    if (failure.kind === 'refused') this.#set({ phase: (await this.#isInstalled()) ? 'finished' : 'refused' })
    else this.#set({ phase: 'failed', message: failure.message })
  }

  /** The response was lost: the records and the status show the outcome. */
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

  /** Waits until the product has stopped and returned, then installs on its new connection. */
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
