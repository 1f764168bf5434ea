import { redactError } from '@plinth/config-schema/reading'
import type { Logger } from 'pino'
import { bindInstallTasks, bindScheduledTasks, verifyTaskNames } from './bound-tasks.ts'
import type { ConfigValues } from './configuration/config-values.ts'
import {
  adminMembers,
  type ConfigAdmin,
  configAdmin,
  type DeclaredTasks,
  declaredTasks,
  type Kernel,
  kernel,
  kernelMembers,
  type ProductState,
  type StartFailure,
  type TimelineEntry,
} from './contracts/kernel.ts'
import { errorReason, isPlinthError, PlinthError } from './errors/coded-error.ts'
import { kernelError, StartRejectedError, StopFailedError } from './errors/kernel-errors.ts'
import { hintAt, notAnError } from './errors/start-errors.ts'
import { kernelPlugin } from './kernel-plugin.ts'
import { captureOutput, createLogger } from './logging/logger.ts'
import type { Plan } from './plan.ts'
import { type PluginHook, PluginHost } from './plugin-host.ts'
import { runHook } from './process/opened-resources.ts'
import { WatchedHook } from './process/watched-hook.ts'
import './process/tick-shape.ts'
import { type PreparedProduct, type PrepareOptions, type Product, prepareProduct } from './product.ts'
import { createFrozenFacade } from './read-only.ts'
import type { AnyReferenceType, ExtensionPoint, ServiceRef } from './refs.ts'
import { Registry } from './registry.ts'
import { type Clock, systemClock } from './time/clock.ts'
import { withinDeadline } from './time/deadlines.ts'

export interface StartOptions extends PrepareOptions {
  readonly clock?: Clock
  /** Logger to use instead of the default one. Secrets are not masked in its lines. */
  readonly logger?: Logger
  /**
   * If true, the console output of libraries is written as log lines. This affects the whole process, so only its main
   * program should set it.
   */
  readonly capturesOutput?: boolean
  /** Cancels the start when it aborts. */
  readonly signal?: AbortSignal
  /** The program that restarts the product on request. Default: `external`. */
  readonly supervised?: Kernel['supervised']
  /** True if `plinth dev` starts the product. Default: false. */
  readonly isDev?: boolean
  /** See `Kernel.commandLine`. */
  readonly commandLine?: Kernel['commandLine']
  /** Reason why the values of `fallback` apply. */
  readonly fallbackReason?: StartFailure
  /** Receives the product before the first setup, so that the caller can report on a start that fails. */
  readonly onCreated?: (running: RunningProduct) => void
  /** Called when the product requests a restart, before it stops. `RunningProduct.stopped` settles after the stop. */
  readonly onRestartRequest?: (reason: string) => void
}

type Phase = TimelineEntry['phase']

/** Milliseconds between log lines about a plugin whose step has not ended. */
const slowStepMs = 5000
type Failure = { readonly plugin: string; readonly phase: Phase; readonly error: unknown }

/** Errors of the start that already contain the blocking plugin, or that no plugin caused. */
const endsOfStart: ReadonlySet<string> = new Set(['PLINTH_DEADLINE_PASSED', 'PLINTH_START_CANCELLED'])

/**
 * Starts a product: plans it, reads its configuration, sets up each plugin in dependency order, then runs the ready
 * hooks.
 *
 * @throws StartRejectedError if the plan or the configuration has problems; nothing was started
 * @throws PlinthError `PLINTH_START_FAILED`, `PLINTH_DEADLINE_PASSED`, `PLINTH_START_CANCELLED`: everything that was
 * started has been stopped again; `cause` is the error of the plugin
 */
export async function startProduct(product: Product, options: StartOptions = {}): Promise<RunningProduct> {
  const prepared = prepareProduct(product, options)
  if (prepared.problems.length > 0) throw new StartRejectedError(prepared.problems)
  const running = new RunningProduct(prepared, options)
  options.onCreated?.(running)
  await running.start(options.signal)
  return running
}

/** A started product. Only the code that started it has access to this object; plugins receive a part of it. */
export class RunningProduct implements Kernel, DeclaredTasks {
  readonly product: Kernel['product']
  readonly plan: Plan
  readonly plugins: Kernel['plugins']
  readonly config: ConfigAdmin
  readonly log: Logger
  readonly installTasks: DeclaredTasks['installTasks']
  readonly scheduledTasks: DeclaredTasks['scheduledTasks']
  readonly supervised: Kernel['supervised']
  readonly isDev: Kernel['isDev']
  /** True in the role `cli`, in which the process runs one command and does not serve requests. */
  readonly isCommand: boolean
  readonly fallback: Kernel['fallback']
  readonly settingsFile: Kernel['settingsFile']
  readonly commandLine: Kernel['commandLine']
  /** Problems of the plan and of the configuration that did not prevent the start. */
  readonly warnings: PreparedProduct['warnings']
  readonly #values: ConfigValues
  readonly #clock: Clock
  readonly #bornAt: number
  readonly #registry: Registry
  readonly #hosts: readonly PluginHost[]
  /** Plugins whose setup has begun, in setup order. */
  readonly #begun: PluginHost[] = []
  readonly #timeline: TimelineEntry[] = []
  /** Aborts when the start is cancelled. */
  readonly #startup = new AbortController()
  /** Aborts when the start has ended and unhandled errors have been reported. */
  readonly #started = new AbortController()
  readonly #end = Promise.withResolvers<void>()
  readonly #onRestartRequest: StartOptions['onRestartRequest']
  readonly #releaseOutput: () => void
  #state: ProductState = 'starting'

  constructor({ product, plan, config, roles, warnings, settingsFile }: PreparedProduct, options: StartOptions) {
    const { name, version, root } = product
    this.product = Object.freeze({ name, version, root })
    this.plan = plan
    this.plugins = plan.plugins
    this.#values = config
    this.warnings = warnings
    this.config = createFrozenFacade(config, adminMembers, {})
    this.#clock = options.clock ?? systemClock
    this.#bornAt = this.#clock.monotonic()
    this.#end.promise.catch(() => undefined)
    this.isCommand = roles.includes('cli')
    this.supervised = options.supervised ?? 'external'
    this.isDev = options.isDev ?? false
    this.fallback = options.fallbackReason
    this.commandLine = options.commandLine
    this.#onRestartRequest = options.onRestartRequest
    this.log = options.logger ?? createLogger(config, this.isCommand)
    this.#releaseOutput = options.capturesOutput ? captureOutput(this.log) : () => {}
    this.settingsFile = settingsFile?.path
    if (settingsFile !== undefined && !this.isCommand) {
      const { path, isMissing } = settingsFile
      this.log.info({ file: path }, isMissing ? 'there is no settings file' : 'settings file read')
    }
    for (const { code, place, message } of warnings) this.log.warn({ code, place }, message)
    const points = [kernelPlugin, ...plan.plugins].flatMap(({ extensionPoints = [] }) => extensionPoints)
    const registry = new Registry(points)
    this.#registry = registry
    const shared = { config, registry, log: this.log, clock: this.#clock, roles: new Set(roles), root }
    this.#hosts = plan.plugins.map((plugin) => new PluginHost(plugin, shared))
    this.installTasks = Object.freeze(bindInstallTasks(this.#hosts))
    this.scheduledTasks = Object.freeze(bindScheduledTasks(this.#hosts))
    verifyTaskNames(config, plan.plugins)
    const contributions = kernelContributions(registry)
    const offered = createFrozenFacade(this, kernelMembers, { contributions })
    const tasks = createFrozenFacade(this, ['installTasks', 'scheduledTasks'], {})
    registry.provide(kernelPlugin.id, kernel, () => offered)
    registry.provide(kernelPlugin.id, configAdmin, () => this.config)
    registry.provide(kernelPlugin.id, declaredTasks, () => tasks)
    config.onChange(kernelPlugin.id, 'platform.log.level', (level) => {
      if (!this.isCommand) this.log.level = level as string
    })
  }

  get state(): ProductState {
    return this.#state
  }

  get timeline(): readonly TimelineEntry[] {
    return Object.freeze([...this.#timeline])
  }

  /** Settles like the promise of `stop` when the product has stopped, no matter who requested the stop. */
  get stopped(): Promise<void> {
    return this.#end.promise
  }

  contributions<T>(point: ExtensionPoint<T>): ReadonlyMap<string, T> {
    return this.#registry.contributions(point)
  }

  /** Returns the id of the plugin that contributed an implementation. */
  contributor(point: ExtensionPoint<AnyReferenceType>, name: string): string | undefined {
    return this.#registry.contributor(point, name)
  }

  /**
   * Returns a service of a loaded plugin.
   *
   * @throws PlinthError `PLINTH_SERVICE_UNKNOWN`
   */
  service<T>(ref: ServiceRef<T>): T {
    return this.#registry.service(ref, kernelPlugin)
  }

  /** Masks all secrets of the configuration in a text, including former values. */
  redact(text: string, more?: Iterable<unknown>): string {
    return this.#values.redact(text, more)
  }

  logOf(plugin: string): Logger {
    return this.runtimeOf(plugin)?.log ?? this.log
  }

  /** Returns the objects that tasks and commands of a loaded plugin receive. */
  runtimeOf(plugin: string): PluginHost['runtime'] | undefined {
    return this.#hosts.find((host) => host.plugin.id === plugin)?.runtime
  }

  /** Sets up all plugins. Only `startProduct` calls this method, once. */
  async start(signal: AbortSignal | undefined): Promise<void> {
    const giveUp = () => this.#giveUp(errorReason(signal?.reason))
    if (signal?.aborted) giveUp()
    signal?.addEventListener('abort', giveUp)
    try {
      for (const host of this.#hosts) {
        this.#begun.push(host)
        await this.#startStep(host, 'setup', (late) => host.setUp(late), host.plugin.setupDeadlineMs)
      }
      for (const host of this.#hosts.toReversed()) {
        for (const hook of host.hooks.ready) await this.#startStep(host, 'ready', hook)
      }
      this.#startup.signal.throwIfAborted()
    } catch (error) {
      this.#end.resolve(this.#unwind())
      await this.stopped.catch((failure: unknown) => this.log.error(errorReason(failure)))
      throw error
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
    this.#state = 'ready'
    setImmediate(() => this.#started.abort()).unref()
    if (!this.isCommand) {
      for (const { code, place, message } of this.config.insecure()) this.log.warn({ code, place }, message)
      for (const { code, place, message, fix } of this.config.overridden()) this.log.warn({ code, place, fix }, message)
    }
    const durationMs = Math.round(this.#clock.monotonic() - this.#bornAt)
    this.log.info({ product: this.product.name, plugins: this.plugins.length, durationMs }, 'started')
  }

  /**
   * Drains and stops all plugins. During the start, cancels the start. A second call waits for the first one.
   *
   * @throws StopFailedError if stop hooks failed
   */
  stop(reason: string): Promise<void> {
    if (this.#state === 'starting') this.#giveUp(reason)
    if (this.#state === 'ready') {
      this.log.info({ reason }, 'stopping')
      this.#end.resolve(this.#unwind())
    }
    return this.stopped
  }

  requestRestart(reason: string): void {
    if (this.isCommand) this.log.warn({ reason }, 'a command is not restarted; restart the running instances instead')
    else if (this.#state === 'starting' || this.#state === 'ready') {
      this.log.info({ reason }, 'restart requested')
      this.#onRestartRequest?.(reason)
      void this.stop(`restart: ${reason}`)
    }
  }

  storedValuesBehind(plugins: readonly string[], reason: string): string {
    return this.#values.storedOf(plugins, reason)
  }

  #giveUp(reason: string): void {
    this.#startup.abort(kernelError('PLINTH_START_CANCELLED', { reason }))
  }

  async #unwind(): Promise<void> {
    this.#state = 'draining'
    const failures: Failure[] = []
    const attempt = async (host: PluginHost, phase: 'drain' | 'stop', ms: number, hook: PluginHook) => {
      try {
        await this.#step(host, phase, ms, hook)
      } catch (error) {
        redactError(error, (text) => this.redact(text))
        failures.push({ plugin: host.plugin.id, phase, error })
      }
    }
    const drainMs = this.#milliseconds('drain')
    const drains = this.#begun.flatMap((host) => host.hooks.drain.map((hook) => ({ host, hook })))
    await Promise.all(
      drains.map(({ host, hook }) => attempt(host, 'drain', drainMs, (signal) => hook(signal, drainMs))),
    )
    for (const host of this.#begun.toReversed()) {
      host.close()
      for (const hook of host.hooks.stop.toReversed()) await attempt(host, 'stop', this.#milliseconds('stop'), hook)
    }
    this.#state = 'stopped'
    this.#releaseOutput()
    if (failures.length > 0) throw new StopFailedError(failures)
  }

  /**
   * Runs one step of the start. If the step fails, throws an error that contains the plugin and the advice of the
   * original error.
   */
  async #startStep(host: PluginHost, phase: 'setup' | 'ready', hook: PluginHook, deadlineMs?: number): Promise<void> {
    try {
      await this.#step(host, phase, deadlineMs ?? this.#milliseconds('setup'), hook, this.#startup.signal)
    } catch (thrown) {
      if (isPlinthError(thrown) && endsOfStart.has(thrown.code)) throw thrown
      const error = thrown instanceof Error ? thrown : notAnError(thrown, host.plugin)
      redactError(error, (text) => this.redact(text))
      const said = isPlinthError(error) ? `${error.code}: ${error.message}` : this.redact(errorReason(error))
      const needs = (this.plan.dependencies.get(host.plugin.id) ?? []).map(({ on }) => on)
      const stored = this.#values.storedOf([host.plugin.id, ...needs], said) + hintAt(error, host.plugin)
      const details = { plugin: host.plugin.id, phase, reason: said.replace(/\.$/, ''), stored }
      const { code, message, fix } = kernelError('PLINTH_START_FAILED', details)
      throw new PlinthError(code, message, isPlinthError(error) ? error.fix : fix, { cause: error })
    }
  }

  /** Logs every few seconds that a plugin delays the others, until its step ends. */
  async #reportSlow(plugin: string, phase: Phase, ended: AbortSignal): Promise<void> {
    const startedAt = this.#clock.monotonic()
    while (!ended.aborted) {
      await this.#clock.sleep(slowStepMs, ended)
      const durationMs = Math.round(this.#clock.monotonic() - startedAt)
      if (!ended.aborted) this.log.info({ plugin, phase, durationMs }, `still in ${phase}: ${plugin}`)
    }
  }

  /** Runs one hook of a plugin with a deadline and adds the step to the timeline. */
  async #step(host: PluginHost, phase: Phase, ms: number, hook: PluginHook, outer?: AbortSignal): Promise<void> {
    const plugin = host.plugin.id
    const deadline = phase === 'ready' ? 'setup' : phase
    const late = () => kernelError('PLINTH_DEADLINE_PASSED', { plugin, phase, ms: Math.round(ms), deadline })
    const startedAt = this.#clock.monotonic()
    const ended = new AbortController()
    void this.#reportSlow(plugin, phase, ended.signal)
    let outcome: TimelineEntry['outcome'] = 'failed'
    const started = this.#started.signal
    const watched = new WatchedHook((signal) => runHook({ plugin, started }, () => hook(signal)))
    try {
      await withinDeadline(this.#clock, ms, (signal) => watched.run(signal), late, outer)
      outcome = 'ok'
    } catch (error) {
      throw phase === 'drain' ? await watched.explain(error) : error
    } finally {
      ended.abort()
      const durationMs = this.#clock.monotonic() - startedAt
      this.#timeline.push(Object.freeze({ plugin, phase, startedAtMs: startedAt - this.#bornAt, durationMs, outcome }))
    }
  }

  #milliseconds(phase: 'setup' | 'drain' | 'stop'): number {
    return this.#values.get(kernelPlugin.id, `platform.kernel.${phase}-deadline`) as number
  }
}

/**
 * Returns a function that reads contributions for plugins. It only gives access to the extension points of the kernel,
 * because only the plugin that owns an extension point may read its contributions.
 */
const kernelContributions = (registry: Registry) =>
  (<T>(point: ExtensionPoint<T>) => {
    if (kernelPlugin.extensionPoints?.some(({ id }) => id === point.id)) return registry.contributions(point)
    throw kernelError('PLINTH_CONTRIBUTION_UNDECLARED', { plugin: kernelPlugin.id, point: point.id })
  }) satisfies Kernel['contributions']
