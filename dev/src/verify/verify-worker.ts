import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { errorReason, type Optional, type PlinthError, type Plugin } from '@plinth/kernel'
import { implementedMembers, isPlugin, unwrapOptional } from '@plinth/kernel/host'
import {
  keepProcessAlive,
  kernelError,
  kernelPlugin,
  markProcessEndExpected,
  onUnexpectedProcessEnd,
} from '@plinth/kernel/program'
import { outgoingHostsOf, undeclaredHostProblem, verifyError } from './errors.ts'
import {
  addedListeners,
  changedSharedValues,
  listenerCounts,
  OpenResourceRecorder,
  snapshotSharedValues,
  watchConnections,
} from './process-watch.ts'
import { PluginTrial, TrialAborted } from './product-trial.ts'
import { inventConfigValue, SecretWatch } from './secret-watch.ts'
import { createFileReporter, type VerifyJob, withLevel } from './verify-report.ts'

/** Program that verifies an installed plugin in one product. Its argument is the path of the job file. */

/** The exports of `plugins.js` in the directory of the product. */
interface ProductPackages {
  readonly names: readonly string[]
  readonly presets: readonly string[]
  readonly tested: string
  load(name: string): Promise<object>
}

const job: VerifyJob = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
// The plugin does not see by which program it runs.
process.argv.splice(1)
const report = createFileReporter(job.report)
const reportError = (error: PlinthError) => report({ kind: 'problem', problem: withLevel(error) })

process.on('uncaughtException', (error) =>
  reportError(kernelError('PLINTH_UNHANDLED_ERROR', { reason: errorReason(error) })),
)
onUnexpectedProcessEnd((exitCode) =>
  reportError(kernelError('PLINTH_PROCESS_ENDED', { exitCode, by: ' by the plugin' })),
)
const opened = new OpenResourceRecorder(job.plugin)

async function verify(): Promise<void> {
  const packages: ProductPackages = await import(pathToFileURL(join(job.product, 'plugins.js')).href)
  report({ kind: 'step', step: 'import of the required packages' })
  const pluginsOf = async (names: readonly string[]) =>
    (await Promise.all(names.map((name) => packages.load(name).catch(() => ({}))))).flatMap(pluginsIn)
  const required = await pluginsOf(packages.names)
  report({ kind: 'step', step: 'import' })
  const plugin = await importPlugin(packages)
  if (plugin === undefined) return
  watchConnections(job.allowedHosts, (host) => {
    if (!isDeclared(host, outgoingHostsOf(plugin))) reportError(undeclaredHostProblem(host, plugin))
  })
  const base = await basePlugins(plugin, required, () => pluginsOf(packages.presets))
  const secrets = new SecretWatch()
  const set: Readonly<Record<string, string>> = { ...generatedSecrets, ...valuesOf(plugin), ...job.set }
  for (const [key, { sensitive }] of Object.entries(plugin.config ?? {})) {
    const value = set[key]
    if (!sensitive || value === undefined) continue
    secrets.add(key, value)
    report({ kind: 'secret', key, value })
  }
  const trial = new PluginTrial({ job, plugin, base, secrets, opened, report, set })
  try {
    const detail = job.upgrade === undefined ? await trial.run() : await trial.runUpgrade(job.upgrade)
    report({ kind: 'done', detail })
  } catch (error) {
    if (!(error instanceof TrialAborted)) throw error
    report({ kind: 'done', detail: 'ended early' })
    await trial.emptyDatabase().catch(() => undefined)
  }
}

/**
 * Returns the other plugins of the product. Loads the presets only if they are needed.
 *
 * @param required plugins of the packages on which the package of the plugin depends
 */
async function basePlugins(
  plugin: Plugin,
  required: readonly Plugin[],
  presets: () => Promise<readonly Plugin[]>,
): Promise<readonly Plugin[]> {
  const others = (plugins: readonly Plugin[]) =>
    [...new Map(plugins.map((one) => [one.id, one])).values()].filter(({ id }) => id !== plugin.id)
  const { plugins, isComplete } = neededBy(plugin, others(required))
  if (job.size === 'empty' && isComplete) return plugins
  const all = others([...required, ...(await presets())])
  return job.size === 'filled' ? all : neededBy(plugin, all).plugins
}

/**
 * Imports the plugin. The packages that it requires are imported before, so that their changes of global values are not
 * attributed to the plugin.
 */
async function importPlugin({ tested, load }: ProductPackages): Promise<Plugin | undefined> {
  const before = { values: snapshotSharedValues(), listeners: listenerCounts() }
  let exported: { readonly default?: unknown }
  try {
    exported = await load(tested)
  } catch (error) {
    reportError(verifyError('PLINTH_VERIFY_NO_PLUGIN', { reason: errorReason(error) }))
    return undefined
  }
  const effects = [
    ...(await opened.stillOpen()).map(({ type, place }) => `${type} at ${place}`),
    ...changedSharedValues(before.values, snapshotSharedValues()).map((name) => `${name} is changed`),
    ...addedListeners(before.listeners).map((event) => `a listener for "${event}" on the process`),
  ]
  for (const effect of effects) reportError(verifyError('PLINTH_VERIFY_IMPORT_EFFECT', { effect }))
  if (isPlugin(exported.default)) return exported.default
  reportError(verifyError('PLINTH_VERIFY_NO_PLUGIN', { reason: 'its default export is not a plugin' }))
  return undefined
}

/** Values of required keys of the config centre and of the storage. */
const generatedSecrets = {
  'platform.system-config.master-key': 'a1'.repeat(32),
  'platform.storage.signing-key': 'b2'.repeat(32),
}

function valuesOf({ config = {} }: Plugin): Readonly<Record<string, string>> {
  const values = Object.entries(config).map(([key, declaration]) => [key, inventConfigValue(declaration)] as const)
  return Object.fromEntries(values.filter((entry): entry is readonly [string, string] => entry[1] !== undefined))
}

const isDeclared = (host: string, declared: readonly string[]) =>
  declared.some((one) => one === '*' || one === host || (one.startsWith('*.') && host.endsWith(one.slice(1))))

/** Returns the plugins that a module exports, including plugins in lists. */
const pluginsIn = (module: object): readonly Plugin[] => Object.values(module).flat().filter(isPlugin)

/**
 * Plugins that another plugin needs with its default configuration, by the id of the other plugin. `notification` sends
 * messages to the channel `log` by default.
 */
const companions: Readonly<Record<string, string>> = { notification: 'notification-channels.log' }

/**
 * Returns the plugins that a plugin needs to start: the providers of its services, the owners of its extension points,
 * the plugins that implement its declarations, and all plugins that these need.
 *
 * @returns the plugins, and whether all of them are among the candidates
 */
function neededBy(plugin: Plugin, candidates: readonly Plugin[]) {
  const chosen = new Set<Plugin>()
  let isComplete = true
  const add = (accepts: (candidate: Plugin) => boolean | undefined) => {
    const candidate = candidates.find(accepts)
    if (candidate === undefined) isComplete = false
    else if (!chosen.has(candidate)) {
      chosen.add(candidate)
      addRequirements(candidate)
      const companion = companions[candidate.id]
      if (companion !== undefined) add(({ id }) => id === companion)
    }
  }
  const addRequirements = ({ requires = {}, contributes = [] }: Plugin) => {
    for (const { kind, id } of [...Object.values(requires), ...contributes].flatMap(required)) {
      add((one) => (kind === 'service' ? one.provides : one.extensionPoints)?.some((other) => other.id === id))
    }
  }
  addRequirements(plugin)
  for (const member of implementedMembers) {
    if (Object.keys(plugin[member] ?? {}).length > 0) add((one) => one.implements?.includes(member))
  }
  return { plugins: candidates.filter((candidate) => chosen.has(candidate)), isComplete }
}

/** Ids of the services and extension points of the kernel, which every product has. */
const ofKernel = new Set(
  [...(kernelPlugin.provides ?? []), ...(kernelPlugin.extensionPoints ?? [])].map(({ id }) => id),
)

const required = <Reference extends { readonly kind: string; readonly id: string }>(
  need: Reference | Optional<Reference>,
) => (need.kind === 'optional' || ofKernel.has(unwrapOptional(need).id) ? [] : [unwrapOptional(need)])

await keepProcessAlive(verify())
report({ kind: 'step', step: 'end of the process' })
markProcessEndExpected()
process.exit()
