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
}

/** Contracts of chains, as they are in the newest block. */
export interface ContractChains {
  get(name: string): Promise<Chain | undefined>
  /** Without a transaction. Ends within the deadlines of two requests per provider. */
  call(chainName: string, call: ContractCall): Promise<ContractAnswer | ChainFactsFailure>
}

export interface ContractWalletParts {
  readonly chains: ContractChains
  /** Name of the chain whose contracts may sign; empty: none. */
  readonly chainName: () => string
}

/** `isValidSignature(bytes32,bytes)`, which is also what it answers when it agrees (EIP-1271). */
const selector = '1626ba7e'
const word = (value: number) => value.toString(16).padStart(64, '0')
/** A `bytes4` alone in its word of 32 bytes. */
const agreement = `0x${selector.padEnd(64, '0')}`
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
    const agrees = await this.#ask(chainName, {
      to: address as Address,
      data: questionOf(digest, signature),
      gas: mostGas,
    })
    if (agrees === undefined) return { ...recovered, reason: 'contract-unanswered' }
    if (!agrees) return recovered
    const { reason: _, recoveredAddress: __, ...rest } = recovered
    return { ...rest, valid: true, method: 'eip-1271' } as Result
  }

  /** Undefined: nobody could be asked. */
  async #ask(chainName: string, call: ContractCall): Promise<boolean | undefined> {
    if (this.#underWay >= mostAtOnce) return undefined
    this.#underWay++
    try {
      const answer = await this.#parts.chains.call(chainName, call)
      return 'error' in answer ? undefined : answer.data?.toLowerCase() === agreement
    } finally {
      this.#underWay--
    }
  }
}

/** The call in the encoding of the contract ABI: digest, where the bytes begin, how many they are, and the bytes in whole words. */
function questionOf(digest: Uint8Array, signature: Hex): Hex {
  const bytes = signature.slice(2).toLowerCase()
  const padded = bytes.padEnd(Math.ceil(bytes.length / 64) * 64, '0')
  return `0x${selector}${toHex(digest).slice(2)}${word(64)}${word(bytes.length / 2)}${padded}`
}
