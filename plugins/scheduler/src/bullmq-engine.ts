import { type Logger, reasonOf } from '@plinth/kernel'
import type { RedisServer } from '@plinth/shared-store'
import type { Queue, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Engine } from './engine.ts'

export interface BullmqOptions {
  /** Name of the queue, without a colon; all instances have the same. */
  readonly queueName: string
  readonly server: RedisServer
  readonly leaseMs: number
  /** Runs at a time on this instance. */
  readonly concurrency: number
  readonly log: Logger
}

/**
 * A due run is a job in a queue on Redis; its id is the turn, so that of all instances that notice it one job is made.
 * BullMQ's own job schedulers are not used: they make the next job when the present one begins, on fixed slots, while here
 * the delay counts from the end of a run.
 */
export function bullmqEngine({ queueName, server, leaseMs, concurrency, log }: BullmqOptions): Engine {
  let connection: { redis: Redis; queue: Queue; worker: Worker } | undefined
  const offered = new Set<string>()
  let isFailing = false
  const failed = (error: unknown) => {
    if (!isFailing) log.error({ reason: reasonOf(error) }, 'due runs wait: Redis does not take part')
    isFailing = true
  }
  const worked = () => {
    if (isFailing) log.info('Redis takes part again')
    isFailing = false
  }

  return {
    async start(run) {
      const [{ Queue, Worker }, { Redis }] = await Promise.all([import('bullmq'), import('ioredis')])
      // It reconnects by itself, for ever; commands wait meanwhile, as BullMQ demands.
      const redis = new Redis({ ...server.options, maxRetriesPerRequest: null })
      redis.on('error', failed)
      // One hash tag: BullMQ's scripts need all keys of a queue in one slot of a cluster.
      const options = { connection: redis, prefix: `{${server.keyPrefix}}`, skipVersionCheck: true }
      const queue = new Queue(queueName, {
        ...options,
        defaultJobOptions: { removeOnComplete: true, removeOnFail: true },
      })
      const worker = new Worker(queueName, ({ name }) => run(name), {
        ...options,
        concurrency,
        // A job that died with its instance comes back within the lease.
        lockDuration: leaseMs / 2,
        stalledInterval: leaseMs / 4,
      })
      queue.on('error', failed)
      worker.on('error', failed)
      connection = { redis, queue, worker }
    },

    dispatch(task, turn) {
      // While Redis is away an offer waits for it; another one would be in vain.
      if (connection === undefined || offered.has(turn)) return
      offered.add(turn)
      connection.queue
        .add(task, null, { jobId: turn })
        .then(worked, failed)
        .finally(() => offered.delete(turn))
    },

    async stop() {
      if (connection === undefined) return
      const { redis, queue, worker } = connection
      connection = undefined
      // Disconnecting first ends what would wait for a Redis that is away.
      redis.disconnect()
      await Promise.allSettled([worker.close(true), queue.close()])
    },
  }
}
