import { database } from '@plinth/database'
import { http } from '@plinth/http'
import { definePlugin, quickstartCleanup } from '@plinth/kernel'
import { paymentSuccess, payments } from '@plinth/money/payments'
import { chains } from '@plinth/web3'
import { keys } from './config.ts'
import { type Checkout, checkout } from './contract.ts'
import { demoCleanup, seedDemo } from './demo.ts'
import { entities } from './entities.ts'
import { messages } from './failures.ts'
import { createCheckout } from './migrations.ts'
import { routes } from './routes.ts'
import { paymentScene, Sales } from './sales.ts'

export { type Checkout, checkout } from './contract.ts'

/** A checkout that is paid by a token of a chain. It holds no key, and settles nothing itself. */
export default definePlugin({
  id: 'example.checkout',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { database, http, payments, chains },
  provides: [checkout],
  contributes: [quickstartCleanup, paymentSuccess],
  config: keys,
  entities,
  migrations: [createCheckout],
  messages,
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
  setup({ services, config, clock, provide, contribute }) {
    const { database: db, http, payments, chains } = services
    const till = () => ({
      chain: config.get('platform.example.checkout.chain'),
      token: config.get('platform.example.checkout.token'),
      decimals: config.get('platform.example.checkout.token-decimals'),
      receiver: config.get('platform.example.checkout.receiver'),
    })
    const sales = new Sales({ db, clock, payments, chains, till })
    const own: Checkout = { sales, seedDemo: () => seedDemo(db) }
    provide(checkout, own)
    contribute(paymentSuccess, paymentScene, { paid: (order) => sales.paid(order) })
    contribute(quickstartCleanup, 'checkout', demoCleanup(db))
    http.addRoutes(routes, own)
  },
})
