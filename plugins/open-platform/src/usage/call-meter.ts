import { hash } from 'node:crypto'
import { finished } from 'node:stream'
import { type Clock, FailureLog, type Logger, reasonOf } from '@plinth/kernel'
import type { GuardedReply, GuardedRequest, OpenCaller } from '../contract.ts'
import { refusal } from '../failures.ts'
import { signatureHeaders } from '../signature/canonical-request.ts'
import type { CallRecord, CallRecords } from './call-records.ts'

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
