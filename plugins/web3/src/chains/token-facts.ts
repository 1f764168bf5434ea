import type { Clock } from '@plinth/kernel'
import { LRUCache } from 'lru-cache'
import { normalizeAddress } from '../addresses.ts'
import type { TokenInfo, Tokens } from '../contract.ts'
import type { ContractChains } from '../signatures/contract-wallets.ts'
import { decodeSymbol, encodeTokenCalls } from './contract-abi.ts'

interface TokenDependencies {
  readonly chains: Pick<ContractChains, 'call'>
  readonly clock: Pick<Clock, 'monotonic'>
}

interface Known {
  readonly info: TokenInfo
  /** Time of the next query by the monotonic clock; undefined if there is none. */
  readonly askAgainAt: number | undefined
}

const gas = 100_000
const maxKnown = 1_000
/** Pause after a failed query, so that lists do not wait for an unavailable chain. */
const pauseMs = 60_000
const unknown: TokenInfo = { decimals: null, symbol: null }

export class TokenFacts implements Tokens {
  readonly #parts: TokenDependencies
  readonly #known = new LRUCache<string, Known>({ max: maxKnown })
  readonly #running = new Map<string, Promise<TokenInfo>>()

  constructor(parts: TokenDependencies) {
    this.#parts = parts
  }

  async info(chainName: string, contract: string): Promise<TokenInfo> {
    const address = normalizeAddress(contract)
    if (address === null) return unknown
    const key = JSON.stringify([chainName, address])
    const known = this.#known.get(key)
    if (known !== undefined && (known.askAgainAt === undefined || this.#parts.clock.monotonic() < known.askAgainAt)) {
      return known.info
    }
    const running = this.#running.get(key) ?? this.#ask(key, chainName, address)
    this.#running.set(key, running)
    try {
      return await running
    } finally {
      this.#running.delete(key)
    }
  }

  async #ask(key: string, chainName: string, to: `0x${string}`): Promise<TokenInfo> {
    const read = async (data: `0x${string}`) => {
      const result = await this.#parts.chains.call(chainName, { to, data, gas })
      return 'error' in result ? undefined : result.data
    }
    const calls = await encodeTokenCalls()
    const [decimals, symbol] = await Promise.all([read(calls.decimals), read(calls.symbol)])
    const info = { decimals: decimalsOf(decimals), symbol: await symbolOf(symbol) }
    // A contract without decimals will not get them later, so only failed queries are repeated.
    const isAnswered = decimals !== undefined && symbol !== undefined
    this.#known.set(key, { info, askAgainAt: isAnswered ? undefined : this.#parts.clock.monotonic() + pauseMs })
    return info
  }
}

/** Rejects values above 77, because an amount of 256 bits has at most 78 digits. */
function decimalsOf(data: string | null | undefined): number | null {
  if (data == null || !/^0x[0-9a-f]{64}$/i.test(data)) return null
  const decimals = BigInt(data)
  return decimals <= 77n ? Number(decimals) : null
}

/** A symbol must not imitate other text or change the text direction. */
const symbolPattern = /^[\p{L}\p{N}$₮._+-]{1,16}$/u

async function symbolOf(data: `0x${string}` | null | undefined): Promise<string | null> {
  const text = data == null ? undefined : await decodeSymbol(data)
  const symbol = text?.replace(/\0+$/, '')
  return symbol !== undefined && symbolPattern.test(symbol) ? symbol : null
}
