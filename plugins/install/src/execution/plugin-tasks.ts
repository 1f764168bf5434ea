import { TableNotFoundException } from '@mikro-orm/core'
import type { Database } from '@plinth/database'
import type { InstallTask, Kernel } from '@plinth/kernel'
import { builtInStepCodes, StepFailure } from '../declarations.ts'
import en from '../messages/en.json' with { type: 'json' }
import zhCN from '../messages/zh-CN.json' with { type: 'json' }
import type { requires } from '../requires.ts'

type Task = InstallTask<{ requires: typeof requires }>

/**
 * Checks that the tables of all plugins exist. Creates none, because only migrations create tables (requirement I-070).
 */
const tableReadiness: Task = {
  code: 'table-readiness',
  displayName: { en: en.install.task['table-readiness'], 'zh-CN': zhCN.install.task['table-readiness'] },
  order: 10,
  required: true,
  retryable: true,
  isCompleted: async ({ services }) => (await missingTables(services.database, services.kernel.plugins)).length === 0,
  async run({ services }) {
    const missing = await missingTables(services.database, services.kernel.plugins)
    if (missing.length > 0) throw new StepFailure('failure.tables-missing', { tables: missing.join(', ') })
  },
}

const baseIdentity: Task = {
  code: builtInStepCodes.baseIdentity,
  displayName: { en: en.install.task['base-identity'], 'zh-CN': zhCN.install.task['base-identity'] },
  order: 20,
  dependencies: [tableReadiness.code],
  required: true,
  retryable: true,
  // The task always runs. Running it costs less than checking whether it is completed, and changes nothing if the data
  // exists.
  isCompleted: () => false,
  async run({ services, note }) {
    note('seed')
    await services.accounts.seed()
  },
}

export const tasks: readonly Task[] = [tableReadiness, baseIdentity]

async function missingTables(database: Database, plugins: Kernel['plugins']): Promise<readonly string[]> {
  const missing: string[] = []
  for (const table of tablesOf(plugins)) {
    try {
      await database.query(`select 1 from ${table} where 1 = 0`)
    } catch (error) {
      if (!(error instanceof TableNotFoundException)) throw error
      missing.push(table)
    }
  }
  return missing
}

function tablesOf(plugins: Kernel['plugins']): readonly string[] {
  const entities = plugins.flatMap((plugin) => plugin.entities ?? [])
  return [...new Set(entities.flatMap(tableOf))].sort()
}

const tableOf = (entity: unknown): readonly string[] =>
  typeof entity === 'object' && entity !== null && 'tableName' in entity && typeof entity.tableName === 'string'
    ? [entity.tableName]
    : []
