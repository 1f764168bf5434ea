import type { ConfigEntry } from '@plinth/config-schema/reading'
import { type Plugin, type Product, systemClock } from '@plinth/kernel'
import { type ConfigAdmin, type RunningProduct, type StartOptions, startProduct } from '@plinth/kernel/host'
import { withAuthoringValues } from '@plinth/kernel/program'
import { pino } from 'pino'

/**
 * Returns database values in the form in which the config centre stores them: each secret together with its current
 * destination. Without a destination, a stored secret is ignored.
 */
export function bindSecretsToDestinations(
  config: Pick<ConfigAdmin, 'destinations'>,
  entries: readonly ConfigEntry[],
): ConfigEntry[] {
  const destinations = config.destinations(entries)
  return entries.map((entry) => {
    const destination = destinations.get(entry.name)
    return destination === undefined ? entry : { ...entry, destination }
  })
}

/**
 * Returns the environment for a program that a test starts. It contains only the search path, the options of Node.js
 * and the compile cache. Without the cache, each program would compile all sources again.
 */
export function programEnvironment(own: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inherited = ['PATH', 'NODE_OPTIONS', 'NODE_COMPILE_CACHE'].filter((name) => process.env[name] !== undefined)
  return { ...Object.fromEntries(inherited.map((name) => [name, process.env[name]])), ...own }
}

/** Longer deadlines than usual, because a machine that runs many tests at the same time is slow. */
const longDeadlines = {
  'platform.kernel.setup-deadline': '5m',
  'platform.kernel.drain-deadline': '1m',
  'platform.kernel.stop-deadline': '1m',
}

/** Returns plugins that a test adds to a product. */
export type TestPlugins = (product: Product, options: StartOptions) => readonly Plugin[]

const additions: TestPlugins[] = []

/** Adds plugins to each product that `startForTest` starts, for example to replace an external service. */
export function addTestPlugins(plugins: TestPlugins): void {
  additions.push(plugins)
}

/**
 * Returns a logger that prints only errors of handlers with a code. They are mistakes of the author, for example a handler
 * that ignores the declared data scope, and the response does not contain them.
 */
function createTestLogger() {
  const write = (line: string) => {
    if (!line.includes('"code":"PLINTH_') || !line.includes('"msg":"request failed"')) return
    const { err }: { readonly err?: { readonly code: string; readonly message: string } } = JSON.parse(line)
    process.stderr.write(`${err?.code}: ${err?.message}\n`)
  }
  return pino({ level: 'error' }, { write })
}

/**
 * Starts a product for a test. It logs only mistakes of authors, checks each response against its schema, and ignores the
 * environment and `.env` unless the options set them. With the system clock, its deadlines are longer than usual unless the
 * product sets them.
 *
 * Stop the product at the end of the test: `t.teardown(() => running.stop('test ended'))`.
 */
export function startForTest(product: Product, options: StartOptions = {}): Promise<RunningProduct> {
  const { clock = systemClock } = options
  const added = additions.flatMap((plugins) => plugins(product, options))
  const extended = added.length === 0 ? product : { ...product, plugins: [...product.plugins, ...added] }
  const patient = clock === systemClock ? { ...extended, config: { ...longDeadlines, ...product.config } } : extended
  return startProduct(withAuthoringValues(patient), { envFile: false, logger: createTestLogger(), ...options })
}
