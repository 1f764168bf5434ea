import { extensionPoint, service, shape } from '@plinth/kernel'
import type { Address, Hex } from './addresses.ts'
import type { MessageEncoding, RecoveryBackendName } from './signatures/recovery.ts'
import type { TypedDataDomain } from './signatures/typed-data/document.ts'

export type { Address, Hex, MessageEncoding, RecoveryBackendName, TypedDataDomain }

export type VerificationReason =
  | 'address-invalid'
  /** The message has a wrong encoding, an unpaired surrogate, or more than 16 KiB. */
  | 'message-malformed'
  /** The text is not EIP-712 typed data within the limits, or a value does not match its type. */
  | 'typed-data-malformed'
  /** The domain of the typed data has another chain id than the caller specified. */
  | 'chain-id-mismatch'
  /**
   * The signature does not have 64 or 65 hexadecimal bytes, v is not 0, 1, 27 or 28, or no key can have created r and
   * s.
   */
  | 'signature-malformed'
  /** s is in the upper half. Anyone can compute this form from a valid signature (EIP-2). */
  | 'signature-high-s'
  /** Another key signed, or another message was signed. */
  | 'signature-mismatch'
  /**
   * The signature may come from a contract wallet, but too few providers responded or they disagree. A later call may
   * succeed.
   */
  | 'contract-unanswered'

/** `ecrecover`: the key of the address signed. `eip-1271`: the contract at the address accepted the signature. */
export type VerificationMethod = 'ecrecover' | 'eip-1271'

export interface VerificationResult {
  readonly valid: boolean
  /** The given address in lower case; unchanged if invalid. */
  readonly address: string
  /** Address of the key that signed; absent if unknown, and for `eip-1271`. */
  readonly recoveredAddress?: Address
  readonly method?: VerificationMethod
  /** Number of providers that confirmed the result of `eip-1271`. */
  readonly agreedProviders?: number
  readonly reason?: VerificationReason
}

/**
 * Result for typed data. It only proves that the address signed the content. The caller must check domain, contract,
 * nonce, deadline, amounts and authorised party.
 */
export interface TypedDataVerification extends VerificationResult {
  readonly domain?: TypedDataDomain
  readonly primaryType?: string
}

export interface PersonalSignature {
  readonly address: string
  readonly message: string
  /** Encoding of the message. Default: `utf8`. */
  readonly messageEncoding?: MessageEncoding
  readonly signature: string
}

export interface TypedDataSignature {
  readonly address: string
  /** JSON text, at most 64 KiB. Integers beyond 2^53 - 1 must be strings. */
  readonly typedData: string
  readonly signature: string
  /** If specified, it must equal the chain id of the domain. A domain without chain id is accepted. */
  readonly chainId?: number
}

/**
 * Verifies wallet signatures. Only the methods with `OnChain` in their name send requests. The other methods reject
 * contract wallets (EIP-1271) with `signature-mismatch` or `signature-malformed`. No method throws for invalid input. A
 * message can have several valid signatures, so never use one as idempotency key.
 */
export interface WalletVerifier {
  /** Library that recovers keys. The results do not depend on it. */
  readonly backend: RecoveryBackendName
  /** Verifies a signature of `personal_sign` (EIP-191, version 0x45). */
  verifyPersonal(signed: PersonalSignature): VerificationResult
  /** Verifies a signature of `eth_signTypedData_v4` (EIP-712). */
  verifyTypedData(signed: TypedDataSignature): TypedDataVerification
  /**
   * Verifies like `verifyPersonal`. If the key of the address did not sign, queries the contract at the address, on the
   * chain that `platform.web3.contract-wallets.chain` specifies (none by default). The result applies only to this
   * moment, because a contract may change its owners. Must not be called inside a database transaction.
   *
   * @param chainId chain that the message is meant for
   */
  verifyPersonalOnChain(chainId: number, signed: PersonalSignature): Promise<VerificationResult>
  /** Like `verifyTypedData`, but queries contract wallets as `verifyPersonalOnChain` does. */
  verifyTypedDataOnChain(chainId: number, signed: TypedDataSignature): Promise<TypedDataVerification>
}

export const walletVerifier = service<WalletVerifier>('web3.wallet-verifier', { from: '@plinth/web3' })

/**
 * Tells when a block is final. `depth`: when it has enough confirmations. `safe` and `finalized`: in addition, it must
 * not be above the block with this tag.
 */
export type Finality = 'depth' | 'safe' | 'finalized'

/** A chain without the URLs of its providers, because these URLs are secrets. */
export interface Chain {
  /** Name of the chain. It never changes, because the keys of transfers start with it. */
  readonly name: string
  /** Id of the chain (EIP-155). It is unique and never changes, because otherwise a transfer could count twice. */
  readonly chainId: number
  readonly enabled: boolean
  /** Number of required confirmations. If null, no order of this chain is settled. */
  readonly requiredConfirmations: number | null
  readonly finality: Finality
  /** Number of blocks that a provider may be behind the highest recent height. */
  readonly maxHeadLagBlocks: number
  /** URL of the page that shows a transaction, with the placeholder `{hash}`. */
  readonly explorerTransactionUrl: string | null
  /** Providers in the order in which they are queried. */
  readonly providers: readonly { readonly id: string }[]
  /**
   * SHA-256 of the settings that decide which facts count: providers with their URLs, required confirmations, finality
   * and lag. A plan with another digest is outdated. A provider whose URL is entered again counts as changed.
   */
  readonly settingsDigest?: string
  /** Time of the last change in milliseconds since the epoch. */
  readonly updatedAt?: number
}

/** A part of the product that acts on the facts of chains, for example the settlement of payments. */
export interface ChainUse {
  /** Permission that an operator also needs to change how the facts of a used chain are established. */
  readonly permission: string
  /** Returns true if this part acts on the facts of the chain. */
  uses(chain: Chain): boolean
}

export const chainUse = extensionPoint<ChainUse>('web3.chain-use', {
  from: '@plinth/web3',
  live: true,
  names: shape.dotted,
  shape: shape.object<ChainUse>({ permission: shape.text, uses: shape.function }),
})

/** A log of a receipt. Hexadecimal texts are in lower case. */
export interface ChainLog {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
  /** Index in the block, which may change when the transaction is mined again. */
  readonly logIndex: number
  readonly transactionHash: Hex
  readonly blockNumber: number
  readonly blockHash: Hex
  /** True if the node reports that the block has left the chain. */
  readonly removed: boolean
}

export interface ChainReceipt {
  readonly transactionHash: Hex
  readonly blockNumber: number
  readonly blockHash: Hex
  readonly status: 'success' | 'reverted'
  readonly from: Address
  readonly to: Address | null
  /** Logs in the order in which the transaction wrote them. */
  readonly logs: readonly ChainLog[]
}

export interface ChainTransaction {
  readonly hash: Hex
  readonly from: Address
  readonly to: Address | null
  /** Smallest units of the native coin. */
  readonly value: bigint
  /** Null if the transaction is not in a block. */
  readonly blockNumber: number | null
  readonly blockHash: Hex | null
}

/**
 * Consistent facts from one provider. If several providers must agree (`platform.web3.rpc.agreement`), the others
 * reported the same block and receipt, and each height is the lowest that one of them reported.
 */
export interface ChainObservation {
  readonly providerId: string
  readonly chainId: number
  /** Null if the provider does not know the transaction. */
  readonly transaction: ChainTransaction | null
  /** Null if the transaction is not in a block. */
  readonly receipt: ChainReceipt | null
  /** Height of the newest block, never below the block of the receipt. */
  readonly head: number
  /**
   * Hash of the block that is now at the height of the receipt. After a reorganisation it may differ from the block of
   * the receipt.
   */
  readonly canonicalBlockHash: Hex | null
  /** Time of the block with `canonicalBlockHash` in milliseconds since the epoch; null if unknown. */
  readonly blockTime: number | null
  /** Height of the block with the tag `safe`, if the chain has the finality `safe`. */
  readonly safeNumber?: number
  /** Height of the block with the tag `finalized`, if the chain has the finality `finalized`. */
  readonly finalizedNumber?: number
  /** Milliseconds since the epoch. */
  readonly observedAt: number
}

/** Stable code. It never contains text of the URL or the response. */
export type ProviderFault =
  /** Connection refused or reset, unknown host, or forbidden by the rules for outgoing requests. */
  | 'unreachable'
  | 'timeout'
  /** HTTP status 429. */
  | 'rate-limited'
  /** HTTP status other than 200 and 429. */
  | 'http-status'
  | 'answer-too-large'
  /** The response is not JSON-RPC, or does not match the calls. */
  | 'answer-invalid'
  | 'rpc-error'
  /** The result is invalid for the method, or belongs to another transaction. */
  | 'result-invalid'
  /** Parts of the response contradict each other. */
  | 'inconsistent'
  /** The reported height is higher than the time and the other providers allow. */
  | 'head-implausible'
  /** Fewer providers agree than `platform.web3.rpc.agreement` requires. */
  | 'unconfirmed'
  /** The newest block of the provider is below the block of the receipt, or too far behind other providers. */
  | 'stale-head'
  | 'chain-id-mismatch'
  /** The provider is paused after repeated failures. */
  | 'circuit-open'
  | 'overloaded'
  /** The stored URL cannot be decrypted. */
  | 'secret-unreadable'

export interface ProviderAttempt {
  readonly providerId: string
  readonly fault: ProviderFault
}

export interface ChainFactsFailure {
  /** `chain-id-mismatch` only if every provider belongs to another chain. */
  readonly error: 'chain-not-configured' | 'chain-id-mismatch' | 'rpc-query-failed'
  /** Failures in the order in which the providers were queried. */
  readonly attempts: readonly ProviderAttempt[]
}

export type ChainFacts = ChainObservation | ChainFactsFailure

export interface FactsRequest {
  /** `0x` and 64 hexadecimal digits. */
  readonly transactionHash: string
}

/**
 * Reads facts about transactions. The next provider is queried only after a failure of the previous one, or if several
 * must agree. A call takes at most three request deadlines per provider. Must not be called inside a database
 * transaction.
 */
export interface Chains {
  /** Returns the chains, ordered by name. */
  list(): Promise<readonly Chain[]>
  get(name: string): Promise<Chain | undefined>
  /** @throws RangeError for an invalid transaction hash */
  facts(chainName: string, request: FactsRequest): Promise<ChainFacts>
  /**
   * Queries many transactions with few requests.
   *
   * @param hashes in any case; keys of the result are in lower case
   * @throws RangeError for an invalid transaction hash
   */
  factsOfMany(chainName: string, hashes: readonly string[]): Promise<ReadonlyMap<string, ChainFacts>>
}

export const chains = service<Chains>('web3.chains', { from: '@plinth/web3' })

/** Facts about a token, for display only, because a contract may report anything. */
export interface TokenInfo {
  /** Decimal places, 0 to 77; null if unknown. */
  readonly decimals: number | null
  /** 1 to 16 letters, digits or signs; null if unknown. */
  readonly symbol: string | null
}

export interface Tokens {
  /**
   * Results are cached. After a failure, the chain is queried again after a minute. Never throws because of a chain or
   * contract. Must not be called inside a database transaction.
   */
  info(chainName: string, contract: string): Promise<TokenInfo>
}

export const tokens = service<Tokens>('web3.tokens', { from: '@plinth/web3' })

/**
 * Returns the URL to which `/tx/…`, `/address/…` and `/block/…` can be appended (EIP-3091). Null if the transaction
 * page is not `https://…/tx/{hash}`.
 */
export const explorerBase = ({ explorerTransactionUrl }: Pick<Chain, 'explorerTransactionUrl'>): string | null =>
  /^(https:\/\/[^?#{}]+)\/tx\/\{hash\}$/.exec(explorerTransactionUrl ?? '')?.[1] ?? null
