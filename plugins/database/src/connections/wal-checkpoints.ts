import { extname } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import { errorReason } from '@plinth/kernel'
import { WaitTimeouts } from './connection-queue.ts'

export interface CheckpointTask {
  readonly file: string
  readonly synchronous: 'full' | 'normal'
}

export interface CheckpointResult {
  readonly failure?: string
  /** True if the log is longer than `maxLogBytes`, because another connection reads or writes. */
  readonly isTooLong?: boolean
}

export interface WriteAheadLog {
  /**
   * Returns the number of pages in the write-ahead log that are not yet in the database file. Call it outside a
   * transaction.
   */
  pendingPages(): number
  /** Makes commits run checkpoints themselves if the log has at least this number of pages. */
  checkpointFrom(pages: number): void
}

/** Number of pages in the log (4 MB) after which a checkpoint runs, as by default in SQLite. */
export const checkpointPages = 1_000
/**
 * Number of pages in the log (64 MB) from which commits run checkpoints themselves, because the thread is too slow.
 */
const maxPages = 16_000
/** Size of the log in bytes from which it is truncated. SQLite itself never shortens the file. */
export const maxLogBytes = 64 * 1024 * 1024
/** Consecutive checkpoints without a truncation after which operators are warned. */
const reportedAttempts = 3
/** Milliseconds between two attempts to truncate the log. */
const cutMs = 1_000
/** Minimum milliseconds between two checks of the log. */
const lookMs = 10
/** Maximum milliseconds that background work waits for a checkpoint. */
const maxWaitMs = 5_000
/**
 * Milliseconds for the thread to close its connection. This is long, because a process crashes if a thread is
 * terminated while it loads native code.
 */
const closingMs = 30_000

/**
 * Runs checkpoints of SQLite's write-ahead log in a thread. By default, a commit that finds a thousand pages in the log
 * runs a checkpoint, which blocks the event loop until the disk has stored them. If the thread fails, commits run
 * checkpoints as by default.
 */
export class WalCheckpoints {
  readonly #task: CheckpointTask
  readonly #log: WriteAheadLog
  readonly #waits = new WaitTimeouts()
  readonly #warn: (message: string) => void
  #worker: Worker | undefined
  /** Resolves when the running checkpoint has ended. Never rejects. */
  #running: PromiseWithResolvers<void> | undefined
  #isOff = false
  /** Consecutive checkpoints after which the log was too long. */
  #longLogResults = 0
  #cutTimer: NodeJS.Timeout | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(task: CheckpointTask, log: WriteAheadLog, warn: (message: string) => void) {
    this.#task = task
    this.#log = log
    this.#warn = warn
    log.checkpointFrom(maxPages)
  }

  /**
   * Reports a commit. Not every commit checks the log, because a check takes a quarter of the time of a small write.
   */
  wrote(): void {
    const now = performance.now()
    if (now - this.#lookedAt < lookMs) return
    this.#lookedAt = now
    this.#look()
  }

  /** Warning for the health check; see `HealthReport`. */
  get warning(): string | undefined {
    if (this.#longLogResults < reportedAttempts) return undefined
    return (
      `The write-ahead log of ${this.#task.file} is longer than ${maxLogBytes / 1024 / 1024} MB and cannot be cut. ` +
      'Find what reads the database for long (a backup, a shell) or writes without a pause, and end it.'
    )
  }

  #look(): void {
    if (this.#log.pendingPages() >= checkpointPages) this.#run()
  }

  #run(): void {
    if (this.#isOff || this.#running !== undefined) return
    this.#running = Promise.withResolvers()
    this.#worker ??= this.#start()
    this.#worker.postMessage('checkpoint')
  }

  /** Resolves when the log is short and no checkpoint is running, or after five seconds. */
  async done(): Promise<void> {
    this.#look()
    if (this.#running === undefined) return
    const wait = this.#waits.open(maxWaitMs, () => this.#endRun())
    await this.#running.promise
    this.#waits.close(wait)
  }

  /**
   * Ends the thread. Call it after the writing connection is closed. Then the connection of the thread is the last one,
   * and SQLite runs the final checkpoint in the thread.
   */
  async close(): Promise<void> {
    this.#isOff = true
    clearTimeout(this.#cutTimer)
    this.#endRun()
    const worker = this.#worker
    if (worker === undefined) return
    const ended = new Promise((resolve) => worker.once('exit', resolve))
    const wait = this.#waits.open(closingMs, () => void worker.terminate())
    worker.postMessage('close')
    await ended
    this.#waits.close(wait)
  }

  #start(): Worker {
    // The program is TypeScript in the repository and JavaScript in the published package.
    const program = new URL(`./checkpoint-worker${extname(import.meta.url)}`, import.meta.url)
    const worker = new Worker(program, { workerData: this.#task, execArgv: [] })
    // The thread must not keep the process alive.
    worker.unref()
    worker.on('message', ({ failure, isTooLong = false }: CheckpointResult) => {
      this.#endRun()
      this.#longLogResults = isTooLong ? this.#longLogResults + 1 : 0
      clearTimeout(this.#cutTimer)
      if (isTooLong && !this.#isOff) this.#cutTimer = setTimeout(() => this.#run(), cutMs).unref()
      if (failure !== undefined) this.#giveUp(failure)
    })
    worker.on('error', (error) => this.#giveUp(errorReason(error)))
    worker.on('exit', () => {
      this.#worker = undefined
      this.#endRun()
    })
    return worker
  }

  #giveUp(reason: string): void {
    if (this.#isOff) return
    this.#isOff = true
    this.#log.checkpointFrom(checkpointPages)
    this.#warn(
      `The checkpoint thread of ${this.#task.file} failed, so commits checkpoint the write-ahead log from now on: ${reason}`,
    )
    this.#endRun()
  }

  #endRun(): void {
    this.#running?.resolve()
    this.#running = undefined
  }
}
