import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from 'commander'
import type { CommandDeclaration } from '../contracts/declarations.ts'
import { errorCodeOf } from '../errors/coded-error.ts'
import { exitCodes } from './process-end.ts'
import { resolveProductFile } from './product-file.ts'
import type { CommandScope, ProgramEnvironment } from './scope.ts'

/**
 * Commands and options for development. They are in `@plinth/dev`, a development dependency that a product in production
 * does not have.
 */
const developmentCommands = [
  'create',
  'completion',
  'plugins lock',
  'plugins diff',
  'plugins verify',
  'plugin lock',
  'plugin diff',
  'plugin verify',
  'migrate draft',
  'openapi --previous',
  'openapi --types',
  'openapi --client',
]

/** The module `@plinth/dev/commands`. */
export interface DevelopmentCommands {
  addCommands(program: Command, scope: CommandScope, surroundings: ProgramEnvironment): void
  /** Commands that run with the services of a plugin, by its id. They replace its own commands of the same name. */
  readonly pluginCommands: Readonly<Record<string, readonly CommandDeclaration[]>>
}

interface DevServer {
  runDev(words: readonly string[]): Promise<number>
}

const notInstalled: ReadonlySet<unknown> = new Set(['MODULE_NOT_FOUND', 'ERR_PACKAGE_PATH_NOT_EXPORTED'])

/**
 * Returns the file of a module of `@plinth/dev`, as installed for the product, for the working directory, or beside the
 * kernel. Returns `undefined` if the package is not installed.
 */
function fileOf(module: string, words: readonly string[], directory: string): string | undefined {
  const importers = [resolveProductFile(words, directory), join(directory, 'plinth.config.ts'), import.meta.url]
  for (const importer of importers) {
    try {
      return createRequire(importer).resolve(`@plinth/dev/${module}`)
    } catch (error) {
      if (!notInstalled.has(errorCodeOf(error))) throw error
    }
  }
  return undefined
}

/** Loads the commands of `@plinth/dev`. Returns `undefined` if the package is not installed. */
export async function loadDevelopmentCommands(
  words: readonly string[],
  directory: string,
): Promise<DevelopmentCommands | undefined> {
  const file = fileOf('commands', words, directory)
  return file === undefined ? undefined : await import(pathToFileURL(file).href)
}

/** Returns the command of `@plinth/dev` that a command line contains, such as `plugins lock`. */
export const developmentCommandIn = (words: readonly string[]): string | undefined =>
  developmentCommands.find((command) =>
    command.split(' ').every((part) => words.some((word) => word === part || word.startsWith(`${part}=`))),
  )

/** Runs `plinth dev` and returns its exit code. */
export async function runDevServer(words: readonly string[]): Promise<number> {
  const file = fileOf('dev-server', words, process.cwd())
  if (file !== undefined) {
    const { runDev }: DevServer = await import(pathToFileURL(file).href)
    return runDev(words)
  }
  const [{ createOutput }, { kernelError }] = await Promise.all([
    import('./output.ts'),
    import('../errors/kernel-errors.ts'),
  ])
  createOutput(process, words.includes('--json')).failure(kernelError('PLINTH_DEV_MISSING', { command: 'dev' }))
  return exitCodes.usage
}
