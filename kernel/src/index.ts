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
  environmentName,
  environmentNameOf,
  type Format,
  formatDuration,
  formats,
  guardsPermission,
  type InsecureValue,
  inBothLocales,
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
  parseBytes,
  parseDuration,
  type QuantityConstraints,
  type Reload,
  type RequiredWhile,
  readValue,
  type StringConstraints,
  type spaceBeforeAscii,
  type ValueOf,
  type ValueProblem,
  validateDeclaration,
  validateValue,
} from '@plinth/config-schema'
export { redact } from '@plinth/config-schema/reading'
export { type Shape, type ShapeType, shape } from '@plinth/config-schema/shapes'
export type { Logger } from 'pino'
export type { ApplyPreview, ApplyReport, VerifyResult } from './configuration/explanation.ts'
export type { Contributions, DeclaredContributions } from './contracts/contributions.ts'
export type {
  CommandDeclaration,
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
  auditTrail,
  type HealthCheck,
  type HealthReport,
  healthCheck,
  type Kernel,
  kernel,
  type ManifestEntries,
  manifestEntries,
  maskedSummary,
  ownerOfName,
  type PluginDataItem,
  type PluginDataStore,
  type ProductState,
  pluginData,
  readHealthWarnings,
  type StartFailure,
  type StartSummaryLine,
  startSummary,
  type TimelineEntry,
  type UpgradeStep,
  upgradeSteps,
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
  type NeededConfigKeys,
  type NotificationChannel,
  type NotificationMessage,
  notificationChannel,
  type OutcomeName,
  type ProviderResponse,
  type Recipient,
  type RecipientKind,
  type SendContext,
  secretsOf,
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
  type BusinessCode,
  BusinessError,
  type BusinessErrorOptions,
  defineBusinessErrors,
  type FailureDetails,
  isBusinessError,
} from './errors/business-error.ts'
export {
  causeCodeOf,
  type ErrorCodeOf,
  type ErrorTable,
  type ErrorText,
  errorCodeOf,
  errorReason,
  errorTable,
  isPlinthError,
  isUnavailable,
  PlinthError,
  type Remedy,
} from './errors/coded-error.ts'
export { makePrivateDirectory, makePrivateFile } from './files/private-files.ts'
export { type ErrorLine, RepeatedFailureLog, type RepeatedFailureTexts, toErrorLine } from './logging/error-line.ts'
export {
  type ChangeSetDeclaration,
  type ConfigView,
  type Declared,
  definePlugin,
  type ImplementedMember,
  implementedMembers,
  type KeysOf,
  type MessageCatalogues,
  type MessageTree,
  originOf,
  type Plugin,
  type PluginContext,
  type PluginDeclaration,
  type Role,
  roles,
} from './plugin.ts'
export {
  instanceName,
  mayProcessBeAlive,
  type NodeEnvironment,
  nodeEnvironmentOf,
  type ProcessIdentity,
  processIdentity,
} from './process/process-identity.ts'
export { defineProduct, isProduct, type PreparedProduct, type Product, type ProductDeclaration } from './product.ts'
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
  unwrapOptional,
} from './refs.ts'
export { pluginTitle } from './text/plugin-texts.ts'
export { fillText, fitTextToColumn, hostAndPort, type TextParams } from './text/text.ts'
export { type Clock, createTickClock, type SleepOptions, systemClock } from './time/clock.ts'
export { Deadlines, withinDeadline } from './time/deadlines.ts'
export { asClass, asFunction, type DependencyResolver, type Resolvers } from './wiring.ts'
