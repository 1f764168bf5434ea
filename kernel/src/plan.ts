import satisfies from 'semver/functions/satisfies.js'
import valid from 'semver/functions/valid.js'
import validRange from 'semver/ranges/valid.js'
import type { OwnedKey } from './config-reading.ts'
import { auditTrail } from './contracts/audit-trail.ts'
import { healthCheck } from './contracts/health-check.ts'
import { quickstartCleanup } from './contracts/quickstart-cleanup.ts'
import { orderByDependency } from './dependency-graph.ts'
import { didYouMean, type Problem, problem } from './errors.ts'
import { kernel } from './kernel-service.ts'
import { checkDeclarations, collectKeys, collectOwners, kernelOwner, type Report } from './plan-declarations.ts'
import { isPlugin, type Plugin, type Role } from './plugin.ts'
import type { Requirements } from './refs.ts'

/** Why one plugin comes before another. */
export interface Dependency {
  /** Plugin that must be set up first. */
  readonly on: string
  readonly via: 'requires' | 'optional' | 'contribution'
  /** Id of the service or extension point. */
  readonly ref: string
}

/** What would be started, and everything that speaks against it. */
export interface Plan {
  /** Plugins that load in the given roles, in set-up order. */
  readonly plugins: readonly Plugin[]
  /** Listed plugins that load in other roles only. */
  readonly inactive: readonly Plugin[]
  /** Keys of all listed plugins and of the kernel. */
  readonly keys: ReadonlyMap<string, OwnedKey>
  /** Provider by service id, over all listed plugins. */
  readonly providers: ReadonlyMap<string, string>
  /** Owner by extension point id, over all listed plugins. */
  readonly owners: ReadonlyMap<string, string>
  /** What each active plugin waits for. */
  readonly dependencies: ReadonlyMap<string, readonly Dependency[]>
  readonly problems: readonly Problem[]
}

const pluginId = /^[a-z][a-z0-9]*([.-][a-z0-9]+)*$/

/**
 * Plans a product without running any code of its plugins. Pure: the same list gives the same plan, and every problem of
 * every plugin is found in one go.
 */
export function planProduct(
  listed: readonly unknown[],
  options: { readonly kernelVersion: string; readonly roles: readonly Role[] },
): Plan {
  const problems: Problem[] = []
  const report: Report = (code, place, details, plugin) => problems.push(problem(code, place, details, plugin))

  const plugins = usablePlugins(listed, options.kernelVersion, report)
  const isActive = ({ roles }: Plugin) => roles === undefined || roles.some((role) => options.roles.includes(role))
  const active = plugins.filter(isActive)
  const idsOf = (refs: readonly { readonly id: string }[] = []) => refs.map(({ id }) => id)
  const servicesOf = ({ provides }: Plugin) => idsOf(provides)
  const providers = collectOwners(plugins, [kernel.id], servicesOf, (service, other, id) =>
    report('PLINTH_PLAN_DUPLICATE_SERVICE', 'provides', { service, other }, id),
  )
  const pointsOf = ({ extensionPoints }: Plugin) => idsOf(extensionPoints)
  const owners = collectOwners(
    plugins,
    [auditTrail.id, healthCheck.id, quickstartCleanup.id],
    pointsOf,
    (point, other, id) => report('PLINTH_PLAN_DUPLICATE_EXTENSION_POINT', 'extensionPoints', { point, other }, id),
  )
  const dependencies = findDependencies(active, providers, owners, options.roles, report)
  const keys = collectKeys(plugins, report)
  checkDeclarations(plugins, report)

  const byId = new Map(active.map((plugin) => [plugin.id, plugin]))
  const preferred = [...active.filter(({ early }) => early), ...active.filter(({ early }) => !early)].map(
    ({ id }) => id,
  )
  const { order, cycles } = orderByDependency(preferred, (id) => (dependencies.get(id) ?? []).map(({ on }) => on))
  for (const path of cycles) {
    const place = `requires or contributes of ${path.slice(0, -1).join(', ')}`
    const details = { kind: 'Plugins', path: describeCycle(path, dependencies) }
    report('PLINTH_PLAN_DEPENDENCY_CYCLE', place, details, path[0])
  }

  return {
    plugins: order.flatMap((id) => byId.get(id) ?? []),
    inactive: plugins.filter((plugin) => !isActive(plugin)),
    keys,
    providers,
    owners,
    dependencies,
    problems,
  }
}

function usablePlugins(listed: readonly unknown[], kernelVersion: string, report: Report): Plugin[] {
  const plugins = new Map<string, Plugin>()
  // Most plugins name the same range, and comparing it is what takes time here.
  const verdicts = new Map<string, 'fits' | 'misses' | 'malformed'>()
  const invalid = (place: string, reason: string, id?: string) =>
    report('PLINTH_PLAN_INVALID_PLUGIN', place, { reason }, id)
  for (const [index, candidate] of listed.entries()) {
    const listedAt = `plugins[${index}]`
    if (!isPlugin(candidate)) {
      invalid(listedAt, `Entry ${index + 1} of the plugin list is not a plugin.`)
      continue
    }
    const { id, version, kernel: range } = candidate
    if (typeof id !== 'string' || !pluginId.test(id) || id === kernelOwner) {
      invalid(listedAt, `Plugin id ${JSON.stringify(id)} is not a dotted lower-case name such as "acme.sms".`)
      continue
    }
    if (valid(version) === null) invalid('version', `"${version}" is not a semantic version.`, id)
    const verdict = verdicts.get(range) ?? judgeRange(range, kernelVersion)
    verdicts.set(range, verdict)
    if (verdict === 'malformed') invalid('kernel', `"${range}" is not a version range.`, id)
    if (verdict === 'misses') report('PLINTH_PLAN_KERNEL_VERSION', 'kernel', { range, version: kernelVersion }, id)
    const broken = brokenReferences(candidate)
    for (const place of broken) invalid(place, 'It is not a reference made by service() or extensionPoint().', id)
    if (plugins.has(id)) report('PLINTH_PLAN_DUPLICATE_PLUGIN', listedAt, { id }, id)
    else if (broken.length === 0) plugins.set(id, candidate)
  }
  return [...plugins.values()]
}

function judgeRange(range: string, kernelVersion: string): 'fits' | 'misses' | 'malformed' {
  if (validRange(range) === null) return 'malformed'
  return satisfies(kernelVersion, range) ? 'fits' : 'misses'
}

/** Places that should hold a reference and do not: an import can be undefined at run time, and not every author has types. */
function brokenReferences({ requires = {}, provides = [], extensionPoints = [], contributes = [] }: Plugin): string[] {
  const isBroken = (ref: { readonly kind: string } | undefined, kind: string) => ref?.kind !== kind
  const required = Object.entries(requires as Requirements)
    .filter(([, need]) => isBroken(need?.kind === 'optional' ? need.ref : need, 'service'))
    .map(([name]) => `requires.${name}`)
  return [
    ...required,
    ...provides.filter((ref) => isBroken(ref, 'service')).map(() => 'provides'),
    ...extensionPoints.filter((point) => isBroken(point, 'extension-point')).map(() => 'extensionPoints'),
    ...contributes.filter((point) => isBroken(point, 'extension-point')).map(() => 'contributes'),
  ]
}

function findDependencies(
  active: readonly Plugin[],
  providers: ReadonlyMap<string, string>,
  owners: ReadonlyMap<string, string>,
  roles: readonly Role[],
  report: Report,
): Map<string, Dependency[]> {
  const dependencies = new Map<string, Dependency[]>(active.map(({ id }) => [id, []]))
  for (const { id, requires = {}, contributes = [] } of active) {
    for (const [name, requirement] of Object.entries(requires as Requirements)) {
      const isOptional = requirement.kind === 'optional'
      const { id: service, from } = isOptional ? requirement.ref : requirement
      const provider = providers.get(service)
      if (provider !== undefined && dependencies.has(provider)) {
        dependencies.get(id)?.push({ on: provider, via: isOptional ? 'optional' : 'requires', ref: service })
      } else if (provider === undefined && !isOptional) {
        const details = {
          service,
          nearest: didYouMean(service, providers.keys()),
          provider: from ?? 'a plugin that provides it',
        }
        report('PLINTH_PLAN_MISSING_SERVICE', `requires.${name}`, details, id)
      } else if (provider !== kernelOwner && !isOptional) {
        const details = { service, provider: provider ?? '', roles: roles.join(', ') }
        report('PLINTH_PLAN_SERVICE_NOT_IN_ROLE', `requires.${name}`, details, id)
      }
    }
    for (const { id: point, from } of contributes) {
      const owner = owners.get(point)
      if (owner === undefined) {
        const details = { point, nearest: didYouMean(point, owners.keys()), owner: from ?? 'the plugin that owns it' }
        report('PLINTH_PLAN_UNKNOWN_EXTENSION_POINT', 'contributes', details, id)
      } else if (owner !== id) {
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
