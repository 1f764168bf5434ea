import { isHexBytes, lowerHex } from '../addresses.ts'
import type { Address, ChainLog, ChainReceipt, ChainTransaction, Hex } from '../contract.ts'
import { RpcError } from './json-rpc.ts'

export interface BlockHead {
  readonly number: number
  readonly hash: Hex
  /** Milliseconds since the epoch; null if the node does not report it. */
  readonly time: number | null
}

type Members = Readonly<Record<string, unknown>>

const hashBytes = 32
const addressBytes = 20
const maxTopics = 4

/** Reads a number in hexadecimal. @throws RpcError `result-invalid` */
export function parseQuantity(value: unknown): number {
  const number = parseBigQuantity(value)
  if (number > BigInt(Number.MAX_SAFE_INTEGER)) throw new RpcError('result-invalid')
  return Number(number)
}

/** Reads a block; null if the node does not know it. @throws the errors of `parseQuantity` */
export function parseBlockHead(value: unknown): BlockHead | null {
  if (value === null) return null
  const { number, hash, timestamp } = members(value)
  return {
    number: parseQuantity(number),
    hash: parseHexBytes(hash, hashBytes),
    time: timestamp == null ? null : timeOf(timestamp),
  }
}

/** Converts seconds to milliseconds. @throws the errors of `parseQuantity` */
function timeOf(seconds: unknown): number {
  const time = parseQuantity(seconds) * 1000
  if (!Number.isSafeInteger(time)) throw new RpcError('result-invalid')
  return time
}

/**
 * Reads a transaction. @throws the errors of `parseQuantity`, also if the node returned another transaction than
 * `requested`
 */
export function parseTransaction(value: unknown, requested: Hex): ChainTransaction | null {
  if (value === null) return null
  const { hash, from, to, value: amount, blockNumber, blockHash } = members(value)
  assertSame(parseHexBytes(hash, hashBytes), requested)
  return {
    hash: requested,
    from: address(from),
    to: addressOrNone(to),
    value: parseBigQuantity(amount),
    blockNumber: blockNumber == null ? null : parseQuantity(blockNumber),
    blockHash: blockHash == null ? null : parseHexBytes(blockHash, hashBytes),
  }
}

/**
 * Reads a receipt; null if it is unknown or pending. The receipt must have a status (0 means reverted), and its logs
 * must be of the same transaction and block.
 *
 * @throws the errors of `parseTransaction`
 */
export function parseReceipt(value: unknown, requested: Hex): ChainReceipt | null {
  if (value === null) return null
  const { transactionHash, blockNumber, blockHash, status, from, to, logs } = members(value)
  assertSame(parseHexBytes(transactionHash, hashBytes), requested)
  if (blockNumber == null && blockHash == null) return null
  const block = { blockNumber: parseQuantity(blockNumber), blockHash: parseHexBytes(blockHash, hashBytes) }
  const outcome = parseQuantity(status)
  if (outcome > 1 || !Array.isArray(logs)) throw new RpcError('result-invalid')
  return {
    transactionHash: requested,
    ...block,
    status: outcome === 1 ? 'success' : 'reverted',
    from: address(from),
    to: addressOrNone(to),
    logs: logs.map((log) => logOf(log, requested, block)),
  }
}

function logOf(value: unknown, requested: Hex, block: Pick<ChainReceipt, 'blockNumber' | 'blockHash'>): ChainLog {
  const { address: contract, topics, data, logIndex, transactionHash, blockNumber, blockHash, removed } = members(value)
  assertSame(parseHexBytes(transactionHash, hashBytes), requested)
  assertSame(parseHexBytes(blockHash, hashBytes), block.blockHash)
  if (parseQuantity(blockNumber) !== block.blockNumber) throw new RpcError('result-invalid')
  if (!Array.isArray(topics) || topics.length > maxTopics) throw new RpcError('result-invalid')
  if (removed !== undefined && typeof removed !== 'boolean') throw new RpcError('result-invalid')
  return {
    address: address(contract),
    topics: topics.map((topic) => parseHexBytes(topic, hashBytes)),
    data: parseHexBytes(data),
    logIndex: parseQuantity(logIndex),
    transactionHash: requested,
    ...block,
    removed: removed ?? false,
  }
}

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function members(value: unknown): Members {
  if (!isMembers(value)) throw new RpcError('result-invalid')
  return value
}

function parseBigQuantity(value: unknown): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{1,64}$/.test(value)) throw new RpcError('result-invalid')
  return BigInt(value)
}

function parseHexBytes(value: unknown, size?: number): Hex {
  if (typeof value !== 'string' || !isHexBytes(value, size, size)) throw new RpcError('result-invalid')
  return lowerHex(value)
}

/** Reads an address without checking its checksum, because a node makes no typing errors. */
const address = (value: unknown): Address => parseHexBytes(value, addressBytes)
const addressOrNone = (value: unknown): Address | null => (value == null ? null : address(value))

function assertSame(one: Hex, other: Hex): void {
  if (one !== other) throw new RpcError('result-invalid')
}
