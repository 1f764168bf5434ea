/** Records what users, operators, authors and databases see of a product. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createDatabase, everyDialect } from '@plinth/dev/testing/database'
import { pageRecord } from './page-record.ts'
import { type Json, sortMembers } from './record-differences.ts'
import {
  createAdministrator,
  dataOf,
  type ProductName,
  prepareRecordedProduct,
  type RecordedProduct,
  type Settings,
  signIn,
} from './recorded-product.ts'
import { schemaRecord } from './schema-record.ts'

/** Content of the files of a record by name. Values other than texts are written as JSON. */
type Files = ReadonlyMap<string, unknown>

/** Expressions that `RecordedProduct.evaluate` evaluates, by file. */
const declared = {
  'permissions.json':
    'plugins.flatMap(({ id, permissions = [] }) => permissions.map((one) => ({ plugin: id, ...one })))',
  'errors.json': `Object.fromEntries(plugins.flatMap(({ businessErrors = [] }) => businessErrors)
    .map(({ area, codes }) => [area, codes]))`,
  'texts.json': 'Object.fromEntries(plugins.map(({ id, messages = {} }) => [id, messages]))',
}

/** Returns the command line help, the declarations, the configuration keys, the API description and the lock file. */
async function commandRecord(product: RecordedProduct): Promise<Files> {
  const files = new Map<string, unknown>()
  files.set('commands.json', await product.run(['--help']))
  files.set('openapi.json', await product.run(['openapi']))
  files.set('configuration.json', await product.run(['config', 'list']))
  await product.run(['plugins', 'lock'])
  files.set('lock.json', JSON.parse(readFileSync(join(product.directory, 'plinth.lock.json'), 'utf8')))
  for (const [file, expression] of Object.entries(declared)) files.set(file, await product.evaluate(expression))
  return files
}

async function personalDataRecord(url: string): Promise<Files> {
  const call = await signIn(url)
  const { id } = await dataOf(call('GET', 'iam/users/me'))
  const files = new Map<string, unknown>()
  for (const language of ['en', 'zh-CN']) {
    const headers = { 'accept-language': language }
    files.set(
      `personal-data/${language}.json`,
      await dataOf(call('GET', `admin/iam/users/${id}/personal-data`, { headers })),
    )
  }
  return files
}

/** Returns the records that need a database. Pages and personal data are the same on each, so they are read on SQLite. */
async function databaseRecord(product: RecordedProduct): Promise<Files> {
  const files = new Map<string, unknown>()
  const add = (more: Files) => {
    for (const [name, content] of more) files.set(name, content)
  }
  for (const { dialect, skip } of everyDialect) {
    if (skip !== false) {
      files.set(`schemas/${dialect}.txt`, `not recorded: ${skip}\n`)
      continue
    }
    const db = await createDatabase(dialect)
    const settings: Settings = Object.fromEntries(Object.entries(db.config).map(([key, value]) => [key, `${value}`]))
    try {
      await product.run(['migrate'], settings)
      add(await schemaRecord(db))
      if (dialect !== 'sqlite') continue
      await createAdministrator(product, settings)
      const { url, end } = await product.start(settings)
      add(await personalDataRecord(url))
      add(await pageRecord(url))
      await end('SIGTERM')
    } finally {
      await db.drop()
    }
  }
  return files
}

/** Writes the files of a record. Paths of this host are replaced. */
export function writeRecord(folder: string, files: Files, replaced: ReadonlyMap<string, string>): void {
  for (const [name, content] of files) {
    let text = typeof content === 'string' ? content : `${JSON.stringify(sortMembers(content as Json), undefined, 1)}\n`
    for (const [path, placeholder] of replaced) text = text.replaceAll(path, placeholder)
    const file = join(folder, name)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}

/**
 * Records a product of a checkout.
 *
 * @param root directory of the checkout
 * @param folder directory to which the files are written
 */
export async function recordProduct(root: string, name: ProductName, folder: string): Promise<void> {
  const product = prepareRecordedProduct(root, name)
  const replaced = new Map([
    [product.directory, '<product>'],
    [root, '<checkout>'],
  ])
  try {
    writeRecord(folder, await commandRecord(product), replaced)
    writeRecord(folder, await databaseRecord(product), replaced)
  } finally {
    await product.remove()
  }
}
