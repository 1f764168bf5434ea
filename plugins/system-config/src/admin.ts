import { http } from '@plinth/http'
import { definePlugin } from '@plinth/kernel'
import { configCentre } from './contract.ts'
import { messages } from './failures.ts'
import { permissionDeclarations } from './permissions.ts'
import { routes } from './routes.ts'

/** The configuration centre over HTTP, for the back office. */
export default definePlugin({
  id: 'system-config.admin',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http, configCentre },
  permissions: permissionDeclarations,
  messages,
  setup: ({ services }) => services.http.addRoutes(routes, { centre: services.configCentre }),
})
