import { isHexBytes, toHex } from '../addresses.ts'
import { encodeSignatureCall } from '../chains/contract-abi.ts'
import type { Address, Chain, ChainFactsFailure, Hex, VerificationResult } from '../contract.ts'

export interface ContractCall {
  readonly to: Address
  readonly data: Hex
  readonly gas: number
}

export interface ContractResponse {
  /** Result of the call. `0x` if the address has no contract; null if the call failed, for example by a revert. */
  readonly data: Hex | null
  /** Number of providers with this result. */
  readonly providers: number
}

export interface ContractChains {
  get(name: string): Promise<Chain | undefined>
  /**
   * Calls a contract without a transaction. If the chain has several providers, at least two must agree, or as many as
   * `platform.web3.rpc.agreement` requires. A call takes at most three request deadlines per provider.
   */
  call(chainName: string, call: ContractCall): Promise<ContractResponse | ChainFactsFailure>
}

interface ContractWalletDependencies {
  readonly chains: ContractChains
  /** Returns the name of the chain whose contract wallets are accepted; empty if none are. */
  readonly chainName: () => string
}

/** Gas limit of a query. It is enough to verify several owners or a passkey, and cheap for a node. */
const maxGas = 2_000_000
/** Signatures of several owners or of passkeys are long. */
const maxSignatureLength = 4096
/**
 * Maximum number of concurrent queries. Anonymous callers can start queries, and the settlement of orders needs the
 * same nodes.
 */
const maxConcurrent = 16

/** Asks the contract at the address whether a signature is valid (EIP-1271). */
export class ContractWallets {
  readonly #parts: ContractWalletDependencies
  #underWay = 0

  constructor(parts: ContractWalletDependencies) {
    this.#parts = parts
  }

  /**
   * Queries the contract if it may have created the signature. Otherwise returns `recovered`.
   *
   * @param recovered result of the recovery for this signature and digest
   */
  async decide<Result extends VerificationResult>(
    chainId: number,
    recovered: Result,
    digest: Uint8Array,
    signature: string,
  ): Promise<Result> {
    const { valid, address, reason } = recovered
    if (valid || reason?.startsWith('signature-') !== true || !isHexBytes(signature, 0, maxSignatureLength))
      return recovered
    const chainName = this.#parts.chainName()
    const chain = chainName === '' ? undefined : await this.#parts.chains.get(chainName)
    if (chain?.enabled !== true || chain.chainId !== chainId) return recovered
    const { data, yes } = await encodeSignatureCall(toHex(digest), signature)
    const agreedProviders = await this.#ask(chainName, { to: address as Address, data, gas: maxGas }, yes)
    if (agreedProviders === undefined) return { ...recovered, reason: 'contract-unanswered' }
    if (agreedProviders === 0) return recovered
    const { reason: _, recoveredAddress: __, ...rest } = recovered
    return { ...rest, valid: true, method: 'eip-1271', agreedProviders } as Result
  }

  /** Returns how many providers confirm the signature; 0 if the contract rejects it; undefined without agreement. */
  async #ask(chainName: string, call: ContractCall, yes: Hex): Promise<number | undefined> {
    if (this.#underWay >= maxConcurrent) return undefined
    this.#underWay++
    try {
      const response = await this.#parts.chains.call(chainName, call)
      if ('error' in response) return undefined
      return response.data?.toLowerCase() === yes ? response.providers : 0
    } finally {
      this.#underWay--
    }
  }
}
