import { randomBytes } from 'node:crypto'
import type { Clock } from '@plinth/kernel'
import type { SharedStore } from '@plinth/shared-store'

/** Time in milliseconds for which a challenge is valid. WebAuthn Level 3, 5.4, recommends five minutes. */
export const challengeLifetimeMs = 300_000

interface StoredChallenge {
  readonly challenge: string
  readonly purpose: string
  /** Milliseconds since the epoch. The store may use another clock. */
  readonly expiresAt: number
}

interface ChallengeDependencies {
  readonly store: Pick<SharedStore, 'set' | 'take'>
  readonly clock: Pick<Clock, 'now'>
}

/**
 * Challenges of passkeys, shared by all instances. A challenge is removed before anything is checked, so it is valid for
 * one response. Its purpose contains the session or the pending sign-in, so it is valid for nothing else.
 */
export class Challenges {
  readonly #parts: ChallengeDependencies

  constructor(parts: ChallengeDependencies) {
    this.#parts = parts
  }

  /** Returns the id of the stored challenge. */
  async store(challenge: string, purpose: string): Promise<string> {
    const { store, clock } = this.#parts
    const challengeId = randomBytes(16).toString('base64url')
    const stored: StoredChallenge = { challenge, purpose, expiresAt: clock.now() + challengeLifetimeMs }
    await store.set(keyOf(challengeId), JSON.stringify(stored), challengeLifetimeMs)
    return challengeId
  }

  /** Returns the challenge, or undefined if it is unknown, used, expired or for another purpose. */
  async take(challengeId: string, purpose: string): Promise<string | undefined> {
    const { store, clock } = this.#parts
    const text = await store.take(keyOf(challengeId))
    if (text === undefined) return undefined
    const stored: StoredChallenge = JSON.parse(text)
    return stored.purpose === purpose && clock.now() < stored.expiresAt ? stored.challenge : undefined
  }
}

const keyOf = (challengeId: string) => `authenticators:challenge:${challengeId}`
