import { backOffice } from '@plinth/admin'
import { http } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import { needsAttention, pages } from './admin-pages.ts'
import { configCentre } from './contract.ts'
import { messages, permissionDeclarations } from './declarations.ts'
import { routes } from './routes.ts'

export default definePlugin({
  id: 'system-config.admin',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http, configCentre },
  contributes: backOffice({ pages, attention: needsAttention }),
  permissions: permissionDeclarations,
  messages,
  setup({ services }) {
    services.http.addRoutes(routes, { centre: services.configCentre })
  },
})
