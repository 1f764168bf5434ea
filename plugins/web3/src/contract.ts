import { service } from '@plinth/kernel'
import type { Address, Hex } from './addresses.ts'
import type { MessageEncoding, RecoveryBackendName } from './signatures/recovery.ts'
import type { TypedDataDomain } from './signatures/typed-data/document.ts'

export type { Address, Hex, MessageEncoding, RecoveryBackendName, TypedDataDomain }

/** Stable reason why a signature is not valid. */
export type VerificationReason =
  /** The given address is invalid. */
  | 'address-invalid'
  /** The message has the wrong encoding, contains half a surrogate pair, or exceeds 16 KiB. */
  | 'message-malformed'
  /** The document is not EIP-712 typed data within the limits, or a value does not match its type. */
  | 'typed-data-malformed'
  /** The domain contains a chain id other than the requested one. */
  | 'chain-id-mismatch'
  /** The signature is not 64 or 65 hexadecimal bytes, v is not 0, 1, 27 or 28, or no key can have created r and s. */
  | 'signature-malformed'
  /** The signature has the high-s form, which anyone can compute from a valid signature (EIP-2). */
  | 'signature-high-s'
  /** Another key signed, or another message was signed. */
  | 'signature-mismatch'
  /**
   * The signature may be that of a contract wallet, but too few providers responded or they disagree. A later call may
   * be valid.
   */
  | 'contract-unanswered'

/** Method of verification: the key of the account, or the contract at the address (EIP-1271). */
export type VerificationMethod = 'ecrecover' | 'eip-1271'

export interface VerificationResult {
  readonly valid: boolean
  /** The given address in lower case; unchanged if it is invalid. */
  readonly address: string
  /** The signer; absent if unknown and for `eip-1271`. */
  readonly recoveredAddress?: Address
  /** Absent when not valid. */
  readonly method?: VerificationMethod
  /** Number of RPC providers that confirmed the result of the contract; absent unless `method` is `eip-1271`. */
  readonly agreedProviders?: number
  /** Absent when valid. */
  readonly reason?: VerificationReason
}

/**
 * Result for typed data. The signature only proves that the address agreed to the content. The caller must compare
 * domain, contract, nonce, deadline, amounts and authorised party with its expectations.
 */
export interface TypedDataVerification extends VerificationResult {
  /** Absent if the document is invalid. */
  readonly domain?: TypedDataDomain
  readonly primaryType?: string
}

export interface PersonalSignature {
  readonly address: string
  readonly message: string
  /** Default: `utf8`. The encoding is never derived from the text. */
  readonly messageEncoding?: MessageEncoding
  readonly signature: string
}

export interface TypedDataSignature {
  readonly address: string
  /** JSON text, at most 64 KiB. Integers beyond 2^53-1 are written as strings. */
  readonly typedData: string
  readonly signature: string
  /** If present, a chain id in the domain must be equal. A domain without a chain id is valid. */
  readonly chainId?: number
}

/**
 * Verifies signatures of externally owned accounts without a request. For contract wallets (EIP-1271) the result is
 * `signature-mismatch` or `signature-malformed`, because only the chain can verify them. The methods with `OnChain`
 * query it. No method throws for invalid input. Nothing is stored. A message can have several valid signatures, so do
 * not use a signature as an idempotency key.
 */
export interface WalletVerifier {
  /** `native` if the native library of the machine was found. All backends return the same results. */
  readonly backend: RecoveryBackendName
  /** Verifies a signature of `personal_sign` (EIP-191, version 0x45). */
  verifyPersonal(signed: PersonalSignature): VerificationResult
  /** Verifies a signature of `eth_signTypedData_v4` (EIP-712). */
  verifyTypedData(signed: TypedDataSignature): TypedDataVerification
  /**
   * Like `verifyPersonal`. If the account key did not create the signature, the contract at the address is queried. The
   * product must allow contract wallets of this chain (`platform.web3.contract-wallets.chain`, off by default). The
   * result is only valid at this time, because a contract may change its owners. Must not be called within a database
   * transaction.
   *
   * @param chainId chain for which the message is intended
   */
  verifyPersonalOnChain(chainId: number, signed: PersonalSignature): Promise<VerificationResult>
  /** Like `verifyTypedData` with this `chainId`. Contracts are queried as in `verifyPersonalOnChain`. */
  verifyTypedDataOnChain(chainId: number, signed: TypedDataSignature): Promise<TypedDataVerification>
}

export const walletVerifier = service<WalletVerifier>('web3.wallet-verifier', { from: '@plinth/web3' })

/**
 * Condition for a final block. `depth`: it has enough confirmations. `safe` and `finalized`: in addition, it is not
 * above the block that the node reports under this tag.
 */
export type Finality = 'depth' | 'safe' | 'finalized'

/** An EVM chain as an administrator configured it. It contains no URL of a provider, because URLs are secrets. */
export interface Chain {
  /** Never changes, because the keys of transfers begin with this name. */
  readonly name: string
  /** Chain id of EIP-155. Unique and never changes, because otherwise a transfer could be counted twice. */
  readonly chainId: number
  readonly enabled: boolean
  /** Null if no number is configured. Then nothing is settled (decision A26). */
  readonly requiredConfirmations: number | null
  readonly finality: Finality
  /** Maximum number of blocks that a provider may be behind the highest recent head of the chain. */
  readonly maxHeadLagBlocks: number
  /** URL of the page of a transaction, with the placeholder `{hash}`. */
  readonly explorerTransactionUrl: string | null
  /** Providers in the order in which they are queried. */
  readonly providers: readonly { readonly id: string }[]
}

/** A log of a receipt. Addresses, hashes and data are lower case. */
export interface ChainLog {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
  /** Index within the block. It may change if the transaction is mined again. */
  readonly logIndex: number
  readonly transactionHash: Hex
  readonly blockNumber: number
  readonly blockHash: Hex
  /** True if the node reports that the block of the log is no longer on the chain. */
  readonly removed: boolean
}

export interface ChainReceipt {
  readonly transactionHash: Hex
  readonly blockNumber: number
  readonly blockHash: Hex
  readonly status: 'success' | 'reverted'
  readonly from: Address
  readonly to: Address | null
  /** In the order of the response, which is the order in the transaction. */
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
 * Consistent facts about one transaction from one provider. If several must agree (`platform.web3.rpc.agreement`), the
 * others returned the same block and receipt, and `head`, `safeNumber` and `finalizedNumber` are the lowest of all.
 */
export interface ChainObservation {
  readonly providerId: string
  readonly chainId: number
  /** Null if the provider does not know the transaction. */
  readonly transaction: ChainTransaction | null
  /** Null if the transaction is not in a block. */
  readonly receipt: ChainReceipt | null
  /** Number of the newest block, at least the block of the receipt. */
  readonly head: number
  /**
   * Hash of the current block at the height of the receipt. It differs from the receipt after a reorganisation. Null
   * without a receipt.
   */
  readonly canonicalBlockHash: Hex | null
  /**
   * Time of the block with the hash `canonicalBlockHash`, milliseconds since the epoch. Null without a receipt, and if
   * the node does not return the time.
   */
  readonly blockTime: number | null
  /** Present if the finality of the chain is `safe`. */
  readonly safeNumber?: number
  /** Present if the finality of the chain is `finalized`. */
  readonly finalizedNumber?: number
  /** Milliseconds since the epoch. */
  readonly observedAt: number
}

/** Stable code for a failure of a provider. It contains no text of the URL or of the response. */
export type ProviderFault =
  /** No response: refused, reset, unknown host, or not allowed by the rules of outgoing requests. */
  | 'unreachable'
  | 'timeout'
  /** The HTTP status is 429. */
  | 'rate-limited'
  /** The HTTP status is neither 200 nor 429. */
  | 'http-status'
  | 'answer-too-large'
  /** The response is not JSON-RPC, or does not match the calls. */
  | 'answer-invalid'
  /** The provider returned a JSON-RPC error. */
  | 'rpc-error'
  /** The result is invalid for the method, or belongs to another transaction. */
  | 'result-invalid'
  /** Parts of the response contradict each other. */
  | 'inconsistent'
  /** The newest block is higher than time and other providers allow. */
  | 'head-implausible'
  /** Too few providers agree (`platform.web3.rpc.agreement`). */
  | 'unconfirmed'
  /** The newest block is older than the block of the receipt, or too far behind the recent head of the chain. */
  | 'stale-head'
  /** The node belongs to another chain. */
  | 'chain-id-mismatch'
  /** The provider is paused after repeated failures. */
  | 'circuit-open'
  /** Too many calls wait for the provider. */
  | 'overloaded'
  /** The stored URL of the provider cannot be decrypted. */
  | 'secret-unreadable'

export interface ProviderAttempt {
  readonly providerId: string
  readonly fault: ProviderFault
}

/** No provider returned valid facts. */
export interface ChainFactsFailure {
  /**
   * `chain-id-mismatch` only if every provider is a node of another chain. An unreachable provider does not reveal its
   * chain.
   */
  readonly error: 'chain-not-configured' | 'chain-id-mismatch' | 'rpc-query-failed'
  /** In the order of the requests. */
  readonly attempts: readonly ProviderAttempt[]
}

export type ChainFacts = ChainObservation | ChainFactsFailure

export interface FactsRequest {
  /** `0x` and 64 hexadecimal digits. */
  readonly transactionHash: string
}

/**
 * Chains and the facts that their nodes report. Providers are queried one after another: the next one only after an
 * invalid response, or if several must agree. Must not be called within a database transaction. Every call ends within
 * the deadlines of three requests per provider.
 */
export interface Chains {
  /** Ordered by name. */
  list(): Promise<readonly Chain[]>
  get(name: string): Promise<Chain | undefined>
  /** @throws RangeError for an invalid transaction hash */
  facts(chainName: string, request: FactsRequest): Promise<ChainFacts>
  /**
   * Returns the facts of many transactions with few requests, because their calls share batches.
   *
   * @param hashes any number, in upper or lower case; the keys of the result are lower case
   * @throws RangeError for an invalid transaction hash
   */
  factsOfMany(chainName: string, hashes: readonly string[]): Promise<ReadonlyMap<string, ChainFacts>>
}

export const chains = service<Chains>('web3.chains', { from: '@plinth/web3' })

/**
 * Decimals and symbol as reported by the contract of a token. For display only, because a contract may report anything.
 */
export interface TokenInfo {
  /** Decimal places of one token, 0 to 77; null if unknown. */
  readonly decimals: number | null
  /** 1 to 16 letters, digits or signs; null if unknown. */
  readonly symbol: string | null
}

export interface Tokens {
  /**
   * Returns decimals and symbol of a token. They are cached after the first result. If the chain does not respond, it
   * is queried again after a minute. Never throws for a result of a chain or a contract. Must not be called within a
   * database transaction.
   */
  info(chainName: string, contract: string): Promise<TokenInfo>
}

export const tokens = service<Tokens>('web3.tokens', { from: '@plinth/web3' })

/**
 * Returns the base URL of the explorer with `/tx/…`, `/address/…` and `/block/…` (EIP-3091); null if the transaction
 * page is not `https://…/tx/{hash}`.
 */
export const explorerBase = ({ explorerTransactionUrl }: Pick<Chain, 'explorerTransactionUrl'>): string | null =>
  /^(https:\/\/[^?#{}]+)\/tx\/\{hash\}$/.exec(explorerTransactionUrl ?? '')?.[1] ?? null
