/** Tests settlement on a real chain: payments, reorganisations of every kind, and faulty providers. */

import type { ManualClock } from '@plinth/dev/testing'
import { assertMembers } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import {
  deployToken,
  type FaultProxy,
  type ProviderFault,
  skipAnvil,
  startAnvil,
  startFaultProxy,
} from '@plinth/dev/testing/web3'
import idempotency from '@plinth/idempotency'
import { systemClock } from '@plinth/kernel'
import outgoingHttp from '@plinth/outgoing-http'
import rateLimit from '@plinth/rate-limit'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStore from '@plinth/shared-store'
import systemConfig from '@plinth/system-config'
import web3 from '@plinth/web3'
import t, { type Test } from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { createOrder } from './fixtures/doubles.ts'
import { adminWeb3Path, auditPath, reviewPath, startSettlement } from './fixtures/product.ts'

const shop = `0x${'a'.repeat(40)}` as const
const price = 1_000n
const auditTask = 'money.web3.payment-settlement.audit'

/** Starts a product with a chain of one provider, and a funded buyer. */
async function start(t: Test) {
  const chain = await startAnvil({ slotsInAnEpoch: 1 })
  const proxy: FaultProxy = await startFaultProxy(chain.url)
  t.teardown(async () => {
    await proxy.close()
    await chain.stop()
  })
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const product = await startSettlement(t, at, {
    // A real clock, because the deadlines of requests to a node use real time.
    clock: systemClock as ManualClock,
    chains: [web3, outgoingHttp, systemConfig, idempotency, sharedStore, rateLimit, sharedWindow],
    config: {
      'platform.rate-limit.default-store': 'shared-window',
      'platform.rate-limit.store-deadline': '1m',
      'platform.system-config.master-key-file': `${at.directory}/master.key`,
      'platform.outgoing-http.allow-http': true,
      'platform.outgoing-http.allowed-hosts': [`127.0.0.1:${proxy.port}`],
      'platform.web3.rpc.deadline': '5s',
      'platform.web3.rpc.breaker.failures': 100,
      'platform.money.web3.settlement.audit.older-than-minutes': 0,
    },
  })
  const created = await product.call('POST', '/api/v1/admin/web3/chains', {
    name: 'local',
    chainId: chain.chainId,
    requiredConfirmations: 3,
    providers: [{ id: 'node', url: proxy.url }],
  })
  if (created.code !== '200') throw new Error(JSON.stringify(created))
  const account = privateKeyToAccount(`0x${'42'.repeat(32)}`)
  const [funder = '0x', buyer = '0x'] = chain.accounts
  const token = await deployToken(chain)
  await chain.send({ from: funder, to: account.address, value: 10n ** 18n })
  for (const owner of [buyer, account.address]) await token.mint(owner, 1_000_000n)
  let orders = 0
  let nonce = 0
  return {
    ...product,
    chain,
    proxy,
    token,
    buyer,
    account,
    /** Creates a pending order with the usual price. */
    async order(transactionHash: string | null = null) {
      orders += 1
      const terms = { chainId: chain.chainId, tokenContract: token.address, receiver: shop, amountRaw: String(price) }
      return createOrder(product.db, {
        outTradeNo: `order-${orders}`,
        ...terms,
        requiredConfirmations: null,
        transactionHash,
      })
    },
    confirm: async (outTradeNo: string, transactionHash?: string) =>
      (await product.call('POST', `${adminWeb3Path}/payment-confirmations`, { outTradeNo, transactionHash })).data,
    /** Signs a payment without sending it. The same payment can then be included again in another block. */
    sign: () =>
      account.signTransaction({
        chainId: chain.chainId,
        type: 'eip1559',
        nonce: nonce++,
        to: token.address,
        data: token.transferData(shop, price),
        gas: 100_000n,
        maxFeePerGas: 1_100_000_000n,
        maxPriorityFeePerGas: 1n,
      }),
  }
}

const skip = skipAnvil

t.test(
  'S-007 S-008 S-010 S-014 S-025 a payment is followed from unknown to settled on a real chain',
  { skip, timeout: 600_000 },
  async (t) => {
    const { order, confirm, chain, token, buyer, save, settle, statusOf } = await start(t)
    const { outTradeNo } = await order()
    assertMembers(t, await confirm(outTradeNo), { state: 'pending', reasons: ['transaction-hash-missing'] })
    assertMembers(t, await confirm(outTradeNo, `0x${'12'.repeat(32)}`), {
      state: 'pending',
      reasons: ['chain-transaction-not-mined'],
    })
    await chain.automine(false)
    const hash = await token.transfer(buyer, shop, price)
    assertMembers(t, await confirm(outTradeNo, hash), {
      state: 'pending',
      reasons: ['chain-transaction-not-mined'],
      transfer: null,
    })
    await chain.mine(1)
    await chain.automine(true)
    assertMembers(t, await confirm(outTradeNo, hash), {
      state: 'confirming',
      confirmations: 1,
      reasons: ['chain-confirmations-insufficient'],
    })
    const { data: review } = await save(outTradeNo, { transactionHash: hash })
    t.hasStrict((await settle(review.id)).data, { outcome: 'skipped', state: 'confirming' })
    const before = await chain.snapshot()
    await chain.mine(2)
    t.hasStrict(await confirm(outTradeNo, hash), { state: 'ready', confirmations: 3 })
    await chain.revert(before)
    t.hasStrict(await confirm(outTradeNo, hash), { state: 'confirming' }, 'a head that goes back takes it back')
    await chain.mine(2)
    t.hasStrict((await settle(review.id)).data, { outcome: 'settled' })
    t.equal(await statusOf(outTradeNo), 'success')
  },
)

t.test(
  'S-009 S-012 S-024 S-089 S-090 S-091 invalid payments and other payments on a real chain',
  { skip, timeout: 600_000 },
  async (t) => {
    const { order, confirm, chain, token, buyer, save, settle } = await start(t)
    const other = await deployToken(chain)
    await other.mint(buyer, 1_000_000n)
    const { outTradeNo } = await order()
    const judged = async (hash: string) => {
      await chain.mine(3)
      const { state, reasons, causes } = await confirm(outTradeNo, hash)
      return [state, ...reasons, ...causes]
    }
    const stranger = `0x${'b'.repeat(40)}` as const
    t.same(await judged(await token.transfer(buyer, stranger, price)), ['blocked', 'receiver-address-mismatch'])
    t.same(await judged(await other.transfer(buyer, shop, price)), ['blocked', 'token-contract-mismatch'])
    t.same(await judged(await token.transfer(buyer, shop, price - 1n)), ['blocked', 'amount-mismatch'])
    t.same(await judged(await token.transfer(buyer, shop, price + 1n)), ['blocked', 'amount-mismatch'])
    t.same(await judged(await token.transfer(buyer, shop, 10n ** 12n, { gas: 100_000 })), [
      'blocked',
      'chain-transaction-failed',
    ])
    t.same(
      await judged(await chain.send({ from: buyer, to: shop, value: price })),
      ['blocked', 'transfer-missing'],
      'the coin of the chain',
    )
    t.same(
      await judged(await token.transferTwice(buyer, shop, 400n, shop, 600n)),
      ['blocked', 'amount-mismatch'],
      'in two parts',
    )
    t.same(
      await judged(await token.transferTwice(buyer, stranger, price, shop, price)),
      ['ready'],
      'another transfer besides',
    )
    const twice = await token.transferTwice(buyer, shop, price, shop, price)
    t.same(await judged(twice), ['review_required', 'several-matching-transfers'])

    // One transaction contains payments for two orders, so an operator selects the log for each order.
    const second = await order()
    for (const [number, logIndex] of [
      [outTradeNo, 0],
      [second.outTradeNo, 1],
    ] as const) {
      const { data: review } = await save(number, { transactionHash: twice, logIndex })
      t.hasStrict((await settle(review.id)).data, { outcome: 'settled' }, `log ${logIndex}`)
    }
    const third = await order()
    const { data: late } = await save(third.outTradeNo, { transactionHash: twice, logIndex: 1 })
    assertMembers(t, (await settle(late.id)).data, { outcome: 'skipped', reasons: ['transaction-already-exists'] })
  },
)

t.test('S-015 S-023 S-036 S-057 payments that a reorganisation removes', { skip, timeout: 600_000 }, async (t) => {
  const { order, chain, token, buyer, save, settle, statusOf, call, runTask, reported, log, count } = await start(t)
  const empty = await chain.snapshot()
  const dropped = await order(await token.transfer(buyer, shop, price))
  await chain.mine(3)
  const { data: review } = await save(dropped.outTradeNo)
  t.hasStrict(review, { state: 'ready' })
  await chain.revert(empty)
  await chain.mine(9)
  assertMembers(t, (await settle(review.id)).data, {
    outcome: 'skipped',
    state: 'blocked',
    reasons: ['chain-transaction-not-mined', 'review-fingerprint-mismatched', 'transfer-removed'],
  })
  t.equal(await statusOf(dropped.outTradeNo), 'pending')

  const kept = await order(await token.transfer(buyer, shop, price))
  await chain.mine(2)
  const { data: second } = await save(kept.outTradeNo)
  t.hasStrict((await settle(second.id)).data, { outcome: 'settled' })
  const head = await chain.head()
  await chain.reorganise(3)
  t.equal(await chain.head(), head)
  const { data: audit } = await call('POST', `${adminWeb3Path}/payment-confirmations/settled-audits`, {})
  assertMembers(t, audit, {
    risky: 1,
    items: [
      {
        riskLevel: 'high',
        chainReorgSuspected: true,
        riskReasons: ['chain-transaction-not-mined', 'transfer-removed'],
      },
    ],
  })
  await reported()
  log.sent.length = 0
  await runTask(auditTask)
  await reported()
  t.equal(log.sent.length, 1)
  const { data: open } = await call('GET', `${auditPath}/compensation-candidates`)
  t.equal(open.total, 1)
  const { data: plan } = await call('POST', `${auditPath}/${open.items[0].id}/compensation-plan`, { recheck: true })
  t.match(plan, { action: 'manual-compensation', chainReorgSuspected: true, riskLevel: 'high' })
  t.equal(await statusOf(kept.outTradeNo), 'success', 'the order is not rolled back')
  t.equal(await count('money_payment_transaction'), 1)
})

t.test(
  'S-017 S-026 S-080 a payment that appears again in another block is settled once',
  { skip, timeout: 600_000 },
  async (t) => {
    const { order, chain, token, buyer, sign, save, settle, statusOf, count, call } = await start(t)
    const raw = await sign()
    // At first the payment comes after another transfer in its block, so that its log index differs later.
    await chain.automine(false)
    await token.transfer(buyer, `0x${'b'.repeat(40)}`, 1n)
    const hash = await chain.sendRaw(raw)
    await chain.mine(1)
    await chain.automine(true)
    await chain.mine(2)
    const first = await order(hash)
    const second = await order(hash)
    const { data: early } = await save(second.outTradeNo)
    const { data: review } = await save(first.outTradeNo)
    await chain.reorganise(3, [[raw, 0]])
    await chain.mine(1)
    const moved = (await settle(review.id)).data
    const plan = { state: 'review_required', causes: ['named-by-another-order'] }
    const reasons = ['review-fingerprint-mismatched', 'named-by-another-order']
    assertMembers(t, moved, { outcome: 'skipped', reasons, plan })
    const { data: again } = await save(first.outTradeNo)
    t.not(again.plan.transfer.blockHash, review.plan.transfer.blockHash)
    t.not(again.plan.transfer.logIndex, review.plan.transfer.logIndex, 'its log has another index now')
    t.equal(again.plan.transfer.logOrdinal, review.plan.transfer.logOrdinal, 'and the same place in the transaction')
    t.hasStrict((await settle(again.id)).data, { outcome: 'skipped' }, 'the other order names the transfer too')
    t.hasStrict((await settle(again.id, 'settle', undefined, true)).data, { outcome: 'settled' })

    const { data: late } = await save(second.outTradeNo)
    for (const { id } of [early, late]) t.hasStrict((await settle(id)).data, { outcome: 'skipped' })
    t.same(late.reasons, ['transaction-already-exists'])
    t.equal(await statusOf(second.outTradeNo), 'pending')
    t.equal(await count('money_payment_transaction'), 1)
    t.match((await call('POST', `${adminWeb3Path}/payment-confirmations/settled-audits`, {})).data, {
      audited: 1,
      risky: 0,
    })
  },
)

t.test(
  'S-013 S-075 S-092 no error of a provider settles anything or shows an address',
  { skip, timeout: 600_000 },
  async (t) => {
    const { order, chain, token, buyer, save, settle, statusOf, proxy, call, lines, rows, reported, log } =
      await start(t)
    const { outTradeNo } = await order(await token.transfer(buyer, shop, price))
    await chain.mine(2)
    const { data: review } = await save(outTradeNo)
    t.equal(review.state, 'ready')
    const problems: readonly ProviderFault[] = [
      'status-500',
      'status-429',
      'html',
      'reset',
      'half',
      'hang',
      'rpc-error',
      'wrong-id',
      'answer-missing',
      'no-result',
      'truncated-json',
      'refuses-batches',
      'redirect',
      'stale-head',
      'status-missing',
      'logs-null',
    ]
    for (const fault of problems) {
      proxy.fault = fault
      assertMembers(
        t,
        (await settle(review.id)).data,
        { outcome: 'skipped', state: 'failed', reasons: ['rpc-query-failed'] },
        fault,
      )
    }
    proxy.fault = 'removed-logs'
    t.ok((await settle(review.id)).data.reasons.includes('transfer-removed'))
    t.equal(await statusOf(outTradeNo), 'pending')
    proxy.fault = undefined
    t.hasStrict((await settle(review.id)).data, { outcome: 'settled' })
    const other = await order(await token.transfer(buyer, shop, price))
    await chain.mine(2)
    const { data: second } = await save(other.outTradeNo)
    proxy.fault = 'other-chain'
    assertMembers(t, (await settle(second.id)).data, {
      outcome: 'skipped',
      state: 'blocked',
      reasons: ['chain-id-mismatch', 'review-fingerprint-mismatched'],
    })
    t.equal(await statusOf(other.outTradeNo), 'pending')
    await reported()
    const shown = JSON.stringify([
      log.sent,
      lines,
      await rows('select plan_snapshot, reasons from web3_settlement_review_log'),
      await call('GET', reviewPath),
    ])
    t.notMatch(shown, new RegExp(proxy.secret))
  },
)

t.test(
  'S-001 a chain is only read: no operation or task signs, sends, refunds or moves anything',
  { skip, timeout: 600_000 },
  async (t) => {
    const { order, chain, token, buyer, account, save, settle, proxy, call, runTask, rows, confirm } = await start(t)
    const { outTradeNo } = await order(await token.transfer(buyer, shop, price))
    const second = await order(await token.transfer(buyer, shop, price))
    const wrong = await order(await token.transfer(buyer, shop, price + 1n))
    await chain.mine(2)
    const owners = [...chain.accounts, account.address, shop, token.address]
    const state = async () => ({
      head: await chain.head(),
      money: await Promise.all(owners.map((owner) => token.balanceOf(owner))),
      coins: await Promise.all(owners.map((owner) => chain.rpc('eth_getBalance', [owner, 'latest']))),
      sent: await Promise.all(owners.map((owner) => chain.rpc('eth_getTransactionCount', [owner, 'pending']))),
      waiting: await chain.rpc('txpool_status'),
    })
    const before = await state()
    proxy.clear()

    t.hasStrict(await confirm(outTradeNo), { state: 'ready' })
    const { data: review } = await save(outTradeNo)
    t.hasStrict((await settle(review.id)).data, { outcome: 'settled' })
    const other = (await save(second.outTradeNo)).data.id
    const blocked = (await save(wrong.outTradeNo)).data.id
    t.match((await call('POST', `${reviewPath}/retry-batch`, { ids: [other, blocked] })).data, { executed: 1 })
    await call('POST', `${reviewPath}/auto-handle-expired`)
    t.same(await state(), before, 'after settlements')

    await chain.reorganise(5)
    const reorganised = await state()
    for (const task of [
      'payment-settlement.retry',
      'payment-settlement-review.auto-handle',
      'payment-settlement.audit',
    ]) {
      await runTask(`money.web3.${task}`)
    }
    const { data: found } = await call('GET', `${auditPath}/compensation-candidates`)
    t.equal(found.total, 2, 'both payments are gone')
    const ids = found.items.map(({ id }: { id: number }) => id)
    await call('POST', `${auditPath}/recheck-batch`, { ids })
    const plans = await call('POST', `${auditPath}/compensation-plan-batch`, { ids, recheck: true })
    assertMembers(t, plans.data.items, [{ action: 'manual-compensation' }, { action: 'manual-compensation' }])
    await call('PUT', `${auditPath}/status-batch`, { ids, status: 'resolved' })
    t.same(await state(), reorganised, 'after audits and compensation plans')

    const reading = /^eth_(?:chainId|blockNumber|call|getTransactionByHash|getTransactionReceipt|getBlockByNumber)$/
    const methods = new Set(proxy.requests.flat())
    t.ok(methods.size >= 5, [...methods].join())
    for (const method of methods) t.match(method, reading)
    t.same(
      await rows("select out_trade_no from money_payment_order where refunded_amount <> 0 or status = 'refunded'"),
      [],
    )
    t.same(await rows("select type from money_payment_transaction where type <> 'web3-settlement'"), [])
  },
)

t.test(
  'a review must be saved again after each change that decides which facts of the chain count',
  { skip, timeout: 600_000 },
  async (t) => {
    const { order, chain, token, buyer, proxy, call, save, settle, statusOf } = await start(t)
    const [{ id } = { id: 0 }] = (await call('GET', '/api/v1/admin/web3/chains')).data
    const change = async (content: object) =>
      t.hasStrict(await call('PUT', `/api/v1/admin/web3/chains/${id}`, content), { code: '200' })
    const { outTradeNo } = await order(await token.transfer(buyer, shop, price))
    await chain.mine(5)
    for (const content of [
      { providers: [{ id: 'node', url: proxy.url }] },
      { providers: [{ id: 'renamed', url: proxy.url }] },
      { requiredConfirmations: 2 },
      { maxHeadLagBlocks: 40 },
      { finality: 'safe' },
      { finality: 'depth' },
    ]) {
      const review = (await save(outTradeNo)).data
      await change(content)
      const { outcome, reasons } = (await settle(review.id)).data
      t.equal(outcome, 'skipped')
      t.ok(reasons.includes('review-fingerprint-mismatched'), JSON.stringify(content))
    }
    const review = (await save(outTradeNo)).data
    await change({ explorerTransactionUrl: 'https://explorer.example/tx/{hash}' })
    for (const enabled of [false, true]) await change({ enabled })
    t.hasStrict((await settle(review.id)).data, { outcome: 'settled' }, 'other changes do not matter')
    t.equal(await statusOf(outTradeNo), 'success')
  },
)

t.test('a refund is found on a real chain, once it has enough confirmations', { skip, timeout: 600_000 }, async (t) => {
  const { order, chain, proxy, token, buyer, save, settle, call } = await start(t)
  const [cashier = '0x'] = chain.accounts
  await token.mint(cashier, 1_000n)
  const orders: string[] = []
  for (let at = 0; at < 2; at++) {
    const { outTradeNo } = await order(await token.transfer(buyer, shop, price))
    await chain.mine(3)
    t.hasStrict((await settle((await save(outTradeNo)).data.id)).data, { outcome: 'settled' })
    orders.push(outTradeNo)
  }
  const refund = async (outTradeNo: string | undefined, transactionHash: string) => {
    const body = { amount: 40, transactionHash, reason: 'test' }
    const { code, data } = await call('POST', `/api/v1/admin/money/payment-orders/${outTradeNo}/refund`, body)
    return code === '200' ? data.refundedAmount : data.reason
  }
  const [first, second] = orders
  const both = await token.transferTwice(cashier, buyer, 400n, buyer, 400n)
  t.equal(await refund(first, both), 'payment.refund-unconfirmed')
  await chain.mine(3)
  const other = await token.transfer(cashier, buyer, 100n)
  await chain.mine(3)
  t.equal(await refund(first, other), 'payment.refund-transfer-missing')
  t.equal(await refund(first, both), 40)
  t.equal(await refund(second, both), 40)
  proxy.fault = 'reset'
  t.equal(await refund(second, both), 40, 'a recorded refund needs no node')
  t.equal(await refund(second, other), 'payment.refund-not-verifiable')
})
