export { type ManualClock, manualClock } from './manual-clock.ts'
export { startForTest } from './start-for-test.ts'
