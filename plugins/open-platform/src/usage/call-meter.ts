import { hash } from 'node:crypto'
import { finished } from 'node:stream'
import { createPurgeTask, rowsBefore } from '@plinth/coordination'
import {
  type Database,
  type database,
  type FoundPage,
  findPage,
  insertMissingRows,
  insertOrAddToRows,
  type PageWindow,
} from '@plinth/database'
import { type Clock, errorReason, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import type { site } from '@plinth/site'
import type { keys } from '../config.ts'
import type { GuardedReply, GuardedRequest, OpenCaller } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { CallDayRow, CallRow } from '../entities.ts'
import { signatureHeaders } from '../signature/canonical-request.ts'

/** An accepted call, before it has an id. */
export type CallRecord = Readonly<Omit<CallRow, 'id' | 'code' | 'durationMs'>> & {
  readonly code: string | null
  readonly durationMs: number | null
}

interface UsageFilter {
  /** Days in the time zone of the site, `YYYY-MM-DD`, both included. */
  readonly from: string
  readonly to: string
  readonly appId?: number
  /** Rows that the caller may read: `callerRows(request, usageOwner)`. */
  readonly rows: object
}

/** Reads and writes accepted calls: one record per call, and sums by day. */
export class CallRecords {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Writes all calls or none. Does not write or count a call again that is already stored. */
  async write(calls: readonly CallRecord[]): Promise<void> {
    await this.#db.transactional(async (em) => {
      const keys = calls.map(({ callKey }) => callKey)
      // No other process writes the same calls, because only the process that handles a call records it.
      const written = await em.find(CallRow, { callKey: { $in: keys } }, { fields: ['callKey'] })
      const known = new Set(written.map(({ callKey }) => callKey))
      const fresh = calls.filter(({ callKey }) => !known.has(callKey))
      const withId = <Row extends object>(row: Row) => ({ ...row, id: this.#db.newId() })
      await insertMissingRows(this.#db, CallRow, 'callKey', fresh.map(withId))
      const key = ['day', 'appId', 'route', 'method'] as const
      const sums = ['calls', 'failed', 'cost'] as const
      await insertOrAddToRows(this.#db, CallDayRow, { key, sums }, sumsOf(fresh).map(withId))
    })
  }

  usage({ from, to, appId, rows }: UsageFilter, window: PageWindow): Promise<FoundPage<CallDayRow>> {
    const where = { day: { $gte: from, $lte: to }, ...(appId === undefined ? {} : { appId }) }
    return findPage<CallDayRow>(this.#db.fork(), CallDayRow, { $and: [where, rows] }, window)
  }
}

type DaySums = Omit<CallDayRow, 'id'>

/**
 * Returns the sums of calls by day, application, route and method. They are sorted, so that processes that update the
 * same rows cannot cause a deadlock.
 */
function sumsOf(calls: readonly CallRecord[]): DaySums[] {
  const sums = new Map<string, DaySums>()
  for (const { day, appId, appKey, method, route, cost, code } of calls) {
    const name = JSON.stringify([day, appId, route, method])
    const sum = sums.get(name) ?? { day, appId, appKey, method, route, calls: 0, failed: 0, cost: 0 }
    const isFailed = code === null || !/^[23]/.test(code)
    sums.set(name, { ...sum, calls: sum.calls + 1, failed: sum.failed + (isFailed ? 1 : 0), cost: sum.cost + cost })
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, sum]) => sum)
}

type Uses = { requires: { database: typeof database; site: typeof site }; config: typeof keys }

/** Removes usage records after their retention time, and secrets after their grace period. */
export const purgeCallRecords = createPurgeTask<Uses>('platform.open-platform', {
  displayName: { en: 'Remove old open-platform records', 'zh-CN': '清除过期的开放平台记录' },
  old({ services: { site }, config, clock }) {
    const oldest = site.dayOf(new Date(clock.now() - config.get('platform.open-platform.metering.retention')))
    return [rowsBefore('open_call', 'day', oldest), rowsBefore('open_call_day', 'day', oldest)]
  },
  async also({ clock }, db) {
    const forget =
      'update open_app set previous_secret_enc = ?, previous_valid_until = ? where previous_valid_until <= ?'
    await db.execute(forget, [null, null, new Date(clock.now())])
  },
})

const batchSize = 200
/**
 * Maximum number of calls that wait for the database. Above it, calls are rejected, because every served call must be
 * recorded.
 */
const largestBacklog = 10_000

interface CallMeterDependencies {
  readonly records: Pick<CallRecords, 'write'>
  readonly clock: Clock
  /** Returns the day of a time in the time zone of the site. */
  readonly dayOf: (moment: Date) => string
  readonly log: Logger
  /** Maximum time in milliseconds before recorded calls are written. */
  readonly flushIntervalMs: () => number
}

interface AcceptedCall {
  readonly caller: OpenCaller
  readonly route: string
  readonly cost: number
  /** Limit per minute; 0: unlimited. */
  readonly quotaLimit: number
}

/**
 * Writes one record per accepted call, without delaying the response. A call is in memory until its response is sent
 * and the next batch is written. A normal stop writes all calls. A killed process loses the calls of its last flush
 * interval and the calls without a response.
 */
export class CallMeter {
  readonly #parts: CallMeterDependencies
  readonly #stop = new AbortController()
  /** Accepted calls without a response. */
  readonly #open = new Set<CallRecord>()
  /** Calls that are not written yet, oldest first. */
  #waiting: CallRecord[] = []
  #wake = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(parts: CallMeterDependencies) {
    this.#parts = parts
  }

  start(): void {
    this.#running = this.#run()
  }

  /** @throws BusinessError "503" `open-platform.metering-unavailable` */
  assertRoom(): void {
    if (this.#waiting.length + this.#open.size >= largestBacklog) throw businessError('metering-unavailable')
  }

  accept(request: GuardedRequest, reply: GuardedReply, { caller, route, cost, quotaLimit }: AcceptedCall): void {
    const { clock, dayOf } = this.#parts
    const occurredAt = new Date(clock.now())
    const startedAt = clock.monotonic()
    const { appId, appKey } = caller
    const record: CallRecord = {
      callKey: callKeyOf(request, appKey),
      appId,
      appKey,
      route,
      cost,
      quotaLimit,
      occurredAt,
      method: request.method,
      day: dayOf(occurredAt),
      code: null,
      durationMs: null,
      traceId: request.traceId,
    }
    this.#open.add(record)
    finished(reply.raw, (cutOff) => {
      if (!this.#open.delete(record)) return
      const code = request.failureCode || (cutOff ? null : String(reply.statusCode))
      const durationMs = Math.round(clock.monotonic() - startedAt)
      this.#waiting.push({ ...record, code, durationMs })
      if (this.#waiting.length >= batchSize) this.#wake.abort()
    })
  }

  /** Writes all calls and stops. Throws if the database fails; the log then contains the number of lost calls. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#wake.abort()
    await this.#running
    this.#waiting.push(...this.#open)
    this.#open.clear()
    try {
      await this.#flush()
    } catch (error) {
      this.#parts.log.error(
        { calls: this.#waiting.length, reason: errorReason(error) },
        'accepted calls could not be recorded',
      )
      throw error
    }
  }

  async #run(): Promise<void> {
    const { clock, log, flushIntervalMs } = this.#parts
    const failures = new RepeatedFailureLog(log, {
      failing: 'accepted calls cannot be recorded; trying again',
      over: 'accepted calls are recorded again',
    })
    while (!this.#stop.signal.aborted) {
      // After a failure, a full batch does not shorten the pause, because writing it would fail again.
      await clock.sleep(flushIntervalMs(), failures.isFailing ? this.#stop.signal : this.#wake.signal)
      this.#wake = new AbortController()
      try {
        await this.#flush()
        failures.succeeded()
      } catch (error) {
        failures.failed(error, { calls: this.#waiting.length })
      }
    }
  }

  /**
   * Writes batches, and only then removes them from memory. If the result of a write is unknown, the batch is written
   * again, which has no effect if it was stored.
   */
  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, batchSize)
      await this.#parts.records.write(batch)
      this.#waiting = this.#waiting.slice(batch.length)
    }
  }
}

/** Returns the identity of a call. It contains the timestamp, because a nonce may be used again later. */
function callKeyOf({ headers }: GuardedRequest, appKey: string): string {
  const { timestamp, nonce } = signatureHeaders
  return hash('sha256', `${appKey}\n${headers[timestamp.toLowerCase()]}\n${headers[nonce.toLowerCase()]}`)
}
