import { asClass, asFunction, type NodeEnvironment, type Resolvers } from '@plinth/kernel'
import { nodeEnvironmentOf } from '@plinth/kernel/host'
import { AdminService } from './admin/admin-service.ts'
import { EntryGate } from './entry/entry-gate.ts'
import { EntryPolicy, namedProxies } from './entry/entry-policy.ts'
import { FailedAttempts, type InstallToken, installToken } from './entry/install-token.ts'
import { InstallEvents } from './execution/announcements.ts'
import { Execution } from './execution/execution.ts'
import { SingleInstallationLock } from './execution/single-run.ts'
import { StepOverview } from './execution/step-overview.ts'
import { StepRunner } from './execution/step-runner.ts'
import { AdministratorCreation, Migration } from './execution/step-work.ts'
import { InstallSteps } from './execution/steps.ts'
import { type InstallFiles, installFiles } from './files.ts'
import { createConfiguredValueReader, type ReadConfiguredValue } from './form/form-values.ts'
import { ProductPages } from './pages/product-pages.ts'
import { Preflight } from './preflight/preflight-run.ts'
import { InstallAuditTrail } from './records/audit-trail.ts'
import { StepRecordLog } from './records/journal.ts'
import { Sessions } from './records/sessions.ts'
import type { InstallServices } from './requires.ts'
import { ConnectionProbes, NewConnectionTrial } from './settings/connection-probes.ts'
import { SettingsWriter } from './settings/settings-writer.ts'
import { FallbackDatabaseWatch } from './state/fallback.ts'
import { InstallState } from './state/install-state.ts'
import { RestartRequestFile } from './state/restart-note.ts'
import { SettingsFileWatch } from './state/settings-file-watch.ts'
import { createTranslate, type Translate } from './texts.ts'
import { InstallStatus } from './wizard/install-status.ts'
import { WizardService } from './wizard/wizard-service.ts'

export interface Parts extends InstallServices {
  readonly nodeEnvironment: NodeEnvironment
  readonly translate: Translate
  readonly files: InstallFiles
  readonly running: ReadConfiguredValue
  readonly token: InstallToken
  readonly failures: FailedAttempts
  /** Returns whether the address is a proxy that an operator has configured as trusted. */
  readonly isNamedProxy: (peer: string) => boolean
  readonly state: InstallState
  readonly entry: EntryPolicy
  readonly gate: EntryGate
  readonly productPages: ProductPages
  readonly status: InstallStatus
  readonly journal: StepRecordLog
  readonly sessions: Sessions
  readonly audit: InstallAuditTrail
  readonly migration: Migration
  readonly administrator: AdministratorCreation
  readonly restartNote: RestartRequestFile
  readonly singleRun: SingleInstallationLock
  readonly announcements: InstallEvents
  readonly trial: NewConnectionTrial
  readonly probes: ConnectionProbes
  readonly settings: SettingsWriter
  readonly preflight: Preflight
  readonly fallback: FallbackDatabaseWatch
  readonly settingsFileWatch: SettingsFileWatch
  readonly steps: InstallSteps
  readonly stepOverview: StepOverview
  readonly runner: StepRunner
  readonly execution: Execution
  readonly wizard: WizardService
  readonly admin: AdminService
}

export const resolvers: Resolvers<Parts, InstallServices> = {
  nodeEnvironment: asFunction(() => nodeEnvironmentOf(process.env['NODE_ENV'])),
  translate: asFunction(({ i18n }) => createTranslate(i18n)),
  files: asFunction(({ config, configAdmin, root, kernel }) =>
    installFiles(config, configAdmin, root, kernel.settingsFile),
  ),
  running: asFunction(({ configAdmin, databaseSecret, redisSecret }) =>
    createConfiguredValueReader(configAdmin, {
      'platform.database.password': databaseSecret,
      'platform.cache.password': redisSecret,
    }),
  ),
  token: asFunction(({ config, configAdmin, nodeEnvironment }) => installToken(config, configAdmin, nodeEnvironment)),
  failures: asFunction(({ clock }) => new FailedAttempts(clock)),
  isNamedProxy: asFunction(({ http, configAdmin }) => namedProxies(http.clientIpRules, configAdmin)),
  state: asClass(InstallState),
  entry: asClass(EntryPolicy),
  gate: asClass(EntryGate),
  productPages: asClass(ProductPages),
  status: asClass(InstallStatus),
  journal: asClass(StepRecordLog),
  sessions: asClass(Sessions),
  audit: asClass(InstallAuditTrail),
  migration: asClass(Migration),
  administrator: asClass(AdministratorCreation),
  restartNote: asClass(RestartRequestFile),
  singleRun: asClass(SingleInstallationLock),
  announcements: asClass(InstallEvents),
  trial: asClass(NewConnectionTrial),
  probes: asClass(ConnectionProbes),
  settings: asClass(SettingsWriter),
  preflight: asClass(Preflight),
  fallback: asClass(FallbackDatabaseWatch),
  settingsFileWatch: asClass(SettingsFileWatch),
  steps: asClass(InstallSteps),
  stepOverview: asClass(StepOverview),
  runner: asClass(StepRunner),
  execution: asClass(Execution),
  wizard: asClass(WizardService),
  admin: asClass(AdminService),
}
