import { AsyncLocalStorage, createHook } from 'node:async_hooks'

/** The start of a plugin, stored for the asynchronous work that it begins. */
interface PluginStart {
  readonly plugin: string
  /**
   * Aborts when the product has started. From then on, work of the plugin may also serve others, for example requests.
   */
  readonly started: AbortSignal
}

const storage = new AsyncLocalStorage<PluginStart>()

/** Runs a hook of the start of a plugin. */
export const runStart = <T>(start: PluginStart, hook: () => T): T => storage.run(start, hook)

/**
 * Returns the id of the plugin whose start began the current asynchronous work, or `undefined` if the product has
 * started.
 */
export function startingPlugin(): string | undefined {
  const start = storage.getStore()
  return start?.started.aborted === false ? start.plugin : undefined
}

/** A timer or a handle that keeps the process alive. */
interface OpenedResource {
  /** Type in Node.js, for example `Timeout`. */
  readonly type: string
  /** The plugin whose start opened it. */
  readonly plugin: string
  /** File and line of the call, outside of Node.js; empty if no frame shows it. */
  readonly place: string
}

interface Opened extends Omit<OpenedResource, 'place'> {
  readonly resource: WeakRef<KeepsAlive>
  readonly stack: string
}

/** Timers and handles have this method. It returns false when they are closed. */
interface KeepsAlive {
  hasRef(): boolean
}

const keepsAlive = (resource: object): resource is KeepsAlive => 'hasRef' in resource

const opened: Opened[] = []

const hook = createHook({
  init(_id, type, _trigger, resource) {
    const plugin = startingPlugin()
    if (plugin === undefined || !keepsAlive(resource)) return
    const { stack = '' } = new Error(type)
    opened.push({ type, plugin, stack, resource: new WeakRef(resource) })
  },
  // Promises do not keep a process alive. Earlier versions of Node.js ignore this option and also call `init` for them.
  trackPromises: false,
})

/** Starts to record the resources that the start of a plugin opens. Costs time for each: stop it after the start. */
export const watchOpened = () => void hook.enable()
export const stopWatchingOpened = () => void hook.disable()

/** Returns the recorded resources that still keep the process alive. */
export const stillOpen = (): readonly OpenedResource[] =>
  opened.flatMap(({ type, plugin, stack, resource }) =>
    resource.deref()?.hasRef() === true ? [{ type, plugin, place: placeOf(stack) }] : [],
  )

/** Returns the innermost frame outside of Node.js and of this file. */
function placeOf(stack: string): string {
  const frames = stack.split('\n').slice(1)
  const frame = frames.find((line) => !/node:|opened-resources/.test(line)) ?? ''
  return frame.replace(/^\s+at (?:.*\((.*)\)|(?:async )?(.*))$/, '$1$2')
}
