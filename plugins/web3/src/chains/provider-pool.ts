import { type Clock, errorReason, type Logger } from '@plinth/kernel'
import type { OutgoingHttp } from '@plinth/outgoing-http'
import { LRUCache } from 'lru-cache'
import type { Chain, ProviderFault } from '../contract.ts'
import { JsonRpc, RpcError, type RpcSettings } from './json-rpc.ts'
import { type BlockPace, type ChainHeads, readBlockPace, readChainHeads } from './observation.ts'

interface BreakerSettings {
  /** Consecutive failures after which a provider is paused. */
  readonly failures: number
  readonly pauseMs: number
}

type BreakerChange = 'opened' | 'closed' | undefined

/** Pauses a provider that fails repeatedly. After the pause, one caller tries it first. */
class CircuitBreaker {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #settings: () => BreakerSettings
  #failures = 0
  #openUntil = 0
  #isTrying = false
  lastFault: ProviderFault | undefined

  constructor(clock: Pick<Clock, 'monotonic'>, settings: () => BreakerSettings) {
    this.#clock = clock
    this.#settings = settings
  }

  get isOpen(): boolean {
    return this.#failures >= this.#settings().failures
  }

  /** True if the provider may be queried. The caller must then report `succeeded` or `failed`. */
  enter(): boolean {
    if (!this.isOpen) return true
    if (this.#isTrying || this.#clock.monotonic() < this.#openUntil) return false
    this.#isTrying = true
    return true
  }

  succeeded(): BreakerChange {
    const wasOpen = this.isOpen
    this.#failures = 0
    this.#isTrying = false
    this.lastFault = undefined
    return wasOpen ? 'closed' : undefined
  }

  /** @param isLasting true for a failure that only an administrator can end; the provider is then paused immediately */
  failed(problem: ProviderFault, isLasting = false): BreakerChange {
    const wasOpen = this.isOpen
    const { failures, pauseMs } = this.#settings()
    this.#failures = isLasting ? failures : Math.min(this.#failures + 1, failures)
    this.#isTrying = false
    this.lastFault = problem
    if (!this.isOpen) return undefined
    this.#openUntil = this.#clock.monotonic() + pauseMs
    return wasOpen ? undefined : 'opened'
  }
}

/** Returns a URL in a form for comparison, without the fragment, which is never sent. */
export function endpointWithoutSecrets(address: string): string {
  const url = URL.parse(address)
  if (url === null) return address
  url.hash = ''
  return url.href
}

const place = '{hash}'
const sampleHash = `0x${'ab'.repeat(32)}`

/**
 * True for a valid URL of a transaction page: http or https, with `{hash}` in path, query or fragment, without user
 * name and password. It must be in the normal form of `URL`, without quotes, angle brackets, spaces or control
 * characters, because web pages show it.
 */
export function isExplorerUrl(text: string): boolean {
  const filled = text.replaceAll(place, sampleHash)
  const url = URL.parse(filled)
  if (filled === text || url === null || url.href !== filled) return false
  const isPlain = /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
  return isPlain && !url.host.includes(sampleHash)
}

/** A provider whose URL can be decrypted. Code outside this folder must not get such an object. */
export interface OpenedProvider {
  readonly id: string
  /** Identifies the URL: a changed URL has another key. */
  readonly key: string
  /** @throws if the URL cannot be decrypted */
  url(): Promise<string>
}

export interface OpenedChain extends Omit<Chain, 'providers'> {
  readonly providers: readonly OpenedProvider[]
}

export interface PoolDependencies {
  readonly http: Pick<OutgoingHttp, 'request'>
  readonly clock: Pick<Clock, 'now' | 'monotonic'>
  readonly log: Logger
  readonly settings: () => RpcSettings & { readonly breaker: BreakerSettings }
}

export interface ProviderCheck {
  readonly providerId: string
  readonly fault: ProviderFault | null
  readonly head: number | null
  readonly latencyMs: number
}

interface SeenHead {
  readonly number: number
  /** Time of the response, monotonic, in milliseconds. */
  readonly at: number
}

/**
 * A provider with separate clients. Callers choose transactions and contracts, so these have their own connections: a
 * large receipt or a slow contract then delays no other query.
 */
interface Provider {
  readonly id: string
  /** See `endpointWithoutSecrets`. */
  readonly endpoint: string
  readonly chainRpc: JsonRpc
  readonly transactionRpc: JsonRpc
  readonly contractRpc: JsonRpc
  readonly breaker: CircuitBreaker
  head: SeenHead | undefined
}

/** Age in milliseconds above which a height of another provider is ignored. */
const headCountsMs = 120_000
/** Interval between queries of unused providers. */
const othersEveryMs = 30_000
/** Maximum number of providers whose state is stored. */
const maxProviders = 1000
/**
 * Values for the highest possible height: Ethereum started on 30 July 2015, and no chain has more than 100 blocks per
 * second.
 */
const firstBlockAt = Date.UTC(2015, 6, 30)
const minBlockMs = 10
/** The clock of this host may be wrong. If it shows an earlier time than this, this time is used instead. */
const earliestNow = Date.UTC(2026, 0, 1)
/** Allowed difference between the clocks of host and chain in milliseconds. */
const clockToleranceMs = 10_000
/** A chain may produce blocks this many times faster than measured. */
const paceTolerance = 2

/**
 * Stores which providers work. Only queries about the chain itself (id and height) decide whether a provider works.
 * Callers influence all other queries, so those never pause a provider.
 */
export class ProviderPool {
  readonly #parts: PoolDependencies
  readonly #providers = new LRUCache<string, Provider>({ max: maxProviders })
  readonly #othersAsked = new Map<string, number>()

  constructor(parts: PoolDependencies) {
    this.#parts = parts
  }

  /**
   * Returns the provider if it may be used now. The caller must then call `heads`, which reports the result to the
   * circuit breaker.
   */
  async enter(chain: OpenedChain, opened: OpenedProvider): Promise<Provider | ProviderFault> {
    const provider = await this.#provider(chain, opened)
    if (provider === undefined) return 'secret-unreadable'
    // A provider of another chain remains paused until an administrator changes it.
    const { lastFault } = provider.breaker
    if (provider.breaker.enter()) return provider
    return lastFault === 'chain-id-mismatch' ? lastFault : 'circuit-open'
  }

  /**
   * Returns one provider per URL, because earlier releases allowed duplicates. Includes providers whose URL cannot be
   * decrypted.
   */
  async distinct(chain: OpenedChain): Promise<readonly OpenedProvider[]> {
    const found = new Map<string, OpenedProvider>()
    for (const opened of chain.providers) {
      const { endpoint } = (await this.#provider(chain, opened)) ?? {}
      const key = endpoint ?? `unreadable ${opened.id}`
      if (!found.has(key)) found.set(key, opened)
    }
    return [...found.values()]
  }

  /** Queries the heights and reports the result to the circuit breaker. */
  async heads(chain: OpenedChain, provider: Provider): Promise<ChainHeads | ProviderFault> {
    try {
      const found = await readChainHeads(provider.chainRpc, chain)
      const fault = await this.#problemOfHead(chain, provider, found.head)
      if (fault !== undefined) throw new RpcError(fault)
      this.#succeeded(chain, provider)
      return found
    } catch (error) {
      const fault = error instanceof RpcError ? error.fault : 'answer-invalid'
      this.#failed(chain, provider, fault)
      if (!(error instanceof RpcError)) throw error
      return fault
    }
  }

  /** Checks all providers of a chain, including paused ones. */
  async check(chain: OpenedChain): Promise<readonly ProviderCheck[]> {
    return Promise.all(
      chain.providers.map(async (opened) => {
        const start = this.#parts.clock.monotonic()
        const provider = await this.#provider(chain, opened)
        const found = provider === undefined ? 'secret-unreadable' : await this.heads(chain, provider)
        const response = typeof found === 'string' ? { fault: found, head: null } : { fault: null, head: found.head }
        return { providerId: opened.id, ...response, latencyMs: Math.round(this.#parts.clock.monotonic() - start) }
      }),
    )
  }

  /** Queries unused providers, without waiting for them. Their heights reveal a provider that is days behind. */
  askOthers(chain: OpenedChain): void {
    const now = this.#parts.clock.monotonic()
    const last = this.#othersAsked.get(chain.name)
    if (chain.providers.length < 2 || (last !== undefined && now - last < othersEveryMs)) return
    this.#othersAsked.set(chain.name, now)
    for (const opened of chain.providers) {
      this.#askOther(chain, opened, now).catch((error: unknown) => {
        this.#parts.log.error({ chain: chain.name, reason: errorReason(error) }, 'an RPC provider cannot be used')
      })
    }
  }

  async #askOther(chain: OpenedChain, opened: OpenedProvider, now: number): Promise<void> {
    const provider = await this.#provider(chain, opened)
    const isKnown = provider?.head !== undefined && now - provider.head.at < othersEveryMs
    if (provider !== undefined && !isKnown && provider.breaker.enter()) await this.heads(chain, provider)
  }

  /**
   * Compares a height with the time and with other providers. If two heights differ by more than `maxHeadLagBlocks`,
   * the newest block of the lower provider decides. If the chain can have produced the missing blocks since its time,
   * the lower provider is behind (`stale-head`). Otherwise the higher height is wrong (`head-implausible`). A false
   * height thus cannot make others look stale.
   */
  async #problemOfHead(chain: OpenedChain, provider: Provider, head: number): Promise<ProviderFault | undefined> {
    if (head > highestAt(this.#parts.clock.now())) return this.#disbelieved(provider)
    for (let other = this.#highestOther(chain, provider); other !== undefined; ) {
      const lead = head - other.head.number
      if (lead > chain.maxHeadLagBlocks) {
        const canBe = await this.#canHaveGrown(other.provider, other.head.number, lead - chain.maxHeadLagBlocks)
        // If the other provider reports no block times, the height is accepted.
        if (canBe === false) return this.#disbelieved(provider)
        break
      }
      if (-lead <= chain.maxHeadLagBlocks) break
      const isBehind = await this.#canHaveGrown(provider, head, -lead - chain.maxHeadLagBlocks)
      if (isBehind !== false) return 'stale-head'
      if (other.provider.head === other.head) {
        other.provider.head = undefined
        this.#failed(chain, other.provider, 'head-implausible')
      }
      other = this.#highestOther(chain, provider)
    }
    provider.head = { number: head, at: this.#parts.clock.monotonic() }
    return undefined
  }

  #disbelieved(provider: Provider): ProviderFault {
    provider.head = undefined
    return 'head-implausible'
  }

  #highestOther(chain: OpenedChain, provider: Provider) {
    const now = this.#parts.clock.monotonic()
    let highest: { readonly provider: Provider; readonly head: SeenHead } | undefined
    for (const opened of chain.providers) {
      const other = this.#providers.get(providerKey(chain, opened))
      if (other?.head === undefined || other === provider || now - other.head.at > headCountsMs) continue
      if (highest === undefined || other.head.number > highest.head.number)
        highest = { provider: other, head: other.head }
    }
    return highest
  }

  /** True if the chain can have produced this many more blocks by now; undefined without block times. */
  async #canHaveGrown(provider: Provider, number: number, blocks: number): Promise<boolean | undefined> {
    const pace = await readBlockPace(provider.chainRpc, number).catch((error: unknown): BlockPace | undefined => {
      if (error instanceof RpcError) return undefined
      throw error
    })
    if (pace === undefined) return undefined
    const ageMs = this.#parts.clock.now() - pace.timeMs + clockToleranceMs
    return blocks <= (paceTolerance * ageMs) / Math.max(minBlockMs, pace.blockMs)
  }

  #succeeded(chain: OpenedChain, provider: Provider): void {
    if (provider.breaker.succeeded() === 'closed') {
      this.#parts.log.info({ chain: chain.name, provider: provider.id }, 'an RPC provider responds again')
    }
  }

  #failed(chain: OpenedChain, provider: Provider, fault: ProviderFault): void {
    const isLasting = fault === 'chain-id-mismatch'
    if (provider.breaker.failed(fault, isLasting) !== 'opened') return
    const about = { chain: chain.name, provider: provider.id, fault }
    if (isLasting) this.#parts.log.error(about, 'an RPC provider is a node of another chain and is not used')
    else this.#parts.log.warn(about, 'an RPC provider fails and is not used for some time')
  }

  async #provider(chain: OpenedChain, opened: OpenedProvider): Promise<Provider | undefined> {
    const key = providerKey(chain, opened)
    const known = this.#providers.get(key)
    if (known !== undefined) return known
    const { http, clock, settings } = this.#parts
    try {
      const url = await opened.url()
      const connection = () => new JsonRpc(http, url, settings)
      const connections = { chainRpc: connection(), transactionRpc: connection(), contractRpc: connection() }
      const breaker = new CircuitBreaker(clock, () => settings().breaker)
      const made = this.#providers.get(key) ?? {
        id: opened.id,
        endpoint: endpointWithoutSecrets(url),
        ...connections,
        breaker,
        head: undefined,
      }
      this.#providers.set(key, made)
      return made
    } catch {
      this.#parts.log.error(
        { chain: chain.name, provider: opened.id },
        'the URL of an RPC provider cannot be decrypted',
      )
      return undefined
    }
  }
}

const highestAt = (now: number) => (Math.max(now, earliestNow) - firstBlockAt) / minBlockMs

/** Key of the state of a provider. A new URL changes the key, so it gets a new circuit breaker. */
const providerKey = (chain: OpenedChain, { id, key }: OpenedProvider) =>
  JSON.stringify([chain.name, chain.chainId, id, key])
