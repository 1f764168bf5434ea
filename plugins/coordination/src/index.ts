export { Circuits } from './circuits.ts'
export { BullmqEngine, type BullmqOptions, type QueueServer } from './engine/bullmq-engine.ts'
export type { Engine } from './engine/engine.ts'
export { LeasedRun, LeasedRuns, type LeasedRunsOptions, type StopCause } from './engine/leased-runs.ts'
export {
  checkQueueServer,
  createEngine,
  type EngineSettings,
  RunEngine,
  type RunEngineOptions,
  verifyEngine,
} from './engine/run-engine.ts'
export { type EngineName, type RunKeys, runKeys } from './engine/run-keys.ts'
export {
  type ClockReading,
  LeaseLostError,
  type LeaseRenewal,
  type LeaseRenewalOptions,
  type LeaseTimeLimits,
  leaseTimeLimits,
  readClocks,
  startLeaseRenewal,
} from './leases/keep-lease.ts'
export {
  type DatabaseTime,
  databaseTime,
  databaseTimeMsSql,
  type LeaseState,
  type RowClaim,
  type RowLeaseOptions,
  RowLeases,
  type RowSighting,
  readDatabaseTime,
  type SqlTerm,
  UnchangedRowWatch,
} from './leases/row-leases.ts'
export { PollLoop, type PollOptions } from './poll-loop.ts'
export { createPurgeTask, type PurgeKeys, type PurgeTaskOptions, purgeKeys, retentionKey, rowsBefore } from './purge.ts'
export { type InstanceMessages, type WakeUpOptions, WakeUpSignal } from './wake-up.ts'
