import {
  type Accounts,
  type Identity,
  type LoginAttempt,
  RefusedProof,
  type RenameGuard,
  type Session,
} from '@plinth/iam'
import { type Address, isAddressShaped, type VerificationResult, type WalletVerifier } from '@plinth/web3'
import type { Challenges } from './challenges.ts'
import type { WalletLoginConfig } from './config.ts'
import { refusal } from './failures.ts'

/**
 * Nobody is renamed to an address that is not bound to the account (document 3, "Login", rule 3). What looks like an address
 * counts, in any case of letters and with a wrong checksum too: people do not check checksums, and names are compared
 * without case.
 */
export const renameRule: RenameGuard = {
  async assertUsernameAllowed(userId, username, identities) {
    if (!isAddressShaped(username)) return
    const isOwn = await identities.isBound(userId, provider, username.toLowerCase())
    if (!isOwn) throw refusal('name-not-bound', { data: { field: 'username' } })
  },
}

/** Provider of the external identities of wallets, and the type of their chains (decision A4). */
export const provider = 'evm'

/**
 * Proofs of wallets, as they are stored with their identities: by the key of the account, or by the contract at the address on
 * one chain. Who has the contract at an address differs from chain to chain.
 */
const byKey = 'ecrecover'
const byContractOf = (chainId: number | undefined) => `eip-1271:${chainId}`

/** If a chain has one provider, no other provider confirms its answers about a contract (decision F.3). */
const confirmingProviders = 2

interface WalletLoginParts {
  readonly challenges: Challenges
  readonly verifier: Pick<WalletVerifier, 'verifyPersonal' | 'verifyPersonalOnChain'>
  readonly accounts: Pick<Accounts, 'findByExternal' | 'resolveExternal' | 'storeExternalProof'>
  readonly identity: Pick<Identity, 'openProvenSession' | 'principalOf'>
  readonly config: Pick<WalletLoginConfig, 'get'>
}

interface SignedChallenge {
  readonly challengeId: string
  readonly address: Address
  readonly signature: string
}

interface ContractProof {
  readonly proof: string
  /** Null: without a proof. */
  readonly stored: string | null
  readonly result: VerificationResult
}

/** Turns a signed challenge into a session of the account of the wallet, which the first login creates. */
export class WalletLogin {
  readonly #parts: WalletLoginParts

  constructor(parts: WalletLoginParts) {
    this.#parts = parts
  }

  /**
   * @throws BusinessError "401" `wallet-login.challenge-refused`, one answer for whatever is wrong with the proof; "403"
   *   `iam.user-disabled`, `wallet-login.registration-closed` once it is right; what a guard of logins throws
   */
  async open(signed: SignedChallenge, attempt: LoginAttempt): Promise<Session> {
    const { accounts, identity } = this.#parts
    const known = await accounts.findByExternal({ provider, subject: signed.address })
    return identity.openProvenSession(known?.id ?? null, attempt, () =>
      this.#accountOf(signed, attempt, known !== undefined),
    )
  }

  async #accountOf(
    { challengeId, address, signature }: SignedChallenge,
    attempt: LoginAttempt,
    isKnown: boolean,
  ): Promise<number> {
    const { challenges, verifier, accounts } = this.#parts
    const taken = await challenges.take(challengeId, address)
    if (typeof taken === 'string') throw refused(taken)
    const { message, chainId } = taken
    const signed = { address, message, signature }
    const result =
      chainId === undefined ? verifier.verifyPersonal(signed) : await verifier.verifyPersonalOnChain(chainId, signed)
    if (!result.valid) throw refused(result.reason ?? 'signature-mismatch')
    if (!isKnown && !this.#parts.config.get('platform.wallet-login.registration-enabled'))
      throw refusal('registration-closed')
    const proof = result.method === 'ecrecover' ? byKey : byContractOf(chainId)
    const { account, proof: stored } = await accounts.resolveExternal(
      { provider, chainType: provider, subject: address, proof },
      { username: address, fallbackPrefix: `wallet_${address.slice(2, 10)}` },
      { ...attempt, name: 'wallet-login' },
    )
    if (proof !== byKey) await this.#assertContractOpens(account.id, { proof, stored, result })
    else if (stored !== byKey) await accounts.storeExternalProof({ provider, subject: address }, byKey)
    return account.id
  }

  /**
   * A contract opens the accounts that it has opened before, on the same chain, and never one that a key has proven. What only
   * one provider says opens no account with permissions (decision F.3). An identity without a stored proof counts as proven by
   * key.
   */
  async #assertContractOpens(userId: number, { proof, stored, result }: ContractProof): Promise<void> {
    if (stored === null || stored === byKey) throw refused('proven-by-key')
    if (stored !== proof) throw refused('proven-on-another-chain')
    if ((result.agreedProviders ?? 1) >= confirmingProviders) return
    const principal = await this.#parts.identity.principalOf(userId)
    const hasPermissions = principal !== undefined && (principal.isSuperAdmin || principal.permissions.size > 0)
    if (hasPermissions) throw refused('contract-unconfirmed')
  }
}

/** The caller learns nothing of what it was; the audit does. */
const refused = (reason: string) => refusal('challenge-refused', { cause: new RefusedProof(`wallet-login.${reason}`) })
