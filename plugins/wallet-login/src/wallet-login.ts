import {
  type Accounts,
  type Identity,
  type LoginAttempt,
  RejectedProofError,
  type RenameGuard,
  type Session,
} from '@plinth/iam'
import { type Address, isAddressShaped, type VerificationResult, type WalletVerifier } from '@plinth/web3'
import type { Challenges } from './challenges.ts'
import type { WalletLoginConfig } from './config.ts'
import { businessError } from './declarations.ts'

/**
 * Rejects a user name that looks like an address, unless the address is bound to the account. The case of letters and a
 * wrong checksum make no difference, because users do not verify checksums, and user names are compared without regard
 * to case.
 */
export const renameGuardOfWallets: RenameGuard = {
  async assertUsernameAllowed(userId, username, identities) {
    if (!isAddressShaped(username)) return
    const isOwn = await identities.isBound(userId, provider, username.toLowerCase())
    if (!isOwn) throw businessError('name-not-bound', { data: { field: 'username' } })
  },
}

/** Name of the proof method of this plugin. */
export const proofMethodName = 'wallet'

/** Provider name of wallet identities. */
export const provider = 'evm'

/**
 * Stored proofs of wallet identities: confirmed by the key of the address, or by the contract at the address on one
 * chain. The proof of a contract contains the chain, because contracts at the same address on two chains can belong to
 * different owners.
 */
const byKey = 'ecrecover'
const byContractOf = (chainId: number | undefined) => `eip-1271:${chainId}`

/** Number of RPC providers that must confirm a contract wallet before it can log in to an account with permissions. */
const confirmingProviders = 2

interface WalletLoginDependencies {
  readonly challenges: Challenges
  readonly verifier: Pick<WalletVerifier, 'verifyPersonal' | 'verifyPersonalOnChain'>
  readonly accounts: Pick<Accounts, 'findByExternal' | 'resolveExternal' | 'storeExternalProof'>
  readonly identity: Pick<Identity, 'openProvenSession' | 'principalOf' | 'proveAgain'>
  readonly config: Pick<WalletLoginConfig, 'get'>
}

interface SignedChallenge {
  readonly challengeId: string
  readonly address: Address
  readonly signature: string
}

/** The session of a request. */
interface ProvenSession {
  readonly sessionId: number
  /** Access token of the session. */
  readonly token: string
}

interface ContractProof {
  readonly proof: string
  /** Null if the identity has no stored proof. */
  readonly stored: string | null
  readonly result: VerificationResult
}

/** Opens a session for a signed challenge. The first login of a wallet creates its account. */
export class WalletLogin {
  readonly #parts: WalletLoginDependencies

  constructor(parts: WalletLoginDependencies) {
    this.#parts = parts
  }

  /**
   * Opens a session.
   *
   * @throws BusinessError "401" `wallet-login.challenge-refused` for every invalid proof; after a valid proof "403"
   * `iam.user-disabled`, `wallet-login.registration-closed`; and the errors of login guards
   */
  async open(signed: SignedChallenge, attempt: LoginAttempt): Promise<Session> {
    const { accounts, identity } = this.#parts
    const known = await accounts.findByExternal({ provider, subject: signed.address })
    return identity.openProvenSession(known?.id ?? null, attempt, () =>
      this.#accountOf(signed, attempt, known !== undefined),
    )
  }

  /**
   * Proves the user of a session again by a wallet of the account. Returns the session with its new token.
   *
   * @throws BusinessError "401" `wallet-login.challenge-refused` for every invalid proof, and the errors of
   *   `Identity.proveAgain`
   */
  async prove(signed: SignedChallenge, session: ProvenSession, attempt: LoginAttempt): Promise<Session> {
    const { identity, accounts } = this.#parts
    return identity.proveAgain(session.token, proofMethodName, attempt, async (userId) => {
      const { proof, result } = await this.#proofOf(signed, session.sessionId)
      const bound = await accounts.findByExternal({ provider, subject: signed.address })
      if (bound?.id !== userId) throw rejected('address-of-another-user')
      if (proof !== byKey) await this.#assertContractOpens(userId, { proof, stored: bound.externalProof, result })
    })
  }

  /** Checks a signature, and returns how it proves the address. */
  async #proofOf({ challengeId, address, signature }: SignedChallenge, sessionId?: number) {
    const { challenges, verifier } = this.#parts
    const taken = await challenges.take(challengeId, address, sessionId)
    if (typeof taken === 'string') throw rejected(taken)
    const { message, chainId } = taken
    const signed = { address, message, signature }
    const result =
      chainId === undefined ? verifier.verifyPersonal(signed) : await verifier.verifyPersonalOnChain(chainId, signed)
    if (!result.valid) throw rejected(result.reason ?? 'signature-mismatch')
    return { proof: result.method === 'ecrecover' ? byKey : byContractOf(chainId), result }
  }

  async #accountOf(signed: SignedChallenge, attempt: LoginAttempt, isKnown: boolean): Promise<number> {
    const { accounts } = this.#parts
    const { address } = signed
    const { proof, result } = await this.#proofOf(signed)
    if (!isKnown && !this.#parts.config.get('platform.wallet-login.registration-enabled'))
      throw businessError('registration-closed')
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
   * Checks whether a contract may log in to an account. The same contract on the same chain must have logged in before.
   * If the account was proven by a key, a contract cannot log in. If the account has permissions, one confirming RPC
   * provider is not enough. An identity without a stored proof counts as proven by key.
   */
  async #assertContractOpens(userId: number, { proof, stored, result }: ContractProof): Promise<void> {
    if (stored === null || stored === byKey) throw rejected('proven-by-key')
    if (stored !== proof) throw rejected('proven-on-another-chain')
    if ((result.agreedProviders ?? 1) >= confirmingProviders) return
    const principal = await this.#parts.identity.principalOf(userId)
    const hasPermissions = principal !== undefined && (principal.isSuperAdmin || principal.permissions.size > 0)
    if (hasPermissions) throw rejected('contract-unconfirmed')
  }
}

/** Returns the error for an invalid proof. Only the audit contains the reason. */
const rejected = (reason: string) =>
  businessError('challenge-refused', { cause: new RejectedProofError(`wallet-login.${reason}`) })
