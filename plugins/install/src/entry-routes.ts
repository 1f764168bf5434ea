import type { HttpServer, RouteRequest } from '@plinth/http'
import { BusinessError, type Kernel } from '@plinth/kernel'
import { rateLimited } from '@plinth/rate-limit'
import type { Static, TSchema } from 'typebox'
import { callerOf } from './caller.ts'
import * as view from './contract.ts'
import { type EntryCheck, isOfCaller } from './entry-check.ts'
import { type Entered, type EntryDoor, entryRefused } from './entry-door.ts'
import type { EntryService } from './entry-service.ts'
import type { HttpReply } from './http-types.ts'
import type { Status } from './status.ts'
import type { Say } from './texts.ts'

export interface EntryRouteParts {
  readonly http: HttpServer
  readonly plugin: string
  readonly kernel: Pick<Kernel, 'requestRestart'>
  readonly door: EntryDoor
  readonly entry: EntryCheck
  readonly service: EntryService
  readonly status: Status
  readonly say: Say
}

interface Schemas {
  readonly params?: TSchema
  readonly query?: TSchema
  readonly body?: TSchema
}

interface GuardedRoute<S extends Schemas, R extends TSchema> {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly summary: string
  readonly request?: S
  readonly response: R
  /** Answer to who may not enter (decision B54); without one it is a failure. */
  readonly refused?: (entered: Entered, request: RouteRequest<S>) => Static<R> | Promise<Static<R>>
  /** Answers nothing when the installation was closed meanwhile. */
  handle(request: RouteRequest<S>, entered: Entered, reply: HttpReply): Promise<Static<R> | undefined>
}

const root = '/api/v1/install'
const tags = ['install']
const form = { body: view.installForm }
/** A page that polls stays far below. */
const annotations = [
  rateLimited({ maxAttempts: 300, windowSeconds: 60, keyStrategy: 'IP_ROUTE', failurePolicy: 'insurance' }),
]

/** The install entry. Every route but the first two asks the entry check itself: no step trusts an earlier one. */
export function addEntryRoutes({ http, plugin, kernel, door, entry, service, status, say }: EntryRouteParts): void {
  const guarded = <const S extends Schemas, R extends TSchema>(route: GuardedRoute<S, R>) => {
    const { path, refused, handle, ...declaration } = route
    http.route<S, R>(plugin, {
      ...declaration,
      path: `${root}/${path}`,
      tags,
      annotations,
      access: 'public',
      async handler(request, reply) {
        const entered = await door.enter(request, reply)
        const { authorized, reason } = entered.verdict
        const answer = authorized ? await handle(request, entered, reply) : undefined
        if (answer !== undefined) return answer
        if (refused !== undefined) return refused(entered, request)
        throw entryRefused(authorized ? 'install.token.not-allowed' : reason, entered.verdict.closed)
      },
    })
  }
  const hintFor = ({ caller, verdict: { closed } }: Entered) =>
    closed === undefined || !isOfCaller(closed) ? '' : say(caller.locale, `entry.closed.${closed}`)
  const refusedMessage = (entered: Entered) => hintFor(entered) || say(entered.caller.locale, 'entry.refused')
  const noChecks = () => ({ authorized: false, passed: false, checks: [] })
  const noPlan = () => ({ ...noChecks(), entries: [], restartRequired: false })
  const notExecuted = (entered: Entered): view.ExecuteView => ({
    ...{ authorized: false, passed: false, restartRequired: false, configWritten: false, administratorReady: false },
    ...{
      locked: false,
      message: refusedMessage(entered),
      failedField: '',
      sessionId: '',
      retriedSessionId: '',
      records: [],
    },
  })
  /** The answer leaves before the product stops. */
  const restartAfter = (reply: HttpReply, answer: view.ExecuteView | undefined) => {
    if (answer?.restartRequired)
      reply.raw.once('close', () => kernel.requestRestart('another connection was configured'))
    return answer
  }

  http.route(plugin, {
    method: 'GET',
    path: `${root}/status`,
    summary: 'Status of the installation',
    tags,
    annotations,
    access: 'public',
    response: view.statusView,
    handler: (request, reply) => {
      reply.header('cache-control', 'no-store')
      return status.forCaller(callerOf(request))
    },
  })
  http.route(plugin, {
    method: 'POST',
    path: `${root}/token/verify`,
    summary: 'Whether this token opens the installation',
    tags,
    annotations,
    access: 'public',
    request: { body: view.tokenBody },
    response: view.verifyView,
    async handler(request, reply) {
      const { caller, verdict } = await door.check(request, reply, request.body.token)
      if (verdict.authorized) await service.noteEntry(caller, verdict)
      const { installed, installAllowed } = await status.forCaller(caller, verdict.state)
      const tokenConfigured = entry.isTokenConfigured
      const expiresAt = verdict.authorized && tokenConfigured ? entry.expiresAt() : ''
      const { authorized: valid, reason } = verdict
      const hint = hintFor({ caller, verdict })
      return { valid, tokenConfigured, installed, installAllowed, reason, hint, expiresAt }
    },
  })

  guarded({
    method: 'GET',
    path: 'config/defaults',
    summary: 'The form, filled from the running configuration',
    response: view.defaultsView,
    handle: async (_request, { caller }) => service.defaults(caller),
  })
  guarded({
    method: 'GET',
    path: 'config/schema',
    summary: 'Fields of the form',
    response: view.schemaView,
    handle: async (_request, { caller }) => service.schema(caller),
  })
  guarded({
    method: 'POST',
    path: 'preflight',
    summary: 'Check the environment',
    response: view.checkResult,
    refused: noChecks,
    handle: (_request, { caller }) => service.preflight(caller),
  })
  guarded({
    method: 'POST',
    path: 'config/validate',
    summary: 'Check what the form means',
    request: form,
    response: view.checkResult,
    refused: noChecks,
    handle: ({ body }, { caller }) => service.validate(body, caller),
  })
  guarded({
    method: 'POST',
    path: 'config/plan',
    summary: 'What writing the configuration would do',
    request: form,
    response: view.planResult,
    refused: noPlan,
    handle: ({ body }, { caller }) => service.plan(body, caller),
  })
  guarded({
    method: 'POST',
    path: 'config/write',
    summary: 'Write the configuration',
    request: form,
    response: view.planResult,
    refused: noPlan,
    handle: ({ body }, { caller }) => service.write(body, caller),
  })
  guarded({
    method: 'POST',
    path: 'migrate',
    summary: 'Migrate the database that the product runs on',
    response: view.migrateView,
    refused: (entered) => ({
      ...{ authorized: false, migrated: false, pendingBefore: 0, applied: 0, upToDate: false },
      message: refusedMessage(entered),
    }),
    handle: (_request, { caller }) => service.migrate(caller),
  })
  guarded({
    method: 'POST',
    path: 'execute',
    summary: 'Install in one step',
    request: form,
    response: view.executeView,
    refused: notExecuted,
    handle: async ({ body }, { caller }, reply) => restartAfter(reply, await service.execute(body, caller)),
  })
  guarded({
    method: 'POST',
    path: 'sessions/:sessionId/retry',
    summary: 'Install in one step, once more',
    request: { params: view.sessionParams, ...form },
    response: view.executeView,
    refused: notExecuted,
    async handle({ body, params }, { caller }, reply) {
      const answer = await service.retry(params.sessionId, body, caller)
      if (answer === 'unknown') throw sessionUnknown()
      return restartAfter(reply, answer)
    },
  })
  guarded({
    method: 'POST',
    path: 'administrator',
    summary: 'Create the first administrator',
    request: { body: view.administratorForm },
    response: view.administratorView,
    refused: (entered) => ({
      ...{ authorized: false, ready: false, created: false, userId: null, username: '' },
      message: refusedMessage(entered),
    }),
    handle: ({ body }, { caller }) => service.createAdministrator(body, caller),
  })
  guarded({
    method: 'POST',
    path: 'lock',
    summary: 'Lock the installation',
    response: view.lockView,
    refused: async (entered) => ({
      ...{ authorized: false, locked: false, lockedAt: '' },
      status: await status.forCaller(entered.caller),
      message: refusedMessage(entered),
    }),
    handle: (_request, { caller }) => service.writeLock(caller),
  })
  guarded({
    method: 'GET',
    path: 'steps',
    summary: 'The step plan',
    response: view.stepsView,
    handle: async (_request, { caller }) => ({ steps: await service.steps(caller) }),
  })
  guarded({
    method: 'GET',
    path: 'execution-logs',
    summary: 'Newest records, the oldest of them first',
    request: { query: view.limitQuery },
    response: view.logsView,
    refused: () => ({ authorized: false, records: [] }),
    handle: async ({ query }) => ({ authorized: true, records: await service.records(query.limit) }),
  })
  guarded({
    method: 'GET',
    path: 'sessions/:sessionId',
    summary: 'Records of one session',
    request: { params: view.sessionParams, query: view.limitQuery },
    response: view.sessionLogsView,
    refused: (_entered, { params }) => ({ authorized: false, sessionId: params.sessionId, records: [] }),
    handle: async ({ params, query }) => ({
      ...{ authorized: true, sessionId: params.sessionId },
      records: await service.records(query.limit, params.sessionId),
    }),
  })
}

export const sessionUnknown = () =>
  new BusinessError('404', 'There is no such session.', {
    reason: 'install.session-unknown',
    messageKey: 'messages.install.failure.session-unknown',
  })
