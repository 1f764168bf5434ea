import { type Database, findPage } from '@plinth/database'
import {
  filterQuery,
  id,
  idParams,
  instant,
  line,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  nothing,
  rangeQuery,
  routesWith,
  Type,
} from '@plinth/http'
import { idempotent } from '@plinth/idempotency'
import { operatorOf, requirePrincipal } from '../access/access-guard.ts'
import { rowsInScope } from '../access/data-scope.ts'
import { actorOf } from '../accounts/inputs.ts'
import { dataScopeSchema } from '../accounts/views.ts'
import { permissionCodes } from '../declarations.ts'
import {
  apiTokenView,
  createdApiTokenView,
  ownedApiTokenView,
  viewOfApiToken,
  viewOfOwnedApiToken,
} from './api-token-views.ts'
import type { ApiTokens } from './api-tokens.ts'
import { ApiTokenRow } from './entities.ts'

interface ApiTokenRouteDependencies {
  readonly db: Database
  readonly apiTokens: ApiTokens
}

const ownPath = '/api/v1/iam/users/me/api-tokens'
const adminPath = '/api/v1/admin/iam/api-tokens'
const range = rangeQuery('createdAt', 'id')
const filter = filterQuery(ownedApiTokenView, ['userId', 'name', 'dataScope', 'lastUsedAt'])

const { route } = routesWith<ApiTokenRouteDependencies>()

/** Routes for the API tokens of the caller, and of users in the data scope of an administrator. */
export const apiTokenRoutes = [
  route({
    method: 'GET',
    path: ownPath,
    summary: 'List your active API tokens, newest first',
    access: 'user',
    response: Type.Array(apiTokenView),
    reasons: [],
    handler: async (request, { apiTokens }) =>
      (await apiTokens.list(requirePrincipal(request).userId)).map(viewOfApiToken(apiTokens)),
  }),
  route({
    method: 'POST',
    path: ownPath,
    compress: false,
    summary: 'Create an API token; only this response contains it',
    description:
      'You can only choose permissions and a data scope that you have. Without permissions, the token can only read your account. The name says where the token is used.',
    access: 'user',
    fresh: '5m',
    annotations: [idempotent],
    request: {
      body: Type.Object({
        name: line(100, { minLength: 1 }),
        expiresAt: Type.String({
          ...instant,
          description: 'End of the token, at most `platform.iam.api-token.max-lifetime` from now.',
        }),
        dataScope: Type.Optional(dataScopeSchema),
        permissions: Type.Optional(
          Type.Array(Type.String({ maxLength: 128, pattern: '^[a-z0-9:._-]+$' }), {
            maxItems: 500,
            uniqueItems: true,
          }),
        ),
      }),
    },
    response: createdApiTokenView,
    reasons: [
      'iam.api-token-end-invalid',
      'iam.api-token-limit',
      'iam.beyond-own-authority',
      'iam.permission-unknown',
      'iam.proof-required',
      'iam.user-unknown',
    ],
    async handler(request, { apiTokens }, reply) {
      const { name, expiresAt, dataScope = 'self', permissions = [] } = request.body
      // An API token works without the second factor of its owner.
      await requirePrincipal(request).assertFresh('5m', { strongest: true })
      const content = { name, expiresAt: new Date(expiresAt), dataScope, permissions }
      const { row, token } = await apiTokens.create(content, operatorOf(request))
      reply.header('cache-control', 'no-store')
      return { ...viewOfApiToken(apiTokens)(row), token }
    },
  }),
  route({
    method: 'DELETE',
    path: `${ownPath}/:id`,
    summary: 'Revoke one of your API tokens',
    access: 'user',
    request: { params: idParams },
    response: nothing,
    reasons: ['iam.api-token-unknown'],
    async handler(request, { apiTokens }) {
      await apiTokens.revoke(request.params.id, actorOf(request), requirePrincipal(request).userId)
      return null
    },
  }),
  route({
    method: 'GET',
    path: adminPath,
    summary: 'List active API tokens of users, newest first',
    access: { permission: permissionCodes.apiTokenView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...filter.properties,
        ...range.properties,
        userId: Type.Optional(id),
      }),
    },
    response: listPage(ownedApiTokenView),
    reasons: [],
    handler(request, { db, apiTokens }) {
      const { query } = request
      const own = query.userId === undefined ? {} : { userId: query.userId }
      const scope = rowsInScope(requirePrincipal(request), 'user_id')
      const where = { $and: [own, scope, apiTokens.activeCondition()] }
      return listResponse(
        query,
        newestFirst,
        async (window) =>
          mapListRows(await findPage(db.fork(), ApiTokenRow, where, window), viewOfOwnedApiToken(apiTokens)),
        range,
        filter,
      )
    },
  }),
  route({
    method: 'DELETE',
    path: `${adminPath}/:id`,
    summary: 'Revoke an API token of a user',
    access: { permission: permissionCodes.apiTokenRevoke, scope: 'caller' },
    request: { params: idParams },
    response: nothing,
    reasons: ['iam.api-token-unknown', 'iam.beyond-own-authority'],
    async handler(request, { apiTokens }) {
      await apiTokens.revoke(request.params.id, actorOf(request))
      return null
    },
  }),
]
