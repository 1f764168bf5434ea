/**
 * Tests a chain payment from the sign-in with a wallet to the compensation plan, through the API of the quickstart with
 * `examples/checkout` and a local node. The test checks every response and the state of the chain.
 */

import { assertMembers } from '@plinth/dev/testing'
import { skipAnvil } from '@plinth/dev/testing/web3'
import { events } from '@plinth/events'
import { checkout } from '@plinth-example/checkout'
import t from 'tap'
import { shop, startCheckout, wallet } from './checkout-on-a-chain.ts'

t.test(
  'S-015 S-023 S-058 S-063 S-068 S-071 W-014 from a wallet that signs in to a payment that is settled, lost and compensated',
  { skip: skipAnvil, timeout: 600_000 },
  async (t) => {
    const { chain, token, running, call, as, root, operator, openShop, signPayment, audit } = await startCheckout(t, {
      'platform.site.url': 'https://shop.example.com/',
    })
    const review = 'money:web3:payment-settlement-review-log'
    const clerk = await operator('clerk', `${review}:view`, `${review}:create`)
    const treasurer = await operator(
      'treasurer',
      `${review}:view`,
      'money:web3:payment-settlement-audit-log:view',
      'money:web3:payment-settlement:execute',
    )

    // An operator sets up the shop.
    const created = await openShop()
    t.hasStrict(created, { code: '200', data: { name: 'local', requiredConfirmations: 3, enabled: true } })
    t.notMatch(JSON.stringify(created), chain.url, 'the address of the node is not answered')
    t.hasStrict(await root('POST', `admin/web3/chains/${created.data.id}/verify`), { code: '200' })
    t.equal(await running.service(checkout).seedDemo(), 3)

    // A wallet signs in.
    const requested = await call('POST', 'auth/wallet/challenge', { chainType: 'evm', address: wallet.address })
    t.match(requested, {
      code: /^200$/,
      data: { challengeId: String, message: /^shop\.example\.com wants you to sign in/ },
    })
    const { challengeId, message } = requested.data
    const signature = await wallet.signMessage({ message })
    const proof = { challengeId, address: wallet.address, signature }
    const opened = await call('POST', 'auth/wallet/login', proof)
    t.match(opened, { code: /^200$/, data: { tokenType: 'Bearer', accessToken: /^plinth_/ } })
    t.hasStrict(await call('POST', 'auth/wallet/login', proof), { code: '401' }, 'a challenge is good for one login')
    const buyer = as(opened.data.accessToken)
    t.match((await buyer('GET', 'iam/users/me')).data, { username: wallet.address.toLowerCase(), isSuperAdmin: false })
    t.hasStrict(await buyer('POST', 'admin/web3/payment-confirmations', { outTradeNo: 'x' }), { code: '403' })

    // The buyer with this wallet checks out.
    const { data: offers } = await buyer('GET', 'checkout/offers')
    const course = offers.items.find(({ code }: { code: string }) => code === 'DEMO-COURSE')
    const { data: order } = await buyer('POST', 'checkout/orders', { offerId: course.id })
    t.hasStrict(order, {
      price: 4_900,
      status: 'pending',
      transactionHash: null,
      deliveredAt: null,
      pay: { chainName: 'local', chainId: chain.chainId, tokenContract: token.address, receiver: shop },
    })
    t.match(order.pay, { amountRaw: '49000000', requiredConfirmations: 3 })
    const { orderNo } = order
    const shown = async () => (await buyer('GET', `checkout/orders/${orderNo}`)).data
    const progress = async () => (await buyer('GET', `checkout/orders/${orderNo}/progress`)).data
    const confirm = async () => (await clerk('POST', 'admin/web3/payment-confirmations', { outTradeNo: orderNo })).data
    t.hasStrict(await progress(), { state: 'waiting', confirmations: null })
    assertMembers(t, await confirm(), { state: 'pending', reasons: ['transaction-hash-missing'] })

    // The wallet pays and reports the transaction hash.
    await chain.automine(false)
    const raw = await signPayment(order.pay)
    const hash = await chain.sendRaw(raw)
    const announced = await buyer('PUT', `checkout/orders/${orderNo}/transaction`, { transactionHash: hash })
    t.hasStrict(announced, { code: '200', data: { transactionHash: hash, status: 'pending' } })
    t.hasStrict(await progress(), { state: 'waiting', confirmations: null }, 'in no block yet')
    assertMembers(t, await confirm(), { state: 'pending', reasons: ['chain-transaction-not-mined'] })

    // The product waits for confirmations. Until there are enough, no operator can settle.
    await chain.mine(1)
    const { data: early } = await clerk('POST', 'admin/web3/payment-settlement-review-logs', {
      outTradeNo: orderNo,
      action: 'settle',
      remark: 'seen in a block',
    })
    t.hasStrict(early, { state: 'confirming', candidate: false, status: 'open' })
    for (const confirmations of [1, 2]) {
      t.hasStrict(await progress(), { state: 'confirming', confirmations, requiredConfirmations: 3 })
      assertMembers(t, await confirm(), {
        state: 'confirming',
        confirmations,
        reasons: ['chain-confirmations-insufficient'],
      })
      const logs = 'admin/web3/payment-settlement-review-logs'
      t.hasStrict(await clerk('POST', `${logs}/${early.id}/settle`), { code: '403' }, 'the clerk may not')
      assertMembers(t, (await treasurer('POST', `${logs}/${early.id}/settle`)).data, {
        outcome: 'skipped',
        reasons: ['chain-confirmations-insufficient'],
      })
      await chain.mine(1)
    }
    t.hasStrict(await progress(), { state: 'confirmed', confirmations: 3 })
    t.hasStrict(await shown(), { status: 'pending', deliveredAt: null }, 'what a browser saw delivers nothing')

    // The clerk reviews the payment, and the treasurer settles it.
    const ready = await confirm()
    assertMembers(t, ready, { state: 'ready', confirmations: 3, reasons: [], eventKey: `local:${hash}:0` })
    const { reviewFingerprint } = ready
    const { data: saved } = await clerk('POST', 'admin/web3/payment-settlement-review-logs', {
      outTradeNo: orderNo,
      action: 'settle',
      reviewFingerprint,
    })
    t.hasStrict(saved, { state: 'ready', candidate: true, reviewFingerprint })
    t.hasStrict(await shown(), { status: 'pending' })
    const settle = () => treasurer('POST', `admin/web3/payment-settlement-review-logs/${saved.id}/settle`)
    assertMembers(t, await settle(), { code: '200', data: { outcome: 'settled', state: 'settled', reasons: [] } })
    t.hasStrict((await settle()).data, { outcome: 'skipped', reason: 'local-order-already-paid' })
    t.match(await shown(), { status: /^success$/, transactionHash: hash, deliveredAt: /Z$/ })
    t.equal(await token.balanceOf(shop), 49_000_000n, 'and the chain says so')
    const approvals = async () =>
      (await root('GET', 'admin/approvals')).data.items.map(
        ({ action, result }: { action: string; result: string }) => `${action} ${result}`,
      )
    t.same(new Set(await approvals()), new Set(['record approved', 'settle approved']))

    // A reorganisation removes the payment from the chain. The order stays paid, and the audit reports it.
    const audits = 'admin/web3/payment-settlement-audit-logs'
    await audit()
    t.match((await treasurer('GET', `${audits}/summary`)).data, { total: 0, risky: 0 }, 'nothing is at risk')
    await chain.reorganise(3)
    t.equal(await token.balanceOf(shop), 0n)
    await audit()
    await running.service(events).idle()
    t.match((await treasurer('GET', `${audits}/summary`)).data, {
      total: 1,
      open: 1,
      risky: 1,
      openReorgSuspected: 1,
      openByRiskLevel: { none: 0, low: 0, medium: 0, high: 1 },
    })
    const { data: open } = await treasurer('GET', `${audits}/compensation-candidates`)
    assertMembers(t, open.items, [
      {
        outTradeNo: orderNo,
        transactionHash: hash,
        riskLevel: 'high',
        chainReorgSuspected: true,
        riskReasons: ['chain-transaction-not-mined', 'transfer-removed'],
      },
    ])
    t.hasStrict(await shown(), { status: 'success' }, 'the order is not rolled back')
    t.hasStrict(await progress(), { state: 'waiting', confirmations: null })
    const { data: reported } = await root('GET', 'notification-send-logs')
    t.ok(
      reported.items.some(({ subject }: { subject: string }) => subject === 'Web3 payment settlement audit risk'),
      'operators are told',
    )

    // The treasurer plans the compensation according to the current state of the chain, and closes the log when it is
    // done.
    const [{ id }] = open.items
    t.match((await treasurer('POST', `${audits}/${id}/recheck`)).data, { id, stillRisky: true })
    t.match((await treasurer('POST', `${audits}/${id}/compensation-plan`, { recheck: true })).data, {
      id,
      outTradeNo: orderNo,
      action: 'manual-compensation',
      riskLevel: 'high',
      rechecked: true,
      needsManualReview: true,
      needsFundReview: true,
      chainReorgSuspected: true,
      handlingStatus: 'open',
    })
    t.hasStrict(await clerk('PUT', `${audits}/status-batch`, { ids: [id], status: 'resolved' }), { code: '403' })
    t.hasStrict(await treasurer('PUT', `${audits}/status-batch`, { ids: [id], status: 'paid-back' }), { code: '400' })

    // The buyer pays again: the same signed transaction is included in another block.
    await chain.automine(true)
    await chain.sendRaw(raw)
    await chain.mine(2)
    assertMembers(t, (await treasurer('POST', `${audits}/${id}/compensation-plan`, { recheck: true })).data, {
      action: 'recheck-later',
      riskLevel: 'low',
      riskReasons: ['transfer-moved'],
      rechecked: true,
    })
    t.hasStrict(await treasurer('PUT', `${audits}/status-batch`, { ids: [id], status: 'resolved' }), { code: '200' })
    t.match((await treasurer('GET', `${audits}/summary`)).data, { total: 1, open: 0, resolved: 1, risky: 0 })
    assertMembers(t, (await treasurer('GET', `${audits}/compensation-candidates`)).data.items, [])
    t.hasStrict((await settle()).data, { outcome: 'skipped', reason: 'local-order-already-paid' })
    t.equal(await token.balanceOf(shop), 49_000_000n)
    assertMembers(t, (await buyer('GET', 'checkout/orders')).data.items, [{ orderNo, status: 'success' }])
  },
)
