import http, { http as httpServer, Type } from '@plinth/http'
import i18n from '@plinth/i18n'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { startProduct } from '@plinth/kernel/host'
import { announceServerUrl } from '../announce.ts'
import {
  type Article,
  articleOf,
  articleParamsSchema,
  articlePath,
  articleSchema,
  type Order,
  type OrderRequest,
  orderOf,
  orderPath,
  orderRequestSchema,
  orderSchema,
} from '../exchange.ts'

/** A plugin with the two routes, in the form in which a user of Plinth would write it. */
const bench = definePlugin({
  id: 'bench',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http: httpServer },
  setup({ services }) {
    services.http.route({
      method: 'GET',
      path: articlePath,
      summary: 'Read an article',
      access: 'public',
      request: { params: Type.Unsafe<{ id: number }>(articleParamsSchema) },
      response: Type.Unsafe<Article>(articleSchema),
      handler: async (request) => articleOf(request.params.id),
    })
    services.http.route({
      method: 'POST',
      path: orderPath,
      summary: 'Place an order',
      access: 'public',
      request: { body: Type.Unsafe<OrderRequest>(orderRequestSchema) },
      response: Type.Unsafe<Order>(orderSchema),
      handler: async (request) => orderOf(request.body),
    })
  },
})

// The limiter is loaded only if it is measured, so that other measurements are those of a product without it.
const limited = process.argv[2] === 'rate-limit'
const limiter = limited ? [await import('@plinth/rate-limit'), await import('@plinth/rate-limit-stores/memory')] : []

const product = defineProduct({
  name: 'bench',
  plugins: [http, i18n, bench, ...limiter.map((module) => module.default)],
  config: { 'platform.http.host': '127.0.0.1', 'platform.http.port': 0, 'platform.log.level': 'warn' },
})
const { url } = (await startProduct(product, { envFile: false })).service(httpServer)
if (url === undefined) throw new Error('the product does not listen')
announceServerUrl(url)
