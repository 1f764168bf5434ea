import { defineChangeSet } from '@plinth/migrations'
import { sql } from 'kysely'

/** Adds sums by day, so that reading the usage does not become slower with the number of calls. */
export const countDays = defineChangeSet({
  id: '0003-count-days',
  up: ({ schema, type }) => [
    schema
      .createTable('open_call_day')
      .addColumn('id', type.id, (c) => c.primaryKey())
      .addColumn('day', type.text(10), (c) => c.notNull())
      .addColumn('app_id', type.id, (c) => c.notNull())
      .addColumn('app_key', type.text(32), (c) => c.notNull())
      .addColumn('method', type.text(8), (c) => c.notNull())
      .addColumn('route', type.text(255), (c) => c.notNull())
      .addColumn('calls', type.bigint, (c) => c.notNull())
      .addColumn('failed', type.bigint, (c) => c.notNull())
      .addColumn('cost', type.bigint, (c) => c.notNull()),
    schema
      .createIndex('open_call_day_day_app_id_route_method_unique')
      .unique()
      .on('open_call_day')
      .columns(['day', 'app_id', 'route', 'method']),
    schema.createIndex('open_call_day_app_id_day_index').on('open_call_day').columns(['app_id', 'day']),
  ],
  data: async ({ db }) => {
    await sql`insert into open_call_day (id, day, app_id, app_key, method, route, calls, failed, cost)
      select min(id), day, app_id, app_key, method, route, count(*),
        sum(case when code like '2%' or code like '3%' then 0 else 1 end), sum(cost)
      from open_call group by day, app_id, app_key, method, route`.execute(db)
  },
})
