import type { Clock, Logger } from '@plinth/kernel'
import type { OutgoingHttp } from '@plinth/outgoing-http'
import { isHexBytes, lowerHex } from '../addresses.ts'
import type {
  Chain,
  ChainFacts,
  ChainFactsFailure,
  ChainObservation,
  Chains,
  FactsRequest,
  Hex,
  ProviderAttempt,
  ProviderFault,
} from '../contract.ts'
import type { ContractCall, ContractResponse } from '../signatures/contract-wallets.ts'
import { addVoteAndAgree, ProviderVotes } from './agreement.ts'
import { RpcError } from './json-rpc.ts'
import { findBlocks, findTransactions, type ObservationsByHash, observationOf, receiptsOf } from './observation.ts'
import {
  type OpenedChain,
  type OpenedProvider,
  type PoolDependencies,
  type ProviderCheck,
  ProviderPool,
} from './provider-pool.ts'

export interface ChainSource {
  list(): Promise<readonly Chain[]>
  get(name: string): Promise<Chain | undefined>
  open(name: string): Promise<OpenedChain | undefined>
}

interface FactsDependencies {
  readonly source: ChainSource
  readonly http: Pick<OutgoingHttp, 'request'>
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly log: Logger
  readonly settings: () => ReturnType<PoolDependencies['settings']> & {
    /** Number of providers that must agree. */
    readonly agreement: number
  }
}

/** Maximum number of transactions that are queried at the same time. */
const maxConcurrent = 1000
/** Number of providers that must agree about a contract wallet, if the chain has several providers. */
const contractAgreement = 2

export class ChainFactCollector implements Chains {
  readonly #parts: FactsDependencies
  readonly #pool: ProviderPool

  constructor(parts: FactsDependencies) {
    this.#parts = parts
    this.#pool = new ProviderPool(parts)
  }

  list(): Promise<readonly Chain[]> {
    return this.#parts.source.list()
  }

  get(name: string): Promise<Chain | undefined> {
    return this.#parts.source.get(name)
  }

  async facts(chainName: string, { transactionHash }: FactsRequest): Promise<ChainFacts> {
    const [facts] = (await this.factsOfMany(chainName, [transactionHash])).values()
    return facts ?? notConfigured
  }

  async factsOfMany(chainName: string, hashes: readonly string[]): Promise<ReadonlyMap<string, ChainFacts>> {
    const expected = [...new Set(hashes.map(checkedHash))]
    const chain = await this.#parts.source.open(chainName)
    if (chain === undefined || !chain.enabled || chain.providers.length === 0) {
      return new Map(expected.map((hash) => [hash, notConfigured]))
    }
    const found = new Map<string, ChainFacts>()
    for (let start = 0; start < expected.length; start += maxConcurrent) {
      for (const [hash, facts] of await this.#collect(chain, expected.slice(start, start + maxConcurrent))) {
        found.set(hash, facts)
      }
    }
    return found
  }

  /** Implements `ContractChains.call`. */
  async call(chainName: string, call: ContractCall): Promise<ContractResponse | ChainFactsFailure> {
    const chain = await this.#parts.source.open(chainName)
    if (chain === undefined || !chain.enabled || chain.providers.length === 0) return notConfigured
    const providers = await this.#pool.distinct(chain)
    const atLeast = providers.length > 1 ? contractAgreement : 1
    const votes = new ProviderVotes<Hex | null>(Math.max(atLeast, this.#parts.settings().agreement))
    for (const opened of providers) {
      const response = await this.#callAt(chain, opened, call)
      if ('fault' in response) votes.failed(opened.id, response.fault)
      else votes.said(opened.id, response.data, String(response.data))
      const agreed = votes.agreed()
      if (agreed !== undefined) return { data: agreed[0] ?? null, providers: agreed.length }
    }
    return failureOf(votes.attempts())
  }

  check(chain: OpenedChain): Promise<readonly ProviderCheck[]> {
    return this.#pool.check(chain)
  }

  async #callAt(
    chain: OpenedChain,
    opened: OpenedProvider,
    { to, data, gas }: ContractCall,
  ): Promise<{ readonly data: Hex | null } | { readonly fault: ProviderFault }> {
    const provider = await this.#pool.enter(chain, opened)
    if (typeof provider === 'string') return { fault: provider }
    const said = provider.contractRpc.call('eth_call', [{ to, data, gas: `0x${gas.toString(16)}` }, 'latest']).then(
      (value) =>
        typeof value === 'string' && isHexBytes(value) ? { data: value } : { fault: 'result-invalid' as const },
      (error: unknown) => {
        if (!(error instanceof RpcError)) throw error
        // The provider responded: the contract reverted or used all gas.
        return error.fault === 'rpc-error' ? { data: null } : { fault: error.fault }
      },
    )
    const [heads, response] = await Promise.all([this.#pool.heads(chain, provider), said])
    return typeof heads === 'string' ? { fault: heads } : response
  }

  /** Queries one provider after another until enough agree. Never combines facts of several providers. */
  async #collect(chain: OpenedChain, hashes: readonly Hex[]): Promise<ReadonlyMap<Hex, ChainFacts>> {
    const { agreement } = this.#parts.settings()
    const votes = new Map(hashes.map((hash) => [hash, new ProviderVotes<ChainObservation>(agreement)]))
    const found = new Map<Hex, ChainFacts>()
    for (const opened of await this.#pool.distinct(chain)) {
      const missing = hashes.filter((hash) => !found.has(hash))
      if (missing.length === 0) break
      for (const [hash, response] of await this.#ask(chain, opened, missing)) {
        const agreed = addVoteAndAgree(votes.get(hash), opened.id, response, this.#parts.clock.now())
        if (agreed !== undefined) found.set(hash, agreed)
      }
    }
    this.#pool.askOthers(chain)
    return new Map(hashes.map((hash) => [hash, found.get(hash) ?? failureOf(votes.get(hash)?.attempts() ?? [])]))
  }

  /**
   * Queries first the heights and transactions, then the blocks of the receipts. All calls of one step are sent in
   * batches.
   */
  async #ask(chain: OpenedChain, opened: OpenedProvider, hashes: readonly Hex[]): Promise<ObservationsByHash> {
    const all = (fault: ProviderFault) => new Map(hashes.map((hash) => [hash, fault]))
    const provider = await this.#pool.enter(chain, opened)
    if (typeof provider === 'string') return all(provider)
    const [first, found] = await Promise.all([
      this.#pool.heads(chain, provider),
      findTransactions(provider.transactionRpc, hashes),
    ])
    if (typeof first === 'string') return all(first)
    const receipts = receiptsOf(found)
    const highest = receipts.reduce((most, { blockNumber }) => Math.max(most, blockNumber), 0)
    // A block may have appeared between two responses, so a newer receipt needs new heights. If the node is really
    // behind, the new heights show it as well.
    const [heads, blocks] = await Promise.all([
      highest > first.head ? this.#pool.heads(chain, provider) : first,
      findBlocks(provider.transactionRpc, receipts),
    ])
    if (typeof heads === 'string') return all(heads)
    const known = { ...heads, chainId: chain.chainId }
    return new Map(hashes.map((hash) => [hash, observationOf(found.get(hash) ?? 'answer-invalid', known, blocks)]))
  }
}

const notConfigured: ChainFactsFailure = { error: 'chain-not-configured', attempts: [] }

function failureOf(attempts: readonly ProviderAttempt[]): ChainFactsFailure {
  const isElsewhere = attempts.length > 0 && attempts.every(({ fault }) => fault === 'chain-id-mismatch')
  return { error: isElsewhere ? 'chain-id-mismatch' : 'rpc-query-failed', attempts }
}

function checkedHash(text: string): Hex {
  if (typeof text !== 'string' || !isHexBytes(text, 32, 32)) throw new RangeError('no hash of a transaction')
  return lowerHex(text)
}
