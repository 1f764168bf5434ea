import { count, instant, nullable, routesWith, Type } from '@plinth/http'
import { type DiskReport, type DiskReports, diskStates, mostCounted } from './disk-reports.ts'
import { refusal } from './failures.ts'
import { own } from './permissions.ts'
import { diskName } from './routes.ts'

const root = '/api/v1/admin/storage/disks'
const access = { permission: own.diskView, scope: 'none' } as const

const diskView = {
  name: Type.String(),
  visibility: Type.Enum(['public', 'private'], { description: '`public`: everybody may read every file.' }),
  enabled: Type.Boolean(),
  state: Type.Enum(diskStates, { description: 'Whether files can be written now.' }),
  fault: nullable(Type.String(), { description: 'Code of what is wrong, such as `ENOSPC`; the log has the rest.' }),
}

const { route } = routesWith<{ readonly reports: DiskReports }>()

/** Routes that show the disks to operators. */
export const adminRoutes = [
  route({
    method: 'GET',
    path: root,
    summary: 'Storage disks, and whether files can be written to them',
    access,
    response: Type.Array(Type.Object(diskView)),
    handler: async (_, { reports }) => (await reports.all()).map(viewOf),
  }),
  route({
    method: 'GET',
    path: `${root}/:name`,
    summary: 'One storage disk and what it holds',
    access,
    request: { params: Type.Object({ name: diskName }) },
    response: Type.Object({
      ...diskView,
      files: { ...count, description: `Files, ${mostCounted} at most.` },
      bytes: { ...count, description: 'Of all counted files together.' },
      newestAt: nullable(instant, { description: 'When the newest of them was written.' }),
      complete: Type.Boolean({ description: 'False when there are more files than were counted.' }),
    }),
    async handler({ params: { name } }, { reports }) {
      const report = await reports.one(name)
      if (report === undefined) throw refusal('disk-unknown', { params: { disk: name } })
      const { newestAt, ...usage } = await reports.usage(report)
      return { ...viewOf(report), ...usage, newestAt: newestAt?.toISOString() ?? null }
    },
  }),
]

const viewOf = ({ name, visibility, enabled, state, fault }: DiskReport) => ({
  name,
  visibility,
  enabled,
  state,
  fault,
})
