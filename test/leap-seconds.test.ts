/** Tests that no operation accepts a time that its handler cannot read, such as a leap second. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import type { Product } from '@plinth/kernel'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'
import { dataDirectory } from './fixtures/product-process.ts'

interface Schema {
  readonly type?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, Schema>>
}
interface Operation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[]
  readonly requestBody?: { readonly content?: { readonly 'application/json'?: { readonly schema: Schema } } }
}

const { paths }: { paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../docs/openapi.json'), 'utf8'),
)
const isTime = ({ format }: Schema) => format === 'date-time'

/** Each input of an operation that is a time, with its place. */
const inputs = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, { parameters = [], requestBody }]) => {
    const { properties = {} } = requestBody?.content?.['application/json']?.schema ?? {}
    const members = Object.entries(properties).filter(([, schema]) => isTime(schema))
    const query = parameters.filter((one) => one.in === 'query' && isTime(one.schema))
    return [
      ...query.map(({ name }) => ({ path, method, name, isBody: false })),
      ...members.map(([name]) => ({ path, method, name, isBody: true })),
    ]
  }),
)

const administrator = { username: 'root', password: 'Correct-horse-7' }
const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }

t.test('B1 a leap second is invalid in every input that is a time', async (t) => {
  const root = await dataDirectory(t.teardown)
  const running = await startForTest({ ...product, root } as Product, {
    set: {
      'platform.http.port': '0',
      'platform.install.installed': 'true',
      'platform.database.sqlite.file': join(root, 'plinth.sqlite'),
      'platform.iam.password.hash.memory': '1MiB',
      'platform.iam.password.hash.passes': '1',
      'platform.rate-limit.enabled': 'false',
    },
  })
  t.teardown(() => running.stop('test ended'))
  await running.service(accounts).createSuperAdministrator(administrator, origin)
  const server = running.service(http)
  const login = await server.inject({ method: 'POST', url: '/api/v1/auth/login', payload: administrator })
  const headers = { authorization: `Bearer ${login.json().data.accessToken}` }
  t.ok(inputs.length > 30, `${inputs.length} inputs`)
  for (const { path, method, name, isBody } of inputs) {
    for (const time of ['2016-12-31T23:59:60Z', '2016-12-31T15:59:60-08:00']) {
      const url = path.replaceAll(/\{[^}]*\}/g, '1')
      const response = await server.inject({
        method: method.toUpperCase() as 'GET',
        url: isBody ? url : `${url}?${name}=${encodeURIComponent(time)}`,
        headers,
        ...(isBody ? { payload: { [name]: time } } : {}),
      })
      const { code, data } = response.json()
      const rules = (data?.errors ?? []).flatMap((error: { field: string; rule: string }) =>
        error.field === name ? [error.rule] : [],
      )
      t.strictSame([code, ...rules], ['400', 'format'], `${method} ${path}: ${name} ${time}`)
    }
  }
})
