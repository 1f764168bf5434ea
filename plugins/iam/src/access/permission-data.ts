import type { Database } from '@plinth/database'
import type { PluginData } from '@plinth/kernel'
import { Permission, RolePermission } from '../entities.ts'
import type { Authority } from './authority.ts'

/** Permissions of a plugin and their grants to roles, for the removal of the plugin. */
export function permissionData(db: Database, authority: Authority): PluginData {
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
