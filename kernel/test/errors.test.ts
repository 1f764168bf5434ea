import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { extensionPoint, type KernelErrorCode, key, loadProduct, prepareProduct, service } from '@plinth/kernel'
import { manualClock, startForTest } from '@plinth/kernel/testing'
import t from 'tap'
import { runProgram } from '../src/cli/program.ts'
import { supervise } from '../src/cli/supervisor.ts'
import { kernelError } from '../src/errors/kernel-errors.ts'
import { plugin, productOf } from './sample-plugin.ts'

interface Fault {
  readonly code: string
  readonly message: string
  readonly fix: string
}
type Members = Parameters<typeof plugin>[1]
type Producer = () => Promise<readonly Fault[]>

const missing = service<object>('missing')
const point = extensionPoint<object>('point')
const text = key.string({ title: 'x', default: 'x' })
const never = () => new Promise<void>(() => {})

const twice = (work: () => void) => {
  work()
  work()
}

/** What the planner and the configuration say of these plugins. */
const prepared =
  (plugins: readonly Members[], options: Parameters<typeof prepareProduct>[1] = {}): Producer =>
  async () => {
    const product = productOf(plugins.map((members, index) => plugin(`p${index}`, members)))
    const { problems, warnings } = prepareProduct(product, { envFile: false, ...options })
    return [...problems, ...warnings]
  }

/** The error that a start ends with, and its causes. */
const started =
  (plugins: readonly Members[], options: Parameters<typeof startForTest>[1] = {}): Producer =>
  async () => {
    const clock = manualClock()
    const product = productOf(plugins.map((members, index) => plugin(`p${index}`, members)))
    const start = startForTest(product, { clock, ...options })
    const result = start.then((running) => running.stop('test ended'))
    const caught = result.then(
      () => [],
      (error: Fault & { cause?: Fault }) => (error.cause === undefined ? [error] : [error, error.cause]),
    )
    await clock.advance(60_000)
    return caught
  }

const commandLine =
  (...words: string[]): Producer =>
  async () => {
    let stdout = ''
    const streams = { stdout: { write: (part: string) => (stdout += part) }, stderr: { write: () => {} } }
    await runProgram([...words, '--json'], { ...streams, environment: {}, directory: import.meta.dirname })
    return [JSON.parse(stdout).error]
  }

/** How each error comes about. A code that is missing here does not compile. */
const producers: Readonly<Record<KernelErrorCode, Producer>> = {
  PLINTH_PLAN_INVALID_PLUGIN: prepared([{ version: 'one' }]),
  PLINTH_PLAN_UNKNOWN_MEMBER: prepared([{ require: {} } as Members]),
  PLINTH_PLAN_PLUGIN_AS_REFERENCE: prepared([
    { requires: { other: plugin('other', { provides: [missing] }) as never } },
  ]),
  PLINTH_PLAN_NOT_CARRIED_OUT: prepared([{ permissions: [{ code: 'a', displayName: 'x' }] }]),
  PLINTH_PLAN_MESSAGES_INCOMPLETE: prepared([{ messages: { en: { a: 'x' }, 'zh-CN': {} } }]),
  PLINTH_PLAN_DUPLICATE_PLUGIN: prepared([{}, { id: 'p0' }]),
  PLINTH_PLAN_KERNEL_VERSION: prepared([{ kernel: '^99.0.0' }]),
  PLINTH_PLAN_MISSING_SERVICE: prepared([{ requires: { missing } }]),
  PLINTH_PLAN_SERVICE_NOT_IN_ROLE: prepared([{ provides: [missing], roles: ['cli'] }, { requires: { missing } }]),
  PLINTH_PLAN_DUPLICATE_SERVICE: prepared([{ provides: [missing] }, { provides: [missing] }]),
  PLINTH_PLAN_DEPENDENCY_CYCLE: prepared([{ provides: [missing], requires: { missing } }]),
  PLINTH_PLAN_DUPLICATE_EXTENSION_POINT: prepared([{ extensionPoints: [point] }, { extensionPoints: [point] }]),
  PLINTH_PLAN_UNKNOWN_EXTENSION_POINT: prepared([{ contributes: [point] }]),
  PLINTH_PLAN_INVALID_KEY: prepared([{ config: { 'platform.a': { ...text, title: '' } } }]),
  PLINTH_PLAN_INVALID_DEFAULT: prepared([{ config: { 'platform.a': { ...text, default: 1 } } }]),
  PLINTH_PLAN_KEY_PREFIX: prepared([{ config: { 'acme.a': text } }]),
  PLINTH_PLAN_DUPLICATE_KEY: prepared([{ config: { 'platform.a': text } }, { config: { 'platform.a': text } }]),
  PLINTH_PLAN_DUPLICATE_ENVIRONMENT_NAME: prepared([{ config: { 'platform.a-b': text, 'platform.a.b': text } }]),
  PLINTH_PLAN_DUPLICATE_DECLARATION: prepared([
    { permissions: [{ code: 'a', displayName: 'x' }] },
    { permissions: [{ code: 'a', displayName: 'x' }] },
  ]),
  PLINTH_PLAN_GROUP_TITLED_TWICE: prepared([{ configGroups: { a: 'x' } }, { configGroups: { a: 'y' } }]),
  PLINTH_PLAN_TASK_KEY: prepared([
    { scheduledTasks: [{ name: 'a', displayName: 'x', fixedDelay: 'platform.b', autoStartup: true, run() {} }] },
  ]),
  PLINTH_PLAN_TABLES_IN_ROLES: prepared([{ roles: ['web'], migrations: [{ id: '0001-create-a' }] }]),
  PLINTH_CONFIG_UNKNOWN_KEY: prepared([], { set: { 'platform.a': 'x' } }),
  PLINTH_CONFIG_INVALID_VALUE: prepared([], { set: { 'platform.log.level': 'loud' } }),
  PLINTH_CONFIG_REQUIRED: prepared([{ config: { 'platform.a': key.string({ title: 'x', required: true }) } }]),
  PLINTH_CONFIG_DEPRECATED: prepared(
    [{ config: { 'platform.a': key.string({ title: 'x', deprecated: { since: '1.0.0' } }) } }],
    { set: { 'platform.a': 'x' } },
  ),
  PLINTH_CONFIG_SOURCE: prepared([], { envFile: 'no/such/file.env' }),
  PLINTH_CONFIG_UNDECLARED: started([{ setup: ({ config }) => void config.get('platform.log.level' as never) }]),
  PLINTH_PRODUCT_NOT_FOUND: () => loadProduct('no/such/product.ts').catch((error) => [error]) as Promise<Fault[]>,
  PLINTH_PRODUCT_INVALID: () => loadProduct(import.meta.dirname).catch((error) => [error]) as Promise<Fault[]>,
  PLINTH_START_REFUSED: started([{ requires: { missing } }]),
  PLINTH_START_FAILED: started([{ setup: () => Promise.reject(new Error('x')) }]),
  PLINTH_DEADLINE_PASSED: started([{ setup: never }]),
  PLINTH_START_CANCELLED: started([{}], { signal: AbortSignal.abort(new Error('x')) }),
  PLINTH_SERVICE_UNDECLARED: started([{ setup: ({ provide }) => provide(missing, {}) }]),
  PLINTH_SERVICE_NOT_PROVIDED: started([{ provides: [missing] }]),
  PLINTH_SERVICE_PROVIDED_TWICE: started([
    { provides: [missing], setup: ({ provide }) => twice(() => provide(missing, {})) },
  ]),
  PLINTH_SERVICE_UNKNOWN: async () => {
    const running = await startForTest(productOf([]))
    try {
      running.service(missing)
      return []
    } catch (error) {
      return [error as Fault]
    } finally {
      await running.stop('test ended')
    }
  },
  PLINTH_CONTRIBUTION_UNDECLARED: started([{ setup: ({ contribute }) => contribute(point, 'x', {}) }]),
  PLINTH_CONTRIBUTION_DUPLICATE: started([
    {
      extensionPoints: [point],
      contributes: [point],
      setup: ({ contribute }) => twice(() => contribute(point, 'x', {})),
    },
  ]),
  PLINTH_CONTEXT_CLOSED: started([{ setup: ({ onReady, onDrain }) => onReady(() => onDrain(() => {})) }]),
  PLINTH_PARTS_CIRCLE: started([
    { setup: ({ wire }) => void wire<{ a: string; b: string }>()({}, { a: ({ b }) => b, b: ({ a }) => a }) },
  ]),
  PLINTH_PART_FAILED: started([
    {
      setup({ wire }) {
        const a = () => assert.fail('no')
        wire<{ a: string }>()({}, { a })
      },
    },
  ]),
  PLINTH_STOP_FAILED: started([{ setup: ({ onStop }) => onStop(() => Promise.reject(new Error('x'))) }]),
  PLINTH_RESTART_LOOP: () =>
    supervise(join(import.meta.dirname, 'fixtures', 'restless.js'), [], manualClock()).then(
      () => [],
      (error: Fault) => [error],
    ),
  PLINTH_CRASH_LOOP: () =>
    supervise(join(import.meta.dirname, 'fixtures', 'crashing.js'), [join(tmpdir(), `crashes-${process.pid}`), '99'], {
      ...manualClock(),
      sleep: async () => {},
    }).then(
      () => [],
      (error: Fault) => [error],
    ),
  PLINTH_CLI_USAGE: commandLine('strat', '--product', 'fixtures/shop.config.ts'),
  PLINTH_COMMAND_REFUSED: commandLine(
    ...['orders', 'fail', '--business', '--product', 'fixtures/shop.config.ts', '--set', 'platform.shop.password=x'],
  ),
  PLINTH_UNEXPECTED: commandLine(
    ...['orders', 'fail', '--product', 'fixtures/shop.config.ts', '--set', 'platform.shop.password=x'],
  ),
}

t.test('C-002 every coded error comes about, says what happened and what to do', async (t) => {
  t.strictSame(Object.keys(producers).sort(), Object.keys(kernelError.table).sort(), 'the table is complete')
  for (const [code, produce] of Object.entries(producers)) {
    const fault = (await produce()).find((one) => one.code === code)
    if (fault === undefined) {
      t.fail(`${code} did not come about`)
      continue
    }
    t.ok(fault.message.length > 0 && fault.fix.length > 10, code)
    t.notMatch(`${fault.message} ${fault.fix}`, /\{\{\w+|undefined|\[object/, `${code} has every detail filled in`)
  }
})
