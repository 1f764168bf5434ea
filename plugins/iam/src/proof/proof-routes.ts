import { type HttpReply, type HttpRequest, instant, nullable, routesWith, Type, text } from '@plinth/http'
import type { Static } from 'typebox'
import { requirePrincipal } from '../access/access-guard.ts'
import { loginAttemptOf, password, passwordAttemptReasons } from '../accounts/inputs.ts'
import type { Session } from '../contract.ts'
import type { IdentityService } from '../sessions/identity-service.ts'
import { returnSession } from '../sessions/session-cookie.ts'
import type { FreshProofs } from './fresh-proofs.ts'
import { tokenOf } from './request-token.ts'

interface ProofRouteDependencies {
  readonly identity: IdentityService
  readonly proofs: FreshProofs
}

/** Response of every proof method. */
export const renewedSessionSchema = Type.Object({
  accessToken: nullable(Type.String(), {
    description:
      'New access token of the session. The old one is no longer valid. Only this response contains it. Null if the request used the session cookie, which then has a new value.',
  }),
  tokenType: Type.Literal('Bearer'),
  expiresAt: instant,
})

/**
 * Returns the session with its new token. The token is sent in the same way as that of the request: in a cookie or in
 * the response.
 */
export const respondWithProof = (
  renewed: Session,
  request: HttpRequest,
  reply: HttpReply,
): Static<typeof renewedSessionSchema> =>
  returnSession(renewed, request.headers.authorization === undefined ? 'cookie' : 'token', request, reply)

const path = '/api/v1/auth/proof'
const { route } = routesWith<ProofRouteDependencies>()

export const proofRoutes = [
  route({
    method: 'GET',
    path,
    compress: false,
    summary: 'Get the last proof of your identity in this session, and your methods for a new proof',
    access: 'user',
    request: {
      query: Type.Object({
        maxAgeSeconds: Type.Optional(
          Type.Integer({
            minimum: 60,
            maximum: 86_400,
            description: 'Rejects the request like an operation with this `x-fresh-proof`. Changes nothing.',
          }),
        ),
      }),
    },
    response: Type.Object({
      enabled: Type.Boolean({ description: 'True if operations ask for fresh proofs.' }),
      provenAt: nullable(instant),
      provenBy: nullable(text, { description: 'Method of the last proof, for example `password`.' }),
      methods: Type.Array(text, { description: 'Methods that you can use, the strongest first.' }),
    }),
    reasons: ['iam.proof-required'],
    async handler(request, { proofs }) {
      const { userId, proof, assertFresh } = requirePrincipal(request)
      const { maxAgeSeconds } = request.query
      if (maxAgeSeconds !== undefined) await assertFresh(`${maxAgeSeconds}s`)
      return {
        enabled: proofs.isEnabled,
        provenAt: proof === undefined ? null : new Date(proof.at).toISOString(),
        provenBy: proof?.by ?? null,
        methods: [...(await proofs.methodsOf(userId))],
      }
    },
  }),
  route({
    method: 'POST',
    path,
    compress: false,
    summary: 'Prove your identity again with your password; the session gets a new token',
    description:
      'Operations with `x-fresh-proof` then work until the proof is too old. The session and its expiry time stay the same, and its old token is no longer valid. Wrong passwords count like failed logins.',
    access: 'user',
    request: { body: Type.Object({ method: Type.Enum(['password']), password }) },
    response: renewedSessionSchema,
    reasons: [...passwordAttemptReasons, 'iam.password-wrong', 'iam.proof-required'],
    async handler(request, { identity }, reply) {
      const attempt = loginAttemptOf(request, reply, 'password-proof', requirePrincipal(request).username)
      const renewed = await identity.proveByPassword(tokenOf(request), request.body.password, attempt)
      return respondWithProof(renewed, request, reply)
    },
  }),
]
