import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import database from '@plinth/database'
import http, { http as httpServer } from '@plinth/http'
import iam, { accounts, identity } from '@plinth/iam'
import { definePlugin, defineProduct } from '@plinth/kernel'
import { startProduct } from '@plinth/kernel/host'
import { Type } from 'typebox'
import { paths } from './paths.ts'

/** A plugin with one route under each of the three access rules. */
const bench = definePlugin({
  id: 'bench',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { http: httpServer },
  permissions: [{ code: 'bench:article:view', displayName: 'View articles' }],
  setup({ services }) {
    const rules = {
      public: 'public',
      user: 'user',
      permission: { permission: 'bench:article:view', scope: 'none' },
    } as const
    const params = Type.Object({ id: Type.Integer({ minimum: 1 }) })
    const response = Type.Object({ id: Type.Integer(), title: Type.String() })
    for (const [name, path] of Object.entries(paths)) {
      const common = { path: `${path}/:id`, access: rules[name as keyof typeof rules], response }
      services.http.route({
        ...common,
        method: 'GET',
        summary: `Read an article (${name})`,
        request: { params },
        handler: ({ params: { id } }) => ({ id, title: 'A title' }),
      })
      services.http.route({
        ...common,
        method: 'POST',
        summary: `Write an article (${name})`,
        request: { params, body: Type.Object({ title: Type.String({ minLength: 1, maxLength: 200 }) }) },
        handler: ({ params: { id }, body: { title } }) => ({ id, title }),
      })
    }
  },
})

const directory = mkdtempSync(join(tmpdir(), 'plinth-bench-iam-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
const product = defineProduct({
  name: 'bench',
  plugins: [database, http, iam, bench],
  config: {
    'platform.database.sqlite.file': join(directory, 'bench.sqlite'),
    'platform.http.host': '127.0.0.1',
    'platform.http.port': 0,
    'platform.log.level': 'warn',
  },
})
const running = await startProduct(product, { envFile: false })
const actor = { name: 'bench', clientIp: '', traceId: '', userAgent: '' }
const password = 'a password of the bench'
const { account } = await running.service(accounts).createAdministrator({ username: 'admin', password }, actor)
const attempt = { ...actor, method: 'bench', identifier: 'admin', setHeader() {} }
const { accessToken } = await running.service(identity).openSession(account?.id ?? 0, attempt)
const { url } = running.service(httpServer)
const created = await fetch(`${url}/api/v1/iam/users/me/api-tokens`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', authorization: `Bearer ${accessToken}` },
  body: JSON.stringify({
    name: 'bench',
    expiresAt: new Date(Date.now() + 86_400_000).toISOString(),
    permissions: ['bench:article:view'],
  }),
})
const { data } = (await created.json()) as { readonly data: { readonly token: string } }

/** Returns the nanoseconds that one check of a known token takes without HTTP. An API token needs its request. */
async function checkNanoseconds(token: string, bearer?: { readonly clientIp: string }): Promise<number> {
  const service = running.service(identity)
  const count = 200_000
  const startedAt = process.hrtime.bigint()
  for (let index = 0; index < count; index++) {
    const principal = service.authenticate(token, bearer)
    if (principal instanceof Promise) await principal
  }
  return Number(process.hrtime.bigint() - startedAt) / count
}

process.on('message', async (question: { readonly measure?: 'check' }) => {
  if (question.measure === 'check') {
    const nanoseconds = await checkNanoseconds(accessToken)
    return process.send?.({ nanoseconds, apiToken: await checkNanoseconds(data.token, { clientIp: '' }) })
  }
  const { user, system } = process.cpuUsage()
  return process.send?.({ cpuMicroseconds: user + system })
})
process.once('disconnect', () => process.exit())
process.send?.({ url, accessToken, apiToken: data.token, password })
