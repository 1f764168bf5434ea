export * from './assertions.ts'
export { type FaultTable, judgeKit, type KitVerdict } from './kit-verdict.ts'
export { type ManualClock, manualClock } from './manual-clock.ts'
export { freePort, skipWithoutServer } from './server-reach.ts'
export { addToTests, boundEntries, programEnvironment, startForTest, type TestPlugins } from './start-for-test.ts'
export {
  outcomeOf,
  type ProcessEnd,
  type ProcessOutcome,
  until,
  type WatchedProcess,
  watchProcess,
} from './watch-process.ts'
