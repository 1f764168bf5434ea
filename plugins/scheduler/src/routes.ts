import { answerList, type HttpServer, listPage, listQuery, newestFirst } from '@plinth/http'
import { audit, auditCaller, type Kernel, localize } from '@plinth/kernel'
import { type Static, Type } from 'typebox'
import { runOutcomes, type TaskRun, type TaskState } from './contract.ts'
import { own } from './permissions.ts'
import type { SchedulerService } from './scheduler-service.ts'

const root = '/api/v1/admin/scheduler/tasks'
const tags = ['scheduler']
const view = { permission: own.taskView }
const act = { permission: own.taskRun }

const params = Type.Object({ name: Type.String({ minLength: 1, maxLength: 128, description: 'Name of the task.' }) })
const moment = Type.String({ format: 'date-time' })
const outcome = Type.Union(runOutcomes.map((name) => Type.Literal(name)))
const nullable = <T extends Parameters<typeof Type.Array>[0]>(schema: T) => Type.Union([schema, Type.Null()])

const runView = Type.Object({
  id: Type.Integer(),
  task: Type.String(),
  cause: Type.String({ description: '`delay`, or `request` when somebody asked for it.' }),
  instance: Type.String(),
  startedAt: moment,
  endedAt: nullable(moment),
  durationMs: nullable(Type.Integer({ minimum: 0 })),
  outcome: nullable(Type.String({ description: `${runOutcomes.join(', ')}; null while it goes on.` })),
  error: nullable(Type.String()),
})
const taskView = Type.Object({
  name: Type.String(),
  plugin: Type.String(),
  displayName: Type.String(),
  fixedDelayMs: Type.Integer({ minimum: 0 }),
  autoStartup: Type.Boolean({ description: 'Whether it runs by itself.' }),
  paused: Type.Boolean(),
  running: Type.Boolean(),
  requested: Type.Boolean({ description: 'Asked for, and not yet begun.' }),
  lastRun: nullable(runView),
  nextRunAt: nullable(moment),
})

/** Administration of scheduled tasks. */
export function addRoutes(http: HttpServer, plugin: string, scheduler: SchedulerService, product: Kernel): void {
  http.route(plugin, {
    method: 'GET',
    path: root,
    summary: 'Scheduled tasks with their last and next run',
    tags,
    access: view,
    response: Type.Array(taskView),
    handler: async ({ locale }) => (await scheduler.list()).map((state) => viewOfTask(state, locale)),
  })

  http.route(plugin, {
    method: 'GET',
    path: `${root}/:name/runs`,
    summary: 'Runs of a task, the newest first',
    tags,
    access: view,
    request: { params, query: Type.Object({ ...listQuery.properties, outcome: Type.Optional(outcome) }) },
    response: listPage(runView),
    handler({ params: { name }, query }) {
      return answerList(query, newestFirst, async (window) => {
        const found = await scheduler.history(name, { outcome: query.outcome }, window)
        return { ...found, items: found.items.map(viewOfRun) }
      })
    },
  })

  const actions = [
    ['run-now', 'Run a task as soon as possible', 'runNow'],
    ['pause', 'Keep a task from running by itself', 'pause'],
    ['resume', 'Let a paused task run by itself again', 'resume'],
  ] as const
  for (const [action, summary, method] of actions) {
    http.route(plugin, {
      method: 'POST',
      path: `${root}/:name/${action}`,
      summary,
      tags,
      access: act,
      request: { params },
      response: taskView,
      async handler(request) {
        const { name } = request.params
        const entry = { ...auditCaller(request), action: `scheduled-task.${action}`, subject: name }
        return viewOfTask(await scheduler[method](name, () => audit(product, entry)), request.locale)
      },
    })
  }
}

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
