export { BullmqEngine, type BullmqOptions, type QueueServer } from './engine/bullmq-engine.ts'
export type { Engine } from './engine/engine.ts'
export { LeasedRun, LeasedRuns, type LeasedRunsOptions, type StopCause } from './engine/leased-runs.ts'
export { type EngineSettings, engineOf, RunEngine, type RunEngineOptions, verifyEngine } from './engine/run-engine.ts'
export { type EngineName, type RunKeys, runKeys } from './engine/run-keys.ts'
export {
  type ClockReading,
  LeaseLostError,
  type LeaseRenewal,
  type LeaseRenewalOptions,
  type LeaseTimes,
  leaseTimes,
  readClocks,
  startLeaseRenewal,
} from './leases/keep-lease.ts'
export {
  type DatabaseTime,
  databaseTime,
  databaseTimeMsSql,
  type LeaseState,
  LeaseWatch,
  type RowClaim,
  type RowLeaseOptions,
  RowLeases,
  readDatabaseTime,
  type Sight,
  type SqlTerm,
} from './leases/row-leases.ts'
export { PollLoop, type PollOptions } from './poll-loop.ts'
export { olderThan, type PurgeKeys, type PurgeTaskOptions, purgeKeys, purgeTask, retentionKey } from './purge.ts'
export { type Messages, WakeUp, type WakeUpOptions } from './wake-up.ts'
