import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startForTest } from '@plinth/dev/testing'
import { http, type RateLimited, rateLimitedAnnotation } from '@plinth/http'
import { buildCatalogue, type CatalogueEntry } from '@plinth/kernel/host'
import t, { type Test } from 'tap'
import product from '../examples/quickstart/plinth.config.ts'

interface Endpoint {
  readonly status: string
  readonly id: string
  readonly method: string
  readonly path: string
  readonly permission: string | null
  readonly auth: string
  readonly query: readonly string[]
  readonly body: readonly string[]
}
interface Contract {
  readonly configKeys: readonly { key: string; default: unknown; sensitive: boolean; runtime: boolean }[]
  readonly endpoints: readonly Endpoint[]
  readonly permissions: readonly { code: string }[]
}
const contract: Contract = JSON.parse(readFileSync(join(import.meta.dirname, 'contract.json'), 'utf8'))
const catalogue = buildCatalogue(product.plugins.map(({ id, config = {} }) => ({ plugin: id, keys: config })))
const byKey = new Map<string, CatalogueEntry>(catalogue.map((entry) => [entry.key, entry]))

/**
 * The plugin that each path, permission or key of the contract needs. If the product contains the plugin, this part of
 * the contract is expected. Otherwise the part must be missing. Parts without an entry are always expected.
 */
const requiredPlugins: readonly (readonly [part: RegExp, plugin: string])[] = [
  [/member-points/, 'member-points'],
  [/^\/api\/v1\/notifications(\/inbox.*|\/preferences)$/, 'notification.inbox'],
  [/^\/api\/v1\/notification-(message-attachments|read-receipts)/, 'notification.inbox'],
  [/^\/api\/v1\/notifications\/template-preview$|^platform\.notification\.template\./, 'template'],
  [/^\/api\/v1\/notification-rules|^notification:rule:/, 'notification.rules'],
  [/^platform\.notification\.channels\.(?<channel>[a-z]+)\./, 'notification-channels.$<channel>'],
  [/^platform\.forum\./, 'notification-linkage'],
  [/^platform\.conversation\./, 'notification-linkage'],
  [/^\/api\/v1\/auth\/wallet\//, 'wallet-login'],
  [/^\/api\/v1\/open\/web3\//, 'web3'],
  [/^\/api\/v1\/(admin|money)\/web3\/|^money:web3:|^platform\.money\.web3\./, 'web3-settlement'],
]
const plugins = new Set(product.plugins.map(({ id }) => id))

/** Returns the missing plugin that a path, permission or key needs. */
function missingPlugin(part: string): string | undefined {
  for (const [pattern, plugin] of requiredPlugins) {
    const match = pattern.exec(part)
    const id = match && plugin.replace('$<channel>', match.groups?.['channel'] ?? '')
    if (id != null && !plugins.has(id)) return id
  }
  return undefined
}

/** True if a part of the contract is compared. The test fails if a part exists although its plugin is missing. */
function isExpected(t: Test, part: string, isThere: boolean): boolean {
  const plugin = missingPlugin(part)
  if (plugin !== undefined) t.notOk(isThere, `${part} is there, but not the plugin ${plugin} that brings it`)
  return plugin === undefined
}

/** Codes of webhook providers, which the requirements do not list. */
const webhookProviders = [
  'generic',
  'dingtalk',
  'wecom',
  'feishu',
  'lark',
  'slack',
  'mattermost',
  'discord',
  'bark',
  'pushplus',
  'serverchan',
  'telegram',
  'gotify',
  'ntfy',
  'teams',
  'google-chat',
  'rocketchat',
]
const documentedKeys = contract.configKeys.flatMap((one) =>
  one.key.includes('<provider>')
    ? webhookProviders.map((provider) => ({ ...one, key: one.key.replace('<provider>', provider) }))
    : [one],
)

t.test('C-003 R-001 N-001 N-066 N-067 documented keys are declared with exactly the documented default', async (t) => {
  const expected = documentedKeys.filter(({ key }) => isExpected(t, key, byKey.has(key)))
  t.same(
    expected.map(({ key, runtime }) => {
      const { default: value = '', sensitive, reload } = byKey.get(key) ?? {}
      return { key, default: value, sensitive, runtime: runtime && reload === 'live' }
    }),
    expected.map(({ key, default: value, sensitive, runtime }) => ({ key, default: value, sensitive, runtime })),
  )
})

const withoutNames = (path: string) => path.replaceAll(/\{[^}]*\}|:[A-Za-z]+/g, '{}')
/**
 * Returns the code of a permission in the contract. The contract may contain notes instead: `(inferred)`, `not shown`,
 * or several codes.
 */
const codeIn = (permission: string | null) => /^[a-z][a-z0-9:-]+$/.exec(permission?.replace(/ \(.*$/, '') ?? '')?.[0]

interface Shape {
  readonly properties?: Readonly<Record<string, Shape>>
}
interface Operation {
  readonly security?: readonly object[]
  readonly parameters?: readonly { readonly in: string; readonly name: string }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Shape }>> }
  readonly 'x-permission'?: string
}

/**
 * Returns the member names from the notation of the contract, such as `limit:int`. Words such as `paging` are omitted.
 */
const namesIn = (written: readonly string[]) =>
  written.flatMap((text) =>
    text === 'paging' ? ['page', 'size'] : (/^([a-z][A-Za-z.]*)(?=:[a-z]|$)/.exec(text)?.[1] ?? []),
  )

const hasMember = (shape: Shape | undefined, name: string) =>
  name.split('.').reduce<Shape | undefined>((part, member) => part?.properties?.[member], shape) !== undefined

t.test('every documented endpoint exists, with its parameters and its documented access', async (t) => {
  const running = await startForTest(product, { roles: ['cli'] })
  t.teardown(() => running.stop('test ended'))
  const { paths } = (await running.service(http).openapi()) as { paths: Record<string, Record<string, Operation>> }
  const operations = new Map(
    Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [
        `${method.toUpperCase()} ${withoutNames(path)}`,
        operation,
      ]),
    ),
  )
  const pages = new Set(running.service(http).routes.flatMap(({ hidden, path }) => (hidden ? [path] : [])))
  /** Authentication schemes of each kind of caller. */
  const schemes: Record<string, string[]> = {
    none: [],
    'install-token': [],
    user: ['bearer', 'cookie'],
    admin: ['bearer', 'cookie'],
    // The contract does not specify who may call these operations. Every user with the permission may call them.
    unknown: ['bearer', 'cookie'],
    'open-signature': ['openAppKey', 'openTimestamp', 'openNonce', 'openSignature'],
  }
  const declared = new Set(product.plugins.flatMap(({ permissions = [] }) => permissions.map(({ code }) => code)))
  let compared = 0
  for (const { id, method, path: documented, auth, permission, query, body, status } of contract.endpoints) {
    // Skips endpoints that the requirements only propose. A missing endpoint cannot bypass a guard.
    if (status === 'proposed-optional') continue
    // The contract describes some endpoints by a proposed path, or by the path of several endpoints.
    const path =
      /\/(?:api\/\S*)?/.exec(
        documented.replace('async-task artifact / download-url entries', '/api/v1/async-tasks/{id}/download-url'),
      )?.[0] ?? ''
    const operation = operations.get(`${method} ${withoutNames(path)}`)
    if (!path.startsWith('/api/')) {
      t.ok(pages.has(documented), `page ${documented}`)
      continue
    }
    const name = `${id} ${method} ${path}`
    if (!isExpected(t, path, operation !== undefined)) continue
    compared += 1
    t.ok(operation, name)
    t.same(
      operation?.security?.flatMap((scheme) => Object.keys(scheme)),
      schemes[auth],
      `${name} is for: ${auth}`,
    )
    const code = codeIn(permission)
    if (code !== undefined) t.equal(operation?.['x-permission'], code, `permission of ${name}`)
    const guard = operation?.['x-permission']
    if (guard !== undefined) t.ok(declared.has(guard), `${guard} is declared`)
    const known = (operation?.parameters ?? []).flatMap((parameter) =>
      parameter.in === 'query' ? [parameter.name] : [],
    )
    for (const parameter of namesIn(query)) t.ok(known.includes(parameter), `${name} takes ${parameter}`)
    const shape = operation?.requestBody?.content['application/json']?.schema
    for (const member of namesIn(body)) t.ok(hasMember(shape, member), `${name} takes the member ${member}`)
  }
  t.ok(compared >= 45, 'a table that excuses too much would compare nothing')
})

t.test('every documented permission is declared, and every declared permission guards a route', async (t) => {
  const declared = product.plugins.flatMap(({ permissions = [] }) => permissions.map(({ code }) => code))
  const running = await startForTest(product, { roles: ['cli'] })
  t.teardown(() => running.stop('test ended'))
  const guarding = new Set(
    running.service(http).routes.flatMap(({ access }) => (typeof access === 'object' ? [access.permission] : [])),
  )
  // Keys need these permissions. No route requires the second one: a service checks it if a change of a chain also
  // changes who may sign in.
  const additional = ['iam:guards:save', 'web3:contract-wallets:save']
  const guardedKeys = new Set(running.config.catalogue.flatMap(({ permission }) => permission ?? []))
  t.same([...guardedKeys].sort(), additional)
  t.same(
    declared.filter((code) => !guarding.has(code)),
    additional.slice(1),
    'a permission that guards nothing would be given to roles in vain',
  )
  for (const { code } of contract.permissions) {
    const isThere = declared.some((candidate) =>
      code.endsWith(':*') ? candidate.startsWith(code.slice(0, -1)) : candidate === code,
    )
    if (isExpected(t, code, isThere)) t.ok(isThere, `${code} is declared`)
  }
})

t.test('R-049 R-050 R-101 limits of routes: silent only where nobody waits, never shared by all callers', async (t) => {
  const running = await startForTest(product, { roles: ['cli'] })
  t.teardown(() => running.stop('test ended'))
  const limits = running
    .service(http)
    .routes.flatMap(({ path, annotations }) =>
      annotations.flatMap(({ id, value }) =>
        id === rateLimitedAnnotation ? [{ path, limit: value as RateLimited }] : [],
      ),
    )
  t.ok(limits.length > 5)
  for (const { path, limit } of limits) {
    if (limit.silent) t.match(path, /heartbeat|tracking|log-report/, `${path} denies without a word`)
    if (limit.keyStrategy === 'GLOBAL') t.ok(limit.key, `${path} shares one counter among all callers of the product`)
  }
})

t.test('C-003 every key has the prefix, an owner, and its texts in both languages', async (t) => {
  const isGood = ({ key, plugin, title, description = title }: CatalogueEntry) =>
    /^platform\.[a-z]/.test(key) &&
    plugin !== '' &&
    [title, description].every(
      (text) => /\p{Script=Han}/u.test(text['zh-CN'] ?? '') && !/\p{Script=Han}/u.test(text.en),
    )
  t.strictSame(
    catalogue.filter((entry) => !isGood(entry)),
    [],
  )
})

t.test(
  'C-025..C-027 C-047 every route has the version, admin routes have the admin path, and texts exist in both languages',
  async (t) => {
    const running = await startForTest(product, { roles: ['cli'] })
    t.teardown(() => running.stop('test ended'))
    const routes = running.service(http).routes.filter(({ hidden }) => !hidden)
    t.ok(routes.length > 1)
    for (const { method, path } of routes) {
      t.match(path, /^\/api\/v[1-9]\d*\/(admin\/)?[a-z][a-z0-9-]*(\/|$)/, `${method} ${path}`)
      t.notMatch(path.replace('/admin/', '/'), /\/admin(\/|$)/, `${path} has no second admin segment`)
    }
    // Paths that document 2 of the specification defines without `/admin/`. All other routes that require a permission
    // have `/admin/` in their path.
    const outside = routes.filter(({ path, access }) => typeof access === 'object' && !/\/v\d+\/admin\//.test(path))
    t.strictSame([...new Set(outside.map(({ path }) => path.split('/')[3]))].sort(), [
      'notification-message-attachments',
      'notification-read-receipts',
      'notification-rules',
      'notification-send-logs',
      'notifications',
    ])
    t.equal(outside.length, 23)
    const declared = product.plugins.flatMap(({ permissions = [] }) => permissions)
    for (const { code, displayName } of declared) {
      t.match(code, /^[a-z][a-z0-9-]*(:[a-z0-9-]+)+$/)
      t.match(displayName, { en: /\w/, 'zh-CN': /\p{Script=Han}/u }, `${code} has a name in both languages`)
    }
    const paths = (tree: object, prefix = ''): string[] =>
      Object.entries(tree).flatMap(([name, leaf]) =>
        typeof leaf === 'string' ? [`${prefix}${name}`] : paths(leaf, `${prefix}${name}.`),
      )
    for (const { id, messages } of product.plugins) {
      if (messages !== undefined)
        t.same(paths(messages['zh-CN'] ?? {}).sort(), paths(messages.en).sort(), `texts of ${id}`)
    }
  },
)
