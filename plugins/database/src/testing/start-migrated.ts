import { kernelVersion, type Product, planProduct, type RunningProduct, type StartOptions } from '@plinth/kernel'
import { startForTest } from '@plinth/kernel/testing'
import { changeSetsOf } from '../migrations/index.ts'
import { fillFromTemplate } from './database-template.ts'
import { serverSettings } from './test-database.ts'

/**
 * As `startForTest`, for a product on the database of a test that is not about migrating: an empty one on a server is
 * filled with a copy of an equal one that was migrated before, which takes a fraction of the time. A product that does not
 * migrate at its start, as in the role `cli`, finds what is there.
 */
export async function startMigrated(product: Product, options: StartOptions = {}): Promise<RunningProduct> {
  const { roles = ['web', 'worker'] } = options
  const migrates =
    product.config['platform.database.migrate-at-start'] !== false && !roles.every((role) => role === 'cli')
  const settings = migrates ? serverSettings(product.config) : undefined
  const { plugins, problems } = planProduct(settings === undefined ? [] : product.plugins, { kernelVersion, roles })
  if (settings !== undefined && problems.length === 0) await fillFromTemplate(settings, changeSetsOf(plugins))
  return startForTest(product, options)
}
