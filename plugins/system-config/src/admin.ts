import { adminPages, attention } from '@plinth/admin'
import { http } from '@plinth/http'
import { definePlugin, optional } from '@plinth/kernel'
import { needsAttention, pages } from './admin-pages.ts'
import { configCentre } from './contract.ts'
import { messages, permissionDeclarations } from './declarations.ts'
import { routes } from './routes.ts'

export default definePlugin({
  id: 'system-config.admin',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http, configCentre },
  contributes: [optional(adminPages), optional(attention)],
  permissions: permissionDeclarations,
  messages,
  setup({ services, contribute }) {
    for (const page of pages) contribute(adminPages, page.id, page)
    for (const one of needsAttention) contribute(attention, one.id, one)
    services.http.addRoutes(routes, { centre: services.configCentre })
  },
})
