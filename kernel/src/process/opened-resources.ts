import { AsyncLocalStorage, createHook } from 'node:async_hooks'

/** The start of a plugin, as the asynchronous work that it begins sees it. */
interface PluginStart {
  readonly plugin: string
  /** Aborts when the product has started: from then on, work of the plugin also serves others, for example requests. */
  readonly started: AbortSignal
}

const storage = new AsyncLocalStorage<PluginStart>()

/** Runs a hook of the start of a plugin. */
export const runStart = <T>(start: PluginStart, hook: () => T): T => storage.run(start, hook)

/** Id of the plugin whose start began the asynchronous work at hand; `undefined` when the product has started. */
export function startingPlugin(): string | undefined {
  const start = storage.getStore()
  return start?.started.aborted === false ? start.plugin : undefined
}

/** A timer or a handle that keeps the process alive. */
interface OpenedResource {
  /** As Node.js calls it, for example `Timeout`. */
  readonly type: string
  /** The plugin whose start opened it. */
  readonly plugin: string
  /** File and line of the call, outside of Node.js; empty when no frame tells. */
  readonly place: string
}

interface Opened extends Omit<OpenedResource, 'place'> {
  readonly resource: WeakRef<KeepsAlive>
  readonly stack: string
}

/** Timers and handles have this method. It is false once they are closed. */
interface KeepsAlive {
  hasRef(): boolean
}

const opened: Opened[] = []

const hook = createHook({
  init(_id, type, _trigger, resource) {
    const plugin = startingPlugin()
    if (plugin === undefined || !('hasRef' in resource)) return
    const { stack = '' } = new Error(type)
    opened.push({ type, plugin, stack, resource: new WeakRef(resource as KeepsAlive) })
  },
  // Promises keep no process alive. Earlier versions of Node.js ignore this and call `init` for them too.
  trackPromises: false,
})

/** From now on, resources are remembered that the start of a plugin opens. Costs time for each one: stop it after the start. */
export const watchOpened = () => void hook.enable()
export const stopWatchingOpened = () => void hook.disable()

/** The remembered resources that still keep the process alive. */
export const stillOpen = (): readonly OpenedResource[] =>
  opened.flatMap(({ type, plugin, stack, resource }) =>
    resource.deref()?.hasRef() === true ? [{ type, plugin, place: placeOf(stack) }] : [],
  )

/** The innermost frame outside of Node.js and of this file. */
function placeOf(stack: string): string {
  const frames = stack.split('\n').slice(1)
  const frame = frames.find((line) => !/node:|opened-resources/.test(line)) ?? ''
  return frame.replace(/^\s+at (?:.*\((.*)\)|(?:async )?(.*))$/, '$1$2')
}
