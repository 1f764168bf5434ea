import type { Clock, Logger, Makers, ServicesOf } from '@plinth/kernel'
import { AdminService } from './admin/admin-service.ts'
import type { InstallConfig } from './config.ts'
import { EntryGate } from './entry/entry-gate.ts'
import { EntryPolicy } from './entry/entry-policy.ts'
import { FailedAttempts } from './entry/failed-attempts.ts'
import { type InstallToken, installToken } from './entry/install-token.ts'
import { namedProxies } from './entry/named-proxies.ts'
import { type NodeEnvironment, nodeEnvironmentOf } from './entry/node-environment.ts'
import { AdministratorCreation } from './execution/administrator.ts'
import { Announcements } from './execution/announcements.ts'
import { Execution } from './execution/execution.ts'
import { Migration } from './execution/migration.ts'
import { RestartNote } from './execution/restart-note.ts'
import { SingleRun } from './execution/single-run.ts'
import { StepOverview } from './execution/step-overview.ts'
import { StepRunner } from './execution/step-runner.ts'
import { InstallSteps } from './execution/steps.ts'
import { type InstallFiles, installFiles } from './files.ts'
import { type Running, runningValues } from './form/form-values.ts'
import { ProductPages } from './pages/product-pages.ts'
import { Preflight } from './preflight/preflight-run.ts'
import { InstallAuditTrail } from './records/audit-trail.ts'
import { Journal } from './records/journal.ts'
import { Sessions } from './records/sessions.ts'
import type { requires } from './requires.ts'
import { ConnectionProbes } from './settings/connection-probes.ts'
import { ConnectionTrial } from './settings/connection-trial.ts'
import { SettingsWriter } from './settings/settings-writer.ts'
import { FallbackWatch } from './state/fallback-watch.ts'
import { InstallState } from './state/install-state.ts'
import { createSay, type Say } from './texts.ts'
import { InstallStatus } from './wizard/install-status.ts'
import { WizardService } from './wizard/wizard-service.ts'

/** What the product gives to the plugin. */
interface Given extends ServicesOf<typeof requires> {
  /** Id of the plugin. */
  readonly plugin: string
  readonly config: InstallConfig
  readonly clock: Clock
  readonly log: Logger
  /** Masks secrets by value. */
  readonly redact: (text: string, more?: Iterable<unknown>) => string
  /** Directory of the product. */
  readonly root: string
  /** Aborts when the product stops. */
  readonly signal: AbortSignal
}

/** Everything that the parts of the plugin may be made of, by name; each names what it needs by `Pick`. */
export interface Parts extends Given {
  readonly nodeEnvironment: NodeEnvironment
  readonly say: Say
  readonly files: InstallFiles
  readonly running: Running
  readonly token: InstallToken
  readonly failures: FailedAttempts
  /** Whether an operator has named the trusted proxies, and the address is one of them. */
  readonly isNamedProxy: (peer: string) => boolean
  readonly state: InstallState
  readonly entry: EntryPolicy
  readonly gate: EntryGate
  readonly productPages: ProductPages
  readonly status: InstallStatus
  readonly journal: Journal
  readonly sessions: Sessions
  readonly audit: InstallAuditTrail
  readonly migration: Migration
  readonly administrator: AdministratorCreation
  readonly restartNote: RestartNote
  readonly singleRun: SingleRun
  readonly announcements: Announcements
  readonly trial: ConnectionTrial
  readonly probes: ConnectionProbes
  readonly settings: SettingsWriter
  readonly preflight: Preflight
  readonly fallback: FallbackWatch
  readonly steps: InstallSteps
  readonly stepOverview: StepOverview
  readonly runner: StepRunner
  readonly execution: Execution
  readonly wizard: WizardService
  readonly admin: AdminService
}

/** How each part is made that is not given. */
export const makers: Makers<Parts, Given> = {
  nodeEnvironment: () => nodeEnvironmentOf(process.env['NODE_ENV']),
  say: ({ i18n }) => createSay(i18n),
  files: ({ config, configAdmin, root }) => installFiles(config, configAdmin, root),
  running: ({ configAdmin, databaseSecret, redisSecret }) =>
    runningValues(configAdmin, {
      'platform.database.password': databaseSecret,
      'platform.cache.password': redisSecret,
    }),
  token: ({ config, configAdmin, nodeEnvironment }) => installToken(config, configAdmin, nodeEnvironment),
  failures: ({ clock }) => new FailedAttempts(clock),
  isNamedProxy: ({ http, configAdmin }) => namedProxies(http.clientIpRules, configAdmin),
  state: InstallState,
  entry: EntryPolicy,
  gate: EntryGate,
  productPages: ProductPages,
  status: InstallStatus,
  journal: Journal,
  sessions: Sessions,
  audit: InstallAuditTrail,
  migration: Migration,
  administrator: AdministratorCreation,
  restartNote: RestartNote,
  singleRun: SingleRun,
  announcements: Announcements,
  trial: ConnectionTrial,
  probes: ConnectionProbes,
  settings: SettingsWriter,
  preflight: Preflight,
  fallback: FallbackWatch,
  steps: InstallSteps,
  stepOverview: StepOverview,
  runner: StepRunner,
  execution: Execution,
  wizard: WizardService,
  admin: AdminService,
}
