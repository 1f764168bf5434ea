import { backOffice, labelSources } from '@plinth/admin'
import type { WithDatabase } from '@plinth/database'
import { InstallCompletedEvent, InstallExecutionFailedEvent } from '@plinth/events'
import { definePlugin, healthCheck, optional, personalData } from '@plinth/kernel'
import { startSummary } from '@plinth/kernel/host'
import { adminRoutes } from './admin/admin-routes.ts'
import { needsAttention, pages } from './admin-pages.ts'
import { installCommand, installer } from './command/install-command.ts'
import { keys } from './config.ts'
import { installAudit, installPath } from './contract.ts'
import { permissions } from './declarations.ts'
import { commandCaller } from './entry/caller.ts'
import { crossSiteGuard } from './entry/entry-gate.ts'
import { tasks } from './execution/plugin-tasks.ts'
import { runLabels, stepLabels } from './label-sources.ts'
import { createInstall } from './migrations/0001-create-install.ts'
import { pageRoutes, redirectUntilInstalled } from './pages/page-routes.ts'
import { assertProductPath } from './pages/product-pages.ts'
import { type Parts, resolvers } from './parts.ts'
import { entities, installTables } from './records/entities.ts'
import { requires } from './requires.ts'
import { fallbackValuesForStart } from './state/fallback.ts'
import { isInstalled } from './state/install-state.ts'
import { businessError, messages } from './texts.ts'
import { wizardRoutes } from './wizard/wizard-routes.ts'

/** Installs a product in a browser or with a command (document 3 of the specification). */
export default definePlugin({
  id: 'install',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  implements: ['installTasks'],
  requires,
  provides: [installAudit, installer],
  contributes: [
    healthCheck,
    personalData.of(({ database }: WithDatabase) => ({ install: installTables(database) })),
    startSummary,
    ...backOffice({ pages, attention: needsAttention }),
    optional(labelSources),
  ],
  config: keys,
  settingsFileKey: 'platform.install.config-file',
  configGroups: { install: { en: 'Installation', 'zh-CN': '安装' }, view: { en: 'Start page', 'zh-CN': '入口页面' } },
  permissions,
  migrations: [createInstall],
  entities,
  messages,
  installTasks: tasks,
  commands: [installCommand],
  fallbackStart: fallbackValuesForStart,
  setup({
    plugin,
    services,
    config,
    clock: hostClock,
    log,
    redact,
    root,
    roles,
    wire,
    provide,
    contribute,
    onReady,
    onStop,
  }) {
    const stopping = new AbortController()
    const { clock } = services.database
    const given = {
      ...services,
      plugin: plugin.id,
      config,
      clock,
      hostClock,
      log,
      redact,
      root,
      signal: stopping.signal,
    }
    const parts = wire<Parts>()(given, resolvers)
    services.events.declarePublished(InstallCompletedEvent, InstallExecutionFailedEvent)
    const { state, entry, execution, wizard, fallback, settingsFileWatch, translate } = parts
    contribute(healthCheck, 'install', async () => {
      if (fallback.problem !== undefined) throw fallback.problem
      await state.assertNotLost()
    })
    contribute(startSummary, 'install', async () => {
      const { url } = services.http
      if (url === undefined || !entry.isEnabled || isInstalled(await state.read())) return []
      return [{ label: 'Installer', place: `${url}${installPath}`, page: 'next' }]
    })
    const closedBecause = async () => state.closedBecause(await state.read())
    provide(installAudit, parts.audit)
    provide(installer, {
      stepCount: parts.steps.all.length,
      defaults: () => wizard.defaults(commandCaller('en')),
      closedBecause,
      install: (form, options) =>
        execution.execute({
          ...options,
          form,
          retriedSessionId: '',
          isOpen: async () => (await closedBecause()) === undefined,
        }),
    })

    for (const key of ['platform.view.root.target', 'platform.install.root-route.target'] as const) {
      config.onVerify(key, assertProductPath)
    }
    const { http } = services
    http.guard(crossSiteGuard(plugin.id))
    http.addRoutes(wizardRoutes, parts)
    contribute(labelSources, 'install.step', stepLabels(parts))
    contribute(labelSources, 'install.session', runLabels(services))
    http.addRoutes(adminRoutes, parts)
    http.addRoutes(pageRoutes(config), parts)
    if (config.get('platform.install.access-protection-enabled') && entry.isEnabled) {
      const takesRoot = config.get('platform.view.root.enabled') && config.get('platform.install.root-route.enabled')
      http.everyRequest(redirectUntilInstalled({ state, takesRoot, translate }))
    }
    if (!roles.has('web') && !roles.has('worker')) return
    onReady(async () => {
      void fallback.run(stopping.signal)
      void settingsFileWatch.run(stopping.signal)
      await state.repair()
      await execution.finishInterrupted()
      await warnOfSurroundings(parts)
    })
    // The signal aborts when the product stops and not when it begins to drain, so that a running installation can
    // finish.
    onStop(() => stopping.abort(new Error('the product stops')))
  },
})

/** Logs warnings about `NODE_ENV` and about an installer that is closed by its token. */
async function warnOfSurroundings({ nodeEnvironment, token, entry, state, log }: Parts): Promise<void> {
  const { unknown } = nodeEnvironment
  if (unknown !== undefined) {
    log.warn({ NODE_ENV: unknown }, 'NODE_ENV is neither development nor production, so it is treated as production')
  }
  if (token.closedBecause === undefined || !entry.isEnabled || isInstalled(await state.read())) return
  log.error(
    { token: token.closedBecause },
    'the installer stays locked: in production, PLATFORM_INSTALL_TOKEN must contain an install token of at least 32 characters, 12 of them different',
  )
}
