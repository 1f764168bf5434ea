import type { LocalizedText } from '@plinth/config-schema'
import type { Declared, KeysOf, PluginRuntime } from '../plugin.ts'

/** Output of a command. With `--json`, `result` or `table` writes the only JSON document to standard output. */
export interface CommandOutput {
  readonly json: boolean
  /** Prints the result: with `--json` the value as JSON, otherwise the text. */
  result(value: unknown, text: string): void
  /**
   * Prints a table as the result: with `--json` the value as JSON, otherwise the rows as columns that fit the terminal.
   *
   * @param rows cells of each row; the first row is the heading
   * @param more text below the table
   */
  table(value: unknown, rows: readonly (readonly string[])[], more?: string): void
  /** Prints progress and notes to standard error. */
  progress(text: string): void
}

/** Result of one check of `plinth doctor`. */
export interface CommandFinding {
  readonly check: string
  readonly outcome: 'ok' | 'warning' | 'failed'
  /** Code of the problem. `plinth start` reports the same code. */
  readonly code?: string
  readonly detail: string
}

export interface CommandInvocation {
  readonly args: readonly string[]
  /** Values of the options by long name in camelCase. */
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly output: CommandOutput
  readonly signal: AbortSignal
  /**
   * Runs all checks of `plinth doctor --data` on the product of the command.
   *
   * @param set configuration values that apply to these checks only
   */
  examine(set: Readonly<Record<string, string>>): Promise<readonly CommandFinding[]>
}

/**
 * The plugins that a command sets up. `all`: every plugin; if one fails, the command fails. `needed`: only the plugin
 * of the command and its dependencies. `possible`: also all other plugins that can be set up. If another plugin fails,
 * it is reported and omitted. The command therefore works even if an invalid value keeps that plugin from starting.
 */
export type CommandSetup = 'all' | 'needed' | 'possible'

/**
 * A command that a plugin adds to the `plinth` program. The product is first set up in the role `cli`: services are
 * available, but the product does not listen on a port, and the database is not migrated.
 */
export interface CommandDeclaration<D extends Partial<Declared> = Declared> {
  /**
   * Words after `plinth`: one word (`migrate`), or a group and a word (`config set`). The group may belong to the
   * kernel.
   *
   * @example name: 'sms balance'
   */
  readonly name: string
  /**
   * @example summary: 'what is left of the SMS account'
   */
  readonly summary: string
  /**
   * Commander syntax: `[name]`, `<name>`.
   *
   * @example arguments: [{ name: '[account]', description: 'another account' }]
   */
  readonly arguments?: readonly { readonly name: string; readonly description: string }[]
  /**
   * Commander syntax: `--dry-run`, `--to <name>`.
   *
   * @example options: [{ flags: '--currency <code>', description: 'ISO 4217' }]
   */
  readonly options?: readonly { readonly flags: string; readonly description: string }[]
  /**
   * Plugins that the command sets up; `all` when absent.
   *
   * @example setsUp: 'needed'
   */
  readonly setsUp?: CommandSetup
  /**
   * Runs the command and returns the exit code. Returning undefined means 0.
   *
   * @example run: (_, { args, output }) => output.result({ cents: 4711 }, `${args[0] ?? 'acme'}: 47.11`)
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing
  readonly run: (runtime: PluginRuntime<D>, invocation: CommandInvocation) => number | void | Promise<number | void>
}

export interface InstallTaskContext<D extends Partial<Declared>> extends PluginRuntime<D> {
  readonly signal: AbortSignal
  /** Shows a text about the progress to the operator. The text must not contain secrets. */
  note(text: string): void
}

/**
 * One step of the installation (document 3 of the specification, "Install task contract"). The process may be killed at
 * any time, and the task then runs again. Therefore `run` must reach the same state after any number of interrupted
 * runs.
 */
export interface InstallTask<D extends Partial<Declared> = Declared> {
  /**
   * Code of the step in kebab-case, unique in the product.
   *
   * @example code: 'check-sms-account'
   */
  readonly code: string
  /**
   * @example displayName: { en: 'Check the SMS account', 'zh-CN': '检查短信账户' }
   */
  readonly displayName: LocalizedText
  /**
   * Position in the installation. Tasks with smaller numbers run earlier.
   *
   * @example order: 500
   */
  readonly order: number
  /**
   * Codes of tasks that must run before this one.
   *
   * @example dependencies: ['write-settings']
   */
  readonly dependencies?: readonly string[]
  /**
   * If a required task fails, the installation stops. If an optional task fails, the error is only logged.
   *
   * @example required: false
   */
  readonly required: boolean
  /**
   * True if the operator may run the task again after a failure.
   *
   * @example retryable: true
   */
  readonly retryable: boolean
  /**
   * Returns true if no work is left, so that the task is skipped. Must not change anything.
   *
   * @example isCompleted: ({ config }) => config.get('platform.acme-sms.poll') === 0
   */
  readonly isCompleted: (context: InstallTaskContext<D>) => boolean | Promise<boolean>
  /**
   * @example run: async ({ note, signal }) => note((await account(signal)) ? 'The account is open.' : 'The account is closed.')
   */
  readonly run: (context: InstallTaskContext<D>) => void | Promise<void>
}

/** A permission that can be assigned to roles. */
export interface PermissionDeclaration {
  /**
   * Code with words separated by colons, for example `rate-limit:view`.
   *
   * @example code: 'acme-sms:balance:view'
   */
  readonly code: string
  /**
   * @example displayName: { en: 'View the balance', 'zh-CN': '查看余额' }
   */
  readonly displayName: LocalizedText
  /**
   * @example description: { en: 'What is left of the account.', 'zh-CN': '账户剩余金额。' }
   */
  readonly description?: LocalizedText
  /**
   * If true, there is also a permission for each group of configuration keys: the code, a colon and the group, for
   * example `system-config:save:mail`. The plugin decides what it allows. See `PermissionAccess.orGroup` of
   * `@plinth/http`.
   *
   * @example perConfigGroup: true
   */
  readonly perConfigGroup?: boolean
}

export interface ScheduledTaskContext<D extends Partial<Declared>> extends PluginRuntime<D> {
  /** Aborts when the product drains or the task loses its lease. */
  readonly signal: AbortSignal
}

/**
 * Repeated work with a fixed delay between the end of a run and the start of the next one. Only one instance runs it at
 * a time.
 */
export interface ScheduledTask<D extends Partial<Declared> = Declared> {
  /**
   * Unique name, for example `member-points.expire`.
   *
   * @example name: 'acme-sms.poll-balance'
   */
  readonly name: string
  /**
   * String key of the plugin with which operators rename the task. Its default must be `name`. Restrict its values so
   * that they cannot equal the task names of other plugins.
   *
   * @example nameFrom: 'platform.acme-sms.task-name'
   */
  readonly nameFrom?: keyof KeysOf<D> & string
  /**
   * @example displayName: { en: 'Ask for the balance', 'zh-CN': '查询余额' }
   */
  readonly displayName: LocalizedText
  /**
   * Milliseconds between the end of a run and the start of the next one, or a duration key of the plugin that contains
   * this delay.
   *
   * @example fixedDelay: 'platform.acme-sms.poll'
   */
  readonly fixedDelay: number | (keyof KeysOf<D> & string)
  /**
   * True if the task runs automatically after the start, or a boolean key of the plugin that decides it.
   *
   * @example autoStartup: true
   */
  readonly autoStartup: boolean | (keyof KeysOf<D> & string)
  /**
   * True for a task that expires or deletes data, or releases holds. Before each run, the scheduler compares the clocks
   * of the instance and the database. If they differ, the task does not run on this instance. Default: false.
   *
   * @example irreversible: true
   */
  readonly irreversible?: boolean
  /**
   * @example run: async ({ signal, log }) => log.info({ open: await account(signal) }, 'balance asked')
   */
  readonly run: (context: ScheduledTaskContext<D>) => void | Promise<void>
}
