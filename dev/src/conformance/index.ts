/**
 * Conformance kits: tests for the contracts of extension points, for authors of implementations. They work with any
 * test runner.
 */
export type { DeliveredMessage } from './channel-messages.ts'
export {
  type CaseBodies,
  type ConformanceCase,
  ConformanceError,
  type ConformanceLimits,
  createCallTimeouts,
  createCases,
  expectBothLanguages,
  expectEqual,
  expectNoSecret,
  expectThat,
  waitForLateEffects,
} from './conformance-case.ts'
export { type InstallTaskCaseOptions, type InstallTaskHarness, installTaskCases } from './install-task-cases.ts'
export {
  type NextHop,
  type NotificationChannelCaseOptions,
  type NotificationChannelHarness,
  notificationChannelCases,
} from './notification-channel-cases.ts'
export { type QuickstartCleanupHarness, quickstartCleanupCases } from './quickstart-cleanup-cases.ts'
export { type RateLimitJointOptions, rateLimitJointCases } from './rate-limit-joint-cases.ts'
export {
  type RateLimitStoreCaseOptions,
  type RateLimitStoreHarness,
  rateLimitStoreCases,
} from './rate-limit-store-cases.ts'
export {
  type ScheduledTaskCaseOptions,
  type ScheduledTaskHarness,
  scheduledTaskCases,
} from './scheduled-task-cases.ts'
