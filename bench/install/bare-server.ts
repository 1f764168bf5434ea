/**
 * Bare Fastify with SQLite. It creates tables in an empty database, listens, and creates the same number of further
 * tables on request. Arguments: path of the database, number of tables.
 */
import { writeSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import fastify from 'fastify'

const [file = '', tables = '0'] = process.argv.slice(2)
const database = new DatabaseSync(file)
database.exec('pragma journal_mode = wal')

/** Creates all tables in one transaction, as a migration does. */
function createTables(prefix: string): void {
  database.exec('begin')
  for (let index = 0; index < Number(tables); index++) {
    const name = `${prefix}_${index}`
    database.exec(
      `create table ${name} (id integer primary key, name text not null, state text not null, created_at integer not null)`,
    )
    database.exec(`create index ${name}_name on ${name} (name)`)
  }
  database.exec('commit')
}

createTables('start')
const app = fastify()
app.get('/health', async () => ({ status: 'up' }))
app.post('/install', async () => {
  createTables('install')
  return { tables: Number(tables) }
})
process.once('SIGTERM', () => {
  database.close()
  process.exit()
})
writeSync(1, `ready ${await app.listen({ host: '127.0.0.1', port: 0 })}\n`)
