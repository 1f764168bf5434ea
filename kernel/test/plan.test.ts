import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { assertMembers, rejectsWith, startForTest } from '@plinth/dev/testing'
import {
  defineProduct,
  extensionPoint,
  healthCheck,
  kernel,
  key,
  optional,
  type Plugin,
  type PluginDeclaration,
  type Role,
  type ServiceRef,
  service,
} from '@plinth/kernel'
import {
  kernelVersion,
  type Plan,
  planProduct,
  prepareProduct,
  StartRejectedError,
  startProduct,
} from '@plinth/kernel/host'
import fc from 'fast-check'
import t from 'tap'
import { createSamplePlugin, productOf } from './sample-plugin.ts'

const repository = join(import.meta.dirname, '../..')
const measureSource = join(repository, 'scripts/measure-source.ts')

const web: readonly Role[] = ['web', 'worker']
const plan = (plugins: readonly unknown[], roles = web) => planProduct(plugins, { kernelVersion, roles })
const orderOf = ({ plugins }: Plan) => plugins.map(({ id }) => id)

t.test(
  'C-002 C-003 one report contains every error of a plugin list with plugin, place and fix, and nothing starts',
  async (t) => {
    let started = 0
    const setup = () => {
      started++
    }
    const mail = service<object>('mail', { from: '@acme/mail' })
    const channel = extensionPoint<object>('acme.channel', { from: '@acme/channels' })
    const store = service<object>('acme.store')
    const task = { displayName: 'x', order: 1, required: true, retryable: true, isCompleted: () => true, run() {} }
    const plugins = [
      createSamplePlugin('sound', { setup, provides: [service('acme.mailer'), store] }),
      createSamplePlugin('needy', { setup, requires: { mail, stores: service('acme.stroe') } }),
      createSamplePlugin('egg', { requires: { hen: service('hen') }, provides: [service('egg')] }),
      createSamplePlugin('hen', { contributes: [extensionPoint('egg.cup')], provides: [service('hen')] }),
      createSamplePlugin('cup', { extensionPoints: [extensionPoint('egg.cup')], requires: { egg: service('egg') } }),
      // The order hen, cup, egg is allowed, because one of the dependencies is optional. Only the cycle of the next two
      // plugins is an error.
      createSamplePlugin('ping', { requires: { pong: service('pong') }, provides: [service('ping')] }),
      createSamplePlugin('pong', { requires: { ping: service('ping') }, provides: [service('pong')] }),
      createSamplePlugin('sound', { setup }),
      createSamplePlugin('old', { kernel: '^0.9.0', version: '1.x' }),
      createSamplePlugin('vague', { kernel: 'latest' }),
      createSamplePlugin('hanger', { contributes: [channel, extensionPoint('kernel.health-chek')] }),
      createSamplePlugin('rival', { provides: [store], extensionPoints: [healthCheck] }),
      createSamplePlugin('keys.a', {
        config: {
          'platform.shop.timeout': key.duration({ title: 'Timeout', default: 'soon' }),
          'platform.shop.limit': key.integer({ title: 'Limit', default: 3 }),
          'shop.limit': key.integer({ title: 'Limit', default: 3 }),
          'platform.shop.broken': key.string({ title: '' }),
        },
        permissions: [{ code: 'shop:view', displayName: 'View' }],
        configGroups: {
          shop: { en: 'Shop', 'zh-CN': '商店' },
          goods: { en: 'Goods', 'zh-CN': '货品' },
          tills: { en: 'Tills', 'zh-CN': '收银台' },
        },
        commands: [{ name: 'start', summary: 'x', run() {} }],
        scheduledTasks: [
          { name: 'sweep', displayName: 'Sweep', fixedDelay: 'platform.shop.interval', autoStartup: true, run() {} },
        ],
        installTasks: [
          { ...task, code: 'first', dependencies: ['second'] },
          { ...task, code: 'second', dependencies: ['first'] },
        ],
      }),
      createSamplePlugin('keys.b', {
        config: {
          'platform.shop.limit': key.integer({ title: 'Limit', default: 3 }),
          'platform.shop-limit': key.integer({ title: 'Limit', default: 3 }),
        },
        permissions: [{ code: 'shop:view', displayName: 'View' }],
        configGroups: {
          shop: { en: 'The shop', 'zh-CN': '商店' },
          goods: { en: 'Goods', 'zh-CN': '商品' },
          tills: { en: 'Tills', 'zh-CN': '收银台' },
        },
      }),
      createSamplePlugin('refs', {
        requires: { lost: undefined as unknown as ServiceRef<unknown> },
        provides: [healthCheck as never],
      }),
      createSamplePlugin('Shouting'),
      { id: 'plain', version: '1.0.0', kernel: '^1.0.0', setup } as unknown as Plugin,
      '@acme/mail' as never,
    ]
    const config = { 'platform.shop.timeuot': '4s' }

    const rejection = await startForTest(productOf(plugins, config), {
      set: { 'platform.shop.limit': 'many' },
      environment: { PLATFORM_SHOP_LIMTI: '4' },
    }).catch((error: unknown) => error)
    if (!(rejection instanceof StartRejectedError)) return t.fail('the start was not refused')
    t.equal(started, 0, 'no code of a plugin ran')

    const found = rejection.problems.map(({ code, plugin, place, message }) => [code, plugin, place, message])
    const expected = [
      ['PLINTH_PLAN_DUPLICATE_PLUGIN', 'sound', 'plugins[7]', 'Plugin id "sound" is listed more than once.'],
      ['PLINTH_PLAN_INVALID_VERSION', 'old', 'version', '"1.x" is not a semantic version.'],
      [
        'PLINTH_PLAN_KERNEL_VERSION',
        'old',
        'kernel',
        `The plugin requires kernel ^0.9.0, but the kernel has version ${kernelVersion}.`,
      ],
      ['PLINTH_PLAN_INVALID_VERSION', 'vague', 'kernel', '"latest" is not a version range.'],
      ['PLINTH_PLAN_INVALID_REFERENCE', 'refs', 'requires.lost', 'The value is undefined instead of a reference.'],
      [
        'PLINTH_PLAN_INVALID_REFERENCE',
        'refs',
        'provides[0]',
        'The value is a reference to an extension point, where a reference to a service is needed.',
      ],
      [
        'PLINTH_PLAN_INVALID_PLUGIN',
        undefined,
        'plugins[15]',
        'Plugin id "Shouting" is not a dotted lower-case name such as "acme.sms".',
      ],
      [
        'PLINTH_PLAN_NOT_A_PLUGIN',
        'plain',
        'plugins[16]',
        'Entry 17 of the plugin list is a plain object, not the result of definePlugin().',
      ],
      [
        'PLINTH_PLAN_NOT_A_PLUGIN',
        undefined,
        'plugins[17]',
        'Entry 18 of the plugin list is "@acme/mail", not a plugin.',
      ],
      [
        'PLINTH_PLAN_DUPLICATE_SERVICE',
        'rival',
        'provides',
        'Provides service "acme.store", which plugin "sound" also provides.',
      ],
      [
        'PLINTH_PLAN_DUPLICATE_EXTENSION_POINT',
        'rival',
        'extensionPoints',
        'Declares extension point "kernel.health-check", which plugin "kernel" also declares.',
      ],
      [
        'PLINTH_PLAN_MISSING_SERVICE',
        'needy',
        'requires.mail',
        'Requires service "mail", which no loaded plugin provides.',
      ],
      [
        'PLINTH_PLAN_MISSING_SERVICE',
        'needy',
        'requires.stores',
        'Requires service "acme.stroe", which no loaded plugin provides. Did you mean "acme.store"?',
      ],
      [
        'PLINTH_PLAN_UNKNOWN_EXTENSION_POINT',
        'hanger',
        'contributes',
        'Contributes to extension point "acme.channel", which no loaded plugin declares.',
      ],
      [
        'PLINTH_PLAN_UNKNOWN_EXTENSION_POINT',
        'hanger',
        'contributes',
        'Contributes to extension point "kernel.health-chek", which no loaded plugin declares. Did you mean "kernel.health-check"?',
      ],
      [
        'PLINTH_PLAN_INVALID_DEFAULT',
        'keys.a',
        'config["platform.shop.timeout"]',
        /^The default of key "platform.shop.timeout" does not match the schema of the key: .*"soon"/,
      ],
      [
        'PLINTH_PLAN_KEY_PREFIX',
        'keys.a',
        'config["shop.limit"]',
        'Key "shop.limit" is not a lower-case dotted key that starts with "platform.".',
      ],
      [
        'PLINTH_PLAN_INVALID_KEY',
        'keys.a',
        'config["platform.shop.broken"]',
        /^The declaration of key "platform.shop.broken" is invalid: title must be text/,
      ],
      [
        'PLINTH_PLAN_DUPLICATE_KEY',
        'keys.b',
        'config["platform.shop.limit"]',
        'Key "platform.shop.limit" is already declared by plugin "keys.a".',
      ],
      [
        'PLINTH_PLAN_DUPLICATE_ENVIRONMENT_NAME',
        'keys.b',
        'config["platform.shop-limit"]',
        'Keys "platform.shop-limit" and "platform.shop.limit" use the same environment variable PLATFORM_SHOP_LIMIT.',
      ],
      [
        'PLINTH_PLAN_DUPLICATE_DECLARATION',
        'keys.b',
        'permissions',
        'The permission "shop:view" is also declared by "keys.a".',
      ],
      ['PLINTH_PLAN_DUPLICATE_DECLARATION', 'keys.a', 'commands', 'The command "start" is also declared by "kernel".'],
      [
        'PLINTH_PLAN_TASK_KEY',
        'keys.a',
        'scheduledTasks[0].fixedDelay',
        'Scheduled task "sweep" reads its fixedDelay from key "platform.shop.interval", which the plugin does not declare.',
      ],
      [
        'PLINTH_PLAN_DEPENDENCY_CYCLE',
        'keys.a',
        'installTasks',
        'Install tasks depend on each other in a cycle: first -> second -> first.',
      ],
      [
        'PLINTH_PLAN_GROUP_TITLED_TWICE',
        'keys.b',
        'configGroups["shop"]',
        'The key group "shop" has the title "The shop" here and "Shop" in "keys.a".',
      ],
      [
        'PLINTH_PLAN_GROUP_TITLED_TWICE',
        'keys.b',
        'configGroups["goods"]',
        'The key group "goods" has the title "商品" here and "货品" in "keys.a".',
      ],
      [
        'PLINTH_PLAN_DEPENDENCY_CYCLE',
        'ping',
        'requires or contributes of ping, pong',
        'Plugins depend on each other in a cycle: ping -(pong)-> pong -(ping)-> ping.',
      ],
      [
        'PLINTH_CONFIG_UNKNOWN_KEY',
        undefined,
        'product',
        '"platform.shop.timeuot" is not a key of any loaded plugin. Did you mean "platform.shop.timeout"?',
      ],
      [
        'PLINTH_CONFIG_INVALID_VALUE',
        'keys.a',
        '--set platform.shop.limit',
        /^The value of "platform.shop.limit" must .*"many"/,
      ],
    ] as const
    for (const [index, [code, id, place, message]] of expected.entries()) {
      assertMembers(t, found[index], [code, id, place, message], `${code} of ${id}`)
    }
    t.equal(found.length, expected.length, 'nothing else is reported')
    for (const { code, fix, message } of rejection.problems) {
      t.ok(fix.length > 10, `${code} says what to do`)
      t.notMatch(`${message}${fix}`, /\{\w+\}/, `${code} has every detail filled in`)
      t.ok(
        rejection.message.includes(message) && rejection.message.includes(fix),
        `${code} is in the text of the error`,
      )
    }
    t.match(
      rejection.problems.find(({ place }) => place === 'requires.mail')?.fix,
      'Add @acme/mail to the product file',
    )
  },
)

t.test(
  'C-002 planning runs no plugin code, changes nothing, and returns the same result for the same list',
  async () => {
    const edge = fc.record({
      from: fc.nat(7),
      to: fc.nat(7),
      via: fc.constantFrom('requires', 'optional', 'contribution', 'live'),
    })
    const graph = fc.record({
      size: fc.integer({ min: 1, max: 8 }),
      edges: fc.array(edge, { maxLength: 14 }),
      suppliers: fc.array(fc.nat(7), { maxLength: 2 }),
    })
    fc.assert(
      fc.property(graph, ({ size, edges, suppliers }) => {
        const inside = edges.filter(({ from, to }) => from < size && to < size)
        const plugins = Array.from({ length: size }, (_, index) => {
          const own = inside.filter(({ from }) => from === index)
          const requires = own.flatMap(({ to, via }) => {
            const ref = service<object>(`s${to}`)
            return via === 'contribution' || via === 'live'
              ? []
              : [[`s${to}`, via === 'optional' ? optional(ref) : ref]]
          })
          const contributions = inside.filter(({ to, via }) => via === 'contribution' && to === index)
          const live = inside.filter(({ to, via }) => via === 'live' && to === index)
          return createSamplePlugin(`p${index}`, {
            suppliesConfiguration: suppliers.includes(index),
            requires: Object.fromEntries(requires),
            provides: [service(`s${index}`)],
            extensionPoints: [extensionPoint(`e${index}`), extensionPoint(`l${index}`, { live: true })],
            contributes: [
              ...contributions.map(({ from }) => extensionPoint(`e${from}`)),
              ...live.map(({ from }) => extensionPoint(`l${from}`, { live: true })),
              optional(extensionPoint('absent')),
            ],
            setup() {
              throw new Error('ran')
            },
          })
        })
        const edgesIn = inside.filter(({ via }) => via !== 'live')
        const needs = (a: number, b: number) => edgesIn.some(({ from, to }) => from === a && to === b)
        // If a plugin contributes to its own extension point, this is not a dependency.
        const isEdge = (a: number, b: number) =>
          a === b ? edgesIn.some(({ from, to, via }) => from === a && to === b && via !== 'contribution') : needs(a, b)
        const reach = reachability(size, isEdge)

        const first = plan(Object.freeze(plugins))
        const again = plan([...plugins])
        assert.deepEqual(orderOf(again), orderOf(first))
        assert.deepEqual(again.problems, first.problems)

        const isCyclic = reach.some((row, index) => row[index])
        const cycles = first.problems.filter(({ code }) => code === 'PLINTH_PLAN_DEPENDENCY_CYCLE')
        assert.equal(cycles.length > 0, isCyclic, 'a circle is reported if and only if there is one')
        assert.equal(first.problems.length, cycles.length)
        for (const { message } of cycles) {
          const path = [...message.matchAll(/p(\d)/g)].map(([, digit]) => Number(digit))
          assert.equal(path[0], path.at(-1), 'the path ends where it begins')
          assert.ok(
            path.slice(1).every((to, index) => isEdge(path[index] ?? -1, to)),
            'every step of the path is a dependency',
          )
        }
        const position = orderOf(first).map((id) => Number(id.slice(1)))
        assert.deepEqual(position.toSorted(), Array.from({ length: size }, (_, index) => index).toSorted())
        if (isCyclic) return
        for (let a = 0; a < size; a++) {
          for (let b = 0; b < size; b++) {
            if (isEdge(a, b)) assert.ok(position.indexOf(b) < position.indexOf(a), `p${b} comes before p${a}`)
          }
        }
        const isSupplier = (index: number) => suppliers.includes(index)
        const lastSupplier = position.findLastIndex(isSupplier)
        for (const index of position.slice(0, lastSupplier + 1)) {
          assert.ok(
            isSupplier(index) || suppliers.some((one) => reach[one]?.[index]),
            'before a supplier of configuration comes only what it needs',
          )
        }
      }),
      { numRuns: 300 },
    )
  },
)

/** Computes which nodes can be reached in one or more steps (Warshall algorithm). */
function reachability(size: number, isEdge: (from: number, to: number) => boolean): boolean[][] {
  const all = Array.from({ length: size }, (_, index) => index)
  const reach = all.map((from) => all.map((to) => isEdge(from, to)))
  for (const via of all)
    for (const from of all)
      for (const to of all) if (reach[from]?.[via] && reach[via]?.[to] && reach[from]) reach[from][to] = true
  return reach
}

t.test('C-002 the planner survives every input', async () => {
  const junk = fc.oneof(fc.anything(), fc.constant(undefined), fc.record({ kind: fc.string(), id: fc.anything() }))
  const members = fc.record(
    {
      id: fc.oneof(fc.constantFrom('a', 'b', 'a.b'), fc.anything()),
      version: fc.oneof(fc.constant('1.0.0'), fc.string(), fc.constant(undefined)),
      kernel: fc.oneof(fc.constant('^1.0.0'), fc.string(), fc.constant(undefined)),
      requires: fc.dictionary(fc.string(), junk),
      provides: fc.array(junk),
      extensionPoints: fc.array(junk),
      contributes: fc.array(junk),
      config: fc.dictionary(fc.constantFrom('platform.a', 'platform.b', 'c'), fc.anything()),
    },
    { requiredKeys: ['id'] },
  )
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.anything(),
          members.map((one) => createSamplePlugin('x', one as object)),
        ),
      ),
      (list) => {
        for (const { message, fix } of plan(list).problems) {
          if (message === '' || fix === '') throw new Error('a problem without words')
        }
      },
    ),
    { numRuns: 300 },
  )
})

t.test('C-002 the order of the list decides between independent plugins; the kernel is always present', async (t) => {
  const base = createSamplePlugin('base', { provides: [service('base')] })
  const user = createSamplePlugin('user', { requires: { base: service('base'), kernel } })
  const other = createSamplePlugin('other', { contributes: [healthCheck] })
  t.strictSame(orderOf(plan([user, other, base])), ['base', 'user', 'other'])
  t.strictSame(orderOf(plan([other, base, user])), ['other', 'base', 'user'])
  t.strictSame(plan([user, base]).dependencies.get('user'), [{ on: 'base', via: 'requires', ref: 'base' }])
  const guest = createSamplePlugin('guest', {
    requires: { base: optional(service('base')) },
    contributes: [extensionPoint('room')],
  })
  const { dependencies } = plan([
    base,
    guest,
    createSamplePlugin('house', { extensionPoints: [extensionPoint('room')] }),
  ])
  t.strictSame(dependencies.get('guest'), [{ on: 'base', via: 'optional', ref: 'base' }])
  t.strictSame(dependencies.get('house'), [{ on: 'guest', via: 'contribution', ref: 'room' }])
})

t.test('C-002 K-019 a plugin loads only in its roles, and a dependency across roles is reported', async (t) => {
  const site = createSamplePlugin('site', { roles: ['web'], provides: [service('site')] })
  const sweeper = createSamplePlugin('sweeper', {
    roles: ['worker'],
    config: { 'platform.sweep.limit': key.integer({ title: 'x' }) },
  })
  const command = createSamplePlugin('command', { roles: ['cli', 'worker'] })
  const everywhere = createSamplePlugin('everywhere', { requires: { site: optional(service<object>('site')) } })
  const list = [site, sweeper, command, everywhere]
  const loaded = (...roles: Role[]) => orderOf(plan(list, roles))
  t.strictSame(loaded('web'), ['site', 'everywhere'])
  t.strictSame(loaded('worker'), ['sweeper', 'command', 'everywhere'])
  t.strictSame(loaded('cli'), ['command', 'everywhere'])
  t.strictSame(loaded('web', 'worker'), ['site', 'sweeper', 'command', 'everywhere'])
  t.strictSame(plan(list, ['web']).inactive, [sweeper, command])

  const dependant = createSamplePlugin('dependant', { requires: { site: service('site') } })
  const { problems } = plan([site, dependant], ['worker', 'cli'])
  assertMembers(t, problems, [
    {
      code: /^PLINTH_PLAN_SERVICE_NOT_IN_ROLE$/,
      plugin: 'dependant',
      place: 'requires.site',
      message: 'Requires service "site", but its provider "site" is not loaded in the process roles worker, cli.',
      fix: 'Limit the roles of "dependant" to those of "site", or make the requirement optional().',
    },
  ])
  const { config } = prepareProduct(productOf(list), { roles: ['web'], envFile: false })
  t.ok(config.explain('platform.sweep.limit'), 'keys of plugins in other roles are known')
  t.ok(config.catalogue.some((entry) => entry.key === 'platform.sweep.limit' && entry.plugin === 'sweeper'))
})

t.test('C-002 two copies of the kernel understand each other', async (t) => {
  const copy = '?copy=2'
  const secondPlugin: typeof import('../src/plugin.ts') = await import(`../src/plugin.ts${copy}`)
  const secondRefs: typeof import('../src/refs.ts') = await import(`../src/refs.ts${copy}`)
  const secondErrors: typeof import('../src/errors/coded-error.ts') = await import(
    `../src/errors/coded-error.ts${copy}`
  )
  t.not(secondPlugin.definePlugin, (await import('@plinth/kernel')).definePlugin, 'it is another copy')

  const greeter = secondRefs.service<{ greet(): string }>('greeter')
  const provider = secondPlugin.definePlugin({
    id: 'provider',
    version: '1.0.0',
    kernel: '^1.0.0',
    provides: [greeter],
    setup({ provide }) {
      provide(greeter, { greet: () => 'hello' })
    },
  })
  const user = createSamplePlugin('user', {
    requires: { greeter: service('greeter') },
    contributes: [secondRefs.extensionPoint(healthCheck.id)],
    setup({ services, contribute }) {
      const greeting: string = (services as { greeter: { greet(): string } }).greeter.greet()
      contribute(healthCheck, greeting, () => {})
    },
  })
  const running = await startForTest(productOf([user, provider]))
  t.teardown(() => running.stop('test ended'))
  t.equal(running.service(greeter).greet(), 'hello')
  t.strictSame([...running.contributions(healthCheck).keys()], ['hello'])

  const failing = createSamplePlugin('failing', {
    setup() {
      throw new secondErrors.PlinthError('ACME_CLOSED', 'The shop is closed.', 'Open it.')
    },
  })
  await rejectsWith(t, startForTest(productOf([failing])), {
    code: 'PLINTH_START_FAILED',
    message: 'Plugin "failing" failed in setup: ACME_CLOSED: The shop is closed.',
    fix: 'Open it.',
  })
})

t.test('K-019 a product without plugins starts, and its root is its directory', async (t) => {
  const running = await startProduct(defineProduct({ name: 'empty', plugins: [] }), { envFile: false })
  t.equal(running.state, 'ready')
  t.strictSame(running.product, { name: 'empty', version: '0.0.0', root: process.cwd() })
  await running.stop('test ended')
  t.equal(running.state, 'stopped')
})

t.test(
  'C-002 a plugin in place of a reference, and an unknown member, are reported with the intended name',
  async (t) => {
    const http = createSamplePlugin('http', {
      provides: [service('http', { from: '@plinth/http' }), service('http.metrics')],
      extensionPoints: [extensionPoint('http.guard')],
    })
    const wrong = { http: http as never, maybe: { kind: 'optional', ref: http } as never, none: undefined as never }
    const offer = {
      code: 'PLINTH_PLAN_PLUGIN_AS_REFERENCE',
      plugin: 'shop',
      message:
        'The value is the plugin "http" itself, not a reference to one of its services or extension points (http, http.metrics, http.guard).',
      fix: 'Import the reference by its name, for example import { http } from "@plinth/http". The default import is the plugin, for the product file.',
    }
    const { problems } = prepareProduct(
      productOf([http, createSamplePlugin('shop', { requires: wrong, contributes: [http as never] })]),
      { envFile: false },
    )
    assertMembers(t, problems, [
      { ...offer, place: 'requires.http' },
      { ...offer, place: 'requires.maybe' },
      {
        code: /^PLINTH_PLAN_INVALID_REFERENCE$/,
        place: 'requires.none',
        message: 'The value is undefined instead of a reference.',
      },
      { ...offer, place: 'contributes[0]' },
    ])

    const misspelt = {
      require: 'requires',
      extensionpoints: 'extensionPoints',
      contribute: 'contributes',
      installTask: 'installTasks',
      setUp: 'setup',
      migration: 'migrations',
    }
    for (const [member, meant] of Object.entries(misspelt)) {
      assertMembers(
        t,
        prepareProduct(productOf([createSamplePlugin('shop', { [member]: [] })]), { envFile: false }).problems,
        [
          {
            code: /^PLINTH_PLAN_UNKNOWN_MEMBER$/,
            plugin: 'shop',
            place: member,
            message: `The plugin declaration has the unknown property "${member}". Did you mean "${meant}"?`,
          },
        ],
      )
    }
    const every: Required<PluginDeclaration> = {
      id: 'every',
      title: { en: 'Every', 'zh-CN': '全部' },
      version: '1.0.0',
      kernel: '^1.0.0',
      roles: ['web'],
      requires: {},
      provides: [],
      suppliesConfiguration: true,
      extensionPoints: [],
      contributes: [],
      config: { 'platform.every.settings-file': key.string({ title: 'Settings', default: '.env' }) },
      configGroups: {},
      businessErrors: [],
      permissions: [],
      migrations: [],
      processTables: [],
      entities: [],
      messages: { en: {}, 'zh-CN': {} },
      installTasks: [],
      scheduledTasks: [],
      outgoingHosts: [],
      commands: [],
      implements: ['messages'],
      setupDeadlineMs: 1,
      settingsFileKey: 'platform.every.settings-file',
      setup() {},
      fallbackStart: () => undefined,
    }
    const { problems: none, warnings } = prepareProduct(productOf([createSamplePlugin('every', every)]), {
      envFile: false,
    })
    t.strictSame([...none, ...warnings], [], 'every member of the type is known')
  },
)

t.test('C-002 a declaration causes no warning if any loaded plugin uses it', async (t) => {
  const displayName = { en: 'x', 'zh-CN': 'x' }
  const run = { name: 'a', displayName, fixedDelay: 1, autoStartup: false, run() {} }
  const declaring = createSamplePlugin('declaring', {
    scheduledTasks: [run],
    migrations: [{ id: '0001-a' }],
    entities: [{}],
  })
  const warningsWith = (...plugins: Plugin[]) =>
    prepareProduct(productOf([declaring, ...plugins]), { envFile: false }).warnings.map(({ place }) => place)
  t.strictSame(warningsWith(), ['entities', 'migrations', 'scheduledTasks'])
  t.strictSame(warningsWith(createSamplePlugin('clockwork', { implements: ['scheduledTasks'] })), [
    'entities',
    'migrations',
  ])
})

t.test('placeholders with one brace, and placeholders that differ between languages, are reported', async (t) => {
  const reportOf = (en: Record<string, string>, chinese: Record<string, string>) => {
    const speaking = createSamplePlugin('speaking', { implements: ['messages'], messages: { en, 'zh-CN': chinese } })
    const { warnings } = prepareProduct(productOf([speaking]), { envFile: false })
    return warnings.map(({ code, place, message }) => ({ code, place, message }))
  }
  const code = 'PLINTH_PLAN_MESSAGES_PLACEHOLDERS'
  t.strictSame(reportOf({ a: 'No ticket {id}.' }, { a: '没有工单。' }), [
    { code, place: 'messages["en"]', message: '1 text(s) contain a placeholder with one brace, among them a.' },
  ])
  t.strictSame(reportOf({ a: '{{id}} of {{count}}', b: '{{id}}' }, { a: '{{count}} 中的 {{id}}', b: '{{name}}' }), [
    { code, place: 'messages["zh-CN"]', message: '1 text(s) have other placeholders than in English, among them b.' },
  ])
  const literal = { a: 'Write the URL with "{hash}".' }
  t.strictSame(reportOf(literal, literal), [], 'a quoted brace is part of the text')
})

t.test('the core of the kernel is small enough to be read in an hour', async (t) => {
  const measured = execFileSync(process.execPath, [measureSource, '--json', repository], {
    encoding: 'utf8',
    timeout: 300_000,
  })
  const { byFolder } = JSON.parse(measured) as { byFolder: { folder: string; lines: number }[] }
  const folder = byFolder.find(({ folder }) => folder === join('kernel', 'src'))?.lines ?? Number.NaN
  const isCode = (line: string) => !/^\s*(?:\/\*|\*|\/\/|$)/.test(line)
  const exported = ['index.ts', 'host.ts'].flatMap((name) =>
    readFileSync(join(repository, 'kernel/src', name), 'utf8')
      .split('\n')
      .filter(isCode),
  )
  const core = folder - exported.length
  t.ok(core <= 1450, `${core} lines of code`)
})
