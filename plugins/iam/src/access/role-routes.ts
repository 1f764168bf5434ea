import { type Database, findPage, type PageWindow } from '@plinth/database'
import {
  filterQuery,
  idParams,
  line,
  listPage,
  listQuery,
  listResponse,
  nothing,
  nullable,
  routesWith,
  sortQuery,
  Type,
  version,
  versionQuery,
} from '@plinth/http'
import { idempotent } from '@plinth/idempotency'
import { localize } from '@plinth/kernel'
import type { Static } from 'typebox'
import { actorOf } from '../accounts/inputs.ts'
import { dataScopeSchema, roleView, roleViews, signInPolicySchema } from '../accounts/views.ts'
import { businessError, permissionCodes } from '../declarations.ts'
import { Permission, Role } from '../entities.ts'
import type { PermissionCatalogue } from './permission-catalogue.ts'
import type { Roles } from './roles.ts'

interface RoleRouteDependencies {
  readonly db: Database
  readonly roles: Roles
  readonly catalogue: PermissionCatalogue
}

const path = '/api/v1/admin/iam/roles'
const sort = sortQuery({ id: 'id', code: 'code', name: 'name', createdAt: 'created_at' }, 'id')
const filter = filterQuery(roleView, ['code', 'dataScope', 'builtIn'])
const roleQuery = Type.Object({
  ...listQuery.properties,
  ...filter.properties,
  ...sort.properties,
  keyword: Type.Optional(line(100, { description: 'Part of the code or name.' })),
})
const content = Type.Object({
  name: line(128),
  description: Type.Optional(nullable(line(500))),
  dataScope: Type.Optional(dataScopeSchema),
  permissions: Type.Array(Type.String({ maxLength: 128, pattern: '^[a-z0-9:._-]+$' }), {
    maxItems: 2000,
    uniqueItems: true,
  }),
})
const permissionView = Type.Object({
  code: Type.String(),
  plugin: Type.String(),
  pluginTitle: Type.String({ description: 'Displayed name of the plugin, or its id if it has no name.' }),
  name: Type.String(),
  description: nullable(Type.String()),
  loaded: Type.Boolean({
    description: 'False if the plugin of the permission is no longer loaded. The permission then has no effect.',
  }),
})

const { route } = routesWith<RoleRouteDependencies>()

async function viewOf(db: Database, role: Role | null, locale: string) {
  const [one] = await roleViews(db.fork(), role === null ? [] : [role], locale)
  if (one === undefined) throw businessError('role-unknown')
  return one
}

function listRoles(db: Database, query: Static<typeof roleQuery>, locale: string) {
  const em = db.fork()
  const search = { text: query.keyword ?? '', properties: ['code', 'name'] }
  const find = async (window: PageWindow) => {
    const found = await findPage(em, Role, {}, window, { search })
    return { ...found, items: await roleViews(em, found.items, locale) }
  }
  return listResponse(query, sort.parse(query.sort), find, undefined, filter)
}

/** Returns the permissions of the loaded plugins, followed by the stored permissions of plugins that are not loaded. */
async function listPermissions(catalogue: PermissionCatalogue, db: Database, locale: string) {
  const titled = (plugin: string) => ({ plugin, pluginTitle: localize(catalogue.titleOf(plugin), locale) })
  const declared = catalogue.declared.map(({ code, plugin, displayName, description }) => ({
    code,
    ...titled(plugin),
    loaded: true,
    name: localize(displayName, locale),
    description: description === undefined ? null : localize(description, locale),
  }))
  const stored = await db.fork().findAll(Permission, { orderBy: { code: 'asc' } })
  const gone = stored.filter(({ code }) => !catalogue.has(code))
  return [
    ...declared,
    ...gone.map(({ code, plugin, name }) => ({ code, ...titled(plugin), name, description: null, loaded: false })),
  ]
}

export const roleRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'List roles',
    access: { permission: permissionCodes.roleView, scope: 'none' },
    request: { query: roleQuery },
    response: listPage(roleView),
    reasons: [],
    handler: ({ query, locale }, { db }) => listRoles(db, query, locale),
  }),
  route({
    method: 'GET',
    path: `${path}/:id`,
    summary: 'Get a role',
    access: { permission: permissionCodes.roleView, scope: 'none' },
    request: { params: idParams },
    response: roleView,
    reasons: ['iam.role-unknown'],
    handler: async (request, { db }) => viewOf(db, await db.fork().findOne(Role, request.params.id), request.locale),
  }),
  route({
    method: 'POST',
    path,
    summary: 'Create a role',
    access: { permission: permissionCodes.roleSave, scope: 'caller' },
    fresh: '5m',
    annotations: [idempotent],
    request: {
      body: Type.Object({
        code: Type.String({ maxLength: 64, pattern: '^[a-z][a-z0-9]*(-[a-z0-9]+)*$', description: 'kebab-case' }),
        ...content.properties,
      }),
    },
    response: roleView,
    reasons: ['iam.beyond-own-authority', 'iam.permission-unknown', 'iam.role-code-taken'],
    handler: async (request, { db, roles }) =>
      viewOf(db, await roles.create(request.body.code, contentOf(request.body), actorOf(request)), request.locale),
  }),
  route({
    method: 'PUT',
    path: `${path}/:id`,
    summary: 'Replace a role',
    access: { permission: permissionCodes.roleSave, scope: 'caller' },
    fresh: '5m',
    request: { params: idParams, body: Type.Object({ ...content.properties, version }) },
    response: roleView,
    reasons: [
      'iam.beyond-own-authority',
      'iam.out-of-scope',
      'iam.permission-unknown',
      'iam.role-built-in',
      'iam.role-unknown',
      'iam.version-conflict',
    ],
    handler: async (request, { db, roles }) => {
      const { params, body } = request
      return viewOf(db, await roles.update(params.id, contentOf(body), body.version, actorOf(request)), request.locale)
    },
  }),
  route({
    method: 'PUT',
    path: `${path}/:id/sign-in-policy`,
    summary: 'Replace the rules of a role for sign-ins and sessions',
    description:
      'The rules also apply to running sessions. If a user has several roles, the strictest rules apply. Your own session may end.',
    access: { permission: permissionCodes.guardsSave, scope: 'caller' },
    fresh: '5m',
    request: { params: idParams, body: Type.Object({ ...signInPolicySchema.properties, version }) },
    response: roleView,
    reasons: [
      'iam.beyond-own-authority',
      'iam.out-of-scope',
      'iam.role-unknown',
      'iam.second-factor-missing',
      'iam.version-conflict',
    ],
    handler: async (request, { db, roles }) => {
      const { version: expected, ...policy } = request.body
      const changed = await roles.setSignInPolicy(request.params.id, policyOf(policy), expected, actorOf(request))
      return viewOf(db, changed, request.locale)
    },
  }),
  route({
    method: 'DELETE',
    path: `${path}/:id`,
    summary: 'Delete a role that no user has',
    access: { permission: permissionCodes.roleSave, scope: 'caller' },
    fresh: '5m',
    request: { params: idParams, query: versionQuery },
    response: nothing,
    reasons: [
      'iam.beyond-own-authority',
      'iam.out-of-scope',
      'iam.role-built-in',
      'iam.role-in-use',
      'iam.role-unknown',
      'iam.version-conflict',
    ],
    handler: async (request, { roles }) => {
      await roles.delete(request.params.id, request.query.version, actorOf(request))
      return null
    },
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/iam/permissions',
    summary: 'List all current and former permissions of plugins',
    access: { permission: permissionCodes.roleView, scope: 'none' },
    response: Type.Array(permissionView),
    reasons: [],
    handler: ({ locale }, { db, catalogue }) => listPermissions(catalogue, db, locale),
  }),
]

function contentOf({ name, description, dataScope, permissions }: Static<typeof content>) {
  return { name, description: description ?? null, dataScope: dataScope ?? 'self', permissions }
}

const msOf = (seconds: number | null) => (seconds === null ? null : seconds * 1000)

function policyOf(body: Static<typeof signInPolicySchema>) {
  const { secondFactorFrom, sessionLifetime, sessionIdleTimeout } = body
  return {
    secondFactorFrom: secondFactorFrom === null ? null : new Date(secondFactorFrom),
    sessionLifetime: msOf(sessionLifetime),
    sessionIdleTimeout: msOf(sessionIdleTimeout),
  }
}
