import { parseEnv } from 'node:util'
import { assertMembers } from '@plinth/dev/testing'
import fc from 'fast-check'
import t from 'tap'
import {
  buildCatalogue,
  catalogueToDotenv,
  catalogueToMarkdown,
  environmentName,
  environmentNameOf,
  inBothLocales,
  type JsonValue,
  type KeyDeclarations,
  key,
  localize,
  maskedValue,
  nearestName,
  parseValueText,
} from '../src/index.ts'
import { catalogueOf, collectKeys } from '../src/reading.ts'

const segment = fc.stringMatching(/^[a-z0-9]{1,8}(-[a-z0-9]{1,8}){0,2}$/)
const name = fc.array(segment, { minLength: 1, maxLength: 6 }).map((segments) => ['platform', ...segments].join('.'))

t.test('C-003 the environment name of a key is its upper case with underscores', async (t) => {
  t.equal(environmentName('platform.rate-limit.default-window'), 'PLATFORM_RATE_LIMIT_DEFAULT_WINDOW')
  t.equal(environmentNameOf('platform.a', key.string({ title: 'x', env: 'DATABASE_URL' })), 'DATABASE_URL')
  t.equal(environmentNameOf('platform.a', key.string({ title: 'x' })), 'PLATFORM_A')
  fc.assert(fc.property(name, (one) => /^PLATFORM(_[A-Z0-9]+)+$/.test(environmentName(one))))
})

t.test('nearest returns the intended name, and undefined if no name is close', async (t) => {
  const names = [
    'platform.database.password',
    'platform.database.url',
    'platform.iam.auth.login.rate-limit.enabled',
    'platform.install.mode',
    'platform.rate-limit.annotation.client-ip.trusted-proxies',
    'platform.rate-limit.default-max-attempts',
    'platform.rate-limit.default-window',
    'platform.rate-limit.enabled',
    'platform.rate-limit.stores.memory.cleanup-interval',
  ]
  const meant: Readonly<Record<string, string | undefined>> = {
    'platform.rate-limit.default-windwo': 'platform.rate-limit.default-window',
    'platform.ratelimit.default-window': 'platform.rate-limit.default-window',
    'platform.rateLimit.defaultWindow': 'platform.rate-limit.default-window',
    'platform.rate_limit.default_window': 'platform.rate-limit.default-window',
    'rate-limit.default-window': 'platform.rate-limit.default-window',
    'platform.rate-limit.window': 'platform.rate-limit.default-window',
    'platform.limits.default-window': 'platform.rate-limit.default-window',
    'platform.rate-limit.memory.cleanup-interval': 'platform.rate-limit.stores.memory.cleanup-interval',
    'platform.rate-limit.stores.enabled': 'platform.rate-limit.enabled',
    'platform.instal.mode': 'platform.install.mode',
    'platform.database.pasword': 'platform.database.password',
    'platform.rate-limit.colour': undefined,
    'platform.rate-limit.default-zebra': undefined,
    'platform.web3.chain': undefined,
    'platform.redis.url': undefined,
    something: undefined,
    '': undefined,
  }
  for (const [written, expected] of Object.entries(meant)) t.equal(nearestName(written, names), expected, written)
  const long = `platform.http.${'port'.repeat(100)}`
  t.equal(nearestName(long, [`${long}s`]), undefined, 'nobody means a name of more than 200 characters')
  t.equal(nearestName('platform.http.prot', ['platform.http.port', 'platform.http.host']), 'platform.http.port')
  t.equal(nearestName('oldPort', ['aldport', 'old-port']), 'old-port', 'camel case separates words as a hyphen does')
  t.equal(nearestName('satrt', ['stop', 'start', 'migrate']), 'start', 'also names without dots')
  t.equal(nearestName('PLATFORM_RATE_LIMIT_ENABLE', names.map(environmentName)), 'PLATFORM_RATE_LIMIT_ENABLED')
  t.equal(nearestName('platform.x.a', []), undefined)
  t.equal(nearestName('platform.ax', ['platform.ac', 'platform.ab']), 'platform.ab', 'a tie goes to the first by name')
})

t.test('nearest never throws, returns a candidate, and does not depend on the order of the candidates', async () => {
  const any = fc.oneof(name, fc.string({ unit: 'binary' }))
  fc.assert(
    fc.property(any, fc.array(any), (written, candidates) => {
      const found = nearestName(written, candidates)
      return (
        (found === undefined || candidates.includes(found)) && found === nearestName(written, candidates.toReversed())
      )
    }),
  )
  fc.assert(fc.property(name, fc.array(name), (one, others) => nearestName(one, [...others, one]) !== undefined))
})

t.test('localize returns Chinese for every Chinese tag, and English otherwise', async (t) => {
  const text = { en: 'Mode', 'zh-CN': '模式' }
  t.same(
    ['zh-CN', 'zh', 'zh-TW', 'ZH-hans'].map((locale) => localize(text, locale)),
    Array(4).fill('模式'),
  )
  t.same(
    ['en', 'en-US', 'de', '', 'zhx'].map((locale) => localize(text, locale)),
    Array(5).fill('Mode'),
  )
  t.equal(localize('Mode', 'zh-CN'), 'Mode')
  t.same(inBothLocales('Mode'), { en: 'Mode', 'zh-CN': 'Mode' })
})

const product: readonly { plugin: string; keys: KeyDeclarations }[] = [
  {
    plugin: 'rate-limit',
    keys: {
      'platform.rate-limit.default-window': key.duration({
        title: { en: 'Default window', 'zh-CN': '默认窗口' },
        description: { en: 'Length | of a\nwindow.', 'zh-CN': '窗口长度。' },
        default: '1m',
        reload: 'live',
      }),
      'platform.rate-limit.proxies': key.cidrList({
        title: 'Proxies',
        default: ['10.0.0.0/8', '::1'],
        group: 'network',
      }),
      'platform.rate-limit.old': key.integer({
        title: 'Old',
        deprecated: { since: '1.2.0', replacement: 'platform.rate-limit.default-window', reason: 'Renamed.' },
      }),
    },
  },
  {
    plugin: 'database',
    keys: {
      'platform.database.password': key.string({
        title: 'Password',
        sensitive: true,
        default: 'hunter2',
        editable: false,
      }),
      'platform.database.token': key.string({ title: 'Token', sensitive: true, default: '' }),
      'platform.database.url': key.url({ title: 'URL', required: true, env: 'DATABASE_URL' }),
    },
  },
]

t.test('C-003 the catalogue lists every key of every plugin with title, description and limits', async (t) => {
  const entries = buildCatalogue(product)
  t.same(
    entries.map((entry) => entry.key),
    [...product.flatMap(({ keys }) => Object.keys(keys))].sort(),
  )
  const byKey = new Map(entries.map((entry) => [entry.key, entry]))
  t.same(byKey.get('platform.rate-limit.default-window'), {
    key: 'platform.rate-limit.default-window',
    plugin: 'rate-limit',
    group: 'rate-limit',
    type: 'string',
    format: 'duration',
    schema: { type: 'string', format: 'duration' },
    title: { en: 'Default window', 'zh-CN': '默认窗口' },
    description: { en: 'Length | of a\nwindow.', 'zh-CN': '窗口长度。' },
    default: '1m',
    required: false,
    sensitive: false,
    reload: 'live',
    editable: true,
    env: 'PLATFORM_RATE_LIMIT_DEFAULT_WINDOW',
  })
  t.match(byKey.get('platform.rate-limit.proxies'), { group: 'network', title: { en: 'Proxies', 'zh-CN': 'Proxies' } })
  t.match(byKey.get('platform.rate-limit.old'), { deprecated: { since: '1.2.0', reason: { en: 'Renamed.' } } })
  t.equal(byKey.get('platform.database.password')?.default, maskedValue)
  t.equal(byKey.get('platform.database.token')?.default, '', 'an empty default is no secret')
  t.equal(byKey.get('platform.database.url')?.env, 'DATABASE_URL')
  t.same(JSON.parse(JSON.stringify(entries)), entries, 'plain JSON')
})

t.test('the reference page has one table per group in both languages, and no secret', async (t) => {
  const entries = buildCatalogue(product)
  const page = catalogueToMarkdown(entries, 'en')
  t.match(page, /^# Configuration keys\n\nThe environment variable of a key is .+\n\n## database\n/)
  t.same(page.match(/^## .*$/gm), ['## database', '## network', '## rate-limit'])
  t.match(
    page,
    '| `platform.rate-limit.default-window` | **Default window** Length \\| of a window. | `duration` | `"1m"` |',
  )
  t.match(
    page,
    '**Password** Takes effect after a restart. Secret. Not editable in the configuration centre. | `string` | `"******"` |',
  )
  t.match(page, 'Deprecated since 1.2.0, use `platform.rate-limit.default-window`. Renamed.')
  t.match(page, 'Environment variable: `DATABASE_URL`. | `url` | required |')
  t.notMatch(page, 'hunter2')
  const columns = page.split('\n').filter((line) => line.startsWith('|'))
  for (const line of columns) t.equal(line.match(/(?<!\\)\|/g)?.length, 5, line)
  const chinese = catalogueToMarkdown(entries, 'zh-CN')
  t.match(chinese, /^# 配置项\n/)
  t.match(chinese, '**默认窗口** 窗口长度。')
})

t.test('the reference page lists the rules of each key and of the items of a list, in both languages', async (t) => {
  const keys = {
    'platform.till.lines': key.integer({ title: 'Lines', minimum: 1, maximum: 9 }),
    'platform.till.colour': key.enum({ title: 'Colour', values: ['red', 'green'] }),
    'platform.till.code': key.string({ title: 'Code', pattern: '^(a|b)$' }),
    'platform.till.name': key.string({
      title: 'Name',
      pattern: '^[A-Z]+$',
      rule: { en: 'be capital', 'zh-CN': '大写' },
    }),
    'platform.till.tags': key.stringList({ title: 'Tags', maxItems: 3 }),
    'platform.till.note': key.string({ title: 'Note' }),
  }
  const entries = buildCatalogue([{ plugin: 'till', keys }])
  const meanings = (locale: string) =>
    Object.fromEntries(
      [...catalogueToMarkdown(entries, locale).matchAll(/^\| `platform\.till\.(\w+)` \| (.*?) \| `/gm)].map(
        ([, name, meaning]) => [name, meaning],
      ),
    )
  t.strictSame(meanings('en'), {
    code: '**Code** Must match the pattern `^(a\\|b)$`. Takes effect after a restart.',
    colour: '**Colour** Must be one of "red", "green". Takes effect after a restart.',
    lines: '**Lines** Must be at least 1 and be at most 9. Takes effect after a restart.',
    name: '**Name** Must be capital. Takes effect after a restart.',
    note: '**Note** Takes effect after a restart.',
    tags: '**Tags** Must have at most 3 items. Each item must have at least 1 character. Takes effect after a restart.',
  })
  t.strictSame(meanings('zh-CN'), {
    code: '**Code** 必须匹配模式 `^(a\\|b)$`。 重启后生效。',
    colour: '**Colour** 必须是 "red"、"green" 之一。 重启后生效。',
    lines: '**Lines** 必须不小于 1，且不大于 9。 重启后生效。',
    name: '**Name** 必须大写。 重启后生效。',
    note: '**Note** 重启后生效。',
    tags: '**Tags** 必须最多有 3 项。 每一项必须至少有 1 个字符。 重启后生效。',
  })
})

t.test('the reference page shows the title of each group of keys', async (t) => {
  const { keys } = collectKeys([
    {
      plugin: 'shop',
      keys: { 'platform.shop.a': key.string({ title: 'A' }), 'platform.till.b': key.string({ title: 'B' }) },
      groups: { shop: { en: 'The shop', 'zh-CN': '商店' } },
    },
  ])
  const entries = catalogueOf(keys.values())
  t.same(catalogueToMarkdown(entries, 'en').match(/^## .*$/gm), ['## The shop (`shop`)', '## till'])
  t.same(catalogueToMarkdown(entries, 'zh-CN').match(/^## .*$/gm), ['## 商店 (`shop`)', '## till'])
})

t.test('.env.example sets nothing until a line is uncommented, and then sets the default', async (t) => {
  const text = catalogueToDotenv(buildCatalogue(product))
  t.same({ ...parseEnv(text) }, {})
  t.match(
    text,
    '# ==== database ====\n\n# Password (secret): platform.database.password\n# PLATFORM_DATABASE_PASSWORD=\n',
  )
  t.match(text, '\n# URL (required): platform.database.url\n# DATABASE_URL=\n')
  t.match(text, '\n# PLATFORM_RATE_LIMIT_PROXIES=10.0.0.0/8,::1\n')
  t.notMatch(text, 'hunter2')
})

t.test('every default can be written to .env.example and read back, or is left out', async () => {
  const declared = (value: JsonValue) => {
    if (typeof value === 'string') return key.string({ title: 'x', default: value })
    if (Array.isArray(value)) return key.stringList({ title: 'x', default: value as readonly string[] })
    return key.object({ title: 'x', schema: {}, default: value as { readonly [name: string]: JsonValue } })
  }
  const piece = fc.oneof(
    fc.string(),
    fc.constantFrom("it's", 'a "b"', '$HOME', 'a#b', 'a\nb', ' a ', '`', 'a\\n', '10.0.0.0/8'),
  )
  const value = fc.oneof(piece, fc.array(piece), fc.dictionary(fc.string(), piece)) as fc.Arbitrary<JsonValue>
  fc.assert(
    fc.property(value, (fallback) => {
      const declaration = declared(fallback)
      const text = catalogueToDotenv(buildCatalogue([{ plugin: 'p', keys: { 'platform.x': declaration } }]))
      const written = parseEnv(text.replace(/^# (PLATFORM_X=)/m, '$1'))['PLATFORM_X'] ?? ''
      const reading = parseValueText(declaration, written)
      return written === '' || (reading.ok && JSON.stringify(reading.value) === JSON.stringify(fallback))
    }),
    { numRuns: 500 },
  )
})

t.test(
  'each key has one owner and each variable one key; invalid and duplicate declarations are omitted',
  async (t) => {
    const sound = key.string({ title: 'x', default: 'x' })
    const { keys, faults } = collectKeys([
      { plugin: 'first', keys: { 'platform.a.b': sound, 'platform.c': key.port({ title: 'x', default: 0 }) } },
      { plugin: 'second', keys: { 'platform.a.b': sound, 'platform.a-b': sound, 'acme.d': sound } },
    ])
    t.strictSame(
      Array.from(keys.values(), ({ key: name, plugin, env }) => [name, plugin, env]),
      [
        ['platform.a.b', 'first', 'PLATFORM_A_B'],
        ['platform.c', 'first', 'PLATFORM_C'],
        ['platform.a-b', 'second', 'PLATFORM_A_B'],
      ],
      'with a wrong default it is still a key',
    )
    assertMembers(t, faults, [
      { plugin: 'first', key: 'platform.c', rule: 'default', message: /^default must be at least 1/ },
      { plugin: 'second', key: 'platform.a.b', rule: 'duplicate-key', message: 'belongs to plugin "first"' },
      { rule: 'duplicate-variable', message: 'shares the environment variable PLATFORM_A_B with key "platform.a.b"' },
      { plugin: 'second', key: 'acme.d', rule: 'name' },
    ])
    t.equal(faults[1]?.other, keys.get('platform.a.b'))
  },
)
