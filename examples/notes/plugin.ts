import type { Database } from '@plinth/database'
import { type Events, event, events } from '@plinth/events'
import { id, Type } from '@plinth/http'
import { defineResourcePlugin, permission, pluginWith } from '@plinth/resource'
import { c, table } from '@plinth/table'
import { createNote } from './change-sets.ts'

const Note = table(
  'example_note',
  {
    id: c.id(),
    ownerId: c.caller().internal(),
    body: c.text(500, { min: 1 }).title('Text', '内容'),
    announced: c.flag().default(false).readOnly().title('Announced', '已发布'),
    createdAt: c.createdAt(),
  },
  {
    title: { one: ['Note', '笔记'], many: ['Notes', '笔记'] },
    owner: 'ownerId',
    erasure: 'removed',
    indexes: [['ownerId', 'id'], ['createdAt']],
  },
)

const noteAdded = event('example.notes.added', Type.Object({ id }))
const { resource, on } = pluginWith<{ readonly database: Database; readonly events: Events }>()

const notes = resource(Note, {
  area: 'notes',
  path: '/api/v1/example-notes',
  list: { access: 'user', summary: 'Own notes, the newest first' },
  create: {
    access: 'user',
    response: 'id',
    inTransaction: ({ row, parts }) => parts.events.publish(noteAdded, { id: row.id }),
  },
  remove: {
    access: permission('example-notes:note:remove', 'Remove notes', '删除笔记'),
    path: '/api/v1/admin/example-notes/:id',
  },
  retention: { by: 'createdAt', keep: '365d', keys: 'platform.example.notes' },
  page: { group: 'messages', order: 900 },
})

/** Notes of users: a table, three routes, a permission, a page, a purge task, and an event with its handler. */
export default defineResourcePlugin({
  id: 'example.notes',
  version: '1.0.0',
  kernel: '^1.0.0',
  requires: { events },
  migrations: [createNote],
  resources: [notes],
  handlers: [
    on(noteAdded, 'announce', ({ id }, { database }) =>
      database.fork().nativeUpdate(Note.entity, { id }, { announced: true }),
    ),
  ],
})
