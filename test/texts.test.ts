/** Tests the texts for users: every text must exist in both languages, and no key may be shown. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { startForTest } from '@plinth/dev/testing'
import { http } from '@plinth/http'
import { accounts } from '@plinth/iam'
import { defineProduct, type MessageTree, omitUndefined, type Product } from '@plinth/kernel'
import t from 'tap'
import lite from '../examples/lite/plinth.config.ts'
import product from '../examples/quickstart/plinth.config.ts'
import { dataDirectory } from './fixtures/product-process.ts'

const leaves = (tree: MessageTree, path: string): [string, string][] =>
  Object.entries(tree).flatMap(([name, value]) =>
    typeof value === 'string' ? [[`${path}.${name}`, value] as [string, string]] : leaves(value, `${path}.${name}`),
  )
const plugins = [...new Map([...lite.plugins, ...product.plugins].map((plugin) => [plugin.id, plugin])).values()]
const catalogues = plugins.flatMap(({ id, messages }) =>
  messages === undefined
    ? []
    : [{ id, en: new Map(leaves(messages.en, 'messages')), zh: new Map(leaves(messages['zh-CN'] ?? {}, 'messages')) }],
)
/**
 * Returns the key without its plural form. The plural forms of a key are one text. Chinese has one form, and English
 * has two.
 */
const stem = (key: string) => key.replace(/_(?:zero|one|two|few|many|other)$/, '')
const placeholders = (text: string) => [...new Set(text.match(/\{\{\w+\}\}/g) ?? [])].sort()

t.test('C-046 the catalogues of every plugin have the same texts and placeholders in both languages', async (t) => {
  t.ok(catalogues.length > 5)
  for (const { id, en, zh } of catalogues) {
    const stems = (texts: ReadonlyMap<string, string>) => [...new Set([...texts.keys()].map(stem))].sort()
    t.same(stems(zh), stems(en), id)
    const english = (key: string) => en.get(key) ?? en.get(`${stem(key)}_other`) ?? ''
    const differing = [...zh].filter(([key, text]) => `${placeholders(text)}` !== `${placeholders(english(key))}`)
    t.same(differing, [], id)
  }
})

t.test('C-018 every group of keys has a title in both languages, in a small product too', async (t) => {
  for (const one of [lite, product]) {
    const titles = new Map(one.plugins.flatMap(({ configGroups = {} }) => Object.entries(configGroups)))
    const groups = new Set(
      one.plugins.flatMap(({ config = {} }) =>
        Object.entries(config).map(([key, { group }]) => group ?? key.split('.')[1] ?? ''),
      ),
    )
    t.ok(groups.size >= 5)
    for (const group of groups) {
      const title = titles.get(group)
      t.match(title, { en: /^[A-Z]/, 'zh-CN': /\p{Script=Han}/u }, group)
    }
  }
})

const keys = new Set(
  catalogues.flatMap(({ en, zh }) => [...en.keys(), ...zh.keys()].flatMap((key) => [key, stem(key)])),
)
/** Returns the text keys that occur in a text for users. */
const keysIn = (text: string) => (text.match(/messages\.[\w-]+(?:\.[\w-]+)*/g) ?? []).filter((key) => keys.has(key))

t.test('C-046 I-201 no response and no page contains the key of a text', { timeout: 600_000 }, async (t) => {
  t.same(keysIn('{"fix":"messages.install.result.between"}'), ['messages.install.result.between'], 'it would be seen')
  const root = await dataDirectory(t.teardown)
  // The installation needs this file. Without it, the installation would stop at its first step.
  copyFileSync(join(import.meta.dirname, '../examples/quickstart/.env.example'), join(root, '.env.example'))
  const own = { ...defineProduct({ name: 'texts', plugins: product.plugins }), root } as Product
  const running = await startForTest(own, {
    set: { 'platform.http.port': '0', 'platform.iam.password.hash.memory': '1MiB' },
  })
  t.teardown(() => running.stop('test ended'))
  t.same(
    running.config.catalogue.filter(({ groupTitle }) => groupTitle === undefined),
    [],
    'keys of the kernel have groups with a title too',
  )
  const server = running.service(http)
  const found: string[] = []
  let responses = 0
  const look = async (method: string, url: string, headers: Readonly<Record<string, string>>, payload?: object) => {
    for (const language of ['en', 'zh-CN']) {
      const response = await server.inject(
        omitUndefined({
          method: method as 'GET',
          url,
          headers: { ...headers, 'accept-language': language },
          payload,
        }),
      )
      responses++
      found.push(...keysIn(response.body).map((key) => `${method} ${url} (${language}): ${key}`))
    }
  }

  const forms = [
    {},
    {
      site: { name: 'x'.repeat(99), title: '\u0000', url: 'nowhere', defaultLocale: 'xx', timeZone: 'Nowhere/At_all' },
      administrator: { username: '!', email: 'x', mobile: 'x', password: '1', confirmPassword: '2' },
      database: { type: 'postgresql', host: '!', port: 99_999, database: '!', username: '', password: '' },
      cache: { enabled: true, host: '!', port: 0, database: -1, password: '' },
      storage: { publicDisk: 'x', localDisk: 'x' },
    },
    { database: { type: 'oracle' } },
    {
      site: { name: 'Acme' },
      administrator: { username: 'founder', password: '1', confirmPassword: '1' },
      database: { type: 'h2', database: '' },
      cache: { enabled: false },
      storage: { publicDisk: 'public', localDisk: 'local' },
    },
  ]
  for (const path of ['config/validate', 'config/plan', 'config/write', 'execute']) {
    for (const form of forms) await look('POST', `/api/v1/install/${path}`, {}, form)
  }
  for (const path of ['/', '/install', '/install/', '/docs/', '/nowhere', '/health/ready']) {
    await look('GET', path, { accept: 'text/html' })
  }

  const origin = { name: 'test', clientIp: '127.0.0.1', traceId: 'test', userAgent: '' }
  const administrator = { username: 'root', password: 'Correct-horse-7' }
  const login = async () => {
    await running.service(accounts).createAdministrator(administrator, origin)
    const url = '/api/v1/auth/login'
    const { data } = (await server.inject({ method: 'POST', url, payload: administrator })).json()
    return { authorization: `Bearer ${data.accessToken}` }
  }
  const { paths } = await server.openapi()
  // Routes that are not called: they end the session of the caller, or their event stream never ends.
  const isLeftOut = (path: string) =>
    path.endsWith('/logout') || path.includes('/sessions') || path.endsWith('/console/events')
  for (const headers of [{}, await login()]) {
    for (const [path, operations] of Object.entries(paths)) {
      if (isLeftOut(path)) continue
      for (const method of Object.keys(operations)) {
        const url = path.replace(/\{[^}]+\}/g, '1')
        await look(method.toUpperCase(), url, headers, method === 'get' ? undefined : {})
      }
    }
  }
  t.ok(responses > 200, `${responses} answers`)
  t.same(found, [])
})
