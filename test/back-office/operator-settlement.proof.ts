/** Counts the clicks and keys that an operator needs for tasks on chain payments, with and without a mouse. */

import { assertMembers, until } from '@plinth/dev/testing'
import { skipAnvil } from '@plinth/dev/testing/web3'
import { events } from '@plinth/events'
import { checkout } from '@plinth-example/checkout'
import t, { type Test } from 'tap'
import { skip } from '../../plugins/console/test/fixtures/browser.ts'
import { password, startCheckout } from '../journeys/checkout-on-a-chain.ts'
import { KeyboardActions } from './keyboard-hand.ts'
import { OperatorActions, openBackOffice, perform } from './operator-hand.ts'

const reviews = 'admin/web3/payment-settlement-review-logs'
const audits = 'admin/web3/payment-settlement-audit-logs'
async function handleOrders(t: Test, Hand: typeof OperatorActions) {
  const { chain, token, running, server, root, operator, openShop, signPayment, audit } = await startCheckout(t)
  await openShop()
  await running.service(checkout).seedDemo()
  const buyer = await operator('anna')
  const { data: offers } = await buyer('GET', 'checkout/offers')
  const { data: order } = await buyer('POST', 'checkout/orders', { offerId: offers.items[0].id })
  const { orderNo } = order
  const price = BigInt(order.pay.amountRaw)
  const statusOf = async () => (await buyer('GET', `checkout/orders/${orderNo}`)).data.status
  const payments = async () => (await root('GET', `admin/money/payment-transactions?outTradeNo=${orderNo}`)).data.items

  // The payment is confirmed and reviewed. Then a reorganisation of the chain moves it to another block.
  const raw = await signPayment(order.pay)
  const transactionHash = await chain.sendRaw(raw)
  await buyer('PUT', `checkout/orders/${orderNo}/transaction`, { transactionHash })
  await chain.mine(2)
  const { data: reviewed } = await root('POST', reviews, { outTradeNo: orderNo, action: 'settle' })
  t.hasStrict(reviewed, { state: 'ready', candidate: true })
  await chain.reorganise(3, [[raw, 1]])
  await chain.mine(1)
  const { data: now } = await root('POST', 'admin/web3/payment-confirmations', { outTradeNo: orderNo })
  t.hasStrict(now, { state: 'ready', confirmations: 3 })
  t.not(now.reviewFingerprint, reviewed.reviewFingerprint)
  const settle = async (id: number) => (await root('POST', `${reviews}/${id}/settle`)).data
  assertMembers(t, await settle(reviewed.id), { outcome: 'skipped', reasons: ['review-fingerprint-mismatched'] })
  t.equal(await statusOf(), 'pending')

  // Waits until the pages are built. Until then, the server sends a page that reloads automatically.
  const areBuilt = async () => !(await server.inject('/admin/')).body.includes('http-equiv="refresh"')
  await until(areBuilt, 'the pages are built')
  const office = await openBackOffice(t, `${server.url}/admin/`, password)
  const main = office.page.locator('main')
  const facts = main.locator('dl')
  const button = (name: string) => main.getByRole('button', { name, exact: true })

  await perform(
    t,
    office,
    {
      name: 'settle an order after a reorganisation',
      most: [13, 1, 31],
      mostKeys: 94,
      async work(hand) {
        const said = hand.dialog().locator('dl')
        const ahead = hand.dialog().getByRole('region', { name: 'Preview result' })
        await hand.click(hand.attention('Settlement reviews waiting for a decision'))
        await hand.click(hand.row(orderNo).getByRole('link', { name: orderNo }))
        await facts.getByText(reviewed.reviewFingerprint, { exact: true }).waitFor()
        await hand.click(button('Current state'))
        await hand.click(hand.button('Current state'))
        for (const fact of ['Ready to settle', String(now.transfer.blockNumber), now.reviewFingerprint])
          await said.getByText(fact, { exact: true }).first().waitFor()
        await hand.press('Escape')
        await hand.click(button('Review again'))
        await hand.click(hand.button('Preview changes'))
        await ahead.getByText(now.reviewFingerprint, { exact: true }).waitFor()
        await hand.type(hand.dialog().getByLabel(/^Reason/), 'In another block')
        await hand.click(hand.button('Review again'))
        await hand.click(said.getByRole('link', { name: orderNo }))
        await facts.getByText(now.reviewFingerprint, { exact: true }).waitFor()
        await hand.click(button('Settle'))
        await hand.click(hand.button('Preview changes'))
        await ahead.getByText('Ready to settle', { exact: true }).waitFor()
        await hand.type(hand.dialog().getByLabel(/^Reason/), 'Confirmed again')
        await hand.click(hand.button('Settle'))
        await said.getByText('Settled', { exact: true }).first().waitFor()
      },
      isDone: async () => (await statusOf()) === 'success',
    },
    root,
    Hand,
  )
  const { data: found } = await root('GET', `${reviews}?outTradeNo=${orderNo}`)
  for (const { id } of found.items) await settle(id)
  t.hasStrict(await settle(reviewed.id), { outcome: 'skipped', reason: 'local-order-already-paid' })
  assertMembers(t, await payments(), [{ transactionHash }])
  t.equal((await payments()).length, 1, 'it is settled once')
  t.equal(await token.balanceOf(order.pay.receiver), price)

  // A reorganisation removes the payment from the chain, and the payment does not return.
  await chain.reorganise((await chain.head()) - now.transfer.blockNumber + 1)
  t.equal(await token.balanceOf(order.pay.receiver), 0n)
  await audit()
  await running.service(events).idle()

  await perform(
    t,
    office,
    {
      name: 'approve a compensation',
      most: [8, 1, 17],
      mostKeys: 37,
      async work(hand) {
        const said = hand.dialog().locator('dl > div')
        await hand.click(hand.attention('Settled orders at high risk'))
        await hand.click(hand.row(orderNo).getByRole('link', { name: orderNo }))
        await facts.getByText('Transfer is no longer on the chain', { exact: true }).first().waitFor()
        await hand.click(button('Suggested action'))
        await hand.click(hand.dialog().getByRole('switch', { name: 'Query the chain first' }))
        await hand.click(hand.button('Suggested action'))
        await said.getByText('Compensate manually', { exact: true }).waitFor()
        for (const question of ['Review of funds required', 'Chain queried again'])
          await said.filter({ hasText: question }).getByText('Yes', { exact: true }).waitFor()
        await hand.press('Escape')
        await hand.click(button('Mark as resolved'))
        await hand.type(hand.dialog().getByLabel(/^Reason/), 'The buyer pays it')
        await hand.click(hand.button('Mark as resolved'))
        await facts.getByText('Resolved', { exact: true }).waitFor()
      },
      async isDone() {
        const { data: counts } = await root('GET', `${audits}/summary`)
        const { data: acts } = await root('GET', 'admin/iam/audits?action=web3-settlement-audit.status-batch')
        const isKept = acts.items.some(({ reason }: { reason: string }) => reason === 'The buyer pays it')
        return counts.total === 1 && counts.resolved === 1 && counts.risky === 0 && isKept
      },
    },
    root,
    Hand,
  )
  t.equal(await statusOf(), 'success', 'the order is not rolled back')
}

const options = { skip: skip || skipAnvil, timeout: 600_000 }
t.test('S-023 S-057 an order after a reorganisation and a lost payment, with few clicks and keys', options, (t) =>
  handleOrders(t, OperatorActions),
)
t.test('S-023 S-057 an order after a reorganisation and a lost payment, with the keyboard alone', options, (t) =>
  handleOrders(t, KeyboardActions),
)
