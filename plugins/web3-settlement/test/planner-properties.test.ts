/** Tests properties that every plan must have, for any result of a node. */
import fc from 'fast-check'
import t from 'tap'
import { canonicalJson } from '../src/planning/fingerprint.ts'
import { planSettlement, preChecks, type SettlementPlan } from '../src/planning/plan.ts'
import { naivePlan, sortedJson } from './fixtures/naive-plan.ts'
import {
  address,
  blockHash,
  chain,
  facts,
  hash,
  hashOf,
  order,
  otherLog,
  payer,
  type RawFacts,
  type RawLog,
  readyCase,
  receipt,
  stranger,
  transferLog,
} from './fixtures/ready-case.ts'

/** Generates the usual value in most cases, and one of the other values in the rest. */
const mostly = <T>(usual: T, ...others: unknown[]) =>
  fc.oneof(
    { weight: 4, arbitrary: fc.constant(usual as unknown) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  )

const someLog = fc
  .record({
    index: fc.constantFrom<unknown>(0, 1, 2, 3, '0x1', 5n, null, -1),
    value: fc.constantFrom(1_000_000n, 1n, 999_999n),
    to: mostly(undefined, stranger),
    token: mostly(undefined, stranger),
    removed: mostly(false, true, undefined, 'yes'),
    isTransfer: mostly(true, false),
    hash: mostly(hash, hashOf('11'), hash.toUpperCase().replace('0X', '0x')),
    topics: mostly(undefined, null, [], ['0x']),
  })
  .map(({ index, value, to, token, removed, isTransfer, hash, topics }): RawLog => {
    const change = { value, removed, ...(to === undefined ? {} : { to: String(to) }) }
    const log = isTransfer
      ? transferLog(index, { ...change, ...(token === undefined ? {} : { token: String(token) }) })
      : otherLog(index)
    return { ...log, transactionHash: hash, ...(topics === undefined ? {} : { topics }) }
  })

/** Chain data that is almost correct, as after an error, a reorganisation or another payment. */
const someFacts = fc
  .record({
    chainId: mostly(31337, 1, '0x7a69', null),
    head: mostly(12, 9, 10, 11, '0xc', 13n, 12.5, undefined),
    canonicalBlockHash: mostly(blockHash, hashOf('77'), null, blockHash.toUpperCase().replace('0X', '0x')),
    status: mostly('success', 'reverted', '0x1', '0x0', 1, undefined, '0x2'),
    blockNumber: mostly(10, '0xa', 11, null),
    receiptHash: mostly(hash, hashOf('11')),
    transaction: mostly({ hash, blockHash }, null, { hash: hashOf('11') }, { hash, blockHash: hashOf('12') }, 7),
    mined: mostly(true, false),
    error: mostly(undefined, 'timeout', 'chain-id-mismatch'),
    safeNumber: mostly(undefined, 9, 10, 'latest'),
    finalizedNumber: mostly(undefined, 9, 10),
    logs: fc.oneof(
      { weight: 9, arbitrary: fc.constant([otherLog(4), transferLog(5)] as unknown) },
      { weight: 3, arbitrary: fc.array(someLog, { maxLength: 5 }) },
      { weight: 1, arbitrary: fc.constant(null) },
    ),
  })
  .map(({ status, blockNumber, receiptHash, mined, error, logs, ...rest }): RawFacts => {
    const found = mined ? receipt({ status, blockNumber, transactionHash: receiptHash, logs }) : null
    return { ...facts({ ...rest, receipt: found }), ...(error === undefined ? {} : { error }) }
  })

const someOrder = fc
  .record({
    provider: mostly('web3', 'alipay'),
    status: mostly('pending', 'success', 'closed'),
    chainName: mostly('local', 'other', null),
    chainId: mostly(31337, 1, null),
    tokenContract: mostly(order().tokenContract, null, 'token', address('00')),
    receiver: mostly(order().receiver, null, stranger),
    amountRaw: mostly('1000000', '01000000', '0', '', null, '-1', '1'),
    requiredConfirmations: mostly(3, null, 4),
    transactionHash: mostly(hash, null, '', '0x12', hash.toUpperCase().replace('0X', '0x')),
    payer: mostly(null, payer, stranger),
    createdAt: mostly(1_000, 1_000_000, 1_000_001, 2_000_000),
  })
  .map((change) => order(change as Parameters<typeof order>[0]))

const someInput = fc
  .record({
    order: fc.oneof({ weight: 9, arbitrary: someOrder }, { weight: 1, arbitrary: fc.constant(null) }),
    facts: someFacts,
    chain: fc
      .record({
        name: mostly('local', 'other'),
        chainId: mostly(31337, 5),
        enabled: mostly(true, false),
        requiredConfirmations: mostly(3, null, 0, 2, 4),
        finality: mostly('depth', 'safe', 'finalized'),
      })
      .map((change) => chain(change as Parameters<typeof chain>[0])),
    consumed: fc.array(
      fc.record({
        outTradeNo: mostly('order-2', 'order-1').map(String),
        logIndex: fc.constantFrom(null, 3, 5),
        logOrdinal: fc.constantFrom(null, 0, 1),
      }),
      { maxLength: 1 },
    ),
    wasMined: fc.boolean(),
    isSentByBuyer: fc.boolean(),
    claims: fc.array(
      fc.record({
        outTradeNo: mostly('order-2', 'order-1', 'order-3').map(String),
        namesTransaction: fc.boolean(),
        logIndex: fc.constantFrom(null, null, 3, 5),
        payer: fc.constantFrom(null, payer, stranger),
        acceptsTransfer: fc.boolean(),
      }),
      { maxLength: 2 },
    ),
    blockTimeToleranceMs: fc.constantFrom(0, 1, 300_000),
    pick: fc.constantFrom(undefined, undefined, { logIndex: 5 }, { ordinal: 1 }, { ordinal: 0, logIndex: 3 }),
  })
  .map((change) => readyCase(change))

const anyInput = fc.oneof(
  { weight: 3, arbitrary: someInput },
  { weight: 1, arbitrary: someFacts.map((found) => readyCase({ facts: found })) },
  { weight: 1, arbitrary: someOrder.map((found) => readyCase({ order: found })) },
)

t.test('S-077 a plan agrees with a slow second implementation in every part', async (t) => {
  const states = new Map<string, number>()
  fc.assert(
    fc.property(anyInput, (input) => {
      const fast = planSettlement(input)
      const slow = naivePlan(input)
      states.set(fast.state, (states.get(fast.state) ?? 0) + 1)
      const { state, causes, confirmations, fingerprint } = fast
      const reasons = [...fast.reasons].sort()
      const plan = { state, reasons, causes, confirmations, logIndex: fast.transfer?.logIndex ?? null, fingerprint }
      if (JSON.stringify(plan) !== JSON.stringify(slow)) throw new Error(JSON.stringify([plan, slow], null, 1))
    }),
    { numRuns: 4_000 },
  )
  for (const state of ['pending', 'confirming', 'review_required', 'ready', 'blocked', 'failed']) {
    t.ok((states.get(state) ?? 0) > 5, `${state}: ${states.get(state)} cases`)
  }
})

t.test('S-013 a plan is total: no response makes it throw, become ready or change anything', async (t) => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    maxDepth: 4,
  })
  const shaped = fc.record(
    {
      providerId: anything,
      chainId: anything,
      head: anything,
      transaction: fc.oneof(anything, fc.record({ hash: fc.constant(hash) })),
      receipt: fc.record(
        {
          transactionHash: fc.constant(hash),
          status: anything,
          blockNumber: anything,
          blockHash: anything,
          logs: fc.oneof(anything, fc.array(anything)),
        },
        { requiredKeys: [] },
      ),
      canonicalBlockHash: anything,
    },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(fc.oneof(anything, fc.jsonValue(), shaped), (found) => {
      const plan = planSettlement(readyCase({ facts: found }))
      return plan.state !== 'ready' && plan.reasons.length > 0
    }),
    { numRuns: 3_000 },
  )
  t.equal(planSettlement(readyCase()).state, 'ready')
  const numbers = fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, -1, 0, 1.5, 2 ** 60)
  fc.assert(
    fc.property(numbers, numbers, fc.string(), (one, other, text) => {
      const input = readyCase({
        order: order({ requiredConfirmations: one, chainId: other, receiver: text, outTradeNo: text }),
        chain: chain({ requiredConfirmations: other, chainId: one, name: text }),
      })
      return planSettlement(input).state !== 'ready'
    }),
  )
})

t.test('S-010 ready means that every condition is met', async (t) => {
  let ready = 0
  fc.assert(
    fc.property(anyInput, (input) => {
      const plan = planSettlement(input)
      if (plan.state !== 'ready') return
      ready += 1
      const { order, chain } = input
      const used = input.consumed.some(
        ({ outTradeNo, logIndex, logOrdinal }) =>
          outTradeNo === order?.outTradeNo ||
          logIndex === plan.transfer?.logIndex ||
          logOrdinal === plan.transfer?.logOrdinal,
      )
      const conditions = [
        order?.provider === 'web3' && order.status === 'pending' && chain?.enabled === true,
        chain?.name === order?.chainName && plan.chainId === chain?.chainId,
        (plan.confirmations ?? 0) >= Math.max(order?.requiredConfirmations ?? 0, chain?.requiredConfirmations ?? 0),
        plan.transfer?.to === order?.receiver && plan.transfer?.token === order?.tokenContract,
        BigInt(plan.transfer?.value ?? 0) === BigInt(order?.amountRaw ?? -1),
        plan.reasons.length === 0 && plan.causes.length === 0 && !used,
      ]
      if (conditions.includes(false)) throw new Error(JSON.stringify(conditions))
    }),
    { numRuns: 3_000 },
  )
  t.ok(ready > 100, `${ready} cases`)
})

t.test('S-094 unrelated logs and the order of the logs change neither result nor fingerprint', async (t) => {
  const logs = [transferLog(10), otherLog(11), transferLog(12, { to: stranger })]
  const planWith = (list: readonly RawLog[]) =>
    planSettlement(readyCase({ facts: facts({ receipt: receipt({ logs: list }) }) }))
  const before = planWith(logs)
  t.equal(before.state, 'ready')
  const unrelated = fc
    .uniqueArray(fc.constantFrom(1, 2, 3, 20, 21, 22), { maxLength: 6 })
    .map((all) => all.map((at) => otherLog(at)))
  fc.assert(
    fc.property(
      unrelated.chain((more) => fc.shuffledSubarray([...logs, ...more], { minLength: logs.length + more.length })),
      (list) => {
        const { transfer, ...plan } = planWith(list)
        const { transfer: first, ...same } = before
        t.same(plan, same)
        t.equal(transfer?.logIndex, first?.logIndex)
        t.equal(transfer?.logOrdinal, list.filter(({ logIndex }) => Number(logIndex) < 10).length)
      },
    ),
  )
})

t.test('S-017 more blocks never revoke a ready plan, and never change a fingerprint', async (t) => {
  fc.assert(
    fc.property(anyInput, fc.nat({ max: 1_000_000 }), (input, more) => {
      const plan = planSettlement(input)
      const head = plan.head
      if (head === null) return
      const later = planSettlement({ ...input, facts: { ...(input.facts as object), head: head + more } })
      if (plan.state === 'ready') t.equal(later.state, 'ready')
      t.equal(later.fingerprint, plan.fingerprint)
    }),
    { numRuns: 500 },
  )
})

t.test('S-010 a plan is the same every time, and does not change its input', async (t) => {
  const frozen = <T>(value: T): T => {
    if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(frozen)
    return value
  }
  fc.assert(
    fc.property(anyInput, (input) => {
      const copy = structuredClone(input)
      const plan: SettlementPlan = planSettlement(frozen(input))
      t.same(planSettlement(copy), plan)
    }),
    { numRuns: 300 },
  )
  t.ok(preChecks.length > 20)
})

t.test('S-017 canonical JSON equals that of a second implementation', async (t) => {
  const values = fc.jsonValue({ maxDepth: 5 })
  fc.assert(
    fc.property(values, (value) => {
      const text = canonicalJson(value as Parameters<typeof canonicalJson>[0])
      t.equal(text, sortedJson(value))
      t.same(JSON.parse(text), JSON.parse(JSON.stringify(value)))
    }),
    { numRuns: 500 },
  )
  // RFC 8785, 3.2.3 sorts by UTF-16 code units, so a surrogate pair comes before U+FB33.
  t.equal(
    canonicalJson({ '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 }),
    '{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}',
  )
  t.equal(canonicalJson([1e30, 4.5, 2e-3, 1e-27, -0]), '[1e+30,4.5,0.002,1e-27,0]')
  t.throws(() => canonicalJson(Number.NaN), RangeError)
  t.throws(() => canonicalJson('\ud800'), RangeError)
})
