/** Tests which data is part of a fingerprint, and which is not. */
import t from 'tap'
import { type ReviewedFacts, reviewFingerprint } from '../src/planning/fingerprint.ts'
import { planSettlement } from '../src/planning/plan.ts'
import { blockingReasons } from '../src/planning/reasons.ts'
import {
  blockHash,
  chain,
  facts,
  hash,
  hashOf,
  order,
  payer,
  readyCase,
  receipt,
  receiver,
  stranger,
  token,
  transferLog,
} from './fixtures/ready-case.ts'

const reviewed: ReviewedFacts = {
  outTradeNo: 'order-1',
  chainName: 'local',
  chainId: 31337,
  transactionHash: hash,
  token,
  receiver,
  amount: 1_000_000n,
  requiredConfirmations: 3,
  transfer: {
    token,
    from: payer,
    to: receiver,
    value: 1_000_000n,
    logIndex: 5,
    ordinal: 1,
    removed: false,
    blockNumber: 10,
    blockHash,
  },
  reasons: [],
}
const base = reviewFingerprint(reviewed)

t.test(
  'S-017 every covered member changes the fingerprint, including block, log index and each permanent mismatch',
  async (t) => {
    t.match(base, /^[0-9a-f]{64}$/)
    const transfer = reviewed.transfer
    if (transfer === null) throw new Error('no transfer')
    const changes: readonly Partial<ReviewedFacts>[] = [
      { outTradeNo: 'order-2' },
      { chainName: 'other' },
      { chainId: 1 },
      { transactionHash: hashOf('11') },
      { token: stranger },
      { receiver: stranger },
      { amount: 1_000_001n },
      { transfer: null },
      { transfer: { ...transfer, blockNumber: 11 } },
      { transfer: { ...transfer, blockHash: hashOf('12') } },
      { transfer: { ...transfer, logIndex: 6 } },
      { transfer: { ...transfer, from: stranger } },
      { transfer: { ...transfer, to: stranger } },
      { transfer: { ...transfer, token: stranger } },
      { transfer: { ...transfer, value: 2n } },
      { reasons: ['chain-id-mismatch'] },
      { reasons: ['chain-transaction-failed'] },
      { reasons: ['transfer-missing'] },
      { reasons: ['receiver-address-mismatch'] },
      { reasons: ['token-contract-mismatch'] },
      { reasons: ['amount-mismatch'] },
      { reasons: ['transfer-removed'] },
    ]
    const all = [base, ...changes.map((change) => reviewFingerprint({ ...reviewed, ...change }))]
    t.equal(new Set(all).size, all.length)
  },
)

t.test('a fingerprint does not cover the required confirmations, except in the first version', async (t) => {
  const other = { ...reviewed, requiredConfirmations: 4 }
  t.equal(reviewFingerprint(other), base)
  t.equal(reviewFingerprint(reviewed, 1), 'a85ee74831c19740c8e5d886015ada64a4159328aa7cd0fdf7e4d3da5f1b0923')
  t.not(reviewFingerprint(other, 1), reviewFingerprint(reviewed, 1))
})

t.test('S-018 the order of the reasons changes nothing, and neither does a temporary reason', async (t) => {
  const with2 = reviewFingerprint({ ...reviewed, reasons: ['amount-mismatch', 'transfer-removed'] })
  t.equal(reviewFingerprint({ ...reviewed, reasons: ['transfer-removed', 'amount-mismatch'] }), with2)
  t.equal(
    reviewFingerprint({ ...reviewed, reasons: ['transfer-removed', 'amount-mismatch', 'transfer-removed'] }),
    with2,
  )
  const passing = blockingReasons.filter((reason) => reviewFingerprint({ ...reviewed, reasons: [reason] }) === base)
  for (const reason of [
    'chain-transaction-not-mined',
    'chain-confirmations-insufficient',
    'rpc-query-failed',
  ] as const) {
    t.ok(passing.includes(reason), reason)
  }
  t.equal(passing.length, 14)
})

t.test('S-017 a review that was saved while confirming has the fingerprint of the settlement', async (t) => {
  const confirming = planSettlement(readyCase({ facts: facts({ head: 10 }) }))
  const ready = planSettlement(readyCase())
  t.equal(confirming.state, 'confirming')
  t.equal(ready.state, 'ready')
  t.equal(confirming.fingerprint, ready.fingerprint)
  t.equal(
    planSettlement(readyCase({ facts: facts({ providerId: 'two', observedAt: 2 }) })).fingerprint,
    ready.fingerprint,
  )
})

t.test('S-017 upper case, notation of amounts and order of members change nothing', async (t) => {
  const { fingerprint } = planSettlement(readyCase())
  const upper = (text: string) => text.toUpperCase().replace('0X', '0x')
  const log = transferLog('0x5')
  const spelled = readyCase({
    order: order({
      tokenContract: upper(token),
      receiver: upper(receiver),
      transactionHash: upper(hash),
      amountRaw: '01000000',
    }),
    chain: { ...chain() },
    facts: {
      observedAt: 7,
      head: 12n,
      chainId: '31337',
      providerId: 'one',
      canonicalBlockHash: upper(blockHash),
      receipt: receipt({ blockNumber: 10n, blockHash: upper(blockHash), logs: [{ ...log, address: upper(token) }] }),
      transaction: { blockHash: upper(blockHash), hash: upper(hash) },
    },
  })
  t.equal(planSettlement(spelled).state, 'ready')
  t.equal(planSettlement(spelled).fingerprint, fingerprint)
})

t.test(
  'S-017 a block that replaced another one, with the same number and log index, changes the fingerprint',
  async (t) => {
    const moved = facts({
      canonicalBlockHash: hashOf('99'),
      transaction: { hash, blockHash: hashOf('99') },
      receipt: receipt({ blockHash: hashOf('99'), logs: [{ ...transferLog(5), blockHash: hashOf('99') }] }),
    })
    const plan = planSettlement(readyCase({ facts: moved }))
    t.equal(plan.state, 'ready')
    t.not(plan.fingerprint, planSettlement(readyCase()).fingerprint)
  },
)
