import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { http } from '@plinth/http'
import { buildCatalogue, type CatalogueEntry } from '@plinth/kernel'
import { startForTest } from '@plinth/kernel/testing'
import t from 'tap'
import product from '../examples/quickstart/plinth.config.ts'

interface Contract {
  readonly configKeys: readonly { key: string; default: unknown; sensitive: boolean; runtime: boolean }[]
  readonly endpoints: readonly { method: string; path: string }[]
}
const contract: Contract = JSON.parse(readFileSync(join(import.meta.dirname, 'contract.json'), 'utf8'))
const catalogue = buildCatalogue(product.plugins.map(({ id, config = {} }) => ({ plugin: id, keys: config })))
const byKey = new Map<string, CatalogueEntry>(catalogue.map((entry) => [entry.key, entry]))

/** Parts of the contract whose plugins exist: every documented key under them must be there. */
const built = [
  /^platform\.rate-limit\.(enabled|default-|key-prefix|annotation\.)/,
  /^platform\.rate-limit\.stores\./,
  /^platform\.iam\.auth\.login\./,
  /^platform\.install\./,
  /^platform\.view\.root\./,
  /^platform\.notification\.(enabled|default-channel)$/,
  /^platform\.open-platform\.security\.default/,
  /^platform\.notification\.channels\.(log|memory)\./,
]

t.test('C-003 R-001 N-001 documented keys are declared with exactly the documented default', async (t) => {
  for (const { key, default: documented, sensitive, runtime } of contract.configKeys) {
    const entry = byKey.get(key)
    if (entry === undefined) {
      t.notOk(
        built.some((part) => part.test(key)),
        `${key} may be missing: its plugin does not exist yet`,
      )
      continue
    }
    t.same(entry.default, documented, `default of ${key}`)
    t.equal(entry.sensitive, sensitive, `sensitivity of ${key}`)
    if (runtime) t.equal(entry.reload, 'live', `${key} changes while running`)
  }
})

t.test('C-003 C-046 every key has the prefix, an owner, and its texts in both languages', async (t) => {
  for (const { key, plugin, title, description } of catalogue) {
    t.match(key, /^platform\.[a-z]/)
    t.ok(plugin)
    for (const text of [title, ...(description === undefined ? [] : [description])]) {
      t.match(text['zh-CN'], /\p{Script=Han}/u, `${key} speaks Chinese`)
      t.notMatch(text.en, /\p{Script=Han}/u, `${key} speaks English`)
    }
  }
})

t.test(
  'C-025..C-027 C-046 C-047 every route carries the version, admin routes the admin path, texts both languages',
  async (t) => {
    const running = await startForTest(product, { roles: ['cli'] })
    t.teardown(() => running.stop('test ended'))
    const routes = running.service(http).routes.filter(({ hidden }) => !hidden)
    t.ok(routes.length > 1)
    for (const { method, path } of routes) {
      t.match(path, /^\/api\/v[1-9]\d*\/(admin\/)?[a-z][a-z0-9-]*(\/|$)/, `${method} ${path}`)
      t.notMatch(path.replace('/admin/', '/'), /\/admin(\/|$)/, `${path} has no second admin segment`)
    }
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
      if (messages !== undefined) t.same(paths(messages['zh-CN']).sort(), paths(messages.en).sort(), `texts of ${id}`)
    }
  },
)
