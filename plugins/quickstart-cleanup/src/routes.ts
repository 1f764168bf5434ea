import { bulkRateLimit, routesWith } from '@plinth/http'
import { type GuardedRequest, requirePrincipal } from '@plinth/iam'
import type { Caller, CleanupService } from './cleanup-service.ts'
import { moduleParams, moduleRunBody, moduleView, overviewView, runBody, runView } from './contract.ts'
import { permissionCodes } from './declarations.ts'

const root = '/api/v1/admin/install/quickstart-cleanups'
const tags = ['install']
const view = { permission: permissionCodes.view, scope: 'all' } as const
const execute = { permission: permissionCodes.execute, scope: 'all' } as const

const { route } = routesWith<{ readonly service: CleanupService }>()

/** Reason codes of the routes that remove demo data. */
const removalReasons = [
  'quickstart-cleanup.confirmation-mismatch',
  'quickstart-cleanup.disabled',
  'quickstart-cleanup.module-unknown',
]

export const routes = [
  route({
    method: 'GET',
    path: root,
    summary: 'List demo data of all connected modules',
    tags,
    access: view,
    response: overviewView,
    reasons: ['quickstart-cleanup.disabled', 'quickstart-cleanup.module-unknown'],
    handler: ({ locale }, { service }) => service.overview(locale),
  }),
  route({
    method: 'GET',
    path: `${root}/:moduleCode`,
    summary: 'Get the demo data of a module, with what blocks its removal and how to confirm it',
    tags,
    access: view,
    request: { params: moduleParams },
    response: moduleView,
    reasons: ['quickstart-cleanup.disabled', 'quickstart-cleanup.module-unknown'],
    handler: ({ params, locale }, { service }) => service.module(params.moduleCode, locale),
  }),
  route({
    method: 'POST',
    path: root,
    annotations: [bulkRateLimit],
    summary: 'Remove the demo data of every module that allows it now',
    description:
      'Blocked modules and modules without demo data are skipped with their state. If one module fails, the others are still cleaned.',
    tags,
    access: execute,
    request: { body: runBody },
    response: runView,
    reasons: removalReasons,
    handler: (request, { service }) => service.cleanAll(request.body.confirmation, callerOf(request)),
  }),
  route({
    method: 'POST',
    path: `${root}/:moduleCode`,
    summary: 'Remove the demo data of a module',
    description: 'The body must be the value `confirmation` of the preview.',
    tags,
    access: execute,
    request: { params: moduleParams, body: moduleRunBody },
    response: runView,
    reasons: removalReasons,
    handler: (request, { service }) => service.cleanModule(request.params.moduleCode, request.body, callerOf(request)),
  }),
]

type Request = Pick<GuardedRequest, 'principal' | 'clientIp' | 'traceId' | 'locale' | 'headers'>

function callerOf(request: Request): Caller {
  const { clientIp, traceId, locale, headers } = request
  const { username } = requirePrincipal(request)
  return { operator: username, clientIp, traceId, locale, userAgent: headers['user-agent'] ?? '' }
}
