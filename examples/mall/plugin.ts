import { backOffice } from '@plinth/admin'
import { database, type WithDatabase } from '@plinth/database'
import {
  afterSalesPendingReview,
  events,
  orderPendingFulfilment,
  virtualStockLow,
  virtualStockOut,
  webhookEventTypes,
} from '@plinth/events'
import { http } from '@plinth/http'
import { identity } from '@plinth/iam'
import {
  auditTexts,
  definePlugin,
  kernel,
  optional,
  personalData,
  quickstartCleanup,
  type ScheduledTask,
} from '@plinth/kernel'
import { ledger, ledgerKinds } from '@plinth/money'
import { paymentSuccess, payments } from '@plinth/money/payments'
import { site } from '@plinth/site'
import { needsAttention, pages, timelines } from './admin-pages.ts'
import { adminLists, adminRoutes } from './admin-routes.ts'
import { Catalogue } from './catalogue.ts'
import { keys } from './config.ts'
import { type Mall, mall } from './contract.ts'
import { Credit, creditKinds } from './credit.ts'
import { audited, businessError, messages, permissions } from './declarations.ts'
import { demoCleanup, seedDemo } from './demo.ts'
import { entities } from './entities.ts'
import { memberPage, pageRoutes } from './member-page.ts'
import { memberRoutes, ownOrders } from './member-routes.ts'
import { createMall, indexRefunds, payWithCredit } from './migrations.ts'
import { Orders, paymentScene } from './orders.ts'
import { mallTables } from './personal-data.ts'
import { Refunds } from './refunds.ts'
import { Reviews } from './reviews.ts'
import { webhookEvents } from './webhook-events.ts'

export { type Mall, mall } from './contract.ts'

const requires = { kernel, database, events, http, site, identity, ledger, payments }

const closeUnpaid: ScheduledTask<{ requires: typeof requires; provides: readonly [typeof mall]; config: typeof keys }> =
  {
    name: 'example.mall.close-unpaid',
    displayName: { en: 'Cancel unpaid orders of the mall', 'zh-CN': '取消商城未付订单' },
    fixedDelay: 'platform.example.mall.close-unpaid.fixed-delay',
    autoStartup: 'platform.example.mall.close-unpaid.auto-startup',
    irreversible: true,
    async run({ services, own, config, signal, log }) {
      const before = new Date(services.database.clock.expiryNow() - config.get('platform.example.mall.payment-timeout'))
      const cancelled = await own(mall).orders.cancelUnpaid(before, signal)
      if (cancelled > 0) log.info({ cancelled }, 'unpaid orders were cancelled')
    },
  }

/** Plugin with a small mall. It publishes its events and does not depend on the plugins that handle them. */
export default definePlugin({
  id: 'example.mall',
  version: '1.0.0',
  kernel: '^1.0.0',
  businessErrors: [businessError],
  requires,
  provides: [mall],
  contributes: [
    auditTexts.of(audited),
    personalData.of(({ database }: WithDatabase) => ({ 'example.mall': mallTables(database) })),
    quickstartCleanup.of(({ database }: WithDatabase) => ({ mall: demoCleanup(database) })),
    ledgerKinds.of(creditKinds),
    paymentSuccess,
    optional(webhookEventTypes.of(webhookEvents)),
    ...backOffice({ pages, attention: needsAttention, timelines }),
  ],
  config: keys,
  configGroups: { example: { en: 'Examples', 'zh-CN': '示例' } },
  permissions,
  entities,
  migrations: [createMall, payWithCredit, indexRefunds],
  messages,
  scheduledTasks: [closeUnpaid],
  commands: [
    {
      name: 'mall seed-demo',
      summary: 'Add demo goods and a demo coupon to the mall',
      async run({ own }, { output }) {
        const goods = await own(mall).seedDemo()
        output.result({ goods }, goods === 0 ? 'There are demo goods already.' : `Added ${goods} demo goods.`)
      },
    },
  ],
  setup({ services, config, provide, contribute }) {
    const { kernel, database: db, events, http, site, identity, ledger, payments } = services
    const { clock } = db
    events.declarePublished(virtualStockLow, virtualStockOut, afterSalesPendingReview, orderPendingFulfilment)
    const catalogue = new Catalogue({ db, events, clock })
    const settings = () => ({
      currency: config.get('platform.example.mall.currency'),
      testPayments: config.get('platform.example.mall.test-payments'),
    })
    const credit = new Credit({ ledger, asset: () => config.get('platform.example.mall.credit-asset') })
    const orders = new Orders({ db, events, clock, site, catalogue, credit, payments, settings })
    const sale = { db, events, clock, orders, credit, payments }
    const own: Mall = {
      catalogue,
      orders,
      refunds: new Refunds(sale),
      reviews: new Reviews(sale),
      seedDemo: () => seedDemo(db, clock),
    }
    provide(mall, own)
    contribute(paymentSuccess, paymentScene, {
      title: { en: 'Order of the mall', 'zh-CN': '商城订单' },
      paid: (order) => orders.paid(order),
      refundsItself: true,
    })
    http.addRoutes(ownOrders.routes, { services })
    http.addRoutes(memberRoutes, { ...own, db })
    http.addRoutes(pageRoutes, { page: memberPage(site) })
    http.addRoutes(adminLists, { services })
    http.addRoutes(adminRoutes, { ...own, db, identity, kernel })
  },
})
