import { type HttpReply, routesWith } from '@plinth/http'
import type { Kernel } from '@plinth/kernel'
import * as view from '../contract.ts'
import { callerOf } from '../entry/caller.ts'
import { administratorForm, installForm } from '../form/fields.ts'
import { businessError } from '../texts.ts'
import {
  accessHintFor,
  checkReasons,
  commonRouteProperties,
  installApiRoot,
  installerRoute,
  type WizardRouteDependencies,
} from './guarded-route.ts'

const { route } = routesWith<WizardRouteDependencies>()
const form = { body: installForm }
const none = { authorized: false } as const
const noChecks = () => ({ ...none, passed: false, checks: [] })
const noPlan = () => ({ ...noChecks(), entries: [], restartRequired: false })
const notExecuted = ({ message }: { readonly message: string }): view.ExecuteView => ({
  ...none,
  passed: false,
  restartRequired: false,
  configWritten: false,
  administratorReady: false,
  locked: false,
  message,
  failedField: '',
  sessionId: '',
  retriedSessionId: '',
  records: [],
})

function restartAfter(
  { requestRestart }: Pick<Kernel, 'requestRestart'>,
  reply: HttpReply,
  response: view.ExecuteView | undefined,
) {
  if (response?.restartRequired) reply.raw.once('close', () => requestRestart('another connection was configured'))
  return response
}

/** Routes without an access check: the status, the pages of an installed product, and the check of a token. */
const openRoutes = [
  route({
    ...commonRouteProperties,
    method: 'GET',
    path: `${installApiRoot}/status`,
    summary: 'Get the status of the installation',
    response: view.statusView,
    reasons: [],
    handler: (request, { status }, reply) => {
      reply.header('cache-control', 'no-store')
      return status.forCaller(callerOf(request))
    },
  }),
  route({
    ...commonRouteProperties,
    method: 'GET',
    path: `${installApiRoot}/entries`,
    summary: 'List the pages of the installed product',
    response: view.entriesView,
    reasons: [],
    handler: async (_request, { status }, reply) => {
      reply.header('cache-control', 'no-store')
      return { entries: await status.entries() }
    },
  }),
  route({
    ...commonRouteProperties,
    method: 'POST',
    path: `${installApiRoot}/token/verify`,
    summary: 'Check whether a token unlocks the installer',
    request: { body: view.tokenBody },
    response: view.verifyView,
    reasons: checkReasons,
    async handler(request, { gate, wizard, status, entry, translate }, reply) {
      const { caller, verdict } = await gate.check(request, reply, request.body.token)
      const { authorized: valid, reason } = verdict
      if (valid) await wizard.noteEntry(caller, verdict)
      const { installed, installAllowed } = await status.forCaller(caller, verdict.state)
      const tokenConfigured = entry.isTokenConfigured
      const expiresAt = valid && tokenConfigured ? entry.expiresAt() : ''
      const hint = accessHintFor({ caller, verdict }, translate)
      return { valid, tokenConfigured, installed, installAllowed, reason, hint, expiresAt }
    },
  }),
]

const formRoutes = [
  installerRoute({
    method: 'GET',
    path: 'config/defaults',
    compress: false,
    summary: 'Get the default values of the form from the running configuration',
    response: view.defaultsView,
    handle: async (_request, { wizard, caller }) => wizard.defaults(caller),
  }),
  installerRoute({
    method: 'GET',
    path: 'config/schema',
    summary: 'List the fields of the form',
    response: view.schemaView,
    handle: async (_request, { wizard, caller }) => wizard.schema(caller),
  }),
  installerRoute({
    method: 'POST',
    path: 'config/validate',
    summary: 'Validate the form',
    request: form,
    response: view.checkResult,
    refused: noChecks,
    handle: ({ body }, { wizard, caller }) => wizard.validate(body, caller),
  }),
  installerRoute({
    method: 'POST',
    path: 'config/plan',
    summary: 'Preview writing the configuration; changes nothing',
    request: form,
    response: view.planResult,
    refused: noPlan,
    handle: ({ body }, { wizard, caller }) => wizard.plan(body, caller),
  }),
]

const stepRoutes = [
  installerRoute({
    method: 'POST',
    path: 'preflight',
    summary: 'Check the environment',
    response: view.checkResult,
    refused: noChecks,
    handle: (_request, { wizard, caller }) => wizard.preflight(caller),
  }),
  installerRoute({
    method: 'POST',
    path: 'config/write',
    summary: 'Write the configuration',
    request: form,
    response: view.planResult,
    reasons: ['install.probe-busy'],
    refused: noPlan,
    handle: ({ body }, { wizard, caller }) => wizard.write(body, caller),
  }),
  installerRoute({
    method: 'POST',
    path: 'migrate',
    summary: 'Migrate the database of the product',
    response: view.migrateView,
    refused: ({ message }) => ({ ...none, migrated: false, pendingBefore: 0, applied: 0, upToDate: false, message }),
    handle: (_request, { wizard, caller }) => wizard.migrate(caller),
  }),
  installerRoute({
    method: 'POST',
    path: 'administrator',
    summary: 'Create the first administrator',
    request: { body: administratorForm },
    response: view.administratorView,
    refused: ({ message }) => ({ ...none, ready: false, created: false, userId: null, username: '', message }),
    handle: ({ body }, { wizard, caller }) => wizard.createAdministrator(body, caller),
  }),
  installerRoute({
    method: 'POST',
    path: 'lock',
    summary: 'Lock the installation',
    response: view.lockView,
    refused: async ({ message, caller, status }) => {
      return { ...none, locked: false, lockedAt: '', status: await status.forCaller(caller), message }
    },
    handle: (_request, { wizard, caller }) => wizard.writeLock(caller),
  }),
  installerRoute({
    method: 'POST',
    path: 'execute',
    summary: 'Install in one step',
    request: form,
    response: view.executeView,
    reasons: ['install.running'],
    refused: notExecuted,
    handle: async ({ body }, { wizard, caller, kernel }, reply) =>
      restartAfter(kernel, reply, await wizard.execute(body, caller)),
  }),
  installerRoute({
    method: 'POST',
    path: 'sessions/:sessionId/retry',
    summary: 'Install in one step again',
    request: { params: view.sessionParams, ...form },
    response: view.executeView,
    reasons: ['install.running', 'install.session-unknown'],
    refused: notExecuted,
    async handle({ body, params }, { wizard, caller, kernel }, reply) {
      const response = await wizard.retry(params.sessionId, body, caller)
      if (response === 'unknown') throw sessionUnknown()
      return restartAfter(kernel, reply, response)
    },
  }),
]

const recordRoutes = [
  installerRoute({
    method: 'GET',
    path: 'steps',
    summary: 'Get the step plan',
    response: view.stepsView,
    handle: async (_request, { wizard, caller }) => ({ steps: await wizard.steps(caller) }),
  }),
  installerRoute({
    method: 'GET',
    path: 'execution-logs',
    summary: 'List the newest records, oldest first',
    request: { query: view.limitQuery },
    response: view.logsView,
    refused: () => ({ ...none, records: [] }),
    handle: async ({ query }, { wizard, caller }) => ({
      authorized: true,
      records: await wizard.records(query.limit, caller),
    }),
  }),
  installerRoute({
    method: 'GET',
    path: 'sessions/:sessionId',
    summary: 'List records of an installation run',
    request: { params: view.sessionParams, query: view.limitQuery },
    response: view.sessionLogsView,
    refused: ({ request }) => ({ ...none, sessionId: request.params.sessionId, records: [] }),
    handle: async ({ params: { sessionId }, query }, { wizard, caller }) => {
      return { authorized: true, sessionId, records: await wizard.records(query.limit, caller, sessionId) }
    },
  }),
]

/** The installer API. All routes except `openRoutes` check access. */
export const wizardRoutes = [...openRoutes, ...formRoutes, ...stepRoutes, ...recordRoutes]

export const sessionUnknown = () => businessError('session-unknown', { text: 'failure.session-unknown' })
