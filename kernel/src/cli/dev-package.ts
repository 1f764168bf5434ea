import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Command } from 'commander'
import type { CommandDeclaration } from '../contracts/declarations.ts'
import { errorCodeOf } from '../errors/coded-error.ts'
import { exitCodes } from './process-end.ts'
import { resolveProductFile } from './product-file.ts'
import type { CommandScope, ProgramEnvironment } from './scope.ts'
import { plainWordsOf } from './supervisor-link.ts'

/**
 * Commands and options for development. They are in `@plinth/dev`, a development dependency that a product in production
 * does not have.
 */
const developmentCommands: readonly (readonly [command: string, option?: string])[] = [
  ['create'],
  ['completion'],
  ...['plugins', 'plugin'].flatMap((group) => ['lock', 'diff', 'verify'].map((word) => [`${group} ${word}`] as const)),
  ['migrate draft'],
  ['openapi', '--previous'],
  ['openapi', '--types'],
  ['openapi', '--client'],
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

/** Returns the command of `@plinth/dev` that a command line runs, such as `plugins lock`. */
export function developmentCommandIn(words: readonly string[]): string | undefined {
  const line = `${plainWordsOf(words).join(' ')} `
  const has = (option: string) => words.some((word) => word.split('=')[0] === option)
  const found = developmentCommands.find(
    ([command, option]) => line.startsWith(`${command} `) && (option === undefined || has(option)),
  )
  return found?.join(' ')
}

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
