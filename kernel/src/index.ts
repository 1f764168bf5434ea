/**
 * Entry point for plugins and product files. Programs that start products use `@plinth/kernel/host`.
 *
 * @module
 */

export {
  bilingual,
  type DeclarationProblem,
  type Deprecation,
  didYouMean,
  type Format,
  formats,
  guardsPermission,
  type InsecureValue,
  type JsonSchema,
  type JsonValue,
  type KeyBuilder,
  type KeyDeclaration,
  type KeyDeclarations,
  type KeyOptions,
  key,
  type ListConstraints,
  type Localized,
  type LocalizedText,
  localize,
  maskedValue,
  type NumberConstraints,
  nearestName,
  omitUndefined,
  ownProperty,
  type ParsedValueResult,
  type QuantityConstraints,
  type Reload,
  type RequiredWhile,
  type StringConstraints,
  type spaceBeforeAscii,
  type ValueOf,
  type ValueProblem,
} from '@plinth/config-schema'
export { redact } from '@plinth/config-schema/reading'
export { type Shape, type ShapeType, shape } from '@plinth/config-schema/shapes'
export type { Logger } from 'pino'
export type { ApplyPreview, ApplyReport, VerifyResult } from './configuration/explanation.ts'
export type { Contributions, DeclaredContributions } from './contracts/contributions.ts'
export type {
  CommandDeclaration,
  CommandFinding,
  CommandInvocation,
  CommandOutput,
  CommandSetup,
  InstallTask,
  InstallTaskContext,
  PermissionDeclaration,
  ScheduledTask,
  ScheduledTaskContext,
} from './contracts/declarations.ts'
export {
  type AuditEntry,
  type AuditedPropertyText,
  type AuditedRequest,
  type AuditSummary,
  type AuditTexts,
  type AuditTrail,
  auditFieldsOfCaller,
  auditTexts,
  type DataCheck,
  type DataCheckOptions,
  dataCheck,
  type HealthCheck,
  type HealthReport,
  healthCheck,
  type Kernel,
  kernel,
  type ManifestEntries,
  type PluginDataItem,
  type PluginDataStore,
  type ProductState,
  type StartFailure,
  type StartSummaryLine,
  type StateFile,
  stateFile,
  type TimelineEntry,
  type UpgradeStep,
  writeAuditEntry,
} from './contracts/kernel.ts'
export {
  type ChannelAttribute,
  type ChannelCheck,
  ChannelError,
  type ChannelProvider,
  type ChannelReadiness,
  type ChannelTarget,
  channelChecks,
  type DeliveryOutcome,
  isChannelError,
  type MessageFile,
  type NeededConfigKeys,
  type NotificationChannel,
  type NotificationMessage,
  notificationChannel,
  type OutcomeName,
  type ProviderReport,
  type ProviderResponse,
  type Recipient,
  type RecipientKind,
  type SendContext,
  type SentMessage,
  secretsOf,
  sendReference,
  type TextRange,
} from './contracts/notification-channel.ts'
export { type PersonalDataSubject, type PersonalTable, personalData } from './contracts/personal-data.ts'
export {
  type CleanupBlocker,
  type CleanupPreview,
  type CleanupTarget,
  type QuickstartCleanup,
  quickstartCleanup,
} from './contracts/quickstart-cleanup.ts'
export {
  checkRateLimitRequest,
  type RateLimitDecision,
  type RateLimitRequest,
  type RateLimitStore,
  rateLimitStore,
  type StoreContext,
} from './contracts/rate-limit-store.ts'
export {
  inSpan,
  type Span,
  type SpanAttributes,
  type SpanKind,
  type SpanOptions,
  type Tracer,
  type Tracing,
  traceIdOfParent,
  tracing,
} from './contracts/tracing.ts'
export {
  type BusinessCode,
  BusinessError,
  type BusinessErrorOptions,
  defineBusinessErrors,
  type FailureDetails,
  isBusinessError,
} from './errors/business-error.ts'
export {
  type ErrorCodeOf,
  type ErrorTable,
  type ErrorText,
  errorCodeOf,
  errorReason,
  errorTable,
  isPlinthError,
  PlinthError,
  type Remedy,
} from './errors/coded-error.ts'
export { type ErrorLine, RepeatedFailureLog, type RepeatedFailureTexts } from './logging/error-line.ts'
export {
  type ChangeSetDeclaration,
  type ConfigView,
  type Declared,
  definePlugin,
  type ImplementedMember,
  type KeysOf,
  type MessageCatalogues,
  type MessageTree,
  type Plugin,
  type PluginContext,
  type PluginDeclaration,
  type Role,
} from './plugin.ts'
export type { NodeEnvironment, ProcessIdentity } from './process/process-identity.ts'
export { defineProduct, type PreparedProduct, type Product, type ProductDeclaration } from './product.ts'
export {
  type AnyReferenceType,
  type ConsumingPlugin,
  type ExtensionPoint,
  extensionPoint,
  type Optional,
  type OptionalRef,
  optional,
  type Requirement,
  type Requirements,
  type ServiceRef,
  type ServicesOf,
  service,
  type TypeOf,
} from './refs.ts'
export { fillText, fitTextToColumn, hostAndPort, type TextParams } from './text/text.ts'
export { type Clock, type SleepOptions, systemClock } from './time/clock.ts'
export { Deadlines, withinDeadline } from './time/deadlines.ts'
export { asClass, asFunction, type DependencyResolver, type Resolvers } from './wiring.ts'
