import { type Chains, explorerBase } from '@plinth/web3'

/** Explorers of chains by the names of the chains; see `explorerBase`. */
export type Explorers = ReadonlyMap<string, string>

/** Those that the product has now: what was reviewed long ago is looked up where it can be today. */
export async function explorersOf(chains: Pick<Chains, 'list'>): Promise<Explorers> {
  const known = (await chains.list()).map((chain) => [chain.name, explorerBase(chain)] as const)
  return new Map(known.flatMap(([name, base]) => (base === null ? [] : [[name, base] as const])))
}
