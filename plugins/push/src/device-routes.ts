import { id, line, rateLimited, routesWith, Type } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import type { Devices } from './devices.ts'
import type { Vapid } from './web-push/vapid.ts'

const root = '/api/v1/push'
/** Pages and apps register at each start. */
const registrationLimit = rateLimited({ maxAttempts: 30, windowSeconds: 60, keyStrategy: 'USER_ROUTE' })

const label = Type.Optional(line(100, { minLength: 1, description: 'Name of the device, such as "Firefox on Linux".' }))
const registered = Type.Object({ id })
const keyUnusable = 'push.secret-key-unusable'

const { route } = routesWith<{ readonly devices: Devices; readonly vapid: Vapid }>()

/** Routes with which browsers and apps of the caller subscribe. */
export const deviceRoutes = [
  route({
    method: 'GET',
    path: `${root}/web-push/public-key`,
    summary: 'Get the public key for push subscriptions of browsers',
    description: 'Value of `applicationServerKey`. It does not change while the secret key of the product stays.',
    access: 'user',
    response: Type.Object({ publicKey: Type.String() }),
    reasons: [],
    handler: async (_request, { vapid }) => ({ publicKey: await vapid.publicKey() }),
  }),
  route({
    method: 'POST',
    path: `${root}/devices/web-push`,
    summary: 'Register the push subscription of a browser',
    description:
      'Send the subscription at each start of the page. The same endpoint is one device. If another user registered it, it moves to the caller.',
    access: 'user',
    annotations: [registrationLimit],
    request: {
      body: Type.Object({
        endpoint: Type.String({ minLength: 1, maxLength: 2_048, description: 'Address at the push service.' }),
        keys: Type.Object({
          p256dh: Type.String({ pattern: '^B[A-Za-z0-9_-]{86}$', description: 'Point of P-256 in base64url.' }),
          auth: Type.String({ pattern: '^[A-Za-z0-9_-]{22}$', description: '16 bytes in base64url.' }),
        }),
        label,
      }),
    },
    response: registered,
    reasons: ['push.endpoint-rejected', 'push.key-invalid', keyUnusable],
    async handler(request, { devices }) {
      const { endpoint, keys, label = null } = request.body
      const { userId } = requirePrincipal(request)
      return { id: await devices.register(userId, { channel: 'web-push', endpoint, ...keys }, label) }
    },
  }),
  route({
    method: 'POST',
    path: `${root}/devices/fcm`,
    summary: 'Register an app with its registration token of Firebase',
    description: 'Send the token at each start of the app. If another user registered it, it moves to the caller.',
    access: 'user',
    annotations: [registrationLimit],
    request: {
      body: Type.Object({ token: Type.String({ pattern: '^[\\x21-\\x7e]{1,4096}$', maxLength: 4_096 }), label }),
    },
    response: registered,
    reasons: [keyUnusable],
    async handler(request, { devices }) {
      const { token, label = null } = request.body
      return { id: await devices.register(requirePrincipal(request).userId, { channel: 'fcm', token }, label) }
    },
  }),
]
