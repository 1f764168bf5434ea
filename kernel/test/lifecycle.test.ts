import assert from 'node:assert/strict'
import { assertMembers, manualClock, rejectsWith, startForTest, throwsWith } from '@plinth/dev/testing'
import {
  extensionPoint,
  type Kernel,
  kernel,
  key,
  optional,
  PlinthError,
  type Plugin,
  type PluginContext,
  service,
  systemClock,
} from '@plinth/kernel'
import {
  type ConfigAdmin,
  configAdmin,
  type DeclaredTasks,
  declaredTasks,
  RunningProduct,
  StopFailedError,
} from '@plinth/kernel/host'
import fc from 'fast-check'
import { pino } from 'pino'
import t from 'tap'
import { createSamplePlugin, productOf } from './sample-plugin.ts'

/** Returns a plugin that records its lifecycle after its own setup. */
function recorded(
  log: string[],
  id: string,
  members: Parameters<typeof createSamplePlugin>[1] = {},
  setup: (context: PluginContext) => void | Promise<void> = () => {},
): Plugin {
  return createSamplePlugin(id, {
    ...members,
    async setup(context) {
      context.onReady(() => void log.push(`ready ${id}`))
      context.onDrain(() => void log.push(`drain ${id}`))
      context.onStop(() => void log.push(`stop ${id}`))
      await setup(context)
      log.push(`setup ${id}`)
    },
  })
}

const stopsIn = (log: readonly string[]) => log.filter((entry) => entry.startsWith('stop'))
const kernelIn = (services: object) => (services as { kernel: Kernel }).kernel

/** Lets started work continue. */
const settled = () => new Promise((resolve) => setImmediate(resolve))

t.test('C-002 K-018 setup and drain go forward, ready and stop go backward, over any acyclic graph', async () => {
  const graph = fc.integer({ min: 1, max: 8 }).chain((size) =>
    fc.record({
      needs: fc.tuple(
        ...Array.from({ length: size }, (_, index) =>
          fc.uniqueArray(fc.nat({ max: Math.max(0, index - 1) }), { maxLength: index }),
        ),
      ),
      listed: fc.shuffledSubarray(
        Array.from({ length: size }, (_, index) => index),
        { minLength: size },
      ),
      resources: fc.integer({ min: 1, max: 3 }),
    }),
  )
  await fc.assert(
    fc.asyncProperty(graph, async ({ needs, listed, resources }) => {
      const log: string[] = []
      const plugins = listed.map((index) =>
        createSamplePlugin(`p${index}`, {
          requires: Object.fromEntries((needs[index] ?? []).map((need) => [`s${need}`, service(`s${need}`)])),
          provides: [service(`s${index}`)],
          async setup({ provide, services, onReady, onDrain, onStop }) {
            assert.deepEqual(Object.values(services), needs[index], 'what it needs is there')
            log.push(`setup ${index}`)
            onReady(() => void log.push(`ready ${index}`))
            onDrain(() => void log.push(`drain ${index}`))
            for (let at = 0; at < resources; at++) onStop(() => void log.push(`stop ${index}.${at}`))
            await settled()
            provide(service(`s${index}`), index)
          },
        }),
      )
      const running = await startForTest(productOf(plugins))
      await running.stop('test ended')
      const phase = (name: string) => log.filter((entry) => entry.startsWith(name)).map((entry) => entry.split(' ')[1])
      const order = phase('setup')
      assert.deepEqual(order.length, listed.length)
      assert.deepEqual(
        order.map((index) => `p${index}`),
        running.plugins.map(({ id }) => id),
      )
      for (const [index, entry] of order.entries()) {
        for (const need of needs[Number(entry)] ?? []) assert.ok(order.indexOf(String(need)) < index)
      }
      assert.deepEqual(phase('ready'), order.toReversed())
      assert.deepEqual(phase('drain'), order)
      const released = order.flatMap((index) => Array.from({ length: resources }, (_, at) => `${index}.${at}`))
      assert.deepEqual(phase('stop'), released.toReversed(), 'the last resource goes first')
      const phases = log.map((entry) => ['setup', 'ready', 'drain', 'stop'].indexOf(entry.split(' ')[0] ?? ''))
      assert.deepEqual(phases, phases.toSorted(), 'no phase begins before the one before it has ended')
    }),
    { numRuns: 60 },
  )
})

t.test(
  'K-018 a failure in setup or ready stops the started plugins in reverse order, and one error names the plugin',
  async (t) => {
    for (const phase of ['setup', 'ready'] as const) {
      const log: string[] = []
      const cause = new Error('the shelf is full.')
      const failing = recorded(log, 'failing', { requires: { a: service('a') } }, ({ onReady, onStop }) => {
        onStop(() => void log.push('half-opened resource'))
        if (phase === 'setup') throw cause
        onReady(() => Promise.reject(cause))
      })
      const first = recorded(log, 'first', { provides: [service('a')] }, ({ provide }) => provide(service('a'), 1))
      const after = recorded(log, 'after')
      const error: unknown = await startForTest(productOf([first, failing, after])).catch((thrown) => thrown)
      t.ok(error instanceof PlinthError)
      t.match(error, {
        code: /^PLINTH_START_FAILED$/,
        message: `Plugin "failing" failed in ${phase}: the shelf is full.`,
        fix: 'Correct the cause and start again. All plugins that had already started were stopped.',
        cause,
      })
      t.strictSame(
        log,
        phase === 'setup'
          ? ['setup first', 'drain first', 'drain failing', 'half-opened resource', 'stop failing', 'stop first']
          : [
              'setup first',
              'setup failing',
              'setup after',
              'ready after',
              'ready failing',
              'drain first',
              'drain failing',
              'drain after',
              'stop after',
              'half-opened resource',
              'stop failing',
              'stop first',
            ],
        phase,
      )
    }
  },
)

t.test('K-018 a plugin that does not provide what it declares fails the start with a fix', async (t) => {
  const store = service<object>('store')
  const point = extensionPoint<object>('point')
  const owner = createSamplePlugin('owner', { extensionPoints: [point] })
  const cases: [string, Parameters<typeof createSamplePlugin>[1], RegExp, RegExp][] = [
    [
      'PLINTH_SERVICE_NOT_PROVIDED',
      { provides: [store], setup() {} },
      /declares service "store"/,
      /context.provide\(\)/,
    ],
    ['PLINTH_SERVICE_UNDECLARED', { setup: ({ provide }) => provide(store, {}) }, /service "store"/, /provides/],
    ['PLINTH_SERVICE_UNDECLARED', { setup: ({ own }) => void own(store) }, /service "store"/, /provides/],
    [
      'PLINTH_SERVICE_PROVIDED_TWICE',
      {
        provides: [store],
        setup({ provide }) {
          provide(store, {})
          provide(store, {})
        },
      },
      /provided service "store" twice/,
      /once/,
    ],
    [
      'PLINTH_CONTRIBUTION_UNDECLARED',
      { setup: ({ contribute }) => contribute(point, 'x', {}) },
      /extension point "point"/,
      /contributes/,
    ],
    [
      'PLINTH_CONTRIBUTION_UNDECLARED',
      { contributes: [point], setup: ({ contributions }) => void contributions(point) },
      /extension point "point"/,
      /extensionPoints/,
    ],
    [
      'PLINTH_CONTRIBUTION_DUPLICATE',
      {
        contributes: [point],
        setup({ contribute }) {
          contribute(point, 'x', {})
          contribute(point, 'x', {})
        },
      },
      /contributed "x" to "point", but plugin "breaker" already uses that name/,
      /another name/,
    ],
    [
      'PLINTH_CONFIG_UNDECLARED',
      { setup: ({ config }) => void config.get('platform.log.level' as never) },
      /read key "platform.log.level"/,
      /Declare the key/,
    ],
  ]
  for (const [code, members, message, fix] of cases) {
    const error = (await startForTest(productOf([owner, createSamplePlugin('breaker', members)])).catch(
      (thrown) => thrown,
    )) as PlinthError
    t.equal(error.code, 'PLINTH_START_FAILED', code)
    t.ok(error.message.startsWith(`Plugin "breaker" failed in setup: ${code}: `), error.message)
    t.match(error.message, message)
    t.match(error.fix, fix)
    t.equal((error.cause as PlinthError).code, code)
  }

  let late: PluginContext | undefined
  const patient = createSamplePlugin('patient', {
    provides: [store],
    contributes: [point],
    setup(context) {
      context.provide(store, {})
      late = context
    },
  })
  const running = await startForTest(productOf([owner, patient]))
  for (const [member, call] of Object.entries({
    provide: () => late?.provide(store, {}),
    contribute: () => late?.contribute(point, 'x', {}),
    onReady: () => late?.onReady(() => {}),
    onDrain: () => late?.onDrain(() => {}),
  })) {
    throwsWith(t, call, {
      code: 'PLINTH_CONTEXT_CLOSED',
      message: new RegExp(`called ${member}\\(\\) after its setup had ended`),
    })
  }
  t.strictSame(late?.own(store), running.service(store), 'its own service stays in reach')
  throwsWith(t, () => running.service(service('nobody', { from: '@acme/nobody' })), {
    code: 'PLINTH_SERVICE_UNKNOWN',
    fix: 'Add @acme/nobody to the product file.',
  })
  await running.stop('test ended')
})

t.test(
  'K-018 a setup that exceeds its deadline is cancelled, and resources that it opens later are released immediately',
  async (t) => {
    const clock = manualClock()
    const log: string[] = []
    const gate = Promise.withResolvers<void>()
    let aborted: unknown
    let context: PluginContext | undefined
    const config = { 'platform.slow.size': key.integer({ title: 'Size', default: 1, reload: 'live' }) }
    const slow = createSamplePlugin('slow', {
      config,
      async setup(own) {
        const { onStop, signal, provide, config: view } = own
        context = own
        onStop(() => void log.push('early resource'))
        signal.addEventListener('abort', () => {
          aborted = signal.reason
        })
        await gate.promise
        onStop(() => void log.push('late resource'))
        onStop(() => Promise.reject(new Error('cannot be released')))
        view.onChange('platform.slow.size', () => {
          log.push('a listener that outlives its plugin')
        })
        assert.throws(() => provide(service('x'), 1), { code: 'PLINTH_CONTEXT_CLOSED' })
        log.push('late end')
      },
    })
    const reader = recorded(log, 'reader', { requires: { configAdmin } }, ({ services }) => {
      values = (services as unknown as { configAdmin: ConfigAdmin }).configAdmin
    })
    let values: ConfigAdmin | undefined
    const start = startForTest(productOf([reader, slow]), { clock }).catch((error: unknown) => error)
    await clock.advance(29_999)
    t.strictSame(log, ['setup reader'])
    t.equal(aborted, undefined)
    await clock.advance(1)
    t.match(await start, {
      code: /^PLINTH_DEADLINE_PASSED$/,
      message: 'Plugin "slow" did not finish setup within 30000 ms.',
      fix: 'platform.kernel.setup-deadline',
    })
    t.hasStrict(aborted, { code: 'PLINTH_DEADLINE_PASSED' })
    t.strictSame(log, ['setup reader', 'drain reader', 'early resource', 'stop reader'])
    t.equal(clock.sleepers, 0, 'no timer is left')

    gate.resolve()
    await settled()
    t.strictSame(log.splice(4), ['late end', 'late resource'])
    context?.onStop(() => void log.push('even later resource'))
    await settled()
    t.strictSame(log.splice(4), ['even later resource'])
    await values?.apply([{ name: 'platform.slow.size', by: 'key', written: 2, place: 'row 1' }])
    t.notOk(log.includes('a listener that outlives its plugin'))
  },
)

t.test('K-018 every deadline can be set: of one plugin, of all, of ready, of drain and of stop', async (t) => {
  const never = () => new Promise<void>(() => {})
  const started = async (
    members: Parameters<typeof createSamplePlugin>[1],
    set: Record<string, string>,
    ms: number,
  ) => {
    const clock = manualClock()
    const result = startForTest(productOf([createSamplePlugin('slow', members)]), { clock, set }).catch(
      (error: unknown) => error,
    )
    await clock.advance(ms)
    return Promise.race([result, settled().then(() => 'still starting')])
  }
  const late = (phase: string, ms: number) => ({
    code: 'PLINTH_DEADLINE_PASSED',
    message: `Plugin "slow" did not finish ${phase} within ${ms} ms.`,
  })
  t.match(await started({ setup: never, setupDeadlineMs: 50 }, {}, 50), late('setup', 50))
  t.equal(await started({ setup: never, setupDeadlineMs: 60_000 }, {}, 30_000), 'still starting')
  t.match(await started({ setup: never }, { 'platform.kernel.setup-deadline': '2s' }, 2000), late('setup', 2000))
  const slowDoor: Parameters<typeof createSamplePlugin>[1] = {
    setup: ({ onReady }) => onReady(never),
    setupDeadlineMs: 1,
  }
  t.match(await started(slowDoor, { 'platform.kernel.setup-deadline': '2s' }, 2000), late('ready', 2000))

  const clock = manualClock()
  const log: string[] = []
  const busy = createSamplePlugin('busy', {
    setup({ onDrain, onStop }) {
      onDrain(async (signal) => {
        await clock.sleep(8000, signal)
        log.push(`drained at ${clock.monotonic()}`)
      })
      onDrain(async (signal) => {
        await clock.sleep(12_000, signal)
        log.push(`drain ${signal.aborted ? 'cut' : 'done'} at ${clock.monotonic()}`)
      })
      onStop(() => void log.push(`released at ${clock.monotonic()}`))
      onStop(never)
    },
  })
  const running = await startForTest(productOf([busy]), { clock })
  const stop = running.stop('test ended').catch((error: unknown) => error)
  t.equal(running.state, 'draining')
  await clock.advance(60_000)
  t.strictSame(log, ['drained at 8000', 'drain cut at 10000', 'released at 15000'])
  const error = await stop
  t.match(error, {
    code: /^PLINTH_STOP_FAILED$/,
    message:
      'The product stopped with 2 error(s).\n' +
      '  busy in drain: Plugin "busy" did not finish drain within 10000 ms.\n' +
      '  busy in stop: Plugin "busy" did not finish stop within 5000 ms.',
  })
  t.equal(running.state, 'stopped')
  t.equal(clock.sleepers, 0)
})

t.test(
  'K-018 while a plugin is slow, the log reports every five seconds which plugin the product waits for',
  async (t) => {
    const clock = manualClock()
    const lines: { msg: string; durationMs?: number }[] = []
    const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) })
    const slow = createSamplePlugin('slow', { setup: ({ signal }) => clock.sleep(12_000, signal) })
    const started = startForTest(productOf([createSamplePlugin('quick'), slow]), { clock, logger })
    await clock.advance(12_000)
    const running = await started
    t.teardown(() => running.stop('test ended'))
    assertMembers(
      t,
      lines.filter(({ msg }) => msg.startsWith('still')),
      [
        { plugin: 'slow', phase: 'setup', msg: 'still in setup: slow', durationMs: 5000 },
        { plugin: 'slow', phase: 'setup', msg: 'still in setup: slow', durationMs: 10_000 },
      ],
    )
    t.equal(lines.at(-1)?.msg, 'started')
    t.equal(clock.sleepers, 0, 'and nothing waits any more')
  },
)

t.test('K-018 all plugins drain at the same time, and no plugin uses up the time of the others', async (t) => {
  const clock = manualClock()
  const log: string[] = []
  const draining = (id: string, ms: number) =>
    createSamplePlugin(id, {
      setup({ onDrain, onStop }) {
        onDrain(async (signal) => {
          log.push(`${id} begins at ${clock.monotonic()}`)
          await clock.sleep(ms, signal)
          log.push(`${id} ${signal.aborted ? 'cut' : 'done'} at ${clock.monotonic()}`)
        })
        onStop(() => void log.push(`${id} stops`))
      },
    })
  const plugins = [draining('door', 60_000), draining('worker', 4_000), draining('other', 9_000)]
  const running = await startForTest(productOf(plugins), { clock })
  const stop = running.stop('test ended').catch((error: unknown) => error)
  await clock.advance(0)
  t.strictSame(log, ['door begins at 0', 'worker begins at 0', 'other begins at 0'])
  log.length = 0
  await clock.advance(10_000)
  t.match(await stop, { code: /^PLINTH_STOP_FAILED$/, message: /door in drain/ })
  t.strictSame(log.slice(0, 3), ['worker done at 4000', 'other done at 9000', 'door cut at 10000'])
  t.strictSame(stopsIn(log.map((entry) => entry.replace(/(\w+) stops/, 'stop $1'))), [
    'stop other',
    'stop worker',
    'stop door',
  ])
})

t.test('K-018 a plugin that throws while it stops does not prevent other resources from being released', async (t) => {
  const log: string[] = []
  const faulty = recorded(log, 'faulty', {}, ({ onDrain, onStop }) => {
    onStop(() => Promise.reject(new Error('no route')))
    onStop(() => {
      throw new Error('already closed')
    })
    onDrain(() => {
      throw 'not even an error'
    })
  })
  const running = await startForTest(productOf([recorded(log, 'first'), faulty, recorded(log, 'last')]))
  log.length = 0
  const first = running.stop('test ended')
  const second = running.stop('again')
  t.equal(first, second, 'a second call waits for the first')
  const error = (await first.catch((thrown: unknown) => thrown)) as StopFailedError
  t.ok(error instanceof StopFailedError)
  t.match(error, { code: /^PLINTH_STOP_FAILED$/, fix: 'Correct the hooks listed above' })
  t.equal(
    error.message,
    'The product stopped with 3 error(s).\n' +
      '  faulty in drain: not even an error\n' +
      '  faulty in stop: already closed\n' +
      '  faulty in stop: no route',
  )
  assertMembers(t, error.errors, ['not even an error', { message: 'already closed' }, { message: 'no route' }])
  t.strictSame(log, ['drain first', 'drain faulty', 'drain last', 'stop last', 'stop faulty', 'stop first'])
  await rejectsWith(t, running.stopped, { code: 'PLINTH_STOP_FAILED' })
  await rejectsWith(t, running.stop('once more'), { code: 'PLINTH_STOP_FAILED' })
  t.strictSame(log.length, 6, 'nothing is stopped twice')
})

t.test('K-018 a stop or a signal during the start cancels the start and undoes it', async (t) => {
  const clock = manualClock()
  const log: string[] = []
  const outer = new AbortController()
  const waiting = recorded(log, 'waiting', {}, ({ signal }) => clock.sleep(1000, signal))
  const start = startForTest(productOf([recorded(log, 'first'), waiting, recorded(log, 'after')]), {
    clock,
    signal: outer.signal,
  }).catch((error: unknown) => error)
  await clock.advance(10)
  outer.abort(new Error('SIGTERM received'))
  t.match(await start, { code: /^PLINTH_START_CANCELLED$/, message: 'The start was cancelled: SIGTERM received.' })
  await settled()
  t.equal(clock.sleepers, 0)
  t.strictSame(stopsIn(log), ['stop waiting', 'stop first'])

  log.length = 0
  await rejectsWith(
    t,
    startForTest(productOf([recorded(log, 'first')]), { signal: AbortSignal.abort(new Error('too late')) }),
    {
      code: 'PLINTH_START_CANCELLED',
      message: 'The start was cancelled: too late.',
    },
  )
  t.strictSame(log, [], 'nothing was set up')

  for (const phase of ['setup', 'ready'] as const) {
    log.length = 0
    const quitter = recorded(log, 'quitter', { requires: { kernel } }, ({ services, onReady }) => {
      const quit = () => kernelIn(services).requestRestart('out of paper')
      if (phase === 'setup') quit()
      else onReady(quit)
    })
    const error = await startForTest(productOf([recorded(log, 'first'), quitter])).catch((thrown: unknown) => thrown)
    t.match(error, { code: /^PLINTH_START_CANCELLED$/, message: 'The start was cancelled: restart: out of paper.' })
    t.strictSame(stopsIn(log), ['stop quitter', 'stop first'], phase)
  }

  for (let delay = 0; delay < 20; delay++) {
    const hasty = createSamplePlugin('hasty', {
      requires: { kernel },
      setup({ services, onReady }) {
        onReady(() => {
          let turn = Promise.resolve()
          for (let index = 0; index < delay; index++) turn = turn.then(() => {})
          turn.then(() => {
            kernelIn(services).requestRestart('changed its mind')
          })
        })
      },
    })
    const result = await startForTest(productOf([hasty])).catch((thrown: unknown) => thrown)
    await settled()
    if (result instanceof RunningProduct) await result.stopped
    const isUnwound = result instanceof PlinthError && result.code === 'PLINTH_START_CANCELLED'
    t.ok(isUnwound || (result as Kernel).state === 'stopped', `a stop ${delay} turns after the last hook is heard`)
  }

  const stopped = new AbortController()
  const running = await startForTest(productOf([recorded(log, 'first')]), { signal: stopped.signal })
  stopped.abort(new Error('too late'))
  await settled()
  t.equal(running.state, 'ready', 'the signal is for the start only')
  await running.stop('test ended')
})

t.test('C-002 contributors come before the owner of the point; absent optional services are undefined', async (t) => {
  const point = extensionPoint<() => string>('phrases')
  const seen: string[] = []
  const owner = createSamplePlugin('owner', {
    extensionPoints: [point],
    requires: {
      absent: { kind: 'optional', ref: service('absent') },
      present: { kind: 'optional', ref: service('present') },
    },
    setup({ contributions, services }) {
      seen.push(...[...contributions(point)].map(([name, phrase]) => `${name}: ${phrase()}`))
      seen.push(JSON.stringify({ absent: null, ...services }))
      seen.push(String('absent' in services))
    },
  })
  const contributor = createSamplePlugin('contributor', {
    contributes: [point],
    provides: [service('present')],
    setup({ contribute, provide }) {
      contribute(point, 'greeting', () => 'hello')
      provide(service('present'), 'here')
    },
  })
  const running = await startForTest(productOf([owner, contributor]))
  t.strictSame(seen, ['greeting: hello', '{"present":"here"}', 'true'])
  t.strictSame([...running.contributions(point).keys()], ['greeting'])
  t.throws(
    () => ((running.runtimeOf('owner') as { roles: unknown }).roles = new Set()),
    TypeError,
    'a context is frozen',
  )
  await running.stop('test ended')
})

t.test('C-002 a live point is read at use, so that a contributor may build on its owner', async (t) => {
  interface Login {
    ask(): string[]
  }
  const login = service<Login>('login')
  const guards = extensionPoint<() => string>('guards', { live: true })
  let atSetUp = 0
  const owner = createSamplePlugin('owner', {
    provides: [login],
    extensionPoints: [guards],
    setup({ provide, contributions }) {
      const all = contributions(guards)
      atSetUp = all.size
      provide(login, { ask: () => [...all.values()].map((guard) => guard()) })
    },
  })
  const guarding = createSamplePlugin('guarding', {
    requires: { login },
    contributes: [guards, optional(extensionPoint<number>('of-nobody'))],
    setup({ contribute }) {
      contribute(guards, 'guarding', () => 'asked')
      contribute(extensionPoint<number>('of-nobody'), 'guarding', 1)
    },
  })
  const running = await startForTest(productOf([guarding, owner]))
  t.teardown(() => running.stop('test ended'))
  t.same(
    running.plugins.map(({ id }) => id),
    ['owner', 'guarding'],
  )
  t.equal(atSetUp, 0)
  t.same(running.service(login).ask(), ['asked'])
  const waits = createSamplePlugin('waits', { ...owner, extensionPoints: [extensionPoint('guards')] } as never)
  await t.rejects(startForTest(productOf([guarding, waits])), /PLINTH_PLAN_DEPENDENCY_CYCLE/, 'not live: a circle')
})

t.test('C-002 a provider can give each consumer a separate implementation, and knows the consumer', async (t) => {
  interface Greeter {
    greet(): string
  }
  const greeter = service<Greeter>('greeter')
  const made: string[] = []
  const greeted: Record<string, Greeter> = {}
  const consumer = (id: string) =>
    createSamplePlugin(id, {
      requires: { greeter, again: optional(greeter) },
      setup({ services }) {
        const { greeter, again } = services as { greeter: Greeter; again: Greeter }
        t.equal(again, greeter, 'one plugin has one')
        greeted[id] = greeter
      },
    })
  const provider = createSamplePlugin('host', {
    provides: [greeter],
    commands: [{ name: 'greet', summary: 'x', run: ({ own }) => void own(greeter).greet() }],
    setup({ provideEach }) {
      provideEach(greeter, ({ id, version }) => {
        made.push(id)
        return { greet: () => `hello ${id} ${version}` }
      })
    },
  })
  const running = await startForTest(productOf([consumer('b'), provider, consumer('a')]))
  t.teardown(() => running.stop('test ended'))
  t.same(
    Object.values(greeted).map((one) => one.greet()),
    ['hello b 1.0.0', 'hello a 1.0.0'],
  )
  t.match(running.service(greeter).greet(), /^hello kernel /, 'for every way to start the product')
  t.equal(running.runtimeOf('host')?.own(greeter).greet(), 'hello host 1.0.0', 'the provider itself')
  t.equal(running.service(greeter), running.service(greeter))
  t.same(made, ['b', 'a', 'kernel', 'host'], 'each is made once')
})

t.test('K-018 the kernel tells plugins about tasks, states and durations', async (t) => {
  const clock = manualClock()
  const notes: string[] = []
  const states: string[] = []
  const earlyNames: string[] = []
  const task = { displayName: 'x', required: true, retryable: true, isCompleted: () => false }
  const config = {
    'platform.sweep.interval': key.duration({ title: 'Interval', default: '1m', reload: 'live' }),
    'platform.sweep.enabled': key.boolean({ title: 'Enabled', default: true, reload: 'live' }),
    'platform.sweep.name': key.string({ title: 'Name', default: 'sweep' }),
  }
  const worker = createSamplePlugin('worker', {
    config,
    requires: { kernel },
    scheduledTasks: [
      {
        name: 'sweep',
        nameFrom: 'platform.sweep.name',
        displayName: 'Sweep',
        fixedDelay: 'platform.sweep.interval',
        autoStartup: 'platform.sweep.enabled',
        run: ({ plugin: { id }, signal }) => void notes.push(`${id} swept, ${signal.aborted}`),
      },
      { name: 'count', displayName: 'Count', fixedDelay: 5, autoStartup: false, run() {} },
    ],
    installTasks: [
      { ...task, code: 'finish', order: 1, dependencies: ['prepare', 'absent'], run: ({ note }) => note('finished') },
      { ...task, code: 'zip', order: 0, run() {} },
      { ...task, code: 'arrange', order: 0, run() {} },
    ],
    async setup({ services, onReady, onDrain, onStop }) {
      const product = kernelIn(services)
      await clock.sleep(40)
      states.push(product.state)
      onReady(() => void states.push(product.state))
      onDrain(() => void states.push(product.state))
      onStop(() => void states.push(product.state))
    },
  })
  const other = createSamplePlugin('other', { installTasks: [{ ...task, code: 'prepare', order: 9, run() {} }] })
  // This plugin is set up before the plugins whose tasks it lists, like a scheduler.
  const early = createSamplePlugin('early', {
    requires: { declaredTasks },
    setup({ services }) {
      const { scheduledTasks } = services['declaredTasks'] as DeclaredTasks
      earlyNames.push(...scheduledTasks.map(({ name }) => name))
    },
  })
  const start = startForTest(productOf([early, worker, other]), {
    clock,
    set: { 'platform.sweep.name': 'sweep.nightly' },
  })
  await clock.advance(40)
  const running = await start

  t.strictSame(
    running.scheduledTasks.map(({ name }) => name),
    ['sweep.nightly', 'count'],
    'a task is named by its key',
  )
  t.strictSame(earlyNames, ['sweep.nightly', 'count'])
  t.strictSame(
    running.installTasks.map(({ code, plugin }) => `${plugin}: ${code}`),
    ['worker: arrange', 'worker: zip', 'other: prepare', 'worker: finish'],
    'by base order and code, dependencies first',
  )
  const { signal } = new AbortController()
  await running.installTasks.at(-1)?.run(signal, (text) => notes.push(text))
  await running.installTasks.at(-1)?.run(signal)
  t.equal(await running.installTasks[0]?.isCompleted(signal), false)
  const [sweep, count] = running.scheduledTasks
  t.strictSame(
    [sweep?.fixedDelayMs(), sweep?.autoStartup(), count?.fixedDelayMs(), count?.autoStartup()],
    [60_000, true, 5, false],
  )
  await running.config.apply([
    { name: 'platform.sweep.interval', by: 'key', text: '2m', place: 'row 1' },
    { name: 'platform.sweep.enabled', by: 'key', text: 'false', place: 'row 2' },
  ])
  t.strictSame([sweep?.fixedDelayMs(), sweep?.autoStartup()], [120_000, false], 'a live change counts')
  await sweep?.run(signal)
  t.strictSame(notes, ['finished', 'worker swept, false'])

  await running.stop('test ended')
  t.strictSame(states, ['starting', 'starting', 'draining', 'draining'])
  t.strictSame(
    running.timeline.filter(({ plugin }) => plugin !== 'early'),
    [
      { plugin: 'worker', phase: 'setup', startedAtMs: 0, durationMs: 40, outcome: 'ok' },
      { plugin: 'other', phase: 'setup', startedAtMs: 40, durationMs: 0, outcome: 'ok' },
      ...(['ready', 'drain', 'stop'] as const).map((phase) => {
        return { plugin: 'worker', phase, startedAtMs: 40, durationMs: 0, outcome: 'ok' }
      }),
    ],
  )
})

t.test(
  'K-018 the clocks: sleepers wake in order, immediately on abort, and never later than a timer can hold',
  async (t) => {
    const clock = manualClock(5)
    const woken: string[] = []
    const wake = (name: string) => () => void woken.push(`${name} at ${clock.monotonic()}`)
    const abort = new AbortController()
    clock.sleep(30).then(wake('c'))
    clock.sleep(10).then(() => clock.sleep(10).then(wake('b')))
    clock.sleep(10).then(wake('a'))
    clock.sleep(100, abort.signal).then(wake('aborted'))
    await clock.sleep(100, AbortSignal.abort())
    abort.abort()
    await clock.advance(30)
    t.strictSame(woken, ['aborted at 0', 'a at 10', 'b at 20', 'c at 30'])
    t.equal(clock.now(), 35)
    clock.shiftWallClock(-20)
    t.strictSame([clock.now(), clock.monotonic()], [15, 30])

    await systemClock.sleep(0)
    await systemClock.sleep(1000, AbortSignal.abort())
    const long = new AbortController()
    let isAwake = false
    const sleep = systemClock.sleep(2 ** 40, long.signal).then(() => {
      isAwake = true
    })
    await systemClock.sleep(5)
    t.notOk(isAwake, 'a wait beyond the range of a timer does not end at once')
    long.abort()
    await sleep
    const before = systemClock.monotonic()
    t.ok(systemClock.monotonic() >= before)
    t.ok(Math.abs(systemClock.now() - Date.now()) < 1000)
  },
)
