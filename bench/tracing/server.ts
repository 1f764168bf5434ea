import databasePlugin, { database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import httpPlugin, { http, Type } from '@plinth/http'
import { definePlugin, defineProduct } from '@plinth/kernel'
import opentelemetry from '@plinth/opentelemetry'

/* A product with two routes. Argument: the sampled part of the traces, or `without` the plugin; the second one: the collector. */

const [ratio = 'without', endpoint = ''] = process.argv.slice(2)

const routes = definePlugin({
  id: 'test',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http, database },
  setup({ services: { http, database: db } }) {
    const route = { method: 'GET', access: 'public', response: Type.Integer(), reasons: [] } as const
    http.route({ ...route, path: '/api/v1/trivial', summary: 'Return a number', handler: async () => 1 })
    http.route({
      ...route,
      path: '/api/v1/statement',
      summary: 'Execute a statement',
      handler: async () => db.transactional(async () => (await db.query('select 1 as one', [])).length),
    })
  },
})

const running = await startForTest(
  defineProduct({
    name: 'bench',
    plugins: [...(ratio === 'without' ? [] : [opentelemetry]), httpPlugin, databasePlugin, routes],
    config: {
      'platform.http.port': 0,
      'platform.http.access-log': false,
      'platform.http.response-check': false,
      'platform.http.overload.max-wait': '1m',
      'platform.database.sqlite.file': ':memory:',
      ...(ratio === 'without'
        ? {}
        : {
            'platform.opentelemetry.endpoint': endpoint,
            'platform.opentelemetry.sampling-ratio': Number(ratio),
          }),
    },
  }),
)
process.on('disconnect', () => process.exit())
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpuMs: (user + system) / 1000 })
})
process.send?.({ url: running.service(http).url })
