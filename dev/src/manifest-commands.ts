import {
  type CommandScope,
  compareManifests,
  createManifest,
  exitCodes,
  isWidening,
  lockFileName,
  lockFileOf,
  type Manifest,
  readLockFile,
  runInterruptible,
  startForCommand,
  writeLockFile,
} from '@plinth/kernel/program'
import type { Command } from 'commander'

/** Adds `plinth plugins lock` and `plinth plugins diff`. */
export function addManifestCommands(plugins: Command, scope: CommandScope): void {
  const lockFile = () => lockFileOf(scope.product())
  const current = () =>
    runInterruptible(async (signal): Promise<Manifest> => {
      const { running } = await startForCommand(scope, { needed: [], setsUp: 'all', signal })
      try {
        return createManifest(scope.product().plugins, running)
      } finally {
        await running.stop('command ended')
      }
    })

  plugins
    .command('lock')
    .summary(`record in ${lockFileName} what each plugin uses and adds`)
    .action(async () => {
      const manifest = await current()
      const file = lockFile()
      writeLockFile(file, manifest)
      scope.output.result({ file }, `Wrote ${file} with ${Object.keys(manifest.plugins).length} plugins. Commit it.`)
    })

  plugins
    .command('diff')
    .summary(`compare the plugins with ${lockFileName}; fails if one adds something`)
    .action(async () => {
      const recorded = readLockFile(lockFile())
      const differences = compareManifests(recorded, await current())
      const isWider = differences.some(isWidening)
      if (differences.length === 0) scope.output.result({ differences, wider: false }, `${lockFileName} is current.`)
      else {
        const rows = differences.map(({ change, plugin, kind, entry }) => [change, plugin, kind, entry])
        const advice = isWider
          ? 'Plugins use or add more than the lock file allows, or a package has other files under the same version. If you agree, run "plinth plugins lock" and commit the file.'
          : 'No plugin uses or adds more. Run "plinth plugins lock" to record the changes.'
        scope.output.table(
          { differences, wider: isWider },
          [['CHANGE', 'PLUGIN', 'KIND', 'ENTRY'], ...rows],
          `\n${advice}`,
        )
      }
      scope.exit(isWider ? exitCodes.failed : exitCodes.ok)
    })
}
