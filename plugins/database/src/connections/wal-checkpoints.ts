import { extname } from 'node:path'
import { performance } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import { reasonOf } from '@plinth/kernel'
import { OpenWaits } from './connection-queue.ts'

/** Of which file, and what a checkpoint must survive. */
export interface CheckpointTask {
  readonly file: string
  readonly synchronous: 'full' | 'normal'
}

/** What the thread says after each try. */
export interface CheckpointAnswer {
  readonly failure?: string
  /** Whether the log is longer than `maxLogBytes`, because another connection reads or writes. */
  readonly isTooLong?: boolean
}

/** The connection that writes, seen from here. */
export interface WrittenLog {
  /** Pages in the write-ahead log that are not in the file yet. Answered without waiting, outside a transaction. */
  pendingPages(): number
  /** Pages in the log from which each commit copies back by itself, on the event loop. */
  checkpointFrom(pages: number): void
}

/** Pages after which the log is copied back, as SQLite itself has it: 4 MB. */
export const checkpointPages = 1_000
/** Where the thread does not keep up the commits help, so that the log does not grow without end: 64 MB. */
const mostPages = 16_000
/** Bytes from which the log is cut after a checkpoint. SQLite itself keeps its length. */
export const maxLogBytes = 64 * 1024 * 1024
/** Checkpoints in a row that could not cut the log before operators are warned. */
const reportedAttempts = 3
/** Milliseconds between two attempts to cut the log while nothing is written. */
const cutMs = 1_000
/** Milliseconds between two looks at the log while others write. */
const lookMs = 10
/** Milliseconds that work in the background waits for one checkpoint. A slow disk is slow for all. */
const longestWaitMs = 5_000
/**
 * Milliseconds that the thread has to close its connection, which may be the last one and then copies the log back. Far more than
 * it takes to load the driver on a busy machine: a thread that is terminated while it loads native code aborts the process.
 */
const closingMs = 30_000

/**
 * Copies the write-ahead log of SQLite back into the file, in a thread of its own with a connection of its own. By default
 * every commit that finds a thousand pages in the log does so itself: then the event loop stands still while the disk
 * syncs a file that is larger than any memory. The thread begins with the first log that is long enough. Where it
 * cannot run, commits do it again as by default.
 */
export class WalCheckpoints {
  readonly #task: CheckpointTask
  readonly #log: WrittenLog
  readonly #waits = new OpenWaits()
  readonly #warn: (message: string) => void
  #worker: Worker | undefined
  /** Resolves, and never rejects, when the checkpoint that is made right now has ended. */
  #running: PromiseWithResolvers<void> | undefined
  #isOff = false
  /** Checkpoints in a row after which the log was too long. */
  #attempts = 0
  #cutTimer: NodeJS.Timeout | undefined
  #lookedAt = Number.NEGATIVE_INFINITY

  constructor(task: CheckpointTask, log: WrittenLog, warn: (message: string) => void) {
    this.#task = task
    this.#log = log
    this.#warn = warn
    log.checkpointFrom(mostPages)
  }

  /** Something was committed. Asking how long the log is costs a quarter of a small write, so not each one asks. */
  wrote(): void {
    const now = performance.now()
    if (now - this.#lookedAt < lookMs) return
    this.#lookedAt = now
    this.#look()
  }

  /** Health warning while the log cannot be cut; see `HealthReport`. */
  get warning(): string | undefined {
    if (this.#attempts < reportedAttempts) return undefined
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

  /** Resolves when the log is short enough that no checkpoint is made, or after five seconds. */
  async done(): Promise<void> {
    this.#look()
    if (this.#running === undefined) return
    const wait = this.#waits.open(longestWaitMs, () => this.#endRun())
    await this.#running.promise
    this.#waits.close(wait)
  }

  /** Ends the thread. The connection that writes is closed before, so that what closing costs is paid by the thread. */
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
    // The sources are TypeScript, what is published is not.
    const program = new URL(`./checkpoint-worker${extname(import.meta.url)}`, import.meta.url)
    const worker = new Worker(program, { workerData: this.#task, execArgv: [] })
    // A process that has nothing else to do ends.
    worker.unref()
    worker.on('message', ({ failure, isTooLong = false }: CheckpointAnswer) => {
      this.#endRun()
      this.#attempts = isTooLong ? this.#attempts + 1 : 0
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
    this.#warn(`The write-ahead log of ${this.#task.file} is copied back by the commits from now on: ${reason}`)
    this.#endRun()
  }

  #endRun(): void {
    this.#running?.resolve()
    this.#running = undefined
  }
}
