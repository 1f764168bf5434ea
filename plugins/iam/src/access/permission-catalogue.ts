import { UniqueConstraintViolationException } from '@mikro-orm/core'
import type { Database } from '@plinth/database'
import {
  type Kernel,
  type LocalizedText,
  type PermissionDeclaration,
  type PluginDataStore,
  pluginTitle,
} from '@plinth/kernel'
import { Permission, RolePermission } from '../entities.ts'
import type { PermissionEpoch } from './authority.ts'

interface DeclaredPermission extends PermissionDeclaration {
  readonly plugin: string
}

export class PermissionCatalogue {
  readonly #declared: ReadonlyMap<string, DeclaredPermission>
  readonly #plugins: Kernel['plugins']

  /** The planner has already checked that only one plugin declares each permission code. */
  constructor(plugins: Kernel['plugins']) {
    this.#plugins = plugins
    this.#declared = new Map(
      plugins.flatMap(({ id: plugin, permissions = [] }) =>
        permissions.map((permission) => [permission.code, { ...permission, plugin }] as const),
      ),
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
