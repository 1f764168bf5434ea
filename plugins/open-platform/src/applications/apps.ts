import { omitUndefined } from '@plinth/kernel'
import { permission, pluginWith } from '@plinth/resource'
import { businessError, permissionCodes } from '../declarations.ts'
import { appJson } from './app-views.ts'
import type { Applications } from './applications.ts'

export const root = '/api/v1/admin/open-platform'

/** Reasons of all operations that create or change an application. */
export const writeReasons = [
  'open-platform.app-unknown',
  'open-platform.grace-running',
  'open-platform.owner-out-of-scope',
  'open-platform.scope-unknown',
  'open-platform.secret-key-unusable',
  'open-platform.version-conflict',
]

const view = permission(permissionCodes.appView, 'View open-platform applications', '查看开放平台应用')
const update = permission(permissionCodes.appUpdate, 'Change open-platform applications', '修改开放平台应用')
const remove = permission(permissionCodes.appDelete, 'Delete open-platform applications', '删除开放平台应用')

/** Applications, without the operations whose responses contain a secret: creation and rotation. */
export const apps = pluginWith<{ readonly applications: Pick<Applications, 'assertAllowed'> }>().resource(appJson, {
  area: 'open-platform',
  path: `${root}/apps`,
  notFound: 'app-unknown',
  errors: businessError,
  list: {
    access: view,
    summary: 'List applications',
    filters: ['status'],
    search: ['name', 'appKey'],
    sort: ['id', 'name', 'createdAt'],
  },
  get: { access: view, summary: 'Get an application' },
  change: {
    access: update,
    fresh: '5m',
    summary: 'Change an application; omitted fields do not change',
    throws: writeReasons,
    prepare: ({ input, before, operator, parts }) => parts.applications.assertAllowed(input, operator, before.scopes),
  },
  actions: {
    enable: {
      access: update,
      title: ['Enable', '启用'],
      summary: 'Enable a disabled application',
      throws: writeReasons,
      set: { status: 'active' },
    },
    disable: {
      access: update,
      title: ['Disable', '停用'],
      summary: 'Disable an application; its calls are rejected immediately',
      throws: writeReasons,
      set: { status: 'disabled' },
    },
  },
  remove: { access: remove, fresh: '5m', summary: 'Delete an application; its metering records stay' },
  audit: {
    kind: 'open-app',
    summary({ appKey, name }, verb, { name: newName, description, scopes, rateLimitPerMinute, ownerUserId }) {
      if (verb === 'delete') return { appKey, name }
      return { appKey, ...omitUndefined({ name: newName, description, scopes, rateLimitPerMinute, ownerUserId }) }
    },
  },
})
