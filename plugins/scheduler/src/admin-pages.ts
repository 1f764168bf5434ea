import { adminAttention, adminDetail, adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'
import { clockAttention, clockPage } from './clock-routes.ts'

const ofTask = { labels: 'scheduler.task', page: 'scheduler.task' }
const tones = { succeeded: 'good', failed: 'bad', aborted: 'warn', lost: 'bad' } as const
const outcomes = {
  succeeded: text('Succeeded', '成功'),
  failed: text('Failed', '失败'),
  aborted: text('Aborted', '已中止'),
  lost: text('Lost', '已丢失'),
}
const causes = { delay: text('Scheduled', '自动'), request: text('Manual', '手动') }
const runNow = { label: text('Run now', '立即运行'), params: { name: 'name' }, when: { running: false } } as const
const pause = {
  label: text('Pause', '暂停'),
  confirm: text(
    '{{displayName}} no longer runs automatically on any instance.',
    '{{displayName}} 将在所有实例上停止自动运行。',
  ),
  params: { name: 'name' },
  when: { paused: false },
  undo: 'postAdminSchedulerTasksByNameResume',
} as const
const resume = {
  label: text('Resume', '恢复'),
  confirm: text('{{displayName}} runs automatically again.', '{{displayName}} 恢复自动运行。'),
  params: { name: 'name' },
  when: { paused: true },
  undo: 'postAdminSchedulerTasksByNamePause',
} as const

const tasks = adminList('getAdminSchedulerTasks', (row) => ({
  id: 'scheduler.tasks',
  title: text('Schedules', '定时任务'),
  empty: text('The product has no schedules.', '本产品没有定时任务。'),
  lead: text('Tasks that run automatically, and their next runs.', '系统自动执行的任务及其下次运行时间。'),
  place: { group: 'jobs', order: 10 },
  key: 'name',
  detail: 'scheduler.task',
  columns: [
    row.text('displayName', { link: true }),
    row.status('lastRun.outcome', tones, { title: text('Last run', '上次运行'), labels: outcomes }),
    row.time('lastRun.startedAt', { title: text('Last started', '上次开始') }),
    row.time('nextRunAt'),
    row.flag('paused'),
    row.flag('overdue', { hidden: true }),
    row.flag('heldBack', { hidden: true }),
    row.flag('irreversible', { hidden: true }),
    row.count('fixedDelayMs', { title: text('Interval', '间隔'), unit: 'ms', hidden: true }),
    row.flag('running', { hidden: true }),
    row.text('plugin', { hidden: true, mono: true }),
    row.text('name', { hidden: true, mono: true }),
    row.flag('autoStartup', { hidden: true }),
  ],
  search: 'keyword',
  filters: [{ name: 'outcome', labels: outcomes }, 'overdue', 'paused'],
  links: [{ page: 'scheduler.clock', label: text('Clock', '时钟') }],
  actions: [
    row.action('postAdminSchedulerTasksByNameRunNow', runNow),
    row.action('postAdminSchedulerTasksByNamePause', pause),
    row.action('postAdminSchedulerTasksByNameResume', resume),
  ],
  live: ['scheduler_task', 'scheduler_run'],
}))

const task = adminDetail('getAdminSchedulerTasksByName', (it) => ({
  id: 'scheduler.task',
  title: text('Scheduled task', '定时任务'),
  name: 'displayName',
  param: 'name',
  sections: [
    {
      columns: [
        it.text('name', { mono: true }),
        it.text('plugin', { mono: true }),
        it.count('fixedDelayMs', { title: text('Interval', '间隔'), unit: 'ms' }),
        it.flag('autoStartup'),
        it.flag('paused'),
        it.flag('requested'),
        it.flag('running'),
        it.time('nextRunAt'),
        it.flag('overdue'),
        it.flag('irreversible'),
        it.flag('heldBack'),
      ],
    },
    {
      title: text('Last run', '上次运行'),
      columns: [
        it.status('lastRun.outcome', tones, { labels: outcomes }),
        it.time('lastRun.startedAt'),
        it.count('lastRun.durationMs', { title: text('Duration', '耗时'), unit: 'ms' }),
        it.text('lastRun.error'),
      ],
    },
  ],
  actions: [
    it.action('postAdminSchedulerTasksByNameRunNow', runNow),
    it.action('postAdminSchedulerTasksByNamePause', pause),
    it.action('postAdminSchedulerTasksByNameResume', resume),
  ],
  related: [{ page: 'scheduler.runs', title: text('Runs', '运行记录'), filter: { task: 'name' } }],
  live: ['scheduler_task', 'scheduler_run'],
}))

const runs = adminList('getAdminSchedulerRuns', (row) => ({
  id: 'scheduler.runs',
  title: text('Runs', '运行记录'),
  lead: text('Stored runs of all schedules, newest first.', '保留的定时任务运行记录，最新的在前。'),
  place: { group: 'jobs', order: 20 },
  key: 'id',
  columns: [
    row.time('startedAt'),
    row.reference('task', ofTask),
    row.status('outcome', tones, { labels: outcomes }),
    row.count('durationMs', { title: text('Duration', '耗时'), unit: 'ms' }),
    row.status('cause', { delay: 'quiet', request: 'info' }, { labels: causes }),
    row.text('error'),
    row.text('instance', { hidden: true, mono: true }),
    row.time('endedAt', { hidden: true }),
  ],
  filters: [
    { name: 'task', options: { labels: 'scheduler.task' } },
    { name: 'outcome', labels: outcomes },
  ],
  empty: text('No runs yet.', '尚无运行记录。'),
  live: ['scheduler_run'],
}))

export const pages = [tasks, task, runs, clockPage]

export const needsAttention = [
  clockAttention,
  adminAttention('getAdminSchedulerTasks', {
    id: 'scheduler.overdue',
    title: text('Scheduled tasks that are due but that no instance starts', '已到期但没有实例执行的计划任务'),
    tone: 'bad',
    unattended: text(
      'Nothing is cleaned up, expired or compared by these tasks.',
      '这些任务不再清理、到期处理或核对数据。',
    ),
    where: { overdue: true },
    page: { id: 'scheduler.tasks', filter: { overdue: 'true' } },
  }),
  adminAttention('getAdminSchedulerTasks', {
    id: 'scheduler.failed',
    title: text('Scheduled tasks whose last run failed', '最近一次运行失败的计划任务'),
    tone: 'bad',
    unattended: text(
      'The work of these tasks is not done until a run succeeds.',
      '在下次成功运行之前，这些任务的工作不会完成。',
    ),
    where: { 'lastRun.outcome': 'failed' },
    page: { id: 'scheduler.tasks', filter: { outcome: 'failed' } },
  }),
  adminAttention('getAdminSchedulerTasks', {
    id: 'scheduler.paused',
    title: text('Paused scheduled tasks', '已暂停的计划任务'),
    tone: 'warn',
    unattended: text('These tasks do not run.', '这些任务不会运行。'),
    where: { paused: true },
    page: { id: 'scheduler.tasks', filter: { paused: 'true' } },
  }),
]
