import { AsyncLocalStorage } from 'node:async_hooks'

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
