/**
 * Tests of the types: each line that must not compile has `@ts-expect-error`, so that the type check fails if it
 * compiles. At run time only the valid lines are checked.
 */
import {
  type ConfigView,
  definePlugin,
  defineProduct,
  extensionPoint,
  healthCheck,
  type Kernel,
  kernel,
  key,
  type NotificationChannel,
  notificationChannel,
  optional,
  type PluginContext,
  type ScheduledTask,
  type ServicesOf,
  service,
} from '@plinth/kernel'
import type { BoundInstallTask } from '@plinth/kernel/host'
import t from 'tap'

interface Mailer {
  send(to: string): Promise<number>
}
interface Audit {
  write(line: string): void
}
const mailer = service<Mailer>('mailer')
const audit = service<Audit>('audit')
const phrases = extensionPoint<() => string>('phrases')
const identity = { version: '1.0.0', kernel: '^1.0.0' } as const

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <_Fact extends true>() => true

t.test(
  'C-002 a context has exactly the declared services, and an optional service only if it is present',
  async (t) => {
    const requires = { mail: mailer, audit: optional(audit), kernel }
    t.ok(
      holds<
        Equal<
          ServicesOf<typeof requires>,
          { readonly mail: Mailer; readonly audit: Audit | undefined; readonly kernel: Kernel }
        >
      >(),
    )
    definePlugin({
      id: 'user',
      ...identity,
      requires,
      setup({ services }) {
        services.mail.send('a').then((count) => count.toFixed())
        services.audit?.write('sent')
        services.kernel.state satisfies 'starting' | 'ready' | 'draining' | 'stopped'
        // @ts-expect-error an optional service may be absent
        services.audit.write('sent')
        // @ts-expect-error nobody declared it
        services.mailer
        // @ts-expect-error the service has no such member
        services.mail.receive()
        // @ts-expect-error services are not to be replaced
        services.mail = { send: async () => 1 }
      },
    })
    definePlugin({
      id: 'loner',
      ...identity,
      setup({ services }) {
        // @ts-expect-error a plugin without requirements has no services
        services.mail
      },
    })
    // @ts-expect-error a reference, not its id
    definePlugin({ id: 'x', ...identity, requires: { mail: 'mailer' } })
    // @ts-expect-error a service is no extension point
    definePlugin({ id: 'x', ...identity, contributes: [mailer] })
    // @ts-expect-error an extension point is no service
    definePlugin({ id: 'x', ...identity, requires: { phrases } })
    // @ts-expect-error only a service or a point can be optional
    optional('phrases')
    // @ts-expect-error a plugin has a version
    definePlugin({ id: 'x', kernel: '^1.0.0' })
    // @ts-expect-error there is no such role
    definePlugin({ id: 'x', ...identity, roles: ['batch'] })
    // @ts-expect-error a product is made of plugins
    defineProduct({ name: 'x', plugins: [{ id: 'x', ...identity }] })
  },
)

t.test('C-002 services and contributions of a plugin have the type of their reference', async (t) => {
  const channel: NotificationChannel = {
    displayName: 'x',
    recipientKinds: [],
    traits: { idempotent: false },
    send: async () => ({ outcome: 'accepted' }),
  }
  const plugin = definePlugin({
    id: 'provider',
    ...identity,
    provides: [mailer],
    extensionPoints: [phrases],
    contributes: [notificationChannel, healthCheck],
    setup({ provide, contribute, contributions, own, signal, onDrain, onStop }) {
      provide(mailer, { send: async (to) => to.length })
      own(mailer).send('a')
      contribute(notificationChannel, 'acme', channel)
      contribute(healthCheck, 'acme', (inner) => inner.throwIfAborted())
      for (const [name, phrase] of contributions(phrases)) holds<Equal<typeof phrase, () => string>>() && name.at(0)
      signal satisfies AbortSignal
      onDrain((inner) => inner.throwIfAborted())
      onStop(async () => {})
      // @ts-expect-error it promises a number
      provide(mailer, { send: async (to) => to })
      // @ts-expect-error a channel is more than a function
      contribute(notificationChannel, 'acme', () => {})
      // @ts-expect-error an outcome is one of four
      contribute(notificationChannel, 'acme', { ...channel, send: async () => ({ outcome: 'sent' }) })
      // @ts-expect-error a rejection says why
      contribute(notificationChannel, 'acme', { ...channel, send: async () => ({ outcome: 'rejected' }) })
      // @ts-expect-error a view is not to be written
      contributions(phrases).set('x', () => 'x')
    },
  })
  t.equal(plugin.id, 'provider')
  t.throws(() => Object.assign(plugin, { id: 'other' }), TypeError)
})

t.test('C-002 a plugin provides, uses and contributes what its declaration lists, and nothing else', async (t) => {
  const provides = [audit] as const
  const task = (run: ScheduledTask<{ provides: typeof provides }>['run']) =>
    ({ name: 'x', displayName: 'x', fixedDelay: 1, autoStartup: true, run }) as const
  const others = extensionPoint<(text: string) => number>('others')
  const plugin = definePlugin({
    id: 'narrow',
    ...identity,
    provides,
    extensionPoints: [phrases],
    contributes: [others],
    setup(context) {
      const { provide, provideEach, own, contribute, contributions } = context
      provide(audit, { write() {} })
      provideEach(audit, ({ id, version }) => ({ write: (line) => void `${id} ${version} ${line}` }))
      own(audit).write('x')
      contribute(others, 'a', (text) => text.length)
      // @ts-expect-error it is not in `provides`
      provide(mailer, { send: async () => 1 })
      // @ts-expect-error it is not in `provides`
      provideEach(mailer, () => ({ send: async () => 1 }))
      // @ts-expect-error the wrong implementation for a consumer
      provideEach(audit, ({ id }) => id)
      // @ts-expect-error it is no service of its own
      own(mailer)
      // @ts-expect-error it is not in `contributes`
      contribute(phrases, 'a', () => 'x')
      // @ts-expect-error it is not in `extensionPoints`
      contributions(others)
      // @ts-expect-error the wrong implementation of the service
      provide(audit, { write: 3 })
      // @ts-expect-error the wrong implementation for the point
      contribute(others, 'a', (text) => text)
    },
    scheduledTasks: [
      task(({ own }) => own(audit).write('x')),
      {
        ...task(() => {}),
        run({ own }) {
          own(audit).write('x')
          // @ts-expect-error it is no service of its own
          own(mailer)
        },
      },
    ],
    commands: [
      {
        name: 'x',
        summary: 'x',
        run({ own }) {
          own(audit).write('x')
          // @ts-expect-error it is no service of its own
          own(mailer)
        },
      },
    ],
  })
  definePlugin({
    id: 'bare',
    ...identity,
    setup({ provide, contribute, contributions, own }) {
      // @ts-expect-error a plugin that declares no service provides none
      provide(mailer, { send: async () => 1 })
      // @ts-expect-error nor has one of its own
      own(mailer)
      // @ts-expect-error it contributes nowhere
      contribute(phrases, 'a', () => 'x')
      // @ts-expect-error it owns no point
      contributions(phrases)
    },
  })
  const mailing: ScheduledTask<{ requires: { mail: typeof mailer } }> = {
    ...task(() => {}),
    run: ({ services }) => void services.mail.send('x'),
  }
  const wider = service<Mailer & Audit>('wider')
  definePlugin({
    id: 'strict',
    ...identity,
    provides: [mailer],
    setup({ provide }) {
      // @ts-expect-error a service that can do more is another one
      provide(wider, { send: async () => 1, write() {} })
    },
  })
  // @ts-expect-error a task of a plugin that requires a service which this one does not
  definePlugin({ id: 'idle', ...identity, scheduledTasks: [mailing] })
  t.equal(plugin.id, 'narrow')
})

t.test('K-008 a plugin reads its own keys with the types of their declarations', async (t) => {
  const config = {
    'platform.a.name': key.string({ title: 'x', default: 'x' }),
    'platform.a.maybe': key.string({ title: 'x' }),
    'platform.a.wait': key.duration({ title: 'x', required: true, reload: 'live' }),
    'platform.a.mode': key.enum({ title: 'x', values: ['fast', 'safe'], default: 'safe' }),
    'platform.a.hosts': key.stringList({ title: 'x', default: [] }),
    'platform.a.on': key.boolean({ title: 'x', default: false }),
  }
  type View = ConfigView<typeof config>
  const read = (view: View) => {
    holds<Equal<Parameters<View['get']>[0], keyof typeof config>>()
    type WithoutKeys = ConfigView<Record<never, never>>
    holds<Equal<Parameters<WithoutKeys['get']>[0], `Declare this key in config of the plugin first: ${string}`>>()
    holds<Equal<View extends WithoutKeys ? 'assignable' : 'not', 'assignable'>>()
    view.get('platform.a.name') satisfies string
    view.get('platform.a.wait') satisfies number
    view.get('platform.a.mode') satisfies 'fast' | 'safe'
    view.get('platform.a.hosts') satisfies readonly string[]
    view.get('platform.a.on') satisfies boolean
    view.onChange('platform.a.wait', (value) => void value.toFixed())
    view.onVerify('platform.a.wait', async (value, signal) => signal.throwIfAborted() ?? void value.toFixed())
    // @ts-expect-error without a default and not required it may be undefined
    view.get('platform.a.maybe') satisfies string
    // @ts-expect-error a duration is read as a number
    view.get('platform.a.wait') satisfies string
    // @ts-expect-error nobody declared it
    view.get('platform.a.nmae')
    // @ts-expect-error it belongs to another plugin
    view.get('platform.log.level')
    // @ts-expect-error there is no such value
    view.get('platform.a.mode') satisfies 'fast'
    // @ts-expect-error a listener gets the value that is read
    view.onChange('platform.a.wait', (value: string) => void value)
  }
  definePlugin({
    id: 'a',
    ...identity,
    config,
    setup(context) {
      read(context.config)
      context.config.get('platform.a.wait').toFixed()
      // @ts-expect-error it belongs to another plugin
      context.config.get('platform.b.wait')
    },
    scheduledTasks: [
      {
        name: 'x',
        displayName: 'x',
        fixedDelay: 'platform.a.wait',
        autoStartup: 'platform.a.on',
        run({ config: own }) {
          own.get('platform.a.wait').toFixed()
          // @ts-expect-error it belongs to another plugin
          own.get('platform.b.wait')
        },
      },
      // @ts-expect-error the delay is a number or an own key
      { name: 'y', displayName: 'y', fixedDelay: 'platform.b.wait', autoStartup: true, run() {} },
    ],
    commands: [
      { name: 'x', summary: 'x', run: ({ config: own }, { args }) => own.get('platform.a.name').length + args.length },
    ],
    installTasks: [
      {
        code: 'x',
        displayName: { en: 'x', 'zh-CN': 'x' },
        order: 1,
        required: true,
        retryable: true,
        isCompleted: ({ config: own }) => own.get('platform.a.on'),
        run: ({ note, config: own }) => note(own.get('platform.a.mode')),
      },
    ],
  })
  // @ts-expect-error the default has the written form
  key.duration({ title: 'x', default: 60_000 })
  // @ts-expect-error a default and `required` exclude each other
  key.string({ title: 'x', default: 'x', required: true })
  // @ts-expect-error the default is one of the values
  key.enum({ title: 'x', values: ['a', 'b'], default: 'c' })
  t.type(read, 'function')
})

t.test('C-002 bound tasks need no context, and a runtime has no members for setup', async (t) => {
  t.ok(
    holds<
      Equal<Parameters<BoundInstallTask['run']>, [signal: AbortSignal, note?: ((text: string) => void) | undefined]>
    >(),
  )
  definePlugin({
    id: 'a',
    ...identity,
    commands: [
      {
        name: 'x',
        summary: 'x',
        run(runtime) {
          // @ts-expect-error services are handed out in set-up
          runtime.provide
          // @ts-expect-error resources belong to set-up
          runtime.onStop
          return 3
        },
      },
      {
        name: 'y',
        summary: 'y',
        // @ts-expect-error an exit code is a number
        run: () => 'done',
      },
    ],
  })
  const context = {} as PluginContext
  t.ok(holds<Equal<(typeof context)['plugin'], { readonly id: string; readonly version: string }>>())
})
