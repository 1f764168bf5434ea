export interface CheckedLog {
  /** Address of the contract in lower case. */
  readonly address: string
  /** Topics in lower case. */
  readonly topics: readonly string[]
  /** Data in lower case. */
  readonly data: string
  /** Index in the block, which may change when the transaction is mined again. */
  readonly logIndex: number
  /** Position in the transaction, from 0. It never changes. */
  readonly ordinal: number
  readonly removed: boolean
}

export interface CheckedReceipt {
  readonly blockNumber: number
  readonly blockHash: string
  readonly isSuccessful: boolean
  /** True if the block is still on the chain. */
  readonly isCanonical: boolean
  readonly logs: readonly CheckedLog[]
}

export interface CheckedChainFacts {
  readonly providerId: string
  readonly chainId: number
  readonly head: number
  /** Number of the newest block that the node reports as `safe`. */
  readonly safeNumber: number | null
  readonly finalizedNumber: number | null
  /** Block time in milliseconds since the epoch; null if not reported. */
  readonly blockTime: number | null
  /** Null if the transaction is not in a block. */
  readonly receipt: CheckedReceipt | null
}

type Members = Readonly<Record<string, unknown>>

/** Responses of a node that are not validated. Every property may have any value. */
interface RawResponses {
  readonly hash: string
  readonly facts: Members
  readonly transaction: Members | null
  readonly receipt: Members | null
  readonly logs: readonly Members[]
}

export interface ChainFactCheck {
  readonly name: string
  readonly holds: (responses: RawResponses) => boolean
}

/** Maximum number of logs of a transaction. A larger one could block the event loop. */
export const maxLogs = 10_000

const hashPattern = /^0x[0-9a-fA-F]{64}$/
const addressPattern = /^0x[0-9a-fA-F]{40}$/
const bytesPattern = /^0x(?:[0-9a-fA-F]{2})*$/

const isObject = (value: unknown): value is Members => typeof value === 'object' && value !== null
const lower = (value: unknown) => (typeof value === 'string' ? value.toLowerCase() : undefined)
const isLike = (pattern: RegExp, value: unknown) => typeof value === 'string' && pattern.test(value)
const isSame = (one: unknown, other: unknown) =>
  typeof one === 'string' && (one === other || one.toLowerCase() === lower(other))
const isAbsent = (value: unknown) => value === undefined || value === null

/** Reads an integer from 0 to 2^53 - 1 as text, bigint or number; undefined for other values. */
function quantityOf(value: unknown): number | undefined {
  if (typeof value === 'string' && !/^(?:0x[0-9a-fA-F]{1,64}|\d{1,20})$/.test(value)) return undefined
  if (typeof value !== 'number' && typeof value !== 'bigint' && typeof value !== 'string') return undefined
  const number = Number(value)
  return Number.isSafeInteger(number) && number >= 0 ? number : undefined
}

/**
 * True for success, false for a failed transaction. An invalid status is undefined, because it does not mean a failure.
 */
function successOf(status: unknown): boolean | undefined {
  if (status === 'success' || status === 'reverted') return status === 'success'
  const number = quantityOf(status)
  return number === 0 || number === 1 ? number === 1 : undefined
}

/**
 * Checks that the results of a node must pass. Each check prevents an error that a node or proxy caused and that a
 * library accepted.
 */
export const chainFactChecks: readonly ChainFactCheck[] = [
  { name: 'provider', holds: ({ facts }) => typeof facts['providerId'] === 'string' && facts['providerId'] !== '' },
  { name: 'chain id', holds: ({ facts }) => quantityOf(facts['chainId']) !== undefined },
  { name: 'head', holds: ({ facts }) => quantityOf(facts['head']) !== undefined },
  {
    name: 'finality',
    holds: ({ facts: { safeNumber, finalizedNumber } }) =>
      [safeNumber, finalizedNumber].every((number) => isAbsent(number) || quantityOf(number) !== undefined),
  },
  {
    name: 'kind of the transaction',
    holds: ({ facts, transaction }) => isAbsent(facts['transaction']) || transaction !== null,
  },
  { name: 'kind of the receipt', holds: ({ facts, receipt }) => isAbsent(facts['receipt']) || receipt !== null },
  {
    name: 'hash of the transaction',
    holds: ({ transaction, hash }) => transaction === null || isSame(transaction['hash'], hash),
  },
  {
    name: 'receipt without transaction',
    holds: ({ transaction, receipt }) => receipt === null || transaction !== null,
  },
  {
    name: 'block of the transaction',
    holds: ({ transaction, receipt }) =>
      transaction === null ||
      receipt === null ||
      isAbsent(transaction['blockHash']) ||
      isSame(transaction['blockHash'], receipt['blockHash']),
  },
  {
    name: 'hash of the receipt',
    holds: ({ receipt, hash }) => receipt === null || isSame(receipt['transactionHash'], hash),
  },
  {
    name: 'status of the receipt',
    holds: ({ receipt }) => receipt === null || successOf(receipt['status']) !== undefined,
  },
  {
    name: 'block of the receipt',
    holds: ({ receipt }) =>
      receipt === null ||
      (quantityOf(receipt['blockNumber']) !== undefined && isLike(hashPattern, receipt['blockHash'])),
  },
  {
    name: 'canonical block',
    holds: ({ facts, receipt }) => receipt === null || isLike(hashPattern, facts['canonicalBlockHash']),
  },
  {
    name: 'head before the receipt',
    holds: ({ facts, receipt }) =>
      receipt === null || (quantityOf(facts['head']) ?? 0) >= (quantityOf(receipt['blockNumber']) ?? 0),
  },
  {
    name: 'list of logs',
    holds: ({ receipt, logs }) =>
      receipt === null || (Array.isArray(receipt['logs']) && logs.length === receipt['logs'].length),
  },
  { name: 'number of logs', holds: ({ logs }) => logs.length <= maxLogs },
  {
    name: 'logs of the transaction',
    holds: ({ logs, hash }) => logs.every(({ transactionHash }) => isSame(transactionHash, hash)),
  },
  {
    name: 'block of the logs',
    holds: ({ logs, receipt }) => logs.every(({ blockHash }) => isSame(blockHash, receipt?.['blockHash'])),
  },
  {
    name: 'index of the logs',
    holds: ({ logs }) => {
      const indexes = new Set(logs.map(({ logIndex }) => quantityOf(logIndex)))
      return indexes.size === logs.length && !indexes.has(undefined)
    },
  },
  {
    name: 'content of the logs',
    holds: ({ logs }) =>
      logs.every(
        (log) =>
          isLike(addressPattern, log['address']) &&
          isLike(bytesPattern, log['data']) &&
          Array.isArray(log['topics']) &&
          log['topics'].length <= 4 &&
          log['topics'].every((topic) => isLike(hashPattern, topic)),
      ),
  },
  {
    name: 'removal of the logs',
    holds: ({ logs }) => logs.every(({ removed }) => isAbsent(removed) || typeof removed === 'boolean'),
  },
]

/**
 * Reads the facts about a transaction; undefined if they contradict each other or are invalid. Never throws.
 *
 * @param hash in lower case
 */
export function checkChainFacts(
  given: unknown,
  hash: string,
  checks: readonly ChainFactCheck[] = chainFactChecks,
): CheckedChainFacts | undefined {
  if (!isObject(given)) return undefined
  const transaction = isObject(given['transaction']) ? given['transaction'] : null
  const receipt = isObject(given['receipt']) ? given['receipt'] : null
  const listed: readonly unknown[] = Array.isArray(receipt?.['logs']) ? receipt['logs'] : []
  if (listed.length > maxLogs && checks === chainFactChecks) return undefined
  const responses = { hash, facts: given, transaction, receipt, logs: listed.filter(isObject) }
  if (!checks.every(({ holds }) => holds(responses))) return undefined
  return {
    providerId: String(given['providerId']),
    chainId: quantityOf(given['chainId']) ?? 0,
    head: quantityOf(given['head']) ?? 0,
    safeNumber: quantityOf(given['safeNumber']) ?? null,
    finalizedNumber: quantityOf(given['finalizedNumber']) ?? null,
    blockTime: quantityOf(given['blockTime']) ?? null,
    receipt: receipt === null ? null : checkedReceipt(responses, receipt),
  }
}

function checkedReceipt({ facts, logs }: RawResponses, receipt: Members): CheckedReceipt {
  return {
    blockNumber: quantityOf(receipt['blockNumber']) ?? 0,
    blockHash: lower(receipt['blockHash']) ?? '',
    isSuccessful: successOf(receipt['status']) ?? false,
    isCanonical: isSame(facts['canonicalBlockHash'], receipt['blockHash']),
    logs: logs
      .map((log) => ({
        address: lower(log['address']) ?? '',
        topics: (Array.isArray(log['topics']) ? log['topics'] : []).map((topic) => lower(topic) ?? ''),
        data: lower(log['data']) ?? '',
        logIndex: quantityOf(log['logIndex']) ?? 0,
        removed: log['removed'] === true,
      }))
      .sort((one, other) => one.logIndex - other.logIndex)
      .map((log, ordinal) => ({ ...log, ordinal })),
  }
}
