import { http } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import { configCentre } from './contract.ts'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { permissionDeclarations } from './permissions.ts'
import { addRoutes } from './routes.ts'

/** The configuration centre over HTTP, for the back office. */
export default definePlugin({
  id: 'system-config.admin',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http, configCentre },
  permissions: permissionDeclarations,
  messages: { en, 'zh-CN': zhCN },
  setup({ plugin, services }) {
    addRoutes(services.http, plugin.id, services.configCentre)
  },
})
