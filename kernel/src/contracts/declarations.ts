import type { LocalizedText } from '@plinth/config-schema'
import type { Declared, KeysOf, PluginRuntime } from '../plugin.ts'

/** Where a command writes. With `--json` exactly one JSON document goes to standard output, through `result`. */
export interface CommandOutput {
  readonly json: boolean
  /** The answer: printed as JSON with `--json`, otherwise as the given text. */
  result(value: unknown, text: string): void
  /** Progress and remarks for people: standard error. */
  progress(text: string): void
}

export interface CommandInvocation {
  readonly args: readonly string[]
  /** By long option name in camelCase. */
  readonly options: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
  readonly output: CommandOutput
  readonly signal: AbortSignal
}

/**
 * Which plugins a command sets up. `all`: every one, or the command fails. `needed`: the plugin of the command and what it
 * uses, no other. `possible`: the same, and of the others each that can be set up. What is not required and cannot be set up
 * is reported and left out, so that the command works while a value keeps another plugin from starting.
 */
export type CommandSetup = 'all' | 'needed' | 'possible'

/**
 * A command of the `plinth` program that a plugin brings. The product is set up in the role `cli` first: services are
 * there, nothing listens and nothing migrates by itself.
 */
export interface CommandDeclaration<D extends Partial<Declared> = Declared> {
  /**
   * Words after `plinth`: `migrate`, or a group and a word, `config set`. The group may be one of the kernel.
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
   * `all` when absent.
   *
   * @example setsUp: 'needed'
   */
  readonly setsUp?: CommandSetup
  /**
   * Answers the exit code; nothing means 0.
   *
   * @example run: (_, { args, output }) => output.result({ cents: 4711 }, `${args[0] ?? 'acme'}: 47.11`)
   */
  // biome-ignore lint/suspicious/noConfusingVoidType: most commands end without a word
  readonly run: (runtime: PluginRuntime<D>, invocation: CommandInvocation) => number | void | Promise<number | void>
}

export interface InstallTaskContext<D extends Partial<Declared>> extends PluginRuntime<D> {
  readonly signal: AbortSignal
  /** Shows progress to the operator. Never secrets. */
  note(text: string): void
}

/**
 * One step of the installation (document 3, "Install task contract"). A task may be killed at any moment and run again:
 * `run` must end in the same state however often it was started.
 */
export interface InstallTask<D extends Partial<Declared> = Declared> {
  /**
   * Globally unique step code, kebab-case.
   *
   * @example code: 'check-sms-account'
   */
  readonly code: string
  /**
   * @example displayName: { en: 'Check the SMS account', 'zh-CN': '检查短信账户' }
   */
  readonly displayName: LocalizedText
  /**
   * Base order; smaller runs earlier.
   *
   * @example order: 500
   */
  readonly order: number
  /**
   * Codes of tasks that run before this one when they are registered.
   *
   * @example dependencies: ['write-settings']
   */
  readonly dependencies?: readonly string[]
  /**
   * A failed required task stops the installation; a failed optional one is logged.
   *
   * @example required: false
   */
  readonly required: boolean
  /**
   * Whether the operator may be offered another try.
   *
   * @example retryable: true
   */
  readonly retryable: boolean
  /**
   * True when nothing is left to do; the task is skipped then. Writes nothing.
   *
   * @example isCompleted: ({ config }) => config.get('platform.acme-sms.poll') === 0
   */
  readonly isCompleted: (context: InstallTaskContext<D>) => boolean | Promise<boolean>
  /**
   * @example run: async ({ note, signal }) => note((await account(signal)) ? 'The account is open.' : 'The account is closed.')
   */
  readonly run: (context: InstallTaskContext<D>) => void | Promise<void>
}

/** A permission that roles can be given. */
export interface PermissionDeclaration {
  /**
   * Colon-separated code, for example `rate-limit:view`.
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
}

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
