import { randomUUID } from 'node:crypto'
import { type Database, insertRows } from '@plinth/database'
import { type Clock, errorReason, type Logger } from '@plinth/kernel'
import { processIdentity } from '@plinth/kernel/host'
import type { SharedStore } from '@plinth/shared-store'
import type { InstanceState } from '../contract.ts'
import { InstanceRow } from '../entities.ts'

const channel = 'system-config'

/**
 * `values`: a new version exists. `secrets`: secrets were encrypted again, so this instance may now be able to decrypt
 * them.
 */
export type ChangeNotification = 'values' | 'secrets'

/**
 * Notifies other instances of stored changes. Methods do not throw, because the next poll finds the changes even if a
 * notification is lost.
 */
export class ChangeNotifier {
  readonly #store: SharedStore | undefined
  readonly #log: Logger
  readonly #own = randomUUID()
  readonly #underWay = new Set<Promise<void>>()

  constructor(store: SharedStore | undefined, log: Logger) {
    this.#store = store
    this.#log = log
  }

  /**
   * Notifies other instances without waiting, so that an unavailable store does not delay the save. Must not be called
   * inside a transaction.
   */
  tell(what: ChangeNotification): void {
    if (this.#store === undefined) return
    const telling = this.#store
      .publish(channel, `${this.#own} ${what}`)
      .catch((error: unknown) => {
        this.#log.warn(
          { reason: errorReason(error) },
          'other instances could not be notified; they find the change at their next poll',
        )
      })
      .finally(() => this.#underWay.delete(telling))
    this.#underWay.add(telling)
  }

  async settled(): Promise<void> {
    await Promise.all(this.#underWay)
  }

  /** Calls the listener for notifications of other instances. Call the returned function to unsubscribe. */
  async listen(listener: (what: ChangeNotification) => void): Promise<() => Promise<void>> {
    try {
      const stop = await this.#store?.subscribe(channel, (message) => {
        const [sender, what] = message.split(' ')
        if (sender !== this.#own) listener(what === 'secrets' ? 'secrets' : 'values')
      })
      return async () => stop?.()
    } catch (error) {
      this.#log.warn(
        { reason: errorReason(error) },
        'notifications of other instances cannot be received; their changes are found at the next poll',
      )
      return async () => undefined
    }
  }
}

/**
 * An instance is listed while its last heartbeat is less than `aliveMs` old. This is longer than two poll intervals,
 * which are at most one minute. The row of an instance is deleted after `forgottenMs`.
 */
const aliveMs = 150_000
const forgottenMs = 24 * 60 * 60 * 1000
/** A row is written when the report changes, and at least at this interval. */
const heartbeatMs = 15_000

export type InstanceReport = Pick<InstanceState, 'version' | 'pendingRestart' | 'refused' | 'problems'>

export class Instances {
  readonly #database: Database
  readonly #clock: Clock
  readonly #self = processIdentity()
  readonly #startedAt: number
  readonly #roles: string
  #last: { readonly report: string; readonly version: number; readonly at: number } | undefined

  constructor(database: Database, clock: Clock, roles: ReadonlySet<string>) {
    this.#database = database
    this.#clock = clock
    this.#roles = [...roles].join(',')
    this.#startedAt = clock.now()
  }

  /** Writes the row of this process if it has changed or is due. */
  async beat({ version, ...rest }: InstanceReport): Promise<void> {
    const report = JSON.stringify(rest)
    const at = this.#clock.monotonic()
    const isDue = this.#last === undefined || at - this.#last.at >= heartbeatMs
    if (!isDue && this.#last?.report === report && this.#last.version === version) return
    const seenAt = new Date(this.#clock.now())
    const updated = await this.#database.reserved.execute(
      'update sys_config_instance set version = ?, report = ?, seen_at = ? where id = ?',
      [version, report, seenAt, this.#self.token],
    )
    if (updated === 0) await this.#register(version, report, seenAt)
    this.#last = { report, version, at }
  }

  async #register(version: number, report: string, seenAt: Date): Promise<void> {
    await this.#database.execute('delete from sys_config_instance where seen_at < ?', [
      new Date(seenAt.getTime() - forgottenMs),
    ])
    const { token: id, host, pid } = this.#self
    const instance = { id, host: host.slice(0, 128), pid, roles: this.#roles, version, report }
    await insertRows(this.#database, InstanceRow, [{ ...instance, startedAt: new Date(this.#startedAt), seenAt }])
  }

  async list(): Promise<readonly InstanceState[]> {
    const seenAt = { $gte: new Date(this.#clock.now() - aliveMs) }
    const rows = await this.#database.fork().find(InstanceRow, { seenAt }, { orderBy: { startedAt: 'asc', id: 'asc' } })
    return rows.map(({ id, host, pid, roles, version, report, startedAt, seenAt: lastSeen }) => ({
      ...(JSON.parse(report) as Omit<InstanceReport, 'version'>),
      id,
      host,
      pid,
      roles: roles.split(','),
      version,
      startedAt,
      seenAt: lastSeen,
    }))
  }

  async leave(): Promise<void> {
    await this.#database.execute('delete from sys_config_instance where id = ?', [this.#self.token])
  }
}
