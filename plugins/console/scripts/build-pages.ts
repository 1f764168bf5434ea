/**
 * Builds the browser pages into `dist/web`. Run it with `node scripts/build-pages.ts`. The server also runs this script
 * if the pages are missing or outdated, and so does `npm run stage`. Its output is shown to the operator.
 */
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import react from '@vitejs/plugin-react'
import { build } from 'vite'
import { keepReplacedAssets } from '../src/former-assets.ts'
import { builtHash, noncePlaceholder, pagePathsOf, sourceHash } from '../src/page-source.ts'

const compressible = new Set(['.js', '.css', '.svg'])
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }

/**
 * Names of the pages. Each page is built separately into one HTML file. A common build would create shared scripts, and
 * a dynamic import in one page would split the scripts of the other page.
 */
const pages = ['install', 'admin']

const draftPrefix = 'plinth-pages-'
const abandonedMs = 60 * 60_000

const places = pagePathsOf(join(import.meta.dirname, '..'))
try {
  const hash = sourceHash(places)
  if (hash === undefined) throw new Error(`There are no sources at ${places.sources}`)
  if ((await builtHash(places)) === hash) console.log('The pages are current')
  else await buildPages(hash)
} catch (error) {
  // Shows the error in the sources without the stack of the bundler.
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}

async function buildPages(hash: string): Promise<void> {
  const started = performance.now()
  await mkdir(places.workplace, { recursive: true })
  await sweep()
  const draft = await mkdtemp(join(places.workplace, draftPrefix))
  try {
    // The temporary directory is private at first, but the user who runs the product must be able to read the pages.
    await chmod(draft, 0o755)
    for (const page of pages) await bundle(draft, page)
    await compress(join(draft, 'assets'))
    await writeFile(join(draft, basename(places.record)), hash)
    await publish(draft, hash)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
  await report(performance.now() - started)
}

/** Removes the draft directories of killed builds. Directories of running builds are younger than the age limit. */
async function sweep(): Promise<void> {
  for (const name of await readdir(places.workplace)) {
    const path = join(places.workplace, name)
    if (!name.startsWith(draftPrefix)) continue
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && found.mtimeMs < Date.now() - abandonedMs) {
      await rm(path, { recursive: true, force: true })
    }
  }
}

async function bundle(outDir: string, page: string): Promise<void> {
  await build({
    configFile: false,
    root: places.sources,
    // Relative URLs allow the pages to work below any context path.
    base: './',
    mode: 'production',
    logLevel: 'warn',
    html: { cspNonce: noncePlaceholder },
    plugins: [react()],
    // Without this setting, libraries in the root of the workspace would load another version of React.
    resolve: { dedupe: ['react', 'react-dom'] },
    build: {
      outDir,
      emptyOutDir: false,
      target: 'es2022',
      // Writes every asset to a file, so that the content security policy needs no exception for `data:` URLs.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      // Writes the licences of the bundled libraries, which must be distributed with the scripts.
      license: { fileName: `licences/${page}.md` },
      rolldownOptions: {
        input: join(places.sources, `${page}.html`),
      },
    },
  })
}

/** Compresses every text asset to a `.br` and a `.gz` file, so that the server does not compress on each request. */
async function compress(directory: string): Promise<void> {
  const files = (await readdir(directory)).filter((name) => compressible.has(extname(name)))
  const packed = files.map(async (name) => {
    const file = join(directory, name)
    const content = await readFile(file)
    await writeFile(`${file}.gz`, await promisify(gzip)(content, { level: 9 }))
    await writeFile(`${file}.br`, await promisify(brotliCompress)(content, brotliOptions))
  })
  await Promise.all(packed)
}

/**
 * Moves the finished pages to their final directory with renames only, so that readers never see incomplete pages. If
 * another build of the same sources finished earlier, its pages are kept.
 */
async function publish(finished: string, hash: string): Promise<void> {
  await mkdir(dirname(places.output), { recursive: true })
  for (let attempt = 1; (await builtHash(places)) !== hash; attempt++) {
    const old = `${finished}-old-${attempt}`
    const assets = { replaced: join(places.output, 'assets'), current: join(finished, 'assets') }
    await keepReplacedAssets({ ...assets, former: places.former, now: Date.now() })
    await rename(places.output, old).catch(ignoreMissing)
    try {
      await rename(finished, places.output)
    } catch (error) {
      if (attempt === 5) throw error
    } finally {
      await rm(old, { recursive: true, force: true })
    }
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error
}

/**
 * Prints for each page the compressed size of the files that the browser loads before the first view, and the total
 * size.
 */
async function report(durationMs: number): Promise<void> {
  const directory = join(places.output, 'assets')
  const whole = { js: 0, css: 0 }
  const sizeOf = new Map<string, { readonly kind: 'js' | 'css'; readonly size: number }>()
  for (const packed of await readdir(directory)) {
    const [, name, kind] = /^(.+\.(js|css))\.gz$/.exec(packed) ?? []
    if (name === undefined || (kind !== 'js' && kind !== 'css')) continue
    const { size } = await stat(join(directory, packed))
    whole[kind] += size
    sizeOf.set(name, { kind, size })
  }
  const kilobytes = (bytes: number) => (bytes / 1024).toFixed(1)
  const sizes = ({ js, css }: typeof whole) => `scripts ${kilobytes(js)} KB and styles ${kilobytes(css)} KB`
  for (const page of pages) {
    const html = await readFile(join(places.output, `${page}.html`), 'utf8')
    const first = { js: 0, css: 0 }
    for (const [name, { kind, size }] of sizeOf) if (html.includes(name)) first[kind] += size
    console.log(`${page}: first view ${sizes(first)}`)
  }
  const seconds = (durationMs / 1000).toFixed(1)
  console.log(`Built in ${seconds} s: in all ${sizes(whole)}, compressed with gzip`)
}
