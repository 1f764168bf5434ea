import { defineEntity } from '@mikro-orm/core'
import { column, type Database, findPage, type PageWindow } from '@plinth/database'
import { type Events, event } from '@plinth/events'
import { id, Type } from '@plinth/http'
import { type Clock, defineBusinessErrors } from '@plinth/kernel'
import { defineChangeSet } from '@plinth/migrations'
import en from './messages/en.json' with { type: 'json' }

export const Note = defineEntity({
  name: 'ExampleNote',
  tableName: 'example_note',
  indexes: [{ properties: ['ownerId', 'id'] }, { properties: ['createdAt'] }],
  properties: {
    id: column.primaryKey(),
    ownerId: column.id(),
    body: column.text(500),
    announced: column.boolean(),
    createdAt: column.timestamp(),
  },
})

export const createNote = defineChangeSet({
  id: '0001-create-note',
  up: ({ schema, type }) => [
    schema
      .createTable('example_note')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('owner_id', type.id, (c) => c.notNull())
      .addColumn('body', type.text(500), (c) => c.notNull())
      .addColumn('announced', type.boolean, (c) => c.notNull())
      .addColumn('created_at', type.timestamp, (c) => c.notNull()),
    schema.createIndex('example_note_owner_id_id_index').on('example_note').columns(['owner_id', 'id']),
    schema.createIndex('example_note_created_at_index').on('example_note').column('created_at'),
  ],
})

export const noteAdded = event('example.notes.added', Type.Object({ id }))

export const businessError = defineBusinessErrors('notes', en.notes, { 'not-found': '404' })

/** Notes of users. Each user sees only their own notes. */
export class Notes {
  readonly #db: Database
  readonly #events: Events
  readonly #clock: Pick<Clock, 'now'>

  constructor({ db, events, clock }: { db: Database; events: Events; clock: Pick<Clock, 'now'> }) {
    this.#db = db
    this.#events = events
    this.#clock = clock
  }

  /** Adds a note. The note and its event are written in one transaction. */
  add(ownerId: number, body: string): Promise<number> {
    return this.#db.transactional(async (em) => {
      const createdAt = new Date(this.#clock.now())
      const id = await em.insert(Note, { id: this.#db.newId(), ownerId, body, announced: false, createdAt })
      await this.#events.publish(noteAdded, { id })
      return id
    })
  }

  list(ownerId: number, window: PageWindow) {
    return findPage(this.#db.fork(), Note, { ownerId }, window)
  }

  /**
   * Removes a note.
   *
   * @param rows conditions for the notes that the caller may remove; other notes count as unknown
   * @throws BusinessError "404" `notes.not-found`
   */
  async remove(id: number, rows: object): Promise<void> {
    await this.#db.transactional(async (em) => {
      const note = await em.findOne(Note, { $and: [{ id }, rows] })
      if (note === null) throw businessError('not-found', { params: { id } })
      await em.nativeDelete(Note, { id })
    })
  }

  async announce(id: number): Promise<void> {
    await this.#db.fork().nativeUpdate(Note, { id }, { announced: true })
  }
}
