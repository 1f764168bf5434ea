/** Records what users, operators, authors and databases see of a product. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import databasePlugin, { database } from '@plinth/database'
import { startForTest } from '@plinth/dev/testing'
import { createDatabase, everyDialect, type TestDatabase } from '@plinth/dev/testing/database'
import { defineProduct } from '@plinth/kernel'
import { type Call, createUser, dataOf, type RecordedProduct, signIn } from './recorded-product.ts'

/** Expressions about the plugins of a product, by file. */
const declared = {
  permissions: 'plugins.flatMap(({ id, permissions = [] }) => permissions.map((one) => ({ plugin: id, ...one })))',
  errors: `Object.fromEntries(plugins.flatMap(({ businessErrors = [] }) => businessErrors)
    .map(({ area, codes }) => [area, codes]))`,
  texts: 'Object.fromEntries(plugins.map(({ id, messages = {} }) => [id, messages]))',
}

/** Statements that return the definitions of all columns, indexes, constraints and views as `line`. */
const definitions = {
  sqlite: "select sql as line from sqlite_master where sql is not null and name not like 'sqlite_%'",
  postgresql: `select concat_ws(' ', table_name, column_name, ordinal_position, udt_name, character_maximum_length, numeric_precision,
       numeric_scale, is_nullable, column_default, collation_name) as line
     from information_schema.columns where table_schema = current_schema()
     union all select indexdef from pg_indexes where schemaname = current_schema()
     union all select concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(oid))
     from pg_constraint where connamespace = current_schema()::regnamespace
     union all select concat_ws(' ', viewname, definition) from pg_views where schemaname = current_schema()`,
  // Returns the names of tables.
  mariadb: 'select table_name as line from information_schema.tables where table_schema = database()',
}

const languages = ['en', 'zh-CN']

/**
 * Records the command line help, the API description, the configuration keys, the lock file, the declarations, the schema on each
 * database, and what an instance sends.
 */
export async function recordProduct(product: RecordedProduct): Promise<void> {
  const { directory } = product
  product.write('commands.json', await product.run(['--help']))
  product.write('openapi.json', await product.run(['openapi']))
  product.write('configuration.json', await product.run(['config', 'list']))
  await product.run(['plugins', 'lock'])
  product.write('lock.json', JSON.parse(readFileSync(join(directory, 'plinth.lock.json'), 'utf8')))
  for (const [name, expression] of Object.entries(declared))
    product.write(`${name}.json`, await product.evaluate(expression))
  for (const { dialect, skip } of everyDialect) {
    if (skip === false) await recordDatabase(product, await createDatabase(dialect))
    else product.write(`schemas/${dialect}.txt`, `not recorded: ${skip}\n`)
  }
}

/** Pages and personal data are the same on each database, so they are read on SQLite. */
async function recordDatabase(product: RecordedProduct, db: TestDatabase): Promise<void> {
  const settings = Object.fromEntries(Object.entries(db.config).map(([key, value]) => [key, `${value}`]))
  try {
    await product.run(['migrate'], settings)
    await recordSchema(product, db)
    if (db.dialect !== 'sqlite') return
    const { url, end } = await product.start(settings)
    await recordInstance(product, url)
    await end('SIGTERM')
  } finally {
    await db.drop()
  }
}

async function recordSchema(product: RecordedProduct, { dialect, config }: TestDatabase): Promise<void> {
  const settings = { ...config, 'platform.database.migrate-at-start': false }
  const reader = defineProduct({ name: 'reader', plugins: [databasePlugin], config: settings })
  const running = await startForTest(reader, { roles: ['cli'] })
  const db = running.service(database)
  const linesOf = async (sql: string) => (await db.query<{ line: string }>(sql)).map(({ line }) => line)
  const statementOf = async (table: string) => {
    const [row = {}] = await db.query<Record<string, string>>(`show create table \`${table}\``)
    return (row['Create Table'] ?? row['Create View'] ?? '').replace(/ AUTO_INCREMENT=\d+/, '')
  }
  const write = (folder: string, lines: readonly string[]) =>
    product.write(`${folder}/${dialect}.txt`, `${lines.toSorted().join('\n')}\n`)
  try {
    const lines = await linesOf(definitions[dialect])
    write('schemas', dialect === 'mariadb' ? await Promise.all(lines.map(statementOf)) : lines)
    const checksums = "select concat(plugin, ' ', change_set, ' ', checksum) as line from schema_changelog"
    write('change-sets', await linesOf(checksums))
  } finally {
    await running.stop('recorded')
  }
}

/**
 * Records the tables with personal data, and the pages of the back office as the console sends them: to the administrator, to a user
 * without permissions, and in English to a user with each single permission.
 */
async function recordInstance(product: RecordedProduct, url: string): Promise<void> {
  const root = await signIn(url)
  const { id } = await dataOf(root('GET', 'iam/users/me'))
  for (const language of languages) {
    const path = `admin/iam/users/${id}/personal-data`
    product.write(`personal-data/${language}.json`, await dataOf(readIn(root, language, path)))
  }
  if ((await root('GET', 'admin/console/pages')).code !== '200')
    return product.write('pages.txt', 'The product has no back office.\n')

  const role = await createUser(root, { code: 'one', name: 'One', dataScope: 'all', permissions: [] })
  const one = await signIn(url, 'one')
  for (const language of languages) {
    for (const [name, page] of Object.entries(await pagesOf(root, language)))
      product.write(`pages/${language}/${name.replace(' ', '/')}.json`, page)
    product.write(`pages/${language}/without-permissions.json`, await pagesOf(one, language))
  }
  let { version } = role
  for (const { code } of await dataOf(root('GET', 'admin/iam/permissions'))) {
    const content = { name: 'One', dataScope: 'all', permissions: [code], version }
    ;({ version } = await dataOf(root('PUT', `admin/iam/roles/${role.id}`, content)))
    product.write(`pages/permissions/${code.replaceAll(':', '.')}.json`, await pagesOf(one, 'en'))
  }
}

const readIn = (call: Call, language: string, path: string) =>
  call('GET', path, undefined, { 'accept-language': language })

/** Returns what a user sees: the navigation, the parts of the overview, and each page that the user may open, by name. */
async function pagesOf(call: Call, language: string): Promise<Readonly<Record<string, unknown>>> {
  const read = (path: string) => readIn(call, language, `admin/console/${path}`)
  const navigation = await dataOf(read('pages'))
  const parts: Record<string, unknown> = { navigation }
  for (const part of ['lookups', 'attention', 'charts']) parts[part] = await dataOf(read(part))
  const ids = new Set<string>()
  for (const { pages } of navigation.groups)
    for (const { id, details } of pages) for (const one of [id, ...details]) ids.add(one)
  // The loop also visits the ids that are added during the loop: pages refer to pages that are not in the navigation.
  for (const id of ids) {
    const { code, data, text } = await read(`pages/${id}`)
    if (code === '200') parts[`page ${id}`] = data
    for (const [, other = ''] of text.matchAll(/"page":"([a-z0-9.-]+)"/g)) ids.add(other)
  }
  return parts
}
