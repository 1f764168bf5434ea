import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { type BrowserPage, htmlText, type PageAsset, type PageRequest } from '@plinth/http'
import { errorCodeOf } from '@plinth/kernel'
import type { PageBuild } from './page-build.ts'
import { noncePlaceholder, type PagePaths } from './page-source.ts'

/** Inserts the title of the site into a built page: into the title element, and into a meta element for the scripts. */
const branded = (page: string, siteTitle: string): string =>
  page
    .replace(/<title>[^<]*<\/title>/, () => `<title>${htmlText(siteTitle)}</title>`)
    .replace(/(<meta name="application-name" content=")[^"]*"/, (_, start: string) => `${start}${htmlText(siteTitle)}"`)

const texts = {
  en: { title: 'One moment', message: 'The page is being prepared for its first use. It opens by itself.' },
  'zh-CN': { title: '请稍候', message: '页面正在为首次使用做准备，完成后会自动打开。' },
} as const

/** Returns a page that is shown while the real pages are being built. It reloads automatically without a script. */
function waitingPage({ nonce, locale, siteTitle = '' }: PageRequest): string {
  const language = locale.startsWith('zh') ? 'zh-CN' : 'en'
  const { title, message } = texts[language]
  return `<!doctype html>
<html lang="${language}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="refresh" content="2">
    <title>${siteTitle === '' ? title : `${title} · ${htmlText(siteTitle)}`}</title>
    <!-- None, so that the browser asks for none. -->
    <link rel="icon" href="data:,">
    <style nonce="${nonce}">
      :root { color-scheme: light dark; font: 1rem/1.6 system-ui, sans-serif; }
      main { max-width: 30rem; margin: 20vh auto 0; padding: 0 1.5rem; }
      h1 { font-size: 1.5rem; }
    </style>
  </head>
  <body>
    <main>
      <h1>${title}</h1>
      <p role="status">${message}</p>
    </main>
  </body>
</html>
`
}

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}
/** Extension of the compressed file for each content encoding. */
const packedEndings: Readonly<Record<string, string>> = { br: '.br', gzip: '.gz' }

/**
 * The built pages in memory, about half a megabyte. Later changes of the directory do not affect them. Requested names
 * are looked up in a map and never joined to a path.
 */
export class PageFiles {
  readonly #files: ReadonlyMap<string, Buffer>

  private constructor(files: ReadonlyMap<string, Buffer>) {
    this.#files = files
  }

  /**
   * Reads the built pages.
   * @param former directory of assets that open pages of earlier builds may still request; the directory may be missing
   * @returns `undefined` if no pages are built
   */
  static async read(directory: string, former: string): Promise<PageFiles | undefined> {
    try {
      const old = (await readdir(former).catch(() => [])).map(async (name) => {
        const content = await readFile(join(former, name)).catch(() => undefined)
        return content === undefined ? [] : [[`assets/${name}`, content] as const]
      })
      const pages = (await readdir(directory)).filter((name) => extname(name) === '.html')
      const assets = (await readdir(join(directory, 'assets'))).map((name) => `assets/${name}`)
      const read = [...pages, ...assets].map(async (name) => [name, await readFile(join(directory, name))] as const)
      return new PageFiles(new Map([...(await Promise.all(old)).flat(), ...(await Promise.all(read))]))
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') return undefined
      throw error
    }
  }

  html(name: string): string | undefined {
    return this.#files.get(`${name}.html`)?.toString('utf8')
  }

  asset(path: string, encodings: readonly string[]): PageAsset | undefined {
    const contentType = contentTypes[extname(path)]
    const plain = this.#files.get(path)
    if (contentType === undefined || plain === undefined || !path.startsWith('assets/')) return undefined
    for (const encoding of encodings) {
      const packed = this.#files.get(`${path}${packedEndings[encoding] ?? '.'}`)
      if (packed !== undefined) return { body: packed, contentType, encoding, immutable: true }
    }
    return { body: plain, contentType, immutable: true }
  }
}

/** Milliseconds that a request waits for a running build before it gets the page that `waitingPage` returns. */
const patienceMs = 5_000

/** @param name name of a built page: `install`, `admin` */
export function builtPage(
  { output, former }: Pick<PagePaths, 'output' | 'former'>,
  build: PageBuild,
  name: string,
): BrowserPage {
  let files: PageFiles | undefined
  const current = async () => {
    if (files === undefined && !build.isRunning) files = await PageFiles.read(output, former)
    return files
  }
  return {
    async html({ nonce, locale, siteTitle = '' }) {
      await build.settled(patienceMs)
      if (build.isRunning) return waitingPage({ nonce, locale, siteTitle })
      const page = (await current())?.html(name)?.replaceAll(noncePlaceholder, nonce)
      return page === undefined || siteTitle === '' ? page : branded(page, siteTitle)
    },
    async asset(path, encodings) {
      return (await current())?.asset(path, encodings)
    },
  }
}
