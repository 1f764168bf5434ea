import { countRows, type Database, type FoundPage, findPage, type PageWindow } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { businessError } from '../declarations.ts'
import { SendLogRow, type SendLogState } from '../entities.ts'
import { countKinds, type RowsSql, readCounts } from './counts.ts'
import type { SendLogDeliveries } from './delivery-states.ts'

interface SendLogFilter {
  /** Code of a channel, in upper or lower case. */
  readonly channel?: string | undefined
  readonly retryableOnly?: boolean | undefined
  /** State of the sends. `retryableOnly` takes precedence over it. */
  readonly status?: SendLogState | undefined
  readonly deliveryState?: Parameters<SendLogDeliveries['rowsWith']>[0] | undefined
  readonly notificationId?: number | undefined
  /** Condition from `callerRows(request, recipientOwner)`. */
  readonly rows: object
}

/** Numbers of sends by state. */
interface SendLogSummary {
  readonly total: number
  readonly success: number
  readonly failed: number
  /** Number of sends that can be sent again, a part of `failed`. */
  readonly retryable: number
  /** Number of sends that wait for their next automatic attempt. */
  readonly waiting: number
  readonly retried: number
  /** Number of failed sends in the last 24 hours, a part of `failed`. It is counted up to 10,000. */
  readonly failedLast24h: number
  /** `capped`: there are more failures than `failedLast24h`. */
  readonly counted: 'exact' | 'capped'
  readonly sending: number
  /** Number of sends that may or may not have arrived. */
  readonly unknown: number
  /** Number of sends of earlier releases whose last automatic retry failed. */
  readonly dead: number
}

const dayMs = 86_400_000

/** Condition for rows that can be sent again: the send failed and its message is stored. */
export const retryable = { status: 'failed', restorable: true } as const

export type ListedSendLog = Omit<SendLogRow, 'payload'>

export class SendLogReader {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>
  readonly #deliveries: Pick<SendLogDeliveries, 'rowsWith'>

  constructor(db: Database, clock: Pick<Clock, 'now'>, deliveries: Pick<SendLogDeliveries, 'rowsWith'>) {
    this.#db = db
    this.#clock = clock
    this.#deliveries = deliveries
  }

  list(
    { channel, retryableOnly, status, deliveryState, notificationId, rows }: SendLogFilter,
    window: PageWindow,
  ): Promise<FoundPage<ListedSendLog>> {
    const where = {
      ...(channel === undefined ? {} : { channel: channel.trim().toLowerCase() }),
      ...(status === undefined ? {} : { status }),
      ...(notificationId === undefined ? {} : { notificationId }),
      ...(retryableOnly ? retryable : {}),
    }
    const delivered = deliveryState === undefined ? {} : this.#deliveries.rowsWith(deliveryState)
    const all = { $and: [where, delivered, rows] }
    return findPage<SendLogRow>(this.#db.fork(), SendLogRow, all, window, { exclude: ['payload'] })
  }

  /** Finds a send. @throws BusinessError "404" `notification.send-log-not-found`, also if `rows` excludes the send */
  async find(id: number, rows: object): Promise<ListedSendLog> {
    const row = await this.#db.fork().findOne(SendLogRow, { $and: [{ id }, rows] }, { exclude: ['payload'] })
    if (row === null) throw businessError('send-log-not-found', { params: { ids: id }, data: { ids: [id] } })
    return row as ListedSendLog
  }

  /**
   * Returns the number of sends by state. With `retryableOnly`, all counts include only retryable rows.
   *
   * @param rows condition from `callerRowsSql`; undefined for all rows
   */
  async summary(
    { retryableOnly = false }: Pick<SendLogFilter, 'retryableOnly'>,
    rows: RowsSql | undefined,
  ): Promise<SendLogSummary> {
    const counts = rows === undefined ? await readCounts(this.#db) : await countKinds(this.#db, rows)
    const { retryable } = counts
    const recent = await countRows(this.#db, {
      table: 'notification_send_log',
      where: `status = 'failed' and created_at >= ?${retryableOnly ? ' and restorable = true' : ''} and ${rows?.sql ?? '1 = 1'}`,
      parameters: [new Date(this.#clock.now() - dayMs), ...(rows?.parameters ?? [])],
      orderBy: 'created_at',
    })
    const lastDay = {
      failedLast24h: recent.total,
      counted: recent.isCapped ? ('capped' as const) : ('exact' as const),
    }
    const none = { success: 0, waiting: 0, retried: 0, sending: 0, unknown: 0, dead: 0 }
    if (retryableOnly) return { ...none, total: retryable, failed: retryable, retryable, ...lastDay }
    const { success, waiting, retried, sending, unknown, dead } = counts
    const failed = counts.failed + retryable
    const total = success + failed + waiting + retried + sending + unknown + dead
    return { total, success, failed, retryable, waiting, retried, sending, unknown, dead, ...lastDay }
  }
}
