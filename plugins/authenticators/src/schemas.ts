import { type HttpReply, type HttpRequest, id, instant, line, nullable, Type, text } from '@plinth/http'
import { requirePrincipal, tokenOf } from '@plinth/iam'
import type {
  AuthenticationResponseJSON,
  AuthenticatorTransport,
  RegistrationResponseJSON,
} from '@simplewebauthn/server'
import type { Static } from 'typebox'
import type { AttemptOrigin, CallerSession } from './authenticators.ts'

/** Text of an authenticator in base64url. The limit is larger than any response with the attestation `none`. */
const encoded = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: '^[A-Za-z0-9_-]+$' })

export const challengeId = Type.String({ minLength: 1, maxLength: 64 })
export const setUpId = Type.String({ minLength: 1, maxLength: 64 })
export const pendingToken = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'Token of the error `iam.second-factor-required`.',
})
export const code = Type.String({
  minLength: 1,
  maxLength: 64,
  description: 'Code of the authenticator app, or a recovery code. Spaces and hyphens are ignored.',
})
export const passkeyName = line(64, { minLength: 1 })

const credential = {
  id: encoded(1364),
  rawId: encoded(1364),
  type: Type.Literal('public-key'),
}
/** Members that browsers send, and that are not used. */
const browserMembers = {
  authenticatorAttachment: Type.Optional(Type.String({ maxLength: 32 })),
  clientExtensionResults: Type.Optional(Type.Object({}, { additionalProperties: true })),
}

/** `AuthenticationResponseJSON` of WebAuthn Level 3, 5.1. */
export const assertion = Type.Object({
  ...credential,
  ...browserMembers,
  response: Type.Object({
    clientDataJSON: encoded(4_000),
    authenticatorData: encoded(4_000),
    signature: encoded(4_000),
    userHandle: Type.Optional(encoded(88)),
  }),
})

/** `RegistrationResponseJSON` of WebAuthn Level 3, 5.1. */
export const attestation = Type.Object({
  ...credential,
  ...browserMembers,
  response: Type.Object({
    clientDataJSON: encoded(4_000),
    attestationObject: encoded(20_000),
    transports: Type.Optional(Type.Array(Type.String({ maxLength: 20, pattern: '^[a-z-]+$' }), { maxItems: 6 })),
    authenticatorData: Type.Optional(encoded(20_000)),
    publicKey: Type.Optional(encoded(4_000)),
    publicKeyAlgorithm: Type.Optional(Type.Integer()),
  }),
})

/** Returns the members of a response that are checked. */
export const assertionOf = ({ id, rawId, type, response }: Static<typeof assertion>): AuthenticationResponseJSON => ({
  id,
  rawId,
  type,
  response,
  clientExtensionResults: {},
})
export function attestationOf({ id, rawId, type, response }: Static<typeof attestation>): RegistrationResponseJSON {
  const { clientDataJSON, attestationObject, transports = [] } = response
  const checked = { clientDataJSON, attestationObject, transports: transports as AuthenticatorTransport[] }
  return { id, rawId, type, response: checked, clientExtensionResults: {} }
}

export const passkeyOptions = Type.Object({
  options: Type.Object(
    {},
    {
      additionalProperties: true,
      description: 'Options for the browser (WebAuthn Level 3, 5.1.8 and 5.1.9), in JSON.',
    },
  ),
  challengeId: Type.String(),
})

export const totpSetUp = Type.Object({
  setUpId: Type.String(),
  secret: Type.String({ description: 'Secret in base32, for apps that cannot read the QR code.' }),
  uri: Type.String({ description: '`otpauth:` URI.' }),
  qr: Type.String({ description: 'QR code of the URI as SVG.' }),
})

export const recoveryCodes = Type.Array(Type.String(), {
  description: 'Ten recovery codes. Only this response contains them.',
})

export const passkeyView = Type.Object({
  id,
  name: text,
  createdAt: instant,
  lastUsedAt: nullable(instant),
  usable: Type.Boolean({ description: 'False if the passkey was created for another address of the site.' }),
  synced: Type.Boolean({ description: 'True if a password manager stores copies of the passkey.' }),
})

export const authenticatorView = Type.Object({
  passkeys: Type.Array(passkeyView),
  totp: nullable(Type.Object({ since: instant })),
  recoveryCodes: nullable(Type.Object({ left: Type.Integer({ minimum: 0 }), createdAt: instant })),
  required: Type.Boolean({ description: 'True if a role of the user requires a second factor now.' }),
  requiredFrom: nullable(instant, { description: 'Time from which a role of the user requires a second factor.' }),
  passkeysAvailable: Type.Boolean(),
  passkeysUnavailableReason: nullable(text),
})

export const limitReasons = ['rate-limit.exceeded', 'rate-limit.store-unavailable']

/** Reason codes of every attempt. `*` stands for the reasons of guards that other plugins contribute. */
export const attemptReasons = ['*', ...limitReasons]

export const originOf = (
  { clientIp, traceId, headers }: Pick<HttpRequest, 'clientIp' | 'traceId' | 'headers'>,
  reply: HttpReply,
): AttemptOrigin => ({
  clientIp,
  traceId,
  userAgent: headers['user-agent'] ?? '',
  setHeader: (name, value) => void reply.header(name, value),
})

export function sessionOf(
  request: Parameters<typeof tokenOf>[0] & Parameters<typeof requirePrincipal>[0],
): CallerSession {
  const { userId, username, sessionId } = requirePrincipal(request)
  return { userId, username, sessionId, token: tokenOf(request) }
}
