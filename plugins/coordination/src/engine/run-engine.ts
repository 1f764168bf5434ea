import type { Clock, HealthReport, Logger, PluginContext } from '@plinth/kernel'
import type { LeaseTimeLimits } from '../leases/keep-lease.ts'
import { PollLoop, type PollOptions } from '../poll-loop.ts'
import type { WakeUpSignal } from '../wake-up.ts'
import { BullmqEngine, type QueueServer } from './bullmq-engine.ts'
import { createEmbeddedEngine, type Engine } from './engine.ts'
import { coordinationError, type EngineName } from './run-keys.ts'

export interface EngineSettings {
  readonly engine: EngineName
  /** Redis server of the product, if it has one. */
  readonly server: QueueServer | undefined
  /**
   * Name of the queue, without a colon, the same on all instances. Its configuration keys are `platform.<queueName>.*`.
   */
  readonly queueName: string
  readonly leaseMs: number
  readonly concurrency: number
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Returns the configured engine.
 *
 * @throws PlinthError `PLINTH_COORDINATION_NO_REDIS`
 */
export function createEngine({ engine, server, ...settings }: EngineSettings): Engine {
  if (engine === 'embedded') return createEmbeddedEngine()
  return new BullmqEngine({ ...settings, server: requireServer(settings.queueName, server) })
}

/**
 * Checks that the product has Redis if the engine requires it.
 *
 * @throws PlinthError `PLINTH_COORDINATION_NO_REDIS`
 */
export function verifyEngine(queueName: string, engine: EngineName, server: QueueServer | undefined): void {
  if (engine === 'bullmq') requireServer(queueName, server)
}

/**
 * Checks that Redis never removes jobs of a queue.
 *
 * @returns a warning if Redis does not report its policy
 * @throws PlinthError `PLINTH_COORDINATION_EVICTION`, and the errors of the shared store
 */
export async function checkQueueServer(
  name: string,
  engine: EngineName,
  server: QueueServer | undefined,
): Promise<HealthReport> {
  if (engine !== 'bullmq' || server === undefined) return { warnings: [] }
  const policy = await server.evictionPolicy()
  if (policy === 'noeviction') return { warnings: [] }
  if (policy !== undefined) throw coordinationError('PLINTH_COORDINATION_EVICTION', { name, policy })
  return { warnings: [`${unknownPolicy} ${name}. Permit the command INFO.`] }
}
const unknownPolicy = 'The maxmemory-policy of Redis is unknown, so Redis may remove jobs of the queue'

function requireServer(name: string, server: QueueServer | undefined): QueueServer {
  if (server === undefined) throw coordinationError('PLINTH_COORDINATION_NO_REDIS', { name })
  return server
}

export interface RunEngineOptions {
  readonly engine: Engine
  /** Begins the run with this name if it is due. Settles after the run and never rejects. */
  readonly run: (name: string) => Promise<void>
  /** Reads all rows and dispatches due runs; see `PollOptions.look`. */
  readonly look: PollOptions['look']
  /** Maximum pause in milliseconds between two polls during activity. */
  readonly pollIntervalMs: () => number
  readonly times: LeaseTimeLimits
  readonly runs: { drain(signal: AbortSignal): Promise<void>; stop(): void }
  readonly wakeUp: WakeUpSignal
  /** Name of the polled work in log messages, for example `scheduled tasks`. */
  readonly subject: string
  readonly clock: Clock
  readonly log: Logger
}

/** Polls for due runs and starts them, in this process or through a queue. */
export class RunEngine {
  readonly #parts: RunEngineOptions
  readonly #loop: PollLoop

  constructor(parts: RunEngineOptions) {
    this.#parts = parts
    const { look, pollIntervalMs, subject, times, clock, log } = parts
    const pollMs = () => Math.min(pollIntervalMs(), times.maxPollMs)
    this.#loop = new PollLoop({ look, pollMs, idleMs: () => times.maxIdleMs, subject, clock, log })
  }

  attach({ onReady, onDrain, onStop }: Pick<PluginContext, 'onReady' | 'onDrain' | 'onStop'>): void {
    onReady(() => this.#start())
    onDrain((signal) => this.#drain(signal))
    onStop(() => this.#stop())
  }

  wake(): void {
    this.#loop.wake()
  }

  async #start(): Promise<void> {
    await this.#parts.engine.start(this.#parts.run)
    await this.#parts.wakeUp.listen()
    this.#loop.start()
  }

  /** Begins no more runs and waits for the current ones until the signal aborts. */
  async #drain(signal: AbortSignal): Promise<void> {
    await this.#loop.stop()
    await Promise.all([this.#parts.engine.drain(), this.#parts.runs.drain(signal)])
  }

  async #stop(): Promise<void> {
    await this.#loop.stop()
    this.#parts.runs.stop()
    await this.#parts.engine.stop()
  }
}
