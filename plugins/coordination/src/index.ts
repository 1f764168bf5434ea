export { BullmqEngine, type BullmqOptions, type QueueServer } from './engine/bullmq-engine.ts'
export type { Engine } from './engine/engine.ts'
export { LeasedRun, LeasedRuns, type LeasedRunsParts, type StopCause } from './engine/leased-runs.ts'
export { type EngineSettings, engineOf, RunEngine, type RunEngineParts, verifyEngine } from './engine/run-engine.ts'
export { type EngineName, type RunKeys, runKeys } from './engine/run-keys.ts'
export {
  type KeptLease,
  keepLease,
  LeaseLost,
  type LeaseParts,
  type LeaseTimes,
  leaseTimes,
  type Moment,
  momentOf,
} from './leases/keep-lease.ts'
export {
  type DatabaseTime,
  databaseMs,
  databaseTime,
  type LeaseState,
  LeaseWatch,
  type RowClaim,
  type RowLeaseParts,
  RowLeases,
  readDatabaseTime,
  type Sight,
  type SqlTerm,
} from './leases/row-leases.ts'
export { PollLoop, type PollParts } from './poll-loop.ts'
export { olderThan, type PurgeKeys, type PurgeParts, purgeKeys, purgeTask, retentionKey } from './purge.ts'
export { type Messages, WakeUp, type WakeUpParts } from './wake-up.ts'
