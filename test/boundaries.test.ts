import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { startForTest, throwsWith } from '@plinth/dev/testing'
import http, { http as httpServer } from '@plinth/http'
import {
  definePlugin,
  defineProduct,
  extensionPoint,
  healthCheck,
  type Kernel,
  kernel,
  key,
  type PluginContext,
  type PluginDeclaration,
  service,
} from '@plinth/kernel'
import { type ConfigAdmin, configAdmin, declaredTasks } from '@plinth/kernel/host'
import t from 'tap'

type Members = Partial<PluginDeclaration>
const plugin = (id: string, members: Members) => definePlugin({ id, version: '1.0.0', kernel: '^1.0.0', ...members })

const secret = 'correct horse battery'
const point = extensionPoint<{ charge(): string }>('victim.cash-desk')
const till = service<object>('victim.till')

/**
 * A plugin with a secret, a list and an extension point, which the other plugin attacks. It also reports that the
 * product is not ready.
 */
const victim = plugin('victim', {
  provides: [till],
  extensionPoints: [point],
  contributes: [healthCheck],
  permissions: [{ code: 'victim:read', displayName: 'Read' }],
  config: {
    'platform.victim.secret': key.string({ title: 'Secret', default: secret, sensitive: true, reload: 'live' }),
    'platform.victim.peers': key.stringList({ title: 'Peers', default: ['one'], reload: 'live' }),
  },
  setup({ contribute, provide }) {
    contribute(healthCheck, 'victim', () => Promise.reject(new Error('not ready')))
    provide(till, {})
  },
})

/**
 * Starts the plugin `victim` with a plugin that requires every service of the kernel. Returns the context of the second
 * plugin.
 */
async function intruded() {
  let context: PluginContext | undefined
  const intruder = plugin('intruder', {
    requires: { kernel, configAdmin, declaredTasks, till },
    setup(given) {
      context = given
    },
  })
  const running = await startForTest(
    defineProduct({ name: 'sample', plugins: [victim, intruder, http], config: { 'platform.http.port': 0 } }),
  )
  t.teardown(() => running.stop('test ended'))
  if (context === undefined) throw new Error('the intruder was not set up')
  const services = context.services as unknown as { kernel: Kernel; configAdmin: ConfigAdmin }
  return { running, context, services }
}

/** Returns all values that can be reached from a value by reading members, without calling functions. */
function reachable(value: unknown, seen = new Set<unknown>()): Set<unknown> {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return seen
  seen.add(value)
  for (const member of Reflect.ownKeys(value)) {
    const found = Object.getOwnPropertyDescriptor(value, member)
    reachable(found?.get === undefined ? found?.value : Reflect.get(value, member), seen)
  }
  return seen
}

t.test('K-008 no plugin can read the secret of another one through the kernel', async (t) => {
  const { context, services } = await intruded()
  const { kernel, configAdmin } = services
  throwsWith(t, () => context.config.get('platform.victim.secret' as never), { code: 'PLINTH_CONFIG_UNDECLARED' })
  for (const offered of [kernel, configAdmin]) {
    for (const member of ['get', 'secrets', 'service', 'runtimeOf', 'config', 'onChange', 'seal']) {
      t.notOk(member in offered, `no ${member}`)
    }
  }
  const { signal } = new AbortController()
  const responses = [
    configAdmin.list(),
    configAdmin.explain('platform.victim.secret'),
    configAdmin.preview([{ name: 'platform.victim.secret', by: 'key', written: 'x-another', place: 'row' }]),
    await configAdmin.verify('platform.victim.secret', 'x-another', signal),
    context.redact(`it is ${secret}`),
    kernel.timeline,
    kernel.product,
  ]
  t.notMatch(inspect(responses, { depth: 12, showHidden: true }), secret)
  t.equal(context.redact(`it is ${secret}`), 'it is ******', 'masking needs no service')
})

t.test('K-018 objects of the kernel cannot be changed, and reach no object that can', async (t) => {
  const { running, context, services } = await intruded()
  const { kernel, configAdmin } = services
  const checks = kernel.contributions(healthCheck) as Map<string, unknown>
  const ready = async () => (await running.service(httpServer).inject({ url: '/health/ready' })).statusCode
  t.equal(await ready(), 503, 'the victim is not ready')
  const fine = () => {}
  const attempts: Readonly<Record<string, () => unknown>> = {
    'map.set': () => checks.set('victim', fine),
    'map.delete': () => checks.delete('victim'),
    'map.clear': () => checks.clear(),
    'the set of every map': () => Map.prototype.set.call(checks, 'victim', fine),
    'another get': () => Object.assign(checks, { get: fine, values: () => [] }),
    'a member of the service': () => Object.assign(kernel, { contributions: () => new Map() }),
    'the state': () => Object.assign(kernel, { state: 'stopped' }),
    'the list of plugins': () => (kernel.plugins as unknown[]).pop(),
    'the timeline': () => (kernel.timeline as unknown[]).pop(),
    'the product': () => Object.assign(kernel.product, { name: 'mine' }),
    'a declaration': () => Object.assign(kernel.plugins[0] ?? {}, { setup: undefined }),
    'a permission': () => Object.assign(victimIn(kernel).permissions?.[0] ?? {}, { code: 'any' }),
    'a rule of a key': () =>
      Object.assign(victimIn(kernel).config?.['platform.victim.secret'] ?? {}, { sensitive: false }),
    'a catalogue entry': () => Object.assign(configAdmin.catalogue[0] ?? {}, { sensitive: false }),
    'a list in force': () => (peersIn(configAdmin) as string[]).push('two'),
    'its own context': () => Object.assign(context, { redact: (text: string) => text }),
  }
  for (const [name, attempt] of Object.entries(attempts)) t.throws(attempt, TypeError, name)
  t.equal(await ready(), 503, 'and still is not')
  const roles = context.roles as Set<string>
  roles.add('cli')
  t.notOk(running.runtimeOf('victim')?.roles.has('cli'), 'roles of one plugin are its own')
  t.strictSame(running.runtimeOf('victim')?.config.get('platform.victim.peers'), ['one'])
  throwsWith(
    t,
    () => kernel.contributions(point),
    { code: 'PLINTH_CONTRIBUTION_UNDECLARED' },
    'a point of another plugin',
  )
  throwsWith(t, () => context.contributions(point), { code: 'PLINTH_CONTRIBUTION_UNDECLARED' })
  throwsWith(t, () => context.own(till), { code: 'PLINTH_SERVICE_UNDECLARED' })
  const found = reachable([kernel, configAdmin])
  t.notOk(found.has(running), 'the product in the hands of its starter is out of reach')
  for (const value of found) {
    if (value instanceof Map || value instanceof Set) t.fail(`${inspect(value)} can be changed`)
  }
})

t.test(
  'K-018 a plugin that reads a contribution cannot replace its methods; the state of the contribution stays its own',
  async (t) => {
    class Counter {
      #count = 0
      last = 0
      charge = () => {
        this.#count += 1
        this.last = this.#count
        return `charged ${this.#count}`
      }
    }
    let seen: ReadonlyMap<string, { charge(): string }> | undefined
    const owner = plugin('owner', {
      extensionPoints: [point],
      setup({ contributions }) {
        seen = contributions(point)
      },
    })
    const giver = plugin('giver', {
      contributes: [point],
      setup({ contribute }) {
        contribute(point, 'counter', new Counter())
        contribute(point, 'plain', { charge: () => 'plain' })
      },
    })
    const running = await startForTest(defineProduct({ name: 'sample', plugins: [owner, giver] }))
    t.teardown(() => running.stop('test ended'))
    const [counter, plain] = [seen?.get('counter'), seen?.get('plain')]
    t.equal(counter?.charge(), 'charged 1')
    for (const given of [counter, plain]) {
      t.throws(() => Object.assign(given ?? {}, { charge: () => 'mine' }), TypeError)
      t.throws(() => Object.assign(given ?? {}, { another: 1 }), TypeError)
    }
    t.strictSame([counter?.charge(), plain?.charge()], ['charged 2', 'plain'])
    t.strictSame(
      [[...(seen?.keys() ?? [])], seen?.size, seen?.has('plain'), [...(seen ?? [])].length, seen?.get('nobody')],
      [['counter', 'plain'], 2, true, 2, undefined],
      'reading is as with any map',
    )
    const visited: string[] = []
    seen?.forEach((value, name, map) => void visited.push(`${name} ${map === seen} ${value === map.get(name)}`))
    t.strictSame(visited, ['counter true true', 'plain true true'])
  },
)

const victimIn = ({ plugins }: Kernel) => plugins.find(({ id }) => id === 'victim') ?? victim
const peersIn = ({ explain }: ConfigAdmin) => explain('platform.victim.peers')?.effective.value

t.test('a library with known vulnerabilities is not installed with the one that requires it', (t) => {
  const { packages } = JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8'))
  t.equal(packages['node_modules/secp256k1'].dependencies.elliptic, '^6.5.7')
  t.equal(packages['node_modules/elliptic'].name, '@favware/skip-dependency')
  t.end()
})
