import type { Declared, PluginRuntime } from '../plugin.ts'

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
