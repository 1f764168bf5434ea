import { type Clock, type Logger, reasonOf } from '@plinth/kernel'
import type { OutgoingHttp } from '@plinth/outgoing-http'
import type {
  Chain,
  ChainFacts,
  ChainFactsFailure,
  Chains,
  FactsRequest,
  Hex,
  ProviderAttempt,
  ProviderFault,
} from '../contract.ts'
import { isHexBytes } from '../hex.ts'
import type { ContractAnswer, ContractCall } from '../signatures/contract-wallets.ts'
import { type BreakerSettings, CircuitBreaker } from './circuit-breaker.ts'
import { JsonRpc, RpcFault, type RpcSettings } from './json-rpc.ts'
import { heads, type Observed, observe } from './observation.ts'

/** A provider with its address in clear. Stays in this file and below. */
export interface OpenedProvider {
  readonly id: string
  /** Changes with the address. */
  readonly key: string
  /** Throws when it cannot be decrypted. */
  url(): Promise<string>
}

/** A chain with the providers that can be asked. */
export interface OpenedChain extends Omit<Chain, 'providers'> {
  readonly providers: readonly OpenedProvider[]
}

export interface ChainSource {
  list(): Promise<readonly Chain[]>
  get(name: string): Promise<Chain | undefined>
  open(name: string): Promise<OpenedChain | undefined>
}

export interface FactsParts {
  readonly source: ChainSource
  readonly http: Pick<OutgoingHttp, 'request'>
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly log: Logger
  readonly settings: () => RpcSettings & { readonly breaker: BreakerSettings }
}

/** What one provider said when it was asked for itself. */
export interface ProviderCheck {
  readonly providerId: string
  readonly fault: ProviderFault | null
  readonly head: number | null
  readonly latencyMs: number
}

interface Provider {
  readonly id: string
  readonly rpc: JsonRpc
  readonly breaker: CircuitBreaker
  /** The newest block that it spoke of, and when, on the monotonic clock. */
  head: { readonly number: number; readonly at: number } | undefined
}

/** Transactions that are asked for in one turn. */
const mostAtOnce = 1000
/** A head that was seen longer ago says nothing of where the chain is now. */
const headCountsMs = 120_000
/** How often the providers that are not needed are asked where the chain is. */
const othersEveryMs = 30_000
/** Addresses of providers whose state is kept; those that nobody uses any more go when there are more. */
const mostProviders = 1000

/** The service `chains`. */
export class ChainFactCollector implements Chains {
  readonly #parts: FactsParts
  readonly #providers = new Map<string, Provider>()
  readonly #othersAsked = new Map<string, number>()

  constructor(parts: FactsParts) {
    this.#parts = parts
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
    const wanted = [...new Set(hashes.map(checkedHash))]
    const chain = await this.#parts.source.open(chainName)
    if (chain === undefined || !chain.enabled || chain.providers.length === 0) {
      return new Map(wanted.map((hash) => [hash, notConfigured]))
    }
    const found = new Map<string, ChainFacts>()
    for (let start = 0; start < wanted.length; start += mostAtOnce) {
      for (const [hash, facts] of await this.#collect(chain, wanted.slice(start, start + mostAtOnce))) {
        found.set(hash, facts)
      }
    }
    return found
  }

  /** See `ContractChains`. One provider after another, until one of this very chain has an answer of the contract. */
  async call(chainName: string, call: ContractCall): Promise<ContractAnswer | ChainFactsFailure> {
    const chain = await this.#parts.source.open(chainName)
    if (chain === undefined || !chain.enabled || chain.providers.length === 0) return notConfigured
    const attempts: ProviderAttempt[] = []
    let isRefused = false
    for (const opened of chain.providers) {
      const answer = await this.#callAt(chain, opened, call)
      if (typeof answer !== 'string') return answer
      // Of a contract that reverts, or of a provider that has enough: the others know more.
      if (answer === 'call-refused') isRefused = true
      attempts.push({ providerId: opened.id, fault: answer === 'call-refused' ? 'rpc-error' : answer })
    }
    return isRefused ? { data: null } : failureOf(attempts)
  }

  /** Only the questions about the chain say whether the provider fails: strangers choose the contract, and what it does. */
  async #callAt(
    chain: OpenedChain,
    opened: OpenedProvider,
    { to, data, gas }: ContractCall,
  ): Promise<ContractAnswer | ProviderFault | 'call-refused'> {
    const provider = await this.#provider(chain, opened)
    if (provider === undefined) return 'secret-unreadable'
    if (!provider.breaker.enter()) return 'circuit-open'
    const said = provider.rpc.call('eth_call', [{ to, data, gas: `0x${gas.toString(16)}` }, 'latest']).then(
      (value) => (typeof value === 'string' && isHexBytes(value) ? { data: value } : 'result-invalid'),
      (error: unknown) => {
        if (!(error instanceof RpcFault)) throw error
        return error.fault === 'rpc-error' ? 'call-refused' : error.fault
      },
    )
    const [head, answer] = await Promise.all([this.#askHead(chain, provider), said])
    return typeof head === 'number' ? answer : head
  }

  /** Asks every provider of the chain for itself, also those that are left alone. */
  async check(chain: OpenedChain): Promise<readonly ProviderCheck[]> {
    return Promise.all(
      chain.providers.map(async (opened) => {
        const start = this.#parts.clock.monotonic()
        const latencyMs = () => Math.round(this.#parts.clock.monotonic() - start)
        const provider = await this.#provider(chain, opened)
        if (provider === undefined) {
          return { providerId: opened.id, fault: 'secret-unreadable' as const, head: null, latencyMs: latencyMs() }
        }
        const head = await this.#askHead(chain, provider)
        const answer = typeof head === 'number' ? { fault: null, head } : { fault: head, head: null }
        return { providerId: opened.id, ...answer, latencyMs: latencyMs() }
      }),
    )
  }

  /** One provider after another, each with what is still missing: facts of two providers are never mixed. */
  async #collect(chain: OpenedChain, hashes: readonly Hex[]): Promise<ReadonlyMap<Hex, ChainFacts>> {
    const found = new Map<Hex, ChainFacts>()
    const attempts = new Map<Hex, ProviderAttempt[]>(hashes.map((hash) => [hash, []]))
    for (const opened of chain.providers) {
      const missing = hashes.filter((hash) => !found.has(hash))
      if (missing.length === 0) break
      for (const [hash, answer] of await this.#ask(chain, opened, missing)) {
        if (typeof answer === 'string') attempts.get(hash)?.push({ providerId: opened.id, fault: answer })
        else found.set(hash, { ...answer, providerId: opened.id, observedAt: this.#parts.clock.now() })
      }
    }
    this.#askOthers(chain)
    return new Map(hashes.map((hash) => [hash, found.get(hash) ?? failureOf(attempts.get(hash) ?? [])]))
  }

  async #ask(chain: OpenedChain, opened: OpenedProvider, hashes: readonly Hex[]): Promise<Observed> {
    const all = (fault: ProviderFault) => new Map(hashes.map((hash) => [hash, fault]))
    const provider = await this.#provider(chain, opened)
    if (provider === undefined) return all('secret-unreadable')
    // Left alone as the node of another chain, it is that still: only its administrator can mend it.
    const { lastFault } = provider.breaker
    if (!provider.breaker.enter()) return all(lastFault === 'chain-id-mismatch' ? lastFault : 'circuit-open')
    try {
      const observed = await observe(provider.rpc, chain, hashes)
      const answers = [...observed.values()]
      const fault = answers.find((answer) => typeof answer === 'string')
      const [seen] = answers.filter((answer) => typeof answer !== 'string')
      if (seen !== undefined && this.#isBehind(chain, provider, seen.head)) throw new RpcFault('stale-head')
      if (fault === undefined || seen !== undefined) this.#succeeded(chain, provider)
      else this.#failed(chain, provider, fault)
      return observed
    } catch (error) {
      const fault = error instanceof RpcFault ? error.fault : 'answer-invalid'
      this.#failed(chain, provider, fault)
      if (!(error instanceof RpcFault)) throw error
      return all(fault)
    }
  }

  async #askHead(chain: OpenedChain, provider: Provider): Promise<number | ProviderFault> {
    try {
      const { head } = await heads(provider.rpc, chain)
      if (this.#isBehind(chain, provider, head)) throw new RpcFault('stale-head')
      this.#succeeded(chain, provider)
      return head
    } catch (error) {
      if (!(error instanceof RpcFault)) throw error
      this.#failed(chain, provider, error.fault)
      return error.fault
    }
  }

  /** Notes where the provider is, and compares it with where the others lately were. */
  #isBehind(chain: OpenedChain, provider: Provider, head: number): boolean {
    const now = this.#parts.clock.monotonic()
    const known = chain.providers
      .map((one) => this.#providers.get(providerKey(chain, one)))
      .filter((one) => one !== provider && one?.head !== undefined && now - one.head.at <= headCountsMs)
      .map((one) => one?.head?.number ?? 0)
    provider.head = { number: head, at: now }
    return Math.max(0, ...known) - head > chain.maxHeadLagBlocks
  }

  /** Without others to compare with, nobody would see that a provider is days behind. Not waited for. */
  #askOthers(chain: OpenedChain): void {
    const now = this.#parts.clock.monotonic()
    const last = this.#othersAsked.get(chain.name)
    if (chain.providers.length < 2 || (last !== undefined && now - last < othersEveryMs)) return
    this.#othersAsked.set(chain.name, now)
    for (const opened of chain.providers) {
      this.#askOther(chain, opened, now).catch((error: unknown) => {
        this.#parts.log.error({ chain: chain.name, reason: reasonOf(error) }, 'an RPC provider cannot be asked')
      })
    }
  }

  async #askOther(chain: OpenedChain, opened: OpenedProvider, now: number): Promise<void> {
    const provider = await this.#provider(chain, opened)
    const isKnown = provider?.head !== undefined && now - provider.head.at < othersEveryMs
    if (provider !== undefined && !isKnown && provider.breaker.enter()) await this.#askHead(chain, provider)
  }

  #succeeded(chain: OpenedChain, provider: Provider): void {
    if (provider.breaker.succeeded() === 'closed') {
      this.#parts.log.info({ chain: chain.name, provider: provider.id }, 'an RPC provider answers again')
    }
  }

  #failed(chain: OpenedChain, provider: Provider, fault: ProviderFault): void {
    const isLasting = fault === 'chain-id-mismatch'
    if (provider.breaker.failed(fault, isLasting) !== 'opened') return
    const about = { chain: chain.name, provider: provider.id, fault }
    if (isLasting) this.#parts.log.error(about, 'an RPC provider is a node of another chain and is left alone')
    else this.#parts.log.warn(about, 'an RPC provider fails and is left alone for a while')
  }

  async #provider(chain: OpenedChain, opened: OpenedProvider): Promise<Provider | undefined> {
    const key = providerKey(chain, opened)
    const known = this.#providers.get(key)
    if (known !== undefined) return known
    const { http, clock, settings } = this.#parts
    try {
      const rpc = new JsonRpc(http, await opened.url(), settings)
      const breaker = new CircuitBreaker(clock, () => settings().breaker)
      const made = this.#providers.get(key) ?? { id: opened.id, rpc, breaker, head: undefined }
      if (this.#providers.size >= mostProviders) this.#providers.clear()
      this.#providers.set(key, made)
      return made
    } catch {
      this.#parts.log.error(
        { chain: chain.name, provider: opened.id },
        'the address of an RPC provider cannot be decrypted',
      )
      return undefined
    }
  }
}

const notConfigured: ChainFactsFailure = { error: 'chain-not-configured', attempts: [] }

/** A change of the address makes another provider, with a breaker of its own. */
const providerKey = (chain: OpenedChain, { id, key }: OpenedProvider) =>
  JSON.stringify([chain.name, chain.chainId, id, key])

function failureOf(attempts: readonly ProviderAttempt[]): ChainFactsFailure {
  const isElsewhere = attempts.length > 0 && attempts.every(({ fault }) => fault === 'chain-id-mismatch')
  return { error: isElsewhere ? 'chain-id-mismatch' : 'rpc-query-failed', attempts }
}

function checkedHash(text: string): Hex {
  if (typeof text !== 'string' || !isHexBytes(text, 32, 32)) throw new RangeError('no hash of a transaction')
  return text.toLowerCase() as Hex
}
