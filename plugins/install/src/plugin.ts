import { definePlugin, healthCheck, installAudit } from '@plinth/kernel'
import { accessProtection } from './access-protection.ts'
import { addAdminRoutes } from './admin-routes.ts'
import { AdminService } from './admin-service.ts'
import { AdministratorCreation } from './administrator.ts'
import { Announcements } from './announcements.ts'
import { AuditTrail } from './audit.ts'
import { commandCaller } from './caller.ts'
import { keys } from './config.ts'
import { Configuration } from './configuration.ts'
import { ConnectionProbes } from './connection-probes.ts'
import { ConnectionTrial } from './connection-trial.ts'
import { crossSiteGuard } from './cross-site.ts'
import { entities } from './entities.ts'
import { EntryCheck } from './entry-check.ts'
import { EntryDoor } from './entry-door.ts'
import { addEntryRoutes } from './entry-routes.ts'
import { EntryService } from './entry-service.ts'
import { Execution } from './execution.ts'
import { ExecutionSteps } from './execution-steps.ts'
import { FailedAttempts } from './failed-attempts.ts'
import { installFiles } from './files.ts'
import { runningValues } from './form.ts'
import { installCommand } from './install-command.ts'
import { installToken } from './install-token.ts'
import { installer } from './installer.ts'
import { Journal } from './journal.ts'
import { InstallLock } from './lock.ts'
import { Migration } from './migration.ts'
import { changeSets } from './migrations/index.ts'
import { namedProxies } from './named-proxies.ts'
import { NoteFile } from './note-file.ts'
import { addPageRoutes } from './page-routes.ts'
import { permissions } from './permissions.ts'
import { Preflight } from './preflight-run.ts'
import { ProductEntries } from './product-entries.ts'
import { surroundingsOf } from './production.ts'
import { requires } from './requires.ts'
import { RestartNote } from './restart-note.ts'
import { RunLock } from './run-lock.ts'
import { Sessions } from './sessions.ts'
import { InstallState, installedKey } from './state.ts'
import { Status } from './status.ts'
import { StepOverview } from './step-overview.ts'
import { tasks } from './tasks.ts'
import { createSay, messages } from './texts.ts'

/** Installs a product: in a browser, or by a command (document 3). */
export default definePlugin({
  id: 'install',
  version: '1.0.0',
  kernel: '^1.0.0',
  carriesOut: ['installTasks'],
  requires,
  provides: [installAudit, installer],
  contributes: [healthCheck],
  config: keys,
  permissions,
  migrations: changeSets,
  entities,
  messages,
  installTasks: tasks,
  commands: [installCommand],
  setup({ plugin, services, config, clock, log, redact, root, roles, provide, contribute, onReady, onStop }) {
    const { kernel, configAdmin, declaredTasks: declared, database, http, accounts, passwords } = services
    const { configCentre, events, site } = services
    const { isProduction, unknown: unknownSurroundings } = surroundingsOf(process.env['NODE_ENV'])
    const say = createSay(services.i18n)
    const files = installFiles(config, configAdmin, root)
    const running = runningValues(configAdmin, {
      'platform.database.password': services.databaseSecret,
      'platform.cache.password': services.redisSecret,
    })
    const allowLite = () => config.get('platform.install.allow-lite')
    const stopping = new AbortController()

    const state = new InstallState({
      ...{ plugin: plugin.id, configCentre, database, clock, log },
      marker: new NoteFile(files.marker),
      markerFile: files.marker,
    })
    contribute(healthCheck, 'install', () => state.assertNotLost())
    const token = installToken(config, configAdmin, { isProduction })
    const entry = new EntryCheck({
      ...{ config, state, clock, token, site },
      failures: new FailedAttempts(clock),
      networkOf: (address) => http.networkOf(address),
      isNamedProxy: namedProxies(http.clientIpRules, configAdmin),
    })
    const isOpen = async () => entry.closedToAll(await state.read()) === undefined
    const entries = new ProductEntries({ http, config })
    const status = new Status({ config, state, entry, entries, clock })
    const journal = new Journal({ database, clock, log, file: files.executionLog })
    const sessions = new Sessions({ database, clock, log })
    const migration = new Migration({ database, redact })
    const trial = new ConnectionTrial({ root, patienceMs: () => config.get('platform.install.connection-trial') })
    const configuration = new Configuration({
      ...{ kernel, configAdmin, configCentre, passwords, files, running, allowLite, state, trial, say },
      probes: new ConnectionProbes({ database, redis: services.redis, clock, log }),
    })
    const preflight = new Preflight({
      ...{ kernel, database, files, running, clock, say },
      storage: services.storage,
      redis: services.redis,
      policy: {
        isProduction,
        requireHttps: config.get('platform.install.require-https'),
        allowLite: allowLite(),
      },
    })
    const administrator = new AdministratorCreation(accounts)
    const lock = new InstallLock(state)
    const audit = new AuditTrail({ database, redact, clock, log })
    const stepOverview = new StepOverview({ declared, accounts, journal, migration, state, say })
    const executionSteps = new ExecutionSteps({
      ...{ declared, configuration, preflight, migration, administrator, lock, state, journal, sessions, say, log },
      trial,
      restartNote: new RestartNote(new NoteFile(files.restartNote)),
    })
    const execution = new Execution({
      ...{ redact, journal, sessions, audit, say, log },
      steps: executionSteps,
      runLock: new RunLock({ database, clock, log }),
      announcements: new Announcements({ events, clock, log }),
    })
    const entryService = new EntryService({
      ...{ configuration, preflight, migration, administrator, lock, execution, state, status, journal, audit },
      ...{ stepOverview, running, isOpen, redact, say },
      signal: stopping.signal,
    })
    const adminService = new AdminService({
      ...{ kernel, config, state, status, stepOverview, preflight, sessions, journal, audit, administrator },
      ...{ entryService, say },
    })
    provide(installAudit, audit)
    provide(installer, {
      stepCount: execution.stepCount,
      defaults: () => entryService.defaults(commandCaller('en')),
      closedBecause: () => entry.closedByState(),
      install: (form, options) =>
        execution.execute({
          ...{ ...options, form, retriedSessionId: '' },
          isOpen: async () => (await entry.closedByState()) === undefined,
        }),
    })

    const { id } = plugin
    const door = new EntryDoor({ entry, audit, clock })
    http.guard(crossSiteGuard(id))
    addEntryRoutes({ http, plugin: id, kernel, door, entry, service: entryService, status, say })
    addAdminRoutes({ http, plugin: id, service: adminService, redact, today: () => site.dayOf(new Date(clock.now())) })
    addPageRoutes({ http, plugin: id, site, config, state, status, page: services.page, say })
    if (config.get('platform.install.access-protection-enabled') && entry.isEnabled) {
      let isInstalled = config.get(installedKey)
      config.onChange(installedKey, (value) => {
        isInstalled = value
      })
      const takesRoot = config.get('platform.view.root.enabled') && config.get('platform.install.root-route.enabled')
      http.everyRequest(accessProtection({ isInstalled: () => isInstalled, takesRoot, say }))
    }
    if (!roles.has('web') && !roles.has('worker')) return
    onReady(async () => {
      if (unknownSurroundings !== undefined) {
        log.warn(
          { NODE_ENV: unknownSurroundings },
          'NODE_ENV is neither development nor production: it counts as production',
        )
      }
      await state.repair()
      await execution.finishInterrupted(async () => (await state.read()).name === 'installed')
      const { closedBecause } = token
      if (closedBecause === undefined || !entry.isEnabled || (await state.read()).name !== 'not-installed') return
      log.error(
        { token: closedBecause },
        'the installation stays closed: in production an install token must come from PLATFORM_INSTALL_TOKEN, with 32 characters or more, 12 of them different',
      )
    })
    // Not at the drain: requests that run an installation have until its end.
    onStop(() => stopping.abort(new Error('the product stops')))
  },
})
