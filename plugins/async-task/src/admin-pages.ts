import { adminAttention, adminDetail, adminList } from '@plinth/admin'
import { bilingual as text } from '@plinth/kernel'

const tones = { queued: 'quiet', running: 'info', succeeded: 'good', failed: 'bad', cancelled: 'warn' } as const
const labels = {
  queued: text('Queued', '排队中'),
  running: text('Running', '运行中'),
  succeeded: text('Succeeded', '成功'),
  failed: text('Failed', '失败'),
  cancelled: text('Cancelled', '已取消'),
}
const owner = { labels: 'iam.user', page: 'iam.user' }
const ownerTitle = text('Owner', '所有者')
const typeTitle = text('Kind', '类型')
const download = {
  label: text('Download the file', '下载文件'),
  params: { id: 'id' },
  when: { hasFile: true },
} as const
const cancel = {
  label: text('Cancel', '取消任务'),
  confirm: text(
    '{{displayName}}: a waiting task ends immediately. A running task is asked to stop.',
    '{{displayName}}：排队中的任务立即结束，运行中的任务将收到结束请求。',
  ),
  params: { id: 'id' },
  when: { status: ['queued', 'running'], cancelRequested: false },
  tone: 'danger',
  outcome: { field: 'status', good: ['queued', 'running', 'cancelled'] },
} as const

const tasks = adminList('getAsyncTasks', (row) => ({
  id: 'async-task.tasks',
  title: text('Background tasks', '后台任务'),
  lead: text(
    'Your exports and other long tasks, and those of the users in your data scope.',
    '您本人及数据范围内用户的导出等耗时任务。',
  ),
  place: { group: 'jobs', order: 40 },
  key: 'id',
  detail: 'async-task.task',
  columns: [
    row.time('createdAt'),
    row.text('displayName', { title: typeTitle, link: true }),
    row.status('status', tones, { labels }),
    row.count('progress', { unit: 'percent' }),
    row.reference('ownerId', owner, { title: ownerTitle }),
    row.text('artifact.name', { title: text('File', '文件'), hidden: true }),
    row.text('error.message', { title: text('Error', '错误') }),
    row.text('note', { hidden: true }),
    row.count('attempts', { hidden: true }),
    row.time('finishedAt', { hidden: true }),
  ],
  filters: [
    { name: 'status', labels },
    { name: 'type', options: { labels: 'async-task.type', title: typeTitle } },
    { name: 'ownerId', options: { labels: 'iam.user', title: ownerTitle } },
  ],
  actions: [row.action('getAsyncTasksByIdArtifact', download), row.action('postAsyncTasksByIdCancel', cancel)],
  empty: text('No background tasks yet.', '尚无后台任务。'),
  live: ['async_task'],
}))

const task = adminDetail('getAsyncTasksById', (it) => ({
  id: 'async-task.task',
  title: text('Background task', '后台任务'),
  name: 'displayName',
  param: 'id',
  sections: [
    {
      columns: [
        it.status('status', tones, { labels }),
        it.count('progress', { unit: 'percent' }),
        it.text('note'),
        it.flag('cancelRequested'),
        it.reference('ownerId', owner, { title: ownerTitle }),
        it.text('type', { title: typeTitle, mono: true }),
        it.count('attempts'),
        it.time('createdAt'),
        it.time('startedAt'),
        it.time('finishedAt'),
      ],
    },
    {
      title: text('Result', '结果'),
      columns: [
        it.text('artifact.name', { title: text('File', '文件') }),
        it.count('artifact.size', { unit: 'bytes' }),
        it.text('error.message', { title: text('Error', '错误') }),
        it.text('error.reason', { mono: true }),
      ],
    },
  ],
  actions: [it.action('getAsyncTasksByIdArtifact', download), it.action('postAsyncTasksByIdCancel', cancel)],
  live: ['async_task'],
}))

export const pages = [tasks, task]

export const needsAttention = [
  adminAttention('getAsyncTasks', {
    id: 'async-task.failed',
    title: text('Background tasks that failed', '失败的后台任务'),
    tone: 'warn',
    unattended: text(
      'The results are missing. The tasks are not repeated automatically.',
      '缺少结果，任务不会自动重试。',
    ),
    query: { status: 'failed', size: 1, count: 'capped' },
    count: 'total',
    page: { id: 'async-task.tasks', filter: { status: 'failed' } },
  }),
]
