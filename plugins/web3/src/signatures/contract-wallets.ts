import { signatureCall } from '../chains/contract-abi.ts'
import type { Address, Chain, ChainFactsFailure, Hex, VerificationResult } from '../contract.ts'
import { isHexBytes, toHex } from '../hex.ts'

/** What the contract at an address is asked. */
export interface ContractCall {
  readonly to: Address
  readonly data: Hex
  /** Units of gas at most. */
  readonly gas: number
}

export interface ContractAnswer {
  /** Any bytes, `0x` where there is no contract; null: the call failed, as it does when the contract reverts or the gas is used up. */
  readonly data: Hex | null
  /** Providers that gave this answer, >= 1. */
  readonly providers: number
}

/** Contracts of chains, as they are in the newest block. */
export interface ContractChains {
  get(name: string): Promise<Chain | undefined>
  /**
   * Without a transaction. Where the chain has two or more providers, two must give the same answer, or more where
   * `platform.web3.rpc.agreement` says so (decision F.3). Ends within the deadlines of three requests per provider.
   */
  call(chainName: string, call: ContractCall): Promise<ContractAnswer | ChainFactsFailure>
}

interface ContractWalletParts {
  readonly chains: ContractChains
  /** Name of the chain whose contracts may sign; empty: none. */
  readonly chainName: () => string
}

/** Much for several owners or for a passkey that a contract checks by itself; little for a node. */
const mostGas = 2_000_000
/** Bytes. Those of many owners, and of passkeys, are longer than one of a key. */
const longestSignature = 4096
/** Questions at the same time: strangers may ask, and settlement needs the same nodes. */
const mostAtOnce = 16

/** Wallets that are contracts: the contract decides whether a signature is its own (EIP-1271). */
export class ContractWallets {
  readonly #parts: ContractWalletParts
  #underWay = 0

  constructor(parts: ContractWalletParts) {
    this.#parts = parts
  }

  /**
   * The result of the recovery, unless that failed for a signature which a contract may have made: then the contract's.
   *
   * @param recovered of this signature over this digest
   */
  async decide<Result extends VerificationResult>(
    chainId: number,
    recovered: Result,
    digest: Uint8Array,
    signature: string,
  ): Promise<Result> {
    const { valid, address, reason } = recovered
    if (valid || reason?.startsWith('signature-') !== true || !isHexBytes(signature, 0, longestSignature))
      return recovered
    const chainName = this.#parts.chainName()
    const chain = chainName === '' ? undefined : await this.#parts.chains.get(chainName)
    if (chain?.enabled !== true || chain.chainId !== chainId) return recovered
    const { data, yes } = await signatureCall(toHex(digest), signature)
    const agreedProviders = await this.#ask(chainName, { to: address as Address, data, gas: mostGas }, yes)
    if (agreedProviders === undefined) return { ...recovered, reason: 'contract-unanswered' }
    if (agreedProviders === 0) return recovered
    const { reason: _, recoveredAddress: __, ...rest } = recovered
    return { ...rest, valid: true, method: 'eip-1271', agreedProviders } as Result
  }

  /** Providers that say that the contract agrees; 0 when it does not. Undefined: too few could be asked, or they disagree. */
  async #ask(chainName: string, call: ContractCall, yes: Hex): Promise<number | undefined> {
    if (this.#underWay >= mostAtOnce) return undefined
    this.#underWay++
    try {
      const answer = await this.#parts.chains.call(chainName, call)
      if ('error' in answer) return undefined
      return answer.data?.toLowerCase() === yes ? answer.providers : 0
    } finally {
      this.#underWay--
    }
  }
}
