import { TableNotFoundException } from '@mikro-orm/core'
import {
  databaseTimeMsSql,
  type LeaseRenewal,
  readClocks,
  readDatabaseTime,
  startLeaseRenewal,
} from '@plinth/coordination'
import { errorReason, RepeatedFailureLog } from '@plinth/kernel'
import { mayProcessBeAlive, processIdentity } from '@plinth/kernel/host'
import type { InstallServices } from '../requires.ts'
import { businessError } from '../texts.ts'

/** Lease of a run in milliseconds. It is used if the process of the run cannot be checked. */
const leaseMs = 30_000

type SingleRunDependencies = Pick<InstallServices, 'database' | 'clock' | 'log'>

interface Holder {
  readonly holder: string
  readonly holder_space: string
  readonly holder_pid: number
  readonly held_until: number
}

const living = new Set<string>()

/**
 * Allows only one installation at a time among all processes that use the database. A dead run is detected by its
 * process id, or from another machine by its expired lease.
 */
export class SingleInstallationLock {
  readonly #parts: SingleRunDependencies
  readonly #self = processIdentity()
  #isRunning = false
  #isHeld = false
  #lease: LeaseRenewal | undefined

  constructor(parts: SingleRunDependencies) {
    this.#parts = parts
  }

  /** True while this process runs the installation. */
  get isRunning(): boolean {
    return this.#isRunning
  }

  /**
   * Runs the work unless another run is active.
   *
   * @param work receives a function that takes the lock in the database and returns false while the tables are missing
   * @throws BusinessError "409", reason `install.running`
   */
  async run<T>(work: (takeDatabase: () => Promise<boolean>) => Promise<T>): Promise<T> {
    if (this.#isRunning) throw alreadyRunning()
    this.#isRunning = true
    try {
      return await work(() => this.#take())
    } finally {
      await this.#release()
      this.#isRunning = false
    }
  }

  async #take(): Promise<boolean> {
    if (this.#isHeld) return true
    const { token } = this.#self
    // The token is added before the row is written, so that every reader of the row finds a living holder.
    living.add(token)
    try {
      this.#isHeld = await this.#takeRow()
    } finally {
      if (!this.#isHeld) living.delete(token)
    }
    if (this.#isHeld) this.#lease = this.#keepLease()
    return this.#isHeld
  }

  /** Takes the lock row. Returns false while the tables are missing. */
  async #takeRow(): Promise<boolean> {
    const { database, clock } = this.#parts
    const { token, space, pid } = this.#self
    try {
      const [row] = await database.query<Holder>(
        'select holder, holder_space, holder_pid, held_until from install_state where id = ?',
        [1],
      )
      const now = await readDatabaseTime(database, clock)
      if (row === undefined || this.#isTaken(row, now)) throw alreadyRunning()
      const taken = await database.execute(
        'update install_state set holder = ?, holder_space = ?, holder_pid = ?, held_until = ? where id = ? and holder = ? and held_until = ?',
        [token, space, pid, now + leaseMs, 1, row.holder, Number(row.held_until)],
      )
      if (taken === 0) throw alreadyRunning()
      return true
    } catch (error) {
      if (error instanceof TableNotFoundException) return false
      throw error
    }
  }

  #isTaken({ holder, holder_space, holder_pid, held_until }: Holder, now: number): boolean {
    if (holder === '' || Number(held_until) <= now) return false
    const pid = Number(holder_pid)
    if (holder_space === this.#self.space && pid === this.#self.pid) return living.has(holder)
    return mayProcessBeAlive({ space: holder_space, pid })
  }

  /**
   * Keeps renewing the lease of the lock row. A run that loses the row is not stopped, because another run only starts
   * when this process has died or its lease has expired.
   */
  #keepLease(): LeaseRenewal {
    const { database, clock, log } = this.#parts
    const renew = async () => {
      const { sql, parameters } = databaseTimeMsSql(database, clock)
      const statement = `update install_state set held_until = ${sql} + ? where id = ? and holder = ?`
      return (await database.reserved.execute(statement, [...parameters, leaseMs, 1, this.#self.token])) > 0
    }
    const failures = new RepeatedFailureLog(log, {
      failing: 'the lock of the installation is not renewed',
      over: 'the lock of the installation is renewed again',
    })
    const heldSince = readClocks(clock)
    return startLeaseRenewal({
      clock,
      renewMs: leaseMs / 3,
      giveUpMs: leaseMs,
      heldSince,
      renew,
      failures,
      isJudgedByRenewal: true,
    })
  }

  async #release(): Promise<void> {
    if (!this.#isHeld) return
    this.#lease?.end()
    this.#isHeld = false
    living.delete(this.#self.token)
    await this.#parts.database
      .execute(`update install_state set holder = '', held_until = 0 where id = ? and holder = ?`, [
        1,
        this.#self.token,
      ])
      .catch((error: unknown) => {
        this.#parts.log.warn({ reason: errorReason(error) }, 'the lock of the installation could not be released')
      })
  }
}

const alreadyRunning = () => businessError('running', { text: 'failure.running' })
