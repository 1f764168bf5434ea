import type {
  Chain,
  ChainObservation,
  ChainReceipt,
  ChainTransaction,
  Finality,
  Hex,
  ProviderFault,
} from '../contract.ts'
import { type JsonRpc, RpcError } from './json-rpc.ts'
import { type BlockHead, parseBlockHead, parseQuantity, parseReceipt, parseTransaction } from './rpc-results.ts'

export interface ChainHeads {
  readonly head: number
  readonly safeNumber?: number
  readonly finalizedNumber?: number
}

/** Time of a block, and the average time per block up to this block, in milliseconds. */
export interface BlockPace {
  readonly timeMs: number
  readonly blockMs: number
}

type Observation = Omit<ChainObservation, 'providerId' | 'observedAt'>

export type ObservationsByHash = ReadonlyMap<Hex, Observation | ProviderFault>

type ObservedChain = Pick<Chain, 'chainId' | 'finality'>

/** Response of a provider that has not been compared with the blocks of the chain yet. */
interface UncheckedResponse {
  readonly transaction: ChainTransaction | null
  readonly receipt: ChainReceipt | null
}

/** Blocks by number. */
type Blocks = ReadonlyMap<number, BlockHead | ProviderFault | null>

/** Number of blocks over which the time per block is averaged. */
const paceBlocks = 256

const isError = <Value>(one: Value | ProviderFault): one is ProviderFault => typeof one === 'string'

/**
 * Returns the heights that a node reports. @throws RpcError `chain-id-mismatch` if the node belongs to another chain
 */
export async function readChainHeads(rpc: JsonRpc, { chainId, finality }: ObservedChain): Promise<ChainHeads> {
  const [id, head, tagged] = await allOf([
    rpc.call('eth_chainId').then(parseQuantity),
    rpc.call('eth_blockNumber').then(parseQuantity),
    finality === 'depth' ? undefined : tagNumber(rpc, finality),
  ])
  if (id !== chainId) throw new RpcError('chain-id-mismatch')
  if (tagged === undefined) return { head }
  // A safe or finalized block cannot be above the head.
  const number = Math.min(tagged, head)
  return finality === 'safe' ? { head, safeNumber: number } : { head, finalizedNumber: number }
}

async function tagNumber(rpc: JsonRpc, finality: Exclude<Finality, 'depth'>): Promise<number> {
  const block = parseBlockHead(await rpc.call('eth_getBlockByNumber', [finality, false]))
  if (block === null) throw new RpcError('result-invalid')
  return block.number
}

/** Measures the pace up to a block. Throws RpcError, also if the provider does not know the block. */
export async function readBlockPace(rpc: JsonRpc, number: number): Promise<BlockPace> {
  // Starts at block 1, because on Ethereum the time of block 0 is 0.
  const start = Math.max(1, number - paceBlocks)
  const [last, first] = await allOf([blockAt(rpc, number), number > start ? blockAt(rpc, start) : null])
  if (last?.time == null) throw new RpcError('result-invalid')
  const blockMs = first?.time == null ? 0 : (last.time - first.time) / (number - start)
  return { timeMs: last.time, blockMs }
}

/** Queries transactions with their receipts. If one query fails, the others are not affected. */
export async function findTransactions(
  rpc: JsonRpc,
  hashes: readonly Hex[],
): Promise<ReadonlyMap<Hex, UncheckedResponse | ProviderFault>> {
  const found = await Promise.all(
    hashes.map((hash) =>
      orError(async () => {
        const [one, other] = await allOf([
          rpc.call('eth_getTransactionByHash', [hash]).then((value) => parseTransaction(value, hash)),
          rpc.call('eth_getTransactionReceipt', [hash]).then((value) => parseReceipt(value, hash)),
        ])
        return { transaction: one, receipt: other }
      }),
    ),
  )
  return new Map(hashes.map((hash, at) => [hash, found[at] ?? 'answer-invalid']))
}

/** Queries the blocks that are now at the heights of the receipts. */
export async function findBlocks(rpc: JsonRpc, receipts: readonly ChainReceipt[]): Promise<Blocks> {
  const numbers = [...new Set(receipts.map(({ blockNumber }) => blockNumber))]
  const blocks = await Promise.all(numbers.map((number) => orError(() => blockAt(rpc, number))))
  return new Map(numbers.map((number, at) => [number, blocks[at] ?? null]))
}

export const receiptsOf = (found: ReadonlyMap<Hex, UncheckedResponse | ProviderFault>): readonly ChainReceipt[] =>
  [...found.values()].flatMap((one) => (isError(one) || one.receipt === null ? [] : [one.receipt]))

/** Returns an error if the facts contradict each other. */
export function observationOf(
  one: UncheckedResponse | ProviderFault,
  chain: ChainHeads & Pick<Chain, 'chainId'>,
  blocks: Blocks,
): Observation | ProviderFault {
  if (isError(one)) return one
  if (one.receipt === null) return { ...chain, ...one, canonicalBlockHash: null, blockTime: null }
  const { blockNumber, blockHash } = one.receipt
  if (chain.head < blockNumber) return 'stale-head'
  const isKnown = one.transaction !== null && (one.transaction.blockHash ?? blockHash) === blockHash
  const block = blocks.get(blockNumber) ?? null
  if (isError(block)) return block
  if (!isKnown || block === null) return 'inconsistent'
  return { ...chain, ...one, canonicalBlockHash: block.hash, blockTime: block.time }
}

async function blockAt(rpc: JsonRpc, number: number): Promise<BlockHead | null> {
  const block = parseBlockHead(await rpc.call('eth_getBlockByNumber', [`0x${number.toString(16)}`, false]))
  if (block !== null && block.number !== number) throw new RpcError('result-invalid')
  return block
}

/**
 * Like `Promise.all`, but waits until all calls have ended. Otherwise the rejection of a second call would be
 * unhandled.
 */
async function allOf<const T extends readonly unknown[]>(
  calls: T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const ended = await Promise.allSettled(calls)
  const failed = ended.find((one) => one.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  return Promise.all(calls)
}

async function orError<T>(work: () => Promise<T>): Promise<T | ProviderFault> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RpcError) return error.fault
    throw error
  }
}
