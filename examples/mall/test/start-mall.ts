import databasePlugin, { database } from '@plinth/database'
import { manualClock } from '@plinth/dev/testing'
import { startMigrated, type TestDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, {
  afterSalesPendingReview,
  afterSalesStatusChanged,
  type EventRef,
  events,
  firstOrder,
  orderPaid,
  orderPendingFulfilment,
  orderRefunded,
  orderStatusChanged,
  reviewReward,
  virtualStockLow,
  virtualStockOut,
} from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18nPlugin from '@plinth/i18n'
import iamPlugin, { accounts } from '@plinth/iam'
import { definePlugin, defineProduct, type JsonValue, omitUndefined } from '@plinth/kernel'
import money, { ledgerAssets } from '@plinth/money'
import paymentsPlugin from '@plinth/money/payments'
import cleanupPlugin from '@plinth/quickstart-cleanup'
import sitePlugin from '@plinth/site'
import type { Test } from 'tap'
import mallPlugin, { mall } from '../plugin.ts'

const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: 'tap' }
const password = 'correct horse battery staple'
const heardEvents = [
  orderPaid,
  orderRefunded,
  firstOrder,
  reviewReward,
  orderStatusChanged,
  orderPendingFulfilment,
  afterSalesPendingReview,
  afterSalesStatusChanged,
  virtualStockLow,
  virtualStockOut,
] as readonly EventRef<object>[]

/** Returns a plugin that records the events of the mall. */
function listener() {
  const received: { readonly type: string; readonly payload: Record<string, unknown> }[] = []
  const plugin = definePlugin({
    id: 'test.listener',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { events },
    contributes: [ledgerAssets],
    setup({ services, contribute }) {
      contribute(ledgerAssets, 'credit:test', { displayName: { en: 'Credit', 'zh-CN': '抵扣' }, scale: 2 })
      for (const ref of heardEvents) {
        services.events.on(ref, 'test.listen', ({ type, payload }) => {
          received.push({ type, payload: payload as Record<string, unknown> })
        })
      }
    },
  })
  return { plugin, received }
}

/** Starts a mall with a member. Tests add goods when they need them. The mall is stopped when the test ends. */
export async function startMall(t: Test, db: TestDatabase, config: Readonly<Record<string, JsonValue>> = {}) {
  const clock = manualClock(Date.UTC(2026, 10, 1, 12))
  const { plugin, received } = listener()
  const product = defineProduct({
    name: 'mall',
    plugins: [
      databasePlugin,
      eventsPlugin,
      httpPlugin,
      sitePlugin,
      i18nPlugin,
      iamPlugin,
      cleanupPlugin,
      money,
      paymentsPlugin,
      mallPlugin,
      plugin,
    ],
    config: {
      ...db.config,
      'platform.http.port': 0,
      // On a busy host the load shedder would otherwise reject requests.
      'platform.http.overload.max-wait': '1m',
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': 1,
      'platform.example.mall.test-payments': true,
      ...config,
    },
  })
  const running = await startMigrated(product, { clock })
  t.teardown(() => running.stop('test ended'))
  const server = running.service(http)
  const logIn = async (username: string) => {
    const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: { username, password } })
    const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
    return async (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object) => {
      const response = await server.inject(omitUndefined({ method, url, headers, payload }))
      return response.json()
    }
  }
  await running.service(accounts).createAdministrator({ username: 'admin', password }, origin)
  const member = async (username: string) => {
    const { id } = await running.service(accounts).create({ username, password }, origin)
    return { id, call: await logIn(username) }
  }
  const shop = running.service(mall)
  const add = (sku: string, price: number, stock: number, delivery: 'virtual' | 'parcel' = 'parcel') =>
    shop.catalogue.add({ sku, name: `Goods ${sku}`, price, stock, lowStock: 2, delivery })
  /** Returns the events published since the last call, by type. */
  const published = async () => {
    await running.service(events).idle()
    return received.splice(0)
  }
  const admin = await logIn('admin')
  return { running, shop, clock, admin, member, add, published, db: running.service(database) }
}
