import { backOffice, labelSources } from '@plinth/admin'
import { database } from '@plinth/database'
import { events, webhookEventTypes } from '@plinth/events'
import { http } from '@plinth/http'
import { bilingual, definePlugin, kernel, optional, personalData, type ServicesOf } from '@plinth/kernel'
import { createDayFormatter, site } from '@plinth/site'
import { paymentPages, paymentTimelines, sharedRefunds } from '../admin-pages.ts'
import { ledger, ledgerAssets, ledgerKinds } from '../contract.ts'
import { actionRoutes } from './action-routes.ts'
import { keys } from './config.ts'
import { paymentSuccess, payments, refundVerifier } from './contract.ts'
import { businessError, messages, permissions } from './declarations.ts'
import { entities, paymentTables } from './entities.ts'
import { figureRoutes } from './figure-routes.ts'
import { createPayments } from './migrations/0001-create-payments.ts'
import { namePayers } from './migrations/0002-name-payers.ts'
import { indexPaid } from './migrations/0003-index-paid.ts'
import { useRefundsOnce } from './migrations/0004-use-refunds-once.ts'
import { paymentCharts, paymentTiles } from './overview.ts'
import { orderLabels, paymentRoutes, sceneLabels } from './payment-routes.ts'
import { PaymentsService } from './payments-service.ts'
import { rechargeHandler } from './recharge.ts'
import { webhookEvents } from './webhook-events.ts'

const kindNames = {
  'payment.recharge': bilingual('Recharge', '充值'),
  'payment.recharge-refund': bilingual('Recharge refunded', '充值退款'),
  'payment.unmatched': bilingual('Unmatched payment', '未匹配付款'),
}

const requires = { kernel, database, events, ledger, http: optional(http), site: optional(site) }
type Services = ServicesOf<typeof requires>

export default definePlugin({
  id: 'money.payments',
  version: '1.0.0',
  businessErrors: [businessError],
  kernel: '^1.0.0',
  requires,
  provides: [payments],
  extensionPoints: [paymentSuccess, refundVerifier],
  contributes: [
    personalData.of(({ database }: Services) => ({ 'money.payments': paymentTables(database) })),
    paymentSuccess.of(({ ledger }: Services) => ({ recharge: rechargeHandler(ledger) })),
    ledgerAssets,
    ledgerKinds.of(kindNames),
    optional(webhookEventTypes.of(webhookEvents)),
    ...backOffice({
      pages: paymentPages,
      attention: [sharedRefunds],
      charts: paymentCharts,
      tiles: paymentTiles,
      timelines: paymentTimelines,
    }),
    optional(labelSources),
  ],
  config: keys,
  permissions,
  migrations: [createPayments, namePayers, indexPaid, useRefundsOnce],
  entities,
  messages,
  setup({ services, config, provide, contribute, contributions }) {
    const { kernel, database: db, events, ledger, http, site } = services
    const handlers = contributions(paymentSuccess)
    const refundVerifiers = contributions(refundVerifier)
    const service = new PaymentsService({ db, events, clock: db.clock, ledger, handlers, refundVerifiers })
    provide(payments, service)
    const wallet = config.get('platform.money.payments.wallet-asset')
    if (wallet !== '') {
      const scale = config.get('platform.money.payments.wallet-scale')
      const [currency] = /[a-z]{3}$/.exec(wallet) ?? []
      const symbol = currency?.toUpperCase() ?? ''
      const isCurrency = Intl.supportedValuesOf('currency').includes(symbol)
      const displayName = { en: 'Wallet', 'zh-CN': '钱包' }
      contribute(ledgerAssets, wallet, { displayName, scale, ...(isCurrency ? { symbol } : {}) })
    }
    contribute(labelSources, 'money.payment-order', orderLabels(db))
    contribute(labelSources, 'money.payment-scene', sceneLabels(handlers))
    http?.addRoutes(paymentRoutes, { payments: service })
    http?.addRoutes(figureRoutes, { db, dayOf: site?.dayOf ?? createDayFormatter(() => 'UTC') })
    http?.addRoutes(actionRoutes, { payments: service, db, kernel, handlers })
  },
})
