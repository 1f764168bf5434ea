import {
  id,
  idParams,
  instant,
  line,
  listPage,
  listQuery,
  listResponse,
  newestFirst,
  nothing,
  routesWith,
  Type,
} from '@plinth/http'
import { callerRows, requirePrincipal } from '@plinth/iam'
import type { Notes } from './notes.ts'

export const removeNotes = 'example-notes:note:remove'

const path = '/api/v1/example-notes'
const body = line(500, { minLength: 1 })
const note = Type.Object({ id, body, announced: Type.Boolean(), createdAt: instant })

const { route } = routesWith<{ readonly notes: Notes }>()

export const noteRoutes = [
  route({
    method: 'GET',
    path,
    summary: 'Own notes, the newest first',
    access: 'user',
    request: { query: listQuery },
    response: listPage(note),
    reasons: [],
    handler: (request, { notes }) =>
      listResponse(request.query, newestFirst, async (window) => {
        const found = await notes.list(requirePrincipal(request).userId, window)
        const items = found.items.map(({ id, body, announced, createdAt }) => ({
          id,
          body,
          announced,
          createdAt: createdAt.toISOString(),
        }))
        return { ...found, items }
      }),
  }),
  route({
    method: 'POST',
    path,
    summary: 'Add a note',
    access: 'user',
    request: { body: Type.Object({ body }) },
    response: Type.Object({ id }),
    reasons: [],
    handler: async (request, { notes }) => ({
      id: await notes.add(requirePrincipal(request).userId, request.body.body),
    }),
  }),
  route({
    method: 'DELETE',
    path: '/api/v1/admin/example-notes/:id',
    summary: 'Remove a note of any user',
    access: { permission: removeNotes, scope: 'caller' },
    request: { params: idParams },
    response: nothing,
    reasons: ['notes.not-found'],
    async handler(request, { notes }) {
      await notes.remove(request.params.id, callerRows(request, 'owner_id'))
      return null
    },
  }),
]
