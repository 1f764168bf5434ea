import { Readable } from 'node:stream'
import { bulkRateLimit, count, idParams, line, nullable, routesWith, Type } from '@plinth/http'
import { localize } from '@plinth/kernel'
import { actorOf } from '../accounts/inputs.ts'
import type { PersonalRecords, PersonalRowCount } from '../contract.ts'
import { businessError, permissionCodes } from '../declarations.ts'

/** Time limit of one erasure request in milliseconds. Another request continues the erasure. */
const maxErasureMs = 300_000

interface PersonalRouteDependencies {
  readonly personal: PersonalRecords
  /** Aborted when the product stops. */
  readonly stopping: AbortSignal
}

const path = '/api/v1/admin/iam/users/:id'
const { route, rawRoute } = routesWith<PersonalRouteDependencies>()

const rowsView = Type.Object({
  plugin: Type.String({ description: 'ID of the plugin that stores the rows.' }),
  table: Type.String(),
  displayTitle: Type.String(),
  erasure: Type.Enum(['removed', 'anonymised', 'kept'], { description: 'Effect of erasing.' }),
  overwritten: Type.Array(Type.String(), { description: 'Columns that erasing overwrites.' }),
  displayReason: nullable(Type.String({ description: 'Why something is kept.' })),
  rows: Type.Integer({
    minimum: 0,
    description: 'Number of rows that an erasure changes. If the rows are kept, the number of rows that stay.',
  }),
})

const viewOf = ({ title, reason, columns: _, ...rows }: PersonalRowCount, locale: string) => ({
  ...rows,
  overwritten: [...rows.overwritten],
  displayTitle: localize(title, locale),
  displayReason: reason === undefined ? null : localize(reason, locale),
})

export const personalRoutes = [
  route({
    method: 'GET',
    path: `${path}/personal-data`,
    summary: 'List the stored data of a user by table, with the effect of erasing',
    access: { permission: permissionCodes.userExport, scope: 'caller' },
    annotations: [bulkRateLimit],
    request: { params: idParams },
    response: Type.Array(rowsView),
    reasons: ['iam.beyond-own-authority', 'iam.user-unknown'],
    async handler(request, { personal }) {
      const tables = await personal.summary(request.params.id, actorOf(request))
      return tables.filter(({ rows }) => rows > 0).map((rows) => viewOf(rows, request.locale))
    },
  }),
  rawRoute({
    method: 'GET',
    path: `${path}/personal-data/file`,
    summary: 'Download all stored data of a user as a JSON file',
    access: { permission: permissionCodes.userExport, scope: 'caller' },
    fresh: '5m',
    annotations: [bulkRateLimit],
    produces: ['application/json'],
    request: { params: idParams },
    reasons: ['iam.beyond-own-authority', 'iam.user-unknown'],
    async handler(request, { personal }, reply) {
      const { id } = request.params
      const document = await personal.export(id, actorOf(request))
      return reply
        .headers({ 'cache-control': 'no-store', 'content-disposition': `attachment; filename="user-${id}.json"` })
        .type('application/json; charset=utf-8')
        .send(Readable.from(document))
    },
  }),
  route({
    method: 'POST',
    path: `${path}/erasure`,
    summary: 'Remove or anonymise all stored data of a user, and the account',
    description:
      'You cannot undo this. The account is disabled and its sessions end first, and the account is removed last. If the erasure is interrupted, repeat it.',
    access: { permission: permissionCodes.userErase, scope: 'caller' },
    fresh: '5m',
    annotations: [bulkRateLimit],
    request: {
      params: idParams,
      body: Type.Object({ username: line(64, { description: 'Confirmation: the name of the user.' }) }),
    },
    response: Type.Object({ removed: count, anonymised: count, kept: count }),
    reasons: [
      'iam.beyond-own-authority',
      'iam.erasure-unconfirmed',
      'iam.erasure-unfinished',
      'iam.last-administrator',
      'iam.own-erasure',
      'iam.user-unknown',
    ],
    async handler(request, { personal, stopping }) {
      const signal = AbortSignal.any([stopping, AbortSignal.timeout(maxErasureMs)])
      const options = { actor: actorOf(request), confirmation: request.body.username, signal }
      try {
        const tables = await personal.erase(request.params.id, options)
        const sumOf = (erasure: PersonalRowCount['erasure']) =>
          tables.filter((one) => one.erasure === erasure).reduce((sum, { rows }) => sum + rows, 0)
        return { removed: sumOf('removed'), anonymised: sumOf('anonymised'), kept: sumOf('kept') }
      } catch (error) {
        if (signal.aborted) throw businessError('erasure-unfinished', { cause: error })
        throw error
      }
    },
  }),
]
