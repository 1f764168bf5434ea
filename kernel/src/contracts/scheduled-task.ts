import type { KeyDeclarations, LocalizedText } from '@plinth/config-schema'
import type { PluginRuntime } from '../plugin.ts'
import type { Requirements } from '../refs.ts'

export interface ScheduledTaskContext<R extends Requirements, K extends KeyDeclarations> extends PluginRuntime<R, K> {
  /** Aborts when the product drains or the task loses its lease. */
  readonly signal: AbortSignal
}

/** Work that repeats with a fixed delay: the next run starts that long after the last one ended, on one instance at a time. */
export interface ScheduledTask<R extends Requirements = Requirements, K extends KeyDeclarations = KeyDeclarations> {
  /** Unique name, for example `member-points.expire`. */
  readonly name: string
  readonly displayName: LocalizedText
  /** Milliseconds between the end of a run and the start of the next, or the own duration key that says so. */
  readonly fixedDelay: number | (keyof K & string)
  /** Whether it runs by itself after start, or the own boolean key that says so. */
  readonly autoStartup: boolean | (keyof K & string)
  run(context: ScheduledTaskContext<R, K>): void | Promise<void>
}
