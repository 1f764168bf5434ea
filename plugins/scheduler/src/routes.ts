import {
  count,
  filterQuery,
  id,
  instant,
  listPage,
  listQuery,
  listResponse,
  mapListRows,
  newestFirst,
  nullable,
  rangeQuery,
  routesWith,
  Type,
} from '@plinth/http'
import { auditFieldsOfCaller, type Kernel, localize, writeAuditEntry } from '@plinth/kernel'
import type { Static } from 'typebox'
import { runCauses, runOutcomes, type TaskRun, type TaskState } from './contract.ts'
import { permissionCodes } from './declarations.ts'
import type { SchedulerService } from './scheduler-service.ts'

const root = '/api/v1/admin/scheduler/tasks'
const view = { permission: permissionCodes.taskView, scope: 'none' } as const
/** Scope `all`, because a task changes rows of all organisations. */
const act = { permission: permissionCodes.taskRun, scope: 'all' } as const

const params = Type.Object({ name: Type.String({ minLength: 1, maxLength: 128, description: 'Name of the task.' }) })
const outcome = Type.Enum(runOutcomes)

const runView = Type.Object({
  id,
  task: Type.String(),
  cause: Type.Enum(runCauses, { description: '`delay`: started by the schedule. `request`: started by an operator.' }),
  instance: Type.String(),
  startedAt: instant,
  endedAt: nullable(instant),
  durationMs: nullable(count),
  outcome: nullable(outcome, { description: 'End of the run. Null while it runs.' }),
  error: nullable(Type.String()),
})
const taskView = Type.Object({
  name: Type.String(),
  plugin: Type.String(),
  displayName: Type.String(),
  fixedDelayMs: count,
  autoStartup: Type.Boolean({ description: 'True if the task runs by its schedule.' }),
  paused: Type.Boolean(),
  running: Type.Boolean(),
  requested: Type.Boolean({ description: 'True if a run was requested and has not started yet.' }),
  lastRun: nullable(runView),
  nextRunAt: nullable(instant),
  overdue: Type.Boolean({ description: 'True if the task has been due for some time and no instance has started it.' }),
  irreversible: Type.Boolean({ description: 'True if the task expires points, releases holds or deletes data.' }),
  heldBack: Type.Boolean({
    description:
      'True if the task is irreversible and this instance does not run it, because its clock differs from the time of the database.',
  }),
})

const range = rangeQuery('startedAt', 'id')

const runFilter = filterQuery(runView, ['task', 'cause', 'outcome', 'instance', 'endedAt', 'durationMs'])

const { route } = routesWith<{ readonly scheduler: SchedulerService; readonly product: Kernel }>()

export const routes = [
  route({
    method: 'GET',
    path: root,
    summary: 'List scheduled tasks with their last and next run',
    access: view,
    request: {
      query: Type.Object({
        outcome: Type.Optional(Type.Enum(runOutcomes, { description: 'Outcome of the last run.' })),
        overdue: Type.Optional(Type.Boolean()),
        paused: Type.Optional(Type.Boolean()),
        keyword: Type.Optional(Type.String({ maxLength: 128, description: 'Part of the name or title.' })),
      }),
    },
    response: Type.Array(taskView),
    reasons: ['scheduler.task-unknown'],
    handler: async ({ locale, query }, { scheduler }) =>
      (await scheduler.list())
        .filter(({ overdue }) => query.overdue === undefined || overdue === query.overdue)
        .filter(({ paused }) => query.paused === undefined || paused === query.paused)
        .filter(({ lastRun }) => query.outcome === undefined || lastRun?.outcome === query.outcome)
        .map((state) => viewOfTask(state, locale))
        .filter((task) => isNamed(task, query.keyword)),
  }),
  route({
    method: 'GET',
    path: `${root}/:name`,
    summary: 'Get a scheduled task with its last and next run',
    access: view,
    request: { params },
    response: taskView,
    reasons: ['scheduler.task-unknown'],
    handler: async ({ params: { name }, locale }, { scheduler }) => viewOfTask(await scheduler.get(name), locale),
  }),
  route({
    method: 'GET',
    path: '/api/v1/admin/scheduler/runs',
    summary: 'List runs of all tasks or of one task, newest first',
    access: view,
    request: {
      query: Type.Object({
        ...listQuery.properties,
        ...runFilter.properties,
        ...range.properties,
        task: Type.Optional(params.properties.name),
        outcome: Type.Optional(outcome),
      }),
    },
    response: listPage(runView),
    reasons: ['scheduler.task-unknown'],
    handler: ({ query }, { scheduler }) =>
      listResponse(
        query,
        newestFirst,
        async (window) => mapListRows(await scheduler.runs(query, window), viewOfRun),
        range,
        runFilter,
      ),
  }),
  route({
    method: 'GET',
    path: `${root}/:name/runs`,
    summary: 'List runs of a task, newest first',
    access: view,
    request: {
      params,
      query: Type.Object({ ...listQuery.properties, ...range.properties, outcome: Type.Optional(outcome) }),
    },
    response: listPage(runView),
    reasons: ['scheduler.task-unknown'],
    handler({ params: { name }, query }, { scheduler }) {
      return listResponse(
        query,
        newestFirst,
        async (window) => mapListRows(await scheduler.history(name, { outcome: query.outcome }, window), viewOfRun),
        range,
      )
    },
  }),
  actRoute('run-now', 'Run a task as soon as possible', 'runNow'),
  actRoute('pause', 'Pause a task, so that it does not run automatically', 'pause'),
  actRoute('resume', 'Resume a paused task', 'resume'),
]

function actRoute(action: string, summary: string, method: 'runNow' | 'pause' | 'resume') {
  return route({
    method: 'POST',
    path: `${root}/:name/${action}`,
    summary,
    access: act,
    request: { params },
    response: taskView,
    reasons: ['scheduler.task-running', 'scheduler.task-unknown'],
    async handler(request, { scheduler, product }) {
      const { name } = request.params
      const entry = { ...auditFieldsOfCaller(request), action: `scheduled-task.${action}`, subject: name }
      return viewOfTask(await scheduler[method](name, () => writeAuditEntry(product, entry)), request.locale)
    },
  })
}

/** True if name or title contain the text, ignoring case. */
const isNamed = ({ name, displayName }: Static<typeof taskView>, text = '') =>
  [name, displayName].some((one) => one.toLowerCase().includes(text.trim().toLowerCase()))

function viewOfTask({ displayName, lastRun, nextRunAt, ...state }: TaskState, locale: string): Static<typeof taskView> {
  return {
    ...state,
    displayName: localize(displayName, locale),
    lastRun: lastRun === null ? null : viewOfRun(lastRun),
    nextRunAt: nextRunAt?.toISOString() ?? null,
  }
}

function viewOfRun({ startedAt, endedAt, ...run }: TaskRun): Static<typeof runView> {
  return { ...run, startedAt: startedAt.toISOString(), endedAt: endedAt?.toISOString() ?? null }
}
