export * from './contract.ts'
export { type ChainFactCheck, chainFactChecks, maxLogs } from './planning/checked-facts.ts'
export * from './planning/plan.ts'
export type { ChainInput, ConsumedTransfer, OrderInput, PlanInput } from './planning/plan-input.ts'
export {
  type BlockingReason,
  blockingReasons,
  type CandidateState,
  candidateStates,
  type ReviewCause,
  reviewCauses,
} from './planning/reasons.ts'
export { default } from './plugin.ts'
