/**
 * Writes the pages that are made from code: configuration reference, `.env.example`, error reference, API description,
 * the types of operations that pages are bound to, change sets, permissions and texts, and the list of requirements with the tests
 * that prove them. `--check` writes nothing and fails when a page is stale.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ApiDocument, http, operationTypes } from '@plinth/http'
import { catalogueToDotenv, catalogueToMarkdown } from '@plinth/kernel'
import { startForTest } from '@plinth/kernel/testing'
import product from '../examples/quickstart/plinth.config.ts'
import { errorPage } from './error-page.ts'
import { migrationPage, permissionPage, textPage } from './plugin-pages.ts'
import { requirementPage } from './requirement-page.ts'
import { testFiles } from './test-files.ts'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

async function pages(): Promise<Record<string, string>> {
  const running = await startForTest(product, { roles: ['cli'] })
  try {
    const openapi = await running.service(http).openapi()
    return {
      'docs/configuration.md': catalogueToMarkdown(running.config.catalogue, 'en'),
      'docs/configuration.zh-CN.md': catalogueToMarkdown(running.config.catalogue, 'zh-CN'),
      'examples/quickstart/.env.example': catalogueToDotenv(running.config.catalogue),
      'docs/errors.md': await errorPage(),
      'docs/migrations.md': migrationPage(product),
      'docs/permissions.md': permissionPage(product),
      'docs/texts.md': textPage(product),
      'docs/openapi.json': `${JSON.stringify(openapi, undefined, 2)}\n`,
      ...operationFiles(openapi),
      'docs/requirements.md': requirementPage(readFileSync('docs/requirements.tsv', 'utf8'), testFiles()),
    }
  } finally {
    await running.stop('pages written')
  }
}

/** For every package with pages whose plugin the quickstart lists, beside them: the operations of its plugins. */
const operationFiles = (openapi: ApiDocument): Record<string, string> =>
  Object.fromEntries(
    globSync(['plugins/*/src/admin-pages.ts', 'examples/*/admin-pages.ts']).flatMap((file) => {
      const [group = '', folder = ''] = file.split('/')
      const id = group === 'examples' ? `example.${folder}` : folder
      const isOwn = (plugin: string) => plugin === id || plugin.startsWith(`${id}.`)
      const isListed = product.plugins.some((plugin) => isOwn(plugin.id))
      return isListed ? [[join(dirname(file), 'operations.gen.ts'), operationTypes(openapi, isOwn)]] : []
    }),
  )

const read = (file: string) => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}

const isCheck = process.argv.includes('--check')
const stale = Object.entries(await pages()).filter(([file, text]) => read(file) !== text)
for (const [file, text] of stale) {
  if (isCheck) console.error(`${file} is stale: run \`npm run generate\``)
  else {
    writeFileSync(file, text)
    console.log(`wrote ${file}`)
  }
}
if (isCheck && stale.length > 0) process.exitCode = 1
