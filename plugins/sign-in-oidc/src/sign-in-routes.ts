import type { SignInDeclaration } from '@plinth/admin'
import type { HttpReply } from '@plinth/http'
import { id, idParams, instant, nothing, nullable, routesWith, Type, text } from '@plinth/http'
import {
  assertFresh,
  assertMaySetCookie,
  clearCookie,
  cookieToken,
  type GuardedRequest,
  openedSessionSchema,
  operatorOf,
  renewedSessionSchema,
  requirePrincipal,
  respondWithProof,
  respondWithSession,
  secondFactorReasons,
  sessionTransportField,
  tokenOf,
} from '@plinth/iam'
import type { IdentityRow } from './entities.ts'
import type { LinkedIdentities } from './linked-identities.ts'
import type { Logouts } from './logout.ts'
import type { Exchange, OidcSignIn } from './oidc-sign-in.ts'
import { issuerKeyOf, type Providers } from './providers.ts'

export interface SignInRouteDependencies {
  readonly providers: Providers
  readonly signIn: OidcSignIn
  readonly linked: LinkedIdentities
  readonly logouts: Logouts
}

const root = '/api/v1/auth/oidc'
const provider = Type.Object({
  provider: Type.String({ pattern: '^[a-z][a-z0-9-]{0,31}$', description: 'Id of the provider.' }),
})
const parameters = Type.String({
  maxLength: 8_192,
  description: 'Query string with which the provider redirected the browser to the page of this site.',
})
const callbackBody = Type.Object({ parameters })
const address = Type.Object({ url: Type.String({ description: 'Address at the provider. Open it in this browser.' }) })

const limitReasons = ['rate-limit.exceeded', 'rate-limit.store-unavailable']
const providerReasons = [...limitReasons, 'sign-in-oidc.provider-unavailable', 'sign-in-oidc.provider-unknown']
const startReasons = [...providerReasons, 'iam.origin-unproven']
const callbackReasons = [...providerReasons, 'sign-in-oidc.rejected']

const { route } = routesWith<SignInRouteDependencies>()

export const actorOfOperator = (request: GuardedRequest) => ({
  ...operatorOf(request),
  userAgent: request.headers['user-agent'] ?? '',
})

/** The transaction is bound to the browser by a cookie, so only a page of this site may begin it. */
const assertPage = (request: Parameters<typeof assertMaySetCookie>[1]) => assertMaySetCookie('cookie', request)

/** A change of the ways to sign in needs a proof by the strongest method of the user. */
const assertMayChange = (request: Pick<GuardedRequest, 'principal'>) =>
  assertFresh(request, '5m', { strongest: true, always: true })

const identityView = Type.Object({
  id,
  provider: nullable(text, { description: 'Id of the provider. Null if no provider with this issuer is configured.' }),
  title: text,
  issuer: text,
  subjectShown: Type.String({ description: 'Name or address of the user at the provider.' }),
  createdAt: instant,
  lastSignInAt: nullable(instant),
})

export function viewOfIdentity(row: IdentityRow, providers: Pick<Providers, 'all'>) {
  const known = providers.all.find(({ issuer }) => issuerKeyOf(issuer) === row.issuerKey)
  return {
    id: row.id,
    provider: known?.id ?? null,
    title: known?.title ?? row.provider,
    issuer: row.issuer,
    subjectShown: row.label,
    createdAt: row.createdAt.toISOString(),
    lastSignInAt: row.lastSignInAt?.toISOString() ?? null,
  }
}

/** Sign-in with a provider. */
const publicRoutes = [
  route({
    method: 'GET',
    path: `${root}/providers`,
    compress: false,
    summary: 'List the providers with which users can sign in',
    access: 'public',
    response: Type.Object({
      providers: Type.Array(
        Type.Object({
          id: text,
          title: text,
          passwordHidden: Type.Boolean({ description: 'True if the page should offer the password only on request.' }),
        }),
      ),
    }),
    reasons: [],
    handler: (_request, { providers }) => ({
      providers: providers.enabled.map(({ id, title, passwordHidden }) => ({ id, title, passwordHidden })),
    }),
  }),
  route({
    method: 'POST',
    path: `${root}/:provider/start`,
    compress: false,
    summary: 'Begin a sign-in with a provider; sets a cookie that binds it to this browser',
    access: 'public',
    request: {
      params: provider,
      body: Type.Object({
        returnTo: Type.Optional(
          Type.String({ maxLength: 2_000, description: 'Path on this site. Another address is ignored.' }),
        ),
        session: sessionTransportField,
      }),
    },
    response: address,
    reasons: startReasons,
    async handler(request, { signIn }, reply) {
      assertPage(request)
      const { returnTo } = request.body
      reply.header('cache-control', 'no-store')
      return { url: await signIn.start(request.params.provider, 'sign-in', exchangeOf(request, reply), { returnTo }) }
    },
  }),
  route({
    method: 'POST',
    path: `${root}/:provider/callback`,
    compress: false,
    summary: 'Complete a sign-in with the response of a provider',
    access: 'public',
    request: { params: provider, body: Type.Object({ parameters, session: sessionTransportField }) },
    response: Type.Object({
      ...openedSessionSchema.properties,
      returnTo: nullable(text, { description: 'Path on this site that the start of the sign-in named.' }),
    }),
    reasons: [
      '*',
      ...callbackReasons,
      ...secondFactorReasons,
      'iam.changed-meanwhile',
      'iam.origin-unproven',
      'iam.user-disabled',
      'iam.user-unknown',
      'iam.username-taken',
      'sign-in-oidc.account-missing',
      'sign-in-oidc.domain-not-allowed',
    ],
    async handler(request, { signIn }, reply) {
      const { parameters: query, session: choice } = request.body
      assertMaySetCookie(choice, request)
      const { session, returnTo } = await signIn.complete(request.params.provider, query, exchangeOf(request, reply))
      return { ...respondWithSession(session, choice, request, reply), returnTo }
    },
  }),
]

/** Linked identities, fresh proof and logout of signed-in users. */
const signedInRoutes = [
  route({
    method: 'POST',
    path: `${root}/:provider/link/start`,
    compress: false,
    summary: 'Begin to link an identity of a provider to your account',
    access: 'user',
    fresh: '5m',
    request: { params: provider },
    response: address,
    reasons: startReasons,
    async handler(request, { signIn }, reply) {
      assertPage(request)
      await assertMayChange(request)
      const { sessionId } = requirePrincipal(request)
      return { url: await signIn.start(request.params.provider, 'link', exchangeOf(request, reply), { sessionId }) }
    },
  }),
  route({
    method: 'POST',
    path: `${root}/:provider/link/callback`,
    compress: false,
    summary: 'Link the identity of a provider to your account, in the session that began it',
    access: 'user',
    request: { params: provider, body: callbackBody },
    response: Type.Object({ provider: text, subjectShown: text, title: text }),
    reasons: [...callbackReasons, 'iam.external-identity-taken', 'iam.user-unknown', 'sign-in-oidc.domain-not-allowed'],
    handler: (request, { signIn }, reply) =>
      signIn.link(
        request.params.provider,
        request.body.parameters,
        exchangeOf(request, reply),
        requirePrincipal(request),
        actorOfOperator(request),
      ),
  }),
  route({
    method: 'GET',
    path: `${root}/identities`,
    compress: false,
    summary: 'List the identities of providers that are linked to your account, newest first',
    access: 'user',
    response: Type.Object({ identities: Type.Array(identityView) }),
    reasons: [],
    async handler(request, { linked, providers }) {
      const rows = await linked.ofUser(requirePrincipal(request).userId)
      return { identities: rows.map((row) => viewOfIdentity(row, providers)) }
    },
  }),
  route({
    method: 'DELETE',
    path: `${root}/identities/:id`,
    compress: false,
    summary: 'Remove the link of an identity to your account, and end its other sessions',
    access: 'user',
    fresh: '5m',
    request: { params: idParams },
    response: nothing,
    reasons: [
      'iam.last-sign-in-way',
      'iam.user-unknown',
      'sign-in-oidc.identity-required',
      'sign-in-oidc.identity-unknown',
    ],
    async handler(request, { linked }) {
      await assertMayChange(request)
      const { userId, sessionId } = requirePrincipal(request)
      const actor = actorOfOperator(request)
      await linked.unlinkOwn(request.params.id, userId, actor, sessionId)
      return null
    },
  }),
  route({
    method: 'POST',
    path: `${root}/:provider/proof/start`,
    compress: false,
    summary: 'Begin to prove your identity again with a provider, which asks you to sign in again',
    access: 'user',
    request: { params: provider },
    response: address,
    reasons: startReasons,
    async handler(request, { signIn }, reply) {
      assertPage(request)
      const { sessionId } = requirePrincipal(request)
      return { url: await signIn.start(request.params.provider, 'proof', exchangeOf(request, reply), { sessionId }) }
    },
  }),
  route({
    method: 'POST',
    path: `${root}/:provider/proof/callback`,
    compress: false,
    summary: 'Prove your identity again with the response of a provider; the session gets a new token',
    access: 'user',
    request: { params: provider, body: callbackBody },
    response: renewedSessionSchema,
    reasons: ['*', ...callbackReasons, 'iam.proof-required'],
    async handler(request, { signIn }, reply) {
      const { sessionId } = requirePrincipal(request)
      const session = { sessionId, token: tokenOf(request) }
      const { parameters: query } = request.body
      const renewed = await signIn.prove(request.params.provider, query, exchangeOf(request, reply), session)
      return respondWithProof(renewed, request, reply)
    },
  }),
  route({
    method: 'POST',
    path: `${root}/logout`,
    compress: false,
    summary: 'Log out and end this session; returns the address that also ends the session at the provider',
    access: 'user',
    response: Type.Object({ url: nullable(text, { description: 'Null if there is no session at a provider.' }) }),
    reasons: [],
    async handler(request, { logouts }, reply) {
      const url = await logouts.end(requirePrincipal(request), actorOfOperator(request))
      if (cookieToken(request) !== undefined) clearCookie(request, reply)
      reply.header('cache-control', 'no-store')
      return { url }
    },
  }),
]

const exchangeOf = (request: Exchange['request'], reply: HttpReply): Exchange => ({ request, reply })

export const signInRoutes = [...publicRoutes, ...signedInRoutes]

/** Declares the providers for the sign-in page of the back office. */
export const providerSignIn: SignInDeclaration = {
  id: 'sign-in-oidc.providers',
  kind: 'providers',
  list: 'getAuthOidcProviders',
  start: 'postAuthOidcByProviderStart',
  callback: 'postAuthOidcByProviderCallback',
}
