import { setTimeout as pause } from 'node:timers/promises'
import { type Clock, FailureLog, type Logger } from '@plinth/kernel'
import type { RedisServer } from '@plinth/shared-store'
import type { Job, Queue, Worker } from 'bullmq'
import type { Redis, RedisOptions } from 'ioredis'
import type { Engine } from './engine.ts'
import { Offers } from './offers.ts'

export interface BullmqOptions {
  /** Name of the queue, without a colon; all instances have the same. */
  readonly queueName: string
  readonly server: RedisServer
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

type ConnectionOptions = Pick<
  RedisOptions,
  'socketTimeout' | 'maxRetriesPerRequest' | 'enableOfflineQueue' | 'connectionName'
>

interface Connections {
  readonly queue: Queue
  readonly worker: Worker
  /** All that are open, those that BullMQ makes of its own accord too. */
  readonly clients: readonly Redis[]
  readonly offering: Redis
}

/**
 * A due run is a job in a queue on Redis; its id is the turn, so that of all instances that notice it one job is made.
 * BullMQ's own job schedulers are not used: they make the next job when the present one begins, on fixed slots, while here
 * the delay counts from the end of a run.
 *
 * What the queue does not take in time, and what it takes and nobody begins, this instance runs itself: the lease in the
 * database decides who may, so the queue only spreads the work.
 */
export function bullmqEngine({ queueName, server, leaseMs, concurrency, clock, log }: BullmqOptions): Engine {
  const answerMs = Math.max(server.commandTimeoutMs, shortestAnswerMs)
  const offers = new Offers(clock, patienceMs)
  let connections: Connections | undefined
  let begin: (task: string) => void = () => {}
  let isDraining = false
  const failures = new FailureLog(log, {
    failing: 'Redis takes no due runs: this instance begins them itself',
    over: 'Redis takes due runs again',
  })
  const failed = (error: unknown) => failures.failed(error)

  async function connect(run: (task: string) => Promise<void>): Promise<Connections> {
    const [{ Queue, WaitingError, Worker }, { Redis }] = await Promise.all([import('bullmq'), import('ioredis')])
    const clients: Redis[] = []
    const open = (options: ConnectionOptions): Redis => {
      const client = new Redis({ ...server.options, ...options })
      client.on('error', failed)
      client.duplicate = (override) => open({ ...options, ...(override as ConnectionOptions) })
      clients.push(client)
      return client
    }
    // An offer fails at once while Redis is away.
    const offering = open({ socketTimeout: answerMs, maxRetriesPerRequest: 0, enableOfflineQueue: false })
    // A worker waits for Redis, for ever, as BullMQ demands; each of its connections is given up when nothing comes.
    const working = open({ socketTimeout: waitSeconds * 1000 + answerMs, maxRetriesPerRequest: null })
    // One hash tag: BullMQ's scripts need all keys of a queue in one slot of a cluster.
    const common = { prefix: `{${server.keyPrefix}}`, skipVersionCheck: true }
    const queue = new Queue(queueName, {
      ...common,
      connection: offering,
      defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
    })
    const process = async (job: Job, token?: string) => {
      if (!isDraining) return run(job.name)
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
    queue.on('error', failed)
    worker.on('error', failed)
    await Promise.race([queue.waitUntilReady(), pause(answerMs, undefined, { ref: false })]).catch(failed)
    return { queue, worker, clients, offering }
  }

  return {
    async start(run) {
      begin = (task) => void run(task)
      connections = await connect(run)
    },

    dispatch(task, turn) {
      if (connections === undefined || isDraining) return
      const { queue, offering } = connections
      if (offers.isOverdue(turn)) begin(task)
      if (offers.isUnderWay(turn)) return
      const refused = (error: unknown) => {
        failed(error)
        if (!isDraining) begin(task)
      }
      if (offering.status !== 'ready') return refused(new Error('no connection'))
      offers.made(
        turn,
        queue.add(task, null, { jobId: turn }).then(() => failures.succeeded(), refused),
      )
    },

    async drain() {
      isDraining = true
      await connections?.worker.pause(true)
    },

    async stop() {
      if (connections === undefined) return
      const { clients, queue, worker } = connections
      connections = undefined
      isDraining = true
      // Disconnecting first ends what would wait for a Redis that is away.
      for (const client of clients) client.disconnect()
      const closed = Promise.allSettled([worker.close(true), queue.close()])
      await Promise.race([closed, pause(closeMs, undefined, { ref: false })])
      for (const client of clients) client.stream?.destroy()
    },
  }
}
