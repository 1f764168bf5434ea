import { didYouMean, type OwnedKey } from '@plinth/config-schema/reading'
import satisfies from 'semver/functions/satisfies.js'
import valid from 'semver/functions/valid.js'
import validRange from 'semver/ranges/valid.js'
import { checkKeyPermissions } from './configuration/key-permissions.ts'
import { checkShapes, declarationMembers } from './contracts/declaration-shapes.ts'
import { orderByDependency } from './dependency-graph.ts'
import { type Problem, problem } from './errors/kernel-errors.ts'
import { kernelPlugin } from './kernel-plugin.ts'
import { checkDeclarations, collectPluginKeys, findOwners, type ReportProblem } from './plan-declarations.ts'
import { describeNonPlugin, findBrokenReferences, reportOmissions, suggestReference } from './plan-references.ts'
import { isPlugin, type Plugin, type Role } from './plugin.ts'
import { unwrapOptional } from './refs.ts'

/** Reason why a plugin is set up after another one. */
export interface Dependency {
  /** The plugin that is set up first. */
  readonly on: string
  readonly via: 'requires' | 'optional' | 'contribution'
  /** Id of the service or extension point that causes the dependency. */
  readonly ref: string
}

/** The result of planning a product. */
export interface Plan {
  /** Plugins that load in the given roles, in setup order. */
  readonly plugins: readonly Plugin[]
  /** Plugins of the list that load only in other roles. */
  readonly inactive: readonly Plugin[]
  /** Keys of the kernel and of all listed plugins. */
  readonly keys: ReadonlyMap<string, OwnedKey>
  /** Id of the provider for each service id, including plugins that do not load. */
  readonly providers: ReadonlyMap<string, string>
  /** Id of the owner for each extension point id, including plugins that do not load. */
  readonly owners: ReadonlyMap<string, string>
  /** Dependencies of each plugin that loads. */
  readonly dependencies: ReadonlyMap<string, readonly Dependency[]>
  readonly problems: readonly Problem[]
  /** Problems that do not stop the product. */
  readonly warnings: readonly Problem[]
}

/** Names of the properties that the kernel knows. Others are reported as misspelt. */
const knownMembers: ReadonlySet<string> = new Set(['id', 'version', 'kernel', ...declarationMembers])

const pluginId = /^[a-z][a-z0-9]*([.-][a-z0-9]+)*$/

/**
 * Plans a product without running code of its plugins. The result depends only on the arguments. Collects the problems
 * of all plugins instead of stopping at the first one.
 */
export function planProduct(
  listed: readonly unknown[],
  options: { readonly kernelVersion: string; readonly roles: readonly Role[] },
): Plan {
  const problems: Problem[] = []
  const report: ReportProblem = (code, place, details, plugin) => problems.push(problem(code, place, details, plugin))

  const plugins = usablePlugins(listed, options.kernelVersion, report)
  const isActive = ({ roles }: Plugin) => roles === undefined || roles.some((role) => options.roles.includes(role))
  const active = plugins.filter(isActive)
  const declaring = [kernelPlugin, ...plugins]
  const providers = findOwners('provides', declaring, report)
  const owners = findOwners('extensionPoints', declaring, report)
  const dependencies = findDependencies(active, providers, owners, options.roles, report)
  const keys = checkKeyPermissions(declaring, collectPluginKeys(declaring, report), providers, report)
  checkDeclarations(declaring, report)
  const warnings: Problem[] = []
  reportOmissions(declaring, (code, place, details, plugin) => warnings.push(problem(code, place, details, plugin)))

  const isSupplier = ({ suppliesConfiguration = false }: Plugin) => suppliesConfiguration
  const preferred = active.toSorted((a, b) => Number(isSupplier(b)) - Number(isSupplier(a)))
  const needsOf = (id: string) => (dependencies.get(id) ?? []).map(({ on }) => on)
  const { order, cycles } = orderByDependency(preferred, ({ id }) => ({ name: id, needs: needsOf(id) }))
  for (const circle of cycles) {
    const path = circle.map(({ id }) => id)
    const place = `requires or contributes of ${path.slice(0, -1).join(', ')}`
    const details = { kind: 'Plugins', path: describeCycle(path, dependencies) }
    report('PLINTH_PLAN_DEPENDENCY_CYCLE', place, details, path[0])
  }

  const inactive = plugins.filter((plugin) => !isActive(plugin))
  return { plugins: Object.freeze(order), inactive, keys, providers, owners, dependencies, problems, warnings }
}

const versionExamples = { version: 'version: "1.2.3"', kernel: 'kernel: "^1.0.0"' } as const

function usablePlugins(listed: readonly unknown[], kernelVersion: string, report: ReportProblem): Plugin[] {
  const plugins = new Map<string, Plugin>()
  // Caches valid ranges, because most plugins declare the same one and the comparison is slow.
  const fitting = new Set<string>()
  const invalid = (place: string, reason: string, id?: string) =>
    report('PLINTH_PLAN_INVALID_PLUGIN', place, { reason }, id)
  const wrongVersion = (place: 'version' | 'kernel', reason: string, id: string) =>
    report('PLINTH_PLAN_INVALID_VERSION', place, { reason, example: versionExamples[place] }, id)
  for (const [index, candidate] of listed.entries()) {
    const listedAt = `plugins[${index}]`
    if (!isPlugin(candidate)) {
      const { id, ...details } = describeNonPlugin(candidate)
      report('PLINTH_PLAN_NOT_A_PLUGIN', listedAt, { entry: index + 1, ...details }, id)
      continue
    }
    const { id, version, kernel: range } = candidate
    if (typeof id !== 'string' || !pluginId.test(id) || id === kernelPlugin.id) {
      invalid(listedAt, `Plugin id ${JSON.stringify(id)} is not a dotted lower-case name such as "acme.sms".`)
      continue
    }
    if (valid(version) === null) wrongVersion('version', `"${version}" is not a semantic version.`, id)
    if (!fitting.has(range)) {
      if (validRange(range) === null) wrongVersion('kernel', `"${range}" is not a version range.`, id)
      else if (satisfies(kernelVersion, range)) fitting.add(range)
      else report('PLINTH_PLAN_KERNEL_VERSION', 'kernel', { range, version: kernelVersion }, id)
    }
    for (const member of Object.keys(candidate)) {
      if (knownMembers.has(member)) continue
      report('PLINTH_PLAN_UNKNOWN_MEMBER', member, { member, nearest: didYouMean(member, knownMembers) }, id)
    }
    const checked = checkShapes(candidate, report)
    const broken = findBrokenReferences(checked)
    for (const { place, found, value } of broken) {
      if (isPlugin(value)) report('PLINTH_PLAN_PLUGIN_AS_REFERENCE', place, suggestReference(value), id)
      else report('PLINTH_PLAN_INVALID_REFERENCE', place, { found }, id)
    }
    if (plugins.has(id)) report('PLINTH_PLAN_DUPLICATE_PLUGIN', listedAt, { id }, id)
    else if (broken.length === 0) plugins.set(id, checked)
  }
  return [...plugins.values()]
}

function findDependencies(
  active: readonly Plugin[],
  providers: ReadonlyMap<string, string>,
  owners: ReadonlyMap<string, string>,
  roles: readonly Role[],
  report: ReportProblem,
): Map<string, Dependency[]> {
  const dependencies = new Map<string, Dependency[]>(active.map(({ id }) => [id, []]))
  const points = active.flatMap(({ extensionPoints = [] }) => extensionPoints)
  const live = new Set(points.filter((point) => point.live).map(({ id }) => id))
  for (const { id, requires = {}, contributes = [] } of active) {
    for (const [name, requirement] of Object.entries(requires)) {
      const isOptional = requirement.kind === 'optional'
      const { id: service, from } = unwrapOptional(requirement)
      const provider = providers.get(service)
      if (provider !== undefined && dependencies.has(provider)) {
        dependencies.get(id)?.push({ on: provider, via: isOptional ? 'optional' : 'requires', ref: service })
      } else if (provider === undefined && !isOptional) {
        const nearest = didYouMean(service, providers.keys())
        const details = { service, nearest, provider: from ?? 'a plugin that provides it' }
        report('PLINTH_PLAN_MISSING_SERVICE', `requires.${name}`, details, id)
      } else if (provider !== kernelPlugin.id && !isOptional) {
        const details = { service, provider: provider ?? '', roles: roles.join(', ') }
        report('PLINTH_PLAN_SERVICE_NOT_IN_ROLE', `requires.${name}`, details, id)
      }
    }
    for (const need of contributes) {
      const { id: point, from } = unwrapOptional(need)
      const owner = owners.get(point)
      if (owner === undefined) {
        if (need.kind === 'optional') continue
        const details = { point, nearest: didYouMean(point, owners.keys()), owner: from ?? 'the plugin that owns it' }
        report('PLINTH_PLAN_UNKNOWN_EXTENSION_POINT', 'contributes', details, id)
      } else if (owner !== id && !live.has(point)) {
        dependencies.get(owner)?.push({ on: id, via: 'contribution', ref: point })
      }
    }
  }
  return dependencies
}

function describeCycle(path: readonly string[], dependencies: ReadonlyMap<string, readonly Dependency[]>): string {
  return path
    .map((id, index) => {
      const next = path[index + 1]
      const ref = (dependencies.get(id) ?? []).find(({ on }) => on === next)?.ref
      return ref === undefined ? id : `${id} -(${ref})->`
    })
    .join(' ')
}
