import { randomBytes } from 'node:crypto'
import type { Clock } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'
import { type Address, toChecksumAddress } from '@plinth/web3'

/** What a message of Sign-In with Ethereum says (EIP-4361). */
export interface SiweContent {
  /** Host, with a port that is not the usual one. */
  readonly domain: string
  /** With its checksum (EIP-55). */
  readonly address: string
  /** One line. */
  readonly statement: string
  readonly uri: string
  readonly chainId: number
  /** At least 8 letters and digits. */
  readonly nonce: string
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/** The text, with LF between its lines and none at its end: every byte of it is signed. */
export const siweMessage = ({ domain, address, statement, uri, chainId, nonce, issuedAt, expiresAt }: SiweContent) =>
  [
    `${domain} wants you to sign in with your Ethereum account:`,
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

/** A message that waits for its signature. */
interface Challenge {
  readonly challengeId: string
  readonly message: string
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/** What is kept of a challenge until a login takes it. */
interface StoredChallenge {
  readonly message: string
  readonly address: Address
  /** Absent in one that an earlier release made. */
  readonly chainId?: number
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/** What was to be signed, and for which chain. */
interface TakenChallenge {
  readonly message: string
  readonly chainId: number | undefined
}

/** Why there is no challenge to sign in with; for the audit alone. */
type ChallengeFault = 'challenge-unknown' | 'challenge-expired' | 'challenge-of-another-address'

interface ChallengeParts {
  readonly store: Pick<SharedStore, 'set' | 'take'>
  readonly clock: Pick<Clock, 'now'>
  readonly settings: () => {
    readonly lifetimeMs: number
    readonly statement: string
    /** Absolute address of the site. */
    readonly siteUrl: string
  }
}

/** Bytes of the number that is signed, and of the one that names the challenge. */
const randomSize = 16
/** An expired challenge is kept for so long, so that the audit can tell it from an unknown one. */
const keptAfterExpiryMs = 15 * 60_000

/**
 * Challenges that all instances share. A login takes its challenge before anything is checked, in one step: of several
 * logins with one signature, on any instances, at most one gets it.
 */
export class Challenges {
  readonly #parts: ChallengeParts

  constructor(parts: ChallengeParts) {
    this.#parts = parts
  }

  /** The domain is that of the configuration: a page elsewhere cannot have its own name signed. */
  async create(address: Address, chainId: number): Promise<Challenge> {
    const { store, clock, settings } = this.#parts
    const { lifetimeMs, statement, siteUrl } = settings()
    const issuedAt = new Date(clock.now())
    const expiresAt = new Date(issuedAt.getTime() + lifetimeMs)
    const message = siweMessage({
      statement,
      chainId,
      issuedAt,
      expiresAt,
      domain: new URL(siteUrl).host,
      uri: siteUrl,
      address: toChecksumAddress(address) ?? address,
      nonce: randomBytes(randomSize).toString('hex'),
    })
    const challengeId = randomBytes(randomSize).toString('base64url')
    const stored: StoredChallenge = { message, address, chainId, expiresAt: expiresAt.getTime() }
    await store.set(keyOf(challengeId), JSON.stringify(stored), lifetimeMs + keptAfterExpiryMs)
    return { challengeId, message, issuedAt, expiresAt }
  }

  /** The message that was to be signed. The challenge is used up, whatever comes of it. */
  async take(challengeId: string, address: Address): Promise<TakenChallenge | ChallengeFault> {
    const text = await this.#parts.store.take(keyOf(challengeId))
    if (text === undefined) return 'challenge-unknown'
    const stored: StoredChallenge = JSON.parse(text)
    if (this.#parts.clock.now() >= stored.expiresAt) return 'challenge-expired'
    const { message, chainId } = stored
    return stored.address === address ? { message, chainId } : 'challenge-of-another-address'
  }
}

const keyOf = (challengeId: string) => `wallet-login:challenge:${challengeId}`
