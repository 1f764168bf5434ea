import { describeValue } from '@plinth/config-schema/shapes'
import type { ConfigValues } from './configuration/config-values.ts'
import { declaredContributions } from './contracts/contributions.ts'
import { errorReason } from './errors/coded-error.ts'
import { kernelError } from './errors/kernel-errors.ts'
import type { Plugin, PluginContext, PluginRuntime } from './plugin.ts'
import { type ConsumingPlugin, type Requirements, type ServiceRef, type ServicesOf, unwrapOptional } from './refs.ts'
import type { Registry } from './registry.ts'
import { wireDependencies } from './wiring.ts'

/** Objects that all plugins of one product share. */
interface Shared extends Pick<PluginRuntime, 'log' | 'clock' | 'roles' | 'root'> {
  readonly config: ConfigValues
  readonly registry: Registry
}

export type PluginHook = (signal: AbortSignal) => void | Promise<void>
type DrainHook = Parameters<PluginContext['onDrain']>[0]

const undeclaredCodes = {
  provides: 'PLINTH_SERVICE_UNDECLARED',
  contributes: 'PLINTH_CONTRIBUTION_UNDECLARED',
  extensionPoints: 'PLINTH_CONTRIBUTION_UNDECLARED',
} as const

/** The context and the hooks of one running plugin. */
export class PluginHost {
  readonly plugin: Plugin
  /** Hooks in order of registration. `stop` hooks run in reverse order. */
  readonly hooks: { readonly ready: PluginHook[]; readonly drain: DrainHook[]; readonly stop: PluginHook[] } = {
    ready: [],
    drain: [],
    stop: [],
  }
  readonly #shared: Shared
  #runtime: PluginRuntime | undefined
  #state: 'open' | 'set-up' | 'closed' = 'open'

  constructor(plugin: Plugin, shared: Shared) {
    this.plugin = plugin
    this.#shared = shared
  }

  /** The part of the context that stays available after setup. Tasks and commands of the plugin also receive it. */
  get runtime(): PluginRuntime {
    this.#runtime ??= this.#createRuntime()
    return this.#runtime
  }

  /**
   * Returns the value of a key of the plugin. It also works before setup, because the scheduler needs names and delays
   * of tasks earlier.
   */
  valueOf(key: string): unknown {
    return this.#shared.config.get(this.plugin.id, key)
  }

  /** Runs the setup of the plugin and checks that it provided all declared services. */
  async setUp(signal: AbortSignal): Promise<void> {
    const { config, registry } = this.#shared
    const { id, provides = [], contributes = [], setup } = this.plugin
    config.seal(id)
    for (const [point, name, value] of declaredContributions(contributes, this.runtime.services))
      registry.contribute(id, point, name, value)
    const result: unknown = await setup?.(this.#createContext(signal))
    const found = releaser(result)
    if (found !== undefined) throw kernelError('PLINTH_SETUP_RESULT', { plugin: id, found })
    if (signal.aborted) return
    this.#state = 'set-up'
    const missing = provides.find((service) => !registry.provides(service.id))
    if (missing !== undefined) throw kernelError('PLINTH_SERVICE_NOT_PROVIDED', { plugin: id, service: missing.id })
  }

  /**
   * Accepts no more registrations. A resource that is registered later, for example by a setup that ended too late, is
   * released immediately.
   */
  close(): void {
    this.#state = 'closed'
  }

  #createRuntime(): PluginRuntime {
    const { config, registry, roles, ...shared } = this.#shared
    const { id, version, requires = {} } = this.plugin
    const plugin = Object.freeze({ id, version })
    return Object.freeze({
      ...shared,
      roles: new Set(roles),
      log: shared.log.child({ plugin: id }),
      redact: (text, more) => config.redact(text, more),
      plugin,
      services: registry.servicesOf(requires, plugin) as ServicesOf<Requirements>,
      config: {
        get: (key: string) => config.get(id, key),
        derived: (make) => config.derived(make),
        onChange: (key, listener) => this.#release(config.onChange(id, key, listener)),
        onVerify: (key, verifier) =>
          this.#release(
            config.onVerify(id, key, (value, signal, after) =>
              verifier(value as never, signal, (name) => {
                if (Object.hasOwn(this.plugin.config ?? {}, name)) return after(name) as never
                throw kernelError('PLINTH_CONFIG_UNDECLARED', { plugin: id, key: name })
              }),
            ),
          ),
      },
      own: <T>(ref: ServiceRef<T>): T => {
        this.#expectDeclared('provides', ref)
        return registry.service(ref, plugin)
      },
    } satisfies PluginRuntime)
  }

  #createContext(signal: AbortSignal): PluginContext {
    const { registry } = this.#shared
    const { id } = this.plugin
    const provideEach = <T>(ref: ServiceRef<T>, implementationFor: (consumer: ConsumingPlugin) => T) => {
      this.#expectOpen('provide')
      this.#expectDeclared('provides', ref)
      this.#expectFunction('provideEach', implementationFor)
      registry.provide(id, ref, implementationFor)
    }
    return Object.freeze({
      ...this.runtime,
      signal,
      wire: () => wireDependencies,
      provideEach,
      provide: (ref, implementation) => {
        if (implementation === undefined) {
          const details = { plugin: id, member: 'provide', found: 'undefined', expected: 'an implementation' }
          throw kernelError('PLINTH_CONTEXT_ARGUMENT', { ...details, example: 'the implementation as second argument' })
        }
        provideEach(ref, () => implementation)
      },
      contribute: (point, name, implementation) => {
        this.#expectOpen('contribute')
        this.#expectDeclared('contributes', point)
        registry.contribute(id, point, name, implementation)
      },
      contributions: (point) => {
        this.#expectDeclared('extensionPoints', point)
        return registry.contributions(point)
      },
      contributor: (point, name) => {
        this.#expectDeclared('extensionPoints', point)
        return registry.contributor(point, name)
      },
      onReady: (hook) => {
        this.#expectOpen('onReady')
        this.#expectFunction('onReady', hook)
        this.hooks.ready.push(hook)
      },
      onDrain: (hook) => {
        this.#expectOpen('onDrain')
        this.#expectFunction('onDrain', hook)
        this.hooks.drain.push(hook)
      },
      onStop: (hook) => {
        this.#expectFunction('onStop', hook)
        this.#release(hook)
      },
    } satisfies PluginContext)
  }

  #expectOpen(member: string): void {
    if (this.#state !== 'open') throw kernelError('PLINTH_CONTEXT_CLOSED', { plugin: this.plugin.id, member })
  }

  #expectFunction(member: string, value: unknown): void {
    if (typeof value === 'function') return
    const found = value === undefined ? 'undefined' : describeValue(value)
    const expected = { expected: 'a function', example: `a function that is called later: ${member}(() => work())` }
    throw kernelError('PLINTH_CONTEXT_ARGUMENT', { plugin: this.plugin.id, member, found, ...expected })
  }

  #expectDeclared(member: keyof typeof undeclaredCodes, { id }: { readonly id: string }): void {
    if (this.plugin[member]?.some((declared) => unwrapOptional(declared).id === id)) return
    throw kernelError(undeclaredCodes[member], { plugin: this.plugin.id, service: id, point: id })
  }

  /**
   * Registers a function that releases a resource when the plugin stops. If the plugin has already stopped, runs the
   * function immediately.
   */
  #release(hook: () => void | Promise<void>): void {
    if (this.#state !== 'closed') {
      this.hooks.stop.push(hook)
      return
    }
    const { config, log } = this.#shared
    Promise.resolve()
      .then(hook)
      .catch((error: unknown) => {
        const reason = config.redact(errorReason(error))
        log.error({ plugin: this.plugin.id, reason }, 'a resource that was opened late could not be released')
      })
  }
}

/** Methods that release a resource or end work. */
const releasingMethods = [
  'stop',
  'close',
  'end',
  'destroy',
  'dispose',
  'shutdown',
  'drain',
  'ready',
  'onStop',
  'onReady',
  'onDrain',
  Symbol.dispose,
  Symbol.asyncDispose,
]

/**
 * Describes a result of `setup` that its author probably expects the kernel to call at stop. Returns `undefined` for
 * other results.
 */
function releaser(result: unknown): string | undefined {
  if (typeof result === 'function') return 'a function'
  const method = releasingMethods.find((name) => typeof Object(result)[name] === 'function')
  return method === undefined || result === null ? undefined : `an object with ${String(method)}()`
}
