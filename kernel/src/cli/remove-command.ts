import { didYouMean } from '@plinth/config-schema/reading'
import type { Command } from 'commander'
import { type PluginDataItem, pluginData } from '../contracts/kernel.ts'
import { kernelError } from '../errors/kernel-errors.ts'
import { kernelVersion } from '../kernel-plugin.ts'
import { planProduct } from '../plan.ts'
import { isPlugin, type Plugin, roles } from '../plugin.ts'
import type { RunningProduct } from '../running-product.ts'
import { startForCommand } from './partial-start.ts'
import { runInterruptible } from './process-end.ts'
import type { CommandScope } from './scope.ts'

export function addRemoveCommand(plugins: Command, scope: CommandScope): void {
  plugins
    .command('remove')
    .summary('delete the stored data of a plugin before you take it out of the product file')
    .argument('<plugin>')
    .option('--dry-run', 'list what would be deleted; delete nothing')
    .option('--yes', 'delete')
    .action((id: string, { dryRun = false, yes = false }: { dryRun?: boolean; yes?: boolean }) =>
      runInterruptible(async (signal) => {
        const listed = scope.product().plugins.filter(isPlugin)
        const plugin = removable(id, listed)
        if (dryRun === yes) {
          throw usage('Add --dry-run to list what would be deleted, or --yes to delete it. Stop all instances first.')
        }
        const { running } = await startForCommand(scope, { needed: [], setsUp: 'all', signal })
        try {
          const data = await dataOf(running, plugin)
          if (yes) {
            await assertUnused(running, plugin)
            await removeData(running, plugin)
          }
          print(scope, plugin, data, yes)
        } finally {
          await running.stop('command ended')
        }
      }),
    )
}

const usage = (reason: string) => kernelError('PLINTH_CLI_USAGE', { reason, command: 'plinth plugins remove' })

/**
 * Returns the plugin to remove.
 *
 * @throws PlinthError `PLINTH_CLI_USAGE` for an unknown plugin, `PLINTH_PLUGIN_REQUIRED`
 */
function removable(id: string, listed: readonly Plugin[]): Plugin {
  const ids = listed.map((one) => one.id)
  const plugin = listed.find((one) => one.id === id)
  if (plugin === undefined) throw usage(`"${id}" is not a plugin of this product.${didYouMean(id, ids)}`)
  const problemsOf = (plugins: readonly Plugin[]) => planProduct(plugins, { kernelVersion, roles }).problems
  const known = new Set(problemsOf(listed).map(({ message }) => message))
  const [first] = problemsOf(listed.filter((one) => one !== plugin)).filter(({ message }) => !known.has(message))
  if (first === undefined) return plugin
  throw kernelError('PLINTH_PLUGIN_REQUIRED', { id, plugin: first.plugin ?? '', reason: first.message })
}

const dataOf = async (running: RunningProduct, plugin: Plugin): Promise<readonly PluginDataItem[]> =>
  (await Promise.all([...running.contributions(pluginData).values()].map((part) => part.find(plugin)))).flat()

/**
 * Checks that no running instance uses the plugin.
 *
 * @throws PlinthError `PLINTH_PLUGIN_IN_USE`
 */
async function assertUnused(running: RunningProduct, { id }: Plugin): Promise<void> {
  for (const part of running.contributions(pluginData).values()) {
    const reason = await part.obstacle?.()
    if (reason !== undefined) throw kernelError('PLINTH_PLUGIN_IN_USE', { id, reason })
  }
}

/**
 * Deletes the data of a plugin. The contributions are asked in reverse setup order, so that the plugin with the
 * database comes last: other plugins need its tables.
 *
 * @throws PlinthError `PLINTH_PLUGIN_DATA_REMAINS`
 */
export async function removeData(running: RunningProduct, plugin: Plugin): Promise<void> {
  for (const part of [...running.contributions(pluginData).values()].reverse()) await part.remove(plugin)
  const remaining = (await dataOf(running, plugin)).filter(({ isKept }) => !isKept)
  if (remaining.length === 0) return
  const names = remaining.map(({ kind, name }) => `${kind} ${name}`).join(', ')
  throw kernelError('PLINTH_PLUGIN_DATA_REMAINS', { id: plugin.id, names })
}

function print(scope: CommandScope, { id }: Plugin, data: readonly PluginDataItem[], isDone: boolean): void {
  const rows = data.map(({ kind, name, rows, isKept = false }) => {
    const action = isKept ? 'kept' : isDone ? 'deleted' : 'would be deleted'
    return { kind, name, rows, action }
  })
  const next = isDone
    ? `Now remove "${id}" from the product file, uninstall its package, and run "plinth plugins lock".`
    : `Nothing was deleted. To delete, stop all instances, make a backup, and run "plinth plugins remove ${id} --yes".`
  if (rows.length === 0) scope.output.result({ plugin: id, data: rows }, `"${id}" has no stored data.\n${next}`)
  else {
    const cells = rows.map(({ kind, name, rows, action }) => [kind, name, String(rows), action])
    scope.output.table({ plugin: id, data: rows }, [['KIND', 'NAME', 'ROWS', 'ACTION'], ...cells], `\n${next}`)
  }
}
