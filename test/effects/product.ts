import { defineProduct, type Plugin } from '@plinth/kernel'
import checkout from '@plinth-example/checkout'
import quickstart from '../../examples/quickstart/plinth.config.ts'

/** All bundled plugins. The checkout needs a chain, so the quickstart does not list it. */
export const fullProduct = defineProduct({ ...quickstart, plugins: [...quickstart.plugins, checkout] })

/** A database in memory and a free port. */
export const inMemory = { 'platform.database.sqlite.file': ':memory:', 'platform.http.port': '0' }

/** Returns the scheduled tasks whose interval is a key, with that key and the key that enables them. */
export const configuredTasks = (plugins: readonly Plugin[] = fullProduct.plugins) =>
  plugins.flatMap(({ scheduledTasks = [] }) =>
    scheduledTasks.flatMap(({ name, fixedDelay, autoStartup }) =>
      typeof fixedDelay === 'string' && typeof autoStartup === 'string' ? [{ name, fixedDelay, autoStartup }] : [],
    ),
  )
