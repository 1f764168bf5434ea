import type { LocalizedText } from '@plinth/config-schema'
import type { Declared, KeysOf, PluginRuntime } from '../plugin.ts'

export interface ScheduledTaskContext<D extends Partial<Declared>> extends PluginRuntime<D> {
  /** Aborts when the product drains or the task loses its lease. */
  readonly signal: AbortSignal
}

/** Work that repeats with a fixed delay: the next run starts that long after the last one ended, on one instance at a time. */
export interface ScheduledTask<D extends Partial<Declared> = Declared> {
  /** Unique name, for example `member-points.expire`. */
  readonly name: string
  /** The own string key that renames it; its default is `name`. What it allows keeps clear of the tasks of other plugins. */
  readonly nameFrom?: keyof KeysOf<D> & string
  readonly displayName: LocalizedText
  /** Milliseconds between the end of a run and the start of the next, or the own duration key that says so. */
  readonly fixedDelay: number | (keyof KeysOf<D> & string)
  /** Whether it runs by itself after start, or the own boolean key that says so. */
  readonly autoStartup: boolean | (keyof KeysOf<D> & string)
  readonly run: (context: ScheduledTaskContext<D>) => void | Promise<void>
}
