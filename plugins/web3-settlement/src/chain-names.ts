import type { HttpRequest } from '@plinth/http'
import type { Payments } from '@plinth/money/payments'
import { type Chains, explorerBase, type TokenInfo, type Tokens } from '@plinth/web3'
import { readableOrders } from './caller-orders.ts'

/** URLs of explorers by chain name; see `explorerBase`. */
type Explorers = ReadonlyMap<string, string>
/** Decimals and symbols of tokens by `tokenKey`. */
type TokenNames = ReadonlyMap<string, TokenInfo>

export interface ChainNames {
  readonly explorers: Explorers
  readonly tokens: TokenNames
  /** Numbers of the orders that the caller may read; undefined if the caller may read all. */
  readonly orders: ReadonlySet<string> | undefined
}

export const unknownToken: TokenInfo = { decimals: null, symbol: null }

export const tokenKey = (chainName: string | null, contract: string) => `${chainName ?? ''}:${contract}`

interface NamedPlan {
  readonly chainName: string | null
  readonly expectedToken?: string | null
  readonly transfer: { readonly token: string } | null
  readonly claimedBy?: readonly string[]
}

interface NameDependencies {
  readonly chains: Pick<Chains, 'list'>
  /** Undefined if another plugin provides the chains. */
  readonly tokens: Tokens | undefined
  readonly payments: Pick<Payments, 'list'>
}

export async function readChainNames(
  request: Pick<HttpRequest, 'principal'>,
  { chains, tokens, payments }: NameDependencies,
  plans: readonly NamedPlan[],
): Promise<ChainNames> {
  const known = (await chains.list()).map((chain) => [chain.name, explorerBase(chain)] as const)
  const expected = new Map<string, readonly [chainName: string, contract: string]>()
  for (const { chainName, expectedToken, transfer } of plans) {
    for (const contract of [expectedToken, transfer?.token]) {
      if (chainName !== null && contract != null) expected.set(tokenKey(chainName, contract), [chainName, contract])
    }
  }
  const infos =
    tokens === undefined
      ? []
      : [...expected].map(
          async ([key, [chainName, contract]]) => [key, await tokens.info(chainName, contract)] as const,
        )
  return {
    explorers: new Map(known.flatMap(([name, base]) => (base === null ? [] : [[name, base] as const]))),
    tokens: new Map(await Promise.all(infos)),
    orders: await readableOrders(
      request,
      payments,
      plans.flatMap(({ claimedBy = [] }) => claimedBy),
    ),
  }
}
