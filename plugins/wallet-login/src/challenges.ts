import { randomBytes } from 'node:crypto'
import { type Clock, omitUndefined } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import { type Address, toChecksumAddress } from '@plinth/web3'

/** Content of a message of Sign-In with Ethereum (EIP-4361). */
export interface SiweContent {
  /** Host of the site, with its port unless the port is the default one. */
  readonly domain: string
  /** Address of the wallet, in mixed case with its checksum (EIP-55). */
  readonly address: string
  /** Text for the user, in a single line. */
  readonly statement: string
  readonly uri: string
  readonly chainId: number
  /** Random text, at least 8 letters and digits. */
  readonly nonce: string
  readonly issuedAt: Date
  readonly expiresAt: Date
}

const firstLine = (domain: string) => `${domain} wants you to sign in with your Ethereum account:`

/** Returns the message, with LF between the lines and none at the end. The wallet signs every byte. */
export const siweMessage = ({ domain, address, statement, uri, chainId, nonce, issuedAt, expiresAt }: SiweContent) =>
  [
    firstLine(domain),
    address,
    '',
    statement,
    '',
    `URI: ${uri}`,
    'Version: 1',
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt.toISOString()}`,
    `Expiration Time: ${expiresAt.toISOString()}`,
  ].join('\n')

interface Challenge {
  readonly challengeId: string
  readonly message: string
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/** A stored challenge. A login or a proof removes it. */
interface StoredChallenge {
  readonly message: string
  readonly address: Address
  /** Absent in challenges of earlier releases. */
  readonly chainId?: number
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  /** Session whose user proves the identity again. Absent for a login. */
  readonly sessionId?: number
}

interface TakenChallenge {
  readonly message: string
  readonly chainId: number | undefined
}

/** Reason why a challenge is invalid. Only the audit contains it. */
type ChallengeProblem =
  | 'challenge-unknown'
  | 'challenge-expired'
  | 'challenge-of-another-address'
  | 'challenge-of-another-host'
  | 'challenge-of-another-session'

interface ChallengeDependencies {
  readonly store: Pick<SharedStore, 'set' | 'take'>
  readonly clock: Pick<Clock, 'now'>
  readonly settings: () => {
    readonly lifetimeMs: number
    readonly statement: string
    /** Absolute URL of the site. */
    readonly siteUrl: string
  }
}

/** Statement of a challenge for a proof. Wallets show it in the language in which it was written. */
const proofStatement = 'Prove your identity to continue.'

/** Length of the nonce and of the challenge id in bytes. */
const randomSize = 16
/** Milliseconds for which an expired challenge stays stored. The audit can then distinguish it from an unknown one. */
const keptAfterExpiryMs = 15 * 60_000

/**
 * Challenges, shared by all instances. A login removes its challenge atomically before it checks anything. Of several
 * logins with the same signature, on all instances, only one gets the challenge.
 */
export class Challenges {
  readonly #parts: ChallengeDependencies

  constructor(parts: ChallengeDependencies) {
    this.#parts = parts
  }

  get #domain(): string {
    return new URL(this.#parts.settings().siteUrl).host
  }

  /**
   * Creates a challenge. Its domain comes from the configuration, never from the request. Otherwise another site could
   * get a signature for its own domain.
   *
   * @param sessionId session whose user proves the identity again; if absent, the challenge is for a login. One is never
   *   valid for the other.
   */
  async create(address: Address, chainId: number, sessionId?: number): Promise<Challenge> {
    const { store, clock, settings } = this.#parts
    const { lifetimeMs, siteUrl, ...texts } = settings()
    const statement = sessionId === undefined ? texts.statement : proofStatement
    const issuedAt = new Date(clock.now())
    const expiresAt = new Date(issuedAt.getTime() + lifetimeMs)
    const message = siweMessage({
      statement,
      chainId,
      issuedAt,
      expiresAt,
      domain: this.#domain,
      uri: siteUrl,
      address: toChecksumAddress(address) ?? address,
      nonce: randomBytes(randomSize).toString('hex'),
    })
    const challengeId = randomBytes(randomSize).toString('base64url')
    const about = { message, address, chainId, expiresAt: expiresAt.getTime() }
    const stored: StoredChallenge = omitUndefined({ ...about, sessionId })
    await store.set(keyOf(challengeId), JSON.stringify(stored), lifetimeMs + keptAfterExpiryMs)
    return { challengeId, message, issuedAt, expiresAt }
  }

  /**
   * Removes and returns a challenge. It cannot be used again, even if the login fails. A challenge for another host than
   * that of the site is invalid (EIP-4361, domain binding), so a change of the host ends open challenges.
   */
  async take(challengeId: string, address: Address, sessionId?: number): Promise<TakenChallenge | ChallengeProblem> {
    const text = await this.#parts.store.take(keyOf(challengeId))
    if (text === undefined) return 'challenge-unknown'
    const stored: StoredChallenge = JSON.parse(text)
    if (this.#parts.clock.now() >= stored.expiresAt) return 'challenge-expired'
    if (stored.sessionId !== sessionId) return 'challenge-of-another-session'
    const { message, chainId } = stored
    if (!message.startsWith(`${firstLine(this.#domain)}\n`)) return 'challenge-of-another-host'
    return stored.address === address ? { message, chainId } : 'challenge-of-another-address'
  }
}

const keyOf = (challengeId: string) => `wallet-login:challenge:${challengeId}`
