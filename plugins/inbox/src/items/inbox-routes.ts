import {
  affectedCount,
  bulkRateLimit,
  bulkResult,
  count,
  type HttpRequest,
  id,
  idParams,
  line,
  listPage,
  listQuery,
  listResponse,
  newestFirst,
  rangeQuery,
  routesWith,
  Type,
} from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { inboxItemView } from '../contract.ts'
import { businessError } from '../declarations.ts'
import type { InboxReader } from './inbox-reader.ts'
import type { ReadState } from './read-state.ts'

interface InboxRouteDependencies {
  readonly reader: InboxReader
  readonly state: ReadState
}

const path = '/api/v1/notifications/inbox'
const maxIds = 200

const ids = Type.Array(id, {
  minItems: 1,
  maxItems: maxIds,
  description: 'Ids of items of the caller. Other ids are ignored.',
})
const newest = Type.Integer({ minimum: 1, description: 'Id of the newest item that the caller has seen.' })
const batch = { body: Type.Object({ ids }) }
const access = 'user'
const callerOf = (request: Pick<HttpRequest, 'principal'>) => requirePrincipal(request).userId

const range = rangeQuery('createdAt', 'id')

const { route } = routesWith<InboxRouteDependencies>()

const reading = [
  route({
    method: 'GET',
    path,
    compress: false,
    summary: 'List your inbox, newest first',
    access,
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...range.properties,
        unreadOnly: Type.Optional(Type.Boolean()),
        category: Type.Optional(
          line(64, {
            minLength: 1,
            description:
              'Code of a category, as in the preferences by channel and category. An unknown category has no messages.',
          }),
        ),
        module: Type.Optional(line(64, { minLength: 1, description: 'Business module, ignoring case.' })),
        keyword: Type.Optional(line(100, { description: 'Part of the subject or content, as stored.' })),
      }),
    },
    response: listPage(inboxItemView),
    reasons: [],
    handler: (request, { reader }) =>
      listResponse(
        request.query,
        newestFirst,
        (window) => reader.list(callerOf(request), request.query, window, request.locale),
        range,
      ),
  }),
  route({
    method: 'GET',
    path: `${path}/unread-count`,
    summary: 'Count the unread items of your inbox',
    access,
    response: Type.Object({
      count,
      capped: Type.Boolean({
        description: 'True if there are more than 1,000 unread items. At most 1,000 are counted.',
      }),
    }),
    reasons: [],
    handler: (request, { reader }) => reader.unreadCount(callerOf(request)),
  }),
]

const single = { access, request: { params: idParams }, response: affectedCount } as const
const many = { access, annotations: [bulkRateLimit], request: batch, response: bulkResult } as const

const changing = [
  route({
    method: 'PUT',
    path: `${path}/:id/read`,
    summary: 'Mark an item of your inbox as read',
    ...single,
    reasons: ['notification-inbox.item-unknown'],
    handler: async (request, { state }) => ({ affected: await state.read(callerOf(request), request.params.id) }),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id/unread`,
    summary: 'Mark an item of your inbox as unread',
    ...single,
    reasons: ['notification-inbox.item-unknown'],
    handler: async (request, { state }) => ({ affected: await state.unread(callerOf(request), request.params.id) }),
  }),
  route({
    method: 'PUT',
    path: `${path}/read-batch`,
    summary: 'Mark items of your inbox as read',
    ...many,
    reasons: [],
    handler: (request, { state }) => state.each(callerOf(request), request.body.ids, 'read'),
  }),
  route({
    method: 'PUT',
    path: `${path}/unread-batch`,
    summary: 'Mark items of your inbox as unread',
    ...many,
    reasons: [],
    handler: (request, { state }) => state.each(callerOf(request), request.body.ids, 'unread'),
  }),
  route({
    method: 'PUT',
    path: `${path}/read-all`,
    summary: 'Mark all items of your inbox as read',
    description:
      'With `before`, newer items stay unread, so that items which the page has not shown yet are not marked.',
    access,
    request: { body: Type.Optional(Type.Object({ before: Type.Optional(newest) })) },
    response: affectedCount,
    reasons: [],
    async handler(request, { state }) {
      return { affected: await state.readAll(callerOf(request), request.body?.before) }
    },
  }),
]

const removing = [
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Delete an item of your inbox',
    ...single,
    reasons: ['notification-inbox.item-unknown'],
    handler: async (request, { state }) => ({ affected: await state.remove(callerOf(request), request.params.id) }),
  }),
  route({
    method: 'DELETE',
    path,
    annotations: [bulkRateLimit],
    summary: 'Delete items of your inbox',
    description: 'Pass the ids in the body or in the query. If both are present, the items of both are deleted.',
    access,
    request: {
      query: Type.Object({
        ids: Type.Optional(
          Type.String({ pattern: '^[1-9]\\d{0,15}(,[1-9]\\d{0,15}){0,199}$', description: 'Ids separated by commas.' }),
        ),
      }),
      body: Type.Object({ ids: Type.Optional(ids) }),
    },
    response: bulkResult,
    reasons: ['notification-inbox.ids-missing'],
    async handler(request, { state }) {
      const { query, body } = request
      // Ids that are too large are removed, because no item can have them.
      const requested = query.ids?.split(',').map(Number) ?? []
      const named = [...(body.ids ?? []), ...requested]
      if (named.length === 0) throw businessError('ids-missing', { data: { field: 'ids' } })
      return state.each(callerOf(request), named.filter(Number.isSafeInteger), 'remove')
    },
  }),
]

/** Routes of a user's own inbox (document 2 of the specification, "Endpoints"). */
export const inboxRoutes = [...reading, ...changing, ...removing]
