import { type Database, insertRows } from '@plinth/database'
import { type Clock, processIdentity } from '@plinth/kernel'
import type { InstanceState } from '../contract.ts'
import { InstanceRow } from '../entities.ts'

/** An instance that was not seen for this long is not listed (it may poll once a minute); after a day its row goes. */
const aliveMs = 150_000
const forgottenMs = 24 * 60 * 60 * 1000
/** A row is written when the report changed, and at least this often. */
const heartbeatMs = 15_000

export type InstanceReport = Pick<InstanceState, 'version' | 'pendingRestart' | 'refused' | 'problems'>

/** What the processes of the product say about themselves. */
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

  /** Writes this process's row when it is due. */
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
