import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import type { Job, Queue, Worker } from 'bullmq'
import type { Redis, RedisOptions } from 'ioredis'
import type { Engine } from './engine.ts'
import { Offers } from './offers.ts'

/** The Redis server of the shared store. */
export interface QueueServer {
  /** Opens a separate connection. `options` are the client options except address and credentials. */
  connect(options: QueueConnection): Redis
  /** A server that has not responded to a command after this time counts as lost; milliseconds. */
  readonly commandTimeoutMs: number
  /** Prefix of each key of this product. */
  readonly keyPrefix: string
}

export interface BullmqOptions {
  /** Name of the queue, without a colon. All instances use the same name. */
  readonly queueName: string
  readonly server: QueueServer
  readonly leaseMs: number
  /** Maximum number of concurrent runs on this instance. */
  readonly concurrency: number
  readonly clock: Clock
  readonly log: Logger
}

/** Minimum response timeout, milliseconds. Unlike a cached value or a rate limit, no request waits for the queue. */
const minAnswerMs = 2000
/** A worker waits this long for a job before it asks again, seconds. */
const waitSeconds = 5
/** An offered run that has not begun after this time is run directly, milliseconds. */
const patienceMs = 5000
/** Closing a queue may take this long, milliseconds. Then its sockets are destroyed. */
const closeMs = 1000

/** Connection options that the engine sets. */
type QueueConnection = Pick<
  RedisOptions,
  'socketTimeout' | 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'connectionName'
>

interface Connections {
  readonly queue: Queue
  readonly worker: Worker
  readonly offering: Redis
}

/** Pause of a worker if BullMQ specifies no time, milliseconds. */
const minRestMs = 100

/**
 * A due run is a job in a queue on Redis. The job id is the turn, so all instances together create one job for it.
 * BullMQ's job schedulers are not used: they create the next job when the current one begins, on fixed slots. Here the
 * delay starts at the end of a run.
 *
 * This instance runs a task directly if the queue does not accept it in time, or if no instance begins an accepted job.
 * The lease in the database decides which instance may run, so the queue only distributes the work.
 */
export class BullmqEngine implements Engine {
  readonly #options: BullmqOptions
  readonly #answerMs: number
  readonly #offers: Offers
  readonly #failures: FailureLog
  /** All open connections, including those that BullMQ creates. */
  readonly #clients: Redis[] = []
  #connections: Connections | undefined
  #run: (task: string) => Promise<void> = async () => {}
  readonly #stopped = new AbortController()
  #isDraining = false

  constructor(options: BullmqOptions) {
    const { server, clock, log } = options
    this.#options = options
    this.#answerMs = Math.max(server.commandTimeoutMs, minAnswerMs)
    this.#offers = new Offers(clock, patienceMs)
    this.#failures = new FailureLog(log, {
      failing: 'Redis takes no due runs: this instance begins them itself',
      over: 'Redis takes due runs again',
    })
  }

  /** Much more than the number of concurrent runs. The queue does not preserve the order of the tasks. */
  room(): number {
    return 100
  }

  async start(run: (task: string) => Promise<void>): Promise<void> {
    this.#run = run
    const { Queue, WaitingError, Worker } = await import('bullmq')
    const { queueName, server, leaseMs, concurrency } = this.#options
    // An offer fails immediately while Redis is unavailable.
    const socketTimeout = this.#answerMs
    const offering = this.#open({ socketTimeout, maxRetriesPerRequest: 0, enableOfflineQueue: false })
    // BullMQ requires that a worker waits for Redis indefinitely. Each of its connections is destroyed when no data
    // arrives.
    const working = this.#open({ socketTimeout: waitSeconds * 1000 + socketTimeout, maxRetriesPerRequest: null })
    // One hash tag: BullMQ's scripts need all keys of a queue in one slot of a cluster.
    const common = { prefix: `{${server.keyPrefix}}`, skipVersionCheck: true }
    const defaultJobOptions = { removeOnComplete: true, removeOnFail: true }
    const queue = new Queue(queueName, { ...common, connection: offering, defaultJobOptions })
    const process = async (job: Job, token?: string) => {
      if (!this.#isDraining) return run(job.name)
      // The job arrived after this instance began to stop.
      await job.moveToWait(token)
      throw new WaitingError()
    }
    const worker = new Worker(queueName, process, {
      ...common,
      connection: working,
      concurrency,
      drainDelay: waitSeconds,
      // A job whose instance died returns within the lease.
      lockDuration: leaseMs / 2,
      stalledInterval: leaseMs / 4,
    })
    // BullMQ's own wait after an error (15 s) cannot be cancelled and would outlast the stop.
    worker.delay = async (ms = minRestMs) => {
      await pause(ms, undefined, { ref: false, signal: this.#stopped.signal }).catch(() => undefined)
    }
    queue.on('error', this.#failed)
    worker.on('error', this.#failed)
    await Promise.race([queue.waitUntilReady(), pause(socketTimeout, undefined, { ref: false })]).catch(this.#failed)
    this.#connections = { queue, worker, offering }
  }

  dispatch(task: string, turn: string): void {
    if (this.#connections === undefined || this.#isDraining) return
    const { queue, offering } = this.#connections
    if (this.#offers.isOverdue(turn)) void this.#run(task)
    if (this.#offers.isUnderWay(turn)) return
    const rejected = (error: unknown) => {
      this.#failed(error)
      if (!this.#isDraining) void this.#run(task)
    }
    if (offering.status !== 'ready') {
      rejected(new Error('no connection'))
      return
    }
    const taken = queue.add(task, null, { jobId: turn }).then(() => this.#failures.succeeded(), rejected)
    this.#offers.made(turn, taken)
  }

  async drain(): Promise<void> {
    this.#isDraining = true
    await this.#connections?.worker.pause(true)
  }

  async stop(): Promise<void> {
    if (this.#connections === undefined) return
    const { queue, worker } = this.#connections
    this.#connections = undefined
    this.#isDraining = true
    this.#stopped.abort()
    // Disconnecting first ends calls that would wait for an unavailable Redis.
    for (const client of this.#clients) client.disconnect()
    const closed = Promise.allSettled([worker.close(true), queue.close()])
    await Promise.race([closed, pause(closeMs, undefined, { ref: false })])
    for (const client of this.#clients) client.stream?.destroy()
  }

  readonly #failed = (error: unknown) => this.#failures.failed(error)

  #open(options: QueueConnection): Redis {
    const client = this.#options.server.connect(options)
    client.on('error', this.#failed)
    client.duplicate = (override) => this.#open({ ...options, ...(override as QueueConnection) })
    this.#clients.push(client)
    return client
  }
}
