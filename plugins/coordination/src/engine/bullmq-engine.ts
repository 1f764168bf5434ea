import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import type { Job, Queue, Worker } from 'bullmq'
import type { Redis, RedisOptions } from 'ioredis'
import type { Engine } from './engine.ts'
import { Offers } from './offers.ts'

/** Redis, as the shared store hands it out. */
export interface QueueServer {
  /** Opens a connection of its own; `options` are those of the client besides where and as whom to connect. */
  connect(options: QueueConnection): Redis
  /** A server that has not answered a command by then counts as gone; milliseconds. */
  readonly commandTimeoutMs: number
  /** First part of every key of this product. */
  readonly keyPrefix: string
}

export interface BullmqOptions {
  /** Name of the queue, without a colon; all instances have the same. */
  readonly queueName: string
  readonly server: QueueServer
  readonly leaseMs: number
  /** Runs at a time on this instance. */
  readonly concurrency: number
  readonly clock: Clock
  readonly log: Logger
}

/** Shortest time for an answer, milliseconds: unlike a value or a limit, a queue is asked by nobody who waits. */
const shortestAnswerMs = 2000
/** A worker waits so long for a job before it asks again, seconds. */
const waitSeconds = 5
/** What was offered so long ago and has not begun is taken directly, milliseconds. */
const patienceMs = 5000
/** Closing a queue may take so long, milliseconds; then its sockets are destroyed. */
const closeMs = 1000

/** What a queue asks of a connection. */
type QueueConnection = Pick<
  RedisOptions,
  'socketTimeout' | 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'connectionName'
>

interface Connections {
  readonly queue: Queue
  readonly worker: Worker
  readonly offering: Redis
}

/** Milliseconds that a worker rests where BullMQ names no time. */
const shortestRestMs = 100

/**
 * A due run is a job in a queue on Redis; its id is the turn, so that of all instances that notice it one job is made.
 * BullMQ's own job schedulers are not used: they make the next job when the present one begins, on fixed slots, while here
 * the delay counts from the end of a run.
 *
 * What the queue does not take in time, and what it takes and nobody begins, this instance runs itself: the lease in the
 * database decides who may, so the queue only spreads the work.
 */
export class BullmqEngine implements Engine {
  readonly #options: BullmqOptions
  readonly #answerMs: number
  readonly #offers: Offers
  readonly #failures: FailureLog
  /** All connections that are open, those that BullMQ makes of its own accord too. */
  readonly #clients: Redis[] = []
  #connections: Connections | undefined
  #run: (task: string) => Promise<void> = async () => {}
  readonly #stopped = new AbortController()
  #isDraining = false

  constructor(options: BullmqOptions) {
    const { server, clock, log } = options
    this.#options = options
    this.#answerMs = Math.max(server.commandTimeoutMs, shortestAnswerMs)
    this.#offers = new Offers(clock, patienceMs)
    this.#failures = new FailureLog(log, {
      failing: 'Redis takes no due runs: this instance begins them itself',
      over: 'Redis takes due runs again',
    })
  }

  /** Far more than run at a time; the order in which tasks take turns does not hold within the queue. */
  room(): number {
    return 100
  }

  async start(run: (task: string) => Promise<void>): Promise<void> {
    this.#run = run
    const { Queue, WaitingError, Worker } = await import('bullmq')
    const { queueName, server, leaseMs, concurrency } = this.#options
    // An offer fails at once while Redis is away.
    const socketTimeout = this.#answerMs
    const offering = this.#open({ socketTimeout, maxRetriesPerRequest: 0, enableOfflineQueue: false })
    // A worker waits for Redis, for ever, as BullMQ demands; each of its connections is given up when nothing comes.
    const working = this.#open({ socketTimeout: waitSeconds * 1000 + socketTimeout, maxRetriesPerRequest: null })
    // One hash tag: BullMQ's scripts need all keys of a queue in one slot of a cluster.
    const common = { prefix: `{${server.keyPrefix}}`, skipVersionCheck: true }
    const defaultJobOptions = { removeOnComplete: true, removeOnFail: true }
    const queue = new Queue(queueName, { ...common, connection: offering, defaultJobOptions })
    const process = async (job: Job, token?: string) => {
      if (!this.#isDraining) return run(job.name)
      // It was on its way when this instance began to stop.
      await job.moveToWait(token)
      throw new WaitingError()
    }
    const worker = new Worker(queueName, process, {
      ...common,
      connection: working,
      concurrency,
      drainDelay: waitSeconds,
      // A job that died with its instance comes back within the lease.
      lockDuration: leaseMs / 2,
      stalledInterval: leaseMs / 4,
    })
    // Its own wait after an error (15 s) cannot be ended, and would outlive the stop.
    worker.delay = async (ms = shortestRestMs) => {
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
    const refused = (error: unknown) => {
      this.#failed(error)
      if (!this.#isDraining) void this.#run(task)
    }
    if (offering.status !== 'ready') {
      refused(new Error('no connection'))
      return
    }
    const taken = queue.add(task, null, { jobId: turn }).then(() => this.#failures.succeeded(), refused)
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
    // Disconnecting first ends what would wait for a Redis that is away.
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
