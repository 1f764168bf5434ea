import { join } from 'node:path'
import type { Command } from 'commander'
import type { Product } from '../product.ts'
import { type Manifest, manifestDifferences, manifestOf, readLockFile, writeLockFile } from './manifest.ts'
import { startPart } from './partial-start.ts'
import { exitCodes, interruptible } from './process-end.ts'
import type { CommandScope } from './scope.ts'

const lockFileName = 'plinth.lock.json'

/** Returns the path of the lock file, which is beside the product file. */
export const lockFileOf = ({ root }: Product): string => join(root, lockFileName)

/** Adds `plinth plugins lock` and `plinth plugins diff`. */
export function addManifestCommands(plugins: Command, scope: CommandScope): void {
  const lockFile = () => lockFileOf(scope.product())
  const current = () =>
    interruptible(async (signal): Promise<Manifest> => {
      const { running } = await startPart(scope, { needed: [], setsUp: 'all', signal })
      try {
        return manifestOf(scope.product().plugins, running)
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
      const differences = manifestDifferences(recorded, await current())
      const isWider = differences.some(({ change }) => change === 'added')
      if (differences.length === 0) scope.output.result({ differences, wider: false }, `${lockFileName} is current.`)
      else {
        const rows = differences.map(({ change, plugin, kind, entry }) => [change, plugin, kind, entry])
        const advice = isWider
          ? 'Plugins use or add more than the lock file allows. If you agree, run "plinth plugins lock" and commit the file.'
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
