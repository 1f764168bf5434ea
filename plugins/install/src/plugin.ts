import { definePlugin } from '@plinth/kernel'
import { AdministratorCreation } from './administrator.ts'
import { Announcements } from './announcements.ts'
import { createCallerReader } from './caller.ts'
import { keys } from './config.ts'
import { Configuration } from './configuration.ts'
import { entities } from './entities.ts'
import { EntryCheck } from './entry-check.ts'
import { addEntryRoutes } from './entry-routes.ts'
import { EntryService } from './entry-service.ts'
import { Execution } from './execution.ts'
import { FailedAttempts } from './failed-attempts.ts'
import { installFiles } from './files.ts'
import { runningValues } from './form.ts'
import { installToken } from './install-token.ts'
import { Journal } from './journal.ts'
import { InstallLock } from './lock.ts'
import { Migration } from './migration.ts'
import { changeSets } from './migrations/index.ts'
import { NoteFile } from './note-file.ts'
import { permissions } from './permissions.ts'
import { Preflight } from './preflight-run.ts'
import { requires } from './requires.ts'
import { RestartNote } from './restart-note.ts'
import { RunLock } from './run-lock.ts'
import { Sessions } from './sessions.ts'
import { InstallState } from './state.ts'
import { Status } from './status.ts'
import { StepOverview } from './step-overview.ts'
import { tasks } from './tasks.ts'
import { createSay, messages } from './texts.ts'

/** Installs a product: in a browser, or by a command (document 3). */
export default definePlugin({
  id: 'install',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires,
  config: keys,
  permissions,
  migrations: changeSets,
  entities,
  messages,
  installTasks: tasks,
  setup({ plugin, services, config, clock, log, root, onReady, onDrain }) {
    const { kernel, database, http, accounts, passwords, configCentre, events } = services
    const isProduction = process.env['NODE_ENV'] === 'production'
    const say = createSay(services.i18n)
    const files = installFiles(config, kernel, root)
    const running = runningValues(kernel)
    const allowLite = () => config.get('platform.install.allow-lite')
    const draining = new AbortController()

    const state = new InstallState({
      ...{ plugin: plugin.id, configCentre, database, clock, log },
      marker: new NoteFile(files.marker),
    })
    const entry = new EntryCheck({
      ...{ config, state, clock },
      token: installToken(config, kernel, { isProduction }),
      failures: new FailedAttempts(clock),
    })
    const isOpen = async () => entry.closedToAll(await state.read()) === undefined
    const status = new Status({ config, state, entry, clock })
    const journal = new Journal({ database, clock, log, file: files.executionLog })
    const sessions = new Sessions({ database, clock, log })
    const migration = new Migration({ database, kernel })
    const configuration = new Configuration({
      ...{ kernel, database, configCentre, passwords, files, running, allowLite, say },
    })
    const preflight = new Preflight({
      ...{ kernel, database, files, running, clock, say },
      storage: services.storage,
      cacheTime: undefined,
      policy: {
        isProduction,
        requireHttps: config.get('platform.install.require-https'),
        allowLite: allowLite(),
      },
    })
    const administrator = new AdministratorCreation(accounts)
    const lock = new InstallLock(state)
    const steps = new StepOverview({ kernel, accounts, journal, migration, state, say })
    const execution = new Execution({
      ...{ kernel, database, configuration, preflight, migration, administrator, lock, state, journal, sessions },
      ...{ isOpen, say, clock, log },
      runLock: new RunLock({ database, clock, log }),
      announcements: new Announcements({ events, clock, log }),
      restartNote: new RestartNote(new NoteFile(files.restartNote)),
    })
    const service = new EntryService({
      ...{ configuration, preflight, migration, administrator, lock, execution, state, status, journal, steps },
      ...{ running, isOpen, say },
      redact: (text) => kernel.config.redact(text),
      signal: draining.signal,
    })
    const callerOf = createCallerReader(http.clientIpRules)
    addEntryRoutes({ http, plugin: plugin.id, kernel, callerOf, entry, service, status, say })

    onReady(() => state.repair())
    onDrain(() => draining.abort(new Error('the product stops')))
  },
})
