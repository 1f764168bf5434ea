import type { ConfigEntry } from '@plinth/config-schema/reading'
import { pino } from 'pino'
import type { ConfigAdmin } from '../contracts/kernel.ts'
import type { Plugin } from '../plugin.ts'
import type { Product } from '../product.ts'
import { type RunningProduct, type StartOptions, startProduct } from '../running-product.ts'
import { systemClock } from '../time/clock.ts'

/**
 * Database values as a configuration centre hands them over when all of them are entered now: each secret with the
 * destination that it has with these values. Without its destination a stored secret does not apply.
 */
export function boundEntries(
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
 * The environment of a program that a test starts: nothing of this machine's but where programs lie, how the test itself
 * runs Node.js, and what was compiled before, without which each start compiles all sources anew.
 */
export function programEnvironment(own: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  const inherited = ['PATH', 'NODE_OPTIONS', 'NODE_COMPILE_CACHE'].filter((name) => process.env[name] !== undefined)
  return { ...Object.fromEntries(inherited.map((name) => [name, process.env[name]])), ...own }
}

/** A machine that runs many tests at once is slow, not broken. */
const patience = {
  'platform.kernel.setup-deadline': '5m',
  'platform.kernel.drain-deadline': '1m',
  'platform.kernel.stop-deadline': '1m',
}

/** The plugins that a test adds to a product. */
export type TestPlugins = (product: Product, options: StartOptions) => readonly Plugin[]

const additions: TestPlugins[] = []

/** Lets `startForTest` add plugins to each product that it starts, for example one that replaces an external time or service. */
export function addToTests(plugins: TestPlugins): void {
  additions.push(plugins)
}

/**
 * Starts a product for a test: silent, cut off from the environment and from `.env` unless the options say otherwise. On the
 * clock of the machine, deadlines of start and stop that the product does not set itself are longer than usual.
 *
 * Stop it when the test ends: `t.teardown(() => running.stop('test ended'))`.
 */
export function startForTest(product: Product, options: StartOptions = {}): Promise<RunningProduct> {
  const { clock = systemClock } = options
  const added = additions.flatMap((plugins) => plugins(product, options))
  const extended = added.length === 0 ? product : { ...product, plugins: [...product.plugins, ...added] }
  const patient = clock === systemClock ? { ...extended, config: { ...patience, ...product.config } } : extended
  return startProduct(patient, { envFile: false, logger: pino({ level: 'silent' }), ...options })
}
