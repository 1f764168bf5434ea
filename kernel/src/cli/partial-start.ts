import type { CommandSetup } from '../contracts/declarations.ts'
import { errorReason } from '../errors/coded-error.ts'
import type { Dependency, Plan } from '../plan.ts'
import { definePlugin, isPlugin, type Plugin } from '../plugin.ts'
import { prepareProduct } from '../product.ts'
import { type RunningProduct, type StartOptions, startProduct } from '../running-product.ts'
import type { CommandScope } from './scope.ts'

/** Commands set up the plugins of all roles, because a server also loads the plugins that the role `cli` would omit. */
export const commandRoles = { roles: ['cli'], loadsAllRoles: true } as const

interface Part {
  /** Ids of the plugins that the command requires. */
  readonly needed: readonly string[]
  readonly setsUp: CommandSetup
  /** See `PrepareOptions`. */
  readonly toleratesUnknownKeys?: boolean
  readonly signal?: AbortSignal
}

interface Started {
  readonly running: RunningProduct
  /** Errors of the plugins that were omitted because their setup failed. */
  readonly failures: readonly unknown[]
}

/**
 * Starts the part of the product that a command needs, in the role `cli`. The code of omitted plugins does not run, but
 * their declarations stay known, for example their keys, tables and permissions.
 *
 * @throws the errors of `startProduct` if a required plugin cannot be set up
 */
export async function startForCommand(scope: CommandScope, { needed, setsUp, ...given }: Part): Promise<Started> {
  const product = scope.product()
  const options: StartOptions = { ...scope.options(), ...commandRoles, ...given }
  const { signal } = given
  const { plan } = prepareProduct(product, options)
  const expected = withNeeds(plan, needed, ['requires'])
  const omitted = new Map<string, string>()
  const failures: unknown[] = []
  if (setsUp === 'needed') {
    const used = withNeeds(plan, needed, ['requires', 'optional', 'contribution'])
    for (const { id } of plan.plugins) if (!used.has(id)) omitted.set(id, 'this command does not need it')
  }
  for (;;) {
    let begun: RunningProduct | undefined
    const onCreated = (running: RunningProduct) => {
      begun = running
      options.onCreated?.(running)
    }
    const plugins = product.plugins.map((plugin) => (isPlugin(plugin) ? withoutSetup(plugin, omitted) : plugin))
    try {
      return { running: await startProduct({ ...product, plugins }, { ...options, onCreated }), failures }
    } catch (error) {
      const failed = begun?.timeline.find(({ outcome }) => outcome === 'failed')?.plugin
      if (setsUp === 'all' || signal?.aborted || failed === undefined || expected.has(failed)) throw error
      failures.push(error)
      for (const id of withDependents(plan, failed)) omitted.set(id, errorReason(error))
    }
  }
}

/**
 * Returns the requested plugins with all their dependencies of the given kinds. Plugins that supply configuration
 * values are added too, unless all requested plugins are set up before the last of these plugins.
 */
function withNeeds(
  { plugins, dependencies }: Plan,
  requested: readonly string[],
  ways: readonly Dependency['via'][],
): ReadonlySet<string> {
  const lastSupplier = plugins.findLastIndex(({ suppliesConfiguration }) => suppliesConfiguration)
  const isLater = requested.some((id) => plugins.findIndex((plugin) => plugin.id === id) > lastSupplier)
  const suppliers = plugins.filter(({ suppliesConfiguration }) => isLater && suppliesConfiguration)
  const needed = new Set([...requested, ...suppliers.map(({ id }) => id)])
  // A loop over a set also visits the items that are added during the loop.
  for (const id of needed) {
    for (const { on, via } of dependencies.get(id) ?? []) if (ways.includes(via)) needed.add(on)
  }
  return needed
}

/** Returns a plugin and all plugins that depend on it. */
function withDependents({ dependencies }: Plan, failed: string): ReadonlySet<string> {
  const dependents = new Set([failed])
  for (const one of dependents) {
    for (const [id, needs] of dependencies) {
      if (needs.some(({ on, via }) => on === one && via === 'requires')) dependents.add(id)
    }
  }
  return dependents
}

/**
 * Returns the declaration of a plugin without its code. The new declaration rejects all new values of the keys of the
 * plugin, with an error that contains the reason why the plugin was omitted.
 */
function withoutSetup(plugin: Plugin, omitted: ReadonlyMap<string, string>): Plugin {
  const reason = omitted.get(plugin.id)
  if (reason === undefined) return plugin
  return definePlugin({
    ...plugin,
    requires: {},
    provides: [],
    contributes: [],
    setup({ config }) {
      const reject = () => {
        throw new Error(`it cannot be asked: ${reason}`)
      }
      for (const key of Object.keys(plugin.config ?? {})) config.onVerify(key as never, reject)
    },
  })
}
