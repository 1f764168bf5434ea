import { routesWith, Type } from '@plinth/http'
import type { Endpoint } from './endpoint.ts'

export const path = '/api/v1/ws'

const { rawRoute } = routesWith<{ readonly endpoint: Endpoint }>()

export const routes = [
  rawRoute({
    method: 'GET',
    path,
    operationId: 'openWebsocket',
    summary: 'Opens the realtime connection (WebSocket)',
    description:
      'Who calls: the session cookie, `Authorization: Bearer`, the sub-protocols `bearer, <token>` or the query parameter `token`; without one a guest, where guests are on. The server sends `{"event":"notification.created"|"notification.read","data":...}`; the client may send `{"type":"subscribe"|"unsubscribe","group":...}` and `{"type":"ping"}`.',
    access: 'public',
    produces: ['application/json'],
    request: {
      query: Type.Object({
        token: Type.Optional(Type.String({ maxLength: 256, description: 'For clients that can set no header.' })),
        locale: Type.Optional(
          Type.String({ maxLength: 64, description: 'Language of texts; else `Accept-Language`.' }),
        ),
      }),
    },
    handler: (request, { endpoint }, reply) => endpoint.open(request, reply),
  }),
]
