import { type Database, findPage } from '@plinth/database'
import { answerList, type HttpServer, listPage, listQuery, sortQuery } from '@plinth/http'
import { idempotent } from '@plinth/idempotency'
import type { LocalizedText } from '@plinth/kernel'
import { type Static, Type } from 'typebox'
import { Permission, Role } from './entities.ts'
import { refusal } from './failures.ts'
import { actorOf, idParams, line, nothing, nullableLine, version, versionQuery } from './inputs.ts'
import type { PermissionCatalogue } from './permission-catalogue.ts'
import { own } from './permissions.ts'
import type { Roles } from './roles.ts'
import { holdsText } from './text-search.ts'
import { dataScopeSchema, roleView, roleViews } from './views.ts'

interface RoleRouteParts {
  readonly http: HttpServer
  readonly db: Database
  readonly roles: Roles
  readonly catalogue: PermissionCatalogue
}

const path = '/api/v1/admin/iam/roles'
const sort = sortQuery({ id: 'id', code: 'code', name: 'name', createdAt: 'created_at' }, 'id')
const content = Type.Object({
  name: line(128),
  description: Type.Optional(nullableLine(500)),
  dataScope: Type.Optional(dataScopeSchema),
  permissions: Type.Array(Type.String({ maxLength: 128, pattern: '^[a-z0-9:._-]+$' }), {
    maxItems: 2000,
    uniqueItems: true,
  }),
})
const permissionView = Type.Object({
  code: Type.String(),
  plugin: Type.String(),
  name: Type.String(),
  description: Type.Union([Type.String(), Type.Null()]),
  loaded: Type.Boolean({ description: 'False for one of a plugin that is no longer loaded; it grants nothing.' }),
})

/** Administration of roles. */
export function addRoleRoutes({ http, db, roles, catalogue }: RoleRouteParts): void {
  const view = async (role: Role | null) => {
    const [one] = await roleViews(db.fork(), role === null ? [] : [role])
    if (one === undefined) throw refusal('role-unknown')
    return one
  }

  http.route('iam', {
    method: 'GET',
    path,
    summary: 'Roles',
    access: { permission: own.roleView },
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...sort.properties,
        keyword: Type.Optional(line(100, 'Part of the code or name.')),
      }),
    },
    response: listPage(roleView),
    handler: async (request) => {
      const { keyword } = request.query
      const em = db.fork()
      const where = keyword ? holdsText(db, ['code', 'name'], keyword) : {}
      return answerList(request.query, sort.parse(request.query.sort), async (window) => {
        const found = await findPage(em, Role, where, window)
        return { ...found, items: await roleViews(em, found.items) }
      })
    },
  })
  http.route('iam', {
    method: 'GET',
    path: `${path}/:id`,
    summary: 'One role',
    access: { permission: own.roleView },
    request: { params: idParams },
    response: roleView,
    handler: async (request) => view(await db.fork().findOne(Role, request.params.id)),
  })
  http.route('iam', {
    method: 'POST',
    path,
    summary: 'Create a role',
    access: { permission: own.roleSave },
    annotations: [idempotent],
    request: {
      body: Type.Object({
        code: Type.String({ maxLength: 64, pattern: '^[a-z][a-z0-9]*(-[a-z0-9]+)*$', description: 'kebab-case' }),
        ...content.properties,
      }),
    },
    response: roleView,
    handler: async (request) => view(await roles.create(request.body.code, contentOf(request.body), actorOf(request))),
  })
  http.route('iam', {
    method: 'PUT',
    path: `${path}/:id`,
    summary: 'Replace the content of a role',
    access: { permission: own.roleSave },
    request: { params: idParams, body: Type.Object({ ...content.properties, version }) },
    response: roleView,
    handler: async (request) => {
      const { params, body } = request
      return view(await roles.update(params.id, contentOf(body), body.version, actorOf(request)))
    },
  })
  http.route('iam', {
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Delete a role that nobody holds',
    access: { permission: own.roleSave },
    request: { params: idParams, query: versionQuery },
    response: nothing,
    handler: async (request) => {
      await roles.delete(request.params.id, request.query.version, actorOf(request))
      return null
    },
  })
  http.route('iam', {
    method: 'GET',
    path: '/api/v1/admin/iam/permissions',
    summary: 'All permissions that plugins declare or declared',
    access: { permission: own.roleView },
    response: Type.Array(permissionView),
    handler: async (request) => {
      const declared = catalogue.declared.map(({ code, plugin, displayName, description }) => ({
        ...{ code, plugin, loaded: true },
        name: inLocale(displayName, request.locale),
        description: description === undefined ? null : inLocale(description, request.locale),
      }))
      const stored = await db.fork().findAll(Permission, { orderBy: { code: 'asc' } })
      const gone = stored.filter(({ code }) => !catalogue.has(code))
      return [
        ...declared,
        ...gone.map(({ code, plugin, name }) => ({ code, plugin, name, description: null, loaded: false })),
      ]
    },
  })
}

function contentOf({ name, description, dataScope, permissions }: Static<typeof content>) {
  return { name, description: description ?? null, dataScope: dataScope ?? 'self', permissions }
}

const inLocale = (text: LocalizedText, locale: string) =>
  typeof text === 'string' ? text : locale.startsWith('zh') ? text['zh-CN'] : text.en
