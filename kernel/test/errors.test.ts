import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock, rejectsWith, startForTest } from '@plinth/dev/testing'
import { asFunction, extensionPoint, healthCheck, key, service } from '@plinth/kernel'
import { type KernelErrorCode, loadProduct, prepareProduct } from '@plinth/kernel/host'
import t from 'tap'
import { runProgram } from '../src/cli/program.ts'
import type { ProgramEnvironment } from '../src/cli/scope.ts'
import { runSupervised } from '../src/cli/supervisor.ts'
import { kernelError } from '../src/errors/kernel-errors.ts'
import { createSamplePlugin, productOf } from './sample-plugin.ts'

interface Fault {
  readonly code: string
  readonly message: string
  readonly fix: string
}
type Members = Parameters<typeof createSamplePlugin>[1]
type Producer = () => Promise<readonly Fault[]>

const missing = service<object>('missing')
const point = extensionPoint<object>('point')
const text = key.string({ title: 'x', default: 'x' })
const never = () => new Promise<void>(() => {})

const secretWithoutDestination = {
  'platform.p0.host': key.host({ title: 'x', default: '127.0.0.1', reload: 'live' }),
  'platform.p0.password': key.string({ title: 'x', default: '', sensitive: true, reload: 'live' }),
} as const

const twice = (work: () => void) => {
  work()
  work()
}

/** Returns the problems that the planner and the configuration report for these plugins. */
const prepared =
  (plugins: readonly Members[], options: Parameters<typeof prepareProduct>[1] = {}): Producer =>
  async () => {
    const product = productOf(plugins.map((members, index) => createSamplePlugin(`p${index}`, members)))
    const { problems, warnings } = prepareProduct(product, { envFile: false, ...options })
    return [...problems, ...warnings]
  }

/** Returns the error of a failed start and its causes. */
const started =
  (plugins: readonly Members[], options: Parameters<typeof startForTest>[1] = {}): Producer =>
  async () => {
    const clock = manualClock()
    const product = productOf(plugins.map((members, index) => createSamplePlugin(`p${index}`, members)))
    const start = startForTest(product, { clock, ...options })
    const result = start.then((running) => running.stop('test ended'))
    const caught = result.then(
      () => [],
      (error: Fault & { cause?: Fault }) => (error.cause === undefined ? [error] : [error, error.cause]),
    )
    await clock.advance(60_000)
    return caught
  }

/** Returns a product with three tasks. The names of two tasks come from configuration keys. */
function namedTasksProduct(config: Readonly<Record<string, string>> = {}) {
  const task = (name: string, nameFrom?: string) => ({
    name,
    displayName: 'x',
    fixedDelay: 1_000,
    autoStartup: true,
    run: async () => {},
    ...(nameFrom === undefined ? {} : { nameFrom }),
  })
  const name = (value: string) => key.string({ title: 'x', default: value })
  const owner = createSamplePlugin('p0', {
    implements: ['scheduledTasks'],
    config: { 'platform.p0.first': name('p0.first'), 'platform.p0.second': name('p0.second') },
    scheduledTasks: [
      task('p0.first', 'platform.p0.first'),
      task('p0.second', 'platform.p0.second'),
      task('p0.fixed'),
    ] as never,
  })
  return productOf([owner], config)
}

async function namedTasks() {
  const running = await startForTest(namedTasksProduct())
  const verify = (name: string, value: string, stored: Readonly<Record<string, string>> = {}) => {
    const entries = Object.entries({ ...stored, [name]: value }).map(([name, written]) => {
      return { name, by: 'key', written, place: 'row' } as const
    })
    return running.config.verify(name, value, new AbortController().signal, entries)
  }
  return { running, verify }
}

t.test('a scheduled task cannot get a name that another task will have after all changes', async (t) => {
  const { running, verify } = await namedTasks()
  t.teardown(() => running.stop('test ended'))
  const [first, second] = ['platform.p0.first', 'platform.p0.second']
  t.match(await verify(first, 'p0.second'), { outcome: /^refused$/, reason: /"p0\.second".*platform\.p0\.second/ })
  t.same(await verify(first, 'p0.own'), { outcome: 'verified' })
  t.same(await verify(first, 'p0.second', { [second]: 'p0.first' }), { outcome: 'verified' }, 'they change places')
  t.hasStrict(await verify(first, 'p0.same', { [second]: 'p0.same' }), { outcome: 'refused' }, 'what is saved together')
})

t.test('a scheduled task name that is already used is a problem of the source that sets it', async (t) => {
  const problems = (config: Readonly<Record<string, string>>, set: Readonly<Record<string, string>> = {}) =>
    prepareProduct(namedTasksProduct(config), { envFile: false, environment: {}, set }).problems.map(
      ({ code, plugin, place, message }) => {
        t.equal(code, 'PLINTH_CONFIG_TASK_NAME')
        return [plugin, place, message]
      },
    )
  const [first, second] = ['platform.p0.first', 'platform.p0.second']
  t.strictSame(problems({}), [])
  t.strictSame(problems({ [first]: 'p0.second', [second]: 'p0.first' }), [], 'they change places')
  const says = (name: string, other: string) =>
    `The name "${name}" is already used by another scheduled task: ${other}.`
  t.strictSame(problems({}, { [first]: 'p0.second' }), [
    ['p0', `--set ${first}`, says('p0.second', `the one named by ${second}`)],
  ])
  t.strictSame(problems({}, { [second]: 'p0.fixed' }), [
    ['p0', `--set ${second}`, says('p0.fixed', 'a task of plugin "p0"')],
  ])
  t.equal(problems({ [first]: 'p0.same', [second]: 'p0.same' }).length, 2)
  await rejectsWith(t, startForTest(namedTasksProduct({ [first]: 'p0.fixed' })), { code: 'PLINTH_START_REFUSED' })
})

const commandLine =
  (...words: string[]): Producer =>
  () =>
    printedBy(words)

const commandLineWithoutDev =
  (...words: string[]): Producer =>
  () =>
    printedBy(words, { developmentCommands: async () => undefined })

async function printedBy(words: readonly string[], surroundings: Partial<ProgramEnvironment> = {}) {
  let stdout = ''
  const streams = { stdout: { write: (part: string) => (stdout += part) }, stderr: { write: () => {} } }
  const usual = { ...streams, environment: {}, directory: import.meta.dirname }
  await runProgram([...words, '--json'], { ...usual, ...surroundings })
  return [JSON.parse(stdout).error]
}

/** For each error code, a function that causes the error. A missing code is a type error. */
const producers: Readonly<Record<KernelErrorCode, Producer>> = {
  PLINTH_PLAN_INVALID_PLUGIN: prepared([{ id: 'Not A Name' }]),
  PLINTH_PLAN_INVALID_VERSION: prepared([{ version: 'one' }]),
  PLINTH_PLAN_NOT_A_PLUGIN: async () => [
    ...prepareProduct(productOf([missing as never]), { envFile: false, environment: {} }).problems,
  ],
  PLINTH_PLAN_INVALID_REFERENCE: prepared([{ requires: { missing: 'missing' as never } }]),
  PLINTH_PLAN_INVALID_DECLARATION: prepared([{ setupDeadlineMs: '20s' as never }]),
  PLINTH_PLAN_TEXT_IN_ONE_LANGUAGE: prepared([{ title: 'x' }]),
  PLINTH_PLAN_TASK_KEY_TYPE: prepared([
    {
      config: { 'platform.a': text },
      scheduledTasks: [{ name: 'a', displayName: 'x', fixedDelay: 'platform.a', autoStartup: true, run() {} }],
    },
  ]),
  PLINTH_PLAN_UNKNOWN_MEMBER: prepared([{ require: {} } as Members]),
  PLINTH_PLAN_PLUGIN_AS_REFERENCE: prepared([
    { requires: { other: createSamplePlugin('other', { provides: [missing] }) as never } },
  ]),
  PLINTH_PLAN_NOT_IMPLEMENTED: prepared([{ permissions: [{ code: 'a', displayName: 'x' }] }]),
  PLINTH_PLAN_MESSAGES_INCOMPLETE: prepared([{ messages: { en: { a: 'x' }, 'zh-CN': {} } }]),
  PLINTH_PLAN_MESSAGES_PLACEHOLDERS: prepared([{ messages: { en: { a: 'No {id}.' }, 'zh-CN': { a: '没有。' } } }]),
  PLINTH_PLAN_SECRET_DESTINATION: prepared([{ config: secretWithoutDestination }]),
  PLINTH_PLAN_KEY_PERMISSION: prepared([
    { config: { 'platform.a': key.string({ title: 'x', permission: 'p1:save' }) } },
    { permissions: [{ code: 'p1:save', displayName: 'x' }] },
  ]),
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
  PLINTH_CONFIG_SETTINGS_FILE: async () => {
    const config = { 'platform.a': key.string({ title: 'x', default: '.env' }) }
    const product = productOf([createSamplePlugin('p0', { config, settingsFileKey: 'platform.a' })])
    const root = t.testdir({ '.env': 'PLATFORM_A=other.env\n' })
    return prepareProduct({ ...product, root }, { environment: {} }).warnings
  },
  PLINTH_CONFIG_INSECURE: async () => {
    const declared = {
      'platform.a': key.boolean({ title: 'x', default: true, insecure: { is: true, reason: 'Open.' } }),
    }
    const product = productOf([createSamplePlugin('p0', { config: declared })])
    const { config } = prepareProduct(product, { envFile: false, environment: { NODE_ENV: 'production' } })
    return [...config.insecure()]
  },
  PLINTH_CONFIG_OVERRIDDEN: async () => {
    const config = { 'platform.a': key.string({ title: 'x', default: 'x', reload: 'live' }) }
    const running = await startForTest(productOf([createSamplePlugin('p0', { config })]), {
      environment: { PLATFORM_A: 'y' },
    })
    await running.config.apply([{ name: 'platform.a', by: 'key', written: 'z', place: 'row 1' }])
    const found = running.config.overridden()
    await running.stop('test ended')
    return [...found]
  },
  PLINTH_CONFIG_SOURCE: prepared([], { envFile: 'no/such/file.env' }),
  PLINTH_CONFIG_TASK_NAME: async () => {
    const error = kernelError('PLINTH_CONFIG_TASK_NAME', { name: 'p0.fixed', other: 'a task of plugin "p0"' })
    const { running, verify } = await namedTasks()
    const { reason } = await verify('platform.p0.first', 'p0.fixed')
    await running.stop('test ended')
    return reason === error.message ? [error] : []
  },
  PLINTH_CONFIG_UNDECLARED: started([{ setup: ({ config }) => void config.get('platform.log.level' as never) }]),
  PLINTH_NODE_VERSION: async () => {
    let stdout = ''
    const streams = { stdout: { write: (part: string) => (stdout += part) }, stderr: { write: () => {} } }
    const directory = import.meta.dirname
    const words = ['doctor', '--product', 'fixtures/shop.config.ts', '--json']
    await runProgram(words, { ...streams, environment: {}, directory, nodeVersion: '22.0.0' })
    const { findings } = JSON.parse(stdout)
    return findings.map(({ code, detail }: { code: string; detail: string }) => ({
      code,
      message: detail,
      fix: detail,
    }))
  },
  PLINTH_PRODUCT_NOT_FOUND: () => loadProduct('no/such/product.ts').catch((error) => [error]) as Promise<Fault[]>,
  PLINTH_PRODUCT_INVALID: () => loadProduct(import.meta.dirname).catch((error) => [error]) as Promise<Fault[]>,
  PLINTH_PRODUCT_IMPORT: () =>
    loadProduct(join(import.meta.dirname, 'fixtures', 'importing.config.js')).catch((error) => [error]) as Promise<
      Fault[]
    >,
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
  PLINTH_CONTRIBUTION_INVALID: started([
    { contributes: [healthCheck], setup: ({ contribute }) => contribute(healthCheck, 'x', {} as never) },
  ]),
  PLINTH_SETUP_RESULT: started([{ setup: (() => ({ stop() {} })) as never }]),
  PLINTH_CONTEXT_ARGUMENT: started([{ setup: ({ onStop }) => onStop(Promise.resolve() as never) }]),
  PLINTH_NOT_AN_ERROR: started([{ setup: () => Promise.reject('x') }]),
  PLINTH_UNHANDLED_ERROR: async () => [kernelError('PLINTH_UNHANDLED_ERROR', { reason: 'x' })],
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
    {
      setup: ({ wire }) =>
        void wire<{ a: string; b: string }>()({}, { a: asFunction(({ b }) => b), b: asFunction(({ a }) => a) }),
    },
  ]),
  PLINTH_PART_FAILED: started([
    {
      setup({ wire }) {
        const a = asFunction(() => assert.fail('no'))
        wire<{ a: string }>()({}, { a })
      },
    },
  ]),
  PLINTH_STOP_FAILED: started([{ setup: ({ onStop }) => onStop(() => Promise.reject(new Error('x'))) }]),
  PLINTH_RESTART_LOOP: () =>
    runSupervised(join(import.meta.dirname, 'fixtures', 'restless.js'), [], manualClock()).then(
      () => [],
      (error: Fault) => [error],
    ),
  PLINTH_CRASH_LOOP: () =>
    runSupervised(
      join(import.meta.dirname, 'fixtures', 'crashing.js'),
      [join(tmpdir(), `crashes-${process.pid}`), '99'],
      {
        ...manualClock(),
        sleep: async () => {},
      },
    ).then(
      () => [],
      (error: Fault) => [error],
    ),
  PLINTH_PROCESS_ENDED: async () => {
    let stderr = ''
    let end = (_exitCode: number) => {}
    // Standard output contains only the version, so errors are written to standard error.
    const streams = { stdout: { write: () => {} }, stderr: { write: (part: string) => (stderr += part) } }
    const onUnexpectedEnd = (listener: typeof end) => {
      end = listener
    }
    await runProgram(['--version', '--json'], { ...streams, environment: {}, directory: tmpdir(), onUnexpectedEnd })
    stderr = ''
    end(0)
    return [JSON.parse(stderr).error]
  },
  PLINTH_LOCK_MISSING: commandLine('plugins', 'diff', '--product', 'fixtures/greeter.config.ts'),
  PLINTH_LOCK_INVALID: commandLine('plugins', 'diff', '--product', 'fixtures/unlockable/plinth.config.ts'),
  PLINTH_LOCK_UNWRITABLE: commandLine('plugins', 'lock', '--product', 'fixtures/unlockable/plinth.config.ts'),
  PLINTH_PLUGIN_REQUIRED: commandLine(
    'plugins',
    'remove',
    'shop.till',
    '--dry-run',
    '--product',
    'fixtures/shop.config.ts',
  ),
  PLINTH_PLUGIN_IN_USE: commandLine('plugins', 'remove', 'busy', '--yes', '--product', 'fixtures/busy.config.ts'),
  PLINTH_PLUGIN_DATA_REMAINS: commandLine(
    'plugins',
    'remove',
    'sticky',
    '--yes',
    '--product',
    'fixtures/unlockable/plinth.config.ts',
  ),
  PLINTH_DEV_MISSING: commandLineWithoutDev('plugins', 'lock', '--product', 'fixtures/shop.config.ts'),
  PLINTH_CLI_USAGE: commandLine('strat', '--product', 'fixtures/shop.config.ts'),
  PLINTH_COMMAND_REFUSED: commandLine(
    'orders',
    'fail',
    '--business',
    '--product',
    'fixtures/shop.config.ts',
    '--set',
    'platform.shop.password=x',
  ),
  PLINTH_FILE_ACCESS: commandLine(
    'orders',
    'fail',
    '--denied',
    '--product',
    'fixtures/shop.config.ts',
    '--set',
    'platform.shop.password=x',
  ),
  PLINTH_UNEXPECTED: commandLine(
    'orders',
    'fail',
    '--product',
    'fixtures/shop.config.ts',
    '--set',
    'platform.shop.password=x',
  ),
}

t.test('C-002 tests cause every coded error, and each contains the problem and a fix', async (t) => {
  t.strictSame(Object.keys(producers).sort(), Object.keys(kernelError.table).sort(), 'the table is complete')
  for (const [code, produce] of Object.entries(producers)) {
    const problem = (await produce()).find((one) => one.code === code)
    if (problem === undefined) {
      t.fail(`${code} did not come about`)
      continue
    }
    t.ok(problem.message.length > 0 && problem.fix.length > 10, code)
    t.notMatch(`${problem.message} ${problem.fix}`, /\{\{\w+|undefined|\[object/, `${code} has every detail filled in`)
  }
})

t.test('a command of a plugin is not taken for one of @plinth/dev', async (t) => {
  const [error] = await printedBy(['admin', 'create'], { developmentCommands: async () => undefined })
  t.equal(error?.code, 'PLINTH_PRODUCT_NOT_FOUND')
})
