import { createPurgeTask, purgeKeys, rowsBefore } from '@plinth/coordination'
import { database, personalTable, type WithDatabase } from '@plinth/database'
import { events } from '@plinth/events'
import { http } from '@plinth/http'
import { bilingual, definePlugin, key, personalData } from '@plinth/kernel'
import en from './messages/en.json' with { type: 'json' }
import zhCN from './messages/zh-CN.json' with { type: 'json' }
import { businessError, createNote, Note, Notes, noteAdded } from './notes.ts'
import { noteRoutes, removeNotes } from './routes.ts'

const requires = { database, events, http }
const config = {
  'platform.example.notes.retention': key.duration({
    title: { en: 'Retention of notes', 'zh-CN': '笔记保留时长' },
    default: '365d',
    reload: 'live',
  }),
  ...purgeKeys('platform.example.notes', { en: 'Interval for removing old notes.', 'zh-CN': '清除旧笔记的间隔。' }),
}

const purge = createPurgeTask<{ requires: typeof requires; config: typeof config }>('platform.example.notes', {
  displayName: { en: 'Remove old notes', 'zh-CN': '清理旧笔记' },
  old: ({ config, clock }) => [
    rowsBefore('example_note', 'created_at', new Date(clock.now() - config.get('platform.example.notes.retention'))),
  ],
})

/**
 * Plugin with notes of users: a table, three routes, a permission, a task, an event with its handler, and texts in two
 * languages.
 */
export default definePlugin({
  id: 'example.notes',
  version: '1.0.0',
  kernel: '^1.0.0',
  businessErrors: [businessError],
  requires,
  contributes: [
    personalData.of(({ database }: WithDatabase) => ({
      'example.notes': [
        personalTable(database, Note, { title: bilingual('Notes', '笔记'), owner: 'owner_id', erasure: 'removed' }),
      ],
    })),
  ],
  config,
  entities: [Note],
  migrations: [createNote],
  messages: { en, 'zh-CN': zhCN },
  permissions: [{ code: removeNotes, displayName: { en: 'Remove notes', 'zh-CN': '删除笔记' } }],
  scheduledTasks: [purge],
  setup({ services }) {
    const notes = new Notes({ db: services.database, events: services.events, clock: services.database.clock })
    services.http.addRoutes(noteRoutes, { notes })
    services.events.on(noteAdded, 'example.notes.announce', ({ payload }) => notes.announce(payload.id), {
      transaction: true,
    })
  },
})
