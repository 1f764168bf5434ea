import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { omitUndefined } from '@plinth/config-schema'
import { redactError } from '@plinth/config-schema/reading'
import { Command, CommanderError, Option } from 'commander'
import { settingsFileOf } from '../configuration/settings-file.ts'
import type { CommandDeclaration } from '../contracts/declarations.ts'
import { errorReason, type PlinthError } from '../errors/coded-error.ts'
import { kernelError } from '../errors/kernel-errors.ts'
import { kernelVersion } from '../kernel-plugin.ts'
import { isPlugin, type Plugin } from '../plugin.ts'
import type { PrepareOptions, Product } from '../product.ts'
import { addConfigCommands } from './config-commands.ts'
import { CrashWatch } from './crash-watch.ts'
import { describeCommand } from './describe-command.ts'
import { developmentCommandIn, loadDevelopmentCommands } from './dev-package.ts'
import { addDoctorCommand, examine } from './doctor-command.ts'
import { loadProduct, onLoadedPackage } from './load-product.ts'
import { createOutput, explained } from './output.ts'
import { startForCommand } from './partial-start.ts'
import { addPluginsCommands } from './plugins-commands.ts'
import { exitCodes, runInterruptible } from './process-end.ts'
import { findOptionValue, resolveProductFile } from './product-file.ts'
import {
  type CommandScope,
  createSetOptionParser,
  noSetOptions,
  type ProgramEnvironment,
  type SetOptions,
  warnOfVisibleSecrets,
} from './scope.ts'
import { addStartCommand } from './start-command.ts'
import { parseServingCommand, productWordsOf, readsStandardInput } from './supervisor-link.ts'
import { addUpgradeCommand } from './upgrade-command.ts'

/** Runs one `plinth` command line and returns its exit code. Never throws. */
export async function runProgram(argv: readonly string[], surroundings: ProgramEnvironment): Promise<number> {
  let exitCode: number = exitCodes.ok
  const { supervisor, developmentCommands = loadDevelopmentCommands } = surroundings
  const output = createOutput(surroundings, argv.includes('--json'), supervisor?.failed)
  const crashes = new CrashWatch(output)
  surroundings.onCrash?.(crashes.onCrash)
  surroundings.onUnexpectedEnd?.(crashes.onUnexpectedEnd)
  if (supervisor !== undefined && supervisor.mode !== 'start') onLoadedPackage(supervisor.loads, supervisor.loadsModule)
  const file = resolveProductFile(argv, surroundings.directory)
  const found = await findProduct(file)
  // A server in production does not load the package.
  const development =
    parseServingCommand(argv) === 'start' ? undefined : await developmentCommands(argv, surroundings.directory)
  const program = createProgram(surroundings, output.json)
  const scope: CommandScope = {
    output,
    crashes,
    supervisor,
    nodeVersion: surroundings.nodeVersion ?? process.versions.node,
    product: () => {
      if (found.product === undefined) throw found.error
      return found.product
    },
    options: () => ({
      ...prepareOptions(program, surroundings),
      capturesOutput: true,
      onCreated: crashes.watch,
      commandLine: commandLineOf(argv, file),
    }),
    exit: (code) => {
      exitCode = code
    },
  }
  try {
    addStartCommand(program, scope)
    addConfigCommands(program, scope)
    addPluginsCommands(program, scope)
    addUpgradeCommand(program, scope)
    addDoctorCommand(program, scope)
    development?.addCommands(program, scope, surroundings)
    for (const plugin of found.product?.plugins.filter(isPlugin) ?? []) {
      const added = development?.pluginCommands[plugin.id] ?? []
      const own = (plugin.commands ?? []).filter(({ name }) => added.every((other) => other.name !== name))
      for (const command of [...own, ...added]) addContributedCommand(program, plugin, command, scope)
    }
    if (found.product === undefined) program.addHelpText('after', withoutProduct(found.error))
    program.hook('preAction', () => {
      if (found.product !== undefined && output.isTerminal && !output.json) {
        output.progress(placesText(found.product, file, program, surroundings))
      }
      for (const warning of warnOfVisibleSecrets(program.opts<{ set: SetOptions }>().set, found.product))
        output.progress(warning)
    })
    await program.parseAsync([...argv], { from: 'user' })
    return exitCode
  } catch (error) {
    if (!(error instanceof CommanderError)) {
      output.failure(error)
      return exitCodeOf(error)
    }
    if (error.exitCode === 0) {
      if (output.json) output.result(helpDocument(program, argv, error.code), '')
      return exitCodes.ok
    }
    const missing = development === undefined ? developmentCommandIn(argv) : undefined
    if (missing !== undefined) output.failure(kernelError('PLINTH_DEV_MISSING', { command: missing }))
    // The unknown command may belong to a plugin, but the product could not be loaded. The reason is the more useful
    // error.
    else if (error.code === 'commander.unknownCommand' && found.product === undefined) output.failure(found.error)
    // commander has printed the help, because the command line contains no command.
    else if (error.code !== 'commander.help') {
      output.failure(usageError(error.message.replace(/^error: /, ''), commandAt(program, argv).name))
    } else if (output.json) output.failure(usageError('No command was named.'))
    return exitCodes.usage
  }
}

/** See `Kernel.commandLine`. */
function commandLineOf(argv: readonly string[], file: string): readonly string[] | undefined {
  if (readsStandardInput(argv)) return undefined
  const program = fileURLToPath(new URL('../../bin/plinth.js', import.meta.url))
  const words = productWordsOf(argv)
  const product = findOptionValue(words, '--product') === undefined ? ['--product', file] : []
  return [process.execPath, ...process.execArgv, program, ...words, ...product]
}

const exitCodeByError: Readonly<Record<string, number>> = {
  PLINTH_CLI_USAGE: exitCodes.usage,
  PLINTH_CREATE_NAME: exitCodes.usage,
  PLINTH_PRODUCT_NOT_FOUND: exitCodes.refused,
  PLINTH_PRODUCT_INVALID: exitCodes.refused,
  PLINTH_PRODUCT_IMPORT: exitCodes.refused,
  PLINTH_START_REFUSED: exitCodes.refused,
  PLINTH_START_CANCELLED: exitCodes.interrupted,
  PLINTH_FILE_ACCESS: exitCodes.refused,
}

function exitCodeOf(error: unknown): number {
  return exitCodeByError[explained(error).code] ?? exitCodes.failed
}

const usageError = (reason: string, command = 'plinth') => kernelError('PLINTH_CLI_USAGE', { reason, command })

/** Returns the command in a command line and its full name, such as `plinth config get`. Unknown words are ignored. */
function commandAt(program: Command, words: readonly string[]): { readonly command: Command; readonly name: string } {
  let [command, name] = [program, program.name()]
  for (const word of words) {
    const next = command.commands.find((candidate) => candidate.name() === word)
    if (next === undefined) continue
    command = next
    name += ` ${word}`
  }
  return { command, name }
}

/** Loads the product before the command line is parsed, because the plugins of the product add commands. */
async function findProduct(
  file: string,
): Promise<{ product: Product; error?: never } | { product?: never; error: PlinthError }> {
  try {
    return { product: await loadProduct(file) }
  } catch (error) {
    return { error: error as PlinthError }
  }
}

/** Printed below the help if the product could not be loaded, so that only commands of the kernel are known. */
const withoutProduct = ({ message }: PlinthError) =>
  `\nOther commands, such as routes, openapi and migrate, belong to plugins. They are missing here: ${message}`

/** Returns a text that shows which files of the product a command uses. */
function placesText(product: Product, file: string, program: Command, environment: ProgramEnvironment): string {
  const { directory } = environment
  const settings = settingsFileOf(product, prepareOptions(program, environment)) ?? ''
  const short = (path: string) => relative(directory, path) || path
  return `Product: ${short(file)}. Settings file: ${existsSync(settings) ? short(settings) : `none (${short(settings)})`}.`
}

/** Returns the JSON document for `--help --json` or `--version --json`. */
function helpDocument(program: Command, words: readonly string[], code: string): object {
  if (code === 'commander.version') return { version: kernelVersion }
  return describeCommand(commandAt(program, words).command)
}

function createProgram({ stdout, stderr, directory }: ProgramEnvironment, json: boolean): Command {
  return new Command('plinth')
    .description('Runs and inspects a Plinth product.')
    .version(kernelVersion)
    .addOption(
      new Option('--product <file>', 'product file (default: plinth.config.ts in this directory or one above)'),
    )
    .addOption(
      new Option(
        '--set <key=value>',
        'configuration value for this run only, key=@file or key=- (standard input) for secrets; may be repeated',
      )
        .argParser(createSetOptionParser(directory))
        .default(noSetOptions, 'none'),
    )
    .addOption(new Option('--settings-file <file>', 'instead of .env beside the product file'))
    .addOption(new Option('--json', 'print one JSON document'))
    .configureOutput({
      writeOut: (text) => {
        // With `--json`, the help is printed as a JSON document instead.
        if (!json) stdout.write(text)
      },
      writeErr: (text) => stderr.write(text),
      outputError: () => {},
    })
    .configureHelp({ showGlobalOptions: true })
    .showSuggestionAfterError()
    .exitOverride()
}

function prepareOptions(program: Command, { environment, directory }: ProgramEnvironment): PrepareOptions {
  const { set, settingsFile } = program.opts<{ set: SetOptions; settingsFile?: string }>()
  return omitUndefined({
    environment,
    set: set.values,
    envFile: settingsFile === undefined ? undefined : resolve(directory, settingsFile),
  })
}

/** Returns the command group with a name. Creates the group if it does not exist. */
function subcommandOf(group: Command, name: string): Command {
  return group.commands.find((command) => command.name() === name) ?? group.command(name).summary(`${name} commands`)
}

function addContributedCommand(
  program: Command,
  { id: plugin, roles = ['cli'] }: Plugin,
  { name, summary, arguments: parameters = [], options = [], setsUp = 'all', run }: CommandDeclaration,
  scope: CommandScope,
): void {
  const words = name.split(' ')
  const word = words.pop() ?? ''
  const group = words.reduce(subcommandOf, program)
  // Two commands with the same name are a problem of the plan, which every command reports.
  if (group.commands.some((command) => command.name() === word)) return
  const command = group.command(word).summary(summary).description(summary)
  for (const { name, description } of parameters) command.argument(name, description)
  for (const { flags, description } of options) command.option(flags, description)
  command.action(() =>
    runInterruptible(async (signal) => {
      const { running, failures } = await startForCommand(scope, { needed: [plugin], setsUp, signal })
      for (const failure of failures) scope.output.progress(errorReason(failure))
      try {
        const runtime = running.runtimeOf(plugin)
        if (runtime === undefined || !roles.includes('cli'))
          throw usageError(`Plugin "${plugin}" does not load in the role cli.`)
        const examination = (set: Readonly<Record<string, string>>) => {
          const options = () => ({ ...scope.options(), set: { ...scope.options().set, ...set } })
          return examine({ ...scope, options }, { signal, checksData: true })
        }
        const invocation = {
          args: command.args,
          options: command.opts(),
          output: scope.output,
          signal,
          examine: examination,
        }
        scope.exit((await run(runtime, invocation)) ?? (signal.aborted ? exitCodes.interrupted : exitCodes.ok))
      } catch (error) {
        redactError(error, (text) => running.redact(text))
        scope.output.failure(error)
        scope.exit(signal.aborted ? exitCodes.interrupted : exitCodeOf(error))
      } finally {
        await running.stop('command ended')
      }
    }),
  )
}
