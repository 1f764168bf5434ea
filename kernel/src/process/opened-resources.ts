import { AsyncLocalStorage, createHook } from 'node:async_hooks'

/** The start of a plugin. It is stored as the context of the asynchronous work that the start begins. */
interface PluginStart {
  readonly plugin: string
  /**
   * Aborts when the product has started. Later work in the same context is not attributed to the plugin, because it may
   * serve other callers, for example requests.
   */
  readonly started: AbortSignal
}

const storage = new AsyncLocalStorage<PluginStart>()

/** Runs a hook of the start of a plugin, so that `startingPlugin` returns the plugin. */
export const runHook = <T>(start: PluginStart, hook: () => T): T => storage.run(start, hook)

/**
 * Returns the id of the plugin whose start began the current asynchronous work. Returns `undefined` after the start of
 * the product.
 */
export function startingPlugin(): string | undefined {
  const start = storage.getStore()
  return start?.started.aborted === false ? start.plugin : undefined
}

/** A timer or a handle that keeps the process alive. */
interface OpenedResource {
  /** Type of the resource in Node.js, for example `Timeout`. */
  readonly type: string
  /** The plugin that opened the resource during its start. */
  readonly plugin: string
  /** File and line of the code that opened the resource; empty if unknown. */
  readonly place: string
}

interface Opened extends Omit<OpenedResource, 'place'> {
  readonly resource: WeakRef<KeepsAlive>
  readonly stack: string
}

/** A timer or a handle. `hasRef` returns true while it keeps the process alive. */
interface KeepsAlive {
  hasRef(): boolean
}

const keepsAlive = (resource: object): resource is KeepsAlive => 'hasRef' in resource

const opened: Opened[] = []

function recordResource(_id: number, type: string, _trigger: number, resource: object): void {
  const plugin = startingPlugin()
  if (plugin === undefined || !keepsAlive(resource)) return
  const opening = { stack: '' }
  // The stack begins with the caller of this function, so it contains only frames of Node.js and of plugins.
  Error.captureStackTrace(opening, recordResource)
  opened.push({ type, plugin, stack: opening.stack, resource: new WeakRef(resource) })
}

const hook = createHook({
  init: recordResource,
  // Promises do not keep a process alive. Earlier Node.js versions ignore this option and also report promises.
  trackPromises: false,
})

/**
 * Starts recording the resources that plugins open during their start. It slows down the process, so stop it after the
 * start.
 */
export const startRecordingResources = () => void hook.enable()
export const stopRecordingResources = () => void hook.disable()

/** Returns the recorded resources that still keep the process alive. */
export const findOpenResources = (): readonly OpenedResource[] =>
  opened.flatMap(({ type, plugin, stack, resource }) =>
    resource.deref()?.hasRef() === true ? [{ type, plugin, place: placeOf(stack) }] : [],
  )

/** Returns the innermost frame that is not in Node.js. */
function placeOf(stack: string): string {
  const frames = stack.split('\n').filter((line) => /^\s+at /.test(line))
  const frame = frames.find((line) => !/\bnode:/.test(line)) ?? ''
  return frame.replace(/^\s+at (?:.*\((.*)\)|(?:async )?(.*))$/, '$1$2')
}
