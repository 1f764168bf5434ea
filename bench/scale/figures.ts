/** The result file of the benchmark, `bench/scale/figures.json`. */
import type { TestDialect } from '@plinth/dev/testing/database'
import type { Prediction } from './model.ts'

/** Kinds of measured work. */
export const works = ['outbox', 'send', 'posting', 'hot', 'http'] as const
export type Work = (typeof works)[number]

/** One measurement. */
export interface Measurement {
  readonly run: number
  readonly instances: number
  readonly work: Work
  readonly perSecond: number
  /** Average duration of a call in milliseconds. */
  readonly meanMs: number
  /** CPU milliseconds of all instances per call, and of the database server. SQLite runs in the instance. */
  readonly productMs: number
  readonly databaseMs: number
  /** Share of all cores that was used by instances, database, Redis and callers together. */
  readonly usedShare: number
  /** Share of all cores that was used by all programs of the machine. */
  readonly machineShare: number
  /** Difference from Little's law, as a share. */
  readonly littleError: number
  /**
   * Rule that the measurement violates, and that excludes it; null if it is valid. `little`: Little's law. `utilisation`: more
   * than all cores. `empty`: no event was left at the end. `failed`: calls failed. `unrecorded`: the
   * database was so slow that sends did not wait for their rows in the send log.
   */
  readonly rejected: 'little' | 'utilisation' | 'empty' | 'failed' | 'unrecorded' | null
}

/** Response times at a share of the capacity of one instance. */
export interface QueueFigure {
  readonly load: number
  readonly perSecond: number
  /** Milliseconds that half of the requests, and 95 % of them, do not exceed. */
  readonly measured: { readonly p50: number; readonly p95: number }
  readonly predicted: { readonly p50: number; readonly p95: number }
}

export interface DatabaseFigures {
  readonly dialect: TestDialect
  readonly hasRedis: boolean
  /** Settings of the server that determine the cost of a commit. */
  readonly settings: string
  readonly measurements: readonly Measurement[]
  /** For one instance and HTTP requests, of the run with the median capacity. */
  readonly queue: readonly QueueFigure[]
  /** Only for databases that were measured with four instances. */
  readonly predictions: Partial<Readonly<Record<Work, Prediction>>>
}

export interface Figures {
  readonly date: string
  readonly node: string
  readonly processor: string
  readonly cores: number
  /** Load average of one minute at the start. */
  readonly loadAtStart: number
  readonly runs: number
  readonly seconds: number
  readonly databases: readonly DatabaseFigures[]
}

/** Share of all cores above which other programs of the machine affect a figure. */
export const maxForeignShare = 0.2

/** True if other programs of the machine affected the measurement. */
export const isDisturbed = ({ machineShare, usedShare }: Measurement): boolean =>
  machineShare - usedShare > maxForeignShare

/** Returns the valid measurements of one kind of work and number of instances. */
export const validOf = ({ measurements }: DatabaseFigures, work: Work, instances: number): readonly Measurement[] =>
  measurements.filter((one) => one.work === work && one.instances === instances && one.rejected === null)
