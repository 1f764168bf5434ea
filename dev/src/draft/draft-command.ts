import type { Database } from '@plinth/database'
import { type CommandDeclaration, type Kernel, service } from '@plinth/kernel'
import type { ChangeSet } from '@plinth/migrations'

/** By name, because a product may run without the package. */
const database = service<Database>('database')

/**
 * `plinth migrate draft`. Its exit code is 1 while change sets are pending, because the draft would repeat their tables.
 */
export const draftCommand: CommandDeclaration = {
  name: 'migrate draft',
  summary: 'Print a change set for the difference between the entities and the migrated database',
  setsUp: 'needed',
  async run({ own, services }, { output }) {
    const { pending } = await own(database).migrationStatus()
    if (pending.length > 0) {
      output.result({ pending, drafts: [] }, `Pending change sets: ${pending.length}. Run \`plinth migrate\` first.`)
      return 1
    }
    const { draftChangeSets } = await import('./change-set-draft.ts')
    // The plugin `database`, with whose services the command runs, requires the kernel.
    const { kernel } = services as { readonly kernel: Kernel }
    const plugins = kernel.plugins.map(({ id, entities = [], migrations = [] }) => ({
      plugin: id,
      entities,
      changeSets: migrations as readonly ChangeSet[],
    }))
    const drafts = await draftChangeSets(own(database).fork(), plugins)
    const text = drafts.map(({ plugin, id, text }) => `// ${plugin}: migrations/${id}.ts\n${text}`).join('\n\n')
    output.result({ pending, drafts }, text === '' ? 'The database agrees with the entities.' : text)
    return 0
  },
}
