import type {
  Chain,
  ChainObservation,
  ChainReceipt,
  ChainTransaction,
  Finality,
  Hex,
  ProviderFault,
} from '../contract.ts'
import { type JsonRpc, RpcFault } from './json-rpc.ts'
import { type BlockHead, blockHead, quantity, receipt, transaction } from './rpc-results.ts'

/** What one provider says of the chain itself. */
export interface ChainHeads {
  readonly head: number
  readonly safeNumber?: number
  readonly finalizedNumber?: number
}

/** What one provider said of each transaction: facts that hold together, or what was wrong with them. */
export type Observed = ReadonlyMap<Hex, Omit<ChainObservation, 'providerId' | 'observedAt'> | ProviderFault>

export type ObservedChain = Pick<Chain, 'chainId' | 'finality'>

interface Found {
  readonly transaction: ChainTransaction | null
  readonly receipt: ChainReceipt | null
}

const isFault = (one: Found | ProviderFault): one is ProviderFault => typeof one === 'string'

/**
 * Asks one provider everything about some transactions: the chain, its head, transactions and receipts in the first turn,
 * the blocks of the receipts in the second. Calls of one turn travel together.
 *
 * @throws RpcFault when the provider says nothing that can be believed at all
 */
export async function observe(rpc: JsonRpc, chain: ObservedChain, hashes: readonly Hex[]): Promise<Observed> {
  const asked = Promise.all(hashes.map((hash) => found(rpc, hash)))
  const first = await heads(rpc, chain)
  const each = await asked
  const received = each.flatMap((one) => (isFault(one) || one.receipt === null ? [] : [one.receipt]))
  const highest = Math.max(0, ...received.map(({ blockNumber }) => blockNumber))
  // A block may have come between the answers; a node that is behind does not catch up so fast.
  const head = highest > first.head ? quantity(await rpc.call('eth_blockNumber')) : first.head
  const blocks = await blocksOf(rpc, received)
  const whole = { ...first, head, chainId: chain.chainId }
  return new Map(hashes.map((hash, at) => [hash, judged(each[at] ?? 'answer-invalid', whole, blocks)]))
}

/** Throws RpcFault, `chain-id-mismatch` for the node of another chain. */
export async function heads(rpc: JsonRpc, { chainId, finality }: ObservedChain): Promise<ChainHeads> {
  const [id, head, tagged] = await allOf([
    rpc.call('eth_chainId').then(quantity),
    rpc.call('eth_blockNumber').then(quantity),
    finality === 'depth' ? undefined : tagNumber(rpc, finality),
  ])
  if (id !== chainId) throw new RpcFault('chain-id-mismatch')
  if (tagged === undefined) return { head }
  return finality === 'safe' ? { head, safeNumber: tagged } : { head, finalizedNumber: tagged }
}

async function tagNumber(rpc: JsonRpc, finality: Exclude<Finality, 'depth'>): Promise<number> {
  const block = blockHead(await rpc.call('eth_getBlockByNumber', [finality, false]))
  if (block === null) throw new RpcFault('result-invalid')
  return block.number
}

async function found(rpc: JsonRpc, hash: Hex): Promise<Found | ProviderFault> {
  return orFault(async () => {
    const [one, other] = await allOf([
      rpc.call('eth_getTransactionByHash', [hash]).then((value) => transaction(value, hash)),
      rpc.call('eth_getTransactionReceipt', [hash]).then((value) => receipt(value, hash)),
    ])
    return { transaction: one, receipt: other }
  })
}

/** By number; each is asked for once. */
async function blocksOf(rpc: JsonRpc, receipts: readonly ChainReceipt[]) {
  const numbers = [...new Set(receipts.map(({ blockNumber }) => blockNumber))]
  const blocks = await Promise.all(
    numbers.map((number) =>
      orFault(async () => {
        const block = blockHead(await rpc.call('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]))
        if (block !== null && block.number !== number) throw new RpcFault('result-invalid')
        return block
      }),
    ),
  )
  return new Map(numbers.map((number, at) => [number, blocks[at] ?? null]))
}

function judged(
  one: Found | ProviderFault,
  chain: ChainHeads & Pick<Chain, 'chainId'>,
  blocks: ReadonlyMap<number, BlockHead | ProviderFault | null>,
): Omit<ChainObservation, 'providerId' | 'observedAt'> | ProviderFault {
  if (isFault(one)) return one
  if (one.receipt === null) return { ...chain, ...one, canonicalBlockHash: null }
  const { blockNumber, blockHash } = one.receipt
  if (chain.head < blockNumber) return 'stale-head'
  const isKnown = one.transaction !== null && (one.transaction.blockHash ?? blockHash) === blockHash
  const block = blocks.get(blockNumber) ?? null
  if (typeof block === 'string') return block
  return !isKnown || block === null ? 'inconsistent' : { ...chain, ...one, canonicalBlockHash: block.hash }
}

/** As `Promise.all`, once none of them is under way any more: what is left behind would reject unseen. */
async function allOf<const T extends readonly unknown[]>(
  calls: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const ended = await Promise.allSettled(calls)
  const failed = ended.find((one) => one.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return Promise.all(calls)
}

async function orFault<T>(work: () => Promise<T>): Promise<T | ProviderFault> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RpcFault) return error.fault
    throw error
  }
}
