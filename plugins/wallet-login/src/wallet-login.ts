import { type Accounts, type Identity, type LoginAttempt, RefusedProof, type Session } from '@plinth/iam'
import type { Address, WalletVerifier } from '@plinth/web3'
import type { Challenges } from './challenges.ts'
import { refusal } from './failures.ts'

/** Provider of the external identities of wallets, and the type of their chains (decision A4). */
export const provider = 'evm'

export interface WalletLoginParts {
  readonly challenges: Challenges
  readonly verifier: Pick<WalletVerifier, 'verifyPersonal' | 'verifyPersonalOnChain'>
  readonly accounts: Pick<Accounts, 'findByExternal' | 'resolveExternal'>
  readonly identity: Pick<Identity, 'openProvenSession'>
}

export interface SignedChallenge {
  readonly challengeId: string
  readonly address: Address
  readonly signature: string
}

/** Turns a signed challenge into a session of the account of the wallet, which the first login creates. */
export class WalletLogin {
  readonly #parts: WalletLoginParts

  constructor(parts: WalletLoginParts) {
    this.#parts = parts
  }

  /**
   * @throws BusinessError "401" `wallet-login.challenge-refused`, one answer for whatever is wrong with the proof; "403"
   *   `iam.user-disabled` once it is right; what a guard of logins throws
   */
  async open(signed: SignedChallenge, attempt: LoginAttempt): Promise<Session> {
    const { accounts, identity } = this.#parts
    const known = await accounts.findByExternal({ provider, subject: signed.address })
    return identity.openProvenSession(known?.id ?? null, attempt, () => this.#accountOf(signed, attempt))
  }

  async #accountOf({ challengeId, address, signature }: SignedChallenge, attempt: LoginAttempt): Promise<number> {
    const { challenges, verifier, accounts } = this.#parts
    const taken = await challenges.take(challengeId, address)
    if (typeof taken === 'string') throw refused(taken)
    const { message, chainId } = taken
    const signed = { address, message, signature }
    const { valid, reason = 'signature-mismatch' } =
      chainId === undefined ? verifier.verifyPersonal(signed) : await verifier.verifyPersonalOnChain(chainId, signed)
    if (!valid) throw refused(reason)
    const { account } = await accounts.resolveExternal(
      { provider, chainType: provider, subject: address },
      { username: address, fallbackPrefix: `wallet_${address.slice(2, 10)}` },
      { ...attempt, name: 'wallet-login' },
    )
    return account.id
  }
}

/** The caller learns nothing of what it was; the audit does. */
const refused = (reason: string) => refusal('challenge-refused', { cause: new RefusedProof(`wallet-login.${reason}`) })
