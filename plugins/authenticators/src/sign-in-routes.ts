import type { SignInDeclaration } from '@plinth/admin'
import { type HttpReply, routesWith, Type } from '@plinth/http'
import {
  assertMaySetCookie,
  type Identity,
  openedSessionSchema,
  respondWithSession,
  secondFactorReasons,
  sessionTransportField,
} from '@plinth/iam'
import type { AttemptLimits } from './attempt-limits.ts'
import { type Authenticators, purposes } from './authenticators.ts'
import type { Passkeys } from './passkeys.ts'
import {
  assertion,
  assertionOf,
  attemptReasons,
  attestation,
  attestationOf,
  challengeId,
  code,
  limitReasons,
  originOf,
  passkeyName,
  passkeyOptions,
  pendingToken,
  recoveryCodes,
  setUpId,
  totpSetUp,
} from './schemas.ts'
import type { OneTimePasswords } from './totp.ts'

export interface SignInRouteDependencies {
  readonly identity: Pick<Identity, 'findPendingSignIn'>
  readonly authenticators: Authenticators
  readonly passkeys: Passkeys
  readonly totp: OneTimePasswords
  readonly limits: AttemptLimits
}

const passkeyPath = '/api/v1/auth/passkey'
const factorPath = '/api/v1/auth/second-factor'

const completionReasons = [...attemptReasons, 'iam.origin-unproven', 'iam.pending-sign-in-invalid', 'iam.user-disabled']
const setUpReasons = [...completionReasons, 'iam.second-factor-set-up', 'iam.second-factor-unavailable']
const setUpSession = Type.Object({ ...openedSessionSchema.properties, recoveryCodes })

const { route } = routesWith<SignInRouteDependencies>()

/** Challenges and secrets must not be stored by proxies and browsers. */
const preventStorage = (reply: HttpReply) => void reply.header('cache-control', 'no-store')

export const signInRoutes = [
  route({
    method: 'POST',
    path: `${passkeyPath}/options`,
    compress: false,
    summary: 'Create options for the sign-in with a passkey; valid for one login',
    access: 'public',
    request: { body: Type.Object({}) },
    response: passkeyOptions,
    reasons: [...limitReasons, 'authenticators.passkeys-unavailable'],
    async handler({ clientIp }, { passkeys, limits }, reply) {
      await limits.assertChallengeAllowed(clientIp)
      preventStorage(reply)
      return passkeys.requestOptions(purposes.signIn)
    },
  }),
  route({
    method: 'POST',
    path: `${passkeyPath}/login`,
    compress: false,
    summary: 'Log in with a passkey, which is the first and the second factor',
    access: 'public',
    request: { body: Type.Object({ challengeId, response: assertion, session: sessionTransportField }) },
    response: openedSessionSchema,
    reasons: [
      ...attemptReasons,
      ...secondFactorReasons,
      'authenticators.passkey-refused',
      'authenticators.passkeys-unavailable',
      'iam.changed-meanwhile',
      'iam.origin-unproven',
      'iam.user-disabled',
      'iam.user-unknown',
    ],
    async handler(request, { authenticators }, reply) {
      const { challengeId, response, session } = request.body
      assertMaySetCookie(session, request)
      const answer = { challengeId, response: assertionOf(response) }
      const opened = await authenticators.signIn(answer, originOf(request, reply))
      return respondWithSession(opened, session, request, reply)
    },
  }),
  route({
    method: 'POST',
    path: `${factorPath}/passkey/options`,
    compress: false,
    summary: 'Create options for a passkey as second factor of a sign-in',
    access: 'public',
    request: { body: Type.Object({ pendingToken }) },
    response: passkeyOptions,
    reasons: [...limitReasons, 'authenticators.passkeys-unavailable', 'iam.pending-sign-in-invalid'],
    async handler({ body, clientIp }, { identity, passkeys, limits }, reply) {
      const pending = await identity.findPendingSignIn(body.pendingToken)
      await limits.assertChallengeAllowed(clientIp, pending.userId)
      preventStorage(reply)
      return passkeys.requestOptions(purposes.secondFactor(pending), pending.userId)
    },
  }),
  route({
    method: 'POST',
    path: `${factorPath}/passkey`,
    compress: false,
    summary: 'Complete a sign-in with a passkey',
    access: 'public',
    request: { body: Type.Object({ pendingToken, challengeId, response: assertion, session: sessionTransportField }) },
    response: openedSessionSchema,
    reasons: [...completionReasons, 'authenticators.passkey-refused', 'authenticators.passkeys-unavailable'],
    async handler(request, { authenticators }, reply) {
      const { pendingToken, challengeId, response, session } = request.body
      assertMaySetCookie(session, request)
      const answer = { challengeId, response: assertionOf(response) }
      const opened = await authenticators.completeByPasskey(pendingToken, answer, originOf(request, reply))
      return respondWithSession(opened, session, request, reply)
    },
  }),
  route({
    method: 'POST',
    path: `${factorPath}/totp`,
    compress: false,
    summary: 'Complete a sign-in with a one-time password',
    access: 'public',
    request: { body: Type.Object({ pendingToken, code, session: sessionTransportField }) },
    response: openedSessionSchema,
    reasons: [
      ...completionReasons,
      'authenticators.secret-key-unusable',
      'authenticators.totp-blocked',
      'authenticators.totp-invalid',
    ],
    async handler(request, { authenticators }, reply) {
      const { pendingToken, code, session } = request.body
      assertMaySetCookie(session, request)
      const opened = await authenticators.completeByTotp(pendingToken, code, originOf(request, reply))
      return respondWithSession(opened, session, request, reply)
    },
  }),
  route({
    method: 'POST',
    path: `${factorPath}/recovery-code`,
    compress: false,
    summary: 'Complete a sign-in with a recovery code, which is then used up',
    access: 'public',
    request: { body: Type.Object({ pendingToken, code, session: sessionTransportField }) },
    response: openedSessionSchema,
    reasons: [...completionReasons, 'authenticators.recovery-code-invalid'],
    async handler(request, { authenticators }, reply) {
      const { pendingToken, code, session } = request.body
      assertMaySetCookie(session, request)
      const opened = await authenticators.completeByRecoveryCode(pendingToken, code, originOf(request, reply))
      return respondWithSession(opened, session, request, reply)
    },
  }),
  route({
    method: 'POST',
    path: `${factorPath}/set-up/passkey/options`,
    compress: false,
    summary: 'Create options for the first passkey of a user who must set up a second factor',
    access: 'public',
    request: { body: Type.Object({ pendingToken }) },
    response: passkeyOptions,
    reasons: [
      ...limitReasons,
      'authenticators.passkey-limit',
      'authenticators.passkeys-unavailable',
      'iam.pending-sign-in-invalid',
    ],
    async handler({ body, clientIp }, { identity, passkeys, limits }, reply) {
      const pending = await identity.findPendingSignIn(body.pendingToken)
      await limits.assertChallengeAllowed(clientIp, pending.userId)
      preventStorage(reply)
      return passkeys.creationOptions(purposes.setUp(pending), pending)
    },
  }),
  route({
    method: 'POST',
    path: `${factorPath}/set-up/passkey`,
    compress: false,
    summary: 'Complete a sign-in with the first passkey of the user',
    access: 'public',
    request: {
      body: Type.Object({
        pendingToken,
        challengeId,
        response: attestation,
        name: Type.Optional(passkeyName),
        session: sessionTransportField,
      }),
    },
    response: setUpSession,
    reasons: [
      ...setUpReasons,
      'authenticators.passkey-invalid',
      'authenticators.passkey-limit',
      'authenticators.passkey-taken',
      'authenticators.passkeys-unavailable',
    ],
    async handler(request, { authenticators }, reply) {
      const { pendingToken, challengeId, response, name, session } = request.body
      assertMaySetCookie(session, request)
      const answer = { challengeId, response: attestationOf(response), name }
      const opened = await authenticators.setUpPasskey(pendingToken, answer, originOf(request, reply))
      preventStorage(reply)
      const shown = respondWithSession(opened.session, session, request, reply)
      return { ...shown, recoveryCodes: [...opened.recoveryCodes] }
    },
  }),
  route({
    method: 'POST',
    path: `${factorPath}/set-up/totp/options`,
    compress: false,
    summary: 'Create a secret for the authenticator app of a user who must set up a second factor',
    access: 'public',
    request: { body: Type.Object({ pendingToken }) },
    response: totpSetUp,
    reasons: [
      ...limitReasons,
      'authenticators.secret-key-unusable',
      'authenticators.totp-set-up',
      'iam.pending-sign-in-invalid',
    ],
    async handler({ body, clientIp }, { identity, totp, limits }, reply) {
      await limits.assertChallengeAllowed(clientIp)
      const pending = await identity.findPendingSignIn(body.pendingToken)
      preventStorage(reply)
      return totp.begin(purposes.setUp(pending), pending)
    },
  }),
  route({
    method: 'POST',
    path: `${factorPath}/set-up/totp`,
    compress: false,
    summary: 'Complete a sign-in with the first code of a new authenticator app',
    access: 'public',
    request: { body: Type.Object({ pendingToken, setUpId, code, session: sessionTransportField }) },
    response: setUpSession,
    reasons: [
      ...setUpReasons,
      'authenticators.secret-key-unusable',
      'authenticators.set-up-invalid',
      'authenticators.totp-invalid',
    ],
    async handler(request, { authenticators }, reply) {
      const { pendingToken, session, ...confirmation } = request.body
      assertMaySetCookie(session, request)
      const opened = await authenticators.setUpTotp(pendingToken, confirmation, originOf(request, reply))
      preventStorage(reply)
      const shown = respondWithSession(opened.session, session, request, reply)
      return { ...shown, recoveryCodes: [...opened.recoveryCodes] }
    },
  }),
]

/** Declares the sign-in with a passkey for the sign-in page of the back office. */
export const passkeySignIn: SignInDeclaration = {
  id: 'authenticators.passkey',
  kind: 'passkey',
  options: 'postAuthPasskeyOptions',
  login: 'postAuthPasskeyLogin',
}

/** Declares the second step of every sign-in for the sign-in page of the back office. */
export const secondFactorSignIn: SignInDeclaration = {
  id: 'authenticators.second-factor',
  kind: 'second-factor',
  passkeyOptions: 'postAuthSecondFactorPasskeyOptions',
  passkey: 'postAuthSecondFactorPasskey',
  totp: 'postAuthSecondFactorTotp',
  recoveryCode: 'postAuthSecondFactorRecoveryCode',
  setUpPasskeyOptions: 'postAuthSecondFactorSetUpPasskeyOptions',
  setUpPasskey: 'postAuthSecondFactorSetUpPasskey',
  setUpTotpOptions: 'postAuthSecondFactorSetUpTotpOptions',
  setUpTotp: 'postAuthSecondFactorSetUpTotp',
}
