import type { LocalizedText } from '@plinth/config-schema'
import type { Declared, KeysOf, PluginRuntime } from '../plugin.ts'

export interface ScheduledTaskContext<D extends Partial<Declared>> extends PluginRuntime<D> {
  /** Aborts when the product drains or the task loses its lease. */
  readonly signal: AbortSignal
}

/** Work that repeats with a fixed delay: the next run starts that long after the last one ended, on one instance at a time. */
export interface ScheduledTask<D extends Partial<Declared> = Declared> {
  /**
   * Unique name, for example `member-points.expire`.
   *
   * @example name: 'acme-sms.poll-balance'
   */
  readonly name: string
  /**
   * The own string key that renames it; its default is `name`. What it allows keeps clear of the tasks of other plugins.
   *
   * @example nameFrom: 'platform.acme-sms.task-name'
   */
  readonly nameFrom?: keyof KeysOf<D> & string
  /**
   * @example displayName: { en: 'Ask for the balance', 'zh-CN': '查询余额' }
   */
  readonly displayName: LocalizedText
  /**
   * Milliseconds between the end of a run and the start of the next, or the own duration key that says so.
   *
   * @example fixedDelay: 'platform.acme-sms.poll'
   */
  readonly fixedDelay: number | (keyof KeysOf<D> & string)
  /**
   * Whether it runs by itself after start, or the own boolean key that says so.
   *
   * @example autoStartup: true
   */
  readonly autoStartup: boolean | (keyof KeysOf<D> & string)
  /**
   * True for a task that lets something expire, releases holds or deletes. It does not run on an instance whose clock differs from
   * the database's; the scheduler checks this before each run. False when absent.
   *
   * @example irreversible: true
   */
  readonly irreversible?: boolean
  /**
   * @example run: async ({ signal, log }) => log.info({ open: await account(signal) }, 'balance asked')
   */
  readonly run: (context: ScheduledTaskContext<D>) => void | Promise<void>
}
