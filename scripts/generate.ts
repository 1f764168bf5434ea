/**
 * Writes all generated files and the figures of benchmarks in guides: configuration reference, `.env.example`, error reference,
 * command line, API description, client, bundle of TypeBox, contributions and lock file of the quickstart, types of the operations that
 * pages use, types of declared pages for the browser, change sets, permissions, retention of tables, personal data, native packages,
 * figures of several instances, and the tests of the requirements. `--check` writes nothing and fails if a file is out of date.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { clientModule, operationTypes } from '@plinth/dev/openapi'
import { startForTest } from '@plinth/dev/testing'
import { type ApiDocument, http, publishedApi } from '@plinth/http'
import { type Product, personalData } from '@plinth/kernel'
import {
  catalogueToDotenv,
  catalogueToMarkdown,
  createManifest,
  lockFileText,
  prepareProduct,
  type RunningProduct,
} from '@plinth/kernel/host'
import minimal from '../dev/templates/presets/minimal/plinth.config.ts'
import standard from '../dev/templates/presets/standard/plinth.config.ts'
import manifest from '../examples/quickstart/package.json' with { type: 'json' }
import quickstart from '../examples/quickstart/plinth.config.ts'
import { cliPage } from './cli-page.ts'
import { contributionsText } from './contributions.ts'
import { declaredPageTypes } from './declared-pages.ts'
import { errorPage } from './error-page.ts'
import { figuresPages, readFigures } from './figures-page.ts'
import { withMeasuredFigures } from './measured-figures.ts'
import { nativePackagePage } from './native-packages.ts'
import { pageOptionsPage } from './page-options.ts'
import { personalDataPage } from './personal-data-page.ts'
import { migrationPage, type PageLocale, permissionPage } from './plugin-pages.ts'
import { requirementPage } from './requirement-page.ts'
import { retentionPage } from './retention-page.ts'
import { proofFiles, testFiles } from './test-files.ts'
import { typeBoxFile, typeBoxModule } from './typebox-module.ts'

process.chdir(fileURLToPath(new URL('..', import.meta.url)))

const product: Product = { ...quickstart, version: manifest.version }

async function pages(): Promise<Record<string, string>> {
  const running = await startForTest(product, { roles: ['cli'] })
  try {
    const openapi = await running.service(http).openapi()
    const published = publishedApi(openapi)
    const packageKeys = running.config.catalogue.filter(({ plugin }) => !plugin.startsWith('example.'))
    return {
      [typeBoxFile]: await typeBoxModule(),
      'docs/configuration.md': catalogueToMarkdown(packageKeys, 'en'),
      'docs/configuration.zh-CN.md': catalogueToMarkdown(packageKeys, 'zh-CN'),
      'examples/quickstart/.env.example': catalogueToDotenv(running.config.catalogue),
      'dev/templates/presets/minimal/_env.example': variablesOf(minimal),
      'dev/templates/presets/standard/_env.example': variablesOf(standard),
      'examples/quickstart/plinth.lock.json': lockFileText(createManifest(product.plugins, running)),
      'docs/permissions.md': permissionPage(product, published),
      'docs/page-options.md': pageOptionsPage('.'),
      ...(await pagesOf('docs', 'en', running)),
      ...(await pagesOf('docs/zh-CN', 'zh-CN', running)),
      ...figurePages(),
      ...figuresPages(readFigures()),
      'docs/openapi.json': `${JSON.stringify(published, undefined, 2)}\n`,
      'test/fixtures/contributions.json': contributionsText(product, running),
      'client/src/index.ts': clientModule(published),
      ...(await operationFiles(openapi)),
      'plugins/console/web/admin/api/declared-pages.gen.ts': declaredPageTypes(),
      'docs/requirements.md': requirementPage(readFileSync('docs/requirements.md', 'utf8'), [
        ...testFiles(),
        ...proofFiles(),
      ]),
    }
  } finally {
    await running.stop('pages written')
  }
}

/** Returns the pages that contain figures of benchmarks, with the current figures. */
function figurePages(): Record<string, string> {
  const results = readFileSync('bench/README.md', 'utf8')
  const pages = ['docs/operations/sizing.md', 'docs/zh-CN/operations/sizing.md']
  return Object.fromEntries(pages.map((page) => [page, withMeasuredFigures(readFileSync(page, 'utf8'), results)]))
}

/** Returns the pages that exist in each language. */
async function pagesOf(folder: string, locale: PageLocale, running: RunningProduct): Promise<Record<string, string>> {
  return {
    [`${folder}/cli.md`]: await cliPage('.', locale),
    [`${folder}/errors.md`]: await errorPage(locale),
    [`${folder}/migrations.md`]: migrationPage(product, locale),
    [`${folder}/native-packages.md`]: nativePackagePage('.', locale),
    [`${folder}/operations/retention.md`]: await retentionPage(product, locale),
    [`${folder}/personal-data.md`]: await personalDataPage(product, running.contributions(personalData), locale),
  }
}

/** Returns the environment variables that the installer of a product may write. */
const variablesOf = (preset: Product) =>
  catalogueToDotenv(prepareProduct(preset, { envFile: false, roles: ['cli'] }).config.catalogue)

/** Returns the content of `operations.gen.ts` for each package of the quickstart that declares pages. */
async function operationFiles(openapi: ApiDocument): Promise<Record<string, string>> {
  const files = globSync(['plugins/*/src/admin-pages.ts', 'examples/*/admin-pages.ts'])
  const owners = await Promise.all(
    files.map(async (file) => {
      const folder = dirname(file)
      const { default: plugin } = await import(`../${folder}/plugin.ts`)
      return { folder, id: plugin.id as string }
    }),
  )
  const longestFirst = owners.toSorted((one, other) => other.id.length - one.id.length)
  /**
   * Returns the package of a plugin. For example, `money.payments` belongs to the package of `money`, but
   * `notification.inbox` has its own package.
   */
  const ownerOf = (plugin: string) => longestFirst.find(({ id }) => plugin === id || plugin.startsWith(`${id}.`))
  return Object.fromEntries(
    owners
      .filter(({ id }) => product.plugins.some((plugin) => plugin.id === id))
      .map((owner) => [
        join(owner.folder, 'operations.gen.ts'),
        operationTypes(openapi, (plugin) => ownerOf(plugin) === owner),
      ]),
  )
}

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
