/** Tests that the declared scope `caller` of an operation is compared with its handler. */
import { onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import { type HttpRequest, http, Type } from '@plinth/http'
import { callerRows, callerRowsSql, type Identity, identity } from '@plinth/iam'
import { BusinessError, definePlugin } from '@plinth/kernel'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { requirePrincipal } from '../src/access/access-guard.ts'
import { startIam } from './fixtures/product.ts'

type Handler = (request: HttpRequest, identity: Identity) => unknown

const permission = 'acme:row:view'

/** For each route: its handler, and its code in development and in production. */
const handlers: Readonly<Record<string, readonly [handler: Handler, code: string, inProduction: string]>> = {
  nothing: [() => ({}), '500', '200'],
  'caller-rows': [(request) => callerRows(request, 'owner_id'), '200', '200'],
  'caller-rows-sql': [(request) => callerRowsSql(request, 't', 'owner_id'), '200', '200'],
  'rows-in-scope': [(request, { rowsInScope }) => rowsInScope(requirePrincipal(request), 'owner_id'), '200', '200'],
  'assert-in-scope': [(request, parts) => parts.assertInScope(requirePrincipal(request), []), '200', '200'],
  'own-decision': [(request) => requirePrincipal(request).dataScope, '200', '200'],
  later: [(request) => Promise.resolve().then(() => callerRows(request, 'owner_id')), '200', '200'],
  rejected: [() => Promise.reject(new BusinessError('404', 'unknown')), '404', '404'],
}

async function start(t: Test, db: TestDatabase) {
  const lines: string[] = []
  const acme = definePlugin({
    id: 'acme.rows',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http, identity },
    permissions: [{ code: permission, displayName: { en: 'View rows', 'zh-CN': '查看' } }],
    setup({ services }) {
      for (const [name, [handler]] of Object.entries(handlers)) {
        services.http.route({
          method: 'GET',
          path: `/api/v1/admin/acme/${name}`,
          summary: name,
          access: { permission, scope: 'caller' },
          response: Type.Null(),
          handler: async (request) => {
            await handler(request, services.identity)
            return null
          },
        })
      }
    },
  })
  const logger = pino({ level: 'error' }, { write: (line: string) => lines.push(line) })
  const iam = await startIam(t, db, { plugins: [acme], logger })
  const token = await iam.administrator()
  const codes = async () => {
    const calls = Object.keys(handlers).map(async (name) => {
      const { code } = await iam.call('GET', `/api/v1/admin/acme/${name}`, { token })
      return [name, code]
    })
    return Object.fromEntries(await Promise.all(calls))
  }
  return { iam, token, lines, codes }
}

onDatabase(t, 'K-006 a handler with the scope caller that does not ask for it is an error', async (t, db) => {
  const { lines, codes } = await start(t, db)
  t.strictSame(await codes(), Object.fromEntries(Object.entries(handlers).map(([name, [, code]]) => [name, code])))
  const errors = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request failed')
  t.strictSame(
    errors.map(({ err, route }) => [err.code, route]),
    [['PLINTH_IAM_SCOPE_NOT_ASKED', '/api/v1/admin/acme/nothing']],
  )
  t.match(errors[0].err.message, 'GET /api/v1/admin/acme/nothing of plugin "acme.rows"')
})

onDatabase(t, 'K-006 in production the declared scope is not compared', async (t, db) => {
  const { NODE_ENV } = process.env
  process.env['NODE_ENV'] = 'production'
  t.teardown(() => {
    if (NODE_ENV === undefined) delete process.env['NODE_ENV']
    else process.env['NODE_ENV'] = NODE_ENV
  })
  const { codes } = await start(t, db)
  t.strictSame(await codes(), Object.fromEntries(Object.entries(handlers).map(([name, [, , code]]) => [name, code])))
})
