import { type Database, exactInteger } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import { SendLog } from './entities.ts'

export interface SendLogFilter {
  /** Code, in any case. */
  readonly channel?: string | undefined
  /** Only failed sends that can be sent again. */
  readonly retryableOnly?: boolean | undefined
}

export interface SendLogPage {
  readonly orderBy: readonly { readonly property: string; readonly direction: 'asc' | 'desc' }[]
  /** 1-based. */
  readonly page: number
  readonly size: number
}

/** Rows of the send log in numbers (decision B28). */
export interface SendLogSummary {
  readonly total: number
  readonly success: number
  readonly failed: number
  /** Of the failed ones. */
  readonly retryable: number
  readonly retried: number
  /** Of the failed ones. */
  readonly failedLast24h: number
}

const dayMs = 86_400_000

/** Only failed rows can be sent again, and only those whose message can be restored. */
export const retryable = { status: 'failed', restorable: true } as const

/** A row as the list has it. */
export type ListedSendLog = Awaited<ReturnType<SendLogReader['list']>>['items'][number]

/** What operators see of the send log. */
export class SendLogReader {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>

  constructor(db: Database, clock: Pick<Clock, 'now'>) {
    this.#db = db
    this.#clock = clock
  }

  async list({ channel, retryableOnly }: SendLogFilter, { orderBy, page, size }: SendLogPage) {
    const where = {
      ...(channel === undefined ? {} : { channel: channel.trim().toLowerCase() }),
      ...(retryableOnly ? retryable : {}),
    }
    const [items, total] = await this.#db.fork().findAndCount(SendLog, where, {
      exclude: ['payload'],
      orderBy: orderBy.map(({ property, direction }) => ({ [property]: direction })),
      limit: size,
      offset: (page - 1) * size,
    })
    return { items, total }
  }

  /** One read of an index. With `retryableOnly` all numbers are of those rows (D.51). */
  async summary({ retryableOnly }: Pick<SendLogFilter, 'retryableOnly'>): Promise<SendLogSummary> {
    const restriction = retryableOnly ? `where status = 'failed' and restorable = true` : ''
    const count = (condition: string) => `sum(case when ${condition} then 1 else 0 end)`
    const [row] = await this.#db.query<Record<keyof SendLogSummary | 'recent', unknown>>(
      `select count(*) as total, ${count(`status = 'success'`)} as success, ${count(`status = 'failed'`)} as failed,
         ${count(`status = 'failed' and restorable = true`)} as retryable, ${count(`status = 'retried'`)} as retried,
         ${count(`status = 'failed' and created_at >= ?`)} as recent
       from notification_send_log ${restriction}`,
      [new Date(this.#clock.now() - dayMs)],
    )
    const of = (name: keyof NonNullable<typeof row>) => exactInteger(row?.[name] ?? null)
    return {
      total: of('total'),
      success: of('success'),
      failed: of('failed'),
      retryable: of('retryable'),
      retried: of('retried'),
      failedLast24h: of('recent'),
    }
  }
}
