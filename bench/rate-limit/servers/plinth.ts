import database from '@plinth/database'
import http, { http as httpServer, rateLimited } from '@plinth/http'
import i18n from '@plinth/i18n'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { startProduct } from '@plinth/kernel/host'
import rateLimit from '@plinth/rate-limit'
import memory from '@plinth/rate-limit-stores/memory'
import sharedWindow from '@plinth/rate-limit-stores/shared-window'
import sharedStore from '@plinth/shared-store'
import { Type } from 'typebox'
import { announceServerUrl } from '../../kernel/announce.ts'

/**
 * Arguments: the store of the limit (or `none`), and the port of Redis. All variants have the same plugins and differ
 * only in the annotation of the route.
 */
const [, , store = 'none', port] = process.argv
const bench = definePlugin({
  id: 'bench',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http: httpServer },
  setup({ services }) {
    services.http.route({
      method: 'GET',
      path: '/api/v1/bench/articles/:id',
      summary: 'Read an article',
      access: 'public',
      annotations: store === 'none' ? [] : [rateLimited({ store, maxAttempts: 1e12, windowSeconds: 3600 })],
      request: { params: Type.Object({ id: Type.Integer({ minimum: 1 }) }) },
      response: Type.Object({ id: Type.Integer(), title: Type.String() }),
      handler: ({ params: { id } }) => ({ id, title: 'A title' }),
    })
  },
})
const product = defineProduct({
  name: 'bench',
  plugins: [database, sharedStore, http, i18n, rateLimit, memory, sharedWindow, bench],
  config: {
    'platform.database.sqlite.file': ':memory:',
    'platform.cache.enabled': true,
    'platform.cache.port': Number(port),
    'platform.http.host': '127.0.0.1',
    'platform.http.port': 0,
    'platform.log.level': 'warn',
  },
})
const { url } = (await startProduct(product, { envFile: false })).service(httpServer)
if (url === undefined) throw new Error('the product does not listen')
announceServerUrl(url)
