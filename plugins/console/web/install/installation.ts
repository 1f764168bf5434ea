import { Store } from '../app/store.ts'
import { ApiFailure, type InstallApi } from './install-api.ts'
import type { ExecuteResult, ExecutionRecord, InstallForm } from './wire.ts'

/**
 * Phase of an installation. `restarting`: the product restarts with its new connection. `overdue`: the product has not
 * returned, so an operator must help. `refused`: the server no longer grants access.
 */
export type Phase = 'idle' | 'running' | 'restarting' | 'overdue' | 'failed' | 'finished' | 'refused'

export interface InstallationState {
  readonly phase: Phase
  /** Records of the current installation session, oldest first. */
  readonly records: readonly ExecutionRecord[]
  /** Start time in milliseconds of the clock of the page. */
  readonly startedAt: number
  /** Id of the session that a retry continues; empty if it is unknown. */
  readonly sessionId: string
  /** For `failed` and `finished`: message of the server; empty if the response was lost. */
  readonly message: string
  /** For `failed`: form field that the user must correct; may be empty. */
  readonly failedField: string
}

/** Clock of the page in milliseconds. Tests replace it. */
interface PageClock {
  now(): number
  sleep(ms: number): Promise<void>
}

type Api = Pick<InstallApi, 'execute' | 'retry' | 'records' | 'status'>

const seconds = 1000
/** Intervals at which the progress is polled. The slower one is used when the installation takes long. */
const pollMs = 1 * seconds
const slowPollMs = 3 * seconds
const slowAfterMs = 30 * seconds
/** Time limit of one status call during a restart. */
const statusDeadlineMs = 5 * seconds
/**
 * If a restart was not noticed, the page tries to install again. This is the time before the first attempt and between
 * attempts.
 */
const blindTryMs = 30 * seconds
const restartLimitMs = 5 * 60 * seconds
/** If the connection was lost: time without progress after which the installation counts as interrupted. */
const silenceLimitMs = 20 * seconds
/**
 * Number of equal reports that are required. A product that cannot read its own state also reports that it is
 * installed, so one report is not enough.
 */
const confirmations = 3
/**
 * Maximum number of restarts. Without a limit, the installation would never end if every restart required another
 * restart.
 */
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
 * State of one installation as the page shows it. Executes the installation, reports the progress, waits for a restart
 * of the server and continues after it. The form is passed as an argument and never stored. Only one call runs at a
 * time. This class does not use the DOM.
 */
export class Installation extends Store<InstallationState> {
  readonly #api: Api
  readonly #clock: PageClock
  #isBusy = false

  constructor(api: Api, clock: PageClock) {
    super(idle)
    this.#api = api
    this.#clock = clock
  }

  /**
   * Starts the installation. After an error it retries the failed session. A call while the installation is running has
   * no effect.
   */
  async run(form: InstallForm): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    const { sessionId } = this.current()
    this.#change({ ...idle, phase: 'running', startedAt: this.#clock.now() })
    try {
      await this.#execute(form, sessionId)
    } finally {
      this.#isBusy = false
    }
  }

  /** After the phase `overdue`: waits again for the restarted product. */
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
    const records = outcome.records.length > 0 ? outcome.records : this.current().records
    this.#change({ records, message, sessionId: sessionId || this.current().sessionId })
    if (!passed) this.#change({ phase: 'failed', failedField: outcome.failedField ?? '' })
    else if (restartRequired && restarts >= restartLimit) this.#change({ phase: 'overdue' })
    else if (restartRequired) await this.#restart(form, { restarts: restarts + 1, isGone: false })
    else this.#change({ phase: 'finished' })
  }

  /**
   * Retries a session. Starts a new one if the database does not contain the session, because the session failed before
   * the product restarted with a new database.
   */
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

  /** Reads the records of the new session from the server. */
  async #look(known: ReadonlySet<string>): Promise<void> {
    const fresh = (await this.#records()).filter(({ sessionId }) => sessionId !== '' && !known.has(sessionId))
    const sessionId = fresh.at(-1)?.sessionId
    if (sessionId === undefined) return
    this.#change({ sessionId, records: fresh.filter((record) => record.sessionId === sessionId) })
  }

  /**
   * Returns the records, oldest first. If the server does not respond, the result is empty and the displayed state
   * stays.
   */
  async #records(): Promise<readonly ExecutionRecord[]> {
    const records = await this.#api.records().catch((): readonly ExecutionRecord[] => [])
    return records.toSorted((a, b) => a.id - b.id)
  }

  async #afterFailure(failure: ApiFailure, known: ReadonlySet<string>): Promise<void> {
    if (failure.kind === 'unreachable') return this.#recover(known)
    // If another user has finished the installation, the installer is locked.
    if (failure.kind === 'refused') this.#change({ phase: (await this.#isInstalled()) ? 'finished' : 'refused' })
    else this.#change({ phase: 'failed', message: failure.message })
  }

  /** Called if the response was lost. The records and the status show the result of the installation. */
  async #recover(known: ReadonlySet<string>): Promise<void> {
    let lastNews = this.#clock.now()
    while (this.#clock.now() - lastNews <= silenceLimitMs) {
      const before = this.current().records.length
      await this.#look(known)
      if (this.current().records.length !== before) lastNews = this.#clock.now()
      if (this.current().records.at(-1)?.status === 'failed') break
      if (await this.#isInstalled()) return this.#change({ phase: 'finished' })
      await this.#clock.sleep(pollMs)
    }
    this.#change({ phase: 'failed' })
  }

  /** Waits until the product has stopped and started again, then installs with its new connection. */
  async #restart(form: InstallForm, known: { readonly restarts: number; readonly isGone: boolean }): Promise<void> {
    this.#change({ phase: 'restarting' })
    const start = this.#clock.now()
    let { isGone } = known
    for (;;) {
      await this.#clock.sleep(pollMs)
      const waitedMs = this.#clock.now() - start
      const status = await this.#status()
      if (status === undefined) isGone = true
      else if (status.installed) {
        if (await this.#isInstalled()) return this.#change({ phase: 'finished', message: '' })
      } else if (isGone || waitedMs > blindTryMs) break
      if (waitedMs > restartLimitMs) return this.#change({ phase: 'overdue' })
    }
    this.#change({ phase: 'running', records: [] })
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

  #change(change: Partial<InstallationState>): void {
    this.set({ ...this.current(), ...change })
  }
}

const failureOf = (error: unknown) =>
  error instanceof ApiFailure ? error : new ApiFailure('unreachable', error instanceof Error ? error.message : '')
