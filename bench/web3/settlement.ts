/**
 * Measures settlement plans per CPU second, and the audit of settled orders on a local chain. The audit is compared
 * with sequential calls of viem and with raw JSON-RPC batches. `--orders 1000 --rounds 3`.
 */
import { parseArgs } from 'node:util'
import type { ManualClock } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { deployToken, startAnvil, startFaultProxy } from '@plinth/dev/testing/web3'
import idempotency from '@plinth/idempotency'
import { systemClock } from '@plinth/kernel'
import outgoingHttp from '@plinth/outgoing-http'
import rateLimit from '@plinth/rate-limit'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStore from '@plinth/shared-store'
import systemConfig from '@plinth/system-config'
import web3, { chains } from '@plinth/web3'
import { createPublicClient, http } from 'viem'
import { planSettlement } from '../../plugins/web3-settlement/src/planning/plan.ts'
import type { ChainInput } from '../../plugins/web3-settlement/src/planning/plan-input.ts'
import { settlementWork } from '../../plugins/web3-settlement/src/tasks.ts'
import { createOrder } from '../../plugins/web3-settlement/test/fixtures/doubles.ts'
import { startSettlement } from '../../plugins/web3-settlement/test/fixtures/product.ts'
import { readyCase } from '../../plugins/web3-settlement/test/fixtures/ready-case.ts'
import { barsText, ratioText, sectionText } from '../kernel/report.ts'
import { median, ratio, rotated, spread } from '../kernel/statistics.ts'

const { values } = parseArgs({
  options: { orders: { type: 'string', default: '1000' }, rounds: { type: 'string', default: '3' } },
})
const orders = Number(values.orders)
const rounds = Number(values.rounds)
const page = 200
const batch = 100
const shop = `0x${'5c'.repeat(20)}` as const
const price = 1_000n
type Hash = `0x${string}`

const cpu = () => process.cpuUsage().user + process.cpuUsage().system
/** Number of plans per CPU second for each turn. The first turn is the warm-up. */
const planned: number[] = []
for (let turn = 0; turn <= 5; turn++) {
  const input = readyCase()
  const startedAt = cpu()
  let plans = 0
  let used = 0
  for (; used < 300_000; used = cpu() - startedAt) {
    for (let many = 0; many < 200; many++, plans++)
      if (planSettlement(input).state !== 'ready') throw new Error('not ready')
  }
  if (turn > 0) planned.push((1e6 * plans) / used)
}

const endings: (() => unknown)[] = []
const node = await startAnvil()
const proxy = await startFaultProxy(node.url)
const at = await createDatabase('sqlite')
endings.push(
  () => node.stop(),
  () => proxy.close(),
  () => at.drop(),
)
const product = await startSettlement({ teardown: (ending: () => unknown) => void endings.push(ending) }, at, {
  clock: systemClock as ManualClock,
  chains: [web3, outgoingHttp, systemConfig, idempotency, sharedStore, rateLimit, sharedWindow],
  config: {
    'platform.database.sqlite.synchronous': 'full',
    'platform.rate-limit.default-store': 'shared-window',
    'platform.system-config.master-key-file': `${at.directory}/master.key`,
    'platform.outgoing-http.allow-http': true,
    'platform.outgoing-http.allowed-hosts': [`127.0.0.1:${node.port}`, `127.0.0.1:${proxy.port}`],
  },
})
const terms = {
  name: 'local',
  chainId: node.chainId,
  requiredConfirmations: 3,
  providers: [{ id: 'node', url: node.url }],
}
const { data: made, code } = await product.call('POST', '/api/v1/admin/web3/chains', terms)
if (code !== '200') throw new Error('no chain')

const token = await deployToken(node)
const [, buyer = '0x'] = node.accounts
await token.mint(buyer, BigInt(orders) * price)
const hashes: Hash[] = []
await node.automine(false)
for (let order = 0; order < orders; order++) {
  hashes.push(await token.transfer(buyer, shop, price, { gas: 100_000 }))
  if (hashes.length % page === 0) await node.mine(1)
}
await node.mine(4)
await product.db.transactional(async () => {
  for (const [index, transactionHash] of hashes.entries()) {
    const outTradeNo = `order-${index}`
    const expected = { chainId: node.chainId, tokenContract: token.address, receiver: shop, amountRaw: String(price) }
    await createOrder(product.db, { outTradeNo, transactionHash, status: 'success', paidAt: 1, ...expected })
    await product.db.execute(
      `insert into money_payment_transaction (id, out_trade_no, type, transaction_hash, amount, event_key, chain_name,
         log_ordinal, facts, created_at) values (?, ?, 'web3-settlement', ?, 100, ?, 'local', 0, null, 1)`,
      [product.db.newId(), outTradeNo, transactionHash, `local:${transactionHash}:0`],
    )
  }
})

const { audit } = product.running.service(settlementWork)
async function byProduct() {
  let afterId = 0
  let sound = 0
  for (;;) {
    const scope = { provider: 'web3', paidBefore: new Date(), limit: page, afterId }
    const { findings, nextAfterId } = await audit.page(scope)
    sound += findings.filter(({ risky }) => !risky).length
    if (nextAfterId === null) return sound
    afterId = nextAfterId
  }
}

const chain: ChainInput = {
  name: 'local',
  chainId: node.chainId,
  enabled: true,
  requiredConfirmations: 3,
  finality: 'depth',
}
const order = {
  ...readyCase().order,
  provider: 'web3',
  status: 'success',
  tokenContract: token.address,
  receiver: shop,
}
/** True if the only reason against a settlement is that the order is already paid. */
function isSound(transactionHash: Hash, facts: unknown): boolean {
  const requested = { ...order, transactionHash, amountRaw: String(price), chainId: node.chainId } as never
  const { reasons } = planSettlement({ outTradeNo: 'order', order: requested, chain, facts, consumed: [] })
  return reasons.join() === 'local-order-already-paid'
}

/** Reads the orders with viem as an application does that waits for each result. */
async function byViem() {
  const client = createPublicClient({ transport: http(node.url, { retryCount: 0 }), cacheTime: 0 })
  let sound = 0
  for (const hash of hashes) {
    const chainId = await client.getChainId()
    const head = Number(await client.getBlockNumber())
    const transaction = await client.getTransaction({ hash })
    const { logs, ...receipt } = await client.getTransactionReceipt({ hash })
    const { hash: canonicalBlockHash } = await client.getBlock({ blockNumber: receipt.blockNumber })
    const plain = {
      transactionHash: hash,
      blockHash: receipt.blockHash,
      blockNumber: Number(receipt.blockNumber),
      status: receipt.status,
      logs,
    }
    sound += isSound(hash, { providerId: 'viem', chainId, transaction, receipt: plain, head, canonicalBlockHash })
      ? 1
      : 0
  }
  return sound
}

/**
 * Reads the orders with viem as an optimised application does: pages of orders, concurrent queries per page, and
 * JSON-RPC batches by the transport. Chain and newest block are read once per page, and each block once. Multicall is
 * not used, because no contract is called.
 */
async function byViemInBatches() {
  const transport = http(node.url, { batch: { batchSize: batch, wait: 0 }, retryCount: 0 })
  const client = createPublicClient({ transport, cacheTime: 0 })
  let sound = 0
  for (let from = 0; from < hashes.length; from += page) {
    const some = hashes.slice(from, from + page)
    const [chainId, head, transactions, receipts] = await Promise.all([
      client.getChainId(),
      client.getBlockNumber().then(Number),
      Promise.all(some.map((hash) => client.getTransaction({ hash }))),
      Promise.all(some.map((hash) => client.getTransactionReceipt({ hash }))),
    ])
    const heights = [...new Set(receipts.map(({ blockNumber }) => blockNumber))]
    const blocks = await Promise.all(heights.map((blockNumber) => client.getBlock({ blockNumber })))
    const hashAt = new Map(blocks.map(({ number, hash }) => [number, hash]))
    for (const [index, { logs, ...receipt }] of receipts.entries()) {
      const hash = some[index] as Hash
      const plain = {
        transactionHash: hash,
        blockHash: receipt.blockHash,
        blockNumber: Number(receipt.blockNumber),
        status: receipt.status,
        logs,
      }
      const canonicalBlockHash = hashAt.get(receipt.blockNumber)
      const requested = { providerId: 'viem', chainId, transaction: transactions[index], receipt: plain, head }
      sound += isSound(hash, { ...requested, canonicalBlockHash }) ? 1 : 0
    }
  }
  return sound
}

interface RawReceipt {
  readonly transactionHash: Hash
  readonly blockNumber: Hash
  readonly blockHash: Hash
}
type Call = readonly [method: string, ...parameters: unknown[]]
async function ask(calls: readonly Call[]): Promise<unknown[]> {
  const results: unknown[] = []
  for (let from = 0; from < calls.length; from += batch) {
    const some = calls.slice(from, from + batch)
    const body = JSON.stringify(some.map(([method, ...params], id) => ({ jsonrpc: '2.0', id, method, params })))
    const response = await fetch(node.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    const responses = (await response.json()) as { id: number; result: unknown }[]
    results.push(...responses.toSorted((a, b) => a.id - b.id).map(({ result }) => result))
  }
  return results
}
/** Sends the queries of `byViemInBatches` as raw JSON-RPC batches and does not process the results. */
async function byBatches() {
  let sound = 0
  for (let from = 0; from < hashes.length; from += page) {
    const some = hashes.slice(from, from + page)
    const responses = await ask([
      ['eth_chainId'],
      ['eth_blockNumber'],
      ...some.flatMap((hash): Call[] => [
        ['eth_getTransactionByHash', hash],
        ['eth_getTransactionReceipt', hash],
      ]),
    ])
    const receipts = responses.slice(2).filter((_, at) => at % 2 === 1) as RawReceipt[]
    const heights = [...new Set(receipts.map(({ blockNumber }) => blockNumber))]
    const blocks = (await ask(heights.map((height): Call => ['eth_getBlockByNumber', height, false]))) as {
      number: Hash
      hash: Hash
    }[]
    const hashAt = new Map(blocks.map(({ number, hash }) => [number, hash]))
    sound += receipts.filter(({ blockNumber, blockHash }) => hashAt.get(blockNumber) === blockHash).length
  }
  return sound
}

const facts = product.running.service(chains)
async function receiptsByProduct() {
  let found = 0
  for (let from = 0; from < hashes.length; from += batch) {
    const some = await facts.factsOfMany('local', hashes.slice(from, from + batch))
    for (const one of some.values()) found += 'receipt' in one && one.receipt !== null ? 1 : 0
  }
  return found
}
async function receiptsByViem() {
  const transport = http(node.url, { batch: { batchSize: batch, wait: 0 }, retryCount: 0 })
  const client = createPublicClient({ transport })
  let found = 0
  for (let from = 0; from < hashes.length; from += batch) {
    const some = hashes.slice(from, from + batch)
    found += (await Promise.all(some.map((hash) => client.getTransactionReceipt({ hash })))).length
  }
  return found
}

const candidates = {
  'audit, product': byProduct,
  'audit, viem one after another': byViem,
  'audit, viem in batches': byViemInBatches,
  'audit, raw batches': byBatches,
  'receipts, product': receiptsByProduct,
  'receipts, viem in batches': receiptsByViem,
}
type Candidate = keyof typeof candidates
const names = Object.keys(candidates) as Candidate[]
const series = () => Object.fromEntries(names.map((name) => [name, [] as number[]])) as Record<Candidate, number[]>
const seconds = series()
/** CPU time of this process without the node. On a busy host it is more reliable than elapsed time. */
const cpuSeconds = series()
for (let round = 0; round <= rounds; round++) {
  for (const name of rotated(names, round)) {
    // The first round is the warm-up and is not counted.
    const [startedAt, usedBefore] = [performance.now(), cpu()]
    const found = await candidates[name]()
    if (found !== orders) throw new Error(`${name}: ${found} of ${orders}`)
    if (round === 0) continue
    seconds[name].push((performance.now() - startedAt) / 1000)
    cpuSeconds[name].push((cpu() - usedBefore) / 1e6)
  }
}

// Again through a counting proxy.
await product.call('PUT', `/api/v1/admin/web3/chains/${made.id}`, {
  version: made.version,
  providers: [{ id: 'counted', url: proxy.url }],
})
proxy.clear()
if ((await byProduct()) !== orders) throw new Error('the proxy is not asked')
const requests = proxy.requests.length
const most = (orders * 5) / batch + 2
for (const ending of endings.reverse()) await ending()

const against = (base: Candidate, name: Candidate, of = seconds) => ratio(of[base], of[name])
const rate = (name: Candidate, of = seconds) => (orders / median(of[name])).toFixed(0)
const tables = [
  [
    [
      `${orders} settled orders`,
      'per second',
      'times as fast as the product',
      'per second of CPU',
      'times the product',
    ],
    ...names.map((name) => {
      const [kind] = name.split(',')
      const own = `${kind}, product` as Candidate
      return [
        name,
        rate(name),
        ratioText(against(own, name)),
        rate(name, cpuSeconds),
        ratioText(against(own, name, cpuSeconds)),
      ]
    }),
  ],
]
const notes = [
  `${median(planned).toFixed(0)} plans per second of CPU (${Math.min(...planned).toFixed(0)}..${Math.max(...planned).toFixed(0)})`,
  'the product asks for transaction, receipt, block, chain and head, and plans; viem in batches asks for receipts alone',
  `an audit of ${orders} orders is ${requests} HTTP requests to the node`,
  `${rounds} rounds`,
]
console.log(sectionText({ title: 'Settlement', tables, notes, bars: [] }))
console.log(
  `\n${barsText([
    {
      name: 'audit, product / viem one after another',
      measured: against('audit, viem one after another', 'audit, product'),
      bar: { atLeast: 8 },
      unit: 'ratio',
    },
    {
      name: 'audit, product / viem in batches',
      measured: against('audit, viem in batches', 'audit, product'),
      bar: { atLeast: 0.8 },
      unit: 'ratio',
    },
    {
      name: 'audit, product / raw batches',
      measured: against('audit, raw batches', 'audit, product'),
      bar: { atLeast: 0.7 },
      unit: 'ratio',
    },
    {
      name: 'plans per second of CPU / 50,000',
      measured: spread(planned.map((plans) => plans / 50_000)),
      bar: { atLeast: 1 },
      unit: 'ratio',
    },
    { name: `HTTP requests of an audit / ${most}`, measured: requests / most, bar: { atMost: 1 }, unit: 'ratio' },
  ])}`,
)
