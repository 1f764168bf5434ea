import { database } from '@plinth/database'
import { events } from '@plinth/events'
import { adminPages, http, labelSources } from '@plinth/http'
import { definePlugin, optional } from '@plinth/kernel'
import { paymentPages } from '../admin-pages.ts'
import { ledger, ledgerAssets } from '../contract.ts'
import { keys } from './config.ts'
import { paymentSuccess, payments } from './contract.ts'
import { entities } from './entities.ts'
import { messages } from './failures.ts'
import { orderLabels } from './label-source.ts'
import { createPayments } from './migrations/0001-create-payments.ts'
import { paymentRoutes } from './payment-routes.ts'
import { PaymentsService } from './payments-service.ts'
import { permissions } from './permissions.ts'
import { rechargeHandler } from './recharge.ts'

/** Payment orders, what was paid on them, and who finishes what they were for. */
export default definePlugin({
  id: 'money.payments',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { database, events, ledger, http: optional(http) },
  provides: [payments],
  extensionPoints: [paymentSuccess],
  contributes: [paymentSuccess, ledgerAssets, optional(adminPages), optional(labelSources)],
  config: keys,
  permissions,
  migrations: [createPayments],
  entities,
  messages,
  setup({ services, config, clock, provide, contribute, contributions }) {
    const { database: db, events, ledger, http } = services
    const service = new PaymentsService({ db, events, clock, handlers: contributions(paymentSuccess) })
    provide(payments, service)
    contribute(paymentSuccess, 'recharge', rechargeHandler(ledger))
    const wallet = config.get('platform.money.payments.wallet-asset')
    if (wallet !== '') {
      const scale = config.get('platform.money.payments.wallet-scale')
      const [currency] = /[a-z]{3}$/.exec(wallet) ?? []
      const symbol = currency?.toUpperCase() ?? ''
      const isCurrency = Intl.supportedValuesOf('currency').includes(symbol)
      const displayName = { en: 'Wallet', 'zh-CN': '钱包' }
      contribute(ledgerAssets, wallet, { displayName, scale, ...(isCurrency ? { symbol } : {}) })
    }
    for (const page of paymentPages) contribute(adminPages, page.id, page)
    contribute(labelSources, 'money.payment-order', orderLabels(db))
    http?.addRoutes(paymentRoutes, { payments: service })
  },
})
