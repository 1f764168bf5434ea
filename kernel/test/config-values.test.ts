import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { assertMembers, rejectsWith, startForTest } from '@plinth/dev/testing'
import { definePlugin, defineProduct, type JsonValue, key } from '@plinth/kernel'
import {
  type ConfigEntry,
  configAdmin,
  loadProduct,
  type PrepareOptions,
  type Problem,
  prepareProduct,
  type StartOptions,
  StartRejectedError,
  startProduct,
} from '@plinth/kernel/host'
import fc from 'fast-check'
import { pino } from 'pino'
import t from 'tap'
import { createSamplePlugin, productOf } from './sample-plugin.ts'

const shopKeys = {
  'platform.shop.name': key.string({ title: 'Name', default: 'from default' }),
  'platform.shop.timeout': key.duration({ title: 'Timeout', default: '10s', minimum: '1s', reload: 'live' }),
  'platform.shop.password': key.string({ title: 'Password', sensitive: true, minLength: 6 }),
}
const shop = createSamplePlugin('shop', { config: shopKeys })
const row = (name: string, written: JsonValue, place = 'sys_config row 7'): ConfigEntry => ({
  name,
  by: 'key',
  written,
  place,
})
const summary = (problems: readonly Problem[]) => problems.map(({ code, place, message }) => [code, place, message])

t.test('a product without a version has the version of its package', async (t) => {
  const file = (version: string) =>
    `import { defineProduct } from '@plinth/kernel'\nexport default defineProduct({ name: 'shop', plugins: []${version} })\n`
  const root = t.testdir({
    own: { 'plinth.config.ts': file(", version: '3.1.0'"), 'package.json': '{"version":"2.4.0","type":"module"}' },
    package: { 'plinth.config.ts': file(''), 'package.json': '{"version":"2.4.0","type":"module"}' },
    none: { 'plinth.config.ts': file(''), 'package.json': '{"type":"module"}' },
  })
  const versionOf = async (name: string) => (await loadProduct(join(root, name, 'plinth.config.ts'))).version
  t.strictSame(await Promise.all(['own', 'package', 'none'].map(versionOf)), ['3.1.0', '2.4.0', '0.0.0'])
})

t.test('a key group without its own title has the title of the plugin with its name', async (t) => {
  const keys = { 'platform.shop.name': key.string({ title: 'Name', default: '' }) }
  const titleOf = (declared: object) => {
    const plugin = definePlugin({ id: 'shop', version: '1.0.0', kernel: '^1.0.0', config: keys, ...declared })
    const { config, problems } = prepareProduct(defineProduct({ name: 'shops', plugins: [plugin] }), { envFile: false })
    t.strictSame(problems, [])
    return config.catalogue.find(({ group }) => group === 'shop')?.groupTitle
  }
  const both = (en: string, zh: string) => ({ en, 'zh-CN': zh })
  const title = both('Bicycle shop', '自行车店')
  t.equal(titleOf({}), undefined)
  t.strictSame(titleOf({ title }), title)
  t.strictSame(titleOf({ title, configGroups: { shop: both('Shop', '商店') } }), both('Shop', '商店'))
})

t.test('K-008 each source overrides the weaker ones, and every value has its source', async (t) => {
  const root = t.testdir({
    'plinth.config.ts': [
      "import { defineProduct } from '@plinth/kernel'",
      'export default defineProduct({',
      "  name: 'shop',",
      '  plugins: [],',
      "  config: { 'platform.shop.name': 'from file' },",
      '})',
    ].join('\n'),
    '.env': ['# names', '# PLATFORM_SHOP_NAME=commented out', '', "export PLATFORM_SHOP_NAME='from .env'"].join('\n'),
  })
  const loaded = await loadProduct(join(root, 'plinth.config.ts'))
  const product = { ...loaded, plugins: [shop] }
  const steps: [name: string, place: string, options: PrepareOptions, rows?: ConfigEntry[]][] = [
    ['default', 'default of shop', { envFile: false }],
    ['file', 'plinth.config.ts:5', { envFile: false }],
    ['dotenv', '.env:4', {}],
    [
      'environment',
      'environment variable PLATFORM_SHOP_NAME',
      { environment: { PLATFORM_SHOP_NAME: 'from environment' } },
    ],
    ['database', 'sys_config row 7', {}, [row('platform.shop.name', 'from database')]],
    ['command-line', '--set platform.shop.name', { set: { 'platform.shop.name': 'from command-line' } }],
  ]
  let options: PrepareOptions = {}
  let rows: ConfigEntry[] = []
  for (const [index, [source, place, added, stored]] of steps.entries()) {
    options = { ...options, ...added, envFile: index < 2 ? false : undefined } as PrepareOptions
    if (index >= 2) delete (options as { envFile?: unknown }).envFile
    rows = stored ?? rows
    const { config, problems } = prepareProduct({ ...product, config: index === 0 ? {} : product.config }, options)
    await config.apply(rows)
    t.strictSame(problems, [], source)
    const value = source === 'dotenv' ? 'from .env' : `from ${source}`
    t.equal(config.get('shop', 'platform.shop.name'), value)
    const explained = config.explain('platform.shop.name')
    t.strictSame(explained?.effective, { source, place, value })
    t.strictSame(
      explained?.sources.map((layer) => layer.source),
      steps.slice(0, index + 1).map(([name]) => name),
      'every source is shown, the weakest first',
    )
  }
})

t.test('K-008 resolution over random sources equals a model that asks the strongest first', async (t) => {
  const directory = t.testdir({})
  const names = ['platform.a.new', 'platform.a.old', 'platform.a.other'] as const
  const sources = ['file', 'dotenv', 'environment', 'database', 'command-line'] as const
  const integer = { title: 'x', minimum: 0 }
  const owner = createSamplePlugin('a', {
    config: {
      'platform.a.new': key.integer({ ...integer, default: 1 }),
      'platform.a.old': key.integer({ ...integer, deprecated: { since: '1.0.0', replacement: 'platform.a.new' } }),
      'platform.a.other': key.integer(integer),
    },
  })
  const value = fc.oneof(fc.nat(9), fc.constant(-1))
  const layer = fc.dictionary(fc.constantFrom(...names), value)
  await fc.assert(
    fc.asyncProperty(fc.record(Object.fromEntries(sources.map((name) => [name, layer]))), async (layers) => {
      const of = (source: (typeof sources)[number]) => Object.entries(layers[source] ?? {})
      const asVariables = (source: 'dotenv' | 'environment') =>
        of(source).map(([name, number]) => [name.replaceAll('.', '_').toUpperCase(), String(number)] as const)
      const envFile = join(directory, '.env')
      writeFileSync(
        envFile,
        asVariables('dotenv')
          .map(([name, number]) => `${name}=${number}\n`)
          .join(''),
      )
      const product = defineProduct({ name: 'a', plugins: [owner], config: Object.fromEntries(of('file')) })
      const { config, problems } = prepareProduct(product, {
        envFile,
        environment: Object.fromEntries(asVariables('environment')),
        set: Object.fromEntries(of('command-line').map(([name, number]) => [name, String(number)])),
      })
      const report = await config.apply(of('database').map(([name, number]) => row(name, number)))

      const valid = (name: string) => (source: (typeof sources)[number]) => {
        const number = layers[source]?.[name]
        return number !== undefined && number >= 0 ? [number] : []
      }
      const strongest = sources.toReversed()
      const expected = {
        'platform.a.new':
          strongest.flatMap((source) => [...valid('platform.a.new')(source), ...valid('platform.a.old')(source)])[0] ??
          1,
        'platform.a.old': undefined,
        'platform.a.other': strongest.flatMap(valid('platform.a.other'))[0],
      }
      for (const name of names) assert.equal(config.get('a', name), expected[name], name)
      const invalid = (some: readonly (typeof sources)[number][]) =>
        some.flatMap((source) => of(source).filter(([, number]) => number < 0)).length
      const isInvalid = ({ code }: Problem) => code === 'PLINTH_CONFIG_INVALID_VALUE'
      assert.equal(problems.filter(isInvalid).length, invalid(['file', 'dotenv', 'environment', 'command-line']))
      assert.equal(report.problems.filter(isInvalid).length, invalid(['database']))
    }),
    { numRuns: 150 },
  )
})

t.test('K-008 an undeclared name is an error, a warning or an orphan, depending on its source', async (t) => {
  const root = t.testdir({
    'shop.env': ['PLATFORM_SHOP_TIMEOT=3s', 'OTHER_TOOL=1', 'PLATFORM_SHOP_NAME=x'].join('\n'),
  })
  const product = defineProduct({ name: 'shop', plugins: [shop], config: { 'platform.shop.nmae': 'x' } })
  const { config, problems } = prepareProduct(product, {
    envFile: join(root, 'shop.env'),
    environment: { PLATFORM_SHOP_NAM: 'x', HOME: '/root', PLATFORM_OF_ANOTHER_TOOL: '1' },
    set: { 'platform.shop.pasword': 'x' },
  })
  const { warnings } = config
  t.strictSame(summary(problems), [
    [
      'PLINTH_CONFIG_UNKNOWN_KEY',
      'product',
      '"platform.shop.nmae" is not a key of any loaded plugin. Did you mean "platform.shop.name"?',
    ],
    [
      'PLINTH_CONFIG_UNKNOWN_KEY',
      'shop.env:1',
      '"PLATFORM_SHOP_TIMEOT" is not a key of any loaded plugin. Did you mean "PLATFORM_SHOP_TIMEOUT"?',
    ],
    [
      'PLINTH_CONFIG_UNKNOWN_KEY',
      '--set platform.shop.pasword',
      '"platform.shop.pasword" is not a key of any loaded plugin. Did you mean "platform.shop.password"?',
    ],
  ])
  t.strictSame(summary(warnings), [
    [
      'PLINTH_CONFIG_UNKNOWN_KEY',
      'environment variable PLATFORM_SHOP_NAM',
      '"PLATFORM_SHOP_NAM" is not a key of any loaded plugin. Did you mean "PLATFORM_SHOP_NAME"?',
    ],
    [
      'PLINTH_CONFIG_UNKNOWN_KEY',
      'environment variable PLATFORM_OF_ANOTHER_TOOL',
      '"PLATFORM_OF_ANOTHER_TOOL" is not a key of any loaded plugin.',
    ],
  ])
  t.ok([...problems, ...warnings].every(({ fix }) => fix.startsWith('Correct the name')))

  const report = await config.apply([
    row('platform.removed.key', 1, 'row 1'),
    row('platform.shop.name', 'kept', 'row 2'),
  ])
  t.strictSame(report.problems, [])
  t.strictSame(config.orphaned, [{ name: 'platform.removed.key', source: 'database', place: 'row 1' }])
  await config.apply([])
  t.strictSame(config.orphaned, [], 'orphans are those of the last rows')
})

t.test('K-008 .env: comments, quotes, export, several lines, a byte order mark, a required file', async (t) => {
  const read = (text: string, options: PrepareOptions = {}) => {
    const root = t.testdir({ '.env': text })
    const product = { ...productOf([createSamplePlugin('a', { config: aKeys })]), root }
    const { config, problems, plan } = prepareProduct(product, options)
    t.strictSame(plan.problems, [])
    return {
      problems,
      text: config.get('a', 'platform.a.text'),
      place: config.explain('platform.a.text')?.effective.place,
      config,
    }
  }
  const aKeys = {
    'platform.a.text': key.string({ title: 'x', default: '', multiline: true }),
    'platform.a.url': key.url({ title: 'x', env: 'ACME_URL', default: 'https://example.com' }),
  }
  assertMembers(t, read('PLATFORM_A_TEXT=plain # comment'), { text: 'plain', place: '.env:1', problems: [] })
  t.match(
    read('PLATFORM_A_TEXT=1\n\n PLATFORM_A_TEXT = "2"\r\n'),
    { text: '2', place: '.env:3' },
    'the last one counts',
  )
  t.match(read('\uFEFFPLATFORM_A_TEXT=marked'), { text: 'marked', place: '.env:1' })
  t.match(read('PLATFORM_A_TEXT="one\ntwo"\nACME_URL=https://acme.example'), { text: 'one\ntwo', place: '.env:1' })
  const named = read('ACME_URL=https://acme.example\nPLATFORM_-=1').config
  t.equal(named.get('a', 'platform.a.url'), 'https://acme.example', 'a variable with a name of its own')
  assertMembers(t, read('PLATFORM_-=1').problems, [{ code: 'PLINTH_CONFIG_UNKNOWN_KEY', place: '.env:1' }])
  assertMembers(t, read('PLATFORM_A_TEXT= \nACME_URL=https://acme.example\n'), {
    text: '',
    place: '.env:1',
    problems: [],
  })
  assertMembers(t, read('', { environment: { ACME_URL: 'acme' } }).problems, [
    { code: 'PLINTH_CONFIG_INVALID_VALUE', place: 'environment variable ACME_URL' },
  ])

  const root = t.testdir({ '.env': { 'a directory': '' } })
  const product = { ...productOf([]), root }
  assertMembers(t, prepareProduct(product).problems, [
    { code: /^PLINTH_CONFIG_SOURCE$/, place: '.env', message: 'The configuration source cannot be read: EISDIR.' },
  ])
  assertMembers(t, prepareProduct(product, { envFile: 'production.env' }).problems, [
    {
      code: /^PLINTH_CONFIG_SOURCE$/,
      place: join(root, 'production.env'),
      message: 'The configuration source cannot be read: ENOENT.',
    },
  ])
  t.strictSame(prepareProduct({ ...product, root: join(root, 'nowhere') }).problems, [], 'no .env is no fault')
})

t.test(
  'each line of .env that sets nothing is a problem with file and line, and so is a dangling symbolic link',
  async (t) => {
    const config = { 'platform.a.text': key.string({ title: 'x', default: '' }) }
    const product = productOf([createSamplePlugin('a', { config })])
    const places = (content: string | Uint8Array) => {
      const root = t.testdir({ '.env': content as string })
      return prepareProduct({ ...product, root }).problems.map(({ code, place }) => `${code} ${place}`)
    }
    const lines: readonly (readonly [text: string | Uint8Array, ...lines: number[]])[] = [
      ['A=1\nexport\tPLATFORM_A_TEXT=v\n', 2],
      ['PLATFORM_A_TEXT: v\n', 1],
      ['PLATFORM_A_TEXT\n\nPLATFORM_A TEXT=v\n', 1, 3],
      ['A=1\nPLATFORM_A_TEXT="open\nB=1\n', 2],
      ["PLATFORM_A_TEXT='it\\'s'\n", 1],
      ['PLATFORM_A_TEXT=a#b\n', 1],
      [Buffer.from('A=1\nPLATFORM_A_TEXT=caf\xe9\n', 'latin1'), 2],
      [Buffer.from('\uFEFFPLATFORM_A_TEXT=v\n', 'utf16le'), 1],
      [Buffer.from('PLATFORM_A_TEXT=v\n', 'utf16le'), 1],
    ]
    for (const [text, ...expected] of lines) {
      t.strictSame(
        places(text),
        expected.map((line) => `PLINTH_CONFIG_SOURCE .env:${line}`),
        encodeURIComponent(String(text)),
      )
    }
    const root = t.testdir({ '.env': t.fixture('symlink', 'missing/.env') })
    assertMembers(t, prepareProduct({ ...product, root }).problems, [{ code: 'PLINTH_CONFIG_SOURCE', place: '.env' }])
  },
)

t.test('C-040 K-008 the value of a deprecated key applies to its replacement, with a warning', async (t) => {
  const config = {
    'platform.a.wait': key.duration({ title: 'x', default: '1s', minimum: '1s' }),
    'platform.a.delay': key.string({ title: 'x', deprecated: { since: '2.0.0', replacement: 'platform.a.wait' } }),
    'platform.a.gone': key.string({ title: 'x', default: 'x', deprecated: { since: '2.1.0' } }),
    'platform.a.token': key.string({
      title: 'x',
      deprecated: { since: '2.0.0', replacement: 'platform.a.key' },
      sensitive: true,
    }),
    'platform.a.key': key.string({ title: 'x', maxLength: 9 }),
  }
  const prepare = (options: PrepareOptions) =>
    prepareProduct(productOf([createSamplePlugin('a', { config })], { 'platform.a.delay': '5s' }), {
      envFile: false,
      ...options,
    })

  const { config: values, problems } = prepare({ set: { 'platform.a.gone': 'y' } })
  t.strictSame(problems, [])
  t.equal(values.get('a', 'platform.a.wait'), 5000)
  t.equal(values.explain('platform.a.wait')?.effective.place, 'product')
  assertMembers(t, values.warnings, [
    {
      code: /^PLINTH_CONFIG_DEPRECATED$/,
      place: 'product',
      message: 'Key "platform.a.delay" is deprecated since 2.0.0.',
      fix: 'Use platform.a.wait.',
    },
    { fix: 'Use another way; the key has no replacement.' },
  ])
  t.equal(values.get('a', 'platform.a.gone'), 'y')
  t.equal(prepare({ set: { 'platform.a.wait': '7s' } }).config.get('a', 'platform.a.wait'), 7000)
  assertMembers(t, prepare({ set: { 'platform.a.delay': '5ms' } }).problems, [
    {
      code: /^PLINTH_CONFIG_INVALID_VALUE$/,
      message: 'The value of "platform.a.delay" must be at least 1s; it is "5ms".',
    },
  ])

  const secret = prepare({ set: { 'platform.a.token': 'hush-hush' } }).config
  t.equal(secret.get('a', 'platform.a.key'), 'hush-hush')
  t.equal(secret.explain('platform.a.key')?.effective.value, '******', 'a secret stays one under its new name')
  t.equal(secret.redact('it is hush-hush'), 'it is ******')
  const tooLong = prepare({ set: { 'platform.a.token': 'hush-hush-hush' } }).problems
  t.equal(tooLong.length, 1)
  t.notMatch(inspect(tooLong), 'hush')
})

t.test(
  'K-008 K-009 a bad value is reported with key, origin and rule; the value is shown only if it is no secret',
  async (t) => {
    const keys = {
      ...shopKeys,
      'platform.shop.owner': key.string({ title: 'Owner', required: true }),
      'platform.shop.pin': key.string({ title: 'PIN', required: true, sensitive: true, env: 'SHOP_PIN' }),
    }
    const product = productOf([createSamplePlugin('shop', { config: keys })], { 'platform.shop.timeout': '500ms' })
    const rejection = await startForTest(product, {
      environment: { PLATFORM_SHOP_PASSWORD: 'pa55!' },
      set: { 'platform.shop.timeout': 'eleven' },
    }).catch((error: unknown) => error)
    t.ok(rejection instanceof StartRejectedError)
    if (!(rejection instanceof StartRejectedError)) return
    t.strictSame(
      rejection.problems.map(({ code, plugin, place }) => [code, plugin, place]),
      [
        ['PLINTH_CONFIG_INVALID_VALUE', 'shop', 'product'],
        ['PLINTH_CONFIG_INVALID_VALUE', 'shop', 'environment variable PLATFORM_SHOP_PASSWORD'],
        ['PLINTH_CONFIG_INVALID_VALUE', 'shop', '--set platform.shop.timeout'],
        ['PLINTH_CONFIG_REQUIRED', 'shop', 'platform.shop.owner'],
        ['PLINTH_CONFIG_REQUIRED', 'shop', 'platform.shop.pin'],
      ],
    )
    const [tooShort, secret, noDuration, missing, missingPin] = rejection.problems
    t.match(tooShort?.message, /^The value of "platform\.shop\.timeout" must be at least 1s.*it is "500ms"\.$/)
    t.match(
      tooShort?.fix,
      'Correct the value. `plinth config explain platform.shop.timeout` shows the rule and all sources.',
    )
    t.match(noDuration?.message, /"eleven"/)
    t.match(secret?.message, /^The value of "platform\.shop\.password" must/)
    t.match(missing?.fix, 'in .env as PLATFORM_SHOP_OWNER=...')
    t.match(missingPin?.fix, 'in .env as SHOP_PIN=...')
    t.notMatch(inspect(rejection, { depth: 9 }) + rejection.stack, 'pa55!')
  },
)

t.test('K-008 a required key whose only value is wrong is reported once', async (t) => {
  const required = { title: 'x', required: true } as const
  const product = productOf([
    createSamplePlugin('shop', {
      config: {
        'platform.shop.port': key.port(required),
        'platform.shop.owner': key.string({ ...required, minLength: 3 }),
        'platform.shop.keeper': key.string({
          title: 'x',
          deprecated: { since: '1.0.0', replacement: 'platform.shop.owner' },
        }),
        'platform.shop.pin': key.string(required),
      },
    }),
  ])
  const problems = (options: PrepareOptions) =>
    prepareProduct(product, { envFile: false, ...options }).problems.map(({ code, place }) => [code, place])
  const missing = (name: string) => ['PLINTH_CONFIG_REQUIRED', `platform.shop.${name}`]
  const wrong = (place: string) => ['PLINTH_CONFIG_INVALID_VALUE', place]
  t.strictSame(problems({}), [missing('port'), missing('owner'), missing('pin')])
  t.strictSame(problems({ set: { 'platform.shop.port': 'x' }, environment: { PLATFORM_SHOP_PORT: '0' } }), [
    wrong('environment variable PLATFORM_SHOP_PORT'),
    wrong('--set platform.shop.port'),
    missing('owner'),
    missing('pin'),
  ])
  t.strictSame(problems({ set: { 'platform.shop.keeper': 'x', 'platform.shop.pin': '1' } }), [
    wrong('--set platform.shop.keeper'),
    missing('port'),
  ])
})

t.test('K-009 secrets are masked wherever configuration is shown; a replaced secret stays masked', async (t) => {
  const config = {
    ...shopKeys,
    'platform.shop.database': key.url({
      title: 'x',
      sensitive: true,
      credentials: true,
      default: 'https://u:first%40pass@db',
    }),
    'platform.shop.peers': key.object({
      title: 'x',
      sensitive: true,
      schema: {},
      default: { a: ['nested-secret'], b: 98765432 },
    }),
  }
  const { config: values } = prepareProduct(productOf([createSamplePlugin('shop', { config })]), {
    envFile: false,
    environment: { PLATFORM_SHOP_PASSWORD: 'environment-secret' },
    set: { 'platform.shop.password': 'line-secret' },
  })
  await values.apply([row('platform.shop.password', 'stored-secret')])
  await values.apply([row('platform.shop.password', 'newer-secret')])
  const shown = inspect([values.list(), values.explain('platform.shop.password')], { depth: 9 })
  const secrets = [
    'environment-secret',
    'line-secret',
    'stored-secret',
    'newer-secret',
    'nested-secret',
    '98765432',
    'first%40pass',
    'first@pass',
  ]
  for (const secret of secrets) {
    t.notOk(shown.includes(secret), `${secret} is not shown`)
    t.equal(values.redact(`see ${secret}!`), 'see ******!', `${secret} is masked in text`)
  }
  assertMembers(t, values.explain('platform.shop.password'), {
    effective: { source: 'command-line', value: '******' },
    sources: [{ value: '******' }, { source: 'database', value: '******' }, { value: '******' }],
  })
  t.ok(
    values.list().every((entry, index, all) => index === 0 || (all[index - 1]?.key ?? '') < entry.key),
    'sorted by key',
  )
})

t.test(
  'K-008 a live change reaches the plugin that owns the key, which may reject it; a restart key keeps its value',
  async (t) => {
    const reported: [string, unknown][] = []
    const config = {
      'platform.a.limit': key.integer({ title: 'x', default: 1, reload: 'live' }),
      'platform.a.mode': key.string({ title: 'x', default: 'calm' }),
      'platform.a.token': key.string({ title: 'x', default: '', reload: 'live', sensitive: true }),
    }
    let cannotReturn = false
    let rejects = (_value: unknown): void | Promise<void> => {}
    const owner = createSamplePlugin('a', {
      config,
      setup({ config: view }) {
        view.onChange('platform.a.limit', (value) => {
          reported.push(['first', value])
          if (cannotReturn && value === 2) throw new Error('cannot go back')
        })
        view.onChange('platform.a.limit', async (value) => {
          await rejects(value)
          reported.push(['second', value])
        })
        view.onChange('platform.a.token', () => {
          throw new Error(`the service does not take ${view.get('platform.a.token')}`)
        })
      },
    })
    const running = await startForTest(productOf([owner]))
    t.teardown(() => running.stop('test ended'))
    const values = running.config
    const limit = () => running.runtimeOf('a')?.config.get('platform.a.limit')

    assertMembers(t, await values.apply([row('platform.a.limit', 2), row('platform.a.mode', 'wild')]), {
      changed: ['platform.a.limit'],
      pendingRestart: ['platform.a.mode'],
      refused: [],
      problems: [],
    })
    t.strictSame(reported.splice(0), [
      ['first', 2],
      ['second', 2],
    ])
    t.equal(limit(), 2)
    t.equal(running.runtimeOf('a')?.config.get('platform.a.mode'), 'calm')
    t.match(values.explain('platform.a.mode'), {
      pendingRestart: true,
      effective: { value: 'calm', source: 'default' },
    })
    assertMembers(
      t,
      await values.apply([row('platform.a.limit', 2)]),
      { changed: [], pendingRestart: [] },
      'the same again is no change',
    )
    t.match(values.explain('platform.a.mode'), { pendingRestart: false })

    rejects = () => {
      throw new Error('too much')
    }
    assertMembers(t, await values.apply([row('platform.a.limit', 9)]), {
      changed: [],
      refused: [{ key: 'platform.a.limit', reason: 'too much' }],
    })
    t.strictSame(
      reported.splice(0),
      [
        ['first', 9],
        ['first', 2],
      ],
      'who accepted gets the old value back',
    )
    t.equal(limit(), 2)
    t.match(values.explain('platform.a.limit'), { refused: 'too much', effective: { value: 2 } })
    cannotReturn = true
    assertMembers(
      t,
      await values.apply([row('platform.a.limit', 9)]),
      { refused: [{ reason: 'too much' }] },
      'an undo that fails',
    )
    cannotReturn = false
    t.equal(limit(), 2)
    reported.length = 0

    const refused = await values.apply([row('platform.a.limit', 2), row('platform.a.token', 'wrong-token')])
    t.strictSame(refused.refused, [{ key: 'platform.a.token', reason: 'the service does not take ******' }])
    t.equal(values.explain('platform.a.limit')?.refused, undefined)

    rejects = () => {}
    const bad = await values.apply([row('platform.a.limit', 'many', 'row 3')])
    assertMembers(t, bad, {
      changed: ['platform.a.limit'],
      problems: [{ code: 'PLINTH_CONFIG_INVALID_VALUE', place: 'row 3' }],
    })
    t.equal(limit(), 1, 'an invalid row does not count')
    t.strictSame(reported.splice(0), [
      ['first', 1],
      ['second', 1],
    ])

    const gate = Promise.withResolvers<void>()
    rejects = (value) => (value === 5 ? gate.promise : undefined)
    const slow = values.apply([row('platform.a.limit', 5)])
    const next = values.apply([row('platform.a.limit', 6)])
    gate.resolve()
    await Promise.all([slow, next])
    t.strictSame(
      reported,
      [
        ['first', 5],
        ['second', 5],
        ['first', 6],
        ['second', 6],
      ],
      'one set of rows after another',
    )

    const shadowing = await startForTest(productOf([owner]), { set: { 'platform.a.limit': '3' } })
    assertMembers(t, await shadowing.config.apply([row('platform.a.limit', 4)]), {
      changed: [],
      shadowed: ['platform.a.limit'],
    })
    t.equal(shadowing.runtimeOf('a')?.config.get('platform.a.limit'), 3)
    reported.length = 0
    await shadowing.stop('test ended')
    await shadowing.config.apply([])
    t.strictSame(reported, [], 'a stopped plugin is not notified of changes')
  },
)

t.test('K-008 before rows are stored: a preview changes nothing, and the owner checks a value', async (t) => {
  const config = {
    'platform.a.limit': key.integer({ title: 'x', default: 1, reload: 'live' }),
    'platform.a.mode': key.string({ title: 'x', default: 'calm' }),
    'platform.a.file': key.string({ title: 'x', default: 'x', editable: false }),
    'platform.a.state': key.boolean({ title: 'x', default: false, reload: 'live', state: true }),
    'platform.a.token': key.string({ title: 'x', minLength: 3, reload: 'live', sensitive: true }),
    'platform.a.plain': key.string({ title: 'x', reload: 'live' }),
  }
  const owner = createSamplePlugin('a', {
    config,
    setup({ config: view }) {
      view.onChange('platform.a.limit', () => void t.fail('nothing is told of a preview'))
      view.onVerify('platform.a.token', async (value, signal) => {
        signal.throwIfAborted()
        if (value !== 'right-token') throw new Error(`nobody knows ${value}`)
      })
    },
  })
  const running = await startForTest(productOf([owner]), { set: { 'platform.a.plain': 'x' } })
  t.teardown(() => running.stop('test ended'))
  const rows = [
    row('platform.a.limit', 2),
    row('platform.a.mode', 'wild'),
    row('platform.a.file', 'y', 'row 3'),
    row('platform.a.state', true),
    row('platform.a.plain', 'y'),
  ]
  assertMembers(t, running.config.preview(rows), {
    changed: ['platform.a.limit', 'platform.a.state'],
    pendingRestart: ['platform.a.mode'],
    shadowed: ['platform.a.plain'],
    plugins: ['a'],
    problems: [{ code: /^PLINTH_CONFIG_INVALID_VALUE$/, place: 'row 3', message: /must not come from the database/ }],
  })
  t.equal(running.runtimeOf('a')?.config.get('platform.a.limit'), 1)
  const { signal } = new AbortController()
  const verify = (name: string, value: JsonValue) => running.config.verify(name, value, signal)
  t.strictSame(await verify('platform.a.token', 'right-token'), { outcome: 'verified' })
  t.strictSame(await verify('platform.a.token', 'wrong-token'), { outcome: 'refused', reason: 'nobody knows ******' })
  t.match(await verify('platform.a.token', 'no'), { outcome: /^refused$/, reason: /^must / })
  t.strictSame(await verify('platform.a.plain', 'x'), { outcome: 'unverified' })
  await rejectsWith(t, verify('platform.a.tokn', 'x'), {
    code: 'PLINTH_CONFIG_UNKNOWN_KEY',
    message: /platform\.a\.token/,
  })
})

t.test('K-009 a previewed secret is masked in the result but is not added to the secrets of the process', async (t) => {
  const config = {
    'platform.a.token': key.string({ title: 'x', default: 'held-secret', reload: 'live', sensitive: true }),
  }
  const owner = createSamplePlugin('a', {
    config,
    setup({ config: view }) {
      view.onVerify('platform.a.token', (value) => {
        throw new Error(`${view.get('platform.a.token')} is not ${value}`)
      })
    },
  })
  const running = await startForTest(productOf([owner]))
  t.teardown(() => running.stop('test ended'))
  const values = running.config
  const text = 'held-secret, held-secret-and-more, other-secret'
  const before = running.redact(text)
  t.equal(before, '******, ******-and-more, other-secret')
  const { signal } = new AbortController()
  for (const proposed of ['other-secret', 'held-secret-and-more', 'cret is not ot']) {
    values.preview([row('platform.a.token', proposed)])
    t.equal(running.redact(text), before, 'after a preview')
    t.hasStrict(await values.verify('platform.a.token', proposed, signal), {
      outcome: 'refused',
      reason: '****** is not ******',
    })
    t.equal(running.redact(text), before, 'after a verification')
  }
  t.equal(running.redact(text, ['held-secret-and-more']), '******, ******, other-secret')
  t.equal(running.redact(text), before, 'what is secret in one text is so there alone')
})

t.test(
  'K-009 a sensitive value that is too long is rejected with key and rule; a stored one does not prevent the start',
  async (t) => {
    const names = Array.from({ length: 17 }, (_, index) => `platform.a.secret-${String(index).padStart(2, '0')}`)
    const declaration = key.string({ title: 'x', sensitive: true, reload: 'live' })
    const product = productOf([
      createSamplePlugin('a', { config: Object.fromEntries(names.map((name) => [name, declaration])) }),
    ])
    const long = 'long-secret'.repeat(10_000)
    const rejection = await startForTest(product, { set: { 'platform.a.secret-00': long } }).catch(
      (error: unknown) => error,
    )
    assertMembers(t, (rejection as StartRejectedError).problems, [
      {
        code: /^PLINTH_CONFIG_INVALID_VALUE$/,
        plugin: 'a',
        place: '--set platform.a.secret-00',
        message: /"platform\.a\.secret-00" must have at most 65536 characters/,
      },
    ])
    t.notMatch(inspect(rejection, { depth: 9 }), 'long-secret')

    const running = await startForTest(product)
    t.teardown(() => running.stop('test ended'))
    const stored = [row('platform.a.secret-00', long, 'row 1'), row('platform.a.secret-01', 'good-secret', 'row 2')]
    for (const { problems, changed } of [running.config.preview(stored), await running.config.apply(stored)]) {
      assertMembers(t, problems, [
        { place: 'row 1', message: /"platform\.a\.secret-00" must have at most 65536 characters/ },
      ])
      t.same(changed, ['platform.a.secret-01'])
    }
    const full = names.map((name, index) => row(name, String.fromCharCode(97 + index).repeat(65_536), name))
    assertMembers(t, await running.config.apply(full), {
      changed: names.slice(0, 16),
      problems: [
        { place: names[16], message: /must leave all sensitive values of its source within 1048576 characters/ },
      ],
    })
    t.equal(running.redact('b'.repeat(65_536)), '******')
  },
)

t.test(
  'an object that is made from values is cached until a value changes, and follows a rejected value back',
  async (t) => {
    let made = 0
    let current = (): string => ''
    let seenWhileAsked = ''
    const owner = createSamplePlugin('a', {
      config: { 'platform.a.limit': key.integer({ title: 'x', default: 1, reload: 'live' }) },
      setup({ config: view }) {
        current = view.derived(() => `${++made}: ${view.get('platform.a.limit')}`)
        view.onChange('platform.a.limit', (value) => {
          seenWhileAsked = current()
          if (value === 3) throw new Error('three is too many')
        })
      },
    })
    const running = await startForTest(productOf([owner]))
    t.teardown(() => running.stop('test ended'))
    t.same([current(), current()], ['1: 1', '1: 1'])
    await running.config.apply([row('platform.a.limit', 2)])
    t.same([current(), current()], ['2: 2', '2: 2'])
    assertMembers(t, await running.config.apply([row('platform.a.limit', 3)]), {
      refused: [{ key: 'platform.a.limit' }],
    })
    t.equal(seenWhileAsked, '3: 3', 'listeners work with the value that they are asked about')
    t.equal(current(), '4: 2')
  },
)

t.test('a value that is unsafe in production is listed with its reason while it applies', async (t) => {
  const config = {
    'platform.shop.policy': key.string({
      title: 'Policy',
      default: 'low',
      insecure: {
        is: 'low',
        while: { key: 'platform.shop.minimum', is: 0 },
        reason: { en: 'Weak.', 'zh-CN': '太弱。' },
      },
    }),
    'platform.shop.minimum': key.integer({ title: 'Minimum', default: 0, reload: 'live' }),
  }
  const start = async (environment: Record<string, string>, set: Record<string, string> = {}) => {
    const lines: string[] = []
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
    const running = await startForTest(productOf([createSamplePlugin('shop', { config })]), {
      environment,
      set,
      logger,
    })
    t.teardown(() => running.stop('test ended'))
    const explained = running.config.explain('platform.shop.policy')?.isInsecure
    return { running, listed: running.config.insecure().map(({ code, place }) => [code, place]), lines, explained }
  }
  const warned = await start({ NODE_ENV: 'production' })
  t.same([warned.listed, warned.explained], [[['PLINTH_CONFIG_INSECURE', 'platform.shop.policy']], true])
  t.same(
    warned.lines.map((line) => JSON.parse(line)).map(({ code, place }) => [code, place]),
    warned.listed,
    'logged once at start',
  )
  t.match(warned.lines[0], /Weak\./)
  await warned.running.config.apply([row('platform.shop.minimum', 12)])
  t.same(warned.running.config.insecure(), [], 'the other key makes it safe')
  for (const safe of [
    await start({}),
    await start({ NODE_ENV: 'development' }),
    await start({ NODE_ENV: 'production' }, { 'platform.shop.policy': 'high' }),
  ]) {
    t.same([safe.listed, safe.lines, safe.explained], [[], [], false])
  }
})

t.test('a key with only one safe value is unsafe with every other value', async (t) => {
  const config = {
    'platform.shop.tolerance': key.integer({
      title: 'Tolerance',
      default: 0,
      reload: 'live',
      insecure: { isNot: 0, reason: 'Too much.' },
    }),
  }
  const sample = createSamplePlugin('shop', { config })
  const running = await startForTest(productOf([sample]), { environment: { NODE_ENV: 'production' } })
  t.teardown(() => running.stop('test ended'))
  t.same(running.config.insecure(), [])
  await running.config.apply([row('platform.shop.tolerance', 5)])
  t.same(
    running.config.insecure().map(({ place }) => place),
    ['platform.shop.tolerance'],
  )
})

t.test('a start lists once the variables that stored values override, without their values', async (t) => {
  const keys = {
    'platform.shop.name': key.string({ title: 'Name', default: 'x' }),
    'platform.shop.pin': key.string({ title: 'PIN', sensitive: true }),
    'platform.shop.size': key.integer({ title: 'Size', default: 1 }),
  }
  const rows = [row('platform.shop.name', 'stored', 'row 1'), row('platform.shop.pin', 'stored-secret', 'row 2')]
  const supplier = definePlugin({
    id: 'supplier',
    version: '1.0.0',
    kernel: '^1.0.0',
    suppliesConfiguration: true,
    requires: { configAdmin },
    setup: async ({ services }) => void (await services.configAdmin.apply(rows)),
  })
  const lines: string[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) })
  const root = t.testdir({ '.env': 'PLATFORM_SHOP_PIN=planted-secret\nPLATFORM_SHOP_SIZE=2\n' })
  const running = await startForTest(
    { ...productOf([createSamplePlugin('shop', { config: keys }), supplier]), root },
    { environment: { PLATFORM_SHOP_NAME: 'set' }, envFile: '.env', logger },
  )
  t.teardown(() => running.stop('test ended'))
  t.strictSame(
    lines.map((line) => JSON.parse(line)).map(({ code, place, fix }) => [code, place, /`(.*)`/.exec(fix)?.[1]]),
    [
      ['PLINTH_CONFIG_OVERRIDDEN', 'environment variable PLATFORM_SHOP_NAME', 'plinth config reset platform.shop.name'],
      ['PLINTH_CONFIG_OVERRIDDEN', '.env:1', 'plinth config reset platform.shop.pin'],
    ],
  )
  t.notMatch(lines.join(''), /planted-secret|stored-secret/)
})

t.test('a start reports the settings file that it has read, or the path where it found none', async (t) => {
  const root = t.testdir({ '.env': 'A=1\n' })
  const linesOf = async (directory: string, options: StartOptions = {}) => {
    const lines: { msg: string; file?: string }[] = []
    const logger = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
    const running = await startProduct({ ...productOf([]), root: directory }, { environment: {}, logger, ...options })
    await running.stop('test ended')
    return lines.filter(({ file }) => file !== undefined).map(({ msg, file }) => [msg, file])
  }
  t.strictSame(await linesOf(root), [['settings file read', join(root, '.env')]])
  const other = join(root, 'dist')
  t.strictSame(await linesOf(other), [['there is no settings file', join(other, '.env')]])
  t.strictSame(await linesOf(other, { envFile: join(root, '.env') }), [['settings file read', join(root, '.env')]])
  t.strictSame(await linesOf(root, { envFile: false }), [])
  t.strictSame(await linesOf(root, { roles: ['cli'] }), [], 'a command serves nothing')
})
