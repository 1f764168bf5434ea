export { type FaultTable, judgeKit, type KitVerdict } from './kit-verdict.ts'
export { type ManualClock, manualClock } from './manual-clock.ts'
export { skipWithoutServer } from './server-reach.ts'
export { startForTest } from './start-for-test.ts'
