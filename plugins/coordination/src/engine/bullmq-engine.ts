import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, type Logger, RepeatedFailureLog } from '@plinth/kernel'
import type { Job, Queue, Worker } from 'bullmq'
import type { Cluster, Redis, RedisOptions } from 'ioredis'
import type { Engine } from './engine.ts'
import { QueueOfferLog } from './offers.ts'

type QueueClient = Redis | Cluster

/** The Redis server, or the Redis Cluster, of the shared store. */
export interface QueueServer {
  /** Opens a separate connection. `options` are the client options except address and credentials. */
  connect(options: QueueConnection): QueueClient
  /** Returns the `maxmemory-policy`; undefined if it is unknown. */
  evictionPolicy(): Promise<string | undefined>
  /** If the server does not respond to a command within this time, it counts as lost; milliseconds. */
  readonly commandTimeoutMs: number
  readonly keyPrefix: string
}

export interface BullmqOptions {
  /** Name of the queue, without a colon, the same on all instances. */
  readonly queueName: string
  readonly server: QueueServer
  readonly leaseMs: number
  readonly concurrency: number
  readonly clock: Clock
  readonly log: Logger
}

/** Minimum response timeout in milliseconds. It is long, because no request waits for the queue. */
const minAnswerMs = 2000
/** Time in seconds for which a worker waits for a job before it asks again. */
const jobWaitSeconds = 5
/** If an offered run has not begun after this time in milliseconds, this instance runs it directly. */
const patienceMs = 5000
/** Time limit in milliseconds for closing a queue. Then its sockets are destroyed. */
const closeMs = 1000

type QueueConnection = Pick<
  RedisOptions,
  'socketTimeout' | 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'connectionName'
>

interface Connections {
  readonly queue: Queue
  readonly worker: Worker
  readonly offering: QueueClient
}

/** Pause of a worker in milliseconds if BullMQ gives no time. */
const minRestMs = 100

/**
 * Distributes due runs with a queue in Redis. The id of a job is the turn, which identifies one due run, so all
 * instances together create only one job per run. The job schedulers of BullMQ are not used, because they start runs at
 * fixed times. Here the delay begins when a run ends.
 *
 * If the queue does not accept a run in time, or if no instance begins the job, this instance runs the task directly.
 * The lease in the database decides who may run a task, so a duplicate job is harmless.
 */
export class BullmqEngine implements Engine {
  readonly #options: BullmqOptions
  readonly #answerMs: number
  readonly #offers: QueueOfferLog
  readonly #failures: RepeatedFailureLog
  /** All open connections, including those that BullMQ opens. */
  readonly #clients: QueueClient[] = []
  #connections: Connections | undefined
  #run: (task: string) => Promise<void> = async () => {}
  readonly #stopped = new AbortController()
  #isDraining = false

  constructor(options: BullmqOptions) {
    const { server, clock, log } = options
    this.#options = options
    this.#answerMs = Math.max(server.commandTimeoutMs, minAnswerMs)
    this.#offers = new QueueOfferLog(clock, patienceMs)
    this.#failures = new RepeatedFailureLog(log, {
      failing: 'Redis takes no due runs: this instance begins them itself',
      over: 'Redis takes due runs again',
    })
  }

  /** Allows more jobs than concurrent runs, because other instances can run them. */
  room(): number {
    return 100
  }

  async start(run: (task: string) => Promise<void>): Promise<void> {
    this.#run = run
    const { Queue, WaitingError, Worker } = await import('bullmq')
    const { queueName, server, leaseMs, concurrency } = this.#options
    // An offer must fail immediately while Redis is unavailable.
    const socketTimeout = this.#answerMs
    const offering = this.#open({ socketTimeout, maxRetriesPerRequest: 0, enableOfflineQueue: false })
    // BullMQ requires that a worker retries forever. A connection without data is destroyed after this timeout.
    const working = this.#open({ socketTimeout: jobWaitSeconds * 1000 + socketTimeout, maxRetriesPerRequest: null })
    // The prefix is a hash tag, because the scripts of BullMQ need all keys of a queue in one slot of a cluster.
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
      drainDelay: jobWaitSeconds,
      // A job whose instance died is available again within the lease.
      lockDuration: leaseMs / 2,
      stalledInterval: leaseMs / 4,
    })
    // The pause of BullMQ after an error is 15 s and cannot be cancelled, so it would delay the stop.
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
    const sockets = this.#clients.flatMap((client) => ('nodes' in client ? client.nodes() : [client]))
    // Disconnects first, so that calls that wait for Redis end.
    for (const client of this.#clients) client.disconnect()
    const closed = Promise.allSettled([worker.close(true), queue.close()])
    await Promise.race([closed, pause(closeMs, undefined, { ref: false })])
    for (const { stream } of sockets) stream?.destroy()
  }

  readonly #failed = (error: unknown) => this.#failures.failed(error)

  #open(options: QueueConnection): QueueClient {
    const client = this.#options.server.connect(options)
    client.on('error', this.#failed)
    const reopen = (override: object | undefined) => this.#open({ ...options, ...override })
    if ('nodes' in client) client.duplicate = (_nodes, override) => reopen(override?.redisOptions) as Cluster
    else client.duplicate = (override) => reopen(override) as Redis
    this.#clients.push(client)
    return client
  }
}
