import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import { errorReason } from '@plinth/kernel'
import { type CommandScope, exitCodes, type ProgramEnvironment, runInterruptible } from '@plinth/kernel/program'
import { type Command, InvalidArgumentError } from 'commander'
import type { VerifyDatabase } from './verify-plugin.ts'
import type { VerifyCheck, VerifyReport } from './verify-report.ts'

interface VerifyCommandOptions {
  readonly database: readonly VerifyDatabase[]
  readonly limit: number
  readonly previous?: string
}

/** The first lines of the command. */
const warning = [
  'This command executes the code and the tests of the plugin with your rights on this machine.',
  'Verify a plugin that you do not trust in a container without credentials.',
].join('\n')

export function addVerifyCommand(
  plugins: Command,
  scope: CommandScope,
  { directory }: Pick<ProgramEnvironment, 'directory'>,
): void {
  plugins
    .command('verify')
    .summary('test a plugin as other products would use it; fails if it has errors')
    .description(
      'Packs the plugin, runs its tests, and installs it in an empty and in a filled product on SQLite: start, stop, disable, enable, remove, install again. Upgrades from the previous version, and runs conformance kits. Reports errors of the package, undeclared tables and hosts, leaked secrets, and everything that the plugin leaves open, stored or changed. Sends nothing to other machines.',
    )
    .argument('<folder>', 'folder of the plugin')
    .option(
      '--database <file>',
      'also on the empty database of this settings file (PLATFORM_DATABASE_*); its tables are deleted; may be repeated',
      (file: string, previous: readonly VerifyDatabase[]) => [...previous, readDatabase(resolve(directory, file))],
      [],
    )
    .option(
      '--previous <path>',
      'archive or folder of the previous version, for an upgrade (default: the installed package with the same name)',
    )
    .option('--limit <seconds>', 'maximum duration of each check', parseSeconds, 300)
    .action((folder: string, { database, limit, previous }: VerifyCommandOptions) =>
      runInterruptible(async (signal) => {
        try {
          // Loaded only here, because all commands load this file.
          const { verifyPlugin } = await import('./verify-plugin.ts')
          scope.output.progress(warning)
          const report = await verifyPlugin({
            folder,
            directory,
            databases: database,
            previous,
            set: scope.options().set ?? {},
            limitMs: limit * 1000,
            onCheck: (name) => scope.output.progress(`Checking: ${name}`),
            signal,
          })
          print(scope, report)
          scope.exit(report.passed ? exitCodes.ok : exitCodes.failed)
        } catch (error) {
          if (!signal.aborted) throw error
          scope.output.progress(errorReason(signal.reason))
          scope.exit(exitCodes.interrupted)
        }
      }),
    )
}

function readDatabase(file: string): VerifyDatabase {
  try {
    const environment = parseEnv(readFileSync(file, 'utf8'))
    const given = Object.entries(environment).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const values = Object.fromEntries(given)
    return { name: values['PLATFORM_DATABASE_TYPE'] ?? basename(file), environment: values }
  } catch (error) {
    throw new InvalidArgumentError(`The settings file cannot be read: ${errorReason(error)}`)
  }
}

function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (!Number.isInteger(seconds) || seconds < 1) throw new InvalidArgumentError('Write a whole number of seconds.')
  return seconds
}

function print({ output }: CommandScope, report: VerifyReport): void {
  const summary = report.passed
    ? `${report.name} ${report.version} passed.`
    : `${report.name} ${report.version} has errors. Correct them before you publish it.`
  output.table(report, [['OUTCOME', 'CHECK', 'DETAIL'], ...report.checks.flatMap(rowsOf)], `\n${summary}`)
}

function rowsOf({ name, skipped, detail, problems, durationMs }: VerifyCheck): readonly string[][] {
  if (skipped !== undefined) return [['skipped', name, skipped]]
  if (problems.length === 0) return [['ok', name, `${detail} (${(durationMs / 1000).toFixed(1)} s)`]]
  return problems.map(({ level, code, message, fix }) => [
    level === 'error' ? 'failed' : 'warning',
    name,
    `${code}: ${message} ${fix}`,
  ])
}
