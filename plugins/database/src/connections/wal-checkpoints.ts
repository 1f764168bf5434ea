import { extname } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import { reasonOf } from '@plinth/kernel'
import { OpenWaits } from './connection-queue.ts'

/** Settings of the checkpoint thread. */
export interface CheckpointTask {
  readonly file: string
  readonly synchronous: 'full' | 'normal'
}

/** Result of the thread after each attempt. */
export interface CheckpointResult {
  readonly failure?: string
  /** True if the log is longer than `maxLogBytes` because another connection reads or writes. */
  readonly isTooLong?: boolean
}

/** The connection that writes. */
export interface WrittenLog {
  /**
   * Returns the number of pages in the write-ahead log that are not in the file yet. Does not wait. Call it outside a
   * transaction.
   */
  pendingPages(): number
  /** Sets the number of pages in the log from which each commit runs a checkpoint itself, on the event loop. */
  checkpointFrom(pages: number): void
}

/** Number of pages after which a checkpoint runs, as in SQLite: 4 MB. */
export const checkpointPages = 1_000
/**
 * If the thread is too slow, commits run checkpoints from this size, so that the log does not grow without limit: 64
 * MB.
 */
const maxPages = 16_000
/** Size from which the log is truncated after a checkpoint, bytes. SQLite itself keeps its length. */
export const maxLogBytes = 64 * 1024 * 1024
/** Number of consecutive checkpoints without a truncation before operators are warned. */
const reportedAttempts = 3
/** Milliseconds between two attempts to truncate the log while nothing is written. */
const cutMs = 1_000
/** Minimum interval between two checks of the log, milliseconds. */
const lookMs = 10
/** Maximum time that background work waits for one checkpoint, milliseconds. A slow disk affects all work. */
const maxWaitMs = 5_000
/**
 * Time for the thread to close its connection, milliseconds. If it is the last connection, closing runs a checkpoint.
 * Much longer than loading the driver on a busy machine: terminating a thread while it loads native code aborts the
 * process.
 */
const closingMs = 30_000

/**
 * Runs checkpoints of SQLite's write-ahead log in a separate thread with a separate connection. By default, each commit
 * that finds a thousand pages in the log does so itself. The event loop then blocks while the disk syncs a large file.
 * The thread starts with the first log that is long enough. If it cannot run, commits run checkpoints as by default.
 */
export class WalCheckpoints {
  readonly #task: CheckpointTask
  readonly #log: WrittenLog
  readonly #waits = new OpenWaits()
  readonly #warn: (message: string) => void
  #worker: Worker | undefined
  /** Resolves when the current checkpoint has ended. Never rejects. */
  #running: PromiseWithResolvers<void> | undefined
  #isOff = false
  /** Number of consecutive checkpoints that left the log too long. */
  #longLogResults = 0
  #cutTimer: NodeJS.Timeout | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(task: CheckpointTask, log: WrittenLog, warn: (message: string) => void) {
    this.#task = task
    this.#log = log
    this.#warn = warn
    log.checkpointFrom(maxPages)
  }

  /** Reports a commit. Reading the log size costs a quarter of a small write, so it is not read after each commit. */
  wrote(): void {
    const now = performance.now()
    if (now - this.#lookedAt < lookMs) return
    this.#lookedAt = now
    this.#look()
  }

  /** Health warning while the log cannot be truncated; see `HealthReport`. */
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
   * Ends the thread. The connection that writes is closed before, so that the thread does the work of the last close.
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
    // The sources are TypeScript, the published files are JavaScript.
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
    worker.on('error', (error) => this.#giveUp(reasonOf(error)))
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
