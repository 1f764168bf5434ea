import { defineChangeSet } from '@plinth/migrations'

const table = 'open_call_day'

export const indexUsage = defineChangeSet({
  id: '0004-index-usage',
  up: ({ schema }) => [
    schema
      .createIndex(`${table}_app_id_day_route_method_index`)
      .on(table)
      .columns(['app_id', 'day', 'route', 'method']),
    schema.dropIndex(`${table}_app_id_day_index`).on(table),
  ],
})
