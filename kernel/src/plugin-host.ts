import type { KeyDeclarations } from '@plinth/config-schema'
import type { Logger } from 'pino'
import type { Clock } from './clock.ts'
import type { ConfigValues } from './config-values.ts'
import { type KernelErrorCode, kernelError, reasonOf } from './errors.ts'
import type { ExtensionRegistry } from './extension-registry.ts'
import type { ConfigView, Plugin, PluginContext, PluginRuntime, Role, Unchecked } from './plugin.ts'
import type { Requirements, ServiceRef, ServicesOf } from './refs.ts'
import type { ServiceContainer } from './service-container.ts'

/** What all plugins of one product share. */
export interface Shared {
  readonly config: ConfigValues
  readonly container: ServiceContainer
  readonly extensions: ExtensionRegistry
  readonly log: Logger
  readonly clock: Clock
  readonly roles: ReadonlySet<Role>
  readonly root: string
}

type AnyRuntime = PluginRuntime<Requirements, KeyDeclarations>
type Hook = () => void | Promise<void>
type Identified = { readonly id: string }

/** One plugin while it runs: its context, and the hooks that it left. */
export class PluginHost {
  readonly plugin: Plugin
  readonly ready: Hook[] = []
  readonly drain: ((signal: AbortSignal) => void | Promise<void>)[] = []
  /** In order of registration; stopped in reverse. */
  readonly stop: Hook[] = []
  readonly #shared: Shared
  #runtime: AnyRuntime | undefined
  #state: 'open' | 'set-up' | 'closed' = 'open'

  constructor(plugin: Plugin, shared: Shared) {
    this.plugin = plugin
    this.#shared = shared
  }

  /** The part of the context that lasts; also what tasks and commands of the plugin receive. */
  get runtime(): AnyRuntime {
    this.#runtime ??= this.#createRuntime()
    return this.#runtime
  }

  /** Runs the plugin's set-up and checks that it kept its promises. */
  async setUp(signal: AbortSignal): Promise<void> {
    const { id, provides = [], setup } = this.plugin
    this.#shared.config.seal(id)
    await setup?.(this.#createContext(signal) as PluginContext<Unchecked, Unchecked>)
    if (signal.aborted) return
    this.#state = 'set-up'
    for (const { id: service } of provides) {
      if (!this.#shared.container.has(service))
        throw kernelError('PLINTH_SERVICE_NOT_PROVIDED', { plugin: id, service })
    }
  }

  /** Nothing more is accepted; a resource that a late set-up still hands in is released at once. */
  close(): void {
    this.#state = 'closed'
  }

  #createRuntime(): AnyRuntime {
    const { config, container, log, clock, roles, root } = this.#shared
    const { id, version, requires = {}, provides = [] } = this.plugin
    const view: ConfigView<KeyDeclarations> = {
      get: (key) => config.get(id, key),
      onChange: (key, listener) => this.#release(config.onChange(id, key, listener)),
      onVerify: (key, verifier) => this.#release(config.onVerify(id, key, verifier)),
    }
    return Object.freeze({
      plugin: Object.freeze({ id, version }),
      services: container.servicesOf(requires) as ServicesOf<Requirements>,
      config: view,
      own: <T>(ref: ServiceRef<T>): T => {
        this.#checkDeclared(provides, ref, 'PLINTH_SERVICE_UNDECLARED')
        return container.resolve(ref)
      },
      log: log.child({ plugin: id }),
      clock,
      roles,
      root,
    })
  }

  #createContext(signal: AbortSignal): PluginContext {
    const { container, extensions } = this.#shared
    const { id, provides = [], extensionPoints = [], contributes = [] } = this.plugin
    const during = (member: string) => {
      if (this.#state !== 'open') throw kernelError('PLINTH_CONTEXT_CLOSED', { plugin: id, member })
    }
    return Object.freeze({
      ...this.runtime,
      signal,
      provide: (ref, implementation) => {
        during('provide')
        this.#checkDeclared(provides, ref, 'PLINTH_SERVICE_UNDECLARED')
        container.register(id, ref.id, implementation)
      },
      contribute: (point, name, implementation) => {
        during('contribute')
        this.#checkDeclared(contributes, point, 'PLINTH_CONTRIBUTION_UNDECLARED')
        extensions.add(point.id, name, id, implementation)
      },
      contributions: (point) => {
        this.#checkDeclared(extensionPoints, point, 'PLINTH_CONTRIBUTION_UNDECLARED')
        return extensions.of(point)
      },
      onReady: (hook) => {
        during('onReady')
        this.ready.push(hook)
      },
      onDrain: (hook) => {
        during('onDrain')
        this.drain.push(hook)
      },
      onStop: (hook) => this.#release(hook),
    } satisfies PluginContext)
  }

  #checkDeclared(refs: readonly Identified[], { id }: Identified, code: KernelErrorCode): void {
    if (refs.some((declared) => declared.id === id)) return
    throw kernelError(code, { plugin: this.plugin.id, service: id, point: id })
  }

  /** Keeps what releases a resource until the plugin stops; after that there is nothing to wait for. */
  #release(hook: Hook): void {
    if (this.#state !== 'closed') {
      this.stop.push(hook)
      return
    }
    const { config, log } = this.#shared
    Promise.resolve()
      .then(hook)
      .catch((error: unknown) => {
        const reason = config.redact(reasonOf(error))
        log.error({ plugin: this.plugin.id, reason }, 'a resource that was opened late could not be released')
      })
  }
}
