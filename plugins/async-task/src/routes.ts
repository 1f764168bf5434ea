import {
  count,
  filterQuery,
  id,
  idParams,
  instant,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  nullable,
  type RouteRequest,
  rangeQuery,
  routesWith,
  Type,
} from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import {
  auditFieldsOfCaller,
  type Clock,
  type Kernel,
  type LocalizedText,
  localize,
  omitUndefined,
  writeAuditEntry,
} from '@plinth/kernel'
import type { Storage } from '@plinth/storage'
import type { Static } from 'typebox'
import { type AsyncTask, type TaskFilter, taskStates } from './contract.ts'
import { type CallerOrigin, type TaskAccess, urlGuardName } from './task-access.ts'
import type { TaskService } from './task-service.ts'

const root = '/api/v1/async-tasks'
const access = 'user'
const scopeNote = 'Of the caller and of the users within the data scope of the caller.'
const readerNote =
  'Available to the owner of the task. Other users need the data scope `all` and the permission of the task type, and their access is audited.'

const taskView = Type.Object({
  id,
  type: Type.String(),
  displayName: Type.String(),
  ownerId: id,
  status: Type.Enum(taskStates),
  cancelRequested: Type.Boolean({ description: 'True if the task is running and its cancellation was requested.' }),
  progress: Type.Integer({ minimum: 0, maximum: 100 }),
  note: nullable(Type.String({ description: 'Current activity of the task.' })),
  attempts: count,
  error: nullable(Type.Object({ reason: Type.String({ description: 'Stable dotted code.' }), message: Type.String() })),
  artifact: nullable(
    Type.Object({ name: Type.String(), size: Type.Integer({ minimum: 0, description: 'Size in bytes.' }) }),
  ),
  hasFile: Type.Boolean({ description: 'True if the task has a file that the caller may read.' }),
  createdAt: instant,
  startedAt: nullable(instant),
  finishedAt: nullable(instant),
})
const range = rangeQuery('createdAt', 'id')

const columns = filterQuery(taskView, ['ownerId', 'type', 'status', 'attempts', 'startedAt', 'finishedAt'])

const taskQuery = Type.Object({
  ...listQuery.properties,
  ...columns.properties,
  ...range.properties,
  ownerId: Type.Optional(id),
  type: Type.Optional(Type.String({ minLength: 1, maxLength: 64, pattern: '^[a-z0-9.-]*$' })),
  status: Type.Optional(Type.Enum(taskStates)),
})

interface RouteDependencies {
  readonly tasks: TaskService
  readonly readers: TaskAccess
  readonly product: Kernel
  readonly storage: Storage
  readonly nameOf: (type: string) => LocalizedText
  readonly translate: (
    locale: string,
    key: string,
    params: Readonly<Record<string, string | number>>,
  ) => string | undefined
  readonly urlLifetimeMs: () => number
  readonly clock: Clock
}

const { route, rawRoute } = routesWith<RouteDependencies>()

function viewOf(
  task: AsyncTask,
  request: Pick<RouteRequest, 'locale' | 'principal'>,
  { nameOf, translate, readers }: Pick<RouteDependencies, 'nameOf' | 'translate' | 'readers'>,
): Static<typeof taskView> {
  const { locale } = request
  const { type, note, failure, artifact } = task
  const { id, ownerId, status, cancelRequested, progress, attempts } = task
  return {
    id,
    type,
    ownerId,
    status,
    cancelRequested,
    progress,
    attempts,
    displayName: localize(nameOf(type), locale),
    note: note === null ? null : localize(note, locale),
    error: failure && {
      reason: failure.reason,
      message: (failure.messageKey && translate(locale, failure.messageKey, failure.params)) || failure.message,
    },
    artifact: artifact && { name: artifact.name, size: artifact.size },
    hasFile: readers.mayRead(task, requirePrincipal(request)),
    createdAt: task.createdAt.toISOString(),
    startedAt: task.startedAt?.toISOString() ?? null,
    finishedAt: task.finishedAt?.toISOString() ?? null,
  }
}

function listTasks(request: RouteRequest<{ query: typeof taskQuery }>, parts: RouteDependencies) {
  const principal = requirePrincipal(request)
  const { query } = request
  const { ownerId, type, status } = query
  const filter: TaskFilter = omitUndefined({ ownerId, type, status })
  return listResponse(
    query,
    newestFirst,
    async (window) =>
      mapListRows(await parts.tasks.list(filter, window, parts.readers.condition(principal)), (task) =>
        viewOf(task, request, parts),
      ),
    range,
    columns,
  )
}

/** Routes for tasks. A task of a user outside the data scope of the caller is treated as unknown. */
export const routes = [
  route({
    method: 'GET',
    path: root,
    summary: 'List asynchronous tasks, newest first',
    description: scopeNote,
    access,
    request: { query: taskQuery },
    response: listPage(taskView),
    reasons: [],
    handler: (request, parts) => listTasks(request, parts),
  }),
  route({
    method: 'GET',
    path: `${root}/:id`,
    summary: 'Get an asynchronous task with its progress',
    description: scopeNote,
    access,
    request: { params: idParams },
    response: taskView,
    reasons: ['async-task.unknown'],
    handler: async (request, parts) =>
      viewOf(await parts.readers.visible(request.params.id, requirePrincipal(request)), request, parts),
  }),
  route({
    method: 'POST',
    path: `${root}/:id/cancel`,
    summary: 'Cancel a task',
    description: 'Cancels a queued task immediately. A running task gets a stop signal and ends soon afterwards.',
    access,
    request: { params: idParams },
    response: taskView,
    reasons: ['async-task.file-forbidden', 'async-task.finished', 'async-task.no-artifact', 'async-task.unknown'],
    async handler(request, parts) {
      const { product, tasks, readers } = parts
      const principal = requirePrincipal(request)
      const { id, ownerId } = await readers.visible(request.params.id, principal)
      const entry = { ...auditFieldsOfCaller(request), action: 'async-task.cancel', subject: id, summary: { ownerId } }
      const record = () => writeAuditEntry(product, entry)
      // Users' actions on their own tasks are not audited.
      const cancelled = await tasks.cancel(id, ownerId === principal.userId ? undefined : record)
      return viewOf(cancelled, request, parts)
    },
  }),
  route({
    method: 'GET',
    path: `${root}/:id/download-url`,
    compress: false,
    summary: 'Get a temporary download URL for the file of a task',
    description: `${readerNote} The address ends with the right of the one who asked for it.`,
    access,
    request: { params: idParams },
    response: Type.Object({ url: Type.String(), expiresAt: instant }),
    reasons: ['async-task.file-forbidden', 'async-task.no-artifact', 'async-task.unknown'],
    async handler(request, { readers, storage, urlLifetimeMs, clock }) {
      const principal = requirePrincipal(request)
      const { id } = request.params
      const { disk, path, name } = await readers.file(id, principal, 'make-url', originOf(request))
      const grant = { guard: urlGuardName, subject: readers.subject(id, principal) }
      const expiresInMs = urlLifetimeMs()
      const expiresAt = new Date(clock.now() + expiresInMs).toISOString()
      return { url: await storage.resolveUrl(disk, path, { name, expiresInMs, grant }), expiresAt }
    },
  }),
  rawRoute({
    method: 'GET',
    path: `${root}/:id/artifact`,
    compress: false,
    summary: 'Download the file of a task',
    access,
    produces: ['*/*'],
    request: { params: idParams },
    reasons: ['async-task.file-forbidden', 'async-task.no-artifact', 'async-task.unknown'],
    async handler(request, { readers, storage }, reply) {
      const { id } = request.params
      const { disk, path, name } = await readers.file(id, requirePrincipal(request), 'read-file', originOf(request))
      return storage.send(request, reply, { disk, path, name })
    },
  }),
]

const originOf = ({ clientIp, traceId }: CallerOrigin): CallerOrigin => ({ clientIp, traceId })
