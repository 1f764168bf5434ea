/** Tests the declarations of the plugin: keys, permissions, events, dependants and texts. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createDatabase } from '@plinth/dev/testing/database'
import eventsPlugin, { type Events, events } from '@plinth/events'
import { definePlugin, type KeyDeclarations } from '@plinth/kernel'
import t from 'tap'
import installPlugin, { entryReasons, InstallCompletedEvent, InstallExecutionFailedEvent } from '../src/index.ts'
import { startInstall } from './fixtures/product.ts'

const plugins = join(import.meta.dirname, '../..')

t.test('I-004 no other plugin depends on this one or imports it', async (t) => {
  for (const name of readdirSync(plugins)) {
    // Presets contain all plugins, so they may refer to the installer.
    if (name === 'install' || name === 'presets') continue
    const folder = join(plugins, name)
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    for (const member of ['dependencies', 'peerDependencies', 'optionalDependencies']) {
      t.notOk(Object.keys(manifest[member] ?? {}).includes('@plinth/install'), `${member} of ${name}`)
    }
    const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
      (file) => /^(?:src|web)\/.*\.tsx?$/.test(file) && !file.includes('node_modules'),
    )
    const users = sources.filter((file) => /from '@plinth\/install/.test(readFileSync(join(folder, file), 'utf8')))
    t.same(users, [], name)
  }
})

t.test(
  'I-015 I-016 I-017 I-018 I-019 I-020 I-023 I-024 I-027 I-028 I-029 I-030 I-031 I-032 I-033 the configuration keys',
  async (t) => {
    const keys: KeyDeclarations = installPlugin.config ?? {}
    const defaults = Object.fromEntries(Object.entries(keys).map(([key, { default: value }]) => [key, value]))
    t.same(defaults, {
      'platform.install.installed': false,
      'platform.install.enabled': true,
      'platform.install.mode': 'auto',
      'platform.install.config-file': '.env',
      'platform.install.execution-log-file': '<storage dir>/install/execution.log',
      'platform.install.allow-reinstall': false,
      'platform.install.token': '',
      'platform.install.connection-trial': '2m',
      'platform.install.token-ttl': '30m',
      'platform.install.cidr-check-enabled': false,
      'platform.install.allowed-cidrs': ['127.0.0.1/32', '::1/128'],
      'platform.install.require-https': false,
      'platform.install.allow-lite': true,
      'platform.install.access-protection-enabled': false,
      'platform.install.page.enabled': true,
      'platform.install.root-route.enabled': true,
      'platform.install.root-route.mode': 'redirect',
      'platform.install.root-route.target': '/install/',
      'platform.view.root.enabled': true,
      'platform.view.root.target': '/',
      'platform.view.entries': [],
    })
    t.same(keys['platform.install.mode']?.schema['enum'], ['auto', 'forced', 'disabled'], 'I-016')
    t.match(keys['platform.install.token'], { sensitive: true, editable: false }, 'I-033')
    t.match(keys['platform.install.installed'], { state: true, editable: false })
    for (const [key, declaration] of Object.entries(keys)) {
      for (const text of [declaration.title, declaration.description ?? declaration.title]) {
        t.match(text, { en: /./, 'zh-CN': /[\u4e00-\u9fff]/ }, key)
      }
    }
    const db = await createDatabase('sqlite')
    t.teardown(() => db.drop())
    const { running } = await startInstall(t, db)
    const listed = running.config.catalogue.filter(({ plugin }) => plugin === 'install').map(({ key }) => key)
    t.same(listed.sort(), Object.keys(keys).sort(), 'I-032 in the catalogue of the configuration centre')
  },
)

t.test('I-163 I-204 I-206 I-210 the codes', async (t) => {
  t.same(
    installPlugin.permissions?.map(({ code }) => code),
    ['install:view', 'install:manage'],
  )
  t.equal(InstallCompletedEvent.id, 'install.execution.completed')
  t.equal(InstallExecutionFailedEvent.id, 'install.execution.failed')
  const members = ({ schema }: { schema: object }) => Object.keys((schema as { properties: object }).properties)
  t.same(members(InstallCompletedEvent), ['sessionId', 'completedAt', 'restartSuggested', 'logCount', 'message'])
  t.same(members(InstallExecutionFailedEvent), [
    'sessionId',
    'failedAt',
    'failedStepCode',
    'stepMessage',
    'failedStepCount',
    'logCount',
    'message',
  ])
  t.same(entryReasons, [
    'install.token.not-required',
    'install.token.valid',
    'install.token.invalid',
    'install.token.not-allowed',
  ])
})

t.test('I-208 notifications that cannot be sent do not make the installation fail', async (t) => {
  const deaf = definePlugin({
    ...eventsPlugin,
    setup(context) {
      return eventsPlugin.setup?.({
        ...context,
        provide: (ref, service) =>
          context.provide(
            ref,
            ref.id === events.id
              ? Object.assign(Object.create(service as object), {
                  on: (service as Events).on.bind(service),
                  isHandled: (service as Events).isHandled.bind(service),
                  declarePublished: () => {},
                  publish: async () => {
                    throw new Error('the outbox is full')
                  },
                })
              : service,
          ),
      })
    },
  })
  const db = await createDatabase('sqlite')
  t.teardown(() => db.drop())
  const { execute, look } = await startInstall(t, db, { without: ['events'], plugins: [deaf] })
  t.match((await execute()).data, { passed: true, locked: true })
  t.match((await look('status')).data, { installed: true })
})

t.test('every text of the endpoints exists in both languages', async (t) => {
  const [en, zh] = ['en', 'zh-CN'].map((locale) =>
    JSON.parse(readFileSync(join(import.meta.dirname, `../src/messages/${locale}.json`), 'utf8')),
  )
  const leaves = (tree: object, path = ''): string[] =>
    Object.entries(tree).flatMap(([name, value]) =>
      typeof value === 'string'
        ? [`${path}${name} ${[...value.matchAll(/\{\{\w+\}\}/g)].sort().join(' ')}`]
        : leaves(value, `${path}${name}.`),
    )
  t.same(leaves(zh).sort(), leaves(en).sort(), 'the same names with the same placeholders')

  const known = new Set(leaves(en.install).map((leaf) => leaf.split(' ')[0]))
  const source = join(import.meta.dirname, '../src')
  /** Patterns that find text keys in the sources, with the prefix of each key. */
  const mentions = [
    [/(?:\btranslate|#translate)\([^,()]+(?:\([^)]*\))?, '([a-z][\w.-]+)'/g, ''],
    [/new StepFailure\('([\w.-]+)'/g, ''],
    [/\b(?:failedRule|warning|rules\.warnIfEmpty)\('([\w-]+)'/g, 'check.'],
    [/\b(?:holds|inFormat)\([^\n]+, '([\w-]+)'/g, 'check.'],
    [/\bpassedStep\('([\w-]+)'/g, 'result.'],
  ] as const
  let count = 0
  for (const file of readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  )) {
    const text = readFileSync(join(source, file), 'utf8')
    for (const [pattern, place] of mentions) {
      for (const [, name = ''] of text.matchAll(pattern)) {
        count++
        t.ok(known.has(place + name), `${place}${name} of ${file}`)
      }
    }
  }
  t.ok(count > 60, `${count} mentions`)
})
