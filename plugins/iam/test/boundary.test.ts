import { spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { assertMembers, isProof, manualClock, waitForProcessEnd } from '@plinth/dev/testing'
import { createDatabase, onDatabase } from '@plinth/dev/testing/database'
import { http } from '@plinth/http'
import iamPlugin, { identity, requirePrincipal } from '@plinth/iam'
import { definePlugin, type KeyDeclarations, omitUndefined } from '@plinth/kernel'
import { isPlugin } from '@plinth/kernel/host'
import fc from 'fast-check'
import t from 'tap'
import { Type } from 'typebox'
import verificationPlugin from '../src/verification/plugin.ts'
import { adminPassword, origin, startIam, system } from './fixtures/product.ts'

/** Returns a plugin with two routes. It declares the permission of one of them if `isDeclared` is true. */
const shop = (isDeclared: boolean) =>
  definePlugin({
    id: 'shop',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { http },
    configGroups: { shop: { en: 'Shop', 'zh-CN': '商店' } },
    ...(isDeclared ? { permissions: [{ code: 'shop:order:view', displayName: 'View orders' }] } : {}),
    setup({ services }) {
      services.http.route({
        method: 'GET',
        path: '/api/v1/admin/shop/orders',
        summary: 'Orders',
        access: { permission: 'shop:order:view', scope: 'none' },
        response: Type.Object({ caller: Type.String() }),
        handler: (request) => ({ caller: requirePrincipal(request).username }),
      })
      services.http.route({
        method: 'GET',
        path: '/api/v1/admin/shop/turnover',
        summary: 'Turnover of all organisations',
        access: { permission: 'shop:order:view', scope: 'all' },
        response: Type.Boolean(),
        handler: () => true,
      })
      services.http.route({
        method: 'GET',
        path: '/api/v1/shop/items',
        summary: 'Items',
        access: 'public',
        response: Type.Boolean(),
        handler: (request) => request.principal === undefined,
      })
    },
  })

t.test('routes of other plugins: permission, principal, description, and an error at the start', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const iam = await startIam(t, db, { plugins: [shop(true)] })
  const token = await iam.administrator()
  t.same((await iam.call('GET', '/api/v1/admin/shop/orders', { token })).data, { caller: 'admin' })
  t.equal((await iam.call('GET', '/api/v1/shop/items', { token })).data, true, 'public routes know no caller')
  await iam.accounts.create({ username: 'mia', password: 'secret1' }, system)
  const mia = await iam.login('mia', 'secret1')
  const denied = await iam.call('GET', '/api/v1/admin/shop/orders', { token: mia })
  t.match(denied, { code: /^403$/, message: 'You need the permission shop:order:view.' })

  const roles = '/api/v1/admin/iam/roles'
  const role = { code: 'clerk', name: 'Clerk', dataScope: 'org', permissions: ['shop:order:view'] }
  const { id: roleId } = (await iam.call('POST', roles, { token, body: role })).data
  await iam.accounts.create({ username: 'cleo', password: 'secret1', orgId: 7, roleIds: [roleId] }, system)
  const cleo = await iam.login('cleo', 'secret1')
  t.hasStrict(await iam.call('GET', '/api/v1/admin/shop/orders', { token: cleo }), { code: '200' })
  const narrow = await iam.call('GET', '/api/v1/admin/shop/turnover', { token: cleo })
  t.hasStrict(narrow, { code: '403', data: { reason: 'iam.scope-all-required' } })
  t.hasStrict(await iam.call('GET', '/api/v1/admin/shop/turnover', { token }), { code: '200', data: true })

  const response = await iam.server.inject({
    url: '/api/v1/admin/shop/orders',
    headers: { 'accept-language': 'zh', authorization: 'Basic eDp5' },
  })
  t.match(response.json(), { code: /^401$/, message: '尚未登录。', data: { reason: /^iam\.token-missing$/ } })

  const overSocket = await fetch(`${iam.server.url}/api/v1/admin/shop/orders`, {
    headers: { authorization: `bearer ${token}` },
  })
  t.hasStrict(await overSocket.json(), { code: '200', data: { caller: 'admin' } }, 'over a real socket, in any case')

  const { paths } = await iam.server.openapi()
  assertMembers(t, paths['/api/v1/admin/shop/orders']?.['get'], {
    security: [{ bearer: [] }, { cookie: [] }],
    'x-permission': 'shop:order:view',
    'x-data-scope': 'none',
  })
  t.same(paths['/api/v1/auth/login']?.['post']?.security, [])

  const declared = (await iam.call('GET', '/api/v1/admin/iam/permissions', { token })).data
  t.match(
    declared.find(({ code }: { code: string }) => code === 'shop:order:view'),
    { plugin: 'shop', pluginTitle: 'Shop', name: 'View orders', loaded: true },
  )

  const without = await startIam(t, db, { clock: iam.clock })
  const kept = (await without.call('GET', '/api/v1/admin/iam/permissions', { token })).data
  t.match(
    kept.find(({ code }: { code: string }) => code === 'shop:order:view'),
    { plugin: 'shop', loaded: false },
    'the permission of a plugin that is gone is still explained',
  )
  const chinese = (await iam.call('GET', '/api/v1/admin/iam/permissions', { token, language: 'zh-CN' })).data
  t.match(
    chinese.find(({ code }: { code: string }) => code === 'shop:order:view'),
    { pluginTitle: '商店' },
  )
  t.match(
    chinese.find(({ code }: { code: string }) => code === 'iam:user:view'),
    { pluginTitle: '账号与登录' },
    'the title of the group of keys of the same name',
  )
  const rejected = await startIam(t, db, { plugins: [shop(false)] }).catch((error: Error) => error)
  t.hasStrict(rejected, { cause: { code: 'PLINTH_IAM_PERMISSION_UNDECLARED' } })
  t.match(String(rejected), /GET \/api\/v1\/admin\/shop\/orders of plugin "shop" needs "shop:order:view"/)
})

t.test('C-003 R-073 R-074 R-080..R-089 declarations are complete, with exactly the documented defaults', (t) => {
  for (const [plugin, name] of [
    [iamPlugin, 'iam'],
    [verificationPlugin, 'verification'],
  ] as const) {
    t.ok(isPlugin(plugin))
    const { en = {}, 'zh-CN': zh = {} } = plugin.messages ?? {}
    t.same(Object.keys(zh[name] ?? {}), Object.keys(en[name] ?? {}), 'both languages say the same')
  }
  const contract = join(import.meta.dirname, '..', '..', '..', 'test', 'contract.json')
  const { configKeys } = JSON.parse(readFileSync(contract, 'utf8')) as {
    configKeys: readonly { key: string; default: unknown; sensitive: boolean }[]
  }
  const declared: KeyDeclarations = { ...iamPlugin.config, ...verificationPlugin.config }
  const documented = configKeys.filter(({ key }) => key.startsWith('platform.iam.'))
  t.equal(documented.length, 39)
  for (const { key, default: expected, sensitive } of documented) {
    t.same([declared[key]?.default, declared[key]?.sensitive], [expected, sensitive], key)
  }
  t.end()
})

/** Values that a database rejects. */
const hostileToDatabases: readonly unknown[] = [
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x'.repeat(300),
  Number.MAX_SAFE_INTEGER,
  2 ** 60,
  -1,
]
const hostile: readonly unknown[] = [
  ...hostileToDatabases,
  '%',
  "' or 1=1 --",
  '',
  ' ',
  '-id',
  '1',
  0,
  0.5,
  true,
  null,
  [],
  {},
  ['\u0000'],
  [1, 1],
  [-1],
]
/**
 * Valid values of request properties. A request with only one hostile value passes the other checks and reaches the
 * database.
 */
const wellFormed: Readonly<Record<string, unknown>> = {
  username: 'someone',
  password: 'secret1',
  code: 'some-role',
  name: 'Some role',
  permissions: [],
  version: 1,
  currentPassword: adminPassword,
  newPassword: adminPassword,
}

onDatabase(t, 'C-017 no input of a user ever causes "500"', async (t, db) => {
  const iam = await startIam(t, db)
  await iam.administrator()
  const admin = (await iam.accounts.findByUsername('admin'))?.id ?? 0
  const session = iam.running.service(identity)
  const attempt = { ...origin, method: 'test', identifier: 'admin', setHeader() {} }
  const { paths } = await iam.server.openapi()
  const own = Object.entries(paths).filter(([path]) => /\/(iam|auth)\//.test(path))
  t.ok(own.length > 15, 'the description lists the routes')

  let requests = 0
  let { accessToken } = await session.openSession(admin, attempt)
  const send = async (method: string, path: string, id: unknown, query: object, body: object | undefined) => {
    const address = path.replace('{id}', encodeURIComponent(wellFormedText(id)))
    const search = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(wellFormedText(value))}`)
    const response = await iam.server.inject(
      omitUndefined({
        method: method as 'GET',
        url: `${address}?${search.join('&')}`,
        headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
        payload: body === undefined ? undefined : JSON.stringify(body),
      }),
    )
    requests++
    // The call may have ended the session, so a new one is opened.
    if (method !== 'GET') accessToken = (await session.openSession(admin, attempt)).accessToken
    if (response.json<{ code: string }>().code !== '500' && response.statusCode < 500) return true
    t.fail(`${method} ${path} ${JSON.stringify({ id, query, body })} -> ${response.body}`)
    return false
  }

  for (const [path, operations] of own) {
    for (const [method, { parameters = [], requestBody }] of Object.entries(operations)) {
      const members = Object.keys(requestBody?.content['application/json']?.schema?.['properties'] ?? {})
      const known =
        requestBody === undefined ? undefined : Object.fromEntries(members.map((name) => [name, wellFormed[name]]))
      const asks = parameters.filter((parameter) => parameter.in === 'query')
      for (const value of isProof && db.dialect === 'sqlite' ? hostile : hostileToDatabases) {
        if (path.includes('{id}')) await send(method.toUpperCase(), path, value, {}, known)
        for (const name of members) await send(method.toUpperCase(), path, admin, {}, { ...known, [name]: value })
        for (const { name } of asks) await send(method.toUpperCase(), path, admin, { [name]: value }, known)
      }
    }
  }
  t.ok(requests > (isProof ? 400 : 100), `${requests} requests`)

  const body = fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text))
  const property = fc.asyncProperty(fc.constantFrom(...own), body, async ([path, operations], body) => {
    const [method = ''] = Object.keys(operations).filter((method) => method === 'post' || method === 'put')
    return method === '' || send(method.toUpperCase(), path, admin, {}, body)
  })
  await fc.assert(property, { numRuns: isProof ? 100 : 20 })
})

/** Returns a text that a query string can contain. */
const wellFormedText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value)).toWellFormed()

t.test('plinth admin create and plinth permissions', async (t) => {
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const directory = t.testdir({})
  const resolved = (name: string) => JSON.stringify(createRequire(import.meta.url).resolve(name))
  const plugins = ['database', 'http', 'iam'].map((name) => `import ${name} from ${resolved(`@plinth/${name}`)}`)
  writeFileSync(
    join(directory, 'plinth.config.ts'),
    `${plugins.join('\n')}
import { defineProduct } from ${resolved('@plinth/kernel')}
const config = ${JSON.stringify({ ...db.config, 'platform.iam.password.hash.memory': '1MiB' })}
export default defineProduct({ name: 'commands', plugins: [database, http, iam], config })
`,
  )
  const program = createRequire(import.meta.url)
    .resolve('@plinth/kernel')
    .replace('index.ts', 'cli/main.ts')
  const plinth = (args: string[], input = '') => {
    const child = spawn(process.execPath, [program, ...args], { cwd: directory })
    child.stdin.end(input)
    return waitForProcessEnd(child)
  }
  const create = ['admin', 'create', '--username', 'root', '--password-stdin', '--json']
  t.match(await plinth(create, 'secret1\n'), { code: 1, stdout: /PLINTH_IAM_MIGRATION_PENDING/ })
  t.match(await plinth(['migrate']), { code: 0 })
  t.match(await plinth(create, '12345\n'), { code: 1 }, 'the policy holds here too')
  t.match(await plinth(create.slice(0, -2)), { code: 1, stderr: /PLINTH_IAM_PASSWORD_INPUT/ }, 'no terminal to ask')
  t.match(await plinth(['admin', 'create', '--password-stdin'], 'secret1\n'), { code: 1, stderr: /--username/ })
  const made = await plinth(create, 'secret1\n')
  t.match(made, { code: 0, stdout: /"username": ?"root"/ })
  t.notMatch(JSON.stringify(made), /secret1/)
  t.match(await plinth(create, 'secret1\n'), { code: 1 }, 'the name is taken')
  t.match(await plinth(['permissions']), { code: 0, stdout: /^iam:audit:view +iam +View the audit/m })

  // The commands use the time of the host.
  const iam = await startIam(t, db, { clock: manualClock(Date.now()) })
  const token = await iam.login('root', 'secret1')
  const [audit] = (await iam.call('GET', '/api/v1/admin/iam/audits?actor=cli', { token })).data.items
  t.match(audit, { actor: 'cli', action: 'user.create', summary: { username: 'root' } })

  const recover = ['admin', 'recover', '--username', 'ROOT', '--password-stdin', '--json']
  t.match(await plinth(recover, '12345\n'), { code: 1 }, 'the policy holds here too')
  t.match(await plinth(recover.with(3, 'nobody'), 'secret2\n'), { code: 1, stdout: /PLINTH_IAM_RECOVER_OPTIONS/ })
  const recovered = await plinth(recover, 'secret2\n')
  t.match(recovered, { code: 0, stdout: /"endedSessions": ?1/ })
  t.notMatch(JSON.stringify(recovered), /secret2/)
  await iam.clock.advance(1000)
  t.equal((await iam.call('GET', '/api/v1/iam/users/me', { token })).code, '401')
  const next = await iam.login('root', 'secret2')
  const [entry] = (await iam.call('GET', '/api/v1/admin/iam/audits?actor=cli', { token: next })).data.items
  t.match(entry, { actor: 'cli', action: 'user.recover', summary: { username: 'root', endedSessions: 1 } })
})
