import { existsSync } from 'node:fs'
import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { Database } from '@plinth/database'
import type { RouteInfo } from '@plinth/http'
import {
  bilingual,
  guardsPermission,
  type Kernel,
  type LocalizedText,
  localize,
  type ManifestEntries,
  type PermissionDeclaration,
  type PluginDataStore,
  type UpgradeStep,
} from '@plinth/kernel'
import { pluginTitle } from '@plinth/kernel/host'
import type { DataScope } from '../contract.ts'
import { Permission, RolePermission } from '../entities.ts'
import { createIdentity } from '../migrations/0001-create-identity.ts'
import type { PermissionEpoch } from './authority.ts'

interface DeclaredPermission extends PermissionDeclaration {
  readonly plugin: string
}

/** Returns the permissions for the single groups of configuration keys. */
const permissionsOfGroups = (
  { code, displayName, plugin }: DeclaredPermission,
  groups: readonly (readonly [group: string, title: LocalizedText])[],
): readonly DeclaredPermission[] =>
  groups.map(([group, title]) => ({
    code: `${code}:${group}`,
    displayName: bilingual(
      `${localize(displayName, 'en')}: ${localize(title, 'en')}`,
      `${localize(displayName, 'zh-CN')}：${localize(title, 'zh-CN')}`,
    ),
    plugin,
  }))

export class PermissionCatalogue {
  readonly #declared: ReadonlyMap<string, DeclaredPermission>
  readonly #plugins: Kernel['plugins']

  /** The planner has already checked that only one plugin declares each permission code. */
  constructor(plugins: Kernel['plugins']) {
    this.#plugins = plugins
    const groups = plugins.flatMap(({ configGroups = {} }) => Object.entries(configGroups))
    this.#declared = new Map(
      plugins
        .flatMap(({ id: plugin, permissions = [] }) => permissions.map((permission) => ({ ...permission, plugin })))
        .flatMap((declared) => [declared, ...(declared.perConfigGroup ? permissionsOfGroups(declared, groups) : [])])
        .map((declared) => [declared.code, declared] as const),
    )
  }

  /** Sorted by permission code. */
  get declared(): readonly DeclaredPermission[] {
    return [...this.#declared.values()].sort((a, b) => (a.code < b.code ? -1 : 1))
  }

  /** Returns the title of a plugin, even if the plugin is not loaded. */
  titleOf(plugin: string): LocalizedText {
    return pluginTitle(plugin, this.#plugins)
  }

  has(code: string): boolean {
    return this.#declared.has(code)
  }

  /**
   * Writes new and changed declarations to the permission table. Rows of plugins that are not loaded are not deleted.
   */
  async store(db: Database): Promise<void> {
    const write = () =>
      db.transactional(async (em) => {
        const stored = new Map((await em.findAll(Permission)).map((row) => [row.code, row]))
        for (const { code, plugin, displayName } of this.#declared.values()) {
          const name = englishText(displayName)
          const row = stored.get(code)
          if (row === undefined) em.create(Permission, { id: db.newId(), code, plugin, name })
          else em.assign(row, { plugin, name })
        }
      })
    try {
      await write()
    } catch (error) {
      if (!(error instanceof UniqueConstraintViolationException)) throw error
      // Another instance started at the same time and inserted the same rows. The second attempt finds these rows.
      await write()
    }
  }
}

/**
 * Returns what roles lose by the upgrade: configuration keys that need a permission which did not exist before (decision
 * G8), and operations on things that all organisations share, which need the data scope `all` (decision G24).
 *
 * @param recorded permissions in `plinth.lock.json`
 * @param config declared keys
 */
export async function lossesOfRoles(
  db: Database,
  recorded: ManifestEntries,
  config: readonly { readonly key: string; readonly permission?: string }[],
  routes: readonly RouteInfo[],
): Promise<readonly UpgradeStep[]> {
  // Without a lock file, the former version is unknown, so the losses of each role are listed.
  const isUpgrade = recorded.get('iam')?.includes(guardsPermission) !== true
  // A command must not create the file of an empty database.
  if (!isUpgrade || (db.dialect === 'sqlite' && !existsSync(db.place))) return []
  const { pending } = await db.migrationStatus()
  if (pending.some(({ plugin, id }) => plugin === 'iam' && id === createIdentity.id)) return []
  // Change sets may be pending, so only columns of the first one are read.
  const granted = await db.query<{ role: string; scope: DataScope; code: string }>(
    'select r.code as role, r.data_scope as scope, p.permission_code as code from iam_role r join iam_role_permission p on p.role_id = r.id order by r.code',
  )
  const keysByPermission = Map.groupBy(config, ({ permission }) => permission)
  const step = (entry: string): UpgradeStep => ({ change: 'restricted', plugin: 'iam', entry })
  return [...Map.groupBy(granted, ({ role }) => role)].flatMap(([role, rows]): readonly UpgradeStep[] => {
    const codes = new Set(rows.map(({ code }) => code))
    const keySteps = [...keysByPermission].flatMap(([permission, keys]) => {
      if (permission === undefined || codes.has(permission) || !codes.has('system-config:save')) return []
      const names = keys.map(({ key }) => key).join(', ')
      return [step(`The role "${role}" can no longer change these keys, which need ${permission}: ${names}`)]
    })
    const scope = rows[0]?.scope
    const operations = routes.filter(
      ({ method, access }) =>
        method !== 'GET' && typeof access !== 'string' && access.scope === 'all' && codes.has(access.permission),
    )
    if (scope === 'all' || operations.length === 0) return keySteps
    const names = operations.map(({ method, path }) => `${method} ${path}`).join(', ')
    return [
      ...keySteps,
      step(`The role "${role}" has the data scope "${scope}". These operations need "all": ${names}`),
    ]
  })
}

/** Returns the English version of a text, for callers without a translator. */
export const englishText = (text: LocalizedText) => (typeof text === 'string' ? text : text.en)

/** Finds and removes the permissions of a plugin and their grants to roles, for the removal of the plugin. */
export function permissionData(db: Database, authority: PermissionEpoch): PluginDataStore {
  const codesOf = async (plugin: string) => {
    const rows = await db.fork().find(Permission, { plugin }, { orderBy: { code: 'asc' } })
    return rows.map(({ code }) => code)
  }
  return {
    async find({ id }) {
      const found = (await codesOf(id)).map(async (name) => [
        { kind: 'permission', name, rows: 1 },
        { kind: 'permission of roles', name, rows: await db.fork().count(RolePermission, { permissionCode: name }) },
      ])
      return (await Promise.all(found)).flat().filter(({ rows }) => rows > 0)
    },
    remove: ({ id }) =>
      db.transactional(async (em) => {
        await authority.changeOfAll()
        const codes = await codesOf(id)
        await em.nativeDelete(RolePermission, { permissionCode: { $in: codes } })
        await em.nativeDelete(Permission, { plugin: id })
      }),
  }
}
