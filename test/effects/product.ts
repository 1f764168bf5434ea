import { defineProduct, type Plugin } from '@plinth/kernel'
import checkout from '@plinth-example/checkout'
import quickstart from '../../examples/quickstart/plinth.config.ts'

/**
 * A product with all plugins of this repository. The checkout is added, because the quickstart does not contain it: it
 * needs a chain.
 */
export const fullProduct = defineProduct({ ...quickstart, plugins: [...quickstart.plugins, checkout] })

/** Settings for a database in memory and a free port. */
export const inMemoryConfig = { 'platform.database.sqlite.file': ':memory:', 'platform.http.port': '0' }

/**
 * Returns the scheduled tasks whose interval is a configuration key, with this key and the key that enables the task.
 */
export const configuredTasks = (plugins: readonly Plugin[] = fullProduct.plugins) =>
  plugins.flatMap(({ scheduledTasks = [] }) =>
    scheduledTasks.flatMap(({ name, fixedDelay, autoStartup }) =>
      typeof fixedDelay === 'string' && typeof autoStartup === 'string' ? [{ name, fixedDelay, autoStartup }] : [],
    ),
  )
