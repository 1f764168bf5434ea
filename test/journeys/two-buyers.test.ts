/**
 * Tests two buyers who claim the same transaction on a local chain. The buyer who paid gets the goods, the other buyer
 * sees the reason, and the operator sees both orders. An order whose terms exclude the transfer does not stop the
 * settlement of the other one.
 */
import { database } from '@plinth/database'
import { assertMembers } from '@plinth/dev/testing'
import { skipAnvil } from '@plinth/dev/testing/web3'
import { accounts } from '@plinth/iam'
import { checkout } from '@plinth-example/checkout'
import t, { type Test } from 'tap'
import { privateKeyToAccount } from 'viem/accounts'
import { password, startCheckout, wallet } from './checkout-on-a-chain.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const reviews = 'admin/web3/payment-settlement-review-logs'
const permission = 'money:web3:payment-settlement'

async function startShop(t: Test) {
  const shop = await startCheckout(t)
  const { chain, token, running, call, as, operator, openShop } = shop
  await openShop()
  await running.service(checkout).seedDemo()
  const clerk = await operator('clerk', `${permission}-review-log:view`, `${permission}-review-log:create`)
  const treasurer = await operator('treasurer', `${permission}-review-log:view`, `${permission}:execute`)
  const { data } = await call('POST', 'auth/wallet/challenge', { chainType: 'evm', address: wallet.address })
  const proof = { challengeId: data.challengeId, address: wallet.address }
  const signature = await wallet.signMessage({ message: data.message })
  const buyer = as((await call('POST', 'auth/wallet/login', { ...proof, signature })).data.accessToken)
  const member = async (username: string) => {
    await running.service(accounts).create({ username, password }, origin)
    return as((await call('POST', 'auth/login', { username, password })).data.accessToken)
  }
  const db = running.service(database)
  let nonce = 0
  return {
    ...shop,
    clerk,
    treasurer,
    buyer,
    member,
    db,
    async order(who: typeof buyer) {
      const { data: offers } = await who('GET', 'checkout/offers')
      const course = offers.items.find(({ code }: { code: string }) => code === 'DEMO-COURSE')
      return (await who('POST', 'checkout/orders', { offerId: course.id })).data
    },
    /** Pays with the wallet and waits until the payment has its confirmations. */
    async pay({ pay }: { pay: { tokenContract: `0x${string}`; receiver: `0x${string}`; amountRaw: string } }) {
      const raw = await wallet.signTransaction({
        chainId: chain.chainId,
        type: 'eip1559',
        nonce: nonce++,
        to: pay.tokenContract,
        gas: 100_000n,
        data: token.transferData(pay.receiver, BigInt(pay.amountRaw)),
        maxFeePerGas: 10n ** 10n,
        maxPriorityFeePerGas: 1n,
      })
      const hash = await chain.sendRaw(raw)
      await chain.mine(3)
      return hash
    },
    save: async (outTradeNo: string) => (await clerk('POST', reviews, { outTradeNo, action: 'settle' })).data,
    review: async (id: number) => (await clerk('GET', `${reviews}/${id}`)).data,
    /** Runs the task half an hour later, when the reviews are overdue. */
    async handleOverdue() {
      const before = new Date(Date.now() - 31 * 60_000)
      await db.execute(`update web3_settlement_review_log set created_at = ? where status = 'open'`, [before])
      return (await clerk('POST', `${reviews}/auto-handle-expired`)).data
    },
  }
}

t.test(
  'two buyers name one transaction, and the amounts distinguish them',
  { skip: skipAnvil, timeout: 600_000 },
  async (t) => {
    const { buyer, member, order, pay, save, review, handleOverdue, treasurer } = await startShop(t)
    const thief = await member('thief')
    const [paid, claimed] = [await order(buyer), await order(thief)]
    t.not(paid.pay.amountRaw, claimed.pay.amountRaw, 'no two open orders ask for the same amount')
    t.ok(BigInt(claimed.pay.amountRaw) - BigInt(paid.pay.amountRaw) < 10_000n, 'by less than a hundredth')
    const transactionHash = await pay(paid)
    // The thief submits the hash of the transaction before the buyer does.
    await thief('PUT', `checkout/orders/${claimed.orderNo}/transaction`, { transactionHash })
    await buyer('PUT', `checkout/orders/${paid.orderNo}/transaction`, { transactionHash })
    const [wrong, right] = [await save(claimed.orderNo), await save(paid.orderNo)]
    assertMembers(t, wrong, { state: 'blocked', reasons: ['amount-mismatch'], plan: { claimedBy: [paid.orderNo] } })
    assertMembers(t, right, {
      state: 'ready',
      reasons: [],
      plan: {
        causes: [],
        claimedBy: [],
        expectedAmount: paid.pay.amountRaw,
        decimals: 6,
        symbol: 'TUSD',
        blockTime: String,
      },
    })
    assertMembers(t, (await thief('GET', `checkout/orders/${claimed.orderNo}/progress`)).data, {
      reasons: ['amount-mismatch', 'named-by-another-order'],
    })

    t.match(await handleOverdue(), { handled: 2, executed: 1 }, 'the real payment is settled automatically')
    assertMembers(t, await review(wrong.id), {
      status: /^open$/,
      heldAt: String,
      lastAttempt: { outcome: /^skipped$/, reasons: ['named-by-another-order'] },
    })
    t.match(await handleOverdue(), { handled: 0 }, 'and the other review stays open')

    const settle = async (id: number, query = '') => (await treasurer('POST', `${reviews}/${id}/settle${query}`)).data
    t.match((await buyer('GET', `checkout/orders/${paid.orderNo}`)).data, { status: /^success$/, deliveredAt: String })
    t.hasStrict((await thief('GET', `checkout/orders/${claimed.orderNo}`)).data, {
      status: 'pending',
      deliveredAt: null,
    })
    assertMembers(t, await settle(wrong.id, '?acceptCauses=true'), {
      reasons: ['amount-mismatch', 'transaction-already-exists'],
    })
  },
)

t.test(
  'a proven payer is credited automatically, also if another buyer names the hash',
  { skip: skipAnvil, timeout: 600_000 },
  async (t) => {
    const { buyer, member, order, pay, save, review, handleOverdue } = await startShop(t)
    const thief = await member('thief')
    const [paid, claimed] = [await order(buyer), await order(thief)]
    const payerOf = (who: typeof buyer, { orderNo }: { orderNo: string }, body: object) =>
      who('PUT', `checkout/orders/${orderNo}/payer`, body)
    const notProven = { code: '403', data: { reason: 'web3-settlement.payer-not-proven' } }
    t.match(await payerOf(thief, claimed, { address: wallet.address }), notProven, 'an address of somebody else')
    // The buyer signs in with this wallet, so no further signature is needed.
    t.match((await payerOf(buyer, paid, { address: wallet.address })).data.pay, { payer: wallet.address.toLowerCase() })
    // For another address, the buyer must sign a text with the order number to prove that the address is the buyer's.
    const own = privateKeyToAccount(`0x${'43'.repeat(32)}`)
    const { data } = await thief('GET', `checkout/orders/${claimed.orderNo}/payer-message`)
    t.ok(data.message.includes(claimed.orderNo))
    const foreign = await own.signMessage({ message: data.message.replace(claimed.orderNo, paid.orderNo) })
    t.match(await payerOf(thief, claimed, { address: own.address, signature: foreign }), notProven, 'for another order')
    const signature = await own.signMessage({ message: data.message })
    t.match((await payerOf(thief, claimed, { address: own.address, signature })).data.pay, {
      payer: own.address.toLowerCase(),
    })

    const transactionHash = await pay(paid)
    await thief('PUT', `checkout/orders/${claimed.orderNo}/transaction`, { transactionHash })
    await buyer('PUT', `checkout/orders/${paid.orderNo}/transaction`, { transactionHash })
    const [wrong, right] = [await save(claimed.orderNo), await save(paid.orderNo)]
    assertMembers(t, wrong, {
      state: 'blocked',
      reasons: ['amount-mismatch'],
      plan: { causes: ['named-by-another-order', 'payer-mismatch'] },
    })
    assertMembers(t, right, { state: 'ready', plan: { causes: [], payer: wallet.address.toLowerCase() } })
    t.match(await handleOverdue(), { handled: 2, executed: 1 })
    t.match((await buyer('GET', `checkout/orders/${paid.orderNo}`)).data, { status: /^success$/, deliveredAt: String })
    t.hasStrict((await thief('GET', `checkout/orders/${claimed.orderNo}`)).data, {
      status: 'pending',
      deliveredAt: null,
    })
    t.match(await review(wrong.id), { status: /^open$/, heldAt: String })
  },
)
