import type { Database } from '@plinth/database'
import { type Clock, errorReason, type Logger } from '@plinth/kernel'
import { signInPolicyOf } from '../access/sign-in-policy.ts'
import { businessError } from '../declarations.ts'
import { type ProofMethod, proofStrengths, type SecondFactor } from '../proof/contract.ts'

interface SecondFactorDependencies {
  readonly db: Database
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  readonly proofMethods: ReadonlyMap<string, ProofMethod>
}

interface NamedFactor {
  readonly name: string
  readonly method: ProofMethod
  readonly factor: SecondFactor
}

/** A second factor that a sign-in needs. See `SecondFactorRequired`. */
export interface FactorRequirement {
  readonly methods: readonly string[]
  readonly setUp: boolean
}

/**
 * Decides whether a sign-in needs a second factor. A method that fails ends the sign-in, because otherwise an error would
 * turn the second factor off.
 */
export class SecondFactors {
  readonly #parts: SecondFactorDependencies

  constructor(parts: SecondFactorDependencies) {
    this.#parts = parts
  }

  /** Second factors of all plugins, the strongest first. */
  get #factors(): readonly NamedFactor[] {
    return [...this.#parts.proofMethods]
      .flatMap(([name, method]) => (method.secondFactor ? [{ name, method, factor: method.secondFactor }] : []))
      .sort((a, b) => strengthOf(b) - strengthOf(a) || (a.name < b.name ? -1 : 1))
  }

  isSecondFactor(method: string): boolean {
    return this.#parts.proofMethods.get(method)?.secondFactor !== undefined
  }

  /** Returns whether the method only completes a sign-in, and is no fresh proof. */
  isRecovery(method: string): boolean {
    return this.#parts.proofMethods.get(method)?.secondFactor?.isRecovery === true
  }

  /** @throws BusinessError "503" `iam.second-factor-unavailable` */
  async isAnySetUp(userId: number): Promise<boolean> {
    const setUp = await Promise.all(this.#factors.map((one) => this.#ask(one, ({ factor }) => factor.isSetUp(userId))))
    return setUp.includes(true)
  }

  /**
   * Returns the second factor that a sign-in of the user needs, or undefined.
   *
   * @throws BusinessError "503" `iam.second-factor-unavailable` if a method fails, or none of those that the user has set
   *   up can be used; "403" `iam.second-factor-impossible` if the user must set one up and no plugin offers it
   */
  async requirementFor(userId: number): Promise<FactorRequirement | undefined> {
    if (await this.isAnySetUp(userId)) {
      const methods = await this.#namesOf(({ method }) => method.isAvailable(userId))
      if (methods.length === 0) throw businessError('second-factor-unavailable')
      return { methods, setUp: false }
    }
    const { secondFactorFrom = Number.POSITIVE_INFINITY } = await signInPolicyOf(this.#parts.db.fork(), userId)
    if (secondFactorFrom > this.#parts.clock.now()) return undefined
    const methods = await this.#namesOf(({ factor }) => factor.canSetUp?.() === true)
    if (methods.length === 0) throw businessError('second-factor-impossible')
    return { methods, setUp: true }
  }

  async #namesOf(isOffered: (one: NamedFactor) => boolean | Promise<boolean>): Promise<readonly string[]> {
    const names = await Promise.all(
      this.#factors.map(async (one) => ((await this.#ask(one, isOffered)) ? [one.name] : [])),
    )
    return names.flat()
  }

  async #ask(one: NamedFactor, question: (one: NamedFactor) => boolean | Promise<boolean>): Promise<boolean> {
    try {
      return await question(one)
    } catch (cause) {
      this.#parts.log.error({ method: one.name, reason: errorReason(cause) }, 'a second factor cannot be checked')
      throw businessError('second-factor-unavailable', { cause })
    }
  }
}

/** Recovery codes come last, because they are for lost devices. */
const strengthOf = ({ method, factor }: NamedFactor) =>
  factor.isRecovery === true ? -1 : proofStrengths.indexOf(method.strength)
