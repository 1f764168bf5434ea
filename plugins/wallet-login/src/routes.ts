import type { SignInDeclaration } from '@plinth/admin'
import { type HttpReply, type HttpRequest, instant, line, routesWith, Type } from '@plinth/http'
import {
  assertMaySetCookie,
  openedSessionSchema,
  renewedSessionSchema,
  requirePrincipal,
  respondWithProof,
  respondWithSession,
  secondFactorReasons,
  sessionTransportField,
  tokenOf,
} from '@plinth/iam'
import { type Address, requireAddress, zeroAddress } from '@plinth/web3'
import type { Static } from 'typebox'
import { type AttemptLimits, loginMethod, proofAttempt } from './attempt-limits.ts'
import type { Challenges } from './challenges.ts'
import type { WalletLoginConfig } from './config.ts'
import { businessError } from './declarations.ts'
import type { WalletLogin } from './wallet-login.ts'

interface WalletRouteDependencies {
  readonly challenges: Challenges
  readonly login: WalletLogin
  readonly limits: AttemptLimits
  readonly config: WalletLoginConfig
}

const address = line(100, { description: 'EVM address. The checksum of an address in mixed case must be valid.' })

const { route } = routesWith<WalletRouteDependencies>()

/** @throws BusinessError "400" `web3.address-invalid`; "400" `wallet-login.address-refused` for the zero address */
function checkedAddress(text: string) {
  const checked = requireAddress(text)
  if (checked === zeroAddress) throw businessError('address-refused', { data: { field: 'address' } })
  return checked
}

/**
 * Returns the chain of a challenge.
 *
 * @throws BusinessError "400" `wallet-login.chain-refused` if the configuration requires another chain
 */
function chainOf(requested: number | undefined, config: WalletLoginConfig): number {
  const usual = config.get('platform.wallet-login.chain-id')
  const chainId = requested ?? usual
  if (chainId === usual || !config.get('platform.wallet-login.chain-required')) return chainId
  throw businessError('chain-refused', { params: { chainId: usual }, data: { field: 'chainId', chainId: usual } })
}

const challengeBody = Type.Object({
  chainType: Type.Enum(['evm']),
  address,
  chainId: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Chain of the wallet, which some wallets display. Default: the configured chain.',
    }),
  ),
})
const challengeView = Type.Object({
  challengeId: Type.String(),
  message: Type.String({
    description: 'Message that the wallet must sign unchanged with `personal_sign` (EIP-4361).',
  }),
  issuedAt: instant,
  expiresAt: instant,
})
const challengeReasons = [
  'rate-limit.exceeded',
  'rate-limit.store-unavailable',
  'wallet-login.address-refused',
  'wallet-login.chain-refused',
  'web3.address-invalid',
]
const signedChallenge = {
  challengeId: Type.String({ minLength: 1, maxLength: 64 }),
  address,
  signature: Type.String({
    maxLength: 8194,
    description:
      'Signature in hexadecimal with `0x`: 65 or 64 bytes (EIP-2098), or at most 4096 bytes for a contract wallet.',
  }),
}

/** @param sessionId see `Challenges.create` */
async function respondWithChallenge(
  request: Pick<HttpRequest, 'clientIp'> & { readonly body: Static<typeof challengeBody> },
  { challenges, limits, config }: Pick<WalletRouteDependencies, 'challenges' | 'limits' | 'config'>,
  reply: HttpReply,
  sessionId?: number,
): Promise<Static<typeof challengeView>> {
  const wallet = checkedAddress(request.body.address)
  await limits.assertChallengeAllowed(request.clientIp)
  const chainId = chainOf(request.body.chainId, config)
  const { issuedAt, expiresAt, ...challenge } = await challenges.create(wallet, chainId, sessionId)
  reply.header('cache-control', 'no-store')
  return { ...challenge, issuedAt: issuedAt.toISOString(), expiresAt: expiresAt.toISOString() }
}

const attemptOf = (
  request: Pick<HttpRequest, 'clientIp' | 'traceId' | 'headers'>,
  reply: HttpReply,
  wallet: Address,
  method: string,
) => ({
  clientIp: request.clientIp,
  traceId: request.traceId,
  userAgent: request.headers['user-agent'] ?? '',
  method,
  identifier: wallet,
  // Addresses are public. The first and last characters are enough to distinguish two wallets.
  shownIdentifier: `${wallet.slice(0, 6)}***${wallet.slice(-4)}`,
  setHeader: (name: string, value: string) => void reply.header(name, value),
})

export const walletRoutes = [
  route({
    method: 'POST',
    path: '/api/v1/auth/wallet/challenge',
    compress: false,
    summary: 'Create a challenge for a wallet to sign; valid for one login',
    access: 'public',
    request: { body: challengeBody },
    response: challengeView,
    reasons: challengeReasons,
    handler: (request, parts, reply) => respondWithChallenge(request, parts, reply),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/wallet/login',
    compress: false,
    summary: 'Log in with a signed challenge; the first login of a wallet creates its account',
    access: 'public',
    request: {
      body: Type.Object({
        ...signedChallenge,
        session: sessionTransportField,
      }),
    },
    response: openedSessionSchema,
    reasons: [
      '*',
      'iam.changed-meanwhile',
      'iam.origin-unproven',
      ...secondFactorReasons,
      'iam.user-disabled',
      'iam.user-unknown',
      'iam.username-taken',
      'rate-limit.exceeded',
      'rate-limit.store-unavailable',
      'wallet-login.address-refused',
      'wallet-login.challenge-refused',
      'wallet-login.registration-closed',
      'web3.address-invalid',
    ],
    handler: async (request, { login }, reply) => {
      const { challengeId, signature, session } = request.body
      const wallet = checkedAddress(request.body.address)
      assertMaySetCookie(session, request)
      const signed = { challengeId, signature, address: wallet }
      const opened = await login.open(signed, attemptOf(request, reply, wallet, loginMethod))
      return respondWithSession(opened, session, request, reply)
    },
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/wallet/proof/challenge',
    compress: false,
    summary: 'Create a challenge with which a wallet proves your identity again; valid for one proof in this session',
    access: 'user',
    request: { body: challengeBody },
    response: challengeView,
    reasons: challengeReasons,
    handler: (request, parts, reply) =>
      respondWithChallenge(request, parts, reply, requirePrincipal(request).sessionId),
  }),
  route({
    method: 'POST',
    path: '/api/v1/auth/wallet/proof',
    compress: false,
    summary: 'Prove your identity again with a wallet of your account; the session gets a new token',
    access: 'user',
    request: { body: Type.Object(signedChallenge) },
    response: renewedSessionSchema,
    reasons: [
      '*',
      'iam.proof-required',
      'rate-limit.exceeded',
      'rate-limit.store-unavailable',
      'wallet-login.address-refused',
      'wallet-login.challenge-refused',
      'web3.address-invalid',
    ],
    handler: async (request, { login }, reply) => {
      const { sessionId } = requirePrincipal(request)
      const { challengeId, signature } = request.body
      const wallet = checkedAddress(request.body.address)
      const session = { sessionId, token: tokenOf(request) }
      const signed = { challengeId, signature, address: wallet }
      const renewed = await login.prove(signed, session, attemptOf(request, reply, wallet, proofAttempt))
      return respondWithProof(renewed, request, reply)
    },
  }),
]

/** Declares this login for the sign-in page of the back office. */
export const walletSignIn: SignInDeclaration = {
  id: 'wallet-login.evm',
  kind: 'wallet',
  challenge: 'postAuthWalletChallenge',
  login: 'postAuthWalletLogin',
}
