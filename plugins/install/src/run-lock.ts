import { TableNotFoundException } from '@mikro-orm/core'
import type { Database } from '@plinth/database'
import { BusinessError, type Clock, type Logger, reasonOf } from '@plinth/kernel'
import { mayBeAlive, processIdentity } from '@plinth/migrations'

/** How long a run counts as alive after its last sign of life, where its process cannot be seen. */
const leaseMs = 30_000

export interface RunLockParts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Logger
}

interface Holder {
  readonly holder: string
  readonly holder_space: string
  readonly holder_pid: number
  readonly held_until: number
}

/** Holders that live in this very process. */
const living = new Set<string>()

/**
 * Lets one installation run at a time: in this process, and over all processes on the database. A run whose process died
 * is known by its process id, from other machines by the end of its lease.
 */
export class RunLock {
  readonly #parts: RunLockParts
  readonly #self = processIdentity()
  #isRunning = false
  #isHeld = false
  #renewal: AbortController | undefined

  constructor(parts: RunLockParts) {
    this.#parts = parts
  }

  /**
   * Runs the work unless another run goes on.
   *
   * @param work is told how to take the lock of the database as well, which it does as soon as there are tables
   * @throws BusinessError "409", reason `install.running`
   */
  async run<T>(work: (takeDatabase: () => Promise<void>) => Promise<T>): Promise<T> {
    if (this.#isRunning) throw alreadyRunning()
    this.#isRunning = true
    try {
      return await work(() => this.#take())
    } finally {
      await this.#release()
      this.#isRunning = false
    }
  }

  async #take(): Promise<void> {
    if (this.#isHeld) return
    const { token } = this.#self
    // Before the row says so: whoever reads the row must find its holder alive.
    living.add(token)
    try {
      this.#isHeld = await this.#takeRow()
    } finally {
      if (!this.#isHeld) living.delete(token)
    }
    if (!this.#isHeld) return
    this.#renewal = new AbortController()
    void this.#renew(this.#renewal.signal)
  }

  /** False while there are no tables. */
  async #takeRow(): Promise<boolean> {
    const { database, clock } = this.#parts
    const { token, space, pid } = this.#self
    try {
      const [row] = await database.query<Holder>(
        'select holder, holder_space, holder_pid, held_until from install_state where id = ?',
        [1],
      )
      if (row === undefined || this.#isTaken(row)) throw alreadyRunning()
      const taken = await database.execute(
        'update install_state set holder = ?, holder_space = ?, holder_pid = ?, held_until = ? where id = ? and holder = ? and held_until = ?',
        [token, space, pid, clock.now() + leaseMs, 1, row.holder, Number(row.held_until)],
      )
      if (taken === 0) throw alreadyRunning()
      return true
    } catch (error) {
      if (error instanceof TableNotFoundException) return false
      throw error
    }
  }

  #isTaken({ holder, holder_space, holder_pid, held_until }: Holder): boolean {
    if (holder === '' || Number(held_until) <= this.#parts.clock.now()) return false
    const pid = Number(holder_pid)
    if (holder_space === this.#self.space && pid === this.#self.pid) return living.has(holder)
    return mayBeAlive({ space: holder_space, pid })
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { database, clock, log } = this.#parts
    for (;;) {
      await clock.sleep(leaseMs / 3, signal)
      if (signal.aborted) return
      await database
        .execute('update install_state set held_until = ? where id = ? and holder = ?', [
          ...[clock.now() + leaseMs, 1],
          this.#self.token,
        ])
        .catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'the lock of the installation is not renewed'))
    }
  }

  async #release(): Promise<void> {
    if (!this.#isHeld) return
    this.#renewal?.abort()
    this.#isHeld = false
    living.delete(this.#self.token)
    await this.#parts.database
      .execute(`update install_state set holder = '', held_until = 0 where id = ? and holder = ?`, [
        1,
        this.#self.token,
      ])
      .catch((error: unknown) => {
        this.#parts.log.warn({ reason: reasonOf(error) }, 'the lock of the installation is not released')
      })
  }
}

const alreadyRunning = () =>
  new BusinessError('409', 'Another installation is running. Wait until it has ended.', {
    reason: 'install.running',
    messageKey: 'messages.install.failure.running',
  })
