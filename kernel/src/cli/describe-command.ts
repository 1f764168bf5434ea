import type { Command } from 'commander'

/** A command, in the form that `plinth <command> --help --json` prints. */
export interface CommandDescription {
  readonly name: string
  readonly summary: string
  /** Text in addition to the summary; may be empty. */
  readonly description: string
  /** Syntax of the command line: `plinth config get [options] <key>`. */
  readonly usage: string
  readonly arguments: readonly { readonly name: string; readonly description: string; readonly required: boolean }[]
  readonly options: readonly { readonly flags: string; readonly description: string }[]
  readonly commands: readonly CommandDescription[]
}

export function describeCommand(command: Command): CommandDescription {
  return {
    name: command.name(),
    summary: command.summary() || command.description(),
    description: command.description(),
    usage: command.createHelp().commandUsage(command),
    arguments: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      description: argument.description,
      required: argument.required,
    })),
    options: command.options.map(({ flags, description }) => ({ flags, description })),
    commands: command.commands.map(describeCommand),
  }
}
