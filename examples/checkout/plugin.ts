import { database } from '@plinth/database'
import { http } from '@plinth/http'
import { definePlugin, optional, personalData, quickstartCleanup, type ScheduledTask } from '@plinth/kernel'
import { paymentSuccess, payments } from '@plinth/money/payments'
import { chains } from '@plinth/web3'
import { orderSettlements } from '@plinth/web3-settlement'
import { keys } from './config.ts'
import { type Checkout, checkout } from './contract.ts'
import { businessError, messages } from './declarations.ts'
import { demoCleanup, seedDemo } from './demo.ts'
import { entities } from './entities.ts'
import { addSaleKeys, createCheckout, storeClosing } from './migrations.ts'
import { checkoutTables } from './personal-data.ts'
import { routes } from './routes.ts'
import { paymentScene, Sales } from './sales.ts'

export { type Checkout, checkout } from './contract.ts'

const requires = { database, http, payments, chains, settlements: optional(orderSettlements) }

type Uses = { requires: typeof requires; provides: readonly [typeof checkout]; config: typeof keys }

const closeUnpaid: ScheduledTask<Uses> = {
  name: 'example.checkout.close-unpaid',
  displayName: { en: 'Close unpaid orders of the checkout', 'zh-CN': '关闭结账未付订单' },
  fixedDelay: 'platform.example.checkout.close-unpaid.fixed-delay',
  autoStartup: 'platform.example.checkout.close-unpaid.auto-startup',
  irreversible: true,
  async run({ services: { database: db }, own, config, signal, log }) {
    const now = db.clock.expiryNow()
    const { sales } = own(checkout)
    const before = new Date(now - config.get('platform.example.checkout.payment-timeout'))
    const closed = await sales.closeUnpaid(before, new Date(now), signal)
    const released = await sales.releaseAmounts(new Date(now - config.get('platform.example.checkout.amount-release')))
    if (closed + released > 0) log.info({ closed, released }, 'unpaid orders were closed, amounts were released')
  },
}

/**
 * Plugin with a checkout where buyers pay with a token on a chain. It stores no private key and does not settle
 * payments itself.
 */
export default definePlugin({
  id: 'example.checkout',
  version: '1.0.0',
  kernel: '^1.0.0',
  businessErrors: [businessError],
  requires,
  provides: [checkout],
  contributes: [personalData, quickstartCleanup, paymentSuccess],
  config: keys,
  entities,
  migrations: [createCheckout, addSaleKeys, storeClosing],
  messages,
  scheduledTasks: [closeUnpaid],
  commands: [
    {
      name: 'checkout seed-demo',
      summary: 'Add demo offers to the checkout',
      async run({ own }, { output }) {
        const offers = await own(checkout).seedDemo()
        output.result({ offers }, offers === 0 ? 'There are demo offers already.' : `Added ${offers} demo offers.`)
      },
    },
  ],
  setup({ services, config, provide, contribute }) {
    const { database: db, http, payments, chains, settlements } = services
    const till = () => ({
      chain: config.get('platform.example.checkout.chain'),
      token: config.get('platform.example.checkout.token'),
      decimals: config.get('platform.example.checkout.token-decimals'),
      receiver: config.get('platform.example.checkout.receiver'),
    })
    const paymentTimeoutMs = () => config.get('platform.example.checkout.payment-timeout')
    const sales = new Sales({ db, clock: db.clock, payments, chains, settlements, till, paymentTimeoutMs })
    const own: Checkout = { sales, seedDemo: () => seedDemo(db) }
    provide(checkout, own)
    contribute(paymentSuccess, paymentScene, {
      title: { en: 'Order of the checkout', 'zh-CN': '收银订单' },
      paid: (order) => sales.paid(order),
    })
    contribute(personalData, 'example.checkout', checkoutTables(db))
    contribute(quickstartCleanup, 'checkout', demoCleanup(db))
    http.addRoutes(routes, own)
  },
})
