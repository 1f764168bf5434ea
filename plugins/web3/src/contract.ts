import { service } from '@plinth/kernel'
import type { Address, Hex } from './addresses.ts'
import type { MessageEncoding, RecoveryBackendName } from './signatures/recovery.ts'
import type { TypedDataDomain } from './signatures/typed-data/document.ts'

export type { Address, Hex, MessageEncoding, RecoveryBackendName, TypedDataDomain }

/** Stable code for an invalid signature. */
export type VerificationReason =
  /** The given address is invalid. */
  | 'address-invalid'
  /** The message has the wrong encoding, contains an unpaired surrogate, or exceeds 16 KiB. */
  | 'message-malformed'
  /** The document is not EIP-712 typed data within the limits, or a value does not match its type. */
  | 'typed-data-malformed'
  /** The domain contains a chain id other than the given one. */
  | 'chain-id-mismatch'
  /**
   * The signature is not 64 or 65 bytes of hexadecimal text, v is not 0, 1, 27 or 28, or no key can have created r and
   * s.
   */
  | 'signature-malformed'
  /** The signature uses the high value of s, which anyone can compute from a valid signature (EIP-2). */
  | 'signature-high-s'
  /** Another key created the signature, or another message was signed. */
  | 'signature-mismatch'
  /**
   * A contract wallet may have created the signature, but too few providers responded or they disagree. A later call
   * may succeed.
   */
  | 'contract-unanswered'

/** `ecrecover`: the key of the address signed. `eip-1271`: the contract at the address accepted the signature. */
export type VerificationMethod = 'ecrecover' | 'eip-1271'

export interface VerificationResult {
  readonly valid: boolean
  /** The given address in lower case. An invalid address is returned unchanged. */
  readonly address: string
  /** Address whose key created the signature; absent if unknown, and for `eip-1271`. */
  readonly recoveredAddress?: Address
  /** Absent for an invalid signature. */
  readonly method?: VerificationMethod
  /** For `eip-1271`: number of RPC providers that confirmed the result. */
  readonly agreedProviders?: number
  /** Absent for a valid signature. */
  readonly reason?: VerificationReason
}

/**
 * Result for typed data. It proves only that the address signed the content. The caller must compare domain, contract,
 * nonce, deadline, amounts and authorised party with the expected values.
 */
export interface TypedDataVerification extends VerificationResult {
  /** Absent if the document is invalid. */
  readonly domain?: TypedDataDomain
  readonly primaryType?: string
}

export interface PersonalSignature {
  readonly address: string
  readonly message: string
  /** Default: `utf8`. The text never decides about the encoding. */
  readonly messageEncoding?: MessageEncoding
  readonly signature: string
}

export interface TypedDataSignature {
  readonly address: string
  /** JSON text, at most 64 KiB. Integers beyond 2^53 - 1 must be strings. */
  readonly typedData: string
  readonly signature: string
  /** If given, a chain id in the domain must be equal. A domain without a chain id is accepted. */
  readonly chainId?: number
}

/**
 * Verifies wallet signatures. `verifyPersonal` and `verifyTypedData` send no request, so they reject contract wallets
 * (EIP-1271) with `signature-mismatch` or `signature-malformed`. The methods with `OnChain` also query the chain. No
 * method throws for invalid input, and nothing is stored. A message can have several valid signatures, so never use a
 * signature as idempotency key.
 */
export interface WalletVerifier {
  /** `native` if the native library was found on this machine. Both backends return the same results. */
  readonly backend: RecoveryBackendName
  /** Verifies a signature of `personal_sign` (EIP-191, version 0x45). */
  verifyPersonal(signed: PersonalSignature): VerificationResult
  /** Verifies a signature of `eth_signTypedData_v4` (EIP-712). */
  verifyTypedData(signed: TypedDataSignature): TypedDataVerification
  /**
   * Like `verifyPersonal`. If the key of the address did not sign, the contract at the address is queried. The chain
   * must be allowed for contract wallets (`platform.web3.contract-wallets.chain`, off by default). A valid result may
   * be invalid later, because a contract may change its owners. Must not be called inside a database transaction.
   *
   * @param chainId chain that the message is meant for
   */
  verifyPersonalOnChain(chainId: number, signed: PersonalSignature): Promise<VerificationResult>
  /** Like `verifyTypedData` with this `chainId`, with contracts as in `verifyPersonalOnChain`. */
  verifyTypedDataOnChain(chainId: number, signed: TypedDataSignature): Promise<TypedDataVerification>
}

export const walletVerifier = service<WalletVerifier>('web3.wallet-verifier', { from: '@plinth/web3' })

/**
 * When a block is final. `depth`: it has enough confirmations. `safe` and `finalized`: in addition, the block that the
 * node reports under this tag is at least as high.
 */
export type Finality = 'depth' | 'safe' | 'finalized'

/** An EVM chain that an administrator configured. URLs of providers are left out, because they are secrets. */
export interface Chain {
  /** Never changes, because keys of transfers start with it. */
  readonly name: string
  /** Chain id of EIP-155. Unique; it never changes, because otherwise a transfer could count twice. */
  readonly chainId: number
  readonly enabled: boolean
  /** Null if not configured. Then no order is settled (decision A26). */
  readonly requiredConfirmations: number | null
  readonly finality: Finality
  /** Maximum number of blocks that a provider may be behind the highest recent height. */
  readonly maxHeadLagBlocks: number
  /** URL of the page for a transaction, with the placeholder `{hash}`. */
  readonly explorerTransactionUrl: string | null
  /** In the order in which they are queried. */
  readonly providers: readonly { readonly id: string }[]
}

/** A log of a receipt. Hexadecimal texts are in lower case. */
export interface ChainLog {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
  /** Index within the block. It may change when the transaction is mined again. */
  readonly logIndex: number
  readonly transactionHash: Hex
  readonly blockNumber: number
  readonly blockHash: Hex
  /** True if the node reports that the block of the log has left the chain. */
  readonly removed: boolean
}

export interface ChainReceipt {
  readonly transactionHash: Hex
  readonly blockNumber: number
  readonly blockHash: Hex
  readonly status: 'success' | 'reverted'
  readonly from: Address
  readonly to: Address | null
  /** In the order in which the transaction wrote them. */
  readonly logs: readonly ChainLog[]
}

export interface ChainTransaction {
  readonly hash: Hex
  readonly from: Address
  readonly to: Address | null
  /** Amount of the native coin in its smallest unit. */
  readonly value: bigint
  /** Null if the transaction is not in a block. */
  readonly blockNumber: number | null
  readonly blockHash: Hex | null
}

/**
 * Consistent facts from one provider about a transaction. If several providers must agree
 * (`platform.web3.rpc.agreement`), the others reported the same block and receipt. The heights are then the lowest of
 * all.
 */
export interface ChainObservation {
  readonly providerId: string
  readonly chainId: number
  /** Null if the provider does not know it. */
  readonly transaction: ChainTransaction | null
  /** Null if the transaction is not in a block yet. */
  readonly receipt: ChainReceipt | null
  /** Number of the newest block. It is never lower than the block of the receipt. */
  readonly head: number
  /**
   * Hash of the block that is now at the height of the receipt. After a reorganisation it differs from the receipt.
   * Null without a receipt.
   */
  readonly canonicalBlockHash: Hex | null
  /** Time of that block in milliseconds since the epoch. Null without a receipt, or if the node does not report it. */
  readonly blockTime: number | null
  /** Only for the finality `safe`. */
  readonly safeNumber?: number
  /** Only for the finality `finalized`. */
  readonly finalizedNumber?: number
  /** Milliseconds since the epoch. */
  readonly observedAt: number
}

/** Stable code for a failure of a provider. It never contains text of the URL or the response. */
export type ProviderFault =
  /** No response: connection refused or reset, unknown host, or forbidden by the rules for outgoing requests. */
  | 'unreachable'
  | 'timeout'
  /** The HTTP status is 429. */
  | 'rate-limited'
  /** The HTTP status is neither 200 nor 429. */
  | 'http-status'
  | 'answer-too-large'
  /** The response is not JSON-RPC or does not match the calls. */
  | 'answer-invalid'
  /** The provider returned a JSON-RPC error. */
  | 'rpc-error'
  /** The result is invalid for the method or belongs to another transaction. */
  | 'result-invalid'
  /** Parts of the response contradict each other. */
  | 'inconsistent'
  /** The newest block is higher than the time and the other providers allow. */
  | 'head-implausible'
  /** Fewer providers agree than `platform.web3.rpc.agreement` requires. */
  | 'unconfirmed'
  /** The newest block is lower than the block of the receipt, or too far behind the other providers. */
  | 'stale-head'
  /** The node belongs to another chain. */
  | 'chain-id-mismatch'
  /** The provider is paused after repeated failures. */
  | 'circuit-open'
  /** Too many calls are waiting for the provider. */
  | 'overloaded'
  /** The stored URL of the provider cannot be decrypted. */
  | 'secret-unreadable'

export interface ProviderAttempt {
  readonly providerId: string
  readonly fault: ProviderFault
}

/** No provider returned valid facts, or too few agreed. */
export interface ChainFactsFailure {
  /**
   * `chain-id-mismatch` only if every provider belongs to another chain. An unreachable provider does not count as
   * such.
   */
  readonly error: 'chain-not-configured' | 'chain-id-mismatch' | 'rpc-query-failed'
  /** In the order of the queries. */
  readonly attempts: readonly ProviderAttempt[]
}

export type ChainFacts = ChainObservation | ChainFactsFailure

export interface FactsRequest {
  /** `0x` and 64 hexadecimal digits. */
  readonly transactionHash: string
}

/**
 * Chains and facts about their transactions. Providers are queried one after another: the next one only after a
 * failure, or if several must agree. Must not be called inside a database transaction. A call ends after at most three
 * request deadlines per provider.
 */
export interface Chains {
  /** Ordered by name. */
  list(): Promise<readonly Chain[]>
  get(name: string): Promise<Chain | undefined>
  /** @throws RangeError for an invalid transaction hash */
  facts(chainName: string, request: FactsRequest): Promise<ChainFacts>
  /**
   * Returns the facts of many transactions with few requests.
   *
   * @param hashes any number, in any case; the keys of the result are in lower case
   * @throws RangeError for an invalid transaction hash
   */
  factsOfMany(chainName: string, hashes: readonly string[]): Promise<ReadonlyMap<string, ChainFacts>>
}

export const chains = service<Chains>('web3.chains', { from: '@plinth/web3' })

/** Decimals and symbol that a token contract reports. For display only, because a contract may report anything. */
export interface TokenInfo {
  /** Decimal places of one token, 0 to 77; null if unknown. */
  readonly decimals: number | null
  /** 1 to 16 letters, digits or signs; null if unknown. */
  readonly symbol: string | null
}

export interface Tokens {
  /**
   * Returns decimals and symbol of a token. A result is cached. After a failed query, the chain is queried again after
   * a minute. Never throws because of a chain or contract. Must not be called inside a database transaction.
   */
  info(chainName: string, contract: string): Promise<TokenInfo>
}

export const tokens = service<Tokens>('web3.tokens', { from: '@plinth/web3' })

/**
 * Returns the base URL of the explorer, to which `/tx/…`, `/address/…` and `/block/…` can be appended (EIP-3091). Null
 * if the transaction page is not `https://…/tx/{hash}`.
 */
export const explorerBase = ({ explorerTransactionUrl }: Pick<Chain, 'explorerTransactionUrl'>): string | null =>
  /^(https:\/\/[^?#{}]+)\/tx\/\{hash\}$/.exec(explorerTransactionUrl ?? '')?.[1] ?? null
