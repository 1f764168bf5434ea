import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { omitUndefined } from '@plinth/config-schema'
import { findShapeProblems, shape } from '@plinth/config-schema/shapes'
import { manifestEntries } from '../contracts/kernel.ts'
import { errorCodeOf, errorReason } from '../errors/coded-error.ts'
import { kernelError } from '../errors/kernel-errors.ts'
import { isPlugin, type Plugin, roles } from '../plugin.ts'
import type { Product } from '../product.ts'
import { unwrapOptional } from '../refs.ts'
import type { RunningProduct } from '../running-product.ts'
import { packageHash } from './package-hash.ts'

/** The services, keys, routes and other names that one plugin uses and adds. */
interface PluginManifest {
  readonly version: string
  /** Hash of the files of an installed package. Absent for a plugin whose sources belong to the product. */
  readonly package?: string
  /** Sorted entries by kind. Kinds without entries are absent. */
  readonly entries: Readonly<Record<string, readonly string[]>>
}

/** Content of `plinth.lock.json`: the manifest of each plugin by id. */
export interface Manifest {
  readonly lockVersion: 1
  readonly plugins: Readonly<Record<string, PluginManifest>>
}

const manifestShape = shape.record<Manifest>({
  lockVersion: shape.integer(1, 1),
  plugins: shape.map(
    shape.record<PluginManifest>(
      { version: shape.text, entries: shape.map(shape.list({ type: 'string' })) },
      { package: shape.text },
    ),
  ),
})

/** The kinds of entries that are read from declarations. Plugins contribute other kinds to `manifestEntries`. */
const declaredKinds: Readonly<Record<string, (plugin: Plugin) => readonly string[]>> = {
  roles: (plugin) => plugin.roles ?? roles,
  requires: ({ requires = {} }) => Object.values(requires).map((need) => unwrapOptional(need).id),
  provides: ({ provides = [] }) => provides.map(({ id }) => id),
  contributes: ({ contributes = [] }) => contributes.map((point) => unwrapOptional(point).id),
  keys: ({ config = {} }) => Object.keys(config),
  permissions: ({ permissions = [] }) => permissions.map(({ code }) => code),
  'change-sets': ({ migrations = [] }) => migrations.map(({ id }) => id),
  'install-tasks': ({ installTasks = [] }) => installTasks.map(({ code }) => code),
  'scheduled-tasks': ({ scheduledTasks = [] }) => scheduledTasks.map(({ name }) => name),
  commands: ({ commands = [] }) => commands.map(({ name }) => name),
}

/** Returns the manifest of a product that was set up in the role `cli`. */
export function createManifest(plugins: readonly unknown[], running: RunningProduct): Manifest {
  const contributed = [...running.contributions(manifestEntries)].map(([kind, read]) => [kind, read()] as const)
  const hashes = new Map<string, string>()
  const manifestFor = (plugin: Plugin): PluginManifest => {
    const all = [
      ...Object.entries(declaredKinds).map(([kind, read]) => [kind, read(plugin)] as const),
      ...contributed.map(([kind, entries]) => [kind, entries.get(plugin.id) ?? []] as const),
    ]
    const entries = all.flatMap(([kind, list]) =>
      list.length === 0 ? [] : [[kind, [...new Set(list)].sort()] as const],
    )
    const { version } = plugin
    return omitUndefined({ version, package: packageHash(plugin, hashes), entries: Object.fromEntries(entries) })
  }
  const sorted = plugins.filter(isPlugin).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  return { lockVersion: 1, plugins: Object.fromEntries(sorted.map((plugin) => [plugin.id, manifestFor(plugin)])) }
}

/**
 * A difference between two manifests: an entry that only one of them contains, a changed version (kind `version`), or
 * other files of a package with the same version (kind `package`).
 */
interface ManifestDifference {
  readonly change: 'added' | 'removed' | 'changed'
  readonly plugin: string
  readonly kind: string
  readonly entry: string
}

/** Returns true if an installed package has other files than the recorded one, although its version is the same. */
const isReplaced = (before: PluginManifest, after: PluginManifest): boolean =>
  before.version === after.version &&
  before.package !== undefined &&
  after.package !== undefined &&
  before.package !== after.package

/** Returns true for a difference that needs an approval: something new, or other code under the same version. */
export const isWidening = ({ change, kind }: ManifestDifference): boolean => change === 'added' || kind === 'package'

const none: PluginManifest = { version: '', entries: {} }

/** Returns the differences between a recorded manifest and the current one, sorted by plugin and kind. */
export function compareManifests(recorded: Manifest, current: Manifest): readonly ManifestDifference[] {
  const ids = [...new Set([...Object.keys(recorded.plugins), ...Object.keys(current.plugins)])].sort()
  return ids.flatMap((plugin): readonly ManifestDifference[] => {
    const [before, after] = [recorded.plugins[plugin] ?? none, current.plugins[plugin] ?? none]
    const version = { plugin, kind: 'version', entry: `${before.version || 'absent'} -> ${after.version || 'absent'}` }
    const kinds = [...new Set([...Object.keys(before.entries), ...Object.keys(after.entries)])]
    return [
      ...(before.version === after.version ? [] : [{ change: 'changed' as const, ...version }]),
      ...(isReplaced(before, after)
        ? [{ change: 'changed' as const, plugin, kind: 'package', entry: after.version }]
        : []),
      ...kinds.flatMap((kind) => {
        const [old, fresh] = [before.entries[kind] ?? [], after.entries[kind] ?? []]
        return [
          ...fresh
            .filter((entry) => !old.includes(entry))
            .map((entry) => ({ change: 'added' as const, plugin, kind, entry })),
          ...old
            .filter((entry) => !fresh.includes(entry))
            .map((entry) => ({ change: 'removed' as const, plugin, kind, entry })),
        ]
      }),
    ]
  })
}

export const lockFileName = 'plinth.lock.json'

/** Returns the path of the lock file, which is in the directory of the product file. */
export const lockFileOf = ({ root }: Product): string => join(root, lockFileName)

/** @throws PlinthError `PLINTH_LOCK_MISSING`, `PLINTH_LOCK_INVALID` */
export function readLockFile(file: string): Manifest {
  const invalid = (reason: string, cause?: unknown) => kernelError('PLINTH_LOCK_INVALID', { file, reason }, cause)
  let content: unknown
  try {
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') throw kernelError('PLINTH_LOCK_MISSING', { file }, error)
    throw invalid(errorReason(error), error)
  }
  const [problem] = findShapeProblems(manifestShape, content)
  if (problem !== undefined) throw invalid(`${problem.path} ${problem.clause}`.trim())
  return content as Manifest
}

/** Returns the content of `plinth.lock.json`. */
export const lockFileText = (manifest: Manifest): string => `${JSON.stringify(manifest, undefined, 2)}\n`

/** @throws PlinthError `PLINTH_LOCK_UNWRITABLE` */
export function writeLockFile(file: string, manifest: Manifest): void {
  try {
    writeFileSync(file, lockFileText(manifest))
  } catch (error) {
    throw kernelError('PLINTH_LOCK_UNWRITABLE', { file, reason: errorReason(error) }, error)
  }
}
