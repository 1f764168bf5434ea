import { http } from '@plinth/http'
import { BusinessError, definePlugin } from '@plinth/kernel'

/**
 * Access guard for tests without user accounts. A request passes if its header `x-grants` contains the permission of
 * the route.
 *
 * @example await server.inject({ url: '/api/v1/admin/shop/orders', headers: { 'x-grants': 'shop:order:view' } })
 */
export const headerPermissionGuard = definePlugin({
  id: 'http.named-permissions',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http },
  setup: ({ services }) =>
    services.http.guard({
      name: 'named-permissions',
      stage: 'access',
      forRoute: ({ access }) => {
        if (typeof access === 'string') return undefined
        return ({ headers }) => {
          if (headers['x-grants'] !== access.permission) throw new BusinessError('403', `needs ${access.permission}`)
        }
      },
    }),
})
