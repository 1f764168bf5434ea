export * from './assertions.ts'
export { type BrokenImplementations, type KitTestResult, testConformanceKit } from './kit-verdict.ts'
export { isProof } from './long-form.ts'
export { type ManualClock, manualClock } from './manual-clock.ts'
export { freePort, skipWithoutServer } from './server-reach.ts'
export {
  addTestPlugins,
  bindSecretsToDestinations,
  programEnvironment,
  startForTest,
  type TestPlugins,
} from './start-for-test.ts'
export {
  type ProcessEnd,
  type ProcessOutcome,
  until,
  type WatchedProcess,
  waitForProcessEnd,
  watchProcess,
} from './watch-process.ts'
