/**
 * Conformance kit: the contracts of extension points as test cases for authors of implementations. Needs no test
 * runner.
 */
export type { DeliveredMessage } from './channel-messages.ts'
export {
  type CaseBodies,
  type ConformanceCase,
  ConformanceError,
  type ConformanceLimits,
  casesOver,
  expectEqual,
  expectNamed,
  expectNoSecret,
  expectThat,
  patience,
} from './conformance-case.ts'
export { type InstallTaskCaseOptions, type InstallTaskHarness, installTaskCases } from './install-task-cases.ts'
export {
  type NextHop,
  type NotificationChannelCaseOptions,
  type NotificationChannelHarness,
  notificationChannelCases,
} from './notification-channel-cases.ts'
export { type RateLimitJointOptions, rateLimitJointCases } from './rate-limit-joint-cases.ts'
export {
  type RateLimitStoreCaseOptions,
  type RateLimitStoreHarness,
  rateLimitStoreCases,
} from './rate-limit-store-cases.ts'
