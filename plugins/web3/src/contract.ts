import { service } from '@plinth/kernel'
import type { Address } from './addresses.ts'
import type { Hex } from './hex.ts'
import type { MessageEncoding, RecoveryBackendName } from './signatures/recovery.ts'
import type { TypedDataDomain } from './signatures/typed-data/document.ts'

export type { Address, Hex, MessageEncoding, RecoveryBackendName, TypedDataDomain }

/** Why a signature proves nothing. Stable. */
export type VerificationReason =
  /** The address that is said to have signed is none. */
  | 'address-invalid'
  /** No message: not of the encoding, half a surrogate pair, or longer than 16 KiB. */
  | 'message-malformed'
  /** Not EIP-712 typed data within the bounds, or a value that is not of its type. */
  | 'typed-data-malformed'
  /** The domain names another chain than the one that was asked for. */
  | 'chain-id-mismatch'
  /** Not 65 or 64 bytes in hexadecimal, v outside 0, 1, 27 and 28, or r and s that no key makes. */
  | 'signature-malformed'
  /** The twin of a signature, which anybody can compute from it (EIP-2). */
  | 'signature-high-s'
  /** Somebody else signed, or something else was signed. */
  | 'signature-mismatch'
  /** A contract may have to decide, and too few providers answered, or they disagree: the same call may be valid later. */
  | 'contract-unanswered'

/** Who vouched: the key of the account, or the contract at the address (EIP-1271). */
export type VerificationMethod = 'ecrecover' | 'eip-1271'

export interface VerificationResult {
  readonly valid: boolean
  /** The address that was asked for, in lower case; as given when it is none. */
  readonly address: string
  /** Who signed; absent when that cannot be told, and where a contract vouched. */
  readonly recoveredAddress?: Address
  /** Absent when not valid. */
  readonly method?: VerificationMethod
  /** RPC providers that said that the contract agrees; absent unless `method` is `eip-1271`. */
  readonly agreedProviders?: number
  /** Absent when valid. */
  readonly reason?: VerificationReason
}

/**
 * What a caller has to look at besides: a signature over typed data proves that the address agreed to these words, to
 * whomever and whenever. Domain, contract, nonce, deadline, amounts and the authorised party are compared by who acts on it
 * (document 3, "Login", rule 4).
 */
export interface TypedDataVerification extends VerificationResult {
  /** Absent when the document could not be read. */
  readonly domain?: TypedDataDomain
  readonly primaryType?: string
}

export interface PersonalSignature {
  readonly address: string
  readonly message: string
  /** `utf8` when absent: never guessed from the text. */
  readonly messageEncoding?: MessageEncoding
  readonly signature: string
}

export interface TypedDataSignature {
  readonly address: string
  /** The JSON text, at most 64 KiB. Whole numbers beyond 2^53-1 are written as texts. */
  readonly typedData: string
  readonly signature: string
  /** When given, a domain that names a chain must name this one. */
  readonly chainId?: number
}

/**
 * Checks signatures of externally owned accounts, without a request. Contract wallets (EIP-1271) end as `signature-mismatch` or
 * `signature-malformed` there: only their chain can tell, and is asked by the methods that are named after it. Never throws for
 * what a caller sends. Writes nothing, and one message has several signatures, so none of them is good as an idempotency key.
 */
export interface WalletVerifier {
  /** `native` where the library of the machine was found; the answers are the same. */
  readonly backend: RecoveryBackendName
  /** `personal_sign` (EIP-191, version 0x45). */
  verifyPersonal(signed: PersonalSignature): VerificationResult
  /** `eth_signTypedData_v4` (EIP-712). */
  verifyTypedData(signed: TypedDataSignature): TypedDataVerification
  /**
   * As `verifyPersonal`. Where the signature is not one of the account's own key, the contract at the address is asked, if the
   * product lets contract wallets of this chain sign (`platform.web3.contract-wallets.chain`, off by default). What a contract
   * says holds for that moment alone: it may change its owners. Never within a transaction of the database.
   *
   * @param chainId that the message is meant for
   */
  verifyPersonalOnChain(chainId: number, signed: PersonalSignature): Promise<VerificationResult>
  /** As `verifyTypedData` with this `chainId`; contracts as in `verifyPersonalOnChain`. */
  verifyTypedDataOnChain(chainId: number, signed: TypedDataSignature): Promise<TypedDataVerification>
}

export const walletVerifier = service<WalletVerifier>('web3.wallet-verifier', { from: '@plinth/web3' })

/** What makes a block final besides its depth: nothing, or the tag of the node that it must not be above. */
export type Finality = 'depth' | 'safe' | 'finalized'

/** An EVM chain as an administrator set it up. Never holds an address of a provider: those are secrets. */
export interface Chain {
  /** Chosen once: keys of transfers begin with it. */
  readonly name: string
  /** EIP-155. Chosen once, and of one chain alone: under two names a transfer could be counted twice. */
  readonly chainId: number
  readonly enabled: boolean
  /** Null: nobody has said how many are enough, so nothing is settled (decision A26). */
  readonly requiredConfirmations: number | null
  readonly finality: Finality
  /** Blocks that a provider may be behind the highest head that was lately seen on the chain. */
  readonly maxHeadLagBlocks: number
  /** Holds `{hash}`. */
  readonly explorerTransactionUrl: string | null
  /** In the order in which they are asked. */
  readonly providers: readonly { readonly id: string }[]
}

/** A log of a receipt. Addresses, hashes and data are in lower case. */
export interface ChainLog {
  readonly address: Address
  readonly topics: readonly Hex[]
  readonly data: Hex
  /** Within the block: a transaction that is mined again may get other ones. */
  readonly logIndex: number
  readonly transactionHash: Hex
  readonly blockNumber: number
  readonly blockHash: Hex
  /** The node says that the block of the log is no longer on the chain. */
  readonly removed: boolean
}

export interface ChainReceipt {
  readonly transactionHash: Hex
  readonly blockNumber: number
  readonly blockHash: Hex
  readonly status: 'success' | 'reverted'
  readonly from: Address
  readonly to: Address | null
  /** In the order of the answer, which is that of the transaction. */
  readonly logs: readonly ChainLog[]
}

export interface ChainTransaction {
  readonly hash: Hex
  readonly from: Address
  readonly to: Address | null
  /** Of the native coin, in its smallest unit. */
  readonly value: bigint
  /** Null: in no block yet. */
  readonly blockNumber: number | null
  readonly blockHash: Hex | null
}

/**
 * Facts about one transaction from one provider. They are consistent: no part is from another provider. Where several must
 * agree (`platform.web3.rpc.agreement`), the others said the same about the block and the receipt, and `head`, `safeNumber`
 * and `finalizedNumber` are the lowest of them.
 */
export interface ChainObservation {
  readonly providerId: string
  readonly chainId: number
  /** Null: the provider does not know it. */
  readonly transaction: ChainTransaction | null
  /** Null: it is in no block. */
  readonly receipt: ChainReceipt | null
  /** Number of the newest block. Never below the block of the receipt. */
  readonly head: number
  /** The block that is now at the height of the receipt's: another one than the receipt says after a reorganisation. Null without a receipt. */
  readonly canonicalBlockHash: Hex | null
  /** When this block was made, as its node says: milliseconds since the epoch. Null without a receipt, and where the node does not say. */
  readonly blockTime: number | null
  /** Where the finality of the chain is `safe`. */
  readonly safeNumber?: number
  /** Where the finality of the chain is `finalized`. */
  readonly finalizedNumber?: number
  /** Milliseconds since the epoch. */
  readonly observedAt: number
}

/** What was wrong with an answer of a provider. Stable; holds nothing of the address or of what was answered. */
export type ProviderFault =
  /** No answer: refused, reset, unknown host, not allowed by the rules of outgoing requests. */
  | 'unreachable'
  | 'timeout'
  /** HTTP 429. */
  | 'rate-limited'
  /** Another status than 200. */
  | 'http-status'
  | 'answer-too-large'
  /** No JSON-RPC, or not the calls that were asked. */
  | 'answer-invalid'
  /** A JSON-RPC error. */
  | 'rpc-error'
  /** A result that is not what the method answers, or that is about another transaction. */
  | 'result-invalid'
  /** Parts of the answer contradict each other. */
  | 'inconsistent'
  /** Its newest block is higher than the chain can be, by the time and by the other providers. */
  | 'head-implausible'
  /** Fewer providers than needed said the same (`platform.web3.rpc.agreement`). */
  | 'unconfirmed'
  /** Behind its own receipt, or too far behind what the chain was lately seen at. */
  | 'stale-head'
  /** The node of another chain. */
  | 'chain-id-mismatch'
  /** It failed often enough lately; not asked. */
  | 'circuit-open'
  /** Too many calls wait for it already. */
  | 'overloaded'
  /** Its address cannot be decrypted. */
  | 'secret-unreadable'

export interface ProviderAttempt {
  readonly providerId: string
  readonly fault: ProviderFault
}

/** No provider gave facts that hold. */
export interface ChainFactsFailure {
  /**
   * `chain-id-mismatch` only when every provider is a node of another chain: one that is unreachable says nothing of its
   * configuration.
   */
  readonly error: 'chain-not-configured' | 'chain-id-mismatch' | 'rpc-query-failed'
  /** In the order in which they were asked. */
  readonly attempts: readonly ProviderAttempt[]
}

export type ChainFacts = ChainObservation | ChainFactsFailure

export interface FactsRequest {
  /** `0x` and 64 hexadecimal digits. */
  readonly transactionHash: string
}

/**
 * Chains and what their nodes say. Asks one provider at a time, the next one only when an answer does not hold, or when
 * several must agree. Never within a transaction of the database; every call ends within the deadlines of three requests per
 * provider.
 */
export interface Chains {
  /** By name. */
  list(): Promise<readonly Chain[]>
  get(name: string): Promise<Chain | undefined>
  /** Throws RangeError for what is no hash of a transaction. */
  facts(chainName: string, request: FactsRequest): Promise<ChainFacts>
  /**
   * The facts of many transactions with few requests: the calls of all of them share batches.
   *
   * @param hashes any number, in any case; the answer is by the hash in lower case
   * @throws RangeError for what is no hash of a transaction
   */
  factsOfMany(chainName: string, hashes: readonly string[]): Promise<ReadonlyMap<string, ChainFacts>>
}

export const chains = service<Chains>('web3.chains', { from: '@plinth/web3' })

/** Decimals and symbol that the contract of a token reports. For display only: a contract may report anything. */
export interface TokenInfo {
  /** Decimal places of one whole token, 0 to 77; null where they are not known. */
  readonly decimals: number | null
  /** 1 to 16 letters, digits or signs; null where it is not known. */
  readonly symbol: string | null
}

export interface Tokens {
  /**
   * Decimals and symbol of a token. They are kept after the first answer; a chain that does not answer is asked again after a
   * minute. Never throws for what a chain or a contract answers. Never within a transaction of the database.
   */
  info(chainName: string, contract: string): Promise<TokenInfo>
}

export const tokens = service<Tokens>('web3.tokens', { from: '@plinth/web3' })

/**
 * The explorer of a chain, below which are `/tx/…`, `/address/…` and `/block/…` (EIP-3091); null when its page of a transaction
 * is not `https://…/tx/{hash}`.
 */
export const explorerBase = ({ explorerTransactionUrl }: Pick<Chain, 'explorerTransactionUrl'>): string | null =>
  /^(https:\/\/[^?#{}]+)\/tx\/\{hash\}$/.exec(explorerTransactionUrl ?? '')?.[1] ?? null
