import { type Clock, type ConfigView, errorReason, type Logger } from '@plinth/kernel'
import { parseDuration } from '@plinth/kernel/host'
import type { keys } from '../config.ts'
import type { FreshProofOptions } from '../contract.ts'
import { businessError } from '../declarations.ts'
import { type ProofMethod, proofStrengths, type SessionProof } from './contract.ts'

/**
 * Maximum time in milliseconds by which a proof may be in the future, because the clocks of two instances differ
 * slightly. A proof that is later than that counts as missing.
 */
const maxClockDifferenceMs = 2_000

/** The session of a caller. */
interface CallerSession {
  readonly userId: number
  /** 0: no session, for example for an API token. */
  readonly sessionId: number
  readonly proof: SessionProof | undefined
}

interface FreshProofDependencies {
  readonly clock: Pick<Clock, 'now'>
  readonly config: ConfigView<typeof keys>
  readonly log: Logger
  readonly proofMethods: ReadonlyMap<string, ProofMethod>
}

interface RankedMethod {
  readonly name: string
  readonly rank: number
}

/** A sign-in method that is no proof method has the lowest rank. */
const rankOf = (method: ProofMethod | undefined) =>
  method === undefined ? -1 : proofStrengths.indexOf(method.strength)

/** @param ranked the strongest first */
const strongestOf = (ranked: readonly RankedMethod[]) => ranked.filter(({ rank }) => rank === ranked[0]?.rank)

/**
 * Decides whether the last proof of identity in a session is recent enough. The proof belongs to the session, so a proof
 * in one session has no effect in another one. Using the session does not extend the proof.
 */
export class FreshProofs {
  readonly #parts: FreshProofDependencies

  constructor(parts: FreshProofDependencies) {
    this.#parts = parts
  }

  get isEnabled(): boolean {
    return this.#parts.config.get('platform.iam.fresh-proof.enabled')
  }

  /**
   * Checks that the caller has proven the identity recently. While fresh proofs are disabled, only checks operations with
   * `always`. Returns without a promise if the proof is recent.
   *
   * @param maxAge duration, for example `5m`
   * @param options see `Principal.assertFresh`
   * @throws BusinessError "401" `iam.proof-required` with `maxAgeSeconds` and `methods`, the strongest method first
   */
  assert(session: CallerSession, maxAge: string, options: FreshProofOptions = {}): void | Promise<void> {
    if (!this.isEnabled && options.always !== true) return
    const maxAgeMs = parseDuration(maxAge) ?? 0
    if (!this.#isFresh(session, maxAgeMs)) return this.#reject(session, maxAgeMs, options)
    if (options.strongest === true && this.isEnabled) return this.#assertStrongest(session, maxAgeMs)
  }

  /** Returns the names of the methods that the user can use now, the strongest first. */
  async methodsOf(userId: number): Promise<readonly string[]> {
    return (await this.#rankedMethodsOf(userId)).map(({ name }) => name)
  }

  async #rankedMethodsOf(userId: number): Promise<readonly RankedMethod[]> {
    const checked = await Promise.all(
      [...this.#parts.proofMethods].map(async ([name, method]) => {
        if (method.secondFactor?.isRecovery === true) return []
        const isAvailable = await this.#isAvailable(name, method, userId)
        return isAvailable ? [{ name, rank: rankOf(method) }] : []
      }),
    )
    return checked.flat().sort((a, b) => b.rank - a.rank || (a.name < b.name ? -1 : 1))
  }

  async #assertStrongest(session: CallerSession, maxAgeMs: number): Promise<void> {
    const method = this.#parts.proofMethods.get(session.proof?.by ?? '')
    // After a sign-in with a recovery code, the user has no stronger method left.
    if (method?.secondFactor?.isRecovery === true) return
    const strongest = strongestOf(await this.#rankedMethodsOf(session.userId))
    if (strongest.some(({ rank }) => rank > rankOf(method))) return this.#reject(session, maxAgeMs, { strongest: true })
  }

  #isFresh({ sessionId, proof }: CallerSession, maxAgeMs: number): boolean {
    if (sessionId === 0 || proof === undefined) return false
    const ageMs = this.#parts.clock.now() - proof.at
    return ageMs >= -maxClockDifferenceMs && ageMs <= maxAgeMs
  }

  async #reject(
    { userId, sessionId }: CallerSession,
    maxAgeMs: number,
    { strongest = false }: FreshProofOptions,
  ): Promise<void> {
    const ranked = sessionId === 0 ? [] : await this.#rankedMethodsOf(userId)
    // Otherwise a user without a method could never add the first one.
    if (!this.isEnabled && sessionId !== 0 && ranked.length === 0) return
    const methods = (strongest && this.isEnabled ? strongestOf(ranked) : ranked).map(({ name }) => name)
    const text = methods.length > 0 ? 'proof-required' : sessionId === 0 ? 'proof-without-session' : 'proof-impossible'
    throw businessError('proof-required', { text, data: { maxAgeSeconds: maxAgeMs / 1000, methods } })
  }

  /** A method that fails must not keep the user from using the others. */
  async #isAvailable(name: string, method: ProofMethod, userId: number): Promise<boolean> {
    try {
      return await method.isAvailable(userId)
    } catch (error) {
      this.#parts.log.warn(
        { method: name, reason: errorReason(error) },
        'a proof method is left out, because it failed',
      )
      return false
    }
  }
}
