import { isHexBytes, toHex } from '../addresses.ts'
import { signatureCall } from '../chains/contract-abi.ts'
import type { Address, Chain, ChainFactsFailure, Hex, VerificationResult } from '../contract.ts'

export interface ContractCall {
  readonly to: Address
  readonly data: Hex
  /** Maximum gas. */
  readonly gas: number
}

export interface ContractResponse {
  /**
   * The returned bytes: `0x` if there is no contract, null if the call failed, for example because the contract
   * reverted or used all gas.
   */
  readonly data: Hex | null
  /** Number of providers with this result, 1 or more. */
  readonly providers: number
}

/** Calls contracts at the newest block of a chain. */
export interface ContractChains {
  get(name: string): Promise<Chain | undefined>
  /**
   * Calls a contract without a transaction. On a chain with several providers, at least two must return the same
   * result, or as many as `platform.web3.rpc.agreement` requires (decision F.3). Ends after at most three request
   * deadlines per provider.
   */
  call(chainName: string, call: ContractCall): Promise<ContractResponse | ChainFactsFailure>
}

interface ContractWalletParts {
  readonly chains: ContractChains
  /** Returns the chain on which contract wallets are accepted; empty if they are not accepted. */
  readonly chainName: () => string
}

/** Maximum gas of a call. Enough to verify several owners or a passkey, and still cheap for a node. */
const maxGas = 2_000_000
/** Maximum bytes of a signature. Signatures of several owners or of passkeys are long. */
const maxSignatureLength = 4096
/** Maximum number of concurrent queries. Anonymous callers can start them, and settlement needs the same nodes. */
const maxConcurrent = 16

/** Verifies signatures of contract wallets: the contract at the address decides (EIP-1271). */
export class ContractWallets {
  readonly #parts: ContractWalletParts
  #underWay = 0

  constructor(parts: ContractWalletParts) {
    this.#parts = parts
  }

  /**
   * Returns `recovered` if it is final. If a contract may have created the signature, queries the contract.
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
    const { data, yes } = await signatureCall(toHex(digest), signature)
    const agreedProviders = await this.#ask(chainName, { to: address as Address, data, gas: maxGas }, yes)
    if (agreedProviders === undefined) return { ...recovered, reason: 'contract-unanswered' }
    if (agreedProviders === 0) return recovered
    const { reason: _, recoveredAddress: __, ...rest } = recovered
    return { ...rest, valid: true, method: 'eip-1271', agreedProviders } as Result
  }

  /**
   * Returns the number of providers that confirm the signature; 0 if the contract rejects it; undefined if too few
   * providers responded or they disagree.
   */
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
