import { idParams, nothing, nullable, routesWith, Type } from '@plinth/http'
import {
  type Actor,
  assertFresh,
  operatorOf,
  renewedSessionSchema,
  requirePrincipal,
  respondWithProof,
} from '@plinth/iam'
import type { AuthenticatorViews } from './authenticator-views.ts'
import { purposes } from './authenticators.ts'
import {
  assertion,
  assertionOf,
  attemptReasons,
  attestation,
  attestationOf,
  authenticatorView,
  challengeId,
  code,
  limitReasons,
  originOf,
  passkeyName,
  passkeyOptions,
  recoveryCodes,
  sessionOf,
  setUpId,
  totpSetUp,
} from './schemas.ts'
import type { SignInRouteDependencies } from './sign-in-routes.ts'

interface OwnRouteDependencies extends Omit<SignInRouteDependencies, 'identity'> {
  readonly views: AuthenticatorViews
}

type Caller = Parameters<typeof operatorOf>[0] & { readonly headers: { readonly 'user-agent'?: string | undefined } }

const actorOf = (request: Caller): Actor => ({ ...operatorOf(request), userAgent: request.headers['user-agent'] ?? '' })

/**
 * Checks that the caller may change the own factors. Otherwise the password alone could replace a second factor
 * (ASVS 7.5.1), or a stolen session could add one.
 */
const assertMayChange = (request: Parameters<typeof assertFresh>[0]) =>
  assertFresh(request, fresh, { strongest: true, always: true })

const fresh = '5m'
const changeReasons = ['iam.proof-required', 'iam.user-unknown']
const removalReasons = [...changeReasons, 'authenticators.factor-required']
const path = '/api/v1/auth'

const { route } = routesWith<OwnRouteDependencies>()

export const ownRoutes = [
  route({
    method: 'GET',
    path: `${path}/authenticators`,
    compress: false,
    summary: 'List your passkeys and second factors',
    access: 'user',
    response: authenticatorView,
    reasons: [],
    handler: (request, { views }) => views.of(requirePrincipal(request).userId, request.locale),
  }),
  route({
    method: 'POST',
    path: `${path}/passkeys/options`,
    compress: false,
    summary: 'Create options for a new passkey; valid for one passkey in this session',
    access: 'user',
    fresh,
    request: { body: Type.Object({}) },
    response: passkeyOptions,
    reasons: [...changeReasons, ...limitReasons, 'authenticators.passkey-limit', 'authenticators.passkeys-unavailable'],
    async handler(request, { passkeys, limits }) {
      await assertMayChange(request)
      const session = sessionOf(request)
      await limits.assertChallengeAllowed(request.clientIp, session.userId)
      return passkeys.creationOptions(purposes.add(session), session)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/passkeys`,
    compress: false,
    summary: 'Add a passkey to your account; with your first second factor, the response contains recovery codes',
    access: 'user',
    fresh,
    request: { body: Type.Object({ challengeId, response: attestation, name: Type.Optional(passkeyName) }) },
    response: Type.Object({
      id: idParams.properties.id,
      name: Type.String(),
      recoveryCodes: nullable(recoveryCodes),
    }),
    reasons: [
      ...changeReasons,
      'authenticators.passkey-invalid',
      'authenticators.passkey-limit',
      'authenticators.passkey-taken',
      'authenticators.passkeys-unavailable',
    ],
    async handler(request, { authenticators }) {
      await assertMayChange(request)
      const { challengeId, response, name } = request.body
      const answer = { challengeId, response: attestationOf(response), name }
      const { passkey, recoveryCodes } = await authenticators.addPasskey(sessionOf(request), answer, actorOf(request))
      return { id: passkey.id, name: passkey.name, recoveryCodes: recoveryCodes && [...recoveryCodes] }
    },
  }),
  route({
    method: 'PUT',
    path: `${path}/passkeys/:id`,
    compress: false,
    summary: 'Rename one of your passkeys',
    access: 'user',
    request: { params: idParams, body: Type.Object({ name: passkeyName }) },
    response: nothing,
    reasons: ['authenticators.passkey-unknown', 'iam.user-unknown'],
    async handler(request, { authenticators }) {
      const { userId } = requirePrincipal(request)
      await authenticators.renamePasskey(userId, request.params.id, request.body.name, actorOf(request))
      return null
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/passkeys/:id`,
    compress: false,
    summary: 'Remove one of your passkeys',
    access: 'user',
    fresh,
    request: { params: idParams },
    response: nothing,
    reasons: [...removalReasons, 'authenticators.last-sign-in-way', 'authenticators.passkey-unknown'],
    async handler(request, { authenticators }) {
      await assertMayChange(request)
      await authenticators.removePasskey(requirePrincipal(request).userId, request.params.id, actorOf(request))
      return null
    },
  }),
  route({
    method: 'POST',
    path: `${path}/totp/options`,
    compress: false,
    summary: 'Create a secret for your authenticator app; it applies when you confirm it with a code',
    access: 'user',
    fresh,
    response: totpSetUp,
    reasons: [...changeReasons, ...limitReasons, 'authenticators.secret-key-unusable'],
    async handler(request, { totp, limits }) {
      await assertMayChange(request)
      const session = sessionOf(request)
      await limits.assertChallengeAllowed(request.clientIp, session.userId)
      return totp.begin(purposes.add(session), session, true)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/totp`,
    compress: false,
    summary: 'Set up one-time passwords; with your first second factor, the response contains recovery codes',
    access: 'user',
    fresh,
    request: { body: Type.Object({ setUpId, code }) },
    response: Type.Object({ recoveryCodes: nullable(recoveryCodes) }),
    reasons: [
      ...changeReasons,
      'authenticators.secret-key-unusable',
      'authenticators.set-up-invalid',
      'authenticators.totp-invalid',
    ],
    async handler(request, { authenticators }) {
      await assertMayChange(request)
      const codes = await authenticators.addTotp(sessionOf(request), request.body, actorOf(request))
      return { recoveryCodes: codes && [...codes] }
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/totp`,
    compress: false,
    summary: 'Remove your one-time passwords',
    access: 'user',
    fresh,
    response: nothing,
    reasons: [...removalReasons, 'authenticators.totp-not-set-up'],
    async handler(request, { authenticators }) {
      await assertMayChange(request)
      await authenticators.removeTotp(requirePrincipal(request).userId, actorOf(request))
      return null
    },
  }),
  route({
    method: 'POST',
    path: `${path}/recovery-codes`,
    compress: false,
    summary: 'Replace your recovery codes; only this response contains the new ones',
    access: 'user',
    fresh,
    response: Type.Object({ codes: recoveryCodes }),
    reasons: [...changeReasons, 'authenticators.factor-missing'],
    async handler(request, { authenticators }) {
      await assertMayChange(request)
      const codes = await authenticators.replaceRecoveryCodes(requirePrincipal(request).userId, actorOf(request))
      return { codes: [...codes] }
    },
  }),
  route({
    method: 'POST',
    path: `${path}/proof/passkey/options`,
    compress: false,
    summary: 'Create options with which a passkey proves your identity again; valid for one proof in this session',
    access: 'user',
    request: { body: Type.Object({}) },
    response: passkeyOptions,
    reasons: [...limitReasons, 'authenticators.passkeys-unavailable'],
    async handler(request, { passkeys, limits }) {
      const session = sessionOf(request)
      await limits.assertChallengeAllowed(request.clientIp, session.userId)
      return passkeys.requestOptions(purposes.proof(session), session.userId)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/proof/passkey`,
    compress: false,
    summary: 'Prove your identity again with a passkey; the session gets a new token',
    access: 'user',
    request: { body: Type.Object({ challengeId, response: assertion }) },
    response: renewedSessionSchema,
    reasons: [
      ...attemptReasons,
      'authenticators.passkey-refused',
      'authenticators.passkeys-unavailable',
      'iam.proof-required',
    ],
    async handler(request, { authenticators }, reply) {
      const { challengeId, response } = request.body
      const answer = { challengeId, response: assertionOf(response) }
      const renewed = await authenticators.proveByPasskey(sessionOf(request), answer, originOf(request, reply))
      return respondWithProof(renewed, request, reply)
    },
  }),
  route({
    method: 'POST',
    path: `${path}/proof/totp`,
    compress: false,
    summary: 'Prove your identity again with a one-time password; the session gets a new token',
    access: 'user',
    request: { body: Type.Object({ code }) },
    response: renewedSessionSchema,
    reasons: [
      ...attemptReasons,
      'authenticators.secret-key-unusable',
      'authenticators.totp-blocked',
      'authenticators.totp-invalid',
      'iam.proof-required',
    ],
    async handler(request, { authenticators }, reply) {
      const renewed = await authenticators.proveByTotp(sessionOf(request), request.body.code, originOf(request, reply))
      return respondWithProof(renewed, request, reply)
    },
  }),
]
