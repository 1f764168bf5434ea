import type { Database } from '@plinth/database'
import { type HttpRequest, line, routesWith, Type, text } from '@plinth/http'
import { requirePrincipal } from '@plinth/iam'
import { auditFieldsOfCaller, type Kernel, localize, writeAuditEntry } from '@plinth/kernel'
import { businessError, permissionCodes } from '../declarations.ts'
import type { PreferenceTerms } from './categories.ts'
import type { PreferenceLinks } from './links.ts'
import type { CellState, PreferenceMatrix } from './preference-matrix.ts'

interface MatrixRouteDependencies {
  readonly db: Database
  readonly kernel: Kernel
  readonly matrix: PreferenceMatrix
  readonly terms: PreferenceTerms
  readonly links: PreferenceLinks
}

const path = '/api/v1/notifications/preferences'
const adminPath = '/api/v1/admin/notifications/preference-defaults'

/** Maximum number of cells in a response. */
const maxCells = 2_000
const code = (description: string) => line(64, { minLength: 1, description })
const params = Type.Object({
  channel: code('Code of a channel, such as `mail`.'),
  category: code('Code of a category.'),
})
const cellView = Type.Object({
  cell: Type.String({ description: 'Channel and category, such as `mail/marketing`.' }),
  channel: text,
  channelName: text,
  category: text,
  categoryName: text,
  enabled: Type.Boolean({ description: 'True if such messages are sent.' }),
  locked: Type.Boolean({ description: 'True if users cannot change it.' }),
})
const cellsView = Type.Array(cellView, { maxItems: maxCells })

/** Milliseconds for which the link of a signed-in user is valid. */
const ownLinkMs = 15 * 60_000

const { route } = routesWith<MatrixRouteDependencies>()

/** Routes of a user's own cells. */
export const cellRoutes = [
  route({
    method: 'GET',
    path: `${path}/cells`,
    summary: 'List your notification preferences by channel and category',
    access: 'user',
    response: cellsView,
    reasons: [],
    handler: async (request, { matrix, terms }) =>
      viewsOf(await matrix.cells(requirePrincipal(request).userId), terms, request),
  }),
  route({
    method: 'PUT',
    path: `${path}/cells/:channel/:category`,
    summary: 'Switch a category of your notifications on or off on one channel',
    description: 'A switch of the channel or the category that is off is switched on, without a change of other cells.',
    access: 'user',
    request: { params, body: Type.Object({ enabled: Type.Boolean() }) },
    response: cellsView,
    reasons: ['notification-inbox.cell-unknown', 'notification-inbox.cell-locked'],
    handler: async (request, { matrix, terms }) => {
      const { userId } = requirePrincipal(request)
      return viewsOf(await matrix.saveCells(userId, [{ ...request.params, ...request.body }]), terms, request)
    },
  }),
]

/** Routes of the link to the page of preferences, and of the defaults that operators set. */
export const matrixRoutes = [
  route({
    method: 'POST',
    path: `${path}/link`,
    summary: 'Create a link to the page of your notification preferences',
    description: 'The link works without signing in, for 15 minutes.',
    access: 'user',
    compress: false,
    response: Type.Object({ url: text }),
    reasons: ['notification-inbox.link-unavailable'],
    async handler(request, { links }) {
      const url = await links.urlFor(requirePrincipal(request).userId, ownLinkMs)
      if (url === undefined) throw businessError('link-unavailable')
      return { url }
    },
  }),
  route({
    method: 'GET',
    path: adminPath,
    summary: 'List the defaults of notification preferences',
    access: { permission: permissionCodes.preferenceDefaultManage, scope: 'none' },
    response: cellsView,
    reasons: [],
    handler: async (request, { matrix, terms }) => viewsOf(await matrix.defaults(), terms, request),
  }),
  route({
    method: 'PUT',
    path: `${adminPath}/:channel/:category`,
    summary: 'Change the default of a category on one channel',
    description: 'If it is locked, users cannot change it, and earlier decisions of users have no effect.',
    access: { permission: permissionCodes.preferenceDefaultManage, scope: 'all' },
    request: { params, body: Type.Object({ enabled: Type.Boolean(), locked: Type.Boolean() }) },
    response: cellView,
    reasons: [
      'notification-inbox.cell-unknown',
      'notification-inbox.category-required',
      'notification-inbox.marketing-locked',
    ],
    async handler(request, { db, kernel, matrix, terms }) {
      const summary = { ...request.params, ...request.body }
      const saved = await db.transactional(async () => {
        const cell = await matrix.saveDefault(summary)
        const action = 'notification-preference-default.update'
        const subject = `${cell.channel}/${cell.category}`
        await writeAuditEntry(kernel, { ...auditFieldsOfCaller(request), action, subject, summary })
        return cell
      })
      return viewsOf([saved], terms, request)[0] as ReturnType<typeof viewsOf>[number]
    },
  }),
]

function viewsOf(cells: readonly CellState[], terms: PreferenceTerms, { locale }: Pick<HttpRequest, 'locale'>) {
  const named = (list: readonly { code: string; title: Parameters<typeof localize>[0] }[]) =>
    new Map(list.map(({ code, title }) => [code, localize(title, locale)]))
  const [channels, categories] = [named(terms.channels()), named(terms.all())]
  return cells.map(({ channel, category, enabled, locked }) => ({
    cell: `${channel}/${category}`,
    channel,
    channelName: channels.get(channel) ?? channel,
    category,
    categoryName: categories.get(category) ?? category,
    enabled,
    locked,
  }))
}
