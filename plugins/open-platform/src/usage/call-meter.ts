import { hash } from 'node:crypto'
import { finished } from 'node:stream'
import { olderThan, purgeTask } from '@plinth/coordination'
import { addToRows, type Database, type FoundPage, findPage, insertMissing, type PageWindow } from '@plinth/database'
import { type Clock, FailureLog, type Logger, reasonOf } from '@plinth/kernel'
import type { keys } from '../config.ts'
import type { GuardedReply, GuardedRequest, OpenCaller } from '../contract.ts'
import { OpenCall, OpenCallDay } from '../entities.ts'
import { refusal } from '../failures.ts'
import type { requires } from '../requires.ts'
import { signatureHeaders } from '../signature/canonical-request.ts'

/** An accepted call before it has an id. */
export type CallRecord = Readonly<Omit<OpenCall, 'id' | 'code' | 'durationMs'>> & {
  readonly code: string | null
  readonly durationMs: number | null
}

interface UsageFilter {
  /** Days of the site, `YYYY-MM-DD`, both included. */
  readonly from: string
  readonly to: string
  readonly appId?: number
  /** The rows that the caller may read: `callerRows(request, usageOwner)`. */
  readonly rows: object
}

/** The tables of accepted calls: a record of each, and their sums by day. */
export class CallRecords {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Writes all or none; what is there already stays as it is, and is not counted again. */
  async write(calls: readonly CallRecord[]): Promise<void> {
    await this.#db.transactional(async (em) => {
      const keys = calls.map(({ callKey }) => callKey)
      // Nobody else writes these: a call is recorded by the process that answers it.
      const written = await em.find(OpenCall, { callKey: { $in: keys } }, { fields: ['callKey'] })
      const known = new Set(written.map(({ callKey }) => callKey))
      const fresh = calls.filter(({ callKey }) => !known.has(callKey))
      const withId = <Row extends object>(row: Row) => ({ ...row, id: this.#db.newId() })
      await insertMissing(this.#db, OpenCall, 'callKey', fresh.map(withId))
      const key = ['day', 'appId', 'route', 'method'] as const
      const sums = ['calls', 'failed', 'cost'] as const
      await addToRows(this.#db, OpenCallDay, { key, sums }, sumsOf(fresh).map(withId))
    })
  }

  /** Sums by day, application and route. */
  usage({ from, to, appId, rows }: UsageFilter, window: PageWindow): Promise<FoundPage<OpenCallDay>> {
    const where = { day: { $gte: from, $lte: to }, ...(appId === undefined ? {} : { appId }) }
    return findPage<OpenCallDay>(this.#db.fork(), OpenCallDay, { $and: [where, rows] }, window)
  }
}

type DaySums = Omit<OpenCallDay, 'id'>

/** In one order, so that two processes that count the same do not wait for each other in a circle. */
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

type Uses = { requires: typeof requires; config: typeof keys }

/** Removes records past their retention, and secrets past their grace period. */
export const purge = purgeTask<Uses>('platform.open-platform', {
  displayName: { en: 'Remove old open-platform records', 'zh-CN': '清除过期的开放平台记录' },
  old({ services: { site }, config, clock }) {
    const oldest = site.dayOf(new Date(clock.now() - config.get('platform.open-platform.metering.retention')))
    return [olderThan('open_call', 'day', oldest), olderThan('open_call_day', 'day', oldest)]
  },
  async also({ clock }, db) {
    const forget =
      'update open_app set previous_secret_enc = ?, previous_valid_until = ? where previous_valid_until <= ?'
    await db.execute(forget, [null, null, new Date(clock.now())])
  },
})

/** Calls written in one transaction. */
const batchSize = 200
/** Calls that may wait for the database. Beyond them calls are refused: none is served that cannot be recorded. */
const largestBacklog = 10_000

interface CallMeterParts {
  readonly records: Pick<CallRecords, 'write'>
  readonly clock: Clock
  /** The day of a moment where the site is at home. */
  readonly dayOf: (moment: Date) => string
  readonly log: Logger
  /** Milliseconds. */
  readonly flushIntervalMs: () => number
}

/** What is known of a call when it is accepted. */
interface AcceptedCall {
  readonly caller: OpenCaller
  /** Route pattern. */
  readonly route: string
  readonly cost: number
  /** 0: unlimited. */
  readonly quotaLimit: number
}

/**
 * Records accepted calls, one record each, off the critical path: a call waits in memory until its answer has been sent
 * and the next batch is written. A graceful stop writes all of them, also those that are still being answered; a process
 * that is killed loses the calls of its last flush interval and those it was answering.
 */
export class CallMeter {
  readonly #parts: CallMeterParts
  readonly #stop = new AbortController()
  /** Accepted and not yet answered. */
  readonly #open = new Set<CallRecord>()
  /** To be written, the oldest first. */
  #waiting: CallRecord[] = []
  #wake = new AbortController()
  #running: Promise<void> = Promise.resolve()

  constructor(parts: CallMeterParts) {
    this.#parts = parts
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Throws "503" `open-platform.metering-unavailable`. */
  assertRoom(): void {
    if (this.#waiting.length + this.#open.size >= largestBacklog) throw refusal('metering-unavailable')
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

  /** Ends the loop and writes everything. Throws when the database does not take it; the log then says how much is lost. */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#wake.abort()
    await this.#running
    this.#waiting.push(...this.#open)
    this.#open.clear()
    try {
      await this.#flush()
    } catch (error) {
      this.#parts.log.error({ calls: this.#waiting.length, reason: reasonOf(error) }, 'accepted calls stay unrecorded')
      throw error
    }
  }

  async #run(): Promise<void> {
    const { clock, log, flushIntervalMs } = this.#parts
    const failures = new FailureLog(log, {
      failing: 'accepted calls cannot be recorded; trying again',
      over: 'accepted calls are recorded again',
    })
    while (!this.#stop.signal.aborted) {
      // After a failure nothing but the stop cuts the wait short: a full batch would only fail again.
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

  /** Records leave memory when they are written. What was written and not confirmed is written again, with no effect. */
  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, batchSize)
      await this.#parts.records.write(batch)
      this.#waiting = this.#waiting.slice(batch.length)
    }
  }
}

/**
 * The identity of a call. A nonce may be used again when it is forgotten, so the timestamp is part of it: no two accepted
 * calls have the same.
 */
function callKeyOf({ headers }: GuardedRequest, appKey: string): string {
  const { timestamp, nonce } = signatureHeaders
  return hash('sha256', `${appKey}\n${headers[timestamp.toLowerCase()]}\n${headers[nonce.toLowerCase()]}`)
}
