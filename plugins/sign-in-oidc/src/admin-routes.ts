import { type Database, findPage, type PageWindow } from '@plinth/database'
import {
  count,
  filterQuery,
  id,
  idParams,
  instant,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  nothing,
  nullable,
  rangeQuery,
  routesWith,
  Type,
  text,
} from '@plinth/http'
import { type Accounts, callerRows, sessionOnly } from '@plinth/iam'
import { businessError, permissionCodes } from './declarations.ts'
import { IdentityRow } from './entities.ts'
import type { ClaimGrants } from './grants.ts'
import type { LinkedIdentities } from './linked-identities.ts'
import { type ClaimPreview, previewOf } from './preview.ts'
import { type ProviderClients, reasonOf } from './provider-clients.ts'
import type { Provider, Providers } from './providers.ts'
import { actorOfOperator, viewOfIdentity } from './sign-in-routes.ts'

export interface AdminRouteDependencies {
  readonly db: Database
  readonly providers: Providers
  readonly clients: ProviderClients
  readonly grants: ClaimGrants
  readonly linked: LinkedIdentities
  readonly accounts: Pick<Accounts, 'findByExternal'>
}

const root = '/api/v1/admin/oidc'
const identityView = Type.Object({
  id,
  userId: id,
  provider: nullable(text),
  title: text,
  issuer: text,
  subjectShown: text,
  createdAt: instant,
  lastSignInAt: nullable(instant),
  roleIds: Type.Array(id, { description: 'Roles that rules have granted.' }),
})
const identityFilter = filterQuery(identityView, ['userId', 'createdAt', 'lastSignInAt'])

const { route } = routesWith<AdminRouteDependencies>()
const range = rangeQuery('createdAt', 'id')

const providerParams = Type.Object({ id: Type.String({ maxLength: 32 }) })
const status = Type.Enum(['ready', 'disabled', 'secret-missing', 'unavailable'])
const testResult = {
  status,
  problem: nullable(text, { description: 'Reason why users cannot sign in, in English.' }),
}
const providerView = Type.Object({
  id: text,
  title: text,
  issuer: text,
  clientId: text,
  enabled: Type.Boolean(),
  createAccounts: Type.Boolean(),
  freshProof: Type.Boolean({ description: 'False if users cannot prove their identity again with this provider.' }),
  redirectUri: Type.String({ description: 'Enter this address at the provider.' }),
  backchannelLogoutUri: Type.String({ description: 'Enter this address at the provider, if it supports logout.' }),
  ...testResult,
})

/** Discovers a provider. */
async function statusOf(provider: Provider, discover: (provider: Provider) => Promise<unknown>) {
  if (!provider.enabled) return { status: 'disabled' as const, problem: null }
  try {
    await discover(provider)
  } catch (error) {
    return { status: 'unavailable' as const, problem: reasonOf(error) }
  }
  // A public client has no secret. Then the problem is only a hint.
  return provider.secret === undefined
    ? { status: 'secret-missing' as const, problem: 'There is no client secret for this issuer and client.' }
    : { status: 'ready' as const, problem: null }
}

export const adminRoutes = [
  route({
    method: 'GET',
    path: `${root}/providers`,
    summary: 'List the sign-in providers, with the addresses to enter there and whether they respond',
    access: { permission: permissionCodes.providerView, scope: 'none' },
    response: Type.Object({ items: Type.Array(providerView), total: count }),
    reasons: [],
    async handler(_request, { providers, clients }) {
      const items = providers.all.map(async (provider) => {
        const { id, title, issuer, clientId, enabled, createAccounts, freshProof } = provider
        const addresses = {
          redirectUri: providers.redirectUriOf(id),
          backchannelLogoutUri: providers.backchannelLogoutUriOf(id),
        }
        const tested = await statusOf(provider, (one) => clients.of(one))
        return { id, title, issuer, clientId, enabled, createAccounts, freshProof, ...addresses, ...tested }
      })
      return { items: await Promise.all(items), total: items.length }
    },
  }),
  route({
    method: 'POST',
    path: `${root}/providers/:id/test`,
    summary: 'Read the metadata of a provider again',
    access: { permission: permissionCodes.providerView, scope: 'none' },
    request: { params: providerParams },
    response: Type.Object(testResult),
    reasons: ['sign-in-oidc.provider-unknown'],
    handler(request, { providers, clients }) {
      const provider = providers.find(request.params.id)
      if (provider === undefined) throw businessError('provider-unknown')
      clients.drop(provider.id)
      return statusOf(provider, (one) => clients.of(one))
    },
  }),
  route({
    method: 'POST',
    path: `${root}/preview`,
    summary: 'Show what a user with these claims would get; changes nothing',
    access: { permission: permissionCodes.ruleView, scope: 'all' },
    request: {
      body: Type.Object({
        provider: Type.String({ maxLength: 32 }),
        claims: Type.String({
          maxLength: 65_536,
          description: 'Claims of an ID token as a JSON object.',
          'x-worded': true,
        }),
      }),
    },
    response: Type.Object({
      outcome: Type.Enum(['known-account', 'new-account', 'account-missing', 'domain-not-allowed', 'claim-missing']),
      roleIds: Type.Array(id),
      keptRoleIds: Type.Array(id, { description: 'Roles that a user keeps, because their claims say nothing.' }),
      orgId: nullable(id),
      silentClaims: Type.Array(text, { description: 'Claims of rules that say nothing.' }),
      hasSecondFactor: Type.Boolean({ description: 'True if the sign-in counts as one with a second factor.' }),
    }),
    reasons: ['sign-in-oidc.claims-invalid', 'sign-in-oidc.provider-unknown'],
    async handler(request, { providers, grants, accounts }): Promise<ClaimPreview> {
      const provider = providers.find(request.body.provider)
      if (provider === undefined) throw businessError('provider-unknown', { data: { field: 'provider' } })
      return previewOf(provider, request.body.claims, { grants, accounts })
    },
  }),
  route({
    method: 'GET',
    path: `${root}/identities`,
    summary: 'List the identities of providers that are linked to users, newest first',
    access: { permission: permissionCodes.identityView, scope: 'caller' },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...range.properties,
        ...identityFilter.properties,
        userId: Type.Optional(id),
      }),
    },
    response: listPage(identityView),
    reasons: [],
    handler(request, { db, providers }) {
      const { query } = request
      const where = {
        $and: [query.userId === undefined ? {} : { userId: query.userId }, callerRows(request, 'user_id')],
      }
      const find = async (window: PageWindow) =>
        mapListRows(await findPage(db.fork(), IdentityRow, where, window), (row) => ({
          ...viewOfIdentity(row, providers),
          userId: row.userId,
          roleIds: [...row.grantedRoleIds],
        }))
      return listResponse(query, newestFirst, find, range, identityFilter)
    },
  }),
  route({
    method: 'DELETE',
    path: `${root}/identities/:id`,
    summary: 'Remove the link of an identity to a user, and end the sessions that began with it',
    access: { permission: permissionCodes.identityDelete, scope: 'caller' },
    annotations: [sessionOnly],
    fresh: '5m',
    request: { params: idParams },
    response: nothing,
    reasons: ['iam.beyond-own-authority', 'iam.last-sign-in-way', 'iam.user-unknown', 'sign-in-oidc.identity-unknown'],
    async handler(request, { linked }) {
      await linked.unlink(request.params.id, callerRows(request, 'user_id'), actorOfOperator(request))
      return null
    },
  }),
]
